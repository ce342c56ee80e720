"""The best of several metrics, such as mteb's `max_ap` over the ways to compare two vectors."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pteb_eval.statistics.statistic import Array, Statistic, observed


class Best:
    """The greatest of several statistics of the same instances, for each variant by itself.

    `values` does not hold similarities but, for each variant of an instance, the number of the
    first variant with the same ones (to six decimals), which is all that a permutation needs.

    Args:
        parts: the statistics, with the same numbers of variants and instances.
    """

    def __init__(self, parts: Sequence[Statistic]) -> None:
        self.parts = list(parts)
        rounded = np.stack([part.values for part in self.parts]).round(6)
        same: NDArray[np.bool_] = (rounded[:, :, None] == rounded[:, None]).all(axis=0)
        self.values: Array = same.argmax(axis=1).astype(np.float64)

    def resampled(self, counts: Array) -> Array:
        """See `Statistic.resampled`."""
        return np.asarray(np.max([part.resampled(counts) for part in self.parts], axis=0))

    def influence(self) -> Array:
        """See `Statistic.influence`: that of each variant's best."""
        best = np.argmax([observed(part) for part in self.parts], axis=0)
        influences = np.stack([part.influence() for part in self.parts])
        return np.asarray(influences[best, np.arange(len(best))])

    def with_values(self, values: Array) -> "Best":
        """The same on other variants of the instances, by their numbers."""
        chosen = values.astype(np.intp)
        return Best(
            [
                part.with_values(np.take_along_axis(part.values, chosen, axis=0))
                for part in self.parts
            ]
        )
