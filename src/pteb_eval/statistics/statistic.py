"""Metrics of a set of instances, for the original and all runs at once, made to be resampled.

A resample is a column of counts: how often each instance was drawn. All resamples of a block and
all variants see the same counts, which is what makes the comparison paired.
"""

from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Statistic(Protocol):
    """One metric on the same instances in several variants: row 0 the original, then the runs."""

    values: Array
    """What a variant's score is made of, float64 (n_variants, n_instances)."""

    def resampled(self, counts: Array) -> Array:
        """Scores of resamples.

        Args:
            counts: how often each instance is drawn, float64 (n_instances, n_resamples).

        Returns:
            float64 (n_variants, n_resamples); NaN where the metric is undefined.
        """
        ...

    def influence(self) -> Array:
        """Influence of each instance on each variant's score, float64 (n_variants, n_instances).

        The derivative of the score in an instance's weight, times n_instances: rows sum to zero and
        the score's variance over instances is about the mean square of a row over n_instances.
        """
        ...

    def with_values(self, values: Array) -> Self:
        """The same metric on other values of the same shape."""
        ...


def observed(statistic: Statistic) -> Array:
    """Scores of all variants on the instances as they are, float64 (n_variants,)."""
    return statistic.resampled(np.ones((statistic.values.shape[1], 1)))[:, 0]


def as_values(values: ArrayLike, n_instances: int | None = None) -> Array:
    """Values as float64 (n_variants, n_instances), checked.

    Raises:
        ValueError: if they are not two-dimensional or not one a column for each instance.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or (n_instances is not None and array.shape[1] != n_instances):
        raise ValueError(
            f"values: shape {array.shape}, expected (n_variants, {n_instances or 'n'})"
        )
    return array


class Mean:
    """Mean of per-instance values: accuracy, nDCG of queries, or V-measures of experiments.

    Args:
        values: float (n_variants, n_instances).
    """

    def __init__(self, values: ArrayLike) -> None:
        self.values = as_values(values)

    def resampled(self, counts: Array) -> Array:
        """See `Statistic.resampled`."""
        # Not by BLAS, which may give equal rows unequal sums, and so a difference where none is.
        return np.asarray(np.einsum("ij,jk->ik", self.values, counts) / counts.sum(axis=0))

    def influence(self) -> Array:
        """See `Statistic.influence`."""
        return np.asarray(self.values - self.values.mean(axis=1, keepdims=True))

    def with_values(self, values: Array) -> "Mean":
        """See `Statistic.with_values`."""
        return Mean(values)
