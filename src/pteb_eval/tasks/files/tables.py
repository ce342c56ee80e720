"""A user's data file as columns: CSV, TSV, JSON lines or Parquet, the first three also as .gz."""

import csv
import gzip
import hashlib
import io
import json
import math
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shown  # short and shallow, whatever the value
from typing import Any, Literal

from pteb_eval.errors import UserError, one_line

QUOTING: dict[str, Literal[0, 3]] = {"minimal": csv.QUOTE_MINIMAL, "none": csv.QUOTE_NONE}
_HALF, _HALVES = re.compile(r"\\u[dD][89a-fA-F]"), re.compile("[\ud800-\udfff]")
_FORMAT_KEYS = ("delimiter", "header", "quoting", "encoding")


@dataclass(frozen=True)
class Table:
    """The rows of a file.

    Attributes:
        path: the file.
        names: names of the columns; empty for a file without header.
        rows: the cells of each row.
        places: where each row stands, for messages: `data.csv: line 12`, counted from 1.
        sha256: digest of the file's bytes, 64 hexadecimal digits.
    """

    path: Path
    names: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    places: Sequence[str]
    sha256: str

    def column(self, name: str | int) -> list[Any]:
        """All cells of a column, by name, or by number from 0 where the file has no header.

        Raises:
            UserError: if there is no such column, or a row is too short to have it.
        """
        index = self._index(name)
        for row, place in zip(self.rows, self.places, strict=True):
            if len(row) <= index:
                raise UserError(
                    f"{place} has {len(row)} columns, column {name!r} is number "
                    f"{index}, counted from 0: mend the row, or set format.delimiter and "
                    "format.quoting to what the file uses"
                )
        return [row[index] for row in self.rows]

    def texts(self, name: str | int) -> list[str]:
        """A column of texts, none of them blank."""
        return [self.text(cell, name, place) for cell, place in self.cells(name)]

    @staticmethod
    def text(value: Any, name: str | int, place: str) -> str:
        """One cell as a text."""
        if not isinstance(value, str):
            raise UserError(
                f"{place}: column {name!r} holds {shown(value)}, not a text: "
                "name another column or mend the file"
            )
        if not value.strip():
            raise UserError(
                f"{place}: the text in column {name!r} is empty: fill it in or delete the row"
            )
        return value

    def numbers(self, name: str | int, low: float, high: float) -> list[float]:
        """A column of numbers between `low` and `high`."""
        return [self.number(cell, name, place, low, high) for cell, place in self.cells(name)]

    def number(self, value: Any, name: str | int, place: str, low: float, high: float) -> float:
        """One cell as a number between `low` and `high`."""
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if math.isnan(number):
            hint = "" if self.names else " (does the file have a header? set format.header: true)"
            raise UserError(f"{place}: {shown(value)} in column {name!r} is not a number{hint}")
        if not low <= number <= high:
            raise UserError(
                f"{place}: {shown(value)} in column {name!r} is outside "
                f"[{low:g}, {high:g}]: mend it, or set min_score and max_score to the file's range"
            )
        return number

    def cells(self, name: str | int) -> list[tuple[Any, str]]:
        """All cells of a column with their places."""
        return list(zip(self.column(name), self.places, strict=True))

    def _index(self, name: str | int) -> int:
        if isinstance(name, int):
            if name < 0 or (self.names and name >= len(self.names)):
                raise UserError(f"{self.path}: no column {name}, it has {len(self.names)}")
            return name
        if self.names.count(name) > 1:
            raise UserError(f"{self.path}: column {name!r} stands there twice: rename one of them")
        if name in self.names:
            return self.names.index(name)
        if not self.names:
            raise UserError(
                f"{self.path}: no header, so no column {name!r}: give the column's number, from 0"
            )
        from pteb_eval.tasks.names import near

        there = ", ".join(shown(known) for known in self.names[:20])
        raise UserError(f"{self.path}: no column {name!r}{near(name, self.names)} (it has {there})")


def read_tables(
    paths: str | Path | Sequence[str | Path], settings: Mapping[str, Any] | None = None
) -> Table:
    """Read one file, or several of the same columns one after the other; see `read_table`."""
    if isinstance(paths, str | Path):
        return read_table(paths, settings)
    tables = [read_table(path, settings) for path in paths]
    if not tables:
        raise UserError("a list of files is empty: name at least one")
    first = tables[0]
    for table in tables[1:]:
        if table.names != first.names:
            raise UserError(
                f"{table.path}: its columns ({', '.join(table.names)}) are not those of "
                f"{first.path} ({', '.join(first.names)})"
            )
    return Table(
        first.path,
        first.names,
        [row for table in tables for row in table.rows],
        [place for table in tables for place in table.places],
        joint_sha256(*(table.sha256 for table in tables)),
    )


