"""Average precision of scored pairs, made to be resampled fast."""

import numpy as np
from numpy.typing import ArrayLike

from pteb_eval.statistics.ordering import Ordered
from pteb_eval.statistics.statistic import Array, as_values


class AveragePrecision:
    """Average precision Σ (Rₜ − Rₜ₋₁) Pₜ over falling thresholds, equal scores under one threshold.

    As scikit-learn's `average_precision_score`; undefined (NaN) without a positive.

    Args:
        labels: 1 for positive and 0 for negative pairs, (n_pairs,).
        values: scores, higher is more positive, (n_variants, n_pairs).
    """

    def __init__(self, labels: ArrayLike, values: ArrayLike) -> None:
        self.labels = np.asarray(labels, dtype=np.float64)
        if not np.isin(self.labels, (0, 1)).all():
            raise ValueError("labels: other values than 0 and 1")
        self.values = as_values(values, self.labels.size)
        self._columns = [Ordered(-column) for column in self.values]
        self._defined = [bool(np.isfinite(column).all()) for column in self.values]

    def resampled(self, counts: Array) -> Array:
        """See `Statistic.resampled`."""
        positives = counts * self.labels[:, None]
        n_positives = positives.sum(axis=0)
        result = np.full((len(self.values), counts.shape[1]), np.nan)
        for row, column in enumerate(self._columns):
            if not self._defined[row]:
                continue
            found, precision, _ = _precision(column, counts, positives)
            gained = np.einsum("ij,ij->j", found, precision)
            result[row] = np.divide(
                gained, n_positives, out=np.full_like(gained, np.nan), where=n_positives > 0
            )
        return result

    def influence(self) -> Array:
        """See `Statistic.influence`; a pair also changes the precision at all lower thresholds."""
        n, n_positives = self.labels.size, self.labels.sum()
        result = np.full(self.values.shape, np.nan)
        ones = np.ones((n, 1))
        for row, column in enumerate(self._columns):
            if not self._defined[row] or n_positives == 0:
                continue
            found, precision, seen = _precision(column, ones, self.labels[:, None])
            score = float((found * precision).sum() / n_positives)
            # Derivatives, at each lower threshold, in the positives and in all that is seen there.
            by_positive = np.cumsum((found / seen)[::-1], axis=0)[::-1]
            by_any = np.cumsum((found * precision / seen)[::-1], axis=0)[::-1]
            own, positive, either = (
                column.spread_out(part)[:, 0] for part in (precision, by_positive, by_any)
            )
            gain = self.labels * (own - score + positive) - either
            result[row] = n * gain / n_positives
        return result

    def with_values(self, values: Array) -> "AveragePrecision":
        """See `Statistic.with_values`."""
        return AveragePrecision(self.labels, values)


def _precision(column: Ordered, counts: Array, positives: Array) -> tuple[Array, Array, Array]:
    """By falling threshold (n_thresholds, n_resamples): new positives, precision, all seen."""
    found = column.groups(positives)
    seen = np.cumsum(column.groups(counts), axis=0)
    precision = np.divide(np.cumsum(found, axis=0), seen, out=np.zeros_like(seen), where=seen > 0)
    return found, precision, seen
