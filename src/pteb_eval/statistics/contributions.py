"""What each pair adds to a Spearman correlation."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata


def spearman_contributions(gold: ArrayLike, similarities: ArrayLike) -> NDArray[np.float64]:
    """Per-pair values, higher is better, whose mean over the pairs is exactly Spearman's ρ.

    With d the difference of a pair's two ranks, n pairs, and S the sum of squared deviations of the
    ranks of gold (g) and of the similarities (s), the value is (S_g + S_s − n d²) / (2 √(S_g S_s));
    without ties this is 1 − 6 d² / (n² − 1).

    Ties share their average rank. Ties in gold change nothing for a test: S_g is the same for all
    variants, so the values are one falling line in d² and a rank test of them is that of d². Ties
    among the similarities make S_s smaller and so change that line for the variant that has them.

    Args:
        gold: gold similarities, (n_pairs,).
        similarities: the model's, (n_pairs,) or (n_variants, n_pairs).

    Returns:
        float64, the shape of `similarities`; NaN for a variant where all are equal, or if gold is.
    """
    values = np.asarray(similarities, dtype=np.float64)
    gold_ranks = rankdata(np.asarray(gold, dtype=np.float64), nan_policy="propagate")
    ranks = rankdata(values, axis=-1, nan_policy="propagate")
    centre = (gold_ranks.size + 1) / 2
    spread_gold = np.square(gold_ranks - centre).sum()
    spread = np.square(ranks - centre).sum(axis=-1, keepdims=True)
    squared = np.square(ranks - gold_ranks)
    with np.errstate(invalid="ignore", divide="ignore"):
        result = (spread_gold + spread - gold_ranks.size * squared) / (
            2 * np.sqrt(spread_gold * spread)
        )
    return np.where(spread * spread_gold > 0, result, np.nan)
