"""Users' data files of every kind of task, the suite's files, archives that want to write."""

import gzip
import io
import json
import tarfile
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fuzzing import (
    FULL,
    NASTY,
    damaged,
    ends_well,
    inputs,
    json_values,
    mutants,
    nasty_text,
    numbers,
    only_written,
    scalars,
)
from hypothesis import given
from hypothesis import strategies as st
from suite_files import write_articles, write_pstance, write_pub, write_sbic

from pteb_eval.fetch import texts_table
from pteb_eval.implicit.build import implicit_task
from pteb_eval.implicit.parts import Parts
from pteb_eval.tasks.files.tables import read_table

COLUMNS = {
    "sts": ("sentence1", "sentence2", "score"),
    "pair_classification": ("sentence1", "sentence2", "label"),
    "classification": ("text", "label"),
    "clustering": ("text", "label"),
    "summarization": ("human_summaries", "machine_summaries", "score"),
    "reranking": ("query", "document", "label"),
    "texts": ("text",),
    "retrieval": ("_id", "text", "title", "query-id", "corpus-id", "score"),
}
NAMES = sorted({name for names in COLUMNS.values() for name in names} | {"subset"})
plain = st.sampled_from(["a", "b", "c d", "0", "1", "2.5", "5", "en", "de", " ", ""])
cells = st.one_of(plain, plain, nasty_text, st.sampled_from(["x" * 100_000, "1e999", "-0", "nan"]))
values = st.one_of(plain, st.integers(0, 5), json_values, st.lists(plain, max_size=3))
formats = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={
            "delimiter": st.one_of(st.sampled_from([";", "\t", "|", '"', "\n", "ab"]), nasty_text),
            "header": st.booleans(),
            "quoting": st.sampled_from(["minimal", "none"]),
            "encoding": st.sampled_from(
                ["utf-8", "latin-1", "utf-16", "utf-7", "cp1252", "idna", "punycode", "rot13",
                "hex",
                 "unicode_escape", "undefined", "utf-8\0", "", "mbcs", "utf-32", "base64", "😀"]
            ),
        },
    ),
)  # fmt: skip


@st.composite
def delimited(draw, delimiter):
    """Rows of cells, some quoted, some ragged, in one encoding or several."""
    head = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6))
    rows = draw(st.lists(st.lists(cells, max_size=7), max_size=6))
    quote = draw(st.booleans())
    lines = []
    for row in [head, *rows]:
        marked = ['"' + cell.replace('"', '""') + '"' if quote else cell for cell in row]
        lines.append(delimiter.join(marked))
    text = draw(st.sampled_from(["\n", "\r\n", "\r"])).join(lines)
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-7"]))
    errors = "surrogatepass" if encoding in ("utf-8", "utf-16") else "replace"
    return text.encode(encoding, errors)


@st.composite
def json_lines(draw):
    rows = st.dictionaries(st.one_of(st.sampled_from(NAMES), nasty_text), values, max_size=6)
    some = draw(st.lists(st.one_of(rows, json_values), max_size=5))
    ascii_only = draw(st.booleans())
    lines = [json.dumps(row, ensure_ascii=ascii_only) for row in some]
    lines += draw(
        st.lists(
            st.sampled_from(["[" * 100_000, '{"text": ' * 5000, '{"a": 1', "\x1a"]), max_size=1
        )
    )
    return "\n".join(lines).encode("utf-8", "surrogatepass")


TYPES = [
    pa.string(), pa.large_string(), pa.binary(), pa.int8(), pa.uint64(), pa.float64(), pa.bool_(),
    pa.timestamp("ns"), pa.date64(), pa.duration("us"), pa.decimal128(30, 5), pa.null(),
    pa.time64("ns"),
    pa.list_(pa.string()), pa.list_(pa.float32()), pa.struct([("a", pa.string())]),
    pa.map_(pa.string(), pa.int8()), pa.dictionary(pa.int8(), pa.string()), pa.float16(),
]  # fmt: skip
RAW = b"\xff\xfea\x80bcdefghijklmnop" * 40


