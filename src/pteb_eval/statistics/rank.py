"""Stage `rank`: the models' order before and after rewording, on each task and over all."""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pteb_eval.layout import Layout
from pteb_eval.statistics.across import average_ranks, mean_delta, standardized_delta
from pteb_eval.statistics.bootstrap import Interval, Resamples, pooled
from pteb_eval.statistics.cells import read_cells
from pteb_eval.statistics.comparison import compare
from pteb_eval.statistics.measured import Analyzed, analyze, measured
from pteb_eval.statistics.multiplicity import adjust
from pteb_eval.statistics.ranking import Ranking, rank_models, rank_scores
from pteb_eval.statistics.stage import AS_PERCENT
from pteb_eval.statistics.statistic import Array
from pteb_eval.tables import write_tables

RANKING_COLUMNS = [
    "generator", "task", "subset", "metric", "model", "original", "pteb_mean", "rank_before",
    "rank_before_low", "rank_before_high", "rank_after", "rank_after_low", "rank_after_high",
    "tau", "tau_low", "tau_high",
]  # fmt: skip
PAIR_COLUMNS = [
    "generator", "task", "subset", "model", "other_model", "difference", "difference_ci_low",
    "difference_ci_high", "p", "p_adjusted", "flip_probability",
]  # fmt: skip
ACROSS_COLUMNS = [
    "generator", "tasks", "metric", "model", "n_tasks", "delta", "delta_ci_low", "delta_ci_high",
    "standardized_delta", "n_standardized", "average_rank_before", "average_rank_after",
    "critical_difference", "friedman_p",
]  # fmt: skip
ALL_TYPES = "all types"


def run(settings: dict[str, Any], root: Path) -> None:
    """Write the tables `ranking`, `model_pairs` and `across_tasks`.

    Args:
        settings: `models` (name by slug), `generators`, `tasks`, `statistics`, `seed`.
        root: the run's folder `results/<name>`.
    """
    layout, declared, seed = Layout(root), settings["statistics"], settings["seed"]
    cells = read_cells(settings, layout)
    analyzed = [analyze(one, declared, seed) for cell in cells for one in measured(cell)]
    places: dict[tuple[str, str, str], list[Analyzed]] = {}
    for one in analyzed:
        places.setdefault(one[0].place, []).append(one)
    ranking: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    for models in places.values():
        ranks = _ranking(models, declared["confidence"])
        ranking += _ranking_rows(models, ranks)
        pairs += _pair_rows(models, ranks.flip, declared)
    for name, rows, columns in (
        ("ranking", ranking, RANKING_COLUMNS),
        ("model_pairs", pairs, PAIR_COLUMNS),
        ("across_tasks", list(_across_rows(analyzed, declared)), ACROSS_COLUMNS),
    ):
        write_tables(pd.DataFrame(rows, columns=columns), layout.table(name), AS_PERCENT)


def _comparable(models: Sequence[Analyzed]) -> list[Resamples] | None:
    """Their resamples, if all have some, of the same instances; else None."""
    drawn = [resamples for _, resamples, _ in models if resamples is not None]
    alike = len({one.index for one, _, _ in models}) == 1
    return drawn if alike and len(drawn) == len(models) else None


def _ranking(models: Sequence[Analyzed], level: float) -> Ranking:
    """Ranks by mteb's scores; without resamples of all models they have no intervals."""
    drawn = _comparable(models)
    if drawn is not None:
        return rank_models(drawn, level=level)
    none = np.empty((len(models), 0))
    before = np.array([one.original for one, _, _ in models])
    after = np.array([one.runs.mean() for one, _, _ in models])
    return rank_scores(before, after, none, none, level=level)


def _ranking_rows(models: Sequence[Analyzed], ranks: Ranking) -> Iterator[dict[str, Any]]:
    for place, (one, _, _) in enumerate(models):
        yield {
            **one.key,
            "metric": one.cell.metric,
            "original": one.original,
            "pteb_mean": one.runs.mean(),
            "rank_before": ranks.before[place],
            "rank_before_low": ranks.before_interval[place, 0],
            "rank_before_high": ranks.before_interval[place, 1],
            "rank_after": ranks.after[place],
            "rank_after_low": ranks.after_interval[place, 0],
            "rank_after_high": ranks.after_interval[place, 1],
            "tau": ranks.tau,
            "tau_low": ranks.tau_interval[0],
            "tau_high": ranks.tau_interval[1],
        }


