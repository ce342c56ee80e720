"""The page on which people rate: one file that opens offline and asks for nothing."""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

RUBRIC = (
    (5, "Same message", "Whoever believes one must believe the other. Wording is free."),
    (4, "Almost the same", "Same main statement; a detail is missing or slightly different."),
    (3, "Roughly alike", "Same kind of event or claim, but an important fact differs."),
    (2, "Same narrow subject", "Another statement about it, or its opposite."),
    (1, "Same broad area", "Only a common area of life."),
    (0, "Unrelated", "No common subject."),
)
"""The STS scale: rating, name, meaning."""


class Item(NamedTuple):
    """A pair as a person sees it."""

    id: str
    first: str
    second: str


def page(sample: str, items: Sequence[Item]) -> str:
    """The page as HTML.

    It says of each pair an id and two texts, nothing else. Texts are data, never markup, and the
    page's policy lets a browser run its own script alone and fetch nothing.
    """
    from jinja2 import Environment, FileSystemLoader
    from markupsafe import Markup

    folder = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(folder), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    parts = {
        name: (folder / f"page.{suffix}").read_text(encoding="utf-8")
        for name, suffix in (("script", "js"), ("style", "css"))
    }
    return environment.get_template("page.html.j2").render(
        sample=sample,
        rubric=RUBRIC,
        data={"sample": sample, "items": [item._asdict() for item in items]},
        **{name: Markup(part) for name, part in parts.items()},  # our own files
        **{f"{name}_hash": _hash(part) for name, part in parts.items()},
    )


def _hash(part: str) -> str:
    """A part's hash as a content security policy writes it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}"
