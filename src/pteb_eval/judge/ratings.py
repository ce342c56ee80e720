"""What a judge gives: a rating of two texts, from 0 (nothing in common) to 5 (the same meaning)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

LOWEST, HIGHEST = 0.0, 5.0
CHOICES = ("0", "1", "2", "3", "4", "5")
OK = "ok"

RATING_FIELDS: list[tuple[str, pa.DataType]] = [
    ("score", pa.float32()),
    ("status", pa.string()),
    ("ratings", pa.list_(pa.float32())),
    ("raw", pa.list_(pa.string())),
    ("n_tokens", pa.int32()),
]

_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:[.,]\d+)?(?![\w]|[.,]\d)")
# White space is tried once, from its start: an answer may be nothing else, and long.
_SCALE = re.compile(r"(?<!\s)\s*+(?:/|\bout of\b|\bof\b)\s*5\b", re.IGNORECASE)


class Pair(NamedTuple):
    """Two texts; of a paraphrase the original comes first."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Rating:
    """How close two texts are.

    Attributes:
        score: mean of the ratings, in [0, 5]; None unless all of them could be read.
        status: `ok`, or of the first rating that failed `unparsable`, `too_long` or `engine_error`.
        ratings: single ratings, those of the pair in its own order first; NaN where one failed.
        raw: the raw answer behind each; empty for judges that give numbers.
        n_tokens: tokens of all answers.
        error: what an engine said of its error.
    """

    score: float | None
    status: str = OK
    ratings: tuple[float, ...] = ()
    raw: tuple[str, ...] = ()
    n_tokens: int = 0
    error: str = ""

    def as_row(self) -> dict[str, Any]:
        """The columns `RATING_FIELDS`."""
        return {
            "score": self.score,
            "status": self.status,
            "ratings": list(self.ratings),
            "raw": list(self.raw),
            "n_tokens": self.n_tokens,
        }


class Rater(Protocol):
    """Something that rates pairs."""

    identity: dict[str, Any]
    """All that can change a rating but the texts, as JSON values."""

    def rate(self, pairs: Sequence[Pair]) -> dict[Pair, Rating]:
        """The rating of each distinct pair."""
        ...

    def __enter__(self) -> "Rater": ...

    def __exit__(self, *exc: object) -> None: ...


def read_rating(answer: str) -> float | None:
    """The one number from 0 to 5 in an answer.

    `4`, `4/5`, `**4.5**` and `Rating: 4 out of 5` can be read. An answer with no number, with
    several different ones, or with one outside the scale cannot: None.
    """
    found = {float(number.replace(",", ".")) for number in _NUMBER.findall(_SCALE.sub(" ", answer))}
    rating = found.pop() if len(found) == 1 else None
    return rating if rating is not None and LOWEST <= rating <= HIGHEST else None
