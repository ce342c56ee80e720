"""Tables as CSV for programs, Markdown for people and LaTeX for papers."""

import hashlib
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pteb_eval.errors import UserError
from pteb_eval.latex import latex_table
from pteb_eval.store import write_text

CELL = ["generator", "model", "task", "subset"]
"""What a row of the tables `summary` and `effects` is about."""
_CHECKSUM = "\n<!-- SHA-256 of {name}: {digest} -->\n"  # in the Markdown file, where it is not seen


def write_tables(
    frame: pd.DataFrame,
    csv: Path,
    hundredfold: tuple[str, ...] = (),
    people: pd.DataFrame | None = None,
    paper: str | None = None,
) -> None:
    """Write a frame beside `csv` as .csv (fractions, full precision), .md and .tex (rounded).

    Args:
        frame: the table.
        csv: path of the CSV file; the others differ in their extension.
        hundredfold: columns of scores, shown ×100 in .md and .tex.
        people: what .md and .tex show instead, all cells text; `**bold**` is bold in both.
        paper: content of the .tex file where it is another table than the .md file's.
    """
    text = frame.to_csv(index=False)
    write_text(csv, text)
    checksum = _CHECKSUM.format(name=csv.name, digest=_digest(text.encode("utf-8", "replace")))
    shown = rounded(frame, hundredfold) if people is None else people
    write_text(
        csv.with_suffix(".md"),
        shown.to_markdown(index=False, disable_numparse=people is not None) + "\n" + checksum,
    )
    numeric = list(frame.select_dtypes(["number", "bool"]).columns)
    write_text(csv.with_suffix(".tex"), latex_table(shown, numeric) if paper is None else paper)


def read_csv(csv: Path, **options: Any) -> pd.DataFrame:
    """A table that `write_tables` wrote, with pandas' options.

    Raises:
        UserError: if it is missing, or not what was written.
    """
    try:
        raw = csv.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{csv}: no such file: run the step that makes it first") from None
    beside = csv.with_suffix(".md")
    told = beside.read_text(encoding="utf-8", errors="replace") if beside.is_file() else ""
    match = re.search(r"<!-- SHA-256 of .+: ([0-9a-f]{64}) -->", told)
    if match and match[1] != _digest(raw):
        raise UserError(
            f"{csv}: not as it was written (its checksum stands in {beside.name}): it is damaged "
            "or was changed; delete it and run again"
        )
    return pd.read_csv(io.BytesIO(raw), **options)


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def rounded(frame: pd.DataFrame, hundredfold: tuple[str, ...] = ()) -> pd.DataFrame:
    """The frame as people read it: strings; scores ×100 with two digits, p-values with three."""
    shown = pd.DataFrame(index=frame.index)
    for name in frame.columns:
        column = frame[name]
        if name in hundredfold:
            shown[name] = [_number(100 * value, 2) for value in column]
        elif pd.api.types.is_float_dtype(column):
            shown[name] = [_number(value, 3) for value in column]
        else:
            shown[name] = ["" if pd.isna(value) else str(value) for value in column]
    return shown


def add_verdicts(summary: pd.DataFrame, effects: pd.DataFrame) -> pd.DataFrame:
    """Rows of `summary` with `verdict` and `p_adjusted` of `effects`, NaN where untested."""
    verdicts = effects.drop_duplicates(CELL)[[*CELL, "verdict", "p_adjusted"]]
    return summary.merge(verdicts, on=CELL, how="left")


def task_title(task: str, subset: str) -> str:
    """A task's name, with its subset if it has several."""
    return str(task) if subset == "default" else f"{task} ({subset})"


def bold_best(texts: Sequence[str], values: Sequence[float], *, largest: bool = True) -> list[str]:
    """Texts with `**` about the best; all that read the same as the best are bold.

    Args:
        texts: the values as they are shown.
        values: numbers; NaN is never the best.
        largest: whether the largest is the best.
    """
    known = [value for value in values if pd.notna(value)]
    if not known:
        return list(texts)
    best = texts[list(values).index(max(known) if largest else min(known))]
    return [f"**{text}**" if text == best else text for text in texts]


def signed(value: float, digits: int) -> str:
    """A difference with its sign; what rounds to zero is +0."""
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def _number(value: float, digits: int) -> str:
    if pd.isna(value):
        return ""
    if value != 0 and abs(value) < 10**-digits:
        return f"{value:.0e}"
    return f"{value:.{digits}f}"
