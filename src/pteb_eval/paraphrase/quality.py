"""How far a paraphrase is from its original, in numbers that need no model."""

import unicodedata
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from rapidfuzz.distance import Levenshtein

from pteb_eval.paraphrase.language import identify

QUALITY_FIELDS: list[tuple[str, pa.DataType]] = [
    ("copy", pa.bool_()),
    ("edit_distance", pa.float32()),
    ("word_overlap", pa.float32()),
    ("length_ratio", pa.float32()),
    ("language", pa.string()),
]
# Scripts that put no space between words: there a character counts as a word.
_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")


def measure(original: str, paraphrase: str) -> dict[str, Any]:
    """The quality columns of one paraphrase.

    Returns:
        `copy`: whether both are equal but for case, punctuation and spaces.
        `edit_distance`: Levenshtein distance over the longer length, in characters, in [0, 1].
        `word_overlap`: words in both over words in either (Jaccard), in [0, 1].
        `length_ratio`: characters of the paraphrase over those of the original.
        `language`: code of the paraphrase's language, None where it is not clear.
    """
    folded, folded_paraphrase = fold(original), fold(paraphrase)
    return {
        "copy": folded == folded_paraphrase,
        "edit_distance": Levenshtein.normalized_distance(original, paraphrase),
        "word_overlap": _jaccard(_words(folded), _words(folded_paraphrase)),
        "length_ratio": len(paraphrase) / max(len(original), 1),
        "language": identify(paraphrase),
    }


def duplicate_runs(paraphrases: Sequence[str]) -> int:
    """How many of one text's paraphrases repeat that of an earlier run, up to `fold`."""
    return len(paraphrases) - len(set(map(fold, paraphrases)))


def fold(text: str) -> str:
    """A text without what case, punctuation, width of characters and spaces add to it."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(" " if _is_mark(char) else char for char in plain).split())


def _is_mark(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] == "P" or category == "Sk"


def _words(folded: str) -> set[str]:
    words: set[str] = set()
    for word in folded.split():
        unspaced = unicodedata.name(word[0], "").startswith(_UNSPACED)
        words.update(word if unspaced else [word])
    return words


def _jaccard(first: set[str], second: set[str]) -> float:
    either = first | second
    return len(first & second) / len(either) if either else 1.0
