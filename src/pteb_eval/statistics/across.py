"""Over several tasks: means within one type, and ranks or standardized Δ over mixed metrics."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from pteb_eval.statistics.bootstrap import (
    Interval,
    IntervalMethod,
    Resamples,
    acceleration,
    interval,
    standard_error,
)
from pteb_eval.statistics.statistic import Array

_NOISE = 1e-12  # a float's, of scores within [−1, 1]


def mean_delta(
    tasks: Sequence[Resamples], *, level: float = 0.95, method: IntervalMethod = "percentile"
) -> Interval:
    """Mean Δ of one model over tasks of one type, each task weighing the same, with its interval.

    Only for tasks with the same metric. The tasks are taken as given: the interval tells what other
    instances and runs of these tasks would give, not what other tasks would.

    Args:
        tasks: one task each, resampled with different seeds, since different tasks are independent.
        level: nominal coverage.
        method: as in `bootstrap.interval`.
    """
    return interval(
        float(np.mean([drawn.delta for drawn in tasks])),
        np.mean([drawn.deltas() for drawn in tasks], axis=0),
        level=level,
        method=method,
        acceleration=acceleration(*tasks),
    )


def standardized_delta(drawn: Resamples) -> float:
    """Δ in standard deviations of a single instance's influence on it: Δ / (SE √n).

    It has no unit and does not grow with n, so it may be averaged over different metrics. For a
    mean of per-instance values it is Cohen's d_z (divisor n). 0 if Δ and its error are both 0,
    infinite if only the error is.
    """
    spread = standard_error(drawn) * math.sqrt(drawn.influence.shape[1])
    if spread < _NOISE:
        return 0.0 if abs(drawn.delta) < _NOISE else math.copysign(math.inf, drawn.delta)
    return drawn.delta / spread


@dataclass(frozen=True, slots=True)
class AverageRanks:
    """Average ranks over tasks (Demšar 2006), 1 the best.

    Attributes:
        ranks: average rank of each model, float64 (n_models,).
        n_tasks: tasks on which every model has a score; the others are left out.
        friedman_p: p-value of Friedman's test that no model differs; NaN below 3 models or 2 tasks.
        critical_difference: average ranks further apart than this differ (Nemenyi).
        cliques: models, by index from the best, that do not differ from one another; maximal.
    """

    ranks: Array
    n_tasks: int
    friedman_p: float
    critical_difference: float
    cliques: tuple[tuple[int, ...], ...]


def average_ranks(scores: ArrayLike, *, alpha: float = 0.05) -> AverageRanks:
    """Rank models within each task and average, for mixed metrics and a critical-difference figure.

    Args:
        scores: higher is better, (n_models, n_tasks): PTEB scores, or −Δ to rank by robustness.
        alpha: level of the critical difference.
    """
    table = np.asarray(scores, dtype=np.float64)
    table = table[:, np.isfinite(table).all(axis=0)]
    n_models, n_tasks = table.shape
    if n_models < 2 or n_tasks < 1:
        nothing = np.full(n_models, np.nan)
        return AverageRanks(nothing, n_tasks, math.nan, math.nan, ())
    ranks = rankdata(-table, axis=0).mean(axis=1)
    quantile = studentized_range.ppf(1 - alpha, n_models, np.inf) / math.sqrt(2)
    difference = float(quantile * math.sqrt(n_models * (n_models + 1) / (6 * n_tasks)))
    tested = n_models > 2 and n_tasks > 1 and bool(np.ptp(table, axis=0).any())
    friedman_p = float(friedmanchisquare(*table).pvalue) if tested else math.nan
    return AverageRanks(ranks, n_tasks, friedman_p, difference, cliques(ranks, difference))


def cliques(ranks: Array, difference: float) -> tuple[tuple[int, ...], ...]:
    """Longest stretches of the ranking that span no more than the difference, of two or more."""
    order = np.argsort(ranks, kind="stable")
    stretches: list[tuple[int, ...]] = []
    reached = 0
    for start, first in enumerate(order):
        end = int(np.searchsorted(ranks[order], ranks[first] + difference, side="right"))
        if end > reached and end - start > 1:
            stretches.append(tuple(int(model) for model in order[start:end]))
            reached = end
    return tuple(stretches)
