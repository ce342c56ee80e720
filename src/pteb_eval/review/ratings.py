"""The files that people hand in: JSON or CSV, checked to the last value."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shown  # short and shallow, whatever the value
from typing import Any

from pteb_eval.errors import UserError, one_line
from pteb_eval.tasks.files.tables import read_table

FORMAT = "pteb-eval ratings 1"
COLUMNS = ("sample", "rater", "item", "rating")
_WHOLE = re.compile(r"[0-5](\.0)?")  # spreadsheets like to write 4.0


@dataclass(frozen=True)
class Ratings:
    """What one person said.

    Attributes:
        path: the file.
        sample: id of the sample that was rated.
        rater: the person.
        by_item: rating from 0 to 5 of each rated item.
    """

    path: Path
    sample: str
    rater: str
    by_item: dict[str, int]


def read_ratings(path: Path) -> Ratings:
    """Read one file that the page saved, or a spreadsheet program saved again.

    Raises:
        UserError: naming the file, the place and the value, whatever stands in it.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    is_json = raw.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"["))
    rows = list(_json_rows(path, raw) if is_json else _csv_rows(path, raw))
    if not rows:
        raise UserError(f"{path}: no rating in it")
    sample, rater = rows[0][:2]
    by_item: dict[str, int] = {}
    for number, row in enumerate(rows, start=1):
        place = f"{path}: rating {number}"
        if row[:2] != (sample, rater):
            raise UserError(f"{place} has another sample or rater than rating 1: one file each")
        item = row[2]
        if not isinstance(item, str) or item in by_item:
            raise UserError(f"{place}: item {shown(item)} is no item, or stands there twice")
        by_item[item] = _rating(row[3], place)
    if not isinstance(sample, str):
        raise UserError(f"{path}: sample {shown(sample)} is no id of a sample")
    return Ratings(path, sample, _name(rater, path), by_item)


def one_each(files: Iterable[Ratings]) -> list[Ratings]:
    """One entry a person; the same ratings handed in twice (JSON and CSV) count once.

    Raises:
        UserError: if two files of one person differ.
    """
    found: dict[str, Ratings] = {}
    for ratings in files:
        other = found.setdefault(ratings.rater, ratings)
        if other.by_item != ratings.by_item:
            raise UserError(
                f"{ratings.path}: rater {ratings.rater!r} has other ratings in {other.path}: "
                "leave one file out, or change the name in one if they are two people"
            )
    return list(found.values())


_Row = tuple[Any, ...]  # values of COLUMNS


def _json_rows(path: Path, raw: bytes) -> Iterable[_Row]:
    try:
        content = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{path}: no JSON ({one_line(error, 120)}): save it from the page again"
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise UserError(f"{path}: no ratings: a file of the review page says format {FORMAT!r}")
    ratings = content.get("ratings")
    if not isinstance(ratings, list) or not all(isinstance(row, dict) for row in ratings):
        raise UserError(f"{path}: ratings {shown(ratings)} is no list of item and rating")
    shared = (content.get("sample"), content.get("rater"))
    return [(*shared, row.get("item"), row.get("rating")) for row in ratings]


def _csv_rows(path: Path, raw: bytes) -> Iterable[_Row]:
    if path.suffix.lower() != ".csv":
        raise UserError(f"{path}: neither JSON nor a .csv file: save it from the page again")
    head = raw.partition(b"\n")[0]
    delimiter = next((mark for mark in ",;\t" if mark.encode() in head), ",")
    table = read_table(path, {"delimiter": delimiter})
    columns: Sequence[list[Any]] = [table.column(name) for name in COLUMNS]
    return zip(*columns, strict=True)


def _rating(value: Any, place: str) -> int:
    text = value.strip() if isinstance(value, str) else str(value)
    if isinstance(value, bool) or not _WHOLE.fullmatch(text):
        raise UserError(f"{place}: {shown(value)} is no whole number from 0 to 5")
    return int(text[0])


def _name(value: Any, path: Path) -> str:
    """A rater's name as tables can show it; programs that open them run a cell like =1+1 or @x."""
    name = re.sub(r"[^\w .@-]", "?", " ".join(value.split())) if isinstance(value, str) else ""
    name = name.lstrip(" @-")
    if not name:
        raise UserError(f"{path}: rater {shown(value)} is no name: fill it in")
    return name[:60]
