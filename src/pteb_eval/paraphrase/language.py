"""Which language a text is in, said only where it is clear.

By lingua, whose models come inside its wheel and which is built for short texts.
"""

from functools import cache, lru_cache
from typing import Any

# Below these a guess is more often wrong than of use: single words, codes, lists of numbers.
_LEAST_LETTERS = 12
_LEAST_CONFIDENCE = 0.9


def identify(text: str) -> str | None:
    """Code (ISO 639-1) of the language of a text, or None where that is not clear.

    Args:
        text: any text; its first 1,000 characters count.
    """
    head = text[:1000]
    if sum(map(str.isalpha, head)) < _LEAST_LETTERS:
        return None
    return _identify(head)


@lru_cache(maxsize=2**16)
def _identify(text: str) -> str | None:
    best = _detector().compute_language_confidence_values(text)[0]
    if best.value < _LEAST_CONFIDENCE:
        return None
    return str(best.language.iso_code_639_1.name).lower()


@cache
def _detector() -> Any:
    from lingua import LanguageDetectorBuilder

    return LanguageDetectorBuilder.from_all_languages().build()
