"""Many tests at once: adjusted p-values within a family."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from statsmodels.stats.multitest import multipletests

Array = NDArray[np.float64]
Method = Literal["holm", "fdr_bh"]


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Adjusted tests of one family, in the order given.

    Attributes:
        p: adjusted p-values, float64 (n_tests,); NaN where a test is undefined.
        reject: whether each is rejected at the family's level, bool (n_tests,).
        family_size: number of defined tests, which alone count.
    """

    p: Array
    reject: NDArray[np.bool_]
    family_size: int


def adjust(p_values: ArrayLike, *, method: Method = "holm", alpha: float = 0.05) -> Adjusted:
    """Adjust the p-values of one family; undefined tests (NaN) leave it.

    Args:
        p_values: raw p-values, (n_tests,).
        method: `holm` bounds the chance of any false rejection, `fdr_bh` their expected share.
        alpha: the family's level.
    """
    raw = np.asarray(p_values, dtype=np.float64)
    defined = ~np.isnan(raw)
    adjusted = np.full(raw.shape, np.nan)
    reject = np.zeros(raw.shape, dtype=np.bool_)
    if defined.any():
        reject[defined], adjusted[defined], _, _ = multipletests(raw[defined], alpha, method)
    return Adjusted(adjusted, reject, int(defined.sum()))


def attainable(p_values: ArrayLike, min_p_values: ArrayLike, *, method: Method = "holm") -> Array:
    """Smallest adjusted p that each test could have reached, the others being as they are.

    Args:
        p_values: raw p-values of the family, (n_tests,).
        min_p_values: smallest attainable raw p of each test, (n_tests,).
        method: as in `adjust`.

    Returns:
        float64 (n_tests,); NaN where a test is undefined. Above alpha: that test had no chance.
    """
    raw = np.asarray(p_values, dtype=np.float64)
    best = np.asarray(min_p_values, dtype=np.float64)
    defined = ~np.isnan(raw)
    result = np.full(raw.shape, np.nan)
    find = _attainable_holm if method == "holm" else _attainable_fdr
    result[defined] = find(raw[defined], best[defined])
    return result


def _attainable_holm(raw: Array, best: Array) -> Array:
    """A test at its best comes after those below it, and takes over the largest of their steps."""
    ordered, size = np.sort(raw), raw.size
    steps = np.maximum.accumulate(np.append(0.0, ordered * np.arange(size, 0, -1)))
    before = np.searchsorted(ordered, best)
    return np.minimum(1.0, np.maximum(steps[before], (size - before) * best))


def _attainable_fdr(raw: Array, best: Array) -> Array:
    improved = np.where(np.eye(raw.size, dtype=bool), best, raw)
    return np.array([adjust(row, method="fdr_bh").p[i] for i, row in enumerate(improved)])
