"""The rows of the page's charts, for every task, subset and generator to choose from."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from pteb_eval.report import specs
from pteb_eval.statistics.runs import VarianceSplit
from pteb_eval.tables import task_title

MOST_RUNS = 20
"""Runs up to which widths are drawn, or twice as many as there are."""
Rows = list[dict[str, Any]]


def charts(
    tables: dict[str, pd.DataFrame], scores: pd.DataFrame, suite: pd.DataFrame | None
) -> dict[str, dict[str, Any]]:
    """By name: `spec` and `groups`, a list of `label` and `rows`. Charts without rows are left out.

    Args:
        tables: by name, fractions.
        scores: of them the main score of every single run.
        suite: the table `implicit`, if there is one.
    """
    summary = tables["summary"]
    several = summary["generator"].nunique() > 1
    drawn = {
        "spread": (specs.SPREAD, _grouped(summary, several, lambda own: _spread(own, scores))),
        "ranks": (specs.RANKS, _grouped(tables["ranking"], several, _ranks)),
        "average": (specs.AVERAGE, _average(tables["across_tasks"], several)),
        "width": (specs.WIDTH, _grouped(tables["runs"], several, _widths)),
    }
    drift = tables.get("drift")
    if drift is not None and drift["min_judge"].notna().any():
        drawn["drift"] = (specs.DRIFT, _grouped(drift, several, _drift))
    if suite is not None:
        drawn["levels"] = (specs.LEVELS, _levels(suite))
    return {
        name: {"spec": specs.complete(spec), "groups": groups}
        for name, (spec, groups) in drawn.items()
        if groups
    }


def _grouped(table: pd.DataFrame, several: bool, rows_of: Callable[[pd.DataFrame], Rows]) -> Rows:
    """The rows of each task, subset and generator."""
    return [
        {"label": _label(task_title(task, subset), generator, several), "rows": rows_of(own)}
        for (task, subset, generator), own in table.groupby(
            ["task", "subset", "generator"], sort=False
        )
    ]


def _label(title: str, generator: str, several: bool) -> str:
    return f"{title}, reworded by {generator}" if several else title


def _known(value: float) -> float | None:
    return None if pd.isna(value) else round(float(value), 3)


def _hundred(value: float) -> float | None:
    return _known(100 * value)


def _spread(own: pd.DataFrame, scores: pd.DataFrame) -> Rows:
    first = own.iloc[0]
    runs = scores[
        (scores["task"] == first["task"])
        & (scores["subset"] == first["subset"])
        & (scores["generator"] == first["generator"])
    ]
    runs = runs.groupby(["model", "run"])["value"].mean()
    rows: Rows = []
    for row in own.to_dict("records"):
        kept = {"model": row["model"], "metric": row["metric"]}
        rows.append({**kept, "what": "original", "score": _hundred(row["original"])})
        rows.append(
            {
                **kept,
                "what": "mean of runs",
                "score": _hundred(row["pteb_mean"]),
                "low": _hundred(row["original"] - row["delta_ci_high"]),
                "high": _hundred(row["original"] - row["delta_ci_low"]),
            }
        )
        if row["model"] in runs.index.get_level_values("model"):
            rows += [
                {**kept, "what": f"run {int(run)}", "score": _hundred(value)}
                for run, value in runs[row["model"]].items()
            ]
    return rows


def _ranks(own: pd.DataFrame) -> Rows:
    return [
        {
            "model": row["model"],
            "what": what,
            "rank": _known(row[name]),
            "low": _known(row[f"{name}_low"]),
            "high": _known(row[f"{name}_high"]),
        }
        for row in own.sort_values("rank_before").to_dict("records")
        for what, name in (("original", "rank_before"), ("reworded", "rank_after"))
    ]


def _average(across: pd.DataFrame, several: bool) -> Rows:
    groups = []
    for (tasks, metric, generator), own in across.groupby(
        ["tasks", "metric", "generator"], sort=False, dropna=False
    ):
        if own["n_tasks"].iloc[0] < 2 or len(own) < 2:
            continue
        title = f"{tasks}{'' if pd.isna(metric) else f', {metric}'}: {own['n_tasks'].iloc[0]} tasks"
        rows = [
            {
                "model": row["model"],
                "what": what,
                "rank": _known(row[name]),
                "low": _known(row[name] - row["critical_difference"] / 2),
                "high": _known(row[name] + row["critical_difference"] / 2),
            }
            for row in own.sort_values("average_rank_before").to_dict("records")
            for what, name in (
                ("original", "average_rank_before"),
                ("reworded", "average_rank_after"),
            )
        ]
        groups.append({"label": _label(title, str(generator), several), "rows": rows})
    return groups


def _widths(own: pd.DataFrame) -> Rows:
    most = max(MOST_RUNS, 2 * int(own["n_runs"].max()))
    numbers = np.arange(1, most + 1)
    rows: Rows = []
    for place, row in enumerate(own.to_dict("records")):
        standard = VarianceSplit(1, 0, 1).width(1, row["confidence"])
        widths = standard * np.sqrt(row["instance_variance"] + row["run_variance"] / numbers)
        rows += [
            {
                "model": row["model"],
                "dash": place // 8,
                "runs": int(number),
                "width": _hundred(width),
                "here": bool(number == row["n_runs"]),
            }
            for number, width in zip(numbers, widths, strict=True)
        ]
    return rows


def _drift(own: pd.DataFrame) -> Rows:
    return [
        {
            "model": row["model"],
            "kept": "all" if pd.isna(row["min_judge"]) else f"≥ {row['min_judge']:g}",
            "delta": _hundred(row["delta"]),
            "low": _hundred(row["delta_ci_low"]),
            "high": _hundred(row["delta_ci_high"]),
            "instances": int(row["n_instances"]),
        }
        for row in own.to_dict("records")
    ]


def _levels(suite: pd.DataFrame) -> Rows:
    groups = []
    for level in ("total", "utterance", "speaker", "society"):
        own = suite[suite[level].notna()].sort_values(level, ascending=False)
        if len(own):
            rows = [
                {"model": row["model"], "source": row["source"], "score": _hundred(row[level])}
                for row in own.to_dict("records")
            ]
            groups.append({"label": level, "rows": rows})
    return groups
