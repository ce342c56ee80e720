"""Parquet files: written whole or not at all, each with its provenance; and append-only caches."""

from pteb_eval.store.files import (
    atomic_path,
    provenance_of,
    read_batches,
    read_table,
    write_table,
    write_text,
)
from pteb_eval.store.matrix import let_go, room_for
from pteb_eval.store.shards import ShardStore

__all__ = [
    "ShardStore",
    "atomic_path",
    "let_go",
    "provenance_of",
    "read_batches",
    "read_table",
    "room_for",
    "write_table",
    "write_text",
]