@st.composite
def parquet(draw):
    """Columns of any type, of random values where Arrow makes them, else of raw bytes."""
    names = draw(
        st.lists(st.one_of(st.sampled_from(NAMES), st.sampled_from(["", "a\0"])), max_size=5)
    )
    n_rows = draw(st.integers(0, 4))
    arrays = []
    for _ in names:
        kind = draw(st.sampled_from([pa.string(), *TYPES]))
        if kind == pa.string() and draw(st.booleans()):
            offsets = pa.py_buffer(
                b"".join((3 * n).to_bytes(4, "little") for n in range(n_rows + 1))
            )
            arrays.append(pa.Array.from_buffers(kind, n_rows, [None, offsets, pa.py_buffer(RAW)]))
            continue
        some = draw(st.lists(st.one_of(plain, numbers, scalars), min_size=n_rows, max_size=n_rows))
        try:
            arrays.append(pa.array(some, kind))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            arrays.append(pa.nulls(n_rows, kind))
    metadata = draw(
        st.sampled_from([None, {"pandas": "{"}, {"ARROW:schema": "x"}, {"huggingface": "[]"}])
    )
    table = pa.Table.from_arrays(arrays, names).replace_schema_metadata(metadata)
    sink = io.BytesIO()
    try:
        pq.write_table(table, sink)
    except (pa.ArrowException, ValueError):
        return b"PAR1"
    return draw(st.one_of(st.just(sink.getvalue()), damaged(sink.getvalue())))


