"""What fuzzing and reading for it found, each as one plain case: a line that says what is wrong."""

import gzip
import json
import logging
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from suite_files import pub_rows
from test_config import SMALL, changed
from test_engines_openai import KEY, ask, server, short_waits  # noqa: F401 - fixtures

from pteb_eval.config import load_config, parse_config
from pteb_eval.errors import LONGEST, UserError
from pteb_eval.fetch import texts_table
from pteb_eval.hub import advice
from pteb_eval.implicit.build import implicit_task
from pteb_eval.implicit.parts import Parts
from pteb_eval.paraphrase.engines import Request, wire
from pteb_eval.paraphrase.engines.load import engine_identity
from pteb_eval.paraphrase.engines.openai import _retry_after
from pteb_eval.paraphrase.engines.packaged import is_installed
from pteb_eval.review.ratings import read_ratings
from pteb_eval.store import read_table as read_own_table
from pteb_eval.tasks.files import file_task
from pteb_eval.tasks.files.tables import read_table
from pteb_eval.workflow import Workflow, from_snakemake


def says(call, *arguments):
    """The one line in which a mistake ends."""
    with pytest.raises(UserError) as caught:
        call(*arguments)
    line = str(caught.value)
    assert len(line.splitlines()) == 1 and len(line) <= LONGEST
    return line


def test_a_message_is_one_line_of_bounded_length():
    line = str(UserError("a file\nof two \r\n lines\u2028and " + "x" * 5000))
    assert line.startswith("a file of two lines and xxx") and len(line) == LONGEST


# Configurations


def read(tmp_path, text):
    path = tmp_path / "my.yaml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    return load_config(path)


LAUGHS = "a: &x [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"a{n}: &x{n} [{', '.join([f'*x{n - 1}' if n else '*x'] * 10)}]\n" for n in range(12)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\nname: b\n", "key 'name' stands there twice"),
        ("tasks: [{type: sts, type: texts}]", "key 'type' stands there twice"),
        ("seed: " + "1" * 5000, "cannot be read as YAML"),
        ("seed: 0x" + "f" * 5000, "seed: is too large a number"),
        ("name: !!timestamp x", "cannot be read as YAML"),
        ("name: !!int ''", "cannot be read as YAML"),
        ("name: 2024-13-99", "cannot be read as YAML"),
        ("name: 2024-01-01", "name: is a date, which no key takes: put it in quotes"),
        ("name: !!binary aGk=", "name: is a bytes, which no key takes"),
        ("name: !!set {a}", "name: is a set, which no key takes"),
        ("1: x", "content: one of its keys is no text (1): put it in quotes"),
        ("name: .inf", "name: is too large a number, or none"),
        ("[" * 2000, "cannot be read as YAML"),
        ("a: " + "[" * 60 + "]" * 60, "nested too deep"),
        ('name: "a\\0b"', "name: holds a NUL or half a surrogate pair"),
        ('name: "\\ud800"', "name: holds a NUL or half a surrogate pair"),
        (LAUGHS, "over 50000 values: a list or an alias is too much"),
        ("name: !!python/object/apply:os.system [id]", "cannot be read as YAML"),
        (f"name: {'x' * 30_000}", "name: is longer than 20000 characters"),
    ],
)  # fmt: skip
def test_yaml_that_nobody_means(tmp_path, text, message):
    assert message in says(read, tmp_path, text)


def test_a_mark_before_the_first_letter_is_no_letter(tmp_path):
    assert read(tmp_path, "\ufeff" + json.dumps(SMALL)).name == "small"


