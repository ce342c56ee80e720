"""Each distinct text is embedded once a model and prompt, and no vector is taken for another."""

import numpy as np
import pytest

from pteb_eval.embed import vectors
from pteb_eval.embed.vectors import VectorCache
from pteb_eval.ids import text_id

IDENTITY = {
    "model": "m",
    "revision": "1",
    "dtype": "float32",
    "max_length": 128,
    "truncate_dim": None,
    "normalized": True,
    "sentence_transformers": "6.2",
}
OTHERS = {
    "model": "n",
    "revision": "2",
    "dtype": "bfloat16",
    "max_length": 256,
    "truncate_dim": 64,
    "normalized": False,
    "sentence_transformers": "6.3",
}


class Encoding:
    """Vectors that tell the text: its length and its first letter. Remembers the chunks."""

    def __init__(self, fail_at=None):
        self.chunks, self.fail_at = [], fail_at

    def __call__(self, texts):
        if len(self.chunks) == self.fail_at:
            raise SystemExit(143)
        self.chunks.append(texts)
        return np.array([[len(text), ord(text[0])] for text in texts], dtype=np.float32)


def count(texts):
    return [(len(text), len(text) > 5) for text in texts]


def fill(cache, texts, encode):
    return list(cache.fill(texts, encode, count))


def looked_up(cache, texts):
    rows = cache.lookup(texts).to_pylist()
    return {row.pop("key"): row for row in rows}


@pytest.mark.parametrize("field", [*OTHERS, "prompt"])
def test_every_field_of_the_identity_is_a_miss(tmp_path, field):
    fill(VectorCache(tmp_path, IDENTITY, "query: "), ["text"], Encoding())
    assert (
        VectorCache(tmp_path, dict(reversed(IDENTITY.items())), "query: ").missing(["text"]) == []
    )
    prompt = "" if field == "prompt" else "query: "
    other = {**IDENTITY, field: OTHERS.get(field)} if field in OTHERS else IDENTITY
    assert VectorCache(tmp_path, other, prompt).missing(["text"]) == ["text"]


def test_distinct_texts_once_and_longest_first(tmp_path):
    cache, encode = VectorCache(tmp_path, IDENTITY, ""), Encoding()
    assert fill(cache, ["bb", "a", "dddd", "bb", "ccc", "aa"], encode) == [5]
    assert encode.chunks == [["dddd", "ccc", "aa", "bb", "a"]]
    assert fill(cache, ["a", "e", "bb"], encode) == [1]
    assert encode.chunks[1:] == [["e"]]
    assert fill(cache, ["a", "e"], encode) == []


def test_a_text_gets_its_own_vector_back(tmp_path):
    cache = VectorCache(tmp_path, IDENTITY, "")
    texts = ["a text", "a text ", "Été", "\u00e9", "e\u0301"]
    fill(cache, texts, Encoding())
    found = looked_up(VectorCache(tmp_path, IDENTITY, ""), [*texts, "absent"])
    assert set(found) == {text_id(text) for text in texts}
    for text in texts:
        row = found[text_id(text)]
        assert row["vector"] == [len(text), ord(text[0])]
        assert (row["n_tokens"], row["truncated"]) == (len(text), len(text) > 5)


def test_vectors_are_kept_to_the_last_bit(tmp_path):
    cache = VectorCache(tmp_path, IDENTITY, "")
    values = np.random.default_rng(0).standard_normal((3, 7)).astype(np.float32)
    texts = ["ccc", "bb", "a"]
    fill(cache, texts, lambda chunk: values)
    found = looked_up(cache, texts)
    for text, vector in zip(texts, values, strict=True):
        assert np.array_equal(np.array(found[text_id(text)]["vector"], np.float32), vector)


def test_without_a_tokenizer_counts_are_unknown(tmp_path):
    cache = VectorCache(tmp_path, IDENTITY, "")
    list(cache.fill(["a"], Encoding(), lambda texts: None))
    row = looked_up(cache, ["a"])[text_id("a")]
    assert row["n_tokens"] is None
    assert row["truncated"] is None


def test_a_stopped_job_keeps_its_finished_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(vectors, "FIRST_CHUNK", 4)
    texts = [f"text {number:02}" for number in range(20)]
    with pytest.raises(SystemExit):
        fill(VectorCache(tmp_path, IDENTITY, ""), texts, Encoding(fail_at=2))
    second = Encoding()
    fill(VectorCache(tmp_path, IDENTITY, ""), texts, second)
    assert (
        sorted(text for chunk in second.chunks for text in chunk) == texts[12:]
    )  # after chunks of 4 and 8
    assert len(looked_up(VectorCache(tmp_path, IDENTITY, ""), texts)) == 20


def test_chunks_grow_only_while_they_are_quick(tmp_path, monkeypatch):
    monkeypatch.setattr(vectors, "FIRST_CHUNK", 2)
    monkeypatch.setattr(vectors, "LAST_CHUNK", 8)
    texts = [f"text {number:02}" for number in range(40)]
    assert fill(VectorCache(tmp_path / "a", IDENTITY, ""), texts, Encoding()) == [
        2,
        4,
        8,
        8,
        8,
        8,
        2,
    ]
    clock = iter(range(0, 10_000, 60))
    monkeypatch.setattr(vectors.time, "monotonic", lambda: next(clock))
    assert fill(VectorCache(tmp_path / "b", IDENTITY, ""), texts, Encoding()) == [2] * 20
