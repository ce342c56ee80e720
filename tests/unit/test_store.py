"""Files whole or not at all; caches that only grow and never lie."""

import errno
import itertools
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pteb_eval.errors import UserError
from pteb_eval.store import (
    ShardStore,
    atomic_path,
    provenance_of,
    read_table,
    write_table,
    write_text,
)
from pteb_eval.store.files import PROVENANCE_KEY, disk_errors

SCHEMA = pa.schema([("key", pa.string()), ("value", pa.int32())])


def rows(*pairs):
    return pa.table([pa.array([k for k, _ in pairs], pa.string()),
                     pa.array([v for _, v in pairs], pa.int32())], schema=SCHEMA)  # fmt: skip


def found(store, *keys):
    table = store.lookup(keys)
    assert table.schema.names == SCHEMA.names
    pairs = list(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True))
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# Shards


def test_a_store_that_was_never_written_is_empty_and_makes_no_folder(tmp_path):
    store = ShardStore(tmp_path / "store", SCHEMA)
    store.append(rows())
    assert found(store, "a") == {}
    assert store.known(["a"]) == set()
    assert not store.root.exists()


def test_adding_never_touches_what_is_there(tmp_path):
    store = ShardStore(tmp_path, SCHEMA)
    before = {}
    for number in range(5):
        store.append(rows((f"k{number}", number), ("same", number)))
        after = bytes_of(tmp_path)
        assert len(after) == number + 1
        assert before.items() <= after.items()
        before = after
    assert sorted(before) == sorted(before, key=lambda name: int(name[6:14]))
    assert found(store, "k0", "k4", "absent") == {"k0": 0, "k4": 4}
    assert store.known(["k0", "k4", "absent"]) == {"k0", "k4"}


def test_of_rows_made_twice_every_reader_takes_the_first(tmp_path):
    store = ShardStore(tmp_path, SCHEMA)
    store.append(rows(("a", 1), ("b", 1), ("a", 2)))
    store.append(rows(("b", 2), ("c", 2)))
    store.append(rows(("c", 3)))
    for _ in range(3):
        assert found(ShardStore(tmp_path, SCHEMA), "a", "b", "c") == {"a": 1, "b": 1, "c": 2}


def test_two_writers_lose_nothing(tmp_path, monkeypatch):
    """Both look at the folder before either has written, so both take the same number."""
    one, two = ShardStore(tmp_path, SCHEMA), ShardStore(tmp_path, SCHEMA)
    monkeypatch.setattr(two, "_shards", list)
    one.append(rows(("a", 1), ("b", 1)))
    two.append(rows(("b", 1), ("c", 1)))
    assert len({name[:14] for name in bytes_of(tmp_path)}) == 1
    assert found(one, "a", "b", "c") == {"a": 1, "b": 1, "c": 1}


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 99)), max_size=5),
                max_size=5))  # fmt: skip
def test_a_store_is_a_dictionary_that_keeps_first_values(tmp_path_factory, batches):
    store = ShardStore(tmp_path_factory.mktemp("store"), SCHEMA)
    expected = {}
    for batch in batches:
        store.append(rows(*batch))
        expected = {**dict(reversed(batch)), **expected}
    assert found(store, *"abcdefg") == expected
    assert store.known([*"abcdefg"]) == set(expected)


def test_what_is_no_shard_is_not_read(tmp_path):
    store = ShardStore(tmp_path, SCHEMA)
    store.append(rows(("a", 1)))
    shard = next(tmp_path.iterdir())
    for name in (f".{shard.name}.0123.tmp", f"{shard.name}.tmp", "notes.txt", "shard-1.parquet"):
        (tmp_path / name).write_bytes(b"half a fi")
    assert found(store, "a") == {"a": 1}
    store.append(rows(("b", 2)))
    assert found(store, "a", "b") == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[: len(raw) // 2],
        lambda raw: raw[:-1],
        lambda raw: b"",
        lambda raw: b"PAR1",
    ],
    ids=["half", "last byte gone", "empty", "other"],
)
def test_an_unreadable_shard_stops_with_its_name_and_stays(tmp_path, damage):
    store = ShardStore(tmp_path, SCHEMA)
    store.append(rows(("a", 1)))
    shard = next(tmp_path.iterdir())
    shard.write_bytes(damage(shard.read_bytes()))
    damaged = shard.read_bytes()
    for read in (lambda: store.lookup(["a"]), lambda: store.known(["a"])):
        with pytest.raises(UserError, match=f"{shard.name}: unreadable cache shard .*move it away"):
            read()
    store.append(rows(("b", 2)))
    assert shard.read_bytes() == damaged


