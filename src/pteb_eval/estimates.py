"""What an mteb task holds, from the statistics that mteb ships: for plans without its data."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pteb_eval.errors import UserError
from pteb_eval.implicit.catalogue import entry
from pteb_eval.tasks.load import structure_for, unloaded_task
from pteb_eval.tasks.scope import roles_in_scope
from pteb_eval.tasks.structure import Task


class Size(NamedTuple):
    """How much text a task holds.

    Attributes:
        texts: places of texts (slots).
        distinct: distinct texts.
        reworded: distinct texts in scope.
        characters: characters of the distinct texts in scope.
    """

    texts: int
    distinct: int
    reworded: int
    characters: int


class _Column(NamedTuple):
    role: str
    texts: float
    distinct: float
    characters: float
    subsets: int = 1  # that it covers
    is_train: bool = False


def estimated_size(
    settings: Mapping[str, Any], scope: str | list[str], max_instances: int | None = None
) -> Size:
    """Size of a task by mteb's counts of each column, which count a text in two columns twice.

    Of train splits, and of clusterings that mteb samples, it takes the share that mteb reads.

    Args:
        settings: of a task of mteb or of the implicit suite, as `load_task` takes them.
        scope: what is reworded.
        max_instances: limit of each subset and split; a column has a text for each instance, which
            is too few where a query has several documents.

    Raises:
        UserError: if mteb ships no counts of the task.
    """
    if "implicit" in settings:  # as far as known, see resources/implicit/suite.yaml
        about = entry(settings["implicit"]).dataset
        n_reworded = min(about.texts, max_instances or about.texts)
        return Size(about.texts, about.texts, n_reworded, n_reworded * about.characters)
    task = unloaded_task(settings)
    roles = roles_in_scope(task, scope)
    columns = list(_columns(task))
    if not columns:
        raise UserError(
            f"task {task.metadata.name}: not fetched yet, and mteb ships no statistics of it: "
            "fetch it where there is a network, then plan"
        )
    reworded = [
        _first(column, max_instances)
        for column in columns
        if column.role in roles and not (column.is_train and scope == "eval_only")
    ]
    return Size(
        round(sum(column.texts for column in columns)),
        round(sum(column.distinct for column in columns)),
        round(sum(column.distinct for column in reworded)),
        round(sum(column.characters for column in reworded)),
    )


def _columns(task: Task) -> Iterator[_Column]:
    statistics = task.metadata.descriptive_stats or {}
    train = getattr(task, "train_split", None)
    if train in task.eval_splits or getattr(task, "is_cross_validation", False):
        train = None
    for split, found in statistics.items():
        if split not in task.eval_splits and split != train:
            continue
        for part in _parts(found, task):
            subsets = len(task.hf_subsets) if part is found else 1
            for column in _columns_of(part, task):
                is_train = split == train
                share = _train_share(part, task) if is_train else _test_share(column, task)
                yield _share(column, share)._replace(subsets=subsets, is_train=is_train)


def _parts(found: Mapping[str, Any], task: Task) -> list[Mapping[str, Any]]:
    """The whole split, or each subset that is wanted where not all of them are."""
    by_subset = found.get("hf_subset_descriptive_stats") or {}
    if set(task.hf_subsets) >= set(by_subset):
        return [found]
    return [by_subset[subset] for subset in task.hf_subsets if subset in by_subset]


def _columns_of(part: Mapping[str, Any], task: Task) -> Iterator[_Column]:
    """Columns that hold texts, named as the roles of the task."""
    from mteb.abstasks import AbsTaskRetrieval, AbsTaskSummarization

    texts = {
        name: found
        for name, found in part.items()
        if isinstance(found, dict) and found.get("unique_texts")
    }
    if isinstance(task, AbsTaskSummarization):
        texts.pop("text_statistics", None)  # the source texts, which nobody embeds
    roles = structure_for(task).roles
    if isinstance(task, AbsTaskRetrieval):
        order = ("queries_text_statistics", "documents_text_statistics")
        texts = {name: texts[name] for name in order if name in texts}
    # Parallel texts of many languages have more roles than mteb counts columns.
    for place, found in enumerate(texts.values()):
        total = found["total_text_length"] / (found["average_text_length"] or 1)
        characters = found["average_text_length"] * found["unique_texts"]
        yield _Column(roles[min(place, len(roles) - 1)], total, found["unique_texts"], characters)


def _first(column: _Column, max_instances: int | None) -> _Column:
    """What `max_instances` leaves of a column; training rows are never cut."""
    if max_instances is None or column.is_train:
        return column
    return _share(column, min(1.0, max_instances * column.subsets / column.distinct))


def _share(column: _Column, share: float) -> _Column:
    return column._replace(
        texts=column.texts * share,
        distinct=column.distinct * share,
        characters=column.characters * share,
    )


def _train_share(part: Mapping[str, Any], task: Task) -> float:
    """Share of the train rows that at least one of mteb's experiments draws."""
    labels: Mapping[str, Any] = next(
        (
            found["labels"]
            for found in part.values()
            if isinstance(found, dict) and "labels" in found
        ),
        {},
    )
    counts = [found["count"] for found in labels.values()]
    if not counts:
        return 1.0
    read = sum(
        count * (1 - (1 - min(1.0, task.samples_per_label / count)) ** task.n_experiments)
        for count in counts
    )
    return float(read / sum(counts))


def _test_share(column: _Column, task: Task) -> float:
    """Share of the rows that mteb takes of a clustering or a large multilabel split."""
    most = getattr(task, "max_document_to_embed", None) or getattr(task, "max_eval_samples", None)
    share = getattr(task, "max_fraction_of_documents_to_embed", None) or 1.0
    return min(1.0, share, (most or column.texts) / max(column.texts, 1))