def _pair_rows(
    models: Sequence[Analyzed], flip: Array, declared: dict[str, Any]
) -> list[dict[str, Any]]:
    """Each pair of models; p is adjusted over the pairs of one generator, task and subset."""
    level, method = declared["confidence"], declared["interval"]
    rows = []
    for i, j in combinations(range(len(models)), 2):
        (first, one, _), (second, other, _) = models[i], models[j]
        nothing = Interval(first.delta - second.delta, math.nan, math.nan, math.nan, 0)
        between, p = nothing, math.nan
        if one is not None and other is not None and first.index == second.index:
            found = compare(one, other, level=level, method=method)
            between, p = found.interval, found.p
        rows.append(
            {
                **first.key,
                "other_model": second.cell.model,
                "difference": between.estimate,
                "difference_ci_low": between.low,
                "difference_ci_high": between.high,
                "p": p,
                "flip_probability": flip[i, j],
            }
        )
    adjusted = adjust([row["p"] for row in rows], method=declared["correction"]).p
    return [{**row, "p_adjusted": p} for row, p in zip(rows, adjusted, strict=True)]


def _across_rows(
    analyzed: Sequence[Analyzed], declared: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Each model over the tasks of one type and metric, and over all tasks, for each generator."""
    for generator in dict.fromkeys(one.cell.generator for one, _, _ in analyzed):
        own = [one for one in analyzed if one[0].cell.generator == generator]
        types: dict[tuple[str, str], list[Analyzed]] = {}
        for one in own:
            types.setdefault((one[0].cell.task_type, one[0].cell.metric), []).append(one)
        for (task_type, metric), group in types.items():
            yield from _group_rows(group, task_type, metric, declared)
        if len(types) > 1:
            yield from _group_rows(own, ALL_TYPES, "", declared)


def _group_rows(
    group: Sequence[Analyzed], tasks: str, metric: str, declared: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    frame = pd.DataFrame(
        [
            {**one.key, "original": one.original, "pteb": one.runs.mean(), "delta": one.delta}
            for one, _, _ in group
        ]
    )
    by_task = frame.pivot_table(
        index="model", columns="task", values=["original", "pteb", "delta"], aggfunc="mean",
        sort=False, dropna=False,
    )  # fmt: skip
    before = average_ranks(by_task["original"].to_numpy(), alpha=declared["alpha"])
    after = average_ranks(by_task["pteb"].to_numpy(), alpha=declared["alpha"])
    drawn = _by_task(group)
    for place, model in enumerate(by_task.index):
        own = drawn[model]
        mean = by_task["delta"].loc[model].mean() if metric else math.nan
        interval = Interval(mean, math.nan, math.nan, math.nan, 0)
        if metric and len(own) == len(by_task["delta"].columns):
            how = {"level": declared["confidence"], "method": declared["interval"]}
            interval = mean_delta(list(own.values()), **how)
        # Over the tasks that have it for every model, so that means are of the same tasks.
        common = [task for task in own if all(task in other for other in drawn.values())]
        sizes = [standardized_delta(own[task]) for task in common]
        yield {
            "generator": group[0][0].cell.generator,
            "tasks": tasks,
            "metric": metric,
            "model": model,
            "n_tasks": after.n_tasks,
            "delta": mean,
            "delta_ci_low": interval.low,
            "delta_ci_high": interval.high,
            "standardized_delta": float(np.mean(sizes)) if sizes else math.nan,
            "n_standardized": len(sizes),
            "average_rank_before": before.ranks[place],
            "average_rank_after": after.ranks[place],
            "critical_difference": after.critical_difference,
            "friedman_p": after.friedman_p,
        }


def _by_task(group: Sequence[Analyzed]) -> dict[str, dict[str, Resamples]]:
    """Resamples by model and task, each task the mean over its subsets if all of them have some."""
    found: dict[str, dict[str, list[Resamples | None]]] = {}
    for one, drawn, _ in group:
        found.setdefault(one.cell.model, {}).setdefault(one.cell.task, []).append(drawn)
    return {
        model: {
            task: pooled([one for one in subsets if one is not None])
            for task, subsets in tasks.items()
            if None not in subsets
        }
        for model, tasks in found.items()
    }
