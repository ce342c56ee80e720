"""What the builders of tasks from files share: columns by role, subsets, metadata, notes."""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from reprlib import repr as shown
from typing import Any

from pteb_eval.errors import UserError
from pteb_eval.tasks.files.tables import Table
from pteb_eval.tasks.structure import Task

SPLIT = "test"
MTEB_TYPES = {
    "texts": "BitextMining",  # mteb has no type for it; reports say what the task itself says
    "sts": "STS",
    "pair_classification": "PairClassification",
    "classification": "Classification",
    "zero_shot": "ZeroShotClassification",
    "clustering": "Clustering",
    "retrieval": "Retrieval",
    "reranking": "Reranking",
    "summarization": "Summarization",
}


def columns_of(settings: Mapping[str, Any], *roles: str) -> list[str | int]:
    """The column of each role, by the settings or else of the role's own name."""
    given = dict(settings.get("columns") or {})
    for role in given:
        if role not in (*roles, "subset"):
            raise UserError(
                f"task {settings['name']!r}: columns.{role} is unknown for type "
                f"{settings['type']}: known are {', '.join((*roles, 'subset'))}"
            )
    return [given.get(role, role) for role in roles]


def by_subset(
    settings: Mapping[str, Any], table: Table, columns: Mapping[str, list[Any]]
) -> dict[str, dict[str, list[Any]]]:
    """Columns of each subset: one, `default`, unless `columns.subset` names a column."""
    column = (settings.get("columns") or {}).get("subset")
    if column is None:
        return {"default": dict(columns)}
    subsets: dict[str, list[int]] = {}
    for row, (cell, place) in enumerate(table.cells(column)):
        subset = table.text(cell, column, place)
        if subset not in subsets and not _is_name(subset):
            raise UserError(
                f"{place}: subset {shown(subset)} in column {column!r} is no name: tables need one "
                "line of at most 100 characters that does not begin with = + - or @"
            )
        subsets.setdefault(subset, []).append(row)
    return {
        subset: {name: [values[row] for row in rows] for name, values in columns.items()}
        for subset, rows in subsets.items()
    }


def _is_name(subset: str) -> bool:
    """Whether tables can hold it: spreadsheet programs run a cell that begins as a formula does."""
    return subset.isprintable() and len(subset) <= 100 and subset[0] not in "=+-@"


def make_task(
    base: type[Any],
    settings: Mapping[str, Any],
    data: Mapping[str, Mapping[str, Mapping[str, list[Any]]]],
    sha256: str,
    main_score: str,
    notes: Iterable[str] = (),
    **attributes: Any,
) -> Task:
    """A loaded task of class `base`.

    Args:
        base: mteb's class.
        settings: the user's.
        data: columns by subset and split.
        sha256: of the data.
        main_score: mteb's name of the metric.
        notes: one line each.
        attributes: class attributes of the task.
    """
    from datasets import Dataset, DatasetDict

    subsets = {
        subset: DatasetDict({split: Dataset.from_dict(rows) for split, rows in splits.items()})
        for subset, splits in data.items()
    }
    task = empty_task(base, settings, list(subsets), sha256, main_score, **attributes)
    task.dataset = subsets if task.metadata.is_multilingual else subsets["default"]
    task.data_loaded = True
    task.notes = list(notes)
    return task


def empty_task(
    base: type[Any],
    settings: Mapping[str, Any],
    subsets: Sequence[str],
    sha256: str,
    main_score: str,
    **attributes: Any,
) -> Task:
    """A task of class `base` without its data; mteb's registry of tasks does not learn of it."""
    from mteb.abstasks.task_metadata import TaskMetadata

    name = settings["name"]
    try:
        metadata = TaskMetadata(
            name=name,
            type=MTEB_TYPES[settings["type"]],
            description=settings.get("description") or f"User's own task {name}",
            dataset={"path": str(settings.get("path", name)), "revision": sha256},
            prompt=settings.get("prompt"),
            category="t2c" if "lassification" in MTEB_TYPES[settings["type"]] else "t2t",
            eval_splits=[SPLIT],
            eval_langs=_languages(settings, subsets),
            main_score=main_score,
            is_public=False,
        )
    except ValueError as error:
        line = " ".join(str(error).split())
        raise UserError(f"task {name!r}: {line}") from None
    return type(base.__name__, (base,), {"metadata": metadata, **attributes})()


def _languages(settings: Mapping[str, Any], subsets: Sequence[str]) -> Any:
    name, language = settings["name"], settings.get("language")
    if not language:
        raise UserError(
            f"task {name!r}: no language: set language to the texts' language and script, such as "
            "eng-Latn, deu-Latn, arb-Arab, zho-Hans"
        )
    if list(subsets) == ["default"]:
        if not isinstance(language, str):
            raise UserError(
                f"task {name!r}: language is given by subset, but columns.subset names no column"
            )
        return [_language(name, language)]
    if isinstance(language, str):
        return {subset: [_language(name, language)] for subset in subsets}
    for subset in subsets:
        if subset not in language:
            raise UserError(f"task {name!r}: no language for subset {subset!r}: add it to language")
    return {subset: _codes(name, language[subset]) for subset in subsets}


def _codes(name: str, codes: str | Sequence[str]) -> list[str]:
    """The language of a subset, or the two of a subset of pairs."""
    return [_language(name, code) for code in ([codes] if isinstance(codes, str) else codes)]


def _language(name: str, code: str) -> str:
    from mteb.languages import check_language_code

    try:
        if not re.fullmatch(r"[a-z]{3}-[A-Z][a-z]{3}", code):
            raise ValueError(code)
        check_language_code(code)
    except ValueError:
        raise UserError(
            f"task {name!r}: language {code!r} is unknown: use the ISO 639-3 language and the ISO "
            "15924 script, such as eng-Latn, deu-Latn, arb-Arab, zho-Hans"
        ) from None
    return code


def duplicates(items: Iterable[Hashable], what: str) -> list[str]:
    """A note on how many rows repeat an earlier one, if any."""
    repeated = sum(count - 1 for count in Counter(items).values())
    return [f"{what} that repeat an earlier one, kept: {repeated}"] if repeated else []