def test_a_flipped_bit_anywhere_is_found_or_does_no_harm(tmp_path):
    """Pages have checksums, but their headers have not: a flipped bit there can hide all rows."""
    store = ShardStore(tmp_path, SCHEMA)
    pairs = {f"key {number}": number * number for number in range(20)}
    store.append(rows(*pairs.items()))
    shard = next(tmp_path.iterdir())
    whole = shard.read_bytes()
    stopped = 0
    for place in range(len(whole)):
        shard.write_bytes(
            whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :]
        )
        try:
            assert found(store, *pairs) == pairs, place
        except UserError as error:
            assert shard.name in str(error)
            stopped += 1
    assert stopped > len(whole) / 4


# Files


def test_a_table_comes_back_with_its_provenance(tmp_path):
    path = tmp_path / "deep" / "er" / "table.parquet"
    write_table(path, rows(("a", 1)), {"stage": "test", "prompts": {"": "Grüße\n"}})
    table = read_table(path)
    assert table.to_pylist() == [{"key": "a", "value": 1}]
    expected = {"stage": "test", "prompts": {"": "Grüße\n"}, "schema_version": 1, "n_rows": 1}
    assert provenance_of(table.schema) == expected
    assert provenance_of(read_table(path, columns=["value"]).schema) == expected
    assert read_table(path, columns=["value"]).column_names == ["value"]
    assert [file.name for file in path.parent.iterdir()] == ["table.parquet"]
    assert provenance_of(SCHEMA) == {}


def test_tables_that_cannot_be_read_are_one_clear_line(tmp_path):
    path = tmp_path / "table.parquet"
    with pytest.raises(UserError, match=r"table\.parquet: no such file: run the step"):
        read_table(path)
    write_table(path, rows(("a", 1)), {})
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match=r"table\.parquet: unreadable .*move it away and run again"):
        read_table(path)
    for stamp in ({"schema_version": 99}, {}):
        pq.write_table(rows().replace_schema_metadata({PROVENANCE_KEY: json.dumps(stamp)}), path)
        with pytest.raises(UserError, match=r"table\.parquet: schema version .*make the file"):
            read_table(path)


def test_a_flipped_bit_of_a_table_changes_neither_rows_nor_provenance(tmp_path):
    path = tmp_path / "table.parquet"
    write_table(path, rows(("a", 1), ("b", 2)), {"prompts": {"": "Grüße"}, "settings": {"k": 1}})
    whole, right = path.read_bytes(), read_table(path)
    harmless = 0
    for place, bit in itertools.product(range(len(whole)), range(0, 8, 3)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << bit
        path.write_bytes(damaged)
        try:
            table = read_table(path)
        except UserError as error:
            assert str(error).startswith(f"{path}: unreadable")
            continue
        harmless += 1
        assert table.equals(right), place
        assert provenance_of(table.schema) == provenance_of(right.schema), place
    assert harmless < len(whole)


def test_a_table_is_parquet_for_everyone(tmp_path):
    path = tmp_path / "table.parquet"
    write_table(path, rows(("a", 1), ("b", 2)), {})
    assert pq.read_table(path).to_pylist() == rows(("a", 1), ("b", 2)).to_pylist()
    assert pq.ParquetFile(path.open("rb")).metadata.num_rows == 2


def test_a_table_written_again_has_its_own_number_of_rows(tmp_path):
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    write_table(first, rows(("a", 1), ("b", 2)), {"stage": "test"})
    table = read_table(first)
    write_table(second, table.slice(0, 1), provenance_of(table.schema))
    assert read_table(second).num_rows == 1


def test_rows_that_vanished_are_noticed(tmp_path):
    path = tmp_path / "table.parquet"
    write_table(path, rows(("a", 1), ("b", 2)), {})
    pq.write_table(pq.read_table(path).slice(0, 1), path)
    with pytest.raises(UserError, match=r"table\.parquet: unreadable \(1 rows where 2 were"):
        read_table(path)


def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "text.txt"
    write_text(path, "old")
    with pytest.raises(RuntimeError), atomic_path(path) as temporary:
        temporary.write_text("half")
        assert path.read_text() == "old"
        raise RuntimeError
    assert [file.name for file in tmp_path.iterdir()] == ["text.txt"]
    assert path.read_text() == "old"
    write_text(path, "new \ud800")
    assert path.read_bytes() == b"new ?"


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "the disk is full: free some space and run again"),
        (errno.EDQUOT, "the quota is used up"),
        (errno.EROFS, "the file system is read-only: choose a results folder"),
        (errno.EACCES, "no permission to write there"),
        (errno.EPERM, "no permission to write there"),
    ],
)
def test_refusals_of_the_disk_name_the_file_and_what_to_do(tmp_path, number, message):
    with pytest.raises(UserError) as caught, disk_errors(tmp_path / "file"):
        raise OSError(number, "refused")
    assert str(caught.value).startswith(f"{tmp_path / 'file'}: {message}")
    assert "\n" not in str(caught.value)


def test_other_errors_of_the_system_are_no_user_error(tmp_path):
    with pytest.raises(OSError, match="odd") as caught, disk_errors(tmp_path):
        raise OSError(errno.EIO, "odd")
    assert not isinstance(caught.value, UserError)
