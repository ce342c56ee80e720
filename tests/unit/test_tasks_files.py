"""Tasks from users' files: every format, every mistake, and the real files where they are."""

import gzip
import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from pteb_eval.errors import UserError
from pteb_eval.tasks.files import TYPES
from pteb_eval.tasks.load import load_task, structure_for

DATA = Path(__file__).parents[3] / "shared" / "data"
real_files = pytest.mark.skipif(not DATA.is_dir(), reason="no ../shared/data beside the project")

PAIRS = [("Oaks grow.", "An oak grows.", 4.5), ('He said "no".', "Said, no", 0.0)]


def settings(path, kind="sts", **more):
    return {"type": kind, "name": "my-task", "path": str(path), "language": "eng-Latn", **more}


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def rows_of(task):
    return task.dataset["test"].to_list()


def expected_rows():
    return [dict(zip(("sentence1", "sentence2", "score"), pair, strict=True)) for pair in PAIRS]


def as_csv(path):
    return write(
        path,
        'sentence1,sentence2,score\nOaks grow.,An oak grows.,4.5\n"He said ""no"".","Said, no",0\n',
    )


def as_tsv(path):
    return write(
        path,
        'score\tsentence1\tsentence2\n4.5\tOaks grow.\tAn oak grows.\n0\tHe said "no".\tSaid, no\n',
    )


def as_jsonl(path):
    return write(path, "".join(json.dumps(row) + "\n" for row in expected_rows()))


def as_parquet(path):
    pq.write_table(pa.Table.from_pylist(expected_rows()), path)
    return path


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("name", "make"),
    [("x.csv", as_csv), ("x.tsv", as_tsv), ("x.jsonl", as_jsonl), ("x.parquet", as_parquet)],
)
def test_formats(tmp_path, name, make, packed):
    path = make(tmp_path / name)
    if packed:
        raw, path = path.read_bytes(), tmp_path / f"{name}.gz"
        path.write_bytes(gzip.compress(raw))
    task = load_task(settings(path))
    assert rows_of(task) == expected_rows()
    assert task.metadata.revision == hashlib.sha256(path.read_bytes()).hexdigest()
    assert task.notes == []


def test_file_without_header_by_column_number_with_ragged_rows_and_literal_quotes(tmp_path):
    text = 'a\t5\t"Oak\tElm\nb\t0\tFir"\tAsh\textra\tcells\n'
    task = load_task(
        settings(
            write(tmp_path / "x.tsv", text),
            format={"header": False},
            columns={"sentence1": 2, "sentence2": 3, "score": 1},
        )
    )
    assert [row["sentence1"] for row in rows_of(task)] == ['"Oak', 'Fir"']
    assert [row["sentence2"] for row in rows_of(task)] == ["Elm", "Ash"]


def test_byte_order_mark_and_other_encodings(tmp_path):
    (tmp_path / "a.csv").write_bytes("\ufeffsentence1,sentence2,score\nä,b,1\n".encode())
    (tmp_path / "b.csv").write_bytes("sentence1,sentence2,score\nä,b,1\n".encode("latin-1"))
    one = load_task(settings(tmp_path / "a.csv"))
    other = load_task(settings(tmp_path / "b.csv", format={"encoding": "latin-1"}))
    assert rows_of(one) == rows_of(other)


def test_keys_without_a_value_are_left_out(tmp_path):
    empty = {"format": None, "columns": None, "min_score": None, "description": None}
    assert rows_of(load_task(settings(as_csv(tmp_path / "x.csv"), **empty))) == expected_rows()


def test_several_files_in_turn_and_their_digest(tmp_path):
    paths = [as_csv(tmp_path / f"{name}.csv") for name in "ab"]
    task = load_task(settings(None) | {"path": [str(path) for path in paths]})
    assert rows_of(task) == expected_rows() * 2
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
    assert task.metadata.revision == hashlib.sha256("\n".join(digests).encode()).hexdigest()
    assert task.notes == ["pairs that repeat an earlier one, kept: 2"]


