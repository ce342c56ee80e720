"""What Snakemake's own report shows: figures and tables, with captions from workflow/report."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pteb_eval.layout import has_caption


def shown(files: Iterable[str]) -> list[Any]:
    """Output files of a rule, marked for the report where they have a caption.

    Args:
        files: below `results/<name>`; captions are named as the files, in the folder of their kind.
    """
    from snakemake.io import report

    found: list[Any] = []
    for path in map(Path, files):
        kind, name = path.parent.name, path.stem
        caption, labels = f"../report/{kind}/{name}.rst", {"name": name.replace("_", " ")}
        marked = {"caption": caption, "category": kind.capitalize(), "labels": labels}
        found.append(report(str(path), **marked) if has_caption(path) else str(path))
    return found
