"""Is one model more robust than another?"""

import math
from dataclasses import dataclass

import numpy as np

from pteb_eval.statistics.bootstrap import Interval, IntervalMethod, Resamples, delta_interval
from pteb_eval.statistics.statistic import Array


@dataclass(frozen=True, slots=True)
class Comparison:
    """Δ of one model less Δ of another, on the same instances, runs and resamples.

    Attributes:
        interval: of the difference; below 0 the first model loses less.
        p: two-sided bootstrap p-value of no difference.
    """

    interval: Interval
    p: float


def compare(
    first: Resamples,
    second: Resamples,
    *,
    level: float = 0.95,
    method: IntervalMethod = "percentile",
) -> Comparison:
    """Paired difference of the Δ of two models that were resampled with the same seed.

    Raises:
        ValueError: if they were not drawn alike.
    """
    between = first - second
    return Comparison(
        delta_interval(between, level=level, method=method), two_sided_p(between.deltas())
    )


def two_sided_p(resampled: Array) -> float:
    """Twice the smaller share of resamples on either side of 0, ours counted with each.

    It falls below 1 − level about where the percentile interval of that level leaves out 0. NaN
    resamples are left out; NaN if none is left.
    """
    values = resampled[np.isfinite(resampled)]
    if not values.size:
        return math.nan
    least = min(int((values <= 0).sum()), int((values >= 0).sum()))
    return min(1.0, 2 * (least + 1) / (values.size + 1))