def test_subsets_by_a_column(tmp_path):
    text = "lang,sentence1,sentence2,score\nde,Eiche,Ulme,1\nen,oak,elm,2\nde,Tanne,Buche,3\n"
    task = load_task(
        settings(
            write(tmp_path / "x.csv", text),
            columns={"subset": "lang"},
            language={"de": "deu-Latn", "en": "eng-Latn"},
        )
    )
    assert task.metadata.hf_subsets_to_langscripts == {"de": ["deu-Latn"], "en": ["eng-Latn"]}
    instances = structure_for(task).instances(task)
    assert [(i.subset, i.row) for i in instances] == [("de", "0"), ("de", "1"), ("en", "0")]


HEAD = "sentence1,sentence2,score\n"
MISTAKES = [
    (HEAD + "a,b,1\nc,d,6\n", {}, "x.csv: line 3: '6' in column 'score' is outside [0, 5]"),
    (HEAD + "a,b,high\n", {}, "x.csv: line 2: 'high' in column 'score' is not a number"),
    (HEAD + "a,b,nan\n", {}, "'nan' in column 'score' is not a number"),
    (HEAD + "a,b,inf\n", {}, "'inf' in column 'score' is outside [0, 5]"),
    (HEAD + "a,b,1\n , d,1\n", {}, "x.csv: line 3: the text in column 'sentence1' is empty"),
    (HEAD + "a,b\n", {}, "x.csv: line 2 has 2 columns, column 'score' is number 2"),
    (
        "sentence_1,sentence2,score\na,b,1\n",
        {},
        "no column 'sentence1': did you mean 'sentence_1'",
    ),
    (HEAD, {}, "x.csv: no rows"),
    ("", {}, "x.csv: no rows"),
    (HEAD + '"a,b,1\n', {}, "set format.quoting: none"),
    ("a,b,x\n", {"format": {"header": False}}, "no header, so no column 'sentence1'"),
    (HEAD + "a,b,1\n", {"columns": {"sentence": "a"}}, "columns.sentence is unknown for type sts"),
    (HEAD + "a,b,1\n", {"columns": {"score": 7}}, "no column 7, it has 3"),
    (HEAD + "a,b,1\n", {"format": {"delimeter": ","}}, "unknown format.delimeter"),
    (HEAD + "a,b,1\n", {"format": {"quoting": "all"}}, "format.quoting is 'all': use one of"),
    (HEAD + "a,b,1\n", {"format": {"encoding": "utf-9"}}, "format.encoding 'utf-9' is unknown"),
    (HEAD + "a,b,1\n", {"min_score": 5}, "min_score 5 is not below max_score 5"),
    (HEAD + "a,b,1\n", {"language": None}, "no language: set language"),
    (HEAD + "a,b,1\n", {"language": "English"}, "language 'English' is unknown: use the ISO 639-3"),
    (HEAD + "a,b,1\n", {"language": {"de": "deu-Latn"}}, "columns.subset names no column"),
    (HEAD + "a,b,1\n", {"name": "STS12"}, "'STS12' is one of mteb's own"),
    (HEAD + "a,b,1\n", {"name": "a/b"}, "task name 'a/b': give a name of letters"),
    (HEAD + "a,b,1\n", {"type": "sst"}, "unknown type 'sst': use one of sts"),
    (HEAD + "a,b,1\n", {"colums": {}}, "type sts has no key 'colums': did you mean 'columns'?"),
    (HEAD + "a,b,1\n", {"path": "none.csv"}, "none.csv: no such file"),
    (
        "s,sentence1,sentence2,score\nxx,a,b,1\nyy,a,b,1\n",
        {"columns": {"subset": "s"}, "language": {"xx": "eng-Latn"}},
        "no language for subset 'yy'",
    ),
]


