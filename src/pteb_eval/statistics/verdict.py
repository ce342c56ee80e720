"""Equivalence, and what a test comes to in words."""

import math
from dataclasses import dataclass
from typing import Literal

from scipy.stats import t as student

Status = Literal["ok", "identical", "undefined"]


def tost(delta: float, se: float, *, epsilon: float, df: float) -> float:
    """P-value of two one-sided t-tests of |Δ| ≥ ε: small if Δ surely lies within ±ε.

    Args:
        delta: Δ on the data.
        se: its standard error, in the same unit.
        epsilon: the largest difference that would not matter, > 0, in the same unit.
        df: degrees of freedom, n_instances − 1.

    Returns:
        The larger of the two p-values; NaN if Δ, its error or the degrees of freedom are undefined.
    """
    if not (math.isfinite(delta) and math.isfinite(se) and df > 0):
        return math.nan
    room = epsilon - abs(delta)
    if se == 0:
        return 0.0 if room > 0 else 1.0
    return float(student.sf(room / se, df))


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a verdict rests on.

    Attributes:
        status: of the test.
        reject: whether the adjusted test rejects.
        effect: the test's effect size; its sign is the direction that the test found.
        delta: Δ on the data.
        low: lower bound of Δ's interval.
        high: upper bound of Δ's interval.
        attainable_p: smallest adjusted p that the test could have reached.
        tost_p: p-value of `tost`; NaN if no ε was declared.
    """

    status: Status
    reject: bool
    effect: float
    delta: float
    low: float
    high: float
    attainable_p: float
    tost_p: float = math.nan


def verdict(
    evidence: Evidence,
    *,
    alpha: float = 0.05,
    epsilon: float | None = None,
    max_width: float | None = None,
) -> str:
    """What it comes to, the first that holds.

    - `undefined`: the metric or the test is;
    - `identical`: no instance differs;
    - `drops` or `rises`: the test rejects, and Δ has the direction that the test found;
    - `equivalent within ±ε`: ε is declared and TOST rejects at alpha;
    - `underpowered`: the adjusted test could not have reached alpha whatever the signs of the
      differences, or Δ's interval is undefined or wider than `max_width`;
    - `no detectable drop`: none of these.

    Args:
        evidence: the results.
        alpha: level of the test, and of TOST.
        epsilon: the largest difference that would not matter, a fraction as in the files.
        max_width: the widest interval that still says something; 2ε if it is not given and ε is:
            a wider one could not lie within ±ε even if it were centred on 0.
    """
    if evidence.status != "ok" or not math.isfinite(evidence.delta):
        return "identical" if evidence.status == "identical" else "undefined"
    if evidence.reject and min(evidence.delta, evidence.effect) > 0:
        return "drops"
    if evidence.reject and max(evidence.delta, evidence.effect) < 0:
        return "rises"
    if epsilon is not None and evidence.tost_p <= alpha:
        return f"equivalent within ±{epsilon:g}"
    if max_width is None:
        max_width = math.inf if epsilon is None else 2 * epsilon
    narrow = evidence.high - evidence.low <= max_width
    return "no detectable drop" if narrow and evidence.attainable_p <= alpha else "underpowered"