BY_ENDING = {
    ".csv": delimited(","),
    ".tsv": delimited("\t"),
    ".jsonl": json_lines(),
    ".parquet": parquet(),
    ".txt": st.binary(max_size=60),
}
files = st.sampled_from(sorted(BY_ENDING)).flatmap(
    lambda ending: st.tuples(st.just(ending), BY_ENDING[ending])
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    (folder / "first.csv").write_text("text\na\nb\n")
    task = {
        "type": "texts",
        "name": "own",
        "language": "eng-Latn",
        "path": str(folder / "first.csv"),
    }
    texts_table({"task": task, "scope": "all", "max_instances": None})  # libraries write at first
    return folder


@inputs(80, 1_500)
@given(file=files, format=formats, packed=st.sampled_from([None, None, "", "cut", "bent"]))
def test_tables(folder, file, format, packed):
    ending, content = file
    if packed is not None:
        ending, content = ending + ".gz", gzip.compress(content)
        content = content[:-9] if packed == "cut" else content
        content = content[:15] + b"\xff" + content[16:] if packed == "bent" else content
    path = folder / f"table{ending}"
    path.write_bytes(content)
    with only_written(folder):
        table = ends_well(read_table, path, format, counted="data: tables")
        for name in [*(table.names if table else ()), 0, -1, "text"]:
            ends_well(table.texts, name) if table else None
            ends_well(table.numbers, name, 0, 5) if table else None


languages = st.sampled_from(["eng-Latn", {"en": "eng-Latn", "a": "deu-Latn"}, "x", {}])


@st.composite
def tasks(draw):
    """A task of files with its settings: mostly the columns that it needs, with odd cells."""
    kind = draw(st.sampled_from(sorted(COLUMNS)))
    names = [name for name in COLUMNS[kind] if draw(st.integers(0, 9))]
    names += ["subset"] if draw(st.booleans()) else []
    rows = st.fixed_dictionaries(
        {name: st.one_of(plain, plain, values if "summar" in name else st.sampled_from(["1",
        "0"]), values)
         for name in names}
    )  # fmt: skip
    content = [json.dumps(row) for row in draw(st.lists(rows, max_size=8))]
    settings = {"type": kind, "name": "own", "language": draw(languages)}
    if "subset" in names and draw(st.booleans()):
        settings["columns"] = {"subset": "subset"}
    if draw(st.integers(0, 5)) == 0:
        settings["columns"] = {
            draw(st.sampled_from(COLUMNS[kind])): draw(st.sampled_from([0, 99, "x"]))
        }
    if kind == "pair_classification" and draw(st.booleans()):
        settings["positive"] = draw(st.sampled_from(["a", 1, ["a", "b"], []]))
    return settings, "\n".join(content).encode()


@inputs(40, 1_000)
@given(task=tasks(), other=st.one_of(st.none(), st.tuples(st.just(".jsonl"), json_lines()), files))
def test_tasks_of_files(folder, task, other):
    settings, content = task
    settings = dict(settings)
    path = folder / "task.jsonl"
    path.write_bytes(content)
    second = path
    if other is not None:
        second = folder / f"other{other[0]}"
        second.write_bytes(other[1])
    settings["path"] = str(path)
    if settings["type"] == "classification":
        settings["train"] = str(second)
    if settings["type"] == "retrieval":
        settings |= {"corpus": str(path), "queries": str(second), "qrels": str(path)}
    with only_written(folder):
        made = ends_well(
            texts_table,
            {"task": settings, "scope": "all", "max_instances": 2},
            counted="data: tasks",
        )
        assert made is None or made[0].num_rows


@pytest.fixture(scope="module")
def suite(folder):
    """Small copies of the suite's data sets, by the name of one of their tasks."""
    from pteb_eval.implicit.catalogue import entries

    root = folder / "suite"
    (root / "sbic").parent.mkdir(exist_ok=True)
    copies = {
        "pub": write_pub(root / "pub", "task_1").parent,
        "pstance": write_pstance(root / "pstance", 6, ("biden",)),
        "sbic": write_sbic(root / "sbic"),
        "article_bias": write_articles(root / "articles"),
    }
    hate = root / "hate"
    hate.mkdir()
    (hate / "implicit_hate_v1_stg1_posts.tsv").write_text(
        "post\tclass\n"
        + "".join(f"post {n}\t{'not_hate' if n % 2 else 'implicit_hate'}\n" for n in range(9))
    )
    copies["implicit_hate"] = hate
    found = []
    for name, one in entries().items():
        path = copies.get(one.dataset.name)
        if path is not None:
            found += [(name, path, file) for file in sorted(path.rglob("*")) if file.is_file()]
    return found


new_contents = st.one_of(
    st.none(), delimited(","), delimited("\t"), json_lines(), st.binary(max_size=50), parquet()
)


@inputs(40, 1_000)
@given(chosen=st.integers(0, 10_000), new=new_contents, data=st.data())
def test_the_suites_files(suite, folder, chosen, new, data):
    name, path, file = suite[chosen % len(suite)]
    before = file.read_bytes()
    content = data.draw(damaged(before[:4000])) if new is None else new
    if file.suffix == ".zip" and data.draw(st.booleans()):
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w") as archive:
            archive.writestr("task_1.jsonl", content)
        content = sink.getvalue()
    file.write_bytes(content)
    try:
        with only_written(folder):
            ends_well(implicit_task, {"implicit": name, "path": str(path)}, counted="data: suite")
    finally:
        file.write_bytes(before)


MEMBERS = [
    "a.jsonl",
    "../up.jsonl",
    "/tmp/owned.jsonl",
    "a/../../b.csv",
    "x" * 300,
    "dir/",
    "~/c",
    *NASTY,
]
kinds = st.sampled_from(["file", "symlink", "hardlink", "device", "fifo", "folder"])


@st.composite
def archives(draw):
    """A zip or tar with names that want to be elsewhere, links and devices; sometimes damaged."""
    members = draw(
        st.lists(st.tuples(st.sampled_from(MEMBERS), st.binary(max_size=30), kinds), max_size=4)
    )
    sink = io.BytesIO()
    if draw(st.booleans()):
        ending = ".zip"
        with zipfile.ZipFile(sink, "w", draw(st.sampled_from([0, 8]))) as archive:
            for name, content, kind in members:
                try:
                    info = zipfile.ZipInfo(name)
                    info.external_attr = (0o120777 if kind == "symlink" else 0o100644) << 16
                    archive.writestr(info, content)
                except UnicodeEncodeError:
                    continue
    else:
        ending = draw(st.sampled_from([".tar", ".tgz"]))
        with tarfile.open(fileobj=sink, mode="w:gz" if ending == ".tgz" else "w") as archive:
            for name, content, kind in members:
                info = tarfile.TarInfo(name)
                info.type = {
                    "file": tarfile.REGTYPE, "symlink": tarfile.SYMTYPE,
                    "hardlink": tarfile.LNKTYPE,
                    "device": tarfile.CHRTYPE, "fifo": tarfile.FIFOTYPE, "folder": tarfile.DIRTYPE,
                }[kind]  # fmt: skip
                info.linkname = "/etc/passwd" if kind.endswith("link") else ""
                info.size = len(content) if kind == "file" else 0
                try:
                    archive.addfile(info, io.BytesIO(content))
                except (UnicodeEncodeError, ValueError):
                    continue
    content = sink.getvalue()
    return ending, draw(st.one_of(st.just(content), damaged(content)))


def all_texts(path):
    parts = Parts(path)
    for name in parts.names():
        ends_well(parts.text, name)
    return parts.sha256


@pytest.mark.filterwarnings("ignore:Duplicate name")
@inputs(60, 1_000)
@given(archive=archives())
def test_archives_write_nothing_and_lead_nowhere(folder, archive):
    path = folder / f"archive{archive[0]}"
    path.write_bytes(archive[1])
    with only_written(folder):
        ends_well(all_texts, path, counted="data: archives")
    path.unlink()


CSV = b'sentence1,sentence2,score,text,label\na,"b ""c"",\nd",5,x,0\ne,f,0,y,1\n'
TSV = CSV.replace(b",", b"\t")
JSON = (
    b'{"text": "a", "label": 1, "score": [1, 2.5]}\n{"text": "b\\u00e9", "label": null, "x": {}}\n'
)


def packed(table):
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


PARQUET = packed(pa.table({"text": ["a", "b"], "label": [0, 1], "score": [[1.5], [2.5, 3.5]]}))


@pytest.mark.parametrize(
    ("ending", "seed", "many"),
    [(".csv", CSV, 6_000), (".tsv", TSV, 4_000), (".jsonl", JSON, 6_000), (".parquet", PARQUET,
    6_000),
     (".csv.gz", gzip.compress(CSV, mtime=0), 5_000)],
    ids=["csv", "tsv", "jsonl", "parquet", "gz"],
)  # fmt: skip
def test_mutants_of_tables(folder, ending, seed, many):
    path = folder / f"mutant{ending}"
    for content in mutants(60, many, seed):
        path.write_bytes(content)
        with only_written(folder):
            table = ends_well(read_table, path, counted="data: mutants of tables")
            for name in table.names if table else ():
                ends_well(table.texts, name)
                ends_well(table.numbers, name, 0, 5)


@pytest.mark.parametrize("kind", ["sts", "pair_classification", "clustering", "texts"])
def test_mutants_of_tasks(folder, kind):
    path = folder / "mutant-task.csv"
    task = {"type": kind, "name": "own", "language": "eng-Latn", "path": str(path)}
    for content in mutants(20, 1_500, CSV):
        path.write_bytes(content)
        with only_written(folder):
            settings = {"task": task, "scope": "all", "max_instances": None}
            ends_well(texts_table, settings, counted="data: mutants of tasks")


def test_mutants_of_the_suites_files(suite, folder):
    of = {file: mutants(60, 3_000, file.read_bytes()) for _, _, file in suite}
    for number in range(3_000 if FULL else 60):
        name, path, file = suite[number % len(suite)]
        before = file.read_bytes()
        file.write_bytes(next(of[file]))
        with only_written(folder):
            settings = {"implicit": name, "path": str(path)}
            ends_well(implicit_task, settings, counted="data: mutants of the suite")
        file.write_bytes(before)


def archived(ending):
    sink = io.BytesIO()
    if ending == ".zip":
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a/../../b.jsonl", JSON * 3)
            archive.writestr("c.gz", gzip.compress(CSV))
        return sink.getvalue()
    with tarfile.open(fileobj=sink, mode="w:gz" if ending == ".tgz" else "w") as archive:
        for name, kind in (("../a.csv", tarfile.REGTYPE), ("b", tarfile.SYMTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            info.size = len(CSV) if kind == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(CSV))
    return sink.getvalue()


@pytest.mark.parametrize("ending", [".zip", ".tar", ".tgz"])
def test_mutants_of_archives(folder, ending):
    path = folder / f"mutant{ending}"
    for content in mutants(60, 5_000, archived(ending)):
        path.write_bytes(content)
        with only_written(folder):
            ends_well(all_texts, path, counted="data: mutants of archives")
    path.unlink()