@pytest.mark.parametrize(("text", "more", "message"), MISTAKES)
def test_mistakes_are_one_clear_line(tmp_path, text, more, message):
    path = write(tmp_path / "x.csv", text)
    with pytest.raises(UserError) as caught:
        load_task(settings(path, **{k: v for k, v in more.items() if k != "path"}) | more)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("x.csv", b"sentence1,sentence2,score\na,b,1\n\xff,c,1\n", "line 3 is not utf-8"),
        ("x.csv.gz", b"plain text", "not a whole gzip file"),
        ("x.parquet", b"plain text", "not a Parquet file"),
        ("x.jsonl", b'{"a": 1}\n{"a": \n', "line 2 is not JSON"),
        ("x.jsonl", b"[1]\n", "line 1 is not a JSON object"),
        ("x.xlsx", b"", "cannot tell the format from the name"),
        ("x.jsonl", b'{"sentence1": 5, "sentence2": "a", "score": 1}\n', "holds 5, not a text"),
        ("x.jsonl", b'{"sentence2": "a", "score": 1}\n', "no column 'sentence1'"),
    ],
)
def test_damaged_files(tmp_path, name, raw, message):
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(UserError) as caught:
        load_task(settings(tmp_path / name))
    assert message in str(caught.value)


def test_pair_labels(tmp_path):
    text = "sentence1,sentence2,label\na,b,1\nc,d,0\ne,f,\n"
    task = load_task(settings(write(tmp_path / "x.csv", text), "pair_classification"))
    assert [row["labels"] for row in rows_of(task)] == [1, 0]
    assert task.notes == ["pairs without a label, left out: 1"]

    words = write(tmp_path / "y.csv", text.replace(",1", ",YES").replace(",0", ",NO"))
    with pytest.raises(UserError, match="'YES' in column 'label' is neither 0 nor 1: set positive"):
        load_task(settings(words, "pair_classification"))
    task = load_task(settings(words, "pair_classification", positive="YES"))
    assert [row["labels"] for row in rows_of(task)] == [1, 0]
    with pytest.raises(UserError, match=r"no positive labels, nothing.*labels there: NO, YES"):
        load_task(settings(words, "pair_classification", positive=["yes"]))


def test_classification_files(tmp_path):
    train = write(tmp_path / "train.csv", 'text,label\n"two\nlines",b\noak,a\n')
    test = write(tmp_path / "test.csv", "text,label\nelm,a\nfir,c\n")
    task = load_task(settings(test, "classification", train=str(train), samples_per_label=2))
    assert [row["text"] for row in task.dataset["train"].to_list()] == ["two\nlines", "oak"]
    assert [row["label"] for row in task.dataset["train"].to_list()] == [1, 0]
    assert [row["label"] for row in rows_of(task)] == [0, 2]
    assert task.notes == ["labels that the train file lacks: c"]
    assert task.samples_per_label == 2

    with pytest.raises(UserError, match="no train: a classifier is trained"):
        load_task(settings(test, "classification"))
    one_label = write(tmp_path / "one.csv", "text,label\noak,a\n")
    with pytest.raises(UserError, match="fewer than two labels"):
        load_task(settings(test, "classification", train=str(one_label)))
    empty = write(tmp_path / "empty.csv", "text,label\noak,a\nelm,\n")
    with pytest.raises(UserError, match="line 3: no label in column 'label'"):
        load_task(settings(test, "classification", train=str(empty)))


def beir(folder, qrels="qrels.tsv"):
    write(
        folder / "corpus.jsonl",
        '{"_id": "d1", "title": "Oak", "text": "A tree."}\n{"_id": "d2", "text": ""}\n',
    )
    write(
        folder / "queries.jsonl", '{"_id": "1", "text": "what is oak"}\n{"_id": "2", "text": "x"}\n'
    )
    (folder / qrels).parent.mkdir(exist_ok=True)
    write(folder / qrels, "query-id\tcorpus-id\tscore\n1\td1\t1\n1\td9\t0\n9\td1\t1\n2\td1\t0\n")
    return folder


