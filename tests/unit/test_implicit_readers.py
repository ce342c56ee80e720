"""Readers of the suite's data sets: published layouts, quirks, and a reason for every lost row."""

import json
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from suite_files import (
    real,
    write_articles,
    write_csv,
    write_pstance,
    write_pub,
    write_sbic,
)

from pteb_eval.errors import UserError
from pteb_eval.implicit.catalogue import LEVELS, datasets, entries, entry, scores
from pteb_eval.implicit.parts import Parts
from pteb_eval.implicit.readers import read_rows, unquoted
from pteb_eval.implicit.rows import Row, label_index, split_rows


def read(task, path):
    return read_rows(entry(task), Parts(path))


def answers(rows, split):
    return Counter(row.options[row.answer] for row in rows.splits[split])


def test_the_catalogue_is_whole():
    assert [name for name in entries() if name.startswith("pub-")] == [
        f"pub-{number}" for number in range(1, 15)
    ]
    assert set(scores()) == {
        "P-IMP", "P-PRE", "P-R&D", "pstance", "sbic", "implicit_hate", "article_bias"
    }  # fmt: skip
    for dataset in datasets().values():
        assert dataset.level in LEVELS
        assert dataset.citation and dataset.license and dataset.homepage.startswith("https://")
        assert bool(dataset.files) != bool(dataset.request)
        for about in dataset.files.values():
            assert about["url"].startswith("https://")
    with pytest.raises(UserError, match="'pstance-biden'"):
        entry("pstance-bidden")


def test_pub_rows_that_cannot_be_used_are_counted(tmp_path):
    options = ["Direct answer", "Indirect answer"]
    good = {"pretext": "X: So?\nY: So.", "options": options, "correct answer": "direct answer "}
    lines = [
        good,
        {**good, "pretext": "X: A list in words.", "options": str(options)},
        {**good, "correct answer": "Neither"},
        {**good, "correct answer": 7},
        {**good, "options": ["Direct answer"]},
        {**good, "options": ["Direct answer", "Direct answer"]},
        {**good, "pretext": " "},
        {"pretext": "no options"},
        "{broken",
        good,
        {**good, "correct answer": options[1]},
    ]
    rows = read("pub-1", write_pub(tmp_path, "task_1", lines))
    assert sum(map(len, rows.splits.values())) == 42
    assert rows.dropped == {
        "the correct answer is none of the options": 2,
        "fewer than two options": 1,
        "an option that is empty or stands twice": 1,
        "no text": 1,
        "without pretext, options or correct answer": 1,
        "not JSON": 1,
        "repeats an earlier row": 1,
        "repeats an earlier row, with another label": 1,
    }
    assert rows.fixed_options == ("Direct answer", "Indirect answer")
    assert any("seed 42" in note for note in rows.all_notes())


def test_pub_in_a_folder_of_archives_or_unpacked(tmp_path):
    write_pub(tmp_path / "zips", "task_4")
    packed = read("pub-4", tmp_path / "zips")
    with zipfile.ZipFile(tmp_path / "zips" / "task_4.zip") as archive:
        archive.extractall(tmp_path / "plain")
    assert read("pub-4", tmp_path / "plain").splits == packed.splits
    assert packed.fixed_options is None
    with pytest.raises(UserError, match=r"no task_9\.jsonl in it"):
        read("pub-9", tmp_path / "zips")


def test_pstance_of_one_target_and_of_all(tmp_path):
    write_pstance(tmp_path)
    one, both = read("pstance-trump", tmp_path), read("pstance-all", tmp_path)
    assert {split: len(rows) for split, rows in one.splits.items()} == {
        "train": 20, "dev": 20, "test": 20
    }  # fmt: skip
    assert len(both.splits["train"]) == 60
    assert answers(one, "test") == {"in favor": 10, "against": 10}
    (tmp_path / "raw_val_trump.csv").unlink()
    with pytest.raises(UserError, match=r"raw_val_trump\.csv"):
        read("pstance-trump", tmp_path)


