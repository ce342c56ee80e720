"""Stage `embed` with a real, tiny model: prompts, truncation, identities, the file it writes."""

import json
import re
from pathlib import Path

import mteb
import numpy as np
import pytest
from tiny_model import save_tiny_model

from pteb_eval import fetch
from pteb_eval.embed import stage
from pteb_eval.embed.encoders import folder_digest, load_encoder
from pteb_eval.embed.packaged import PACKAGES
from pteb_eval.errors import UserError
from pteb_eval.ids import text_id
from pteb_eval.store import ShardStore, provenance_of, read_table
from pteb_eval.variants import load_variants

PROMPTS = {"query": "query: ", "document": "passage: "}
RETRIEVAL = mteb.get_task("NFCorpus").metadata
STS = mteb.get_task("STSBenchmark").metadata


def model_settings(name="tiny", **more):
    empty = {"revision": None, "path": None, "dtype": None, "max_length": None}
    return {"name": name, **empty, "trust_remote_code": False, **more}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("model") / "tiny", PROMPTS)


@pytest.fixture(scope="module")
def encoder(folder):
    return load_encoder(model_settings(path=str(folder)), "cpu")


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    folder = save_tiny_model(tmp_path_factory.mktemp("model") / "bare")
    return load_encoder(model_settings(path=str(folder)), "cpu")


def test_the_literal_prompt_is_what_the_network_gets(encoder, bare):
    kinds = ("query", "document", None)
    assert [encoder.prompt(RETRIEVAL, kind) for kind in kinds] == ["query: ", "passage: ", ""]
    assert [bare.prompt(RETRIEVAL, kind) for kind in kinds] == ["", "", ""]


@pytest.mark.parametrize("kind", ["query", "document", None])
def test_vectors_are_those_of_the_plain_model_under_that_prompt(encoder, kind):
    texts = ["an oak is a tree", "a", "what?"]
    plain = encoder.model.model.encode(texts, prompt=PROMPTS.get(kind, ""), batch_size=64)
    found = encoder.encode(texts, RETRIEVAL, kind, batch_size=64)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, plain, atol=1e-6)
    # The prompt stands before the text, as its own text would.
    written = encoder.model.model.encode([PROMPTS.get(kind, "") + t for t in texts], prompt="")
    np.testing.assert_allclose(found, written, atol=1e-6)


def test_truncation_is_told_exactly_where_it_begins(encoder):
    """16 tokens fit: two marks, five letters and a colon of the prompt, and eight of the text."""
    texts = ["abcdefgh", "abcdefghi"]
    assert encoder.count_tokens(texts, "query: ") == [(16, False), (16, True)]
    assert encoder.count_tokens(texts, "") == [(10, False), (11, False)]
    fits, cut = encoder.encode([texts[0], texts[1]], RETRIEVAL, "query", batch_size=1)
    np.testing.assert_allclose(fits, cut, atol=1e-6)
    fits, longer = encoder.encode([texts[0], texts[1]], RETRIEVAL, None, batch_size=1)
    assert np.abs(fits - longer).max() > 1e-3


def test_what_changes_a_vector_changes_the_identity(folder, encoder, tmp_path):
    settings = model_settings(path=str(folder))
    assert load_encoder(settings, "cpu").identity == encoder.identity
    assert encoder.identity["dtype"] == "float32"
    assert encoder.identity["max_length"] == 16
    assert encoder.identity["normalized"] is True
    for key, value in {"name": "other", "dtype": "bfloat16", "max_length": 8}.items():
        assert load_encoder({**settings, key: value}, "cpu").identity != encoder.identity
    shorter = load_encoder({**settings, "max_length": 8}, "cpu")
    assert shorter.count_tokens(["abcdefgh"], "") == [(8, True)]


def test_a_folder_is_known_by_its_content(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "x.bin").write_bytes(b"1")
    assert folder_digest(tmp_path / "a") == folder_digest(tmp_path / "b")
    (tmp_path / "b" / "deep" / "x.bin").write_bytes(b"2")
    assert folder_digest(tmp_path / "a") != folder_digest(tmp_path / "b")
    (tmp_path / "b" / "deep" / "x.bin").rename(tmp_path / "b" / "x.bin")
    assert folder_digest(tmp_path / "a") != folder_digest(tmp_path / "b")


def test_the_bag_of_tokens_knows_words_and_nothing_else():
    bag = load_encoder(model_settings("bag-of-tokens"), None)
    texts = ["The dog bit the man.", "the MAN bit the dog", "A cat.", ""]
    same, swapped, other, nothing = bag.encode(texts, STS, None, batch_size=64)
    np.testing.assert_array_equal(same, swapped)
    assert np.linalg.norm(same) == pytest.approx(1)
    assert same @ other == 0
    assert not nothing.any()
    assert bag.count_tokens(texts, "") == [(5, False), (5, False), (2, False), (0, False)]
    assert bag.prompt(STS, None) == ""


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("own", {"path": "."}, r"model 'own': \. is no model folder \(no modules\.json or config"),
        ("no/such-model", {}, r"model 'no/such-model': not fetched: .*not on this machine"),
    ],
)
def test_models_that_are_none_are_one_clear_line(tmp_path, monkeypatch, name, more, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message) as caught:
        load_encoder(model_settings(name, **more), "cpu")
    assert "\n" not in str(caught.value)


