"""Stage `test`: from the score files of all cells to Δ, intervals, tests and verdicts."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pteb_eval.embed.inputs import INPUT_COLUMNS, input_rows
from pteb_eval.layout import Layout
from pteb_eval.paraphrase.summary import COLUMNS as QUALITY_COLUMNS
from pteb_eval.paraphrase.summary import quality_rows
from pteb_eval.statistics.cells import Cell, read_cells, read_originals
from pteb_eval.statistics.measured import Analyzed, analyze, measured
from pteb_eval.statistics.significance import significance
from pteb_eval.statistics.summary import (
    RUNS_COLUMNS,
    SUMMARY_COLUMNS,
    WARNING_COLUMNS,
    runs_row,
    summary_row,
    warning_rows,
)
from pteb_eval.statistics.surface_table import COLUMNS as SURFACE_COLUMNS
from pteb_eval.statistics.surface_table import surface_table_rows
from pteb_eval.tables import write_tables

SCORE_COLUMNS = [
    "model", "generator", "task", "task_type", "subset", "split", "variant", "run", "metric",
    "value", "n_instances",
]  # fmt: skip
AS_PERCENT = (
    "value", "original", "pteb_mean", "pteb_std", "delta", "delta_ci_low", "delta_ci_high",
    "failure_rate", "copy_rate", "duplicate_rate", "cut_rate",
              "truncated_share", "width", "target_width", "epsilon",
    "shift", "difference", "difference_ci_low", "difference_ci_high",
    "kept_share", "kept_low", "kept_high", "checks_passed",
)  # fmt: skip
"""Columns that tables for people show × 100."""


def run(settings: dict[str, Any], root: Path) -> None:
    """Write the tables of `layout.TEST_TABLES`.

    Args:
        settings: `models` (name by slug), `generators`, `tasks`, `statistics`, `seed`.
        root: the run's folder `results/<name>`.
    """
    layout, declared, seed = Layout(root), settings["statistics"], settings["seed"]
    cells = list(read_cells(settings, layout))

    def write(name: str, rows: pd.DataFrame) -> None:
        write_tables(rows, layout.table(name), AS_PERCENT)

    write("scores", _scores(read_originals(settings, layout), cells))
    analyzed = [analyze(one, declared, seed) for cell in cells for one in measured(cell)]
    summaries = [summary_row(one, interval) for one, _, interval in analyzed]
    write("summary", pd.DataFrame(summaries, columns=SUMMARY_COLUMNS))
    tests, effects = significance(analyzed, declared, seed)
    write("significance", tests)
    write("effects", effects)
    write("runs", _runs(analyzed, declared))
    quality = quality_rows(layout, settings["generators"], settings["tasks"])
    write("paraphrase_quality", pd.DataFrame(quality, columns=QUALITY_COLUMNS))
    inputs = input_rows(root, settings["models"], settings["generators"], settings["tasks"])
    write("inputs", pd.DataFrame(inputs, columns=INPUT_COLUMNS))
    surface = surface_table_rows(settings, layout)
    write("surface", pd.DataFrame(surface, columns=SURFACE_COLUMNS))
    write("warnings", pd.DataFrame(warning_rows(analyzed, effects), columns=WARNING_COLUMNS))


def _scores(originals: Iterable[pd.DataFrame], cells: Sequence[Cell]) -> pd.DataFrame:
    frames = [*originals, *(cell.scores.assign(**cell.key) for cell in cells)]
    return pd.concat([frame.astype({"run": "Int64"}) for frame in frames])[SCORE_COLUMNS]


def _runs(analyzed: Sequence[Analyzed], declared: dict[str, Any]) -> pd.DataFrame:
    target = declared["max_width"]
    if target is None and declared["epsilon"] is not None:
        target = 2 * declared["epsilon"]
    rows = [
        runs_row(one, drawn, interval, level=declared["confidence"], target=target)
        for one, drawn, interval in analyzed
        if drawn is not None
    ]
    return pd.DataFrame(rows, columns=RUNS_COLUMNS).astype({"runs_needed": "Int64"})
