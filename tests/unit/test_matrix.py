"""Vectors that are too many for memory: the same numbers, from a mapped file."""

import errno
import os

import numpy as np
import pyarrow as pa
import pytest

from pteb_eval.embed.vectors import VectorCache
from pteb_eval.errors import UserError
from pteb_eval.ids import text_id
from pteb_eval.score.serving import ServingEncoder
from pteb_eval.store import let_go, matrix, read_batches, room_for, write_table


@pytest.fixture(params=["in memory", "mapped"])
def where(request, monkeypatch):
    if request.param == "mapped":
        monkeypatch.setattr(matrix, "IN_MEMORY", 0)
    return request.param


def test_what_is_let_go_is_read_again(where):
    vectors = room_for(1000, 7)
    assert isinstance(vectors, np.memmap) == (where == "mapped")
    vectors[:] = np.arange(7000, dtype=np.float32).reshape(1000, 7)
    let_go(vectors)
    assert (vectors.ravel() == np.arange(7000)).all()


@pytest.mark.usefixtures("where")
def test_from_the_cache_to_the_evaluator(tmp_path):
    texts = [f"text {number}" for number in range(50)]
    numbers = {text: np.float32([number, -number, 0.5]) for number, text in enumerate(texts)}
    cache = VectorCache(tmp_path / "cache", {"model": "m"}, "q: ")
    for some in (texts[:20], texts[10:]):  # two shards
        list(
            cache.fill(
                some,
                lambda chunk: np.stack([numbers[text] for text in chunk]),
                lambda chunk: [(len(text), text == "text 7") for text in chunk],
            )
        )
    rows = cache.gather([*texts, "text 3"])
    assert rows["text_id"].to_pylist() == sorted(map(text_id, texts))
    assert sum(rows["truncated"].to_pylist()) == 1
    prompt_id = pa.array([text_id("q: ")] * 50, pa.string())
    stamp = {"encoder": {"revision": "1"}, "similarity": "cosine", "prompts": {"query": "q: "}}
    halves = [rows.slice(0, 30), rows.slice(30)]
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, half in zip(paths, halves, strict=True):
        table = half.add_column(1, "prompt_id", prompt_id[: len(half)])
        write_table(path, table, stamp, row_group_size=8)
    encoder = ServingEncoder("m", paths)
    wanted = [texts[4], texts[49], texts[4]]
    assert (encoder.vectors(wanted, "query") == [numbers[text] for text in wanted]).all()


def test_a_full_temporary_folder_is_said(monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(matrix, "IN_MEMORY", 0)
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(UserError, match="the disk is full"):
        room_for(10, 10)


def test_damaged_vectors_are_noticed(tmp_path):
    path = tmp_path / "v.parquet"
    write_table(path, pa.table({"vector": np.random.default_rng(0).random(5000)}), {})
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match="damaged"):
        list(read_batches(path, "vector", 100))
