"""Tasks from one table of rows: STS, pairs, classification, clustering, summarization."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pteb_eval.errors import UserError
from pteb_eval.tasks.files.base import SPLIT, by_subset, columns_of, duplicates, make_task
from pteb_eval.tasks.files.tables import Table, joint_sha256, read_tables
from pteb_eval.tasks.structure import Task


def sts(settings: Mapping[str, Any]) -> Task:
    """Roles sentence1, sentence2, score; `min_score` and `max_score`, by default 0 and 5."""
    from mteb.abstasks import AbsTaskSTS

    first, second, score = columns_of(settings, "sentence1", "sentence2", "score")
    low, high = _score_range(settings)
    table = read_tables(settings["path"], settings.get("format"))
    columns: dict[str, list[Any]] = {
        "sentence1": table.texts(first),
        "sentence2": table.texts(second),
        "score": table.numbers(score, low, high),
    }
    return make_task(
        AbsTaskSTS,
        settings,
        _test_split(settings, table, columns),
        table.sha256,
        "cosine_spearman",
        duplicates(zip(columns["sentence1"], columns["sentence2"], strict=True), "pairs"),
        min_score=low,
        max_score=high,
    )


def pair_classification(settings: Mapping[str, Any]) -> Task:
    """Roles sentence1, sentence2, label; `positive`, the labels that count as 1, by default 1."""
    from mteb.abstasks import AbsTaskPairClassification

    first, second, label = columns_of(settings, "sentence1", "sentence2", "label")
    table = read_tables(settings["path"], settings.get("format"))
    given, empty = _labels(table, label)
    labels = [one for one in given if one is not None]
    table = _without_rows(table, empty)
    columns: dict[str, list[Any]] = {
        "sentence1": table.texts(first),
        "sentence2": table.texts(second),
        "labels": _binary(settings, table, labels, label),
    }
    notes = [f"pairs without a label, left out: {len(empty)}"] if empty else []
    pairs = zip(columns["sentence1"], columns["sentence2"], strict=True)
    return make_task(
        AbsTaskPairClassification,
        settings,
        _test_split(settings, table, columns),
        table.sha256,
        "max_ap",
        [*notes, *duplicates(pairs, "pairs")],
    )


def classification(settings: Mapping[str, Any]) -> Task:
    """Roles text, label; `path` is the test file, `train` the training file of the same columns."""
    from mteb.abstasks import AbsTaskClassification

    if "train" not in settings:
        raise UserError(
            f"task {settings['name']!r}: no train: a classifier is trained on a file of its own"
        )
    text, label = columns_of(settings, "text", "label")
    tables = {
        split: read_tables(settings[key], settings.get("format"))
        for split, key in (("train", "train"), (SPLIT, "path"))
    }
    raw = {split: _all_labels(table, label) for split, table in tables.items()}
    names = sorted(set(raw["train"]) | set(raw[SPLIT]))
    if len(set(raw["train"])) < 2:
        raise UserError(f"{tables['train'].path}: fewer than two labels, nothing to tell apart")
    codes = {name: code for code, name in enumerate(names)}
    parts = {
        split: by_subset(
            settings,
            table,
            {"text": table.texts(text), "label": [codes[name] for name in raw[split]]},
        )
        for split, table in tables.items()
    }
    for subset in parts[SPLIT]:
        if subset not in parts["train"]:
            raise UserError(f"{tables['train'].path}: no rows of subset {subset!r} to train on")
    unseen = sorted(set(raw[SPLIT]) - set(raw["train"]))
    notes = [f"labels that the train file lacks: {', '.join(unseen)}"] if unseen else []
    per_label = settings.get("samples_per_label")
    return make_task(
        AbsTaskClassification,
        settings,
        {subset: {split: parts[split][subset] for split in parts} for subset in parts[SPLIT]},
        joint_sha256(tables["train"].sha256, tables[SPLIT].sha256),
        "accuracy",
        [*notes, *duplicates(tables[SPLIT].texts(text), "test texts")],
        **({"samples_per_label": per_label} if per_label else {}),
    )


def clustering(settings: Mapping[str, Any]) -> Task:
    """Roles text, label. All texts are embedded; mteb clusters ten bootstrap samples of them."""
    from mteb.abstasks import AbsTaskClustering

    text, label = columns_of(settings, "text", "label")
    table = read_tables(settings["path"], settings.get("format"))
    columns: dict[str, list[Any]] = {
        "sentences": table.texts(text),
        "labels": _all_labels(table, label),
    }
    return make_task(
        AbsTaskClustering,
        settings,
        _test_split(settings, table, columns),
        table.sha256,
        "v_measure",
        duplicates(columns["sentences"], "texts"),
        max_fraction_of_documents_to_embed=None,
    )


def texts(settings: Mapping[str, Any]) -> Task:
    """Role text: a list of texts without labels. Repeated texts count once."""
    from pteb_eval.tasks.texts import REFERENCE, TEXT, AbsTaskTexts

    (column,) = columns_of(settings, TEXT)
    table = read_tables(settings["path"], settings.get("format"))
    seen: set[str] = set()
    again: list[int] = []
    for row, text in enumerate(table.texts(column)):
        if text in seen:
            again.append(row)
        seen.add(text)
    table = _without_rows(table, again)
    distinct = table.texts(column)
    return make_task(
        AbsTaskTexts,
        settings,
        _test_split(settings, table, {TEXT: distinct, REFERENCE: list(distinct)}),
        table.sha256,
        "mrr",
        [f"texts that repeat an earlier one, left out: {len(again)}"] if again else [],
    )


def summarization(settings: Mapping[str, Any]) -> Task:
    """Roles human_summaries, machine_summaries, score: lists in each row of JSON lines or Parquet.

    `score` rates the machine summaries one by one, from `min_score` to `max_score` (0 to 5).
    """
    from mteb.abstasks import AbsTaskSummarization

    human, machine, score = columns_of(settings, "human_summaries", "machine_summaries", "score")
    low, high = _score_range(settings)
    table = read_tables(settings["path"], settings.get("format"))
    columns: dict[str, list[Any]] = {
        "text": [""] * len(table.rows),  # mteb asks for the source texts, but never reads them
        "human_summaries": _lists(table, human, table.text),
        "machine_summaries": _lists(table, machine, table.text),
        "relevance": _lists(
            table, score, lambda value, name, place: table.number(value, name, place, low, high)
        ),
    }
    rated = zip(columns["machine_summaries"], columns["relevance"], table.places, strict=True)
    for summaries, scores, place in rated:
        if len(summaries) != len(scores):
            raise UserError(
                f"{place}: {len(summaries)} machine summaries, but {len(scores)} scores in column "
                f"{score!r}: give one score for each"
            )
    level = sum(len(set(scores)) == 1 for scores in columns["relevance"])
    return make_task(
        AbsTaskSummarization,
        settings,
        _test_split(settings, table, columns),
        table.sha256,
        "cosine_spearman",
        [f"texts whose summaries all have the same score, not scored: {level}"] if level else [],
        min_score=low,
        max_score=high,
    )


def _test_split(settings: Mapping[str, Any], table: Table, columns: Mapping[str, list[Any]]) -> Any:
    return {subset: {SPLIT: part} for subset, part in by_subset(settings, table, columns).items()}


def _score_range(settings: Mapping[str, Any]) -> tuple[float, float]:
    low, high = settings.get("min_score", 0), settings.get("max_score", 5)
    if not low < high:
        raise UserError(f"task {settings['name']!r}: min_score {low} is not below max_score {high}")
    return low, high


def _labels(table: Table, column: str | int) -> tuple[list[str | None], list[int]]:
    """Labels as strings, None where there is none, and the rows without."""
    labels = [_label(cell) for cell in table.column(column)]
    return labels, [row for row, label in enumerate(labels) if label is None]


def _label(cell: Any) -> str | None:
    if isinstance(cell, bool):
        return str(int(cell))
    if isinstance(cell, float) and math.isnan(cell):
        return None  # what pandas writes for no label
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip() or None if cell is not None else None


def _all_labels(table: Table, column: str | int) -> list[str]:
    labels, empty = _labels(table, column)
    if empty:
        raise UserError(
            f"{table.places[empty[0]]}: no label in column {column!r}: fill it in or delete the row"
        )
    return [label for label in labels if label is not None]


def _binary(
    settings: Mapping[str, Any], table: Table, labels: Sequence[str], column: str | int
) -> list[int]:
    given = settings.get("positive", "1")
    positive = {_label(label) for label in (given if isinstance(given, list) else [given])}
    if "positive" not in settings:
        for label, place in zip(labels, table.places, strict=True):
            if label not in ("0", "1"):
                raise UserError(
                    f"{place}: label {label!r} in column {column!r} is neither 0 nor 1: set "
                    "positive to the label (or list of labels) of a matching pair"
                )
    binary = [int(label in positive) for label in labels]
    if len(set(binary)) < 2:
        there = ", ".join(sorted(set(labels))[:10])
        raise UserError(
            f"{table.path}: column {column!r} has {'only' if any(binary) else 'no'} positive "
            f"labels, nothing to rank (positive: {given!r}; labels there: {there})"
        )
    return binary


def _without_rows(table: Table, gone: Sequence[int]) -> Table:
    left_out = set(gone)
    rows = [row for row in range(len(table.rows)) if row not in left_out]
    return Table(
        table.path,
        table.names,
        [table.rows[row] for row in rows],
        [table.places[row] for row in rows],
        table.sha256,
    )


def _lists(table: Table, column: str | int, read: Any) -> list[list[Any]]:
    found = []
    for cell, place in table.cells(column):
        if not isinstance(cell, list) or not cell:
            raise UserError(
                f"{place}: column {column!r} holds no list: use JSON lines or Parquet, with "
                "a list in each row"
            )
        found.append([read(value, column, place) for value in cell])
    return found
