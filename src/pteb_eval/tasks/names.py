"""Near matches of a misspelt name."""

from collections.abc import Iterable


def near(value: str, known: Iterable[str]) -> str:
    """The end of an error message: the closest known names, or nothing."""
    from rapidfuzz import process, utils

    matches = process.extract(
        value, list(known), limit=3, score_cutoff=60, processor=utils.default_process
    )
    names = ", ".join(repr(match[0]) for match in matches)
    return f": did you mean {names}?" if names else ""