def test_posts_in_two_splits_stay_in_the_one_that_is_scored(tmp_path):
    write_pstance(tmp_path, targets=["biden"])
    head = ("Tweet", "Target", "Stance")
    repeated = ["test biden tweet 0, a liar who must not win", "Biden"]
    again = [(*repeated, "AGAINST"), (*repeated, "FAVOR"), ("new", "Biden", "NONE"), ("", "", "1")]
    write_csv(tmp_path / "raw_train_biden.csv", head, again)
    rows = read("pstance-biden", tmp_path)
    assert rows.splits["train"] == []
    assert len(rows.splits["test"]) == 20
    assert rows.dropped == {
        "stands in test as well": 1,
        "stands in test as well, with another label": 1,
        "a label that is not declared": 1,
        "no text": 1,
    }


@pytest.mark.parametrize("packed", [True, False])
def test_sbic_follows_the_stereotypes_and_not_the_name_of_the_flag(tmp_path, packed):
    disagreeing = [
        (90, "the flag says yes, no stereotype", "[]", 0),
        (91, "no flag", "[]", ""),
        (92, "no list", "[x", 1),
    ]
    path = write_sbic(tmp_path / ("SBIC.v2.tgz" if packed else "sbic"), extra=disagreeing)
    rows = read("sbic", path)
    biased = [row.text for row in rows.splits["test"] if "implies a" in row.options[row.answer]]
    assert len(biased) == 6 and all("steal" in text for text in biased)
    assert rows.dropped == {
        "targetStereotype and hasBiasedImplication disagree": 3,
        "a label that is not declared": 6,
    }


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("plain", "plain"),
        ('" rt  "" we were"" there "', ' rt  " we were" there '),
        ('"opened only', '"opened only'),
        ('"marks" in "it"', '"marks" in "it"'),
        ('"', '"'),
        ('""', ""),
    ],
)
def test_quotation_marks_are_taken_off_cell_by_cell(cell, text):
    assert unquoted(cell) == text


def test_implicit_hate_in_two_and_three_classes(tmp_path):
    lines = ["post\tclass"]
    classes = ("implicit_hate", "not_hate", "explicit_hate")
    lines += [f'"post ""{n}"" of many"\t{classes[n % 3]}' for n in range(90)]
    lines += ['"a stray\u2028mark\tnot_hate', "a\tb\tc\tnot_hate", "strange\thate"]
    (tmp_path / "implicit_hate_v1_stg1_posts.tsv").write_text("\r\n".join(lines) + "\r\n")
    two, three = read("implicit_hate-2way", tmp_path), read("implicit_hate-3way", tmp_path)
    assert sum(map(len, two.splits.values())) == 61
    assert sum(map(len, three.splits.values())) == 91
    assert two.fixed_options == ("implicit hate", "no hate")
    assert {row.text for row in two.splits["test"]} <= {row.text for row in three.splits["test"]}
    assert two.dropped == {
        "explicit hate, which this task is not about": 30,
        "4 cells in place of 2": 1,
        "a label that is not declared": 1,
    }
    assert 'post "3" of many' in {row.text for rows in two.splits.values() for row in rows}


def test_files_without_the_columns_are_one_line(tmp_path):
    (tmp_path / "implicit_hate_v1_stg1_posts.tsv").write_text("")
    with pytest.raises(UserError, match="no column 'post'"):
        read("implicit_hate-2way", tmp_path)
    write_csv(tmp_path / "raw_train_biden.csv", ("Tweet", "Label"), [])
    with pytest.raises(UserError, match=r"raw_train_biden\.csv: no column 'Stance'"):
        read("pstance-biden", tmp_path)


