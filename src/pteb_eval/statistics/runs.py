"""Enough runs? What part of Δ's uncertainty more runs would take away."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from pteb_eval.statistics.bootstrap import Resamples
from pteb_eval.statistics.statistic import Array

FEWEST_RUNS = 6
"""The protocol names fewer as a pitfall: standard deviation and Δ are unreliable."""


@dataclass(frozen=True, slots=True)
class VarianceSplit:
    """Variance of Δ at r runs, `instances` + `runs` / r.

    Attributes:
        instances: what stays however many runs there are: the instances are a sample.
        runs: what one run adds: noise of single paraphrases and shifts of whole runs.
        n_runs: how many runs there are.
    """

    instances: float
    runs: float
    n_runs: int

    def width(self, n_runs: int, level: float = 0.95) -> float:
        """Expected width of Δ's interval with so many runs."""
        return 2 * _quantile(level) * math.sqrt(self.instances + self.runs / n_runs)

    @property
    def run_share(self) -> float:
        """Share of Δ's variance that the present runs make; 0 if there is no variance."""
        by_runs = self.runs / self.n_runs
        total = self.instances + by_runs
        return by_runs / total if total > 0 else 0.0


def split_variance(drawn: Resamples) -> VarianceSplit:
    """Split the variance of Δ into instances and runs, without further scoring.

    The influences of instances give the variance of Δ, and their spread over the runs the part that
    is noise of single paraphrases. With one run nothing can be told of runs: they get 0.
    """
    n_runs, n = len(drawn.scores) - 1, drawn.influence.shape[1]
    total = float(np.square(drawn.delta_influence).sum()) / n**2
    noise, whole = drawn.run_variance
    return VarianceSplit(max(0.0, total - noise / n_runs), noise + whole, n_runs)


def width_curve(split: VarianceSplit, n_runs: Sequence[int], level: float = 0.95) -> Array:
    """Expected width of Δ's interval for each number of runs, float64 (len(n_runs),)."""
    return np.array([split.width(n, level) for n in n_runs])


def runs_needed(split: VarianceSplit, target: float, level: float = 0.95) -> int | None:
    """Fewest runs whose expected width is at most `target`; None if no number is enough."""
    room = (target / (2 * _quantile(level))) ** 2 - split.instances
    if split.runs == 0:
        return 1 if room >= 0 else None
    return max(1, math.ceil(split.runs / room * (1 - 1e-12))) if room > 0 else None


def next_runs(
    width: float,
    target: float,
    n_runs: int,
    cap: int,
    split: VarianceSplit | None = None,
    level: float = 0.95,
) -> int:
    """How many runs to have next under `n_runs: auto`; `n_runs` itself means stop.

    Stop when the width is reached, at the cap, or when the instances alone make it too wide. Else
    go to the number that the split asks for, at least one more; but at most double, since a split
    from few runs is itself rough; and never beyond the cap.

    Args:
        width: the widest interval of Δ now; NaN (undefined) counts as too wide.
        target: wanted width.
        n_runs: runs there are.
        cap: most runs.
        split: of the task and model with that interval; None takes all variance to be of runs.
        level: of the interval.
    """
    if n_runs >= cap or width <= target:
        return n_runs
    if split is None:
        wanted: int | None = math.ceil(n_runs * (width / target) ** 2) if width > 0 else None
        wanted = wanted or 2 * n_runs
    else:
        wanted = runs_needed(split, target, level)
    if wanted is None:
        return n_runs
    return min(max(wanted, n_runs + 1), 2 * n_runs, cap)


def run_warnings(split: VarianceSplit) -> list[str]:
    """Warnings on the number of runs, a line each; none if all is well."""
    lines = []
    if split.n_runs < FEWEST_RUNS:
        lines.append(
            f"{split.n_runs} runs: below {FEWEST_RUNS} the standard deviation and Δ are unreliable"
        )
    if split.run_share > 0.5:
        lines.append(
            f"runs make {split.run_share:.0%} of the variance of Δ: more runs would narrow it"
        )
    return lines


def _quantile(level: float) -> float:
    return float(norm.ppf((1 + level) / 2))
