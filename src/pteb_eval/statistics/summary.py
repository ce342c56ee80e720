"""Rows of the tables `summary`, `runs` and `warnings`."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from pteb_eval.statistics.bootstrap import Interval, Resamples
from pteb_eval.statistics.measured import Analyzed, Measured
from pteb_eval.statistics.runs import run_warnings, runs_needed, split_variance

SUMMARY_COLUMNS = [
    "model", "generator", "task", "task_type", "subset", "metric", "original", "pteb_mean",
    "pteb_std", "delta", "delta_ci_low", "delta_ci_high", "n_runs", "n_instances",
    "excluded_instances", "failure_rate", "copy_rate", "judge_mean",
]  # fmt: skip
RUNS_COLUMNS = [
    "model", "generator", "task", "subset", "n_runs", "confidence", "width", "instance_variance",
    "run_variance", "whole_run_variance", "run_share", "target_width", "runs_needed",
]  # fmt: skip
WHOLE_RUNS = (
    "whole runs shift the score by more than instances explain, as where a classifier is trained "
    "anew; a test over instances may take such a shift of the original for an effect: read Δ's "
    "interval first"
)
WARNING_COLUMNS = ["kind", "generator", "model", "task", "message"]


def summary_row(measured: Measured, interval: Interval) -> dict[str, Any]:
    """One row of `summary`: mteb's scores, and the interval of Δ."""
    runs = measured.runs
    return {
        **measured.key,
        "metric": measured.cell.metric,
        "original": measured.original,
        "pteb_mean": runs.mean(),
        "pteb_std": runs.std(ddof=1) if len(runs) > 1 else math.nan,
        "delta": measured.delta,
        "delta_ci_low": interval.low,
        "delta_ci_high": interval.high,
        "n_runs": len(runs),
        "n_instances": measured.n_instances,
        "excluded_instances": measured.cell.excluded.get(measured.subset, 0),
        "failure_rate": measured.cell.failure_rate,
        "copy_rate": measured.cell.copy_rate,
        "judge_mean": measured.cell.judge_mean,
    }


def runs_row(
    measured: Measured,
    drawn: Resamples,
    interval: Interval,
    *,
    level: float,
    target: float | None,
) -> dict[str, Any]:
    """One row of `runs`: what makes the interval wide, and how many runs a width would take.

    Args:
        measured: the scores.
        drawn: their resamples.
        interval: of Δ.
        level: of the interval.
        target: wanted width; None: none declared.
    """
    split = split_variance(drawn)
    needed = None if target is None else runs_needed(split, target, level)
    return {
        **measured.key,
        "n_runs": split.n_runs,
        "confidence": level,
        "width": interval.high - interval.low,
        "instance_variance": split.instances,
        "run_variance": split.runs,
        "whole_run_variance": drawn.run_variance[1],
        "run_share": split.run_share,
        "target_width": math.nan if target is None else target,
        "runs_needed": needed,
    }


def warning_rows(
    analyzed: Sequence[Analyzed], effects: pd.DataFrame, judge: str | None = None
) -> list[dict[str, Any]]:
    """Rows of `warnings`: what readers of the other tables must know, each said once.

    Args:
        analyzed: all models, generators, tasks and subsets.
        effects: the table `effects`.
        judge: what is to be said of the judge, if anything.
    """
    found: list[tuple[str, Measured, str]] = []
    for one, drawn, interval in analyzed:
        if drawn is None:
            found.append(("no interval", one, one.note))
            continue
        split, whole = split_variance(drawn), drawn.run_variance[1]
        found += [("runs", one, line) for line in run_warnings(split)]
        if whole > split.instances:
            found.append(("test", one, WHOLE_RUNS))
        if interval.n_undefined:
            line = (
                f"the metric is undefined on {interval.n_undefined} resamples, which are left out"
            )
            found.append(("interval", one, line))
    rows = [{"kind": kind, "message": line, **one.key} for kind, one, line in found] + [
        {"kind": "test", "message": row["note"], **row}
        for row in effects.to_dict("records")
        if row["note"]
    ]
    if judge:
        rows += [{"kind": "judge", "message": judge, **one.key} for one, _, _ in analyzed]
    merged: dict[tuple[str, str], dict[str, dict[str, None]]] = {}
    for row in rows:
        said = merged.setdefault(
            (row["generator"], row["message"]), {"kind": {}, "model": {}, "task": {}}
        )
        for name in said:
            said[name][row[name]] = None
    return [
        {
            "kind": next(iter(said["kind"])),
            "generator": generator,
            "model": ", ".join(said["model"]),
            "task": ", ".join(said["task"]),
            "message": message,
        }
        for (generator, message), said in merged.items()
    ]