@pytest.mark.parametrize("qrels", ["qrels.tsv", "qrels/test.tsv", "qrels_test.tsv"])
def test_beir_folder(tmp_path, qrels):
    task = load_task(settings(beir(tmp_path, qrels), "retrieval", ignore_identical_ids=True))
    data = task.dataset["default"]["test"]
    assert data["corpus"].to_list() == [
        {"id": "d1", "text": "A tree.", "title": "Oak"},
        {"id": "d2", "text": "", "title": ""},
    ]
    assert data["relevant_docs"] == {"1": {"d1": 1, "d9": 0}}
    assert [i.row for i in structure_for(task).instances(task)] == ["1"]
    assert task.ignore_identical_ids
    assert task.notes == [
        "queries without a relevant document, left out: 1",
        "judged queries that the queries file lacks, left out: 1",
        "judged documents that the corpus lacks, which no model can find: 1",
        "documents without text, kept: 1",
    ]


def test_retrieval_from_three_tables_and_its_mistakes(tmp_path):
    folder = beir(tmp_path)
    three = settings(None, "retrieval") | {
        part: str(folder / name)
        for part, name in (
            ("corpus", "corpus.jsonl"),
            ("queries", "queries.jsonl"),
            ("qrels", "qrels.tsv"),
        )
    }
    del three["path"]
    assert load_task(three).metadata.main_score == "ndcg_at_10"

    with pytest.raises(UserError, match="no queries: set path to a folder in BEIR"):
        load_task({key: value for key, value in three.items() if key != "queries"})
    with pytest.raises(UserError, match="no such folder"):
        load_task(settings(tmp_path / "nowhere", "retrieval"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"no corpus.jsonl \(also .gz\): set corpus"):
        load_task(settings(tmp_path / "empty", "retrieval"))
    twice = write(tmp_path / "twice.jsonl", '{"_id": "1", "text": "a"}\n' * 2)
    with pytest.raises(UserError, match="line 2: id '1' occurs twice"):
        load_task(three | {"queries": str(twice)})
    graded = write(tmp_path / "graded.tsv", "query-id\tcorpus-id\tscore\n1\td1\t0.5\n")
    with pytest.raises(UserError, match=r"'0\.5' in column 'score' is not a whole number"):
        load_task(three | {"qrels": str(graded)})


def test_reranking_table(tmp_path):
    text = "query,document,label\nq one,yes,1\nq two,alone,1\nq one,no,0\nq one,no,0\n"
    task = load_task(settings(write(tmp_path / "x.csv", text), "reranking"))
    data = task.dataset["default"]["test"]
    assert data["queries"].to_list() == [{"id": "q0", "text": "q one"}]
    assert data["top_ranked"] == {"q0": ["d0", "d2", "d3"]}
    assert data["relevant_docs"] == {"q0": {"d0": 1, "d2": 0, "d3": 0}}
    assert task.notes == ["queries without documents of both kinds, left out: 1"]
    only = write(tmp_path / "y.csv", "query,document,label\nq one,yes,1\n")
    with pytest.raises(UserError, match="no query has documents of both kinds"):
        load_task(settings(only, "reranking"))


def test_summarization_lists(tmp_path):
    row = {"human_summaries": ["h"], "machine_summaries": ["a", "b"], "score": [1, 2]}
    path = write(tmp_path / "x.jsonl", json.dumps(row) + "\n" + json.dumps(row | {"score": [3, 3]}))
    task = load_task(settings(path, "summarization"))
    assert rows_of(task)[0]["relevance"] == [1.0, 2.0]
    assert task.notes == ["texts whose summaries all have the same score, not scored: 1"]
    for change, message in (
        ({"score": [1]}, "line 1: 2 machine summaries, but 1 scores"),
        ({"score": [1, 9]}, "line 1: 9 in column 'score' is outside"),
        ({"human_summaries": "h"}, "line 1: column 'human_summaries' holds no list"),
        ({"machine_summaries": ["a", ""]}, "the text in column 'machine_summaries' is empty"),
    ):
        write(path, json.dumps(row | change))
        with pytest.raises(UserError) as caught:
            load_task(settings(path, "summarization"))
        assert message in str(caught.value)


REAL = [
    # type, file, more settings, instances, texts, notes
    (
        "sts",
        "stsbenchmark/sts-test.tsv.gz",
        {"format": {"header": False}, "columns": {"sentence1": 5, "sentence2": 6, "score": 4}},
        (1379, 2758, ["pairs that repeat an earlier one, kept: 1"]),
    ),
    ("sts", "biosses/biosses.tsv.gz", {"max_score": 4}, (100, 200, [])),
    (
        "pair_classification",
        "twitter_semeval2015/test.tsv.gz",
        {},
        (838, 1676, ["pairs without a label, left out: 134"]),
    ),
    (
        "pair_classification",
        "rte3/test.tsv.gz",
        {
            "columns": {
                "sentence1": "text",
                "sentence2": "hypothesis",
                "label": "entailment",
                "subset": "lang",
            },
            "positive": "ENTAILMENT",
            "language": {"en": "eng-Latn", "de": "deu-Latn", "it": "ita-Latn"},
        },
        (2400, 4800, []),
    ),
    (
        "pair_classification",
        "mrpc/test.tsv.gz",
        {"columns": {"sentence1": "#1 String", "sentence2": "#2 String", "label": "Quality"}},
        (1725, 3450, []),
    ),
    (
        "clustering",
        "twenty_newsgroups/subjects.tsv.gz",
        {"columns": {"text": "subject", "label": "group"}},
        (19997, 19997, ["texts that repeat an earlier one, kept: 9582"]),
    ),
    ("retrieval", "nfcorpus", {}, (323, 323 + 3633, [])),
    (
        "reranking",
        "trecqa/test.tsv.gz",
        {"columns": {"query": "qtext", "document": "atext"}},
        (68, 68 + 1442, ["queries without documents of both kinds, left out: 27"]),
    ),
    (
        "summarization",
        "summeval/summeval.jsonl.gz",
        {"columns": {"score": "relevance"}},
        (100, 2700, []),
    ),
]


@real_files
@pytest.mark.parametrize(("kind", "name", "more", "expected"), REAL, ids=lambda v: str(v)[:24])
def test_real_files(kind, name, more, expected):
    task = load_task(
        settings(DATA / name, kind, **{k: v for k, v in more.items() if k != "language"}) | more
    )
    structure = structure_for(task)
    n_texts = sum(1 for _ in structure.slots(task))
    assert (len(structure.instances(task)), n_texts, task.notes) == expected


@real_files
def test_real_banking77_has_77_classes_and_cells_of_several_lines():
    folder = DATA / "banking77"
    task = load_task(
        settings(
            folder / "test.csv.gz",
            "classification",
            train=str(folder / "train.csv.gz"),
            columns={"label": "category"},
        )
    )
    assert len(task.dataset["train"]) == 10003
    assert len(set(task.dataset["train"]["label"])) == 77
    assert any("\n" in text for text in task.dataset["train"]["text"])
    slots = list(structure_for(task).slots(task))
    assert sum(slot.split == "test" for slot, _ in slots) == 3080
    assert sum(slot.split == "train" for slot, _ in slots) < 77 * 8 * 10


def examples():
    """The YAML examples of docs/tasks.md that describe a user's files."""
    text = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")
    blocks = [part.split("```")[0] for part in text.split("```yaml\n")[1:]]
    return [yaml.safe_load(block)[0] for block in blocks if "type:" in block]


@pytest.mark.parametrize("example", examples(), ids=lambda example: example["name"])
def test_documented_examples_lack_nothing_but_their_files(example):
    with pytest.raises(UserError, match=r"no such (file|folder)"):
        load_task(example)


def test_every_type_has_an_example():
    assert {example["type"] for example in examples()} == set(TYPES)