def test_snakemakes_own_reading_is_not_trusted_with_a_key_that_stands_twice(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text("name: a\n" + json.dumps(SMALL)[1:-1].replace('"small"', '"b"', 1))
    path.write_text("name: a\nname: b\n")
    with pytest.raises(SystemExit, match="key 'name' stands there twice"):
        from_snakemake({**SMALL, "generators": []}, [str(path)])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (changed("name", to="../up"), "name: String should match pattern"),
        (changed("name", to="Cache"), "name: 'Cache' is kept for the folder of the caches"),
        (changed("models", 0, to={"name": "m", "revision": "../../up"}),
        "models.0.revision: String"),
        (changed("models", 1, to="ALL-minilm-L6-V2"),
        "names must differ, and not in their case alone"),
        (changed("embedding", to={"device": "cpu; touch x"}),
        "embedding.device: String should match"),
        (changed("judges", to=["j"]), "judges.0: Input should be a valid dictionary"),
        (changed("tasks", 0, to={"type": "sts", "name": "t", "path": "x" * 300}), "tasks.0.path"),
        (changed("generators", 0, "model", to="x" * 300), "model: is longer than a path can be"),
        (changed("tasks", 0, to={"type": "texts", "name": "t", "columns": {"text": -1}}),
        "columns.text"),
        (changed("models", to=[f"m{n}" + "x" * 140 for n in range(600)]), "split it into several"),
    ],
)  # fmt: skip
def test_names_that_become_files_and_arguments(content, message):
    assert message in says(parse_config, content, "my.yaml")


def test_a_revision_is_one_segment_of_a_path(tmp_path):
    content = {**SMALL, "generators": [], "models": [{"name": "a/b", "revision": "refs/pr/1"}]}
    flow = Workflow(parse_config(content, "my.yaml"), tmp_path)
    assert flow.mteb_results() == [str(tmp_path / "small/mteb/a__b/refs__pr__1/STSBenchmark.json")]


@pytest.mark.parametrize(
    "options",
    [
        {"base_url": f"http://user:{KEY}@host/v1"},
        {"base_url": f"http://host/v1?key={KEY}"},
        {"api_key_env": KEY},
        {"api_key": KEY},
        {"extra_body": {"headers": [{"x-api-key": KEY}]}},
    ],
)
def test_a_secret_in_a_configuration_is_refused_unseen(options):
    content = changed("generators", 0, "options", to=options)
    line = says(parse_config, content, "my.yaml")
    assert (
        line.startswith("my.yaml: generators.0.options: ") and KEY not in line and "sk-" not in line
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_url": 5}, "base_url: Input should be a valid string (value '5')"),
        ({"base_url": "http://h", "concurrency": 0}, "concurrency: Input should be greater than"),
        ({"base_url": "http://h", "prices": [1]}, "prices: Input should be a valid dictionary"),
        ({"base_url": "http://h", "timeout": "long"}, "timeout: Input should be a valid number"),
    ],
)
def test_an_engines_option_of_another_type(options, message):
    settings = {"engine": "openai", "model": "m", "prompt_kind": "chat", "options": options}
    assert message in says(engine_identity, settings)


def test_a_name_with_dots_is_no_package():
    """Looking for `a.b` imports `a`, or fails where there is none."""
    assert (
        not is_installed("Qwen/Qwen2.5-7B-Instruct")
        and not is_installed("")
        and not is_installed(".")
    )
    assert is_installed("json")


def test_a_mirrors_password_is_not_shown(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "https://user:secret@mirror.example/hub/")
    assert "secret" not in advice("x") and "https://mirror.example/hub" in advice("x")


# Data files


@pytest.mark.parametrize(
    ("name", "content", "format", "message"),
    [
        ("t.jsonl", b'{"text": "a \\ud83d b"}', None, "line 1 holds half a surrogate pair"),
        ("t.jsonl", b'{"text": 1}\n' + b"[" * 100_000, None, "line 2 is not JSON"),
        ("t.jsonl", b'{"text": ' + b"1" * 5000 + b"}", None, "line 1 is not JSON"),
        (
            "t.csv.gz",
            gzip.compress(b"text\n" + b"a" * 99, mtime=0)[:12] + b"\xff" * 30,
            None,
            "not a whole gzip",
        ),
        ("t.csv", b"text\na", {"delimiter": "ab"}, "format.delimiter is 'ab': use one character"),
        ("t.csv", b"text\na", {"delimiter": '"'}, "format.delimiter is '\"': use one character"),
        ("t.csv", b"text\na", {"encoding": "undefined"}, "encoding 'undefined' is unknown"),
        ("t.csv", b"text\na", {"encoding": "utf-8\0"}, "is unknown: use utf-8"),
        ("t.csv", b"text\n+2AA-", {"encoding": "utf-7"}, "half a surrogate pair"),
        ("t.csv", b"text,text\na,b", None, "column 'text' stands there twice"),
        ("t.csv", b"other\na", None, "no column 'text'"),
        (
            "t.jsonl",
            b'{"text": ' + json.dumps([["x" * 9000]] * 90).encode() + b"}",
            None,
            "not a text",
        ),
    ],
)
def test_a_table_that_is_none(tmp_path, name, content, format, message):
    path = tmp_path / name
    path.write_bytes(content)
    assert message in says(lambda: read_table(path, format).texts("text"))