def test_a_damaged_model_folder_is_one_clear_line(tmp_path):
    folder = save_tiny_model(tmp_path / "tiny")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(UserError, match=r"model 'tiny': .*tiny cannot be loaded: ") as caught:
        load_encoder(model_settings(path=str(folder)), "cpu")
    assert "\n" not in str(caught.value)


def test_a_packaged_model_that_is_not_installed_says_how(monkeypatch):
    monkeypatch.setitem(PACKAGES, "wordllama", "package-that-is-not-there")
    with pytest.raises(UserError, match="'package-that-is-not-there' is not installed; run: pip"):
        load_encoder(model_settings("wordllama"), None)


# The stage


@pytest.fixture
def retrieval(tmp_path):
    """A search task in which a query and a document are the same text."""
    documents = {"d1": "an oak", "d2": "a pine tree"}
    queries = {"q1": "an oak", "q2": "which tree is green all year long?"}
    lines = {
        "corpus.jsonl": [{"_id": key, "text": text} for key, text in documents.items()],
        "queries.jsonl": [{"_id": key, "text": text} for key, text in queries.items()],
    }
    for name, rows in lines.items():
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n")
    task = {"type": "retrieval", "name": "trees", "path": str(tmp_path), "language": "eng-Latn"}
    texts = tmp_path / "texts.parquet"
    fetch.run({"task": task, "scope": "pteb", "max_instances": None}, "", texts)
    return task, texts


@pytest.fixture
def embed(retrieval, folder, tmp_path):
    """Runs the stage on that task; returns what it wrote."""
    task, texts = retrieval

    def run(paraphrases=None, **more):
        output = tmp_path / "embeddings.parquet"
        settings = {"task": task, "model": model_settings(path=str(folder)), "batch_size": 8}
        stage.run({**settings, **more}, texts, paraphrases, tmp_path / "cache", output, "cpu")
        return read_table(output)

    return run


def test_the_output_page_describes_every_column(embed):
    page = (Path(__file__).parents[2] / "docs" / "output.md").read_text(encoding="utf-8")
    _, _, section = page.partition("\n### embeddings\n")
    described = re.findall(r"`(\w+)`", re.split(r"\n##", section)[0])
    assert set(embed().column_names) <= set(described)


def test_the_same_text_as_query_and_document_has_two_vectors(embed, encoder):
    table = embed()
    about = provenance_of(table.schema)
    assert about["prompts"] == {"query": "query: ", "document": "passage: "}
    assert about["encoder"] == encoder.identity
    assert about["similarity"] == "cosine"
    rows = {(row["prompt_id"], row["text_id"]): row for row in table.to_pylist()}
    assert len(rows) == table.num_rows == 4
    as_query, as_document = (rows[text_id(p), text_id("an oak")] for p in PROMPTS.values())
    for kind, row in (("query", as_query), ("document", as_document)):
        [plain] = encoder.encode(["an oak"], RETRIEVAL, kind, batch_size=8)
        np.testing.assert_allclose(row["vector"], plain, atol=1e-6)
    assert not np.allclose(as_query["vector"], as_document["vector"], atol=1e-3)
    flags = {row["text_id"]: row["truncated"] for row in table.to_pylist()}
    assert flags[text_id("an oak")] is False
    assert flags[text_id("which tree is green all year long?")] is True


def test_a_second_run_embeds_nothing_and_writes_the_same(embed, monkeypatch):
    first = embed()
    monkeypatch.setattr(ShardStore, "append", lambda *args: pytest.fail("embedded again"))
    assert embed().equals(first)


def test_vectors_that_are_not_finite_are_refused(embed, monkeypatch):
    monkeypatch.setattr(
        stage.Encoder, "encode", lambda self, texts, *rest: np.full((len(texts), 3), np.nan)
    )
    with pytest.raises(UserError, match="model 'tiny' gave vectors that are not finite: try anoth"):
        embed()


def test_data_that_changed_since_fetch_is_noticed(embed, retrieval):
    task, texts = retrieval
    corpus = texts.parent / "corpus.jsonl"
    corpus.write_text(corpus.read_text().replace("pine", "fir"))
    with pytest.raises(UserError, match=r"task trees: its data changed since .*run fetch again"):
        embed()
    with pytest.raises(UserError, match="run fetch again"):
        load_variants(task, texts, None)
