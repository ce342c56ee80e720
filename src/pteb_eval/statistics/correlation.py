"""Spearman and Pearson of gold and similarities, made to be resampled fast."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pteb_eval.statistics.statistic import Array, as_values


class _Sorted:
    """The order of one column's values and where runs of equal ones start (None: no ties)."""

    def __init__(self, column: Array) -> None:
        self.order: NDArray[np.intp] = np.argsort(column, kind="stable")
        steps = np.diff(column[self.order], prepend=np.nan) != 0
        self.starts = None if steps.all() else np.flatnonzero(steps)

    def groups(self, rows: Array, out: Array | None = None) -> Array:
        """Sums of rows over equal values, by rising value, (n_groups, n_resamples)."""
        # Numpy buffers the output unless told that no index can be out of bounds.
        ordered: Array = np.take(rows, self.order, axis=0, out=out, mode="clip")
        if self.starts is None:
            return ordered
        sums: Array = np.add.reduceat(ordered, self.starts, axis=0)
        return sums

    def level(self, rows: Array) -> Array:
        """Each row's share below it and half its own, less half of all; in the rows' own order.

        For counts these are the average ranks less their mean.
        """
        groups = self.groups(rows)
        level = np.cumsum(groups, axis=0) - groups / 2 - groups.sum(axis=0) / 2
        if self.starts is not None:
            level = np.repeat(level, np.diff(self.starts, append=len(self.order)), axis=0)
        ranks: Array = np.empty(rows.shape)
        ranks[self.order] = level
        return ranks


def _spread(groups: Array) -> Array:
    """n³ − n less Σ(t³ − t): twelve times the ranks' squared deviations from their mean."""
    n = groups.sum(axis=0)
    return np.asarray(n**3 - np.einsum("ij,ij,ij->j", groups, groups, groups))


class Spearman:
    """Spearman's ρ of similarities against gold; ties take their average rank, copies included.

    Columns are sorted once: in a resample the ranks follow from running sums of the counts.

    Args:
        gold: gold similarities, (n_pairs,).
        values: similarities, (n_variants, n_pairs).
    """

    def __init__(self, gold: ArrayLike, values: ArrayLike) -> None:
        self.gold = np.asarray(gold, dtype=np.float64)
        self.values = as_values(values, self.gold.size)
        self._gold = _Sorted(self.gold)
        self._columns = [_Sorted(column) for column in self.values]
        self._defined = [bool(np.isfinite(row + self.gold).all()) for row in self.values]

    def resampled(self, counts: Array) -> Array:
        """See `Statistic.resampled`."""
        weighted = counts * self._gold.level(counts)
        gold_spread = _spread(self._gold.groups(counts))
        untied_spread = _spread(counts)
        untied_half = np.einsum("ij,ij->j", weighted, counts) / 2
        # Written to again and again: fresh megabytes for each column would cost more than the sums.
        drawn_out, gold_out, below = (np.empty_like(counts) for _ in range(3))
        result = np.full((len(self.values), counts.shape[1]), np.nan)
        for row, column in enumerate(self._columns):
            if not self._defined[row]:
                continue
            spread, half = untied_spread, untied_half
            drawn, gold = column.groups(counts, drawn_out), column.groups(weighted, gold_out)
            if column.starts is not None:
                spread, half = _spread(drawn), np.einsum("ij,ij->j", gold, drawn) / 2
            # A group's ranks average (all drawn up to it) − (half of its own) + ½, and the weighted
            # gold ranks sum to zero, so constants drop out.
            up_to = np.cumsum(drawn, axis=0, out=below[: len(drawn)])
            covariance = np.einsum("ij,ij->j", gold, up_to) - half
            with np.errstate(invalid="ignore", divide="ignore"):
                result[row] = 12 * covariance / np.sqrt(gold_spread * spread)
        return result

    def influence(self) -> Array:
        """See `Statistic.influence`; each pair shifts the ranks of all others too."""
        n = self.gold.size
        gold = self._gold.level(np.ones((n, 1)))[:, 0] / n
        result = np.full(self.values.shape, np.nan)
        for row, column in enumerate(self._columns):
            own = column.level(np.ones((n, 1)))[:, 0] / n
            covariance, gold_variance, own_variance = gold @ own / n, gold @ gold / n, own @ own / n
            if not self._defined[row] or gold_variance * own_variance == 0:
                continue
            both = np.stack([gold, own], axis=1)
            gold_by_gold, own_by_gold = -self._gold.level(both).T / n
            gold_by_own, own_by_own = -column.level(both).T / n
            scale = np.sqrt(gold_variance * own_variance)
            moved = gold * own + gold_by_own + own_by_gold - 3 * covariance
            bent_gold = (gold**2 + 2 * gold_by_gold) / gold_variance - 3
            bent_own = (own**2 + 2 * own_by_own) / own_variance - 3
            result[row] = (moved - covariance * (bent_gold + bent_own) / 2) / scale
        return result

    def with_values(self, values: Array) -> "Spearman":
        """See `Statistic.with_values`."""
        return Spearman(self.gold, values)
