"""Permutation test of Δ for metrics of a whole set, which have no per-instance value."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pteb_eval.statistics.statistic import Array, Statistic, observed

_SLACK = 1e-9  # equal deltas may differ by a float's noise


@dataclass(frozen=True, slots=True)
class PermutationResult:
    """Result of a permutation test.

    Attributes:
        n: number of instances.
        n_ties: instances whose values are equal in all variants after rounding.
        delta: Δ on the data, the test's statistic.
        p: p-value; 1 if all instances are tied; NaN if undefined.
        min_attainable_p: smallest p that so many permutations can give.
        status: `ok`, `identical` or `undefined`.
    """

    n: int
    n_ties: int
    delta: float
    p: float
    min_attainable_p: float
    status: Literal["ok", "identical", "undefined"]


def permutation_test(
    statistic: Statistic,
    *,
    alternative: Literal["two-sided", "greater", "less"],
    n_permutations: int = 2000,
    decimals: int = 6,
    seed: int = 0,
) -> PermutationResult:
    """Test whether the original is exchangeable with the runs, swapping within instances.

    In each permutation the original of each instance changes place with one of its variants drawn
    at random, itself included; with one run that is the swap of original and paraphrase. If there
    are no more than `n_permutations` ways to do so, all are tried and p is exact.

    Args:
        statistic: the metric on original and runs.
        alternative: `greater` asks for a drop (Δ > 0), `less` for a gain, `two-sided` for either.
        n_permutations: how many to draw.
        decimals: values are compared for ties after rounding to so many decimals.
        seed: of the draws.
    """
    values, (n_variants, n) = statistic.values, statistic.values.shape
    n_ties = int((np.ptp(values.round(decimals), axis=0) == 0).sum()) if n else 0
    delta = _delta(statistic)
    if not math.isfinite(delta):
        return PermutationResult(n, n_ties, delta, math.nan, math.nan, "undefined")
    if n_ties == n:
        return PermutationResult(n, n_ties, delta, 1.0, 1.0, "identical")
    deltas = []
    exact = n * math.log(n_variants) <= math.log(n_permutations)
    if exact:
        choices = np.indices((n_variants,) * n).reshape(n, -1).T
    else:
        choices = np.random.default_rng(seed).integers(0, n_variants, (n_permutations, n))
    for chosen in choices:
        deltas.append(_delta(statistic.with_values(_swapped(values, chosen))))
    null, extra = np.array(deltas), 0 if exact else 1
    null = null[np.isfinite(null)]
    upper = (int((null >= delta - _SLACK).sum()) + extra) / (null.size + extra)
    lower = (int((null <= delta + _SLACK).sum()) + extra) / (null.size + extra)
    least = 1 / (null.size + extra)
    if alternative == "two-sided":
        p, least = min(1.0, 2 * min(upper, lower)), min(1.0, 2 * least)
    else:
        p = upper if alternative == "greater" else lower
    return PermutationResult(n, n_ties, delta, p, least, "ok")


def _delta(statistic: Statistic) -> float:
    scores = observed(statistic)
    return float((scores[0] - scores[1:]).mean())


def _swapped(values: Array, chosen: Array) -> Array:
    """The values with row 0 and row `chosen[i]` of each column i exchanged."""
    columns = np.arange(values.shape[1])
    swapped = values.copy()
    swapped[0] = values[chosen, columns]
    swapped[chosen, columns] = values[0]
    return swapped
