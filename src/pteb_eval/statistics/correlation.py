"""Spearman and Pearson of gold and similarities, made to be resampled fast."""

import numpy as np
from numpy.typing import ArrayLike

from pteb_eval.statistics.ordering import Ordered
from pteb_eval.statistics.statistic import Array, as_values


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
        self._gold = Ordered(self.gold)
        self._columns = [Ordered(column) for column in self.values]
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


class Pearson:
    """Pearson's r of similarities against gold.

    Args:
        gold: gold similarities, (n_pairs,).
        values: similarities, (n_variants, n_pairs).
    """

    def __init__(self, gold: ArrayLike, values: ArrayLike) -> None:
        self.gold = np.asarray(gold, dtype=np.float64)
        self.values = as_values(values, self.gold.size)
        # Standardized once: r is the same, and moments of resamples lose no digits.
        self._gold = _standardized(self.gold)
        self._own = _standardized(self.values)

    def resampled(self, counts: Array) -> Array:
        """See `Statistic.resampled`."""
        n = counts.sum(axis=0)
        gold_mean, own_mean = self._gold @ counts / n, self._own @ counts / n
        covariance = (self._own * self._gold) @ counts / n - own_mean * gold_mean
        gold_variance = self._gold**2 @ counts / n - gold_mean**2
        own_variance = self._own**2 @ counts / n - own_mean**2
        product = gold_variance * own_variance
        # A resample of copies of one pair has no variance, up to the last digit.
        defined = (gold_variance > 1e-14) & (own_variance > 1e-14)
        return np.where(defined, covariance / np.sqrt(np.where(defined, product, 1)), np.nan)

    def influence(self) -> Array:
        """See `Statistic.influence`."""
        r = (self._own * self._gold).mean(axis=1, keepdims=True)
        return np.asarray(self._own * self._gold - r * (self._own**2 + self._gold**2) / 2)

    def with_values(self, values: Array) -> "Pearson":
        """See `Statistic.with_values`."""
        return Pearson(self.gold, values)


def _standardized(values: Array) -> Array:
    """Mean 0 and variance 1 along the last axis; NaN where all are equal or one is not finite."""
    centred = values - values.mean(axis=-1, keepdims=True)
    scale = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True))
    constant = np.ptp(values, axis=-1, keepdims=True) == 0
    return np.asarray(centred / np.where(constant, np.nan, scale))
