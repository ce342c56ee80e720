"""Tasks whose rows hold one text per column: STS, pair classification, classification."""

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pteb_eval.tasks.copies import (
    copy_task,
    evaluated,
    keep_rows,
    positions,
    row_numbers,
    splits_of,
    with_column,
)
from pteb_eval.tasks.sampling import pinned
from pteb_eval.tasks.structure import Instance, ModelInput, Slot, Task


class Read(NamedTuple):
    """One pass of an evaluator over the rows of a split; `rows` are places in the split."""

    subset: str
    split: str
    rows: Sequence[int]
    scored: bool = True


@dataclass(frozen=True)
class Flat:
    """Rows with a text in each of some columns; every row of the evaluated splits is scored.

    Attributes:
        roles: the text columns, in the order in which the evaluator encodes them.
        prompt_types: what mteb passes as prompt type for each.
    """

    roles: tuple[str, ...]
    prompt_types: tuple[str | None, ...]

    def data(self, task: Task, subset: str, split: str) -> Any:
        """The rows of a split as a `datasets.Dataset`."""
        return splits_of(task, subset)[split]

    def stored(self, data: Any) -> Any:
        """Rows in the shape in which mteb wants them back."""
        return data

    def reads(self, task: Task) -> Iterator[Read]:
        """What the evaluator reads, in its order."""
        for subset, split in evaluated(task):
            yield Read(subset, split, range(len(self.data(task, subset, split))))

    def texts(self, cell: Any) -> Sequence[str]:
        """The texts of a cell."""
        return [cell]

    def cell(self, texts: list[str]) -> Any:
        """A cell of these texts."""
        return texts[0]

    def slots(self, task: Task) -> Iterator[tuple[Slot, str]]:
        """See `Structure.slots`."""
        task = pinned(task)
        for (subset, split), rows in self._rows_by_split(task).items():
            data = self.data(task, subset, split)
            numbers = row_numbers(task, subset, split, len(data))
            for role in self.roles:
                cells = data[role][:]
                for row in rows:
                    for position, text in enumerate(self.texts(cells[row])):
                        if text.strip():
                            yield Slot(subset, split, role, str(numbers[row]), position), text

    def replaced(self, task: Task, new_text: Callable[[Slot, str], str]) -> Task:
        """See `Structure.replaced`."""
        task = pinned(task)
        new = copy_task(task)
        for (subset, split), rows in self._rows_by_split(task).items():
            old = data = self.data(task, subset, split)
            numbers = row_numbers(task, subset, split, len(data))
            for role in self.roles:
                cells = data[role][:]
                for row in rows:
                    slot = Slot(subset, split, role, str(numbers[row]))
                    texts = renewed(slot, self.texts(cells[row]), new_text)
                    cells[row] = self.cell(texts)
                data = with_column(data, role, cells)
            if data is not old:
                splits_of(new, subset)[split] = self.stored(data)
        return new

    def instances(self, task: Task) -> list[Instance]:
        """See `Structure.instances`."""
        task = pinned(task)
        found = []
        for subset, split, rows, scored in self.reads(task):
            if scored:
                numbers = row_numbers(task, subset, split, len(self.data(task, subset, split)))
                found += [Instance(subset, split, str(numbers[row])) for row in rows]
        return found

    def instance_of(self, task: Task, slot: Slot) -> tuple[Instance, ...]:
        """The slot's row, or train row. See `Structure.instance_of`."""
        part = "" if slot.split in task.eval_splits else "train"
        return (Instance(slot.subset, slot.split, slot.row, part),)

    def without(self, task: Task, excluded: Set[Instance]) -> Task:
        """See `Structure.without`."""
        task = pinned(task)
        new = copy_task(task)
        gone: dict[tuple[str, str], set[str]] = {}
        for instance in excluded:
            gone.setdefault((instance.subset, instance.split), set()).add(instance.row)
        for (subset, split), rows in gone.items():
            data = self.data(task, subset, split)
            numbers = row_numbers(task, subset, split, len(data))
            places = [place for place, number in enumerate(numbers) if str(number) not in rows]
            splits_of(new, subset)[split] = self.stored(data.select(places))
            keep_rows(new, subset, split, [numbers[place] for place in places])
        return new

    def inputs(self, task: Task) -> Iterator[ModelInput]:
        """See `Structure.inputs`."""
        task = pinned(task)
        for subset, split, rows, _ in self.reads(task):
            data = self.data(task, subset, split)
            for role, prompt_type in zip(self.roles, self.prompt_types, strict=True):
                cells = data[role][:]
                for row in rows:
                    for text in self.texts(cells[row]):
                        yield ModelInput(text, prompt_type, subset, split)

    def _rows_by_split(self, task: Task) -> dict[tuple[str, str], list[int]]:
        """Rows read of each split, which may be both the train and the test split."""
        found: dict[tuple[str, str], set[int]] = {}
        for subset, split, rows, _ in self.reads(task):
            found.setdefault((subset, split), set()).update(rows)
        return {part: sorted(rows) for part, rows in found.items()}