def joint_sha256(*digests: str) -> str:
    """One digest of several files: of their digests, line by line."""
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def read_table(path: str | Path, settings: Mapping[str, Any] | None = None) -> Table:
    """Read a file whole.

    Args:
        path: its name tells the kind: .csv, .tsv, .txt (tabs), .jsonl, .parquet; .gz after it.
        settings: for CSV and TSV: `delimiter`; `header` (true); `quoting`, `minimal` (RFC 4180,
            default of .csv) or `none` (quotes are literal, default of .tsv); `encoding` (utf-8).

    Raises:
        UserError: no such file, wrong encoding, not the format that its name says.
    """
    path, settings = Path(path), dict(settings or {})
    _check_format(path, settings)
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    sha256 = hashlib.sha256(raw).hexdigest()
    kinds = [suffix for suffix in path.suffixes[-2:] if suffix != ".gz"]
    kind = kinds[-1].lower() if kinds else ""
    if path.suffix == ".gz":
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(f"{path}: not a whole gzip file ({error})") from None
    if kind not in _READERS:
        raise UserError(
            f"{path}: cannot tell the format from the name: call it .csv, .tsv, .jsonl or .parquet"
        )
    names, rows, places = _READERS[kind](path, raw, settings)
    if not rows:
        raise UserError(f"{path}: no rows")
    return Table(path, tuple(names), rows, [f"{path}: {place}" for place in places], sha256)


_Cells = tuple[Sequence[str], Sequence[Sequence[Any]], Sequence[str]]


def _check_format(path: Path, settings: Mapping[str, Any]) -> None:
    for key in settings:
        if key not in _FORMAT_KEYS:
            raise UserError(f"{path}: unknown format.{key}: known are {', '.join(_FORMAT_KEYS)}")
    if settings.get("quoting") not in (None, *QUOTING):
        raise UserError(
            f"{path}: format.quoting is {settings['quoting']!r}: use one of {', '.join(QUOTING)}"
        )
    delimiter = settings.get("delimiter") or ","
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise UserError(
            f"{path}: format.delimiter is {shown(delimiter)}: use one character, such as ';'"
        )


def _decoded(path: Path, raw: bytes, settings: Mapping[str, Any]) -> str:
    encoding = settings.get("encoding") or "utf-8"
    try:
        text = raw.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{path}: line {line} is not {encoding}: save the file as UTF-8, or set "
            "format.encoding (such as latin-1 or cp1252)"
        ) from None
    except (LookupError, ValueError, OverflowError):  # some codecs raise these on their own terms
        raise UserError(f"{path}: format.encoding {encoding!r} is unknown: use utf-8") from None
    if _HALVES.search(text):  # UTF-7 and a few others let them pass
        raise UserError(f"{path}: holds half a surrogate pair: save the file as UTF-8")
    return text


def _read_delimited(delimiter: str, quoting: str) -> Callable[..., _Cells]:
    def read(path: Path, raw: bytes, settings: Mapping[str, Any]) -> _Cells:
        csv.field_size_limit(2**31 - 1)  # the default refuses cells over 128 KiB
        text = _decoded(path, raw, settings)
        reader = csv.reader(
            io.StringIO(text, newline=""),
            delimiter=settings.get("delimiter") or delimiter,
            quoting=QUOTING[settings.get("quoting") or quoting],
            strict=True,
        )
        rows, places, first = [], [], 1
        try:
            for row in reader:
                if row:  # an empty line is no row
                    rows.append(row)
                    places.append(f"line {first}")
                first = reader.line_num + 1
        except csv.Error as error:
            raise UserError(
                f"{path}: line {first}: {error}: if quotes are literal in this file, set "
                "format.quoting: none"
            ) from None
        if not rows or settings.get("header") is False:
            return (), rows, places
        return rows[0], rows[1:], places[1:]

    return read


def _read_json_lines(path: Path, raw: bytes, settings: Mapping[str, Any]) -> _Cells:
    records, places = [], []
    for number, line in enumerate(_decoded(path, raw, settings).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}: line {number} is not JSON ({error})") from None
        if not isinstance(record, dict):
            raise UserError(f"{path}: line {number} is not a JSON object")
        if _HALF.search(line) and _HALVES.search(json.dumps(record, ensure_ascii=False)):
            raise UserError(
                f"{path}: line {number} holds half a surrogate pair (\\ud800 to \\udfff), which is "
                "no character: mend or delete it"
            )
        records.append(record)
        places.append(f"line {number}")
    names = list(dict.fromkeys(name for record in records for name in record))
    return names, [[record.get(name) for name in names] for record in records], places


def _read_parquet(path: Path, raw: bytes, settings: Mapping[str, Any]) -> _Cells:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(raw))
        names = table.column_names
        rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    except (OSError, pa.ArrowException, ValueError, OverflowError) as error:
        # Of damage, or of values beyond Python's types.
        raise UserError(f"{path}: not a Parquet file ({one_line(error)})") from None
    return names, rows, [f"row {number}" for number in range(1, len(rows) + 1)]


_READERS: dict[str, Callable[..., _Cells]] = {
    ".csv": _read_delimited(",", "minimal"),
    ".tsv": _read_delimited("\t", "none"),
    ".txt": _read_delimited("\t", "none"),
    ".jsonl": _read_json_lines,
    ".parquet": _read_parquet,
}
