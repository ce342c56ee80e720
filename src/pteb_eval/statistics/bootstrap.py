"""Paired bootstrap of Δ = original − mean over runs, over instances and runs.

Instances are resampled with the same indices for the original and every run. That alone counts the
noise of single paraphrases, which differs from instance to instance; what it cannot see is a shift
of a whole run (another training set, another clustering). The excess of the spread of the runs over
what the instances explain estimates that, and runs are resampled with just that spread: resampling
them at full spread would count the paraphrases' noise twice. As a handful of runs tells a spread
but roughly, the draw of runs is divided by √(χ²/df), as in Student's t.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from pteb_eval.statistics.statistic import Array, Statistic, observed

IntervalMethod = Literal["percentile", "bca"]

BLOCK = 32
"""Resamples made at once. Part of what a seed means: another number draws other resamples."""


@dataclass(frozen=True, slots=True)
class Resamples:
    """Scores of the original (row 0) and of each run, on the data and on each resample of it.

    Attributes:
        scores: scores on the data, float64 (n_variants,).
        resampled: scores on the resamples, float64 (n_variants, n_resamples).
        influence: see `Statistic.influence`, float64 (n_variants, n_instances).
        run_weights: what each resample adds to the runs' equal weights of 1/n_runs, float64
            (n_runs, n_resamples); columns sum to zero.
    """

    scores: Array
    resampled: Array
    influence: Array
    run_weights: Array

    def __sub__(self, other: "Resamples") -> "Resamples":
        """This model less another, on the same instances and resamples.

        Raises:
            ValueError: if they were not drawn alike.
        """
        if self.influence.shape != other.influence.shape or not np.array_equal(
            self.run_weights, other.run_weights
        ):
            raise ValueError("resamples of different instances, runs, numbers or seeds")
        return Resamples(
            self.scores - other.scores,
            self.resampled - other.resampled,
            self.influence - other.influence,
            self.run_weights,
        )

    @property
    def delta(self) -> float:
        """Δ on the data."""
        # Differences first: equal scores then give exactly 0, which their mean need not.
        return float((self.scores[0] - self.scores[1:]).mean())

    @property
    def run_variance(self) -> tuple[float, float]:
        """Variance of one run's score about the others: by paraphrases' noise, and by whole runs.

        Both are zero for a single run, which cannot tell them.
        """
        n_runs, n = len(self.scores) - 1, self.influence.shape[1]
        if n_runs < 2:
            return 0.0, 0.0
        noise = float(self.influence[1:].var(axis=0, ddof=1).sum()) / n**2
        spread = float((self.scores[1:] - self.scores[1]).var(ddof=1))
        return noise, max(0.0, spread - noise)

    @property
    def delta_influence(self) -> Array:
        """Influence of each instance on Δ, float64 (n_instances,)."""
        return np.asarray((self.influence[0] - self.influence[1:]).mean(axis=0))

    def deltas(self) -> Array:
        """Δ of each resample, float64 (n_resamples,)."""
        by_instances = (self.resampled[0] - self.resampled[1:]).mean(axis=0)
        return np.asarray(by_instances - self._run_shift())

    def pteb(self) -> Array:
        """PTEB score, the mean over runs, of each resample, float64 (n_resamples,)."""
        return np.asarray(self.resampled[1:].mean(axis=0) + self._run_shift())

    def _run_shift(self) -> Array:
        excess = self.run_variance[1]
        deviation = self.scores[1:] - self.scores[1:].mean()
        scale = math.sqrt(excess / deviation.var()) if excess > 0 else 0.0
        return np.asarray(scale * deviation @ self.run_weights)


@dataclass(frozen=True, slots=True)
class Interval:
    """A bootstrap interval.

    Attributes:
        estimate: the value on the data.
        low: lower bound; NaN if undefined.
        high: upper bound; NaN if undefined.
        se: standard deviation over the resamples.
        n_undefined: resamples left out because the metric is undefined there.
    """

    estimate: float
    low: float
    high: float
    se: float
    n_undefined: int


def resample(statistic: Statistic, *, n_resamples: int = 2000, seed: int = 0) -> Resamples:
    """Draw resamples of instances and runs and score every variant on each.

    Equal numbers of instances, runs and resamples and an equal seed draw the same resamples, so
    models scored on the same instances, in the same order, can be compared resample by resample.

    Raises:
        ValueError: if there is no run or no instance.
    """
    n_variants, n = statistic.values.shape
    if n_variants < 2 or n < 1:
        raise ValueError(f"values: shape {statistic.values.shape}: needs an original, a run, a row")
    for_instances, for_runs = np.random.SeedSequence(seed).spawn(2)
    scores = [
        statistic.resampled(counts) for counts in resample_counts(n, n_resamples, for_instances)
    ]
    return Resamples(
        observed(statistic),
        np.concatenate(scores, axis=1),
        statistic.influence(),
        _run_weights(n_variants - 1, n_resamples, for_runs),
    )


def pooled(parts: Sequence[Resamples]) -> Resamples:
    """The mean over several sets of instances, such as splits or subsets, each weighing the same.

    Args:
        parts: resamples with the same numbers of runs and resamples and different seeds. Runs are
            weighted as in the first: a run is one run in all sets.
    """
    if len(parts) == 1:
        return parts[0]
    n = sum(part.influence.shape[1] for part in parts)
    influence = [part.influence * (n / (part.influence.shape[1] * len(parts))) for part in parts]
    return Resamples(
        np.mean([part.scores for part in parts], axis=0),
        np.mean([part.resampled for part in parts], axis=0),
        np.concatenate(influence, axis=1),
        parts[0].run_weights,
    )


def _run_weights(n_runs: int, n_resamples: int, seed: np.random.SeedSequence) -> Array:
    if n_runs == 1:
        return np.zeros((1, n_resamples))
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(n_runs, [1 / n_runs] * n_runs, n_resamples).T
    spread = np.sqrt(rng.chisquare(n_runs - 1, n_resamples) / (n_runs - 1))
    return np.asarray((counts - 1) / n_runs / spread)


def resample_counts(n: int, n_resamples: int, seed: np.random.SeedSequence) -> Iterator[Array]:
    """Blocks of resamples as counts, float64 (n, BLOCK), the last one narrower."""
    rng = np.random.default_rng(seed)
    for start in range(0, n_resamples, BLOCK):
        width = min(BLOCK, n_resamples - start)
        cells = rng.integers(0, n, (BLOCK, n))[:width] * width + np.arange(width)[:, None]
        yield np.bincount(cells.ravel(), minlength=n * width).reshape(n, width).astype(np.float64)


def interval(
    estimate: float,
    resampled: Array,
    *,
    level: float = 0.95,
    method: IntervalMethod = "percentile",
    acceleration: float = 0.0,
) -> Interval:
    """Interval of a value from its resamples.

    Args:
        estimate: the value on the data.
        resampled: the value on each resample, float64 (n_resamples,); NaN is left out and counted.
        level: nominal coverage.
        method: `percentile`, or `bca` (Efron 1987), which corrects for bias and skewness.
        acceleration: of `bca`; see `acceleration`.
    """
    values = resampled[np.isfinite(resampled)]
    n_undefined = resampled.size - values.size
    if values.size < 2 or not math.isfinite(estimate):
        return Interval(estimate, math.nan, math.nan, math.nan, n_undefined)
    tails: NDArray[np.float64] = np.array([(1 - level) / 2, (1 + level) / 2])
    if method == "bca":
        below = np.mean(values < estimate) + np.mean(values == estimate) / 2
        bias = norm.ppf(np.clip(below, 0.5 / values.size, 1 - 0.5 / values.size))
        moved = bias + norm.ppf(tails)
        tails = norm.cdf(bias + moved / (1 - acceleration * moved))
    low, high = np.quantile(values, tails)
    return Interval(estimate, float(low), float(high), float(values.std(ddof=1)), n_undefined)


def acceleration(*tasks: Resamples) -> float:
    """BCa's acceleration of Δ, or of its mean over tasks: a sixth of its skewness."""
    moments = [_moments(drawn) for drawn in tasks]
    variance, third = (sum(parts) for parts in zip(*moments, strict=True))
    return third / (6 * variance**1.5) if variance > 0 else 0.0


