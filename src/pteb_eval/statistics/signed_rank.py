"""Wilcoxon's signed-rank test for one original against several runs.

The plain test on original − mean over runs is not valid for skewed values such as squared rank
differences or right/wrong: the mean of six is less skewed than the original, so their difference is
not symmetric about zero even where the original is just one more draw like the runs, and the test
rejects ever more often as instances are added. Here each run is compared with the original by
itself, which is symmetric, and the instance stays the unit. With one run it is the plain test.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, rankdata

from pteb_eval.statistics.statistic import Array, as_values
from pteb_eval.statistics.wilcoxon import (
    Alternative,
    WilcoxonResult,
    ZeroMethod,
    hodges_lehmann,
    wilcoxon,
)

SMALL = 50
"""Up to so many instances that are not all ties the null is enumerated or drawn, else normal."""
DRAWS = 20_000
_SLACK = 1e-9  # equal sums of ranks may differ by a float's noise


def signed_rank(
    values: ArrayLike,
    *,
    alternative: Alternative,
    zero_method: ZeroMethod,
    decimals: int = 6,
    seed: int = 0,
) -> WilcoxonResult:
    """Test whether the original is exchangeable with the runs, instance by instance.

    All differences between two variants of an instance are ranked together by size. An instance's
    sum is that of the signed ranks of original − run over the runs; had another variant been the
    original, the sum would be another known one, and these add up to zero. The test statistic is
    the total over instances divided by the root of its sum of squares. Up to 50 instances that are
    not all ties it is compared with its values when any variant of each instance may be the
    original (all of them up to 20,000, else so many seeded draws), above with the normal
    distribution.

    Args:
        values: per-instance values, higher is better, (1 + n_runs, n): row 0 the original.
        alternative: as in `wilcoxon`; `greater` asks for a drop.
        zero_method: `wilcox` leaves equal pairs out of the ranking, `pratt` ranks them and counts
            them as 0, `zsplit` adds their ranks to the variance as well.
        decimals: differences are rounded to so many decimals first.
        seed: of the draws.

    Returns:
        As `wilcoxon`, where `n` counts instances, `n_ties` those where no run differs from the
        original, `statistic` is the total of the signed ranks, `effect_size` is it over the total
        of the unsigned ones, and `shift` is the Hodges–Lehmann estimate over all n × n_runs
        differences. With one run it is `wilcoxon` itself.
    """
    table = as_values(values)
    n_runs, n = len(table) - 1, table.shape[1]
    if n_runs < 1:
        raise ValueError(f"values: shape {table.shape}, needs an original and a run")
    if n_runs == 1 or n == 0 or not np.isfinite(table).all():
        mean = table[0] - table[1:].mean(axis=0)
        return wilcoxon(mean, alternative=alternative, zero_method=zero_method, decimals=decimals)
    differences = (table[:, None] - table[None]).round(decimals)
    own = differences[0, 1:]
    n_ties = int((own == 0).all(axis=0).sum())
    if n_ties == n:
        return WilcoxonResult(n, n_ties, 0.0, 1.0, 0.0, 1.0, "identical", 0.0)
    ranks = _ranks(np.abs(differences), zero_method)
    sums = (np.sign(differences) * ranks).sum(axis=1)
    zeros = float(np.square(ranks[0, 1:][own == 0]).sum()) if zero_method == "zsplit" else 0.0
    # Instances in which nothing differs add nothing to any total.
    p, least = _p_values(sums[:, sums.any(axis=0)], zeros, alternative, seed)
    counted = ranks[0, 1:] if zero_method == "zsplit" else ranks[0, 1:][own != 0]
    total = float(sums[0].sum())
    return WilcoxonResult(
        n=n,
        n_ties=n_ties,
        statistic=total,
        p=p,
        effect_size=total / float(counted.sum()),
        min_attainable_p=least,
        status="ok",
        shift=hodges_lehmann(own.ravel(), decimals=decimals),
    )


def _ranks(sizes: Array, zero_method: ZeroMethod) -> Array:
    """Ranks of the sizes (n_variants, n_variants, n), each pair of variants ranked once."""
    first, second = np.triu_indices(len(sizes), 1)
    once = sizes[first, second]
    ranked = np.zeros_like(once)
    counted = once > 0 if zero_method == "wilcox" else np.ones_like(once, dtype=bool)
    ranked[counted] = rankdata(once[counted])
    result = np.zeros_like(sizes)
    result[first, second] = result[second, first] = ranked
    return result


def _p_values(
    sums: Array, zeros: float, alternative: Alternative, seed: int
) -> tuple[float, float]:
    """The p-value and the smallest attainable one, from sums (n_variants, n)."""
    if alternative == "less":
        sums = -sums
    actual, best = _studentized(sums[0], zeros), _studentized(sums.max(axis=0), zeros)
    if sums.shape[1] > SMALL:
        factor = 2 if alternative == "two-sided" else 1
        seen = abs(actual) if alternative == "two-sided" else actual
        return factor * float(norm.sf(seen)), factor * float(norm.sf(best))
    null, extra = _null(sums, zeros, seed)
    best = max(best, float(null.max()))

    def tail(reached: NDArray[np.bool_]) -> float:
        return (int(reached.sum()) + extra) / (null.size + extra)

    upper, best_upper = tail(null >= actual - _SLACK), tail(null >= best - _SLACK)
    if alternative != "two-sided":
        return upper, best_upper
    p = min(1.0, 2 * min(upper, tail(null <= actual + _SLACK)))
    return p, min(1.0, 2 * min(best_upper, tail(null <= float(null.min()) + _SLACK)))


def _studentized(sums: Array, zeros: float) -> float:
    squares = float(np.square(sums).sum()) + zeros
    return float(sums.sum()) / math.sqrt(squares) if squares > 0 else 0.0


def _null(sums: Array, zeros: float, seed: int) -> tuple[Array, int]:
    """Studentized totals with other originals: all (and 0) if few, else draws (and 1 for ours)."""
    n_variants, n = sums.shape
    if n_variants**n <= DRAWS:
        chosen = np.indices((n_variants,) * n).reshape(n, -1)
        extra = 0
    else:
        chosen = np.random.default_rng(seed).integers(0, n_variants, (n, DRAWS))
        extra = 1
    drawn = sums[chosen, np.arange(n)[:, None]]
    squares = np.square(drawn).sum(axis=0) + zeros
    totals = drawn.sum(axis=0)
    return np.divide(totals, np.sqrt(squares), out=np.zeros_like(totals), where=squares > 0), extra
