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
from pteb_eval.tasks.copies import copy_task, evaluated, positions, splits_of
from pteb_eval.tasks.structure import Task


def pinned(task: Task) -> Task:
    """The task with its samples drawn; the task itself if there is nothing left to draw."""
    from mteb.abstasks import (
        AbsTaskClassification,
        AbsTaskClustering,
        AbsTaskMultilabelClassification,
    )

    if isinstance(task, _Pinned):
        return task
    if isinstance(task, AbsTaskClustering):
        return _pin(task, _PinnedClustering)
    if isinstance(task, AbsTaskMultilabelClassification):
        return _pin(task, _PinnedMultilabel)
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


class _PinnedMultilabel(_Pinned):
    """Train rows of each experiment, and the test rows or None for all, by subset and split."""

    @staticmethod
    def draw(task: Task) -> dict[tuple[str, str], tuple[list[list[int]], list[int] | None]]:
        task = copy_task(task)  # each subset's draw moves the random state on
        pins = {}
        for subset, split in evaluated(task):
            labels = splits_of(task, subset)[task.train_split][task.label_column_name][:]
            experiments = []
            for _ in range(task.n_experiments):
                chosen, _ = task._undersample_data_indices(labels, task.samples_per_label, None)
                experiments.append([int(row) for row in chosen])
            pins[subset, split] = experiments, _multilabel_test_rows(task, subset, split)
        return pins

    def train_rows(self: Task, subset: str, split: str) -> list[int]:
        """Row numbers of the union of all experiments."""
        return sorted(set().union(*self.pins[subset, split][0]))

    def sampled_rows(self: Task, subset: str, split: str, n_rows: int) -> Sequence[int]:
        """Places of the test rows that are scored."""
        rows = self.pins[subset, split][1]
        return range(n_rows) if rows is None else positions(self, subset, split, rows, n_rows)

    def _evaluate_subset(self: Task, model: Any, data_split: Any, **kwargs: Any) -> Any:
        from datasets import DatasetDict

        subset, split = kwargs["hf_subset"], kwargs["hf_split"]
        n_train = len(data_split[self.train_split])
        self.experiments = iter(
            [
                positions(self, subset, self.train_split, wanted, n_train)
                for wanted in self.pins[subset, split][0]
            ]
        )
        if self.pins[subset, split][1] is None:
            return super()._evaluate_subset(model, data_split, **kwargs)  # type: ignore[misc]
        test = data_split[split].select(self.sampled_rows(subset, split, len(data_split[split])))
        train, name = data_split[self.train_split], self.train_split
        self.max_eval_samples = None
        if split == name:  # trained on the whole split, tested on its cut
            self.train_split = f"{name} (train)"
        try:
            parts = DatasetDict({self.train_split: train, split: test})
            return super()._evaluate_subset(model, parts, **kwargs)  # type: ignore[misc]
        finally:
            self.train_split = name

    def _undersample_data_indices(
        self: Task, y: Any, samples_per_label: int, idxs: Any = None
    ) -> tuple[list[int], list[int]]:
        return next(self.experiments), []


def _multilabel_test_rows(task: Task, subset: str, split: str) -> list[int] | None:
    """Rows that mteb cuts a large test split to; None where it takes all."""
    from datasets import Dataset, DatasetDict
    from mteb.abstasks.abstask import _multilabel_subsampling

    labels = splits_of(task, subset)[split][task.label_column_name][:]
    limit = task.max_eval_samples
    if limit is None or len(labels) <= limit:
        return None
    numbered = Dataset.from_dict({"label": labels, "row": list(range(len(labels)))})
    cut = _multilabel_subsampling(
        DatasetDict({split: numbered}), seed=task.seed, splits=[split], n_samples=limit
    )
    return list(cut[split]["row"][:])


class _PinnedClustering(_Pinned):
    """Rows of the sample and the random state after it was drawn, by subset and split."""

    @staticmethod
    def draw(task: Task) -> dict[tuple[str, str], tuple[list[int], Any]]:
        random = copy_task(task).rng_state
        pins = {}
        for subset, split in evaluated(task):
            data = splits_of(task, subset)[split]
            size = _sample_size(task, len(data))
            rows = list(range(len(data))) if size is None else random.sample(range(len(data)), size)
            pins[subset, split] = rows, random.getstate()
            labels = data.select(rows)[task.label_column_name]
            levels = max(
                (len(label) if isinstance(label, list) else 1 for label in labels), default=0
            )
            if task.max_depth is not None:
                levels = min(task.max_depth, levels)
            # One random number per document of each bootstrapped clustering: `random.choices`.
            for _ in range(levels * task.n_clusters * task.max_documents_per_cluster):
                random.random()
        return pins

    def sampled_rows(self: Task, subset: str, split: str, n_rows: int) -> Sequence[int]:
        """Places of the rows that are embedded and clustered, in the order of the sample."""
        return positions(self, subset, split, self.pins[subset, split][0], n_rows)

    def _evaluate_subset(self: Task, model: Any, data_split: Any, **kwargs: Any) -> Any:
        subset, split = kwargs["hf_subset"], kwargs["hf_split"]
        rows = self.sampled_rows(subset, split, len(data_split))
        self.rng_state.setstate(self.pins[subset, split][1])
        self.max_fraction_of_documents_to_embed = self.max_document_to_embed = None
        return super()._evaluate_subset(model, data_split.select(rows), **kwargs)  # type: ignore[misc]


def _sample_size(task: Task, n_rows: int) -> int | None:
    """How many documents mteb embeds, None for all in their order."""
    if task.max_fraction_of_documents_to_embed is not None:
        return min(n_rows, int(task.max_fraction_of_documents_to_embed * n_rows))
    if task.max_document_to_embed is not None:
        return min(n_rows, int(task.max_document_to_embed))
    return None


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
