"""An append-only, content-addressed cache on any shared file system.

A store is a folder of Parquet shards. Adding rows adds a shard under a temporary name and renames
it; no shard is ever changed or removed. Readers need no lock, and neither do writers: two that make
the same row at once leave it twice, and every reader takes the same one of the two.
"""

import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from pteb_eval.errors import UserError, one_line
from pteb_eval.store.files import disk_errors, read_checked, write_table

KEY = "key"
_NAME = re.compile(r"shard-(\d{8})-[0-9a-f]{12}\.parquet")


class ShardStore:
    """Rows by key, in append-only shards below one folder.

    Args:
        root: the store's folder; made when the first rows are added.
        schema: columns of a row, the string column `key` among them.
    """

    def __init__(self, root: Path, schema: pa.Schema) -> None:
        self.root = root
        self.schema = schema

    def append(self, rows: pa.Table, provenance: dict[str, object] | None = None) -> None:
        """Add rows as one new shard.

        Raises:
            UserError: if the folder cannot be written or the disk is full.
        """
        if rows.num_rows == 0:
            return
        # Numbered by what is there, not by a clock, which may be set back.
        number = 1 + max((_number(path) for path in self._shards()), default=0)
        name = f"shard-{number:08d}-{uuid.uuid4().hex[:12]}.parquet"
        write_table(self.root / name, rows.cast(self.schema), provenance or {})

    def lookup(self, keys: Iterable[str]) -> pa.Table:
        """The rows that the store has for these keys, one a key, in no promised order.

        Raises:
            UserError: if a shard is unreadable; it is named and left as it is.
        """
        return pa.concat_tables([self.schema.empty_table(), *self.parts(keys)])

    def parts(self, keys: Iterable[str]) -> Iterator[pa.Table]:
        """The same rows shard by shard, for those that are too many at once."""
        missing = set(keys)
        for path in self._shards():
            if not missing:
                return
            part = self._matching(path, missing)
            missing -= set(part[KEY].to_pylist())
            yield part

    def known(self, keys: Sequence[str]) -> set[str]:
        """Which of these keys the store has, reading the keys alone."""
        wanted = set(keys)
        found: set[str] = set()
        for path in self._shards():
            found |= wanted & set(self._keys(path).to_pylist())
        return found

    def _shards(self) -> list[Path]:
        if not self.root.is_dir():
            return []
        with disk_errors(self.root):
            return sorted(path for path in self.root.iterdir() if _NAME.fullmatch(path.name))

    def _keys(self, path: Path) -> pa.ChunkedArray:
        return self._read(path, [KEY])[KEY]

    def _matching(self, path: Path, wanted: set[str]) -> pa.Table:
        """Rows of one shard with a wanted key, first of equals; other columns read only if any."""
        hits: list[int] = []
        seen: set[str] = set()
        for index, key in enumerate(self._keys(path).to_pylist()):
            if key in wanted and key not in seen:
                seen.add(key)
                hits.append(index)
        if not hits:
            return self.schema.empty_table()
        return self._read(path, self.schema.names).take(pa.array(hits))

    def _read(self, path: Path, columns: list[str]) -> pa.Table:
        try:
            table = read_checked(path, columns)
        except (OSError, pa.ArrowException) as error:
            raise UserError(
                f"{path}: unreadable cache shard ({one_line(error)}): move it away to make its "
                "rows again"
            ) from error
        return table.cast(pa.schema([self.schema.field(name) for name in columns]))


def _number(path: Path) -> int:
    match = _NAME.fullmatch(path.name)
    return int(match.group(1)) if match else 0


__all__ = ["KEY", "ShardStore"]
