"""Is the model fragile, or did the paraphrase drift? Tables of runs with judges."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pteb_eval.judge.verdict import NOT_VALIDATED, RELIABLE
from pteb_eval.layout import Layout
from pteb_eval.statistics.bootstrap import Interval
from pteb_eval.statistics.measured import Analyzed, Measured, analyze, measured
from pteb_eval.statistics.statistic import Array
from pteb_eval.store import read_table
from pteb_eval.tables import read_csv, rounded

DRIFT_COLUMNS = [
    "model", "generator", "task", "task_type", "subset", "metric", "judge", "verdict", "min_judge",
    "original", "pteb_mean", "delta", "delta_ci_low", "delta_ci_high", "n_instances", "note",
]  # fmt: skip
REGRESSION_COLUMNS = [
    "model", "generator", "task", "subset", "judge", "verdict", "n", "delta", "delta_kept",
    "delta_kept_ci_low", "delta_kept_ci_high", "delta_drift", "per_point", "per_point_ci_low",
    "per_point_ci_high", "p_per_point", "per_edit_distance", "p_per_edit_distance", "r_squared",
    "note",
]  # fmt: skip
FULL = 5.0
TOO_FEW = "fewer than two instances are left"
FEWEST = 10
"""Instances below which three coefficients say nothing."""


def judge_verdict(layout: Layout, judge: str, validated: bool) -> str:
    """`reliable`, `not reliable`, or `not validated`."""
    if not validated:
        return NOT_VALIDATED
    table = read_csv(layout.table("judge_validation"))
    return str(table.loc[table["judge"] == judge, "verdict"].iloc[0])


def judge_warning(judge: str, verdict: str) -> str | None:
    """What readers of its ratings must know of a judge; None for a reliable one."""
    if verdict == RELIABLE:
        return None
    why = (
        "it was never held against people's ratings (`validate_judge`)"
        if verdict == NOT_VALIDATED
        else "it does not agree with people's ratings (judge_validation)"
    )
    return f"judge {judge} is {verdict}: {why}; do not read its ratings as meaning kept or lost"


def marked_summary(
    summary: pd.DataFrame, hundredfold: tuple[str, ...], verdict: str
) -> pd.DataFrame:
    """The summary as people read it, with the mark of its judge in every `judge_mean`."""
    shown = rounded(summary, hundredfold)
    if verdict not in ("", RELIABLE):
        shown["judge_mean"] = [
            f"{value} ({verdict})" if value else value for value in shown["judge_mean"]
        ]
    return shown


def drift_rows(
    analyzed: Sequence[Analyzed], settings: dict[str, Any], layout: Layout, verdict: str
) -> Iterator[dict[str, Any]]:
    """Rows of `drift`: the default first, then each threshold of `min_judge`.

    Args:
        analyzed: all models, generators, tasks and subsets.
        settings: `judges`, `min_judge` (whether there are thresholds), `models`, `statistics`,
            `seed`.
        layout: the run's files.
        verdict: on the first judge.
    """
    about = {"judge": settings["judges"][0], "verdict": verdict}
    slugs = {name: slug for slug, name in settings["models"].items()}
    for one, _, interval in analyzed:
        yield _drift_row(one, interval) | about
    if not settings["min_judge"]:
        return
    for found in {id(one.cell): one.cell for one, _, _ in analyzed}.values():
        where = slugs[found.model], found.generator, found.task
        scores = read_table(layout.judged_scores(*where)).to_pandas()
        instances = read_table(layout.judged_instances(*where)).to_pandas()
        for threshold, rows in scores.groupby("min_judge"):
            too_few = rows[rows["value"].isna() & (rows["metric"] == "main_score")]
            for subset, left in too_few.groupby("subset", sort=False):
                bare = Measured(found, str(subset), math.nan, np.full(1, math.nan),
                                int(left["n_instances"].sum()), note=TOO_FEW)  # fmt: skip
                none = Interval(math.nan, math.nan, math.nan, math.nan, 0)
                yield _drift_row(bare, none) | about | {"min_judge": threshold}
            kept = replace(
                found,
                scores=rows.drop(too_few.index),
                instances=instances[instances["min_judge"] == threshold],
            )
            for one in measured(kept):
                _, _, interval = analyze(one, settings["statistics"], settings["seed"])
                yield _drift_row(one, interval) | about | {"min_judge": threshold}


def _drift_row(one: Measured, interval: Interval) -> dict[str, Any]:
    return {
        **one.key,
        "metric": one.cell.metric,
        "min_judge": math.nan,
        "original": one.original,
        "pteb_mean": one.runs.mean(),
        "delta": one.delta,
        "delta_ci_low": interval.low,
        "delta_ci_high": interval.high,
        "n_instances": one.n_instances,
        "note": one.note,
    }


def regression_rows(
    analyzed: Sequence[Analyzed], settings: dict[str, Any], layout: Layout, verdict: str
) -> Iterator[dict[str, Any]]:
    """Rows of `drift_regression`, for metrics that have values of instances.

    Args:
        analyzed: as of `drift_rows`.
        settings: `judges`, `statistics`.
        layout: the run's files.
        verdict: on the first judge.
    """
    judge = settings["judges"][0]
    for one, _, _ in analyzed:
        values = one.values
        if values is None or one.kind == "experiments":
            continue
        cell = one.cell
        frame = read_table(layout.drift(judge, cell.generator, cell.task)).to_pandas()
        frame = frame[(frame["subset"] == one.subset) & (frame["part"] == "")]
        frame = frame.set_index(["split", "row"]).reindex(pd.MultiIndex.from_tuples(one.index))
        names = ("model", "generator", "task", "subset")
        yield {
            **{name: one.key[name] for name in names},
            "judge": judge,
            "verdict": verdict,
            **regression(
                (values[0] - values[1:]).mean(axis=0),
                frame["judge_mean"].to_numpy(np.float64),
                frame["edit_distance"].to_numpy(np.float64),
                settings["statistics"]["confidence"],
            ),
        }


def regression(change: Array, judge: Array, distance: Array, level: float) -> dict[str, Any]:
    """Change of instances on how far their meaning and their wording moved, by least squares.

    The change is explained by 5 − rating and by the edit distance less its mean; errors are robust
    to unequal variances (HC3). The constant is what is left where the judge finds the meaning
    wholly kept, at the mean edit distance.

    Args:
        change: original − mean of runs of each instance, (n,).
        judge: mean rating of its texts, (n,); NaN where one is missing.
        distance: mean edit distance of its texts, (n,).
        level: of the intervals.

    Returns:
        The columns of `REGRESSION_COLUMNS` from `n` on.
    """
    import statsmodels.api as sm

    rated = np.isfinite(judge) & np.isfinite(change) & np.isfinite(distance)
    change, drift, distance = change[rated], FULL - judge[rated], distance[rated]
    n = len(change)
    known = {"n": n, "delta": float(change.mean()) if n else math.nan}
    if n < FEWEST:
        return known | {"note": f"fewer than {FEWEST} rated instances"}
    for what, values in (("changes", change), ("ratings", drift), ("edit distances", distance)):
        if np.ptp(values) == 0:
            return known | {"note": f"all {what} are equal"}
    columns = np.column_stack([np.ones(n), drift, distance - distance.mean()])
    fitted = sm.OLS(change, columns).fit(cov_type="HC3")
    bounds = fitted.conf_int(1 - level)
    kept, per_point, per_distance = (float(value) for value in fitted.params)
    return known | {
        "delta_kept": kept,
        "delta_kept_ci_low": bounds[0, 0],
        "delta_kept_ci_high": bounds[0, 1],
        "delta_drift": per_point * float(drift.mean()),
        "per_point": per_point,
        "per_point_ci_low": bounds[1, 0],
        "per_point_ci_high": bounds[1, 1],
        "p_per_point": float(fitted.pvalues[1]),
        "per_edit_distance": per_distance,
        "p_per_edit_distance": float(fitted.pvalues[2]),
        "r_squared": float(fitted.rsquared),
        "note": "",
    }