def test_a_column_before_the_first(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("text\na\n")
    assert "no column -1" in says(read_table(path).texts, -1)


def test_text_of_a_parquet_file_that_is_not_utf8(tmp_path):
    raw = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")]
    )
    pq.write_table(pa.table({"text": raw}), tmp_path / "t.parquet")
    assert "not a Parquet file" in says(read_table, tmp_path / "t.parquet")


def test_a_parquet_file_whose_columns_name_is_not_utf8(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"text_name": ["a"]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"text_name", b"text_\xff\x91me"))
    assert "not a Parquet file" in says(read_table, path)
    assert "unreadable" in says(read_own_table, path)


def task_of(path, kind, rows, **more):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"type": kind, "name": "own", "path": str(path), "language": "eng-Latn", **more}


PAIR = {"sentence1": "a", "sentence2": "b", "label": 1}
SUBSET = {"columns": {"subset": "part"}}


@pytest.mark.parametrize(
    ("kind", "rows", "more", "message"),
    [
        ("sts", [{**PAIR, "score": 10**400}], {}, "in column 'score' is not a number"),
        (
            "reranking",
            [{"query": "q", "document": "d", "label": 10**400}],
            {},
            "not a whole number",
        ),
        ("reranking", [{"query": "q", "document": "d", "label": 1e300}], {}, "not a whole number"),
        ("clustering", [{"text": "a", "label": float("nan")}], {}, "no label in column 'label'"),
        (
            "texts",
            [{"text": "a", "part": "=1+1"}],
            SUBSET,
            "subset '=1+1' in column 'part' is no name",
        ),
        (
            "texts",
            [{"text": "a", "part": "a\nb"}],
            SUBSET,
            r"subset 'a\nb' in column 'part' is no name",
        ),
        ("texts", [{"text": "a", "part": "\u202ea"}], SUBSET, "in column 'part' is no name"),
        ("retrieval", [{"_id": "1", "text": "a"}], {"path": ["a"]}, "no such folder"),
    ],
)
def test_a_task_with_odd_cells(tmp_path, kind, rows, more, message):
    assert message in says(file_task, {**task_of(tmp_path / "t.jsonl", kind, rows), **more})


def test_names_of_subsets_in_any_script_are_names(tmp_path):
    names = ["हिन्दी", "R&D (2024)", "c++", "en-de", "العربية"]
    rows = [{"text": f"text {name}", "part": name} for name in names]
    language = dict.fromkeys(names, "eng-Latn")
    task = task_of(tmp_path / "t.jsonl", "texts", rows, **SUBSET, language=language)
    table, _ = texts_table({"task": task, "scope": "all", "max_instances": None})
    assert {slot["subset"] for slots in table["slots"].to_pylist() for slot in slots} == set(names)


@pytest.mark.parametrize("body", [5, ["a"], {"a": 1}])
def test_a_document_that_is_no_text(tmp_path, body):
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"_id": "d", "text": body}))
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "q"}))
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
    task = {"type": "retrieval", "name": "own", "path": str(tmp_path), "language": "eng-Latn"}
    assert "column 'text' holds" in says(file_task, task)


# The suite's files


