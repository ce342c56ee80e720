"""Measured rates, kept beside the caches, for `pteb-eval plan`."""

import json
from pathlib import Path
from typing import Any

from pteb_eval.ids import digest
from pteb_eval.store import write_text

LEAST = 50  # pieces of work below which a rate says little


def keep_rate(cache: Path, kind: str, identity: dict[str, Any], count: int, rate: float) -> None:
    """Remember a rate (pieces a second) if it rests on enough work."""
    if count >= LEAST:
        write_text(_path(cache, kind, identity), json.dumps({"rate": rate, "count": count}) + "\n")


def measured_rate(cache: Path, kind: str, identity: dict[str, Any]) -> float | None:
    """The last rate measured here, or None."""
    try:
        return float(json.loads(_path(cache, kind, identity).read_text())["rate"])
    except (OSError, ValueError, KeyError):
        return None


def _path(cache: Path, kind: str, identity: dict[str, Any]) -> Path:
    return cache / "rates" / f"{kind}-{digest(identity)[:32]}.json"
