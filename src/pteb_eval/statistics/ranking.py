"""The ranking of models before and after rewording, and how sure it is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, rankdata

from pteb_eval.statistics.bootstrap import Resamples
from pteb_eval.statistics.statistic import Array


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranks of models, 1 the best, equal scores sharing their average rank.

    Attributes:
        before: rank by the original score, float64 (n_models,).
        after: rank by the PTEB score, float64 (n_models,).
        before_interval: lowest and highest rank by the original score, float64 (n_models, 2).
        after_interval: the same by the PTEB score.
        tau: Kendall's τ-b of the two rankings; NaN if one of them has only ties.
        tau_interval: its bootstrap interval.
        flip: chance that two models stand in opposite order by the two scores, symmetric float64
            (n_models, n_models): the share of resamples, where a tie in one score counts half.
    """

    before: Array
    after: Array
    before_interval: Array
    after_interval: Array
    tau: float
    tau_interval: tuple[float, float]
    flip: Array


def rank_models(models: Sequence[Resamples], *, level: float = 0.95) -> Ranking:
    """Rank models on one task, resampled with the same seed on the same instances and runs."""
    before = np.array([drawn.scores[0] for drawn in models])
    after = np.array([drawn.scores[1:].mean() for drawn in models])
    return rank_scores(
        before,
        after,
        np.stack([drawn.resampled[0] for drawn in models]),
        np.stack([drawn.pteb() for drawn in models]),
        level=level,
    )


def rank_scores(
    before: Array,
    after: Array,
    before_resampled: Array,
    after_resampled: Array,
    *,
    level: float = 0.95,
) -> Ranking:
    """Rank models by any two scores, higher is better, such as means over tasks of one type.

    Args:
        before: original scores, (n_models,).
        after: PTEB scores, (n_models,).
        before_resampled: original scores on each resample, (n_models, n_resamples).
        after_resampled: PTEB scores on the same resamples, (n_models, n_resamples).
        level: nominal coverage of the intervals.

    Resamples in which a model's score is undefined are left out.
    """
    defined = np.isfinite(before_resampled + after_resampled).all(axis=0)
    old, new = before_resampled[:, defined], after_resampled[:, defined]
    old_ranks, new_ranks = _ranks(old), _ranks(new)
    taus = [_tau(first, second) for first, second in zip(old.T, new.T, strict=True)]
    return Ranking(
        before=_ranks(before),
        after=_ranks(after),
        before_interval=_rank_interval(old_ranks, level),
        after_interval=_rank_interval(new_ranks, level),
        tau=_tau(before, after),
        tau_interval=_bounds(np.array(taus), level),
        flip=_flips(old, new),
    )


def _ranks(scores: Array) -> Array:
    return np.asarray(rankdata(-scores, axis=0, nan_policy="propagate"))


def _tau(first: Array, second: Array) -> float:
    return float(kendalltau(first, second).statistic) if len(first) > 1 else math.nan


def _rank_interval(ranks: Array, level: float) -> Array:
    """Ranks that hold the middle `level` of the resamples: observed ranks, never between two."""
    if not ranks.shape[1]:
        return np.full((len(ranks), 2), np.nan)
    low = np.quantile(ranks, (1 - level) / 2, axis=1, method="lower")
    return np.stack([low, np.quantile(ranks, (1 + level) / 2, axis=1, method="higher")], axis=1)


def _bounds(values: Array, level: float) -> tuple[float, float]:
    values = values[np.isfinite(values)]
    if not values.size:
        return math.nan, math.nan
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _flips(old: Array, new: Array) -> Array:
    """Share of resamples with opposite order, (n_models, n_models); NaN without a resample."""
    n_models, n_resamples = old.shape
    flips: NDArray[np.float64] = np.zeros((n_models, n_models))
    for i in range(n_models):
        product = np.sign(old[i] - old) * np.sign(new[i] - new)
        tied = (old[i] == old) != (new[i] == new)
        counted = (product < 0).sum(axis=1) + tied.sum(axis=1) / 2
        flips[i] = counted / n_resamples if n_resamples else np.nan
    return flips