def standard_error(drawn: Resamples) -> float:
    """Standard error of Δ over instances and runs, from the influence of instances."""
    return math.sqrt(_moments(drawn)[0])


def _moments(drawn: Resamples) -> tuple[float, float]:
    """Second and third central moment of Δ; whole runs are taken to have no skewness."""
    influence = drawn.delta_influence / drawn.influence.shape[1]
    by_runs = drawn.run_variance[1] / (len(drawn.scores) - 1)
    return float(np.square(influence).sum()) + by_runs, float((influence**3).sum())


def delta_interval(
    drawn: Resamples, *, level: float = 0.95, method: IntervalMethod = "percentile"
) -> Interval:
    """Interval of Δ. A single instance has no interval: it is NaN."""
    if drawn.influence.shape[1] < 2:
        return Interval(drawn.delta, math.nan, math.nan, math.nan, 0)
    bend = acceleration(drawn) if method == "bca" else 0.0
    return interval(drawn.delta, drawn.deltas(), level=level, method=method, acceleration=bend)


def bootstrap_delta(
    statistic: Statistic,
    *,
    n_resamples: int = 2000,
    level: float = 0.95,
    method: IntervalMethod = "percentile",
    seed: int = 0,
) -> Interval:
    """Δ of one model on one task with its bootstrap interval; see the module's text."""
    drawn = resample(statistic, n_resamples=n_resamples, seed=seed)
    return delta_interval(drawn, level=level, method=method)
