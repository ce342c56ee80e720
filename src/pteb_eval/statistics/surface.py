"""Surface invariance without labels: does a text's vector stay near its own paraphrase?"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import spearmanr

from pteb_eval.statistics.statistic import Array

DECIMALS = 6
"""Cosines closer than this are equal: less is a float's noise."""


@dataclass(frozen=True, slots=True)
class Invariance:
    """How well texts find their own paraphrases.

    Attributes:
        cosine: cosine of each text and its paraphrase, float64 (n,).
        rank: rank of the own paraphrase among all n by cosine to the text, 1 the nearest; equal
            cosines share their average rank, so a model that maps all texts to one point gets
            (n + 1)/2. float64 (n,).
        mrr: mean of 1/rank.
        hit_at_1: share of texts whose own paraphrase is nearer than every other.
    """

    cosine: Array
    rank: Array
    mrr: float
    hit_at_1: float


def invariance(
    originals: ArrayLike, paraphrases: ArrayLike, *, max_bytes: int = 2**26
) -> Invariance:
    """Cosine to, and exact rank of, each text's own paraphrase.

    Args:
        originals: vectors of distinct texts, (n, dim).
        paraphrases: the vector of each text's paraphrase in one run, (n, dim).
        max_bytes: about the memory that a block of cosines may take. It does not change the result.

    Raises:
        ValueError: if the shapes differ or a vector is not finite.

    A zero vector has cosine 0 with everything.
    """
    texts, answers = _normalized(originals), _normalized(paraphrases)
    if texts.shape != answers.shape or texts.ndim != 2:
        raise ValueError(f"originals {texts.shape} and paraphrases {answers.shape} differ in shape")
    if not (np.isfinite(texts).all() and np.isfinite(answers).all()):
        raise ValueError("originals or paraphrases: a vector holds NaN or infinity")
    n = len(texts)
    cosine = np.einsum("ij,ij->i", texts, answers).round(DECIMALS)
    rank: Array = np.empty(n)
    block = max(1, max_bytes // (8 * max(n, 1)))
    for start in range(0, n, block):
        rows = slice(start, start + block)
        similar = texts[rows] @ answers.T
        similar.round(DECIMALS, out=similar)
        own = cosine[rows, None]
        # The own paraphrase is neither nearer than itself nor equal to another.
        similar[np.arange(len(own)), np.arange(n)[rows]] = -np.inf
        rank[rows] = 1 + (similar > own).sum(axis=1) + (similar == own).sum(axis=1) / 2
    if n == 0:
        return Invariance(cosine, rank, math.nan, math.nan)
    return Invariance(cosine, rank, float((1 / rank).mean()), float((rank == 1).mean()))


def _normalized(vectors: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(vectors, dtype=np.float64)
    length = np.linalg.norm(array, axis=-1, keepdims=True)
    return np.asarray(array / np.where(length == 0, 1, length))


@dataclass(frozen=True, slots=True)
class Relation:
    """Relation of the shift of texts to how much their wording changed.

    Attributes:
        rho: Spearman's correlation of 1 − cosine with edit distance, positive if more rewording
            moves the vector further; NaN if either does not vary.
        p: its two-sided p-value.
        n: number of texts.
    """

    rho: float
    p: float
    n: int


def shift_by_distance(cosine: ArrayLike, distance: ArrayLike) -> Relation:
    """Relate how far vectors moved to how far the wording did.

    Args:
        cosine: of each text and its paraphrase, (n,).
        distance: normalized edit distance of the two, (n,).
    """
    shift = 1 - np.asarray(cosine, dtype=np.float64)
    edits = np.asarray(distance, dtype=np.float64)
    if shift.size < 2 or np.ptp(shift) == 0 or np.ptp(edits) == 0:
        return Relation(math.nan, math.nan, shift.size)
    found = spearmanr(shift, edits)
    return Relation(float(found.statistic), float(found.pvalue), shift.size)