class Pairs(Flat):
    """Pair classification, whose splits may hold all pairs in the lists of one single row."""

    def data(self, task: Task, subset: str, split: str) -> Any:
        """One row per pair, as mteb makes it."""
        from datasets import Dataset

        data = splits_of(task, subset)[split]
        if len(data) == 1 and isinstance(data[0][self.roles[0]], list):
            return Dataset.from_dict(data[0])
        return data

    def stored(self, data: Any) -> Any:
        """A single pair goes back into the one-row shape: mteb takes any single row for it."""
        from datasets import Dataset

        if len(data) == 1:
            return Dataset.from_list([{name: [value] for name, value in data[0].items()}])
        return data


class Trained(Flat):
    """Classification and regression: a classifier is trained on a sample of the train split."""

    def reads(self, task: Task) -> Iterator[Read]:
        """The train sample of all experiments, then the test rows, for each subset and split."""
        for subset, split in evaluated(task):
            if not task.is_cross_validation:
                train = self.data(task, subset, task.train_split)
                wanted = task.train_rows(subset)
                rows = positions(task, subset, task.train_split, wanted, len(train))
                yield Read(subset, task.train_split, rows, scored=False)
            yield Read(subset, split, range(len(self.data(task, subset, split))))


class Summaries(Flat):
    """Summarization: each row holds lists of summaries and is scored as one."""

    def texts(self, cell: Any) -> Sequence[str]:
        """The summaries of a cell."""
        return cell  # type: ignore[no-any-return]

    def cell(self, texts: list[str]) -> Any:
        """A list of summaries."""
        return texts


class Clusters(Flat):
    """Clustering of one text per row, of which mteb may take a sample."""

    def reads(self, task: Task) -> Iterator[Read]:
        """The sampled rows, in the order of the sample."""
        for subset, split in evaluated(task):
            n_rows = len(self.data(task, subset, split))
            yield Read(subset, split, task.sampled_rows(subset, split, n_rows))


class MultilabelTrained(Trained):
    """Multilabel classification, which samples large test splits, too."""

    def reads(self, task: Task) -> Iterator[Read]:
        """The train sample of all experiments, then the sampled test rows."""
        for subset, split in evaluated(task):
            train = self.data(task, subset, task.train_split)
            wanted = task.train_rows(subset, split)
            rows = positions(task, subset, task.train_split, wanted, len(train))
            yield Read(subset, task.train_split, rows, scored=False)
            n_rows = len(self.data(task, subset, split))
            yield Read(subset, split, task.sampled_rows(subset, split, n_rows))


class ZeroShot(Flat):
    """Zero-shot classification: the texts are slots; the candidate labels are kept as they are.

    A label is a name that the evaluation compares with, not something that somebody wrote.
    """

    def inputs(self, task: Task) -> Iterator[ModelInput]:
        """The candidate labels and the texts, for each subset and split."""
        for subset, split in evaluated(task):
            for label in task.get_candidate_labels():
                yield ModelInput(label, None, subset, split)
        yield from super().inputs(task)


def renewed(slot: Slot, texts: Sequence[str], new_text: Callable[[Slot, str], str]) -> list[str]:
    """The texts of a cell after `new_text`; blank ones are no slots and stay."""
    return [
        new_text(replace(slot, position=position), text) if text.strip() else text
        for position, text in enumerate(texts)
    ]


def prompt_type(value: Any) -> str | None:
    """`query`, `document` or None for mteb's `PromptType`."""
    return None if value is None else str(value.value)