def test_a_damaged_member_of_an_archive(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("task_1.jsonl", "".join(map(str, range(300))))
    content = bytearray(path.read_bytes())
    content[45:52] = b"\xff" * 7
    path.write_bytes(content)
    assert "task_1.jsonl: cannot be read" in says(Parts(path).text, "task_1.jsonl")
    content[6] |= 1  # says that it is encrypted
    content[content.rindex(b"PK\1\2") + 8] |= 1
    path.write_bytes(content)
    assert "task_1.jsonl: cannot be read" in says(Parts(path).text, "task_1.jsonl")


def test_a_tar_that_is_none_says_so_in_one_line(tmp_path):
    (tmp_path / "a.tar").write_bytes(b"no tar" * 200)
    assert "not a whole archive" in says(Parts, tmp_path / "a.tar")


def test_rows_that_cannot_be_used_are_counted(tmp_path):
    good = list(pub_rows("task_1", 20))
    odd = [
        {**good[0], "pretext": "half \ud800"},
        {**good[1], "options": "[" * 9000},
        {**good[2], "options": "{[]}"},
        {**good[3], "options": [["a"], ["b"]]},
    ]
    lines = [json.dumps(row) for row in [*good, *odd]] + ["[" * 100_000]
    (tmp_path / "task_1.jsonl").write_text("\n".join(lines))
    name = "pub-1"
    task = implicit_task({"implicit": name, "path": str(tmp_path)})
    [note] = [note for note in task.notes if note.startswith("rows left out")]
    for reason in ("an option or answer that is no text: 1", "fewer than two options: 2",
    "not JSON: 1",
                   "half a surrogate pair, which is no character: 1"):  # fmt: skip
        assert reason in note


# Answers and endpoints


@pytest.mark.parametrize(
    "answer",
    [
        {"choices": [{"finish_reason": "stop", "message": {"content": [{"text": "a"}]}}]},
        {"choices": [None]},
        {"choices": []},
    ],
)
def test_a_response_of_another_shape(answer):
    with pytest.raises((TypeError, LookupError, ValueError)):
        wire.completion(Request("k", "p", 1), answer, "chat", "openai")


@pytest.mark.parametrize("usage", [[], "x", None, {"completion_tokens": None},
{"completion_tokens": -1},
                                   {"completion_tokens": 10**12},
                                   {"completion_tokens": "7"}])  # fmt: skip
def test_a_server_that_counts_oddly_counts_nothing(usage):
    answer = {"choices": [{"finish_reason": "stop", "message": {"content": "a"}}], "usage": usage}
    assert wire.completion(Request("k", "p", 1), answer, "chat", "openai").n_tokens == 0


@pytest.mark.parametrize("header", ["\xb2", "Wed, 21 Oct 2015 07:28:00 -0000", "soon", "", "-1"])
def test_a_wait_that_is_no_time(header):
    assert _retry_after(header) == 0


def test_half_a_key_is_no_key_either(server, monkeypatch, caplog):  # noqa: F811
    """Messages were cut before the key was taken out."""
    monkeypatch.setenv("SOME_KEY", KEY + "\n")  # as `export SOME_KEY="$(cat file)"` may leave it
    prompts = ["x" * n for n in (230, 245, 250, 255, 260, 265, 270)]

    def echo(handler, prompt, body):
        handler.send(400, f'{{"error": {{"message": "{prompt} {KEY}"}}}}')

    monkeypatch.setattr(server.RequestHandlerClass, "echo", echo, raising=False)
    server.faults = {prompt: ["echo"] for prompt in prompts}
    with caplog.at_level(logging.DEBUG):
        completions, _ = ask(server, prompts, api_key_env="SOME_KEY")
    assert {h["Authorization"] for h in server.headers} == {f"Bearer {KEY}"}
    assert not [c for c in completions.values() if KEY[:6] in c.error or c.finish_reason != "error"]
    monkeypatch.setenv("SOME_KEY", "sk-\x07")
    line = says(lambda: ask(server, ["p"], api_key_env="SOME_KEY"))
    assert "characters that no key has" in line and "sk-" not in line


# Ratings


def test_a_raters_name_is_no_formula(tmp_path):
    for name, shown in [("=1+1", "?1?1"), ("@SUM(A1)", "SUM?A1?"), ("-2+3", "2?3"), ("Zoë", "Zoë")]:
        rows = [{"item": "i1", "rating": 4}]
        content = {"format": "pteb-eval ratings 1", "sample": "s", "rater": name, "ratings": rows}
        path = tmp_path / "r.json"
        path.write_text(json.dumps(content))
        assert read_ratings(path).rater == shown
