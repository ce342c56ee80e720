"""What other people hand in: frozen sets of paraphrases and files of ratings."""

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fuzzing import (
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

from pteb_eval.cli.app import app
from pteb_eval.ids import digest, text_id
from pteb_eval.paraphrase.parts import COLUMNS, assemble
from pteb_eval.paraphrase.stage import SCHEMA
from pteb_eval.review.ratings import COLUMNS as RATING_COLUMNS
from pteb_eval.review.ratings import FORMAT, one_each, read_ratings
from pteb_eval.store import write_table
from pteb_eval.store.files import PROVENANCE_KEY

TEXTS = ["The cat sat.", "The dog ran."]
ROW = {
    "text_id": text_id(TEXTS[0]), "run": 1, "paraphrase": "A cat was sitting.", "status": "ok",
    "seed": 1,
    "n_tokens": 4, "attempt": 0, "finish_reason": "stop", "raw": ["A cat was sitting."],
    "copy": False,
    "edit_distance": 0.5, "word_overlap": 0.5, "length_ratio": 1.0, "language": "en",
}  # fmt: skip
ABOUT = {
    "schema_version": 1,
    "settings": {"generator": "gen", "task": "task"},
    "stage": "paraphrase",
}
NAMES = ["../up", "/abs", "a/b", "..", "", "x" * 300, "gen\n", "a\0b", "CON", ".hidden", "é", "-rf"]
rows = st.lists(
    st.fixed_dictionaries(
        {
            **{name: st.just(value) for name, value in ROW.items()},
            "text_id": st.sampled_from([*map(text_id, TEXTS), "", "x"]),
            "run": st.integers(-1, 2),
            "paraphrase": st.one_of(st.text(max_size=9), st.none()),
            "status": st.sampled_from(["ok", "ok", "empty", "unknown", None]),
        }
    ),
    max_size=4,
)
stamps = st.one_of(
    st.just(ABOUT),
    st.dictionaries(
        st.sampled_from(["schema_version", "settings", "n_rows", "stage"]), json_values
    ),
    st.fixed_dictionaries(
        {
            key: st.one_of(st.sampled_from(NAMES), nasty_text, scalars)
            for key in ("generator", "task")
        }
    ).map(lambda names: {**ABOUT, "settings": names}),
    json_values,
)


@st.composite
def frozen_files(draw):
    """A file as `export` writes it, but for rows, types, columns, metadata or bytes.

    The digest is right as often as not: whoever makes a hostile file can compute it.
    """
    table = pa.Table.from_pylist(draw(rows), SCHEMA)
    for name in draw(st.lists(st.sampled_from(COLUMNS), max_size=2)):
        place = table.column_names.index(name) if name in table.column_names else None
        if place is None:
            continue
        kind = draw(st.sampled_from([pa.binary(), pa.int64(), pa.float64(), pa.string(), None]))
        if kind is None:
            table = table.drop_columns([name])
        else:
            table = table.set_column(place, name, pa.nulls(table.num_rows, kind))
    stamp = draw(stamps)
    if isinstance(stamp, dict) and set(COLUMNS) <= set(table.column_names) and draw(st.booleans()):
        content = table.select(COLUMNS).to_pylist()
        stamp = {**stamp, "content_digest": digest(sorted(digest(row) for row in content))}
        stamp = {**stamp, "schema_version": 1} if draw(st.booleans()) else stamp
    texts = [json.dumps(stamp), json.dumps(stamp)[:-1], "[" * 50_000, '{"a": ' * 2000]
    text = draw(st.sampled_from([texts[0]] * 6 + texts)).encode()
    sink = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({PROVENANCE_KEY: text}), sink)
    return draw(
        st.one_of(st.just(sink.getvalue()), st.just(sink.getvalue()), damaged(sink.getvalue()))
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("imports")
    texts = pa.table(
        {"text_id": list(map(text_id, TEXTS)), "text": TEXTS, "reworded": [True, False]}
    )
    write_table(folder / "texts.parquet", texts, {})
    return folder


@inputs(40, 1_000)
@given(content=frozen_files())
def test_frozen_sets(folder, content):
    path, imported, made = folder / "set.parquet", folder / "imported", folder / "made"
    path.write_bytes(content)
    settings = {"task": "task", "generator": "gen", "runs": 1, "max_failure_rate": 1}
    with only_written(folder, imported, made):
        for verb in (["verify", str(path)], ["import", str(path), "--output", str(imported)]):
            ends_well(
                lambda verb=verb: app(["paraphrases", *verb], standalone_mode=False),
                counted="imports: frozen sets" if verb[0] == "import" else "",
            )
        ends_well(assemble, settings, folder / "texts.parquet", [path], made / "task.parquet")
    for target in imported.rglob("*.parquet"):
        assert target.read_bytes() == content and len(target.relative_to(imported).parts) == 2
        target.unlink()


whole = st.one_of(
    st.integers(0, 5), st.sampled_from(["4.0", "5", " 3 ", "6", "=1"]), numbers, json_values
)


@st.composite
def ratings_json(draw):
    items = st.one_of(st.sampled_from(["i1", "i2", "i3"]), json_values)
    row = st.one_of(st.fixed_dictionaries({"item": items, "rating": whole}), json_values)
    content = {
        "format": draw(st.sampled_from([FORMAT, FORMAT, FORMAT, None, 1])),
        "sample": draw(st.one_of(st.just("s1"), json_values)),
        "rater": draw(st.one_of(st.just("Ann"), nasty_text, json_values)),
        "ratings": draw(
            st.one_of(st.lists(row, max_size=4), st.lists(row, max_size=4), json_values)
        ),
    }
    text = json.dumps(content, ensure_ascii=draw(st.booleans()))
    data = text.encode(draw(st.sampled_from(["utf-8", "utf-8-sig"])), "surrogatepass")
    return ".json", draw(st.one_of(st.just(data), damaged(data), st.just(b"[" * 100_000)))


@st.composite
def ratings_csv(draw):
    cell = st.one_of(st.sampled_from(["s1", "Ann", "i1", "4", "4.0"]), nasty_text)
    rows = draw(st.lists(st.lists(cell, min_size=3, max_size=5), max_size=4))
    text = io.StringIO()
    writer = csv.writer(text, delimiter=draw(st.sampled_from(",;\t")), escapechar="\\")
    writer.writerows([draw(st.permutations(RATING_COLUMNS)), *rows])
    data = text.getvalue().encode(
        draw(st.sampled_from(["utf-8", "utf-16", "utf-8-sig"])), "surrogatepass"
    )
    return draw(st.sampled_from([".csv", ".CSV", ".txt"])), draw(
        st.one_of(st.just(data), damaged(data))
    )


@inputs(80, 1_500)
@given(file=st.one_of(ratings_json(), ratings_csv()))
def test_ratings(folder, file):
    path = folder / f"ratings{file[0]}"
    path.write_bytes(file[1])
    with only_written(folder):
        ratings = ends_well(read_ratings, path, counted="imports: ratings")
        if ratings:
            assert ratings.rater == ratings.rater.strip() and ratings.rater[0] not in "=+-@"
            assert set(ratings.by_item.values()) <= set(range(6))
            one_each([ratings, ratings])
    path.unlink()


def test_a_set_that_names_a_folder_above_is_not_taken(folder, tmp_path):
    """Its digest may be right: whoever makes a hostile file can compute it."""
    table = pa.Table.from_pylist([ROW], SCHEMA)
    content = digest([digest(row) for row in table.to_pylist()])
    path = tmp_path / "set.parquet"
    for name in ("../../evil", "/tmp/evil", "x" * 300):
        about = {**ABOUT, "settings": {"generator": name, "task": "t"}, "content_digest": content}
        write_table(path, table, about)
        with only_written(tmp_path):
            message = ends_well_not(
                ["paraphrases", "import", str(path), "--output", str(tmp_path / "o")]
            )
        assert "is no name; do not trust this file" in message and len(message) < 400
    assert [one.name for one in Path(tmp_path).iterdir()] == ["set.parquet"]


def ends_well_not(arguments):
    from pteb_eval.errors import UserError

    with pytest.raises(UserError) as caught:
        app(arguments, standalone_mode=False)
    return str(caught.value)


def test_mutants_of_frozen_sets(folder):
    path, made = folder / "mutant.parquet", folder / "made"
    table = pa.Table.from_pylist([ROW, {**ROW, "run": 2}], SCHEMA)
    content = digest(sorted(digest(row) for row in table.to_pylist()))
    write_table(path, table, {**ABOUT, "content_digest": content})
    settings = {"task": "task", "generator": "gen", "runs": 1, "max_failure_rate": 1}
    seed = path.read_bytes()
    assemble(settings, folder / "texts.parquet", [path], made / "task.parquet")
    for mutant in mutants(60, 8_000, seed):
        path.write_bytes(mutant)
        with only_written(folder, made):
            arguments = (settings, folder / "texts.parquet", [path], made / "task.parquet")
            ends_well(assemble, *arguments, counted="imports: mutants of frozen sets")
    path.unlink()


SAVED = {
    "format": FORMAT,
    "sample": "s1",
    "rater": "Ann",
    "ratings": [{"item": "i1", "rating": 4}] * 2,
}
SHEET = b"\xef\xbb\xbfsample;rater;item;rating\r\ns1;Ann;i1;4\r\ns1;Ann;i2;5.0\r\n"


@pytest.mark.parametrize(
    ("ending", "seed"), [("json", json.dumps(SAVED).encode()), ("csv", SHEET)], ids=["json", "csv"]
)
def test_mutants_of_ratings(folder, ending, seed):
    path = folder / f"mutant.{ending}"
    for mutant in mutants(100, 8_000, seed):
        path.write_bytes(mutant)
        with only_written(folder):
            ends_well(read_ratings, path, counted="imports: mutants of ratings")
    path.unlink()
