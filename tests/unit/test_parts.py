"""Shards, frozen sets, attempts and failures of the paraphrase stage."""

import hashlib
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from typer.testing import CliRunner

from pteb_eval.cli import paraphrases as cli
from pteb_eval.errors import UserError
from pteb_eval.fetch import SCHEMA as TEXTS
from pteb_eval.ids import text_id
from pteb_eval.paraphrase import parts, stage
from pteb_eval.paraphrase.engines import Completion, load
from pteb_eval.store import provenance_of, read_table, write_table

SENTENCES = [
    f"The {noun} stands near the old mill." for noun in ["cat", "dog", "hen", "cow", "pig"]
]
PROMPT = {"name": "p", "version": 1, "kind": "completion", "template": "{text} =>", "stop": ["\n"]}


class HashEngine:
    """Answers a sentence made of prompt and seed; empty for the prompts in `refuses`."""

    asked: ClassVar[list[str]] = []
    refuses: ClassVar[dict[str, int]] = {}

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass

    def generate(self, requests):
        for request in requests:
            self.asked.append(request.key)
            word = hashlib.sha256(f"{request.prompt} {request.seed}".encode()).hexdigest()[:6]
            text = f" By the mill one can see thing {word}."
            if self.refuses.get(request.prompt, 0) > 0:
                self.refuses[request.prompt] -= 1
                text = ""
            yield Completion(request.key, text, "stop", 5, 7)


@pytest.fixture(autouse=True)
def engine(monkeypatch):
    monkeypatch.setattr(load, "load_engine", lambda settings, cache_dir: HashEngine())
    monkeypatch.setattr(load, "engine_identity", lambda settings: {"engine": "hash"})
    HashEngine.asked, HashEngine.refuses = [], {}
    return HashEngine


@pytest.fixture
def texts(tmp_path):
    rows = [
        {
            "text_id": text_id(text),
            "text": text,
            "languages": ["eng-Latn"],
            "reworded": True,
            "slots": [],
        }
        for text in SENTENCES
    ]
    path = tmp_path / "texts.parquet"
    names = {"language_names": {"eng-Latn": "English"}}
    write_table(path, pa.Table.from_pylist(rows, TEXTS), names)
    return path


def settings(**changes):
    return {
        "task": "mill", "generator": "hash", "engine": "llamacpp", "model": "m", "revision": None,
        "sampling": {}, "prompts": [PROMPT], "attempts": 1, "seed": 1, "runs": 3,
        "max_failure_rate": 0.0, **changes,
    }  # fmt: skip


def whole(texts, tmp_path, name="whole", **changes):
    output = tmp_path / f"{name}.parquet"
    stage.run(settings(**changes), texts, tmp_path / f"cache-{name}", output, {})
    return output


@pytest.mark.parametrize("n", [1, 2, 7])
def test_shards_give_the_same_file_as_one_job(texts, tmp_path, n):
    expected = read_table(whole(texts, tmp_path))
    shards = [tmp_path / f"{i}.parquet" for i in range(1, n + 1)]
    for i, path in enumerate(shards, start=1):
        stage.run(settings(), texts, tmp_path / "cache", path, {}, (i, n))
    parts.assemble(settings(), texts, shards[::-1], tmp_path / "all.parquet")
    assert read_table(tmp_path / "all.parquet").equals(expected)


def test_a_missing_shard_is_said(texts, tmp_path):
    stage.run(settings(), texts, tmp_path / "cache", tmp_path / "1.parquet", {}, (1, 2))
    with pytest.raises(UserError, match="of 15 paraphrases are not in it"):
        parts.assemble(settings(), texts, [tmp_path / "1.parquet"], tmp_path / "all.parquet")
    assert not (tmp_path / "all.parquet").exists()


def test_more_runs_ask_only_for_the_new_ones(texts, tmp_path, engine):
    before = read_table(whole(texts, tmp_path))
    engine.asked = []
    after = read_table(whole(texts, tmp_path, runs=5))
    assert len(engine.asked) == 2 * len(SENTENCES)
    kept = after.filter(pc.less_equal(after["run"], 3))
    assert kept.equals(before)


