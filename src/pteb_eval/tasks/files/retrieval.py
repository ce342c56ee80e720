"""Retrieval from a BEIR folder or three tables, reranking from one table."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from reprlib import repr as shown
from typing import Any

from pteb_eval.errors import UserError
from pteb_eval.tasks.files.base import (
    SPLIT,
    by_subset,
    columns_of,
    duplicates,
    empty_task,
)
from pteb_eval.tasks.files.tables import Table, joint_sha256, read_table, read_tables
from pteb_eval.tasks.structure import Task

_NAMES = {
    "corpus": ("corpus",),
    "queries": ("queries",),
    "qrels": ("qrels/test", "qrels_test", "qrels"),
}
_GREATEST = 2**31 - 1  # what the evaluators hold of a grade
_ENDINGS = (".jsonl", ".jsonl.gz", ".tsv", ".tsv.gz", ".parquet")


def retrieval(settings: Mapping[str, Any]) -> Task:
    """A folder `path` in BEIR's layout, or the tables `corpus`, `queries` and `qrels`.

    The tables' columns are BEIR's: corpus `_id`, `text` and perhaps `title`; queries `_id`, `text`
    and perhaps `instruction`; qrels `query-id`, `corpus-id`, `score` (an integer, above 0 for
    relevant). `ignore_identical_ids: true` where a query is a document itself.
    """
    tables = {part: read_table(_part_path(settings, part)) for part in _NAMES}
    corpus, queries = tables["corpus"], tables["queries"]
    document_ids, query_ids = _ids(corpus), _ids(queries)
    bodies = _bodies(corpus, "text")
    titles = _bodies(corpus, "title") if "title" in corpus.names else None
    data: dict[str, Any] = {
        "corpus": {
            "id": document_ids,
            "text": bodies,
            **({"title": titles} if titles is not None else {}),
        },
        "queries": {"id": query_ids, "text": queries.texts("text")},
    }
    if "instruction" in queries.names:
        data["queries"]["instruction"] = queries.texts("instruction")
    qrels, notes = _judgements(tables["qrels"], query_ids, document_ids)
    blank = sum(not text.strip() for text in bodies)
    notes += [f"documents without text, kept: {blank}"] if blank else []
    notes += duplicates(data["queries"]["text"], "queries")
    return _task(
        settings,
        {"default": _split(data["corpus"], data["queries"], qrels, None)},
        joint_sha256(*(table.sha256 for table in tables.values())),
        "ndcg_at_10",
        notes,
        ignore_identical_ids=bool(settings.get("ignore_identical_ids", False)),
    )


def reranking(settings: Mapping[str, Any]) -> Task:
    """Roles query, document, label: a row for each document of each query's list, 0 or 1."""
    query, document, label = columns_of(settings, "query", "document", "label")
    table = read_tables(settings["path"], settings.get("format"))
    columns: dict[str, list[Any]] = {
        "query": table.texts(query),
        "document": table.texts(document),
        "label": [_grade(cell, label, place) for cell, place in table.cells(label)],
    }
    splits, n_queries, n_left_out = {}, 0, 0
    for subset, part in by_subset(settings, table, columns).items():
        splits[subset], left_out = _lists(part)
        n_queries += len(splits[subset]["queries"])
        n_left_out += left_out
    if not n_queries:
        raise UserError(
            f"{table.path}: no query has documents of both kinds: column {label!r} must say "
            "of each document whether it answers its query"
        )
    notes = [f"queries without documents of both kinds, left out: {n_left_out}"]
    return _task(settings, splits, table.sha256, "map_at_1000", notes if n_left_out else [])


def _part_path(settings: Mapping[str, Any], part: str) -> Path:
    if part in settings:
        return Path(settings[part])
    if "path" not in settings:
        raise UserError(
            f"task {settings['name']!r}: no {part}: set path to a folder in BEIR's layout, or each "
            "of corpus, queries and qrels to a file"
        )
    if isinstance(settings["path"], list) or not (folder := Path(settings["path"])).is_dir():
        raise UserError(f"{settings['path']}: no such folder")
    for name in _NAMES[part]:
        for ending in _ENDINGS:
            if (folder / f"{name}{ending}").is_file():
                return folder / f"{name}{ending}"
    wanted = " or ".join(f"{name}{_ENDINGS[2 if part == 'qrels' else 0]}" for name in _NAMES[part])
    raise UserError(f"{folder}: no {wanted} (also .gz): set {part} to the file")


