"""The key of a sample: what each item of its page is."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from pteb_eval.errors import UserError
from pteb_eval.ids import digest
from pteb_eval.store import provenance_of, read_table, write_table

PAIR, CHECK = "pair", "check"
SCHEMA = pa.schema(
    [
        ("item", pa.string()),
        ("kind", pa.string()),
        ("generator", pa.string()),
        ("task", pa.string()),
        ("text_id", pa.string()),
        ("run", pa.int32()),
        ("paraphrase_sha256", pa.string()),
        ("original_first", pa.bool_()),
        ("edit_distance", pa.float32()),
        ("judge_score", pa.float32()),
        ("gold", pa.float32()),
    ]
)


def write_key(path: Path, rows: list[dict[str, Any]], about: dict[str, Any]) -> None:
    """Write a key, columns as in `SCHEMA`, with a digest of all its values."""
    table = pa.Table.from_pylist(rows, SCHEMA)
    write_table(path, table, {**about, "content_digest": _content(table)})


def read_key(path: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A key's rows, and what its file says of the sample.

    Raises:
        UserError: if it is missing, no key, or any value in it changed.
    """
    table = read_table(path)
    about = provenance_of(table.schema)
    if table.column_names != SCHEMA.names or about.get("content_digest") != _content(table):
        raise UserError(
            f"{path}: its content is not what `pteb-eval review export` wrote: export the sample "
            "again with the same settings"
        )
    return table.to_pandas(), about


def _content(table: pa.Table) -> str:
    return digest(sorted(digest(row) for row in table.to_pylist()))