def test_an_empty_answer_is_asked_again_with_another_seed(texts, tmp_path, engine):
    engine.refuses = {f"{SENTENCES[0]} =>": 2}
    rows = read_table(whole(texts, tmp_path, attempts=3)).to_pylist()
    first = [row for row in rows if row["text_id"] == text_id(SENTENCES[0])]
    assert [row["attempt"] for row in first] == [1, 1, 0]
    assert {row["status"] for row in rows} == {"ok"}
    assert len({row["seed"] for row in rows}) == len(rows)


def test_too_many_failures_stop_with_their_kinds_and_keep_the_answers(texts, tmp_path, engine):
    engine.refuses = {f"{SENTENCES[0]} =>": 3}
    with pytest.raises(UserError, match=r"20\.0% of 15 paraphrases failed \(3 empty\)"):
        whole(texts, tmp_path)
    assert not (tmp_path / "whole.parquet").exists()
    engine.asked = []
    rows = read_table(whole(texts, tmp_path, max_failure_rate=0.2)).to_pylist()
    assert engine.asked == []
    assert sum(row["status"] == "empty" for row in rows) == 3


def test_a_frozen_set_gives_the_same_paraphrases(texts, tmp_path):
    made = whole(texts, tmp_path)
    parts.export(made, tmp_path / "frozen.parquet")
    taken = {"task": "mill", "generator": "f", "runs": 2, "max_failure_rate": 0.0}
    parts.assemble(taken, texts, [tmp_path / "frozen.parquet"], tmp_path / "taken.parquet")
    table, expected = read_table(tmp_path / "taken.parquet"), read_table(made)
    assert table.equals(expected.filter(pc.less_equal(expected["run"], 2)))
    assert provenance_of(table.schema)["engine"] == {"engine": "hash"}


def test_one_changed_value_of_a_frozen_set_is_found(texts, tmp_path):
    parts.export(whole(texts, tmp_path), tmp_path / "frozen.parquet")
    table = read_table(tmp_path / "frozen.parquet")
    changed = table["paraphrase"].to_pylist()
    changed[7] += "!"
    index = table.column_names.index("paraphrase")
    tampered = table.set_column(index, "paraphrase", pa.array(changed))
    write_table(tmp_path / "bad.parquet", tampered, provenance_of(table.schema))
    with pytest.raises(UserError, match="not what was exported"):
        parts.verified(tmp_path / "bad.parquet")


def test_a_plain_paraphrase_file_is_no_frozen_set(texts, tmp_path):
    with pytest.raises(UserError, match="not a frozen set"):
        parts.verified(whole(texts, tmp_path))


def test_import_copies_by_the_names_in_the_file_and_replaces_nothing(texts, tmp_path):
    parts.export(whole(texts, tmp_path), tmp_path / "in" / "x.parquet")
    call = ["import", str(tmp_path / "in"), "--output", str(tmp_path / "out")]
    result = CliRunner().invoke(cli.app, call)
    assert result.exit_code == 0, result.output
    copied = tmp_path / "out" / "hash" / "mill.parquet"
    assert copied.read_bytes() == (tmp_path / "in" / "x.parquet").read_bytes()
    again = CliRunner().invoke(cli.app, call)
    assert isinstance(again.exception, UserError) and "nothing is replaced" in str(again.exception)


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "", ".."])
def test_import_never_leaves_its_folder(texts, tmp_path, name):
    table = read_table(whole(texts, tmp_path))
    provenance = provenance_of(table.schema)
    provenance["settings"]["task"] = name
    source = tmp_path / "in" / "x.parquet"
    write_table(source, table, {**provenance, "content_digest": parts.content_digest(table)})
    result = CliRunner().invoke(cli.app, ["import", str(source), "--output", str(tmp_path / "out")])
    assert isinstance(result.exception, UserError) and "do not trust" in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_digest_does_not_depend_on_order(texts, tmp_path):
    table = read_table(whole(texts, tmp_path))
    backwards = table.take(pa.array(range(table.num_rows - 1, -1, -1)))
    assert parts.content_digest(table) == parts.content_digest(backwards)
