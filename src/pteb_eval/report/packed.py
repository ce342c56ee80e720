"""Data and scripts inside the page: packed, inert until opened, and named by hash in its policy."""

import base64
import gzip
import hashlib
import json
from typing import Any


def packed(data: Any) -> str:
    """JSON, gzipped, as base64: ASCII that no HTML parser takes for markup; same data, same text.

    Raises:
        ValueError: of NaN or infinity, which JSON has no word for: callers write None.
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def source(text: str) -> str:
    """A script's or a style's hash as a content security policy writes it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
