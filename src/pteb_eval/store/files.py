"""Files that appear whole or not at all."""

import errno
import hashlib
import json
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from pteb_eval.errors import UserError, one_line

PROVENANCE_KEY = b"pteb_eval"
_SEAL, _SEAL_SIZE = b"pteb-eval footer", 16 + 32  # the word, then the footer's SHA-256
_END = 8  # bytes: the footer's length, then PAR1
SCHEMA_VERSION = 1

_DISK_ERRORS = {
    errno.ENOSPC: "the disk is full: free some space and run again, nothing finished is lost",
    errno.EDQUOT: "the quota is used up: free some space and run again, nothing finished is lost",
    errno.EROFS: "the file system is read-only: choose a results folder that can be written",
    errno.EACCES: "no permission to write there: choose a results folder that you may write",
    errno.EPERM: "no permission to write there: choose a results folder that you may write",
}


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn the disk's refusals into one clear line; other errors pass."""
    try:
        yield
    except OSError as error:
        reason = _DISK_ERRORS.get(error.errno or 0)
        if reason is None:
            raise
        raise UserError(f"{path}: {reason}") from error


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary name beside `path` to write to; renamed to `path` at the end, removed on failure.

    The data is flushed to the disk before the rename, so that a crash leaves the old file or the
    new one, never a part.
    """
    temporary = path.parent / f".{path.name}.{uuid.uuid4().hex}.tmp"
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def write_table(
    path: Path, table: pa.Table, provenance: Mapping[str, Any], row_group_size: int | None = None
) -> None:
    """Write a table as Parquet (zstd, checksums), its provenance in the file's metadata."""
    own = {"schema_version": SCHEMA_VERSION, "n_rows": table.num_rows}
    stamp = json.dumps({**provenance, **own}, sort_keys=True)
    table = table.replace_schema_metadata({PROVENANCE_KEY: stamp.encode()})
    with atomic_path(path) as temporary:
        pq.write_table(
            table,
            temporary,
            compression="zstd",
            write_page_checksum=True,
            row_group_size=row_group_size,
        )
        _seal(temporary)


def _seal(path: Path) -> None:
    """Put the footer's digest before the footer, where Parquet leaves room for what it ignores.

    Pages have checksums, but the footer has none: a flipped bit there renames a column, changes
    the provenance or what a page means.
    """
    with path.open("r+b") as file:
        start, footer = _footer(file)
        file.seek(start)
        file.write(_SEAL + hashlib.sha256(footer).digest() + footer)


def _footer(file: BinaryIO) -> tuple[int, bytes]:
    """Where a Parquet file's footer begins, and all from there to the end of the file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END))
    length = int.from_bytes(file.read(4), "little") + _END
    if length > size:
        raise pa.ArrowInvalid("it is cut off")
    return file.seek(-length, os.SEEK_END), file.read()


def _check_seal(path: Path) -> None:
    with path.open("rb") as file:
        start, footer = _footer(file)
        file.seek(max(0, start - _SEAL_SIZE))
        seal = file.read(min(start, _SEAL_SIZE))
    is_sealed = seal.startswith(_SEAL)  # files of earlier versions are not
    if is_sealed and seal.removeprefix(_SEAL) != hashlib.sha256(footer).digest():
        raise pa.ArrowInvalid("the footer does not fit its checksum")


def read_table(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Read a Parquet file of this package, checking its pages and its schema version.

    Raises:
        UserError: if the file is missing, damaged, or written by a newer version.
    """
    with _damage(path):
        table = read_checked(path, columns)
    version = provenance_of(table.schema).get("schema_version")
    if version != SCHEMA_VERSION:
        raise UserError(
            f"{path}: schema version {version!r}, this pteb-eval reads {SCHEMA_VERSION}: "
            "make the file again with this version"
        )
    return table


def read_batches(path: Path, column: str, batch_size: int) -> Iterator[pa.Array]:
    """A column of a file that `read_table` could read, batch by batch.

    Raises:
        UserError: if the column is damaged.
    """
    with _damage(path):
        _check_seal(path)
    with _damage(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        n_rows = 0
        for batch in file.iter_batches(batch_size, columns=[column]):
            n_rows += batch.num_rows
            yield batch.column(0)
        _check_rows(file.schema_arrow, n_rows)


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise UserError(f"{path}: no such file: run the step that makes it first") from None
    except (OSError, pa.ArrowException) as error:
        raise UserError(
            f"{path}: unreadable ({one_line(error)}): it is damaged; move it away and run again"
        ) from error


def read_checked(path: Path, columns: list[str] | None) -> pa.Table:
    """Read a Parquet file, checking its pages and that no row vanished.

    Page checksums leave out the headers of pages, where one flipped bit can hide all rows.

    Raises:
        OSError, pa.ArrowException: if the file is missing or damaged.
    """
    _check_seal(path)
    table = pq.read_table(path, columns=columns, page_checksum_verification=True)
    _check_rows(table.schema, table.num_rows)
    return table


def _check_rows(schema: pa.Schema, n_rows: int) -> None:
    try:
        list(schema.names)  # decodes them
    except UnicodeDecodeError as error:
        raise pa.ArrowInvalid(f"name of a column: {error}") from error
    told = provenance_of(schema).get("n_rows", n_rows)
    if n_rows != told:
        raise pa.ArrowInvalid(f"{n_rows} rows where {told} were written")


def provenance_of(schema: pa.Schema) -> dict[str, Any]:
    """The provenance that `write_table` put into a file's metadata; empty if there is none.

    Raises:
        pa.ArrowInvalid: if it is not what `write_table` writes.
    """
    stamp = (schema.metadata or {}).get(PROVENANCE_KEY)
    try:
        found = json.loads(stamp) if stamp else {}
    except (ValueError, RecursionError) as error:  # ValueError of text that is not UTF-8, too
        raise pa.ArrowInvalid(f"metadata: {error}") from error
    if not isinstance(found, dict):
        raise pa.ArrowInvalid("metadata: no mapping")
    return found


def write_text(path: Path, text: str) -> None:
    """Write a text file (UTF-8, surrogates replaced), whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(text.encode("utf-8", "replace"))
