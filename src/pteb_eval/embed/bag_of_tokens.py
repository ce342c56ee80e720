"""The baseline that knows words and nothing else."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 4096


class BagOfTokens:
    """Counts of lower-cased words, hashed with signs into 4,096 dimensions and L2-normalized.

    No training and no vocabulary, so it is the same on every data set. Two texts are as similar as
    their words are the same, whatever their order: what a model scores above this, it owes to
    more than shared words. Feature hashing keeps inner products in expectation (Weinberger et
    al., 2009).
    """

    def __init__(self) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer

        self._vectorizer = HashingVectorizer(
            n_features=DIMENSIONS, token_pattern=r"(?u)\b\w+\b", norm="l2", alternate_sign=True
        )

    def encode_texts(self, texts: list[str]) -> NDArray[np.float32]:
        """Vectors of the texts, shape (len(texts), 4096)."""
        return np.asarray(self._vectorizer.transform(texts).toarray(), dtype=np.float32)

    def count_tokens(self, texts: list[str]) -> list[int]:
        """Number of words of each text."""
        analyze: Any = self._vectorizer.build_analyzer()
        return [len(analyze(text)) for text in texts]
