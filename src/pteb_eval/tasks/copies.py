"""Copies of tasks: the same task with other data, and which rows of the data set it still has."""

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from pteb_eval.tasks.structure import Task


def evaluated(task: Task) -> Iterator[tuple[str, str]]:
    """Subset and split of everything that is scored, in the order in which mteb scores it."""
    for split in task.eval_splits:
        for subset in task.hf_subsets:
            yield subset, split


def copy_task(task: Task) -> Task:
    """A copy that can be given other data and be evaluated without a trace in `task`."""
    new = copy.copy(task)
    new.rng_state, new.np_rng = copy.deepcopy((task.rng_state, task.np_rng))
    new.dataset = _copy_containers(task.dataset, depth=3)
    return new


def _copy_containers(node: Any, depth: int) -> Any:
    if depth == 0 or not isinstance(node, dict):
        return node
    new = copy.copy(node)
    for key, value in node.items():
        new[key] = _copy_containers(value, depth - 1)
    return new


def splits_of(task: Task, subset: str) -> Any:
    """The mapping from split to data of one subset, found as mteb finds it."""
    if subset not in task.dataset and subset in ("default", "parallel"):
        return task.dataset
    return task.dataset[subset]


def row_numbers(task: Task, subset: str, split: str, n_rows: int) -> Sequence[int]:
    """The data set's own numbers of the rows that the task holds, in their order."""
    kept: dict[tuple[str, str], list[int]] = task.__dict__.get("kept_rows", {})
    return kept.get((subset, split), range(n_rows))


def keep_rows(task: Task, subset: str, split: str, numbers: Sequence[int]) -> None:
    """Note in a copy which rows it holds, so that ids stay the same when rows are left out."""
    kept = task.__dict__.get("kept_rows", {})
    task.kept_rows = {**kept, (subset, split): list(numbers)}


def positions(
    task: Task, subset: str, split: str, numbers: Sequence[int], n_rows: int
) -> list[int]:
    """Where these rows of the data set now stand in the task; rows left out are passed over."""
    kept = row_numbers(task, subset, split, n_rows)
    if isinstance(kept, range):
        return list(numbers)
    place = {number: position for position, number in enumerate(kept)}
    return [place[number] for number in numbers if number in place]


def with_column(data: Any, name: str, values: list[Any]) -> Any:
    """A `datasets.Dataset` with one column's values exchanged, type and order of columns kept.

    The same object if the values are the same: a corpus that is not reworded is not copied.
    """
    import pyarrow as pa
    from datasets import Dataset

    if values == data[name][:]:
        return data
    table = data.with_format("arrow")[:]
    index = table.schema.get_field_index(name)
    field = table.schema.field(index)
    return Dataset(table.set_column(index, field, pa.array(values, type=field.type)))
