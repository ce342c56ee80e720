"""Retrieval and reranking: queries, a corpus, judgements and perhaps lists to rerank."""

from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any, NamedTuple

from pteb_eval.tasks.copies import copy_task, evaluated, with_column
from pteb_eval.tasks.flat import renewed
from pteb_eval.tasks.structure import Instance, ModelInput, Slot, Task

QUERY, DOCUMENT = "query", "document"


class Retrieval:
    """Slots are queries and documents, by their own ids; an instance is a query.

    A query is reworded without its instruction, which is kept and joined as mteb joins it; the
    turns of a conversation are one slot each. A document's title is kept, since it is a name; its
    body is the slot. A document without paraphrase takes along the queries that it is relevant to;
    for all others it is only one wrong answer less, so it leaves the corpus and the lists on both
    sides.
    """

    roles = (QUERY, DOCUMENT)

    def __init__(self) -> None:
        self._indexes: dict[tuple[str, str], tuple[Any, _Index]] = {}

    def slots(self, task: Task) -> Iterator[tuple[Slot, str]]:
        """See `Structure.slots`."""
        for subset, split, data in _parts(task):
            for role, table, rows in self._tables(data):
                ids, cells = table["id"][:], table["text"][:]
                for row in rows:
                    for position, text in enumerate(_texts(cells[row])):
                        if text.strip():
                            yield Slot(subset, split, role, ids[row], position), text

    def replaced(self, task: Task, new_text: Callable[[Slot, str], str]) -> Task:
        """See `Structure.replaced`."""
        new = _copied(task)
        for subset, split, data in _parts(new):
            for role, table, rows in self._tables(data):
                ids, cells = table["id"][:], table["text"][:]
                for row in rows:
                    slot = Slot(subset, split, role, ids[row])
                    texts = renewed(slot, _texts(cells[row]), new_text)
                    cells[row] = _cell(cells[row], texts)
                data[_PARTS[role]] = with_column(table, "text", cells)
        return new

    def instances(self, task: Task) -> list[Instance]:
        """The queries with judgements, in the data set's order."""
        return [
            Instance(subset, split, data["queries"][row]["id"])
            for subset, split, data in _parts(task)
            for row in _judged(data)
        ]

    def instance_of(self, task: Task, slot: Slot) -> tuple[Instance, ...]:
        """A query with those that the metric joins to it; a document with those it answers."""
        index = self._index(task, slot.subset, slot.split)
        if slot.role == QUERY:
            return index.family_of.get(slot.row, ())
        hit = (
            member
            for query in index.answered.get(slot.row, ())
            for member in index.family_of[query]
        )
        document = Instance(slot.subset, slot.split, slot.row, DOCUMENT)
        return document, *dict.fromkeys(hit)

    def _index(self, task: Task, subset: str, split: str) -> "_Index":
        """Who belongs to whom in a split, looked up once for each set of judgements."""
        data = next(data for own, name, data in _parts(task) if (own, name) == (subset, split))
        judgements = data["relevant_docs"]
        known, index = self._indexes.get((subset, split), (None, None))
        if index is None or known is not judgements:
            index = _indexed(subset, split, judgements, _family(task))
            self._indexes[subset, split] = judgements, index
        return index

    def without(self, task: Task, excluded: Set[Instance]) -> Task:
        """See `Structure.without`."""
        new = _copied(task)
        for subset, split, data in _parts(new):
            here = [item for item in excluded if (item.subset, item.split) == (subset, split)]
            queries = {item.row for item in here if item.part != DOCUMENT}
            documents = {item.row for item in here if item.part == DOCUMENT}
            for name, gone in (("queries", queries), ("corpus", documents)):
                if gone:
                    table = data[name]
                    kept = [row for row, own in enumerate(table["id"]) if own not in gone]
                    data[name] = table.select(kept)
            if here:
                data["relevant_docs"] = {
                    query: {own: score for own, score in judged.items() if own not in documents}
                    for query, judged in data["relevant_docs"].items()
                    if query not in queries
                }
            if here and data["top_ranked"] is not None:
                data["top_ranked"] = {
                    query: [own for own in ranked if own not in documents]
                    for query, ranked in data["top_ranked"].items()
                    if query not in queries
                }
        return new

    def inputs(self, task: Task) -> Iterator[ModelInput]:
        """The judged queries, each with its instruction, and the whole corpus, each with title."""
        for subset, split, data in _parts(task):
            for text in _query_texts(data["queries"].select(_judged(data))):
                yield ModelInput(text, QUERY, subset, split)
            for text in _document_texts(data["corpus"]):
                yield ModelInput(text, DOCUMENT, subset, split)

    def _tables(self, data: Any) -> Iterator[tuple[str, Any, Sequence[int]]]:
        yield QUERY, data["queries"], _judged(data)
        yield DOCUMENT, data["corpus"], range(len(data["corpus"]))


