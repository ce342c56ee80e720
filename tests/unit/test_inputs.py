"""Prompts and truncation shares, read from the files of the embed stage."""

import pyarrow as pa

from pteb_eval.embed.inputs import INPUT_COLUMNS, input_rows
from pteb_eval.ids import text_id
from pteb_eval.layout import Layout
from pteb_eval.store import write_table


def write(path, prompts, truncated):
    """One text for each (prompt, whether it was cut)."""
    rows = {
        "prompt_id": [text_id(prompt) for prompt, _ in truncated],
        "truncated": pa.array([cut for _, cut in truncated], pa.bool_()),
    }
    write_table(path, pa.table(rows), {"prompts": prompts})


def test_shares_by_prompt(tmp_path):
    layout = Layout(tmp_path)
    prompts = {"query": "q: ", "document": ""}
    cut = [("q: ", False), ("", True), ("", False), ("", False), ("", False)]
    write(layout.embeddings("a__m", "original", "T"), prompts, cut)
    write(layout.embeddings("a__m", "g", "T"), {"query": "q: "}, [("q: ", True), ("q: ", False)])
    rows = list(input_rows(tmp_path, {"a__m": "a/m"}, ["g"], ["T"]))
    assert [tuple(row[name] for name in INPUT_COLUMNS) for row in rows] == [
        ("a/m", "", "T", "original", "document", "", 4, 0.25),
        ("a/m", "", "T", "original", "query", "q: ", 1, 0.0),
        ("a/m", "g", "T", "paraphrase", "query", "q: ", 2, 0.5),
    ]


def test_a_model_that_does_not_tell(tmp_path):
    for name in ("original", "g"):
        write(Layout(tmp_path).embeddings("m", name, "T"), {"": ""}, [("", None), ("", None)])
    rows = list(input_rows(tmp_path, {"m": "m"}, ["g"], ["T"]))
    assert [(row["n_texts"], row["truncated_share"]) for row in rows] == [(2, None), (2, None)]


def test_types_of_one_prompt_share_their_texts(tmp_path):
    prompts = {"query": "", "document": ""}
    for name in ("original", "g"):
        write(Layout(tmp_path).embeddings("m", name, "T"), prompts, [("", True), ("", False)])
    rows = list(input_rows(tmp_path, {"m": "m"}, [], ["T"]))
    assert [(row["prompt_type"], row["n_texts"]) for row in rows] == [("document", 2), ("query", 2)]
