"""Thresholds on a cosine: where to draw the line, and how good the line is."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def best_threshold(cosine: ArrayLike, labels: Sequence[int]) -> float:
    """The threshold in [−1, 1] with the highest accuracy; pairs above it are positive.

    It lies midway between two neighboring cosines, or between the outermost one and 1 or −1. Of
    equally accurate ones the highest is taken.

    Args:
        cosine: (n_pairs,).
        labels: 0 or 1 of each; both must occur.
    """
    from sklearn.metrics import roc_curve

    values = np.clip(np.asarray(cosine, dtype=np.float64), -1, 1)
    # Cuts fall; the first is above all values.
    false, true, cuts = roc_curve(labels, values, drop_intermediate=False)
    n_true = int(np.sum(labels))
    right = np.rint(true * n_true + (1 - false) * (len(values) - n_true))
    at = int(np.argmax(right))
    upper = cuts[at] if at else 1.0
    lower = cuts[at + 1] if at + 1 < len(cuts) else -1.0
    middle = (upper + lower) / 2
    return float(middle if middle < upper else lower)


def at_threshold(cosine: ArrayLike, labels: Sequence[int], threshold: float) -> dict[str, float]:
    """Accuracy, F1, precision and recall of the positive label at a threshold."""
    from sklearn.metrics import accuracy_score, precision_recall_fscore_support

    predicted = _above(cosine, threshold)
    precision, recall, f1, _ = precision_recall_fscore_support(
        labels, predicted, average="binary", zero_division=0
    )
    return {
        "accuracy": float(accuracy_score(labels, predicted)),
        "f1": float(f1),
        "precision": float(precision),
        "recall": float(recall),
    }


def right_side(cosine: ArrayLike, labels: Sequence[int], threshold: float | None) -> list[float]:
    """1 for each pair on the right side of a threshold, else 0; None: the best one of these."""
    if threshold is None:
        threshold = best_threshold(cosine, labels)
    right: list[float] = (_above(cosine, threshold) == np.asarray(labels)).astype(float).tolist()
    return right


def _above(cosine: ArrayLike, threshold: float) -> NDArray[np.bool_]:
    return np.clip(np.asarray(cosine, dtype=np.float64), -1, 1) > threshold
