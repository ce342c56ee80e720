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
from pteb_eval.statistics.drift import (
    DRIFT_COLUMNS,
    REGRESSION_COLUMNS,
    drift_rows,
    judge_verdict,
    judge_warning,
    marked_summary,
    regression_rows,
)
from pteb_eval.statistics.judges import AGREEMENT_COLUMNS, agreement_rows
from pteb_eval.statistics.measured import Analyzed, analyze, measured
from pteb_eval.statistics.paper_table import paper_summary
from pteb_eval.statistics.paraphrasers import PARAPHRASER_COLUMNS, paraphraser_rows
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
    "kept_low", "kept_high", "checks_passed",
    "delta_kept", "delta_kept_ci_low", "delta_kept_ci_high", "delta_drift", "per_point",
    "per_point_ci_low", "per_point_ci_high", "per_edit_distance", "unparsable",
    "kept_share", "lost_share", "spearman", "spearman_ci_low", "spearman_ci_high",
    "published_spearman", "spearman_difference",
)  # fmt: skip
"""Columns that tables for people show × 100."""


def run(settings: dict[str, Any], root: Path) -> None:
    """Write the tables of `layout.TEST_TABLES`.

    Args:
        settings: `models` (name by slug), `generators`, `tasks`, `statistics`, `seed`; with judges
            their names (`judges`), whether they are `validated`, and whether there are thresholds
            (`min_judge`): then the tables of `layout.JUDGE_TABLES`, too.
        root: the run's folder `results/<name>`.
    """
    layout, declared, seed = Layout(root), settings["statistics"], settings["seed"]
    cells = list(read_cells(settings, layout))

    judges = settings.get("judges", [])
    verdicts = {judge: judge_verdict(layout, judge, settings["validated"]) for judge in judges}
    verdict = verdicts[judges[0]] if judges else ""

    def write(name: str, rows: pd.DataFrame, *shown: Any) -> None:
        write_tables(rows, layout.table(name), AS_PERCENT, *shown)

    write("scores", _scores(read_originals(settings, layout), cells))
    analyzed = [analyze(one, declared, seed) for cell in cells for one in measured(cell)]
    summaries = [summary_row(one, interval) for one, _, interval in analyzed]
    summary = pd.DataFrame(summaries, columns=SUMMARY_COLUMNS)
    tests, effects = significance(analyzed, declared, seed)
    people = marked_summary(summary, AS_PERCENT, verdict)
    write("summary", summary, people, paper_summary(summary, effects))
    write("significance", tests)
    write("effects", effects)
    write("runs", _runs(analyzed, declared))
    quality = quality_rows(layout, settings["generators"], settings["tasks"])
    write("paraphrase_quality", pd.DataFrame(quality, columns=QUALITY_COLUMNS))
    inputs = input_rows(root, settings["models"], settings["generators"], settings["tasks"])
    write("inputs", pd.DataFrame(inputs, columns=INPUT_COLUMNS))
    surface = surface_table_rows(settings, layout)
    write("surface", pd.DataFrame(surface, columns=SURFACE_COLUMNS))
    told = judge_warning(judges[0], verdict) if judges else None
    write("warnings", pd.DataFrame(warning_rows(analyzed, effects, told), columns=WARNING_COLUMNS))
    if judges:
        drift = drift_rows(analyzed, settings, layout, verdict)
        write("drift", pd.DataFrame(drift, columns=DRIFT_COLUMNS))
        fitted = regression_rows(analyzed, settings, layout, verdict)
        write("drift_regression", pd.DataFrame(fitted, columns=REGRESSION_COLUMNS))
        paraphrasers = paraphraser_rows(settings, layout, root.parent / "cache", verdict)
        write("paraphrasers", pd.DataFrame(paraphrasers, columns=PARAPHRASER_COLUMNS))
    if len(judges) > 1:
        agreement = agreement_rows(settings, layout, verdicts)
        write("judge_agreement", pd.DataFrame(agreement, columns=AGREEMENT_COLUMNS))


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