def _bodies(table: Table, column: str) -> list[str]:
    """A column of texts, which may be missing or blank."""
    return [
        "" if cell is None or str(cell).strip() == "" else table.text(cell, column, place)
        for cell, place in table.cells(column)
    ]


def _ids(table: Table) -> list[str]:
    column = "id" if "id" in table.names and "_id" not in table.names else "_id"
    seen: set[str] = set()
    for cell, place in table.cells(column):
        if not isinstance(cell, str | int) or cell == "":
            raise UserError(f"{place}: id {shown(cell)} is neither a text nor a whole number")
        own = str(cell)
        if own in seen:
            raise UserError(f"{place}: id {shown(own)} occurs twice: ids must differ")
        seen.add(own)
    return [str(cell) for cell in table.column(column)]


def _judgements(
    table: Table, query_ids: Iterable[str], document_ids: Iterable[str]
) -> tuple[dict[str, dict[str, int]], list[str]]:
    queries, documents = set(query_ids), set(document_ids)
    qrels: dict[str, dict[str, int]] = {}
    strange_queries, strange_documents = set(), set()
    cells = zip(
        table.column("query-id"), table.column("corpus-id"), table.cells("score"), strict=True
    )
    for query_cell, document_cell, (score, place) in cells:
        query, document = str(query_cell), str(document_cell)
        if query not in queries:
            strange_queries.add(query)
            continue
        if document not in documents:
            strange_documents.add(document)
        qrels.setdefault(query, {})[document] = _grade(score, "score", place)
    qrels = {
        query: judged for query, judged in qrels.items() if any(g > 0 for g in judged.values())
    }
    if not qrels:
        raise UserError(f"{table.path}: no query of the queries file has a relevant document here")
    counts = {
        "queries without a relevant document, left out": len(queries) - len(qrels),
        "judged queries that the queries file lacks, left out": len(strange_queries),
        "judged documents that the corpus lacks, which no model can find": len(strange_documents),
    }
    return qrels, [f"{what}: {count}" for what, count in counts.items() if count]


def _grade(cell: Any, column: str | int, place: str) -> int:
    try:
        grade = float(cell)
    except (TypeError, ValueError, OverflowError):
        grade = 0.5
    if not grade.is_integer() or abs(grade) > _GREATEST:
        raise UserError(
            f"{place}: {shown(cell)} in column {column!r} is not a whole number: use 0 for not "
            "relevant and 1 or more for relevant"
        )
    return int(grade)


def _lists(part: Mapping[str, list[Any]]) -> tuple[dict[str, Any], int]:
    """The rows of each query as its list to rerank; and how many queries cannot be scored."""
    rows_of: dict[str, list[int]] = {}
    for row, query in enumerate(part["query"]):
        rows_of.setdefault(query, []).append(row)
    scored = {
        query: rows
        for query, rows in rows_of.items()
        if len({part["label"][row] > 0 for row in rows}) == 2
    }
    queries: dict[str, list[str]] = {"id": [], "text": []}
    corpus: dict[str, list[str]] = {"id": [], "text": []}
    qrels, ranked = {}, {}
    for number, (query, rows) in enumerate(scored.items()):
        query_id, document_ids = f"q{number}", [f"d{row}" for row in rows]
        queries["id"].append(query_id)
        queries["text"].append(query)
        corpus["id"] += document_ids
        corpus["text"] += [part["document"][row] for row in rows]
        grades = [part["label"][row] for row in rows]
        qrels[query_id] = dict(zip(document_ids, grades, strict=True))
        ranked[query_id] = document_ids
    return _split(corpus, queries, qrels, ranked), len(rows_of) - len(scored)


def _split(corpus: Any, queries: Any, qrels: Any, top_ranked: Any) -> dict[str, Any]:
    from datasets import Dataset

    return {
        "corpus": Dataset.from_dict(corpus),
        "queries": Dataset.from_dict(queries),
        "relevant_docs": qrels,
        "top_ranked": top_ranked,
    }


def _task(
    settings: Mapping[str, Any],
    splits: Mapping[str, Any],
    sha256: str,
    main_score: str,
    notes: list[str],
    **attributes: Any,
) -> Task:
    from mteb.abstasks import AbsTaskRetrieval

    task = empty_task(AbsTaskRetrieval, settings, list(splits), sha256, main_score, **attributes)
    task.dataset = {subset: {SPLIT: split} for subset, split in splits.items()}
    task.data_loaded = True
    task.notes = notes
    return task
