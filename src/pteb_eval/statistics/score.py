"""The published recipe of PTEB for sentence pairs, in a few lines."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import spearmanr
from sklearn.metrics.pairwise import paired_cosine_distances

from pteb_eval.errors import UserError


@dataclass(frozen=True, slots=True)
class PtebScore:
    """Scores of one model on one STS task, as fractions in [−1, 1], or ×100 if so asked.

    Attributes:
        mean: the PTEB score, the mean over runs.
        std: sample standard deviation over runs (divisor n_runs − 1); NaN for one run.
        per_run: the score of each run, in the order given.
        original: the score of the original texts; None if they were not given.
        delta: original − mean, positive if the score drops; None without an original.
    """

    mean: float
    std: float
    per_run: tuple[float, ...]
    original: float | None = None
    delta: float | None = None


def pteb_score(
    embeddings: Sequence[tuple[ArrayLike, ArrayLike]],
    gold: ArrayLike,
    *,
    original: tuple[ArrayLike, ArrayLike] | None = None,
    percent: bool = False,
) -> PtebScore:
    """PTEB score of sentence pairs: per run the Spearman of cosine against gold; then the mean.

    Args:
        embeddings: for each paraphrase run two arrays (n_pairs, dim): first and second sentences.
        gold: gold similarities, (n_pairs,), on any scale.
        original: the same two arrays for the original sentences.
        percent: give all scores ×100.

    Returns:
        The scores. A run whose cosines are all equal has no Spearman: it and the mean are NaN.

    Raises:
        UserError: if there is no run, shapes do not fit, or a value is not finite.

    Source: PTEB (arXiv 2510.06730); the per-run score equals mteb's `cosine_spearman`.
    """
    if not embeddings:
        raise UserError("embeddings: no run given: pass at least one pair of arrays")
    ratings = np.asarray(gold, dtype=np.float64)
    if ratings.ndim != 1 or ratings.size < 2 or not np.isfinite(ratings).all():
        raise UserError(
            f"gold: shape {ratings.shape}: pass one finite number a pair, at least two pairs"
        )
    scale = 100.0 if percent else 1.0
    runs = [
        scale * _cosine_spearman(pair, ratings, f"embeddings[{k}]")
        for k, pair in enumerate(embeddings)
    ]
    mean = math.fsum(runs) / len(runs)
    std = float(np.std(runs, ddof=1)) if len(runs) > 1 else math.nan
    if original is None:
        return PtebScore(mean, std, tuple(runs))
    before = scale * _cosine_spearman(original, ratings, "original")
    return PtebScore(mean, std, tuple(runs), before, before - mean)


def _cosine_spearman(
    pair: tuple[ArrayLike, ArrayLike], gold: NDArray[np.float64], name: str
) -> float:
    first, second = (np.asarray(side) for side in pair)
    if first.ndim != 2 or first.shape != second.shape or len(first) != len(gold):
        raise UserError(
            f"{name}: shapes {first.shape} and {second.shape} with {len(gold)} gold ratings: "
            "pass two arrays of shape (n_pairs, dim)"
        )
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise UserError(f"{name}: holds NaN or infinity: look for texts that failed to embed")
    cosine = 1 - paired_cosine_distances(first, second)
    return float(spearmanr(gold, cosine).statistic)
