"""What a cell measured on one subset: mteb's scores, and the statistic that they are."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from pteb_eval.ids import digest
from pteb_eval.statistics.best import Best
from pteb_eval.statistics.bootstrap import (
    Interval,
    Resamples,
    delta_interval,
    pooled,
    resample,
)
from pteb_eval.statistics.cells import Cell
from pteb_eval.statistics.contributions import spearman_contributions
from pteb_eval.statistics.correlation import Pearson, Spearman
from pteb_eval.statistics.precision import AveragePrecision
from pteb_eval.statistics.statistic import Array, Mean, Statistic, observed

Kind = Literal["correlation", "mean", "experiments", "whole"]

TOLERANCE = 1e-5
"""mteb rounds retrieval scores to five decimals."""
COSINE = "cosine_similarity"
ALL_SIMILARITIES = (
    COSINE,
    "similarity",
    "dot_product",
    "negative_manhattan",
    "negative_euclidean",
)
"""What mteb's `max_ap` is the best of."""


def _best_precision(gold: Array, values: list[Array]) -> Statistic:
    """Average precision by the best similarity; those that are the same count once."""
    distinct: list[Array] = []
    for table in values:
        if not any(np.array_equal(table, other) for other in distinct):
            distinct.append(table)
    parts = [AveragePrecision(gold, table) for table in distinct]
    return parts[0] if len(parts) == 1 else Best(parts)


Build = Callable[[Array, list[Array]], Statistic]
"""Makes a statistic of gold (n,) and, for each named value, its table (n_variants, n)."""
MEAN: Build = lambda gold, values: Mean(values[0])  # noqa: E731
CHOICES: dict[str, tuple[Kind, tuple[str, ...], Build]] = {
    "cosine_spearman": ("correlation", (COSINE,), lambda gold, v: Spearman(gold, v[0])),
    "cosine_pearson": ("whole", (COSINE,), lambda gold, v: Pearson(gold, v[0])),
    "cosine_ap": ("whole", (COSINE,), lambda gold, v: AveragePrecision(gold, v[0])),
    "max_ap": ("whole", ALL_SIMILARITIES, _best_precision),
    "accuracy": ("mean", ("correct",), MEAN),
    "dev_accuracy": ("mean", ("correct",), MEAN),
    "best_accuracy": ("mean", ("correct",), MEAN),
    "ndcg_at_10": ("mean", ("ndcg_at_10",), MEAN),
    "mrr": ("mean", ("reciprocal_rank",), MEAN),
    "map_at_1000": ("mean", ("average_precision",), MEAN),
    "v_measure": ("experiments", ("v_measure",), MEAN),
}
"""By main metric: the kind of statistic, the values it is made of, and how."""
SUMMARIES: tuple[Kind, tuple[str, ...], Build] = ("mean", ("spearman",), MEAN)
"""Of summarization, where Spearman's correlation is within a text and averaged over texts."""


@dataclass(frozen=True)
class Measured:
    """Scores of one cell on one subset.

    Attributes:
        cell: where they come from.
        subset: the subset.
        original: mteb's main score of the original, mean over splits.
        runs: the same of each run, float64 (n_runs,).
        n_instances: instances compared, over all splits.
        parts: one statistic a split, whose mean is the main score; empty if there is none.
        kind: `correlation` has contributions, `mean` and `experiments` have values of instances or
            of mteb's experiments, `whole` has neither.
        index: the instances, (split, row) in the order of the statistics.
        note: why there is no statistic; empty if there is one.
    """

    cell: Cell
    subset: str
    original: float
    runs: Array
    n_instances: int
    parts: tuple[Statistic, ...] = ()
    kind: Kind = "whole"
    index: tuple[tuple[str, str], ...] = ()
    note: str = ""

    @property
    def key(self) -> dict[str, str]:
        """Names of the cell and the subset, as columns of a table."""
        return {**self.cell.key, "subset": self.subset}

    @property
    def place(self) -> tuple[str, str, str]:
        """What models are compared on: generator, task, subset."""
        return self.cell.generator, self.cell.task, self.subset

    @property
    def delta(self) -> float:
        """Original less mean over runs, of mteb's scores."""
        return float(self.original - self.runs.mean())

    @property
    def values(self) -> Array | None:
        """Values of instances whose mean is the score, (1 + n_runs, n); None where there are none.

        Over several splits each split's values stand side by side.
        """
        if self.kind == "whole" or not self.parts:
            return None
        return np.concatenate([_values(part) for part in self.parts], axis=1)

    def resampled(self, n_resamples: int, seed: int) -> Resamples | None:
        """Resamples, drawn alike for all models; None without a statistic.

        Args:
            n_resamples: how many.
            seed: the run's; task, subset and split make of it seeds that differ.
        """
        if not self.parts:
            return None
        drawn = []
        for number, part in enumerate(self.parts):
            own = int(digest([seed, self.cell.task, self.subset, number])[:8], 16)
            drawn.append(resample(part, n_resamples=n_resamples, seed=own))
        return pooled(drawn)