_PARTS = {QUERY: "queries", DOCUMENT: "corpus"}


class _Index(NamedTuple):
    """The instances that share a query's fate, and the queries that a document is relevant to."""

    family_of: dict[str, tuple[Instance, ...]]
    answered: dict[str, list[str]]


def _indexed(subset: str, split: str, judgements: Any, family: Callable[[str], str]) -> _Index:
    families: dict[str, list[Instance]] = {}
    answered: dict[str, list[str]] = {}
    judgements = {query: judged for query, judged in judgements.items() if judged}
    for query, judged in judgements.items():
        families.setdefault(family(query), []).append(Instance(subset, split, query))
        for document, grade in judged.items():
            if grade > 0:
                answered.setdefault(document, []).append(query)
    members = {key: tuple(instances) for key, instances in families.items()}
    return _Index({query: members[family(query)] for query in judgements}, answered)


def _copied(task: Task) -> Task:
    """A copy of the task in mteb's present data layout."""
    new = copy_task(task)
    new.convert_v1_dataset_format_to_v2(num_proc=None)
    return new


def _parts(task: Task) -> Iterator[tuple[str, str, Any]]:
    if hasattr(task, "queries"):  # mteb's first layout, which some tasks still load
        task = _copied(task)
    for subset, split in evaluated(task):
        yield subset, split, task.dataset[subset][split]


def _judged(data: Any) -> list[int]:
    """Places of the queries that are scored: mteb drops those without judgements."""
    judgements = data["relevant_docs"]
    return [row for row, query in enumerate(data["queries"]["id"]) if judgements.get(query)]


def _family(task: Task) -> Callable[[str], str]:
    """The key of the queries that the task's own metric compares or merges with each other."""
    metric = task.metadata.main_score
    if metric == "p-MRR":  # FollowIR: one query under two instructions
        return lambda query: query.removesuffix("-og").removesuffix("-changed")
    if metric in ("paired_accuracy", "robustness_at_10"):  # NevIR, InstructIR
        return lambda query: query.split("_")[0]
    if metric.startswith("max_over_subqueries"):  # MIND
        return lambda query: query.rpartition("_")[0] or query
    return lambda query: query


def _texts(cell: Any) -> list[str]:
    """The texts of a query: one, or the turns of a conversation."""
    if isinstance(cell, list):
        return [turn if isinstance(turn, str) else turn["content"] for turn in cell]
    return [cell]


def _cell(old: Any, texts: list[str]) -> Any:
    if isinstance(old, list):
        return [
            text if isinstance(turn, str) else {**turn, "content": text}
            for turn, text in zip(old, texts, strict=True)
        ]
    return texts[0]


def _query_texts(queries: Any) -> Iterator[str]:
    """As `mteb._create_dataloaders` joins a query and its instruction."""
    cells = queries["text"][:]
    has_instruction = "instruction" in queries.column_names
    instructions = queries["instruction"][:] if has_instruction else [None] * len(cells)
    for cell, instruction in zip(cells, instructions, strict=True):
        if isinstance(cell, list):
            turns = [t if isinstance(t, str) else f"{t['role']}: {t['content']}" for t in cell]
            text = "; ".join(turns)
            yield f"{instruction} {text}" if has_instruction else text
        else:
            yield cell if instruction is None else f"{cell} {instruction}"


def _document_texts(corpus: Any) -> Iterator[str]:
    """As `mteb._create_dataloaders` joins title and body."""
    bodies = corpus["text"][:]
    titles = corpus["title"][:] if "title" in corpus.column_names else [""] * len(bodies)
    for title, body in zip(titles, bodies, strict=True):
        yield f"{title} {body}".strip() if title else body.strip()
