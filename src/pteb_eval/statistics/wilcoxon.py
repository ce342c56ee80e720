"""Wilcoxon's signed-rank test of paired differences, with effect size, shift and attainable p."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from scipy.stats import wilcoxon as scipy_wilcoxon

Array = NDArray[np.float64]
Alternative = Literal["two-sided", "greater", "less"]
ZeroMethod = Literal["wilcox", "pratt", "zsplit"]
Status = Literal["ok", "identical", "undefined"]


@dataclass(frozen=True, slots=True)
class WilcoxonResult:
    """Result of a signed-rank test on differences original − paraphrase.

    Attributes:
        n: number of differences, zeros included.
        n_ties: how many of them are zero after rounding.
        statistic: as scipy's: the smaller rank sum if two-sided, else that of the positive ranks.
        p: p-value; 1 if all differences are zero; NaN if undefined.
        effect_size: matched-pairs rank-biserial correlation in [−1, 1], positive for a drop.
        min_attainable_p: the p that these differences would give if all had the same sign.
        status: `ok`, `identical` (all zero) or `undefined` (none, or one is not finite).
        shift: Hodges–Lehmann estimate: the median of all means of two differences, each difference
            with itself included, zeros kept.
    """

    n: int
    n_ties: int
    statistic: float
    p: float
    effect_size: float
    min_attainable_p: float
    status: Status
    shift: float


def wilcoxon(
    differences: ArrayLike,
    *,
    alternative: Alternative,
    zero_method: ZeroMethod,
    decimals: int = 6,
) -> WilcoxonResult:
    """Test whether paired differences are symmetric about zero.

    Without ties and for at most 50 differences the null distribution is exact, for at most 13 it is
    so with ties too; else it is normal, corrected for ties. With `zero_method="wilcox"` zeros are
    dropped before that choice.

    Args:
        differences: original − paraphrase of each instance or data set, (n,); positive is a drop.
        alternative: `greater` asks for a drop, `less` for a gain, `two-sided` for either.
        zero_method: `wilcox` drops zeros, `pratt` ranks and then drops them, `zsplit` halves them.
        decimals: differences are rounded to so many decimals first, since a float's noise is
            otherwise ranked as if it were an effect.
    """
    d: Array = np.asarray(differences, dtype=np.float64).round(decimals)
    n, n_ties = d.size, int(np.count_nonzero(d == 0))
    if n == 0 or not np.isfinite(d).all():
        nan = math.nan
        return WilcoxonResult(n, n_ties, nan, nan, nan, nan, "undefined", nan)
    if n_ties == n:
        return WilcoxonResult(n, n_ties, 0.0, 1.0, 0.0, 1.0, "identical", 0.0)
    kept = d[d != 0] if zero_method == "wilcox" else d
    test = scipy_wilcoxon(kept, zero_method=zero_method, alternative=alternative)
    extreme = np.abs(kept) if alternative != "less" else -np.abs(kept)
    best = scipy_wilcoxon(extreme, zero_method=zero_method, alternative=alternative)
    return WilcoxonResult(
        n=n,
        n_ties=n_ties,
        statistic=float(test.statistic),
        p=float(test.pvalue),
        effect_size=_rank_biserial(kept, zero_method),
        min_attainable_p=float(best.pvalue),
        status="ok",
        shift=hodges_lehmann(d, decimals=decimals),
    )


def _rank_biserial(d: Array, zero_method: ZeroMethod) -> float:
    """(R₊ − R₋) / (sum of the ranks that count): zeros count under `zsplit` alone."""
    ranks = rankdata(np.abs(d))
    counted = ranks if zero_method == "zsplit" else ranks[d != 0]
    return float((np.sign(d) * ranks).sum() / counted.sum())


def hodges_lehmann(differences: ArrayLike, *, decimals: int = 6) -> float:
    """Median of the n(n + 1)/2 means (dᵢ + dⱼ)/2 with i ≤ j, of differences rounded to `decimals`.

    Exact in O(n log n) and without holding the means: rounded differences are whole numbers of
    units, so the middle sums are found by bisection on whole numbers.
    """
    scale = 10.0**decimals
    units = np.sort(np.round(np.asarray(differences, dtype=np.float64) * scale).astype(np.int64))
    n_sums = units.size * (units.size + 1) // 2
    middle = {(n_sums + 1) // 2, n_sums // 2 + 1}
    return float(np.mean([_kth_sum(units, k) for k in middle]) / 2 / scale)


def _kth_sum(units: NDArray[np.int64], k: int) -> int:
    """The k-th smallest (from 1) of the sums of two sorted units, each with itself included."""
    low, high = 2 * int(units[0]), 2 * int(units[-1])
    while low < high:
        guess = (low + high) // 2
        ordered = int(np.searchsorted(units, guess - units, side="right").sum())
        doubled = int(np.count_nonzero(2 * units <= guess))
        if (ordered + doubled) // 2 >= k:
            high = guess
        else:
            low = guess + 1
    return low