Analyzed = tuple[Measured, Resamples | None, Interval]
"""Scores, their resamples if they have a statistic, and the interval of Δ."""


def _values(part: Statistic) -> Array:
    if isinstance(part, Spearman):
        return spearman_contributions(part.gold, part.values)
    return part.values


def measured(cell: Cell) -> Iterator[Measured]:
    """The cell's subsets, each with the statistic that its main score is, if it is one we know."""
    main = cell.scores[cell.scores["metric"] == "main_score"]
    main = main.assign(run=main["run"].fillna(0).astype(int))
    for subset, rows in main.groupby("subset", sort=False):
        by_run = rows.groupby("run")["value"].mean()
        splits = list(rows["split"].unique())
        bare = Measured(
            cell,
            str(subset),
            float(by_run.loc[0]),
            by_run.drop(0).to_numpy(dtype=np.float64),
            int(rows.loc[rows["run"] == 0, "n_instances"].sum()),
        )
        own = cell.instances[cell.instances["subset"] == subset]
        yield _with_statistic(bare, own, splits)


def analyze(one: Measured, declared: dict[str, Any], seed: int) -> Analyzed:
    """Resample a model's scores on one task and subset.

    Args:
        one: the scores.
        declared: `resamples`, `confidence`, `interval`.
        seed: the run's.
    """
    drawn = one.resampled(declared["resamples"], seed)
    if drawn is None:
        return one, None, Interval(one.delta, math.nan, math.nan, math.nan, 0)
    level, method = declared["confidence"], declared["interval"]
    return one, drawn, delta_interval(drawn, level=level, method=method)


def _with_statistic(bare: Measured, instances: pd.DataFrame, splits: list[str]) -> Measured:
    metric = bare.cell.metric
    found = SUMMARIES if bare.cell.task_type == "Summarization" else CHOICES.get(metric)
    if found is None or not set(found[1]) <= set(instances["value_name"]):
        return replace(bare, note=f"no interval and no test: {metric} has no values of instances")
    kind, names, build = found
    parts, index = [], []
    for split in splits:
        rows = instances[instances["split"] == split]
        tables = [_table(rows[rows["value_name"] == name]) for name in names]
        gold = tables[0][1]
        parts.append(build(gold, [table.to_numpy(dtype=np.float64).T for table, _ in tables]))
        index += [(split, str(row)) for row in tables[0][0].index]
    scores = np.mean([observed(part) for part in parts], axis=0)
    reported = np.array([bare.original, *bare.runs])
    if scores.shape != reported.shape or not np.allclose(
        scores, reported, rtol=0, atol=TOLERANCE, equal_nan=True
    ):
        note = f"no interval and no test: {metric} is not what the values of instances give"
        return replace(bare, note=note)
    return replace(bare, parts=tuple(parts), kind=kind, index=tuple(index))


def _table(rows: pd.DataFrame) -> tuple[pd.DataFrame, Array]:
    """Values (instances × variants, 0 the original) and gold of each instance."""
    table = rows.assign(run=rows["run"].fillna(0).astype(int)).pivot(
        index="row", columns="run", values="value"
    )
    gold = rows[rows["variant"] == "original"].set_index("row")["gold"]
    return table, gold.reindex(table.index).to_numpy(dtype=np.float64)
