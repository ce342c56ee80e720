"""Putting paraphrase files together from shards, or taking them from a frozen set."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.compute as pc

from pteb_eval.errors import UserError
from pteb_eval.ids import digest
from pteb_eval.paraphrase.cleaning import Status
from pteb_eval.paraphrase.stage import SCHEMA, check_failures
from pteb_eval.progress import say
from pteb_eval.store import provenance_of, read_table, write_table

COLUMNS = SCHEMA.names


def assemble(settings: dict[str, Any], texts: Path, sources: Sequence[Path], output: Path) -> None:
    """Write the paraphrases of a task's texts from shards, or from a frozen set, without an LLM.

    Of shards, the file equals what a single job would have written.

    Args:
        settings: as for `stage.run`; of a frozen set only `task`, `generator`, `runs` and
            `max_failure_rate`.
        texts: the task's texts file.
        sources: all shards, in any order; or the one file of a frozen set.
        output: the file to write.

    Raises:
        UserError: if a frozen set is damaged, a text or run is missing, or more paraphrases failed
            than `max_failure_rate`.
    """
    frozen = "engine" not in settings
    tables = [verified(path) if frozen else read_table(path) for path in sources]
    rows = _selected(pa.concat_tables(tables), texts, settings["runs"], str(sources[0]))
    check_failures(settings, rows["status"].to_pylist())
    say(f"paraphrase {settings['task']}: {rows.num_rows} paraphrases from {len(sources)} files")
    origin = provenance_of(tables[0].schema)
    own = origin.get("settings")
    if not isinstance(own, dict):
        raise UserError(f"{sources[0]}: its metadata does not say what it was made with")
    write_table(output, rows, {**origin, "settings": own | settings})


def export(source: Path, output: Path) -> str:
    """Write a paraphrase file as a frozen one, which carries a digest of its content.

    The originals' texts are left out, since their license may not allow to hand them on: a frozen
    set names them by the SHA-256 of the text.

    Returns:
        The digest.
    """
    table = read_table(source)
    content = content_digest(table)
    write_table(output, table, {**provenance_of(table.schema), "content_digest": content})
    return content


def verified(path: Path) -> pa.Table:
    """A frozen file's table.

    Raises:
        UserError: if it is no frozen file, or any value in it changed since it was exported.
    """
    table = read_table(path)
    told = provenance_of(table.schema).get("content_digest")
    if not isinstance(told, str):
        raise UserError(f"{path}: not a frozen set: make one with `pteb-eval paraphrases export`")
    if not _fits(table) or content_digest(table) != told:
        raise UserError(f"{path}: its content is not what was exported (digest {told[:12]!r}…)")
    return table


def _fits(table: pa.Table) -> bool:
    """Whether columns, types and values are those of a paraphrase file; digests can be made up."""
    if pa.schema([field for field in table.schema if field.name in COLUMNS]) != SCHEMA:
        return False
    try:
        table.validate(full=True)  # text that is UTF-8, among others
    except pa.ArrowException:
        return False
    if any(table[name].null_count for name in ("text_id", "run", "paraphrase", "status")):
        return False
    if table.num_rows and pc.min(table["run"]).as_py() < 1:
        return False
    return set(table["status"].unique().to_pylist()) <= set(get_args(Status))


def content_digest(table: pa.Table) -> str:
    """SHA-256 of all values, whatever the order of rows and the version of Parquet."""
    rows = table.select(COLUMNS).to_pylist()
    return digest(sorted(digest(row) for row in rows))


def _selected(rows: pa.Table, texts: Path, runs: int, source: str) -> pa.Table:
    """Rows of the texts in scope and of the runs wanted, in the order of the texts file."""
    wanted = read_table(texts, columns=["text_id", "reworded"])
    order = wanted.filter(wanted["reworded"])["text_id"].to_pylist()
    place = {identity: i for i, identity in enumerate(order)}
    rows = rows.filter(pc.less_equal(rows["run"], runs))
    keys = list(zip(rows["text_id"].to_pylist(), rows["run"].to_pylist(), strict=True))
    found = {key: i for i, key in enumerate(keys) if key[0] in place}
    missing = len(order) * runs - len(found)
    if missing:
        raise UserError(
            f"{source}: {missing} of {len(order) * runs} paraphrases are not in it: it was made "
            f"of other texts, another scope, or fewer than {runs} runs"
        )
    chosen = [index for _, _, index in sorted((place[t], r, i) for (t, r), i in found.items())]
    return rows.take(pa.array(chosen, pa.int64())).select(COLUMNS)
