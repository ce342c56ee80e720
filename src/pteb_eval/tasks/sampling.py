"""Which rows mteb would sample, drawn once and pinned to the task.

mteb undersamples train splits and downsamples clusterings while it scores. Drawn again after some
instances were left out, the samples would hold texts that nobody reworded; and what one subset
draws would depend on the subsets before it. A pinned task draws what mteb draws, once, and every
copy of it keeps that: the original and all runs, in any order, score the same rows.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from pteb_eval.errors import UserError
from pteb_eval.tasks.copies import copy_task, positions, splits_of
from pteb_eval.tasks.structure import Task


def pinned(task: Task) -> Task:
    """The task with its samples drawn; the task itself if there is nothing left to draw."""
    from mteb.abstasks import AbsTaskClassification

    if isinstance(task, _Pinned):
        return task
    if isinstance(task, AbsTaskClassification) and not task.is_cross_validation:
        return _pin(task, _PinnedClassification)
    return task


class _Pinned:
    pins: dict[Any, Any]


def _pin(task: Task, mixin: Any) -> Task:
    new: Task = object.__new__(_combined(mixin, task.__class__))
    new.__dict__.update(vars(copy_task(task)), pins=mixin.draw(task))
    return new


@cache
def _combined(mixin: Any, cls: Any) -> Any:
    return type(cls.__name__, (mixin, cls), {"__module__": cls.__module__, "__doc__": cls.__doc__})


class _PinnedClassification(_Pinned):
    """Train rows of each experiment, by subset. Regression, too, is classification to mteb."""

    @staticmethod
    def draw(task: Task) -> dict[str, list[list[int]]]:
        pins = {}
        for subset in task.hf_subsets:
            train = _rows_with_labels(task, splits_of(task, subset)[task.train_split])
            order: list[int] | None = None
            experiments = []
            for experiment in range(task.n_experiments):
                _, order, chosen = task._undersample_data(train, experiment, order)
                experiments.append([int(row) for row in chosen])
            pins[subset] = experiments
        return pins

    def train_rows(self: Task, subset: str) -> list[int]:
        """Row numbers of the union of all experiments, as mteb encodes them."""
        return sorted(set().union(*self.pins[subset]))

    def _evaluate_subset(self: Task, model: Any, data_split: Any, **kwargs: Any) -> Any:
        self.subset_in_turn = kwargs["hf_subset"]
        return super()._evaluate_subset(model, data_split, **kwargs)  # type: ignore[misc]

    def _undersample_data(
        self: Task, dataset: Any, experiment_num: int, idxs: list[int] | None = None
    ) -> tuple[Any, list[int], list[int]]:
        subset = self.subset_in_turn
        wanted = self.pins[subset][experiment_num]
        rows = positions(self, subset, self.train_split, wanted, len(dataset))
        chosen = dataset.select(rows)
        if len(wanted) > len(rows) and len(set(chosen[self.label_column_name])) < 2:
            raise UserError(
                f"{self.metadata.name}: too few training rows are left in experiment "
                f"{experiment_num} of subset {subset!r} after failed paraphrases were left out: "
                "use a generator that fails less, or on_failure: substitute"
            )
        return chosen, [], rows


class _Labels:
    """Just enough of a data set for mteb's undersampling, which reads labels one at a time."""

    def __init__(self, labels: Sequence[Any]) -> None:
        self.labels = list(labels)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, column: str) -> list[Any]:
        return self.labels

    def select(self, rows: Sequence[int]) -> None:
        """The rows themselves are of no use here."""


def _rows_with_labels(task: Task, train: Any) -> Any:
    from mteb.abstasks import AbsTaskClassification

    if type(task)._undersample_data is AbsTaskClassification._undersample_data:
        return _Labels(train[task.label_column_name])
    return train
