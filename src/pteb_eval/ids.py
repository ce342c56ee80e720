"""Identities: of a text, of a set of settings, of a request's seed.

Everything in this package is joined by these ids, never by position.
"""

import hashlib
import json
from pathlib import Path
from typing import Any


def text_id(text: str) -> str:
    """SHA-256 of the exact string (UTF-8), as 64 hexadecimal digits.

    Lone surrogates, which some scraped data sets hold, are hashed as they stand instead of failing.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def canonical_json(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no spaces; equal settings are equal strings."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Any) -> str:
    """SHA-256 of a JSON-serialisable value's canonical form, as 64 hexadecimal digits."""
    return text_id(canonical_json(value))


def request_seed(base_seed: int, text: str, run: int, step: int = 0, attempt: int = 0) -> int:
    """Seed of one generation, in [0, 2³¹): a hash of all that sets it apart from the others.

    Args:
        base_seed: the config's seed.
        text: `text_id` of the text to be reworded.
        run: number of the paraphrase run, from 1.
        step: place in the generator's chain of prompts, from 0.
        attempt: 0 at first; a retry gets another seed, since the same seed fails the same way.
    """
    return int(digest([base_seed, text, run, step, attempt])[:16], 16) % 2**31