def test_articles_in_the_layout_of_the_repository(tmp_path):
    repository = write_articles(tmp_path / "repository", extra_ids=["gone1"])
    for task in ("article_bias-random", "article_bias-media"):
        rows = read(task, repository)
        assert answers(rows, "test") == {"left": 3, "center": 3, "right": 3}
        assert rows.dropped == {"an article that is not among the files": 3}
        assert all(row.text.startswith("News " + task[13:]) for row in rows.splits["test"])
    inside = Path("Article-Bias-Prediction-ced8111")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in repository.rglob("*.*"):
            archive.write(path, inside / path.relative_to(repository))
    assert read("article_bias-media", tmp_path / "all.zip").splits == rows.splits


def test_articles_one_file_a_split(tmp_path):
    for part in ("train", "valid", "test"):
        articles = [
            {"content": f"{part} {n}", "bias_text": word}
            for n, word in enumerate(["left", "Center", "RIGHT", "up"])
        ]
        lines = [*map(json.dumps, articles), "{broken", "7"]
        (tmp_path / f"{part}.jsonl").write_text("\n".join(lines))
    rows = read("article_bias-random", tmp_path)
    assert answers(rows, "train") == {"left": 1, "center": 1, "right": 1}
    assert rows.dropped == {"a label that is not declared": 3, "not JSON": 6}
    with pytest.raises(UserError, match="data/splits/media"):
        read("article_bias-media", tmp_path)


@pytest.mark.parametrize(
    ("cell", "index"),
    [("LEFT", 0), (" right ", 2), (1, 1), ("1.0", 1), (2.0, 2), ("0", 0), ("up", None),
     (None, None), (True, None), (1.5, None)],
)  # fmt: skip
def test_labels_in_words_or_numbers(cell, index):
    assert label_index(datasets()["article_bias"].labels, cell) == index


TEXTS = st.lists(st.text(min_size=1), min_size=1, max_size=60)
SHARES = {"train": 0.7, "dev": 0.1, "test": 0.2}


@given(TEXTS, st.integers(0, 5))
def test_a_split_depends_on_seed_and_text_alone(texts, seed):
    rows = [Row(text, ("a", "b"), 0) for text in texts]
    splits = split_rows(rows, seed, SHARES)
    assert sorted(row.text for part in splits.values() for row in part) == sorted(texts)
    for split, part in splits.items():
        for row in part:
            assert split_rows([row], seed, SHARES)[split] == [row]


def test_splits_have_about_their_shares():
    rows = [Row(f"text {n}", ("a", "b"), 0) for n in range(5000)]
    sizes = {split: len(part) / 5000 for split, part in split_rows(rows, 42, SHARES).items()}
    assert sizes == pytest.approx(SHARES, abs=0.02)


@pytest.mark.parametrize("content", [b"not a zip", b""])
def test_a_damaged_archive_is_one_line(tmp_path, content):
    (tmp_path / "task_1.zip").write_bytes(content)
    with pytest.raises(UserError, match=r"task_1\.zip: not a whole archive"):
        read("pub-1", tmp_path)
    with pytest.raises(UserError, match="no such file or folder"):
        read("pub-1", tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("task", "folder", "sizes", "dropped"),
    [
        ("pstance-biden", "p_stance", {"train": 5806, "dev": 744, "test": 745}, 1),
        ("pstance-all", "p_stance", {"train": 17222, "dev": 2192, "test": 2157}, 3),
        ("implicit_hate-2way", "implicit_hate", None, 1091),
        ("implicit_hate-3way", "implicit_hate", None, 5),
        ("article_bias-random", "article_bias", {"train": 600, "dev": 150, "test": 200}, 0),
        ("sbic", "sbic", {"dev": 4655, "test": 4691}, 11),
    ],
)
def test_real_files(task, folder, sizes, dropped):
    if real(folder) is None:
        pytest.skip("no ../shared/data beside the project")
    rows = read(task, real(folder))
    if sizes:
        assert {split: len(part) for split, part in rows.splits.items()} == sizes
    assert sum(rows.dropped.values()) == dropped
    if folder == "implicit_hate":
        assert sum(map(len, rows.splits.values())) + dropped == 21480
    if task == "sbic":
        assert answers(rows, "test")["implies a social bias"] == 1924
