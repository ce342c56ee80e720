"""Values sorted once, so that resamples of them need no sorting."""

import numpy as np
from numpy.typing import NDArray

from pteb_eval.statistics.statistic import Array


class Ordered:
    """The rising order of one column of values, and where runs of equal ones start.

    Attributes:
        order: indices that sort the values, (n,).
        starts: where in that order each run of equal values starts; None if there are no ties.
    """

    def __init__(self, column: Array) -> None:
        self.order: NDArray[np.intp] = np.argsort(column)
        steps = np.diff(column[self.order], prepend=np.nan) != 0
        self.starts = None if steps.all() else np.flatnonzero(steps)

    def groups(self, rows: Array, out: Array | None = None) -> Array:
        """Sums over equal values of rows (n, n_resamples), by rising value: (n_groups, …)."""
        # Numpy buffers the output unless told that no index can be out of bounds.
        ordered: Array = np.take(rows, self.order, axis=0, out=out, mode="clip")
        if self.starts is None:
            return ordered
        sums: Array = np.add.reduceat(ordered, self.starts, axis=0)
        return sums

    def spread_out(self, groups: Array) -> Array:
        """A row for each value from a row for each group, in the values' own order."""
        if self.starts is not None:
            groups = np.repeat(groups, np.diff(self.starts, append=len(self.order)), axis=0)
        rows: Array = np.empty(groups.shape)
        rows[self.order] = groups
        return rows

    def level(self, rows: Array) -> Array:
        """For each value: what lies below it and half of its equals, less half of all.

        For counts these are the average ranks less their mean.
        """
        groups = self.groups(rows)
        return self.spread_out(np.cumsum(groups, axis=0) - groups / 2 - groups.sum(axis=0) / 2)
