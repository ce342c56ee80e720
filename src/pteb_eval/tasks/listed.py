"""Tasks whose rows hold lists or several languages: legacy clustering and bitext mining."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pteb_eval.errors import UserError
from pteb_eval.tasks.copies import evaluated, splits_of
from pteb_eval.tasks.flat import Flat, Read
from pteb_eval.tasks.structure import Instance, ModelInput, Slot, Task

_SET = "pteb_set"  # which cluster set an item is of, while the sets are taken apart


@dataclass(frozen=True)
class ClusterSets(Flat):
    """Legacy clustering: each row is a set of items to cluster, in lists of texts and labels.

    An instance is an item; items are numbered through all sets of a split, in their order.
    """

    label_column: str = "labels"

    def data(self, task: Task, subset: str, split: str) -> Any:
        """One row per item."""
        from datasets import Dataset

        sets = splits_of(task, subset)[split]
        columns: dict[str, list[Any]] = {self.roles[0]: [], self.label_column: [], _SET: []}
        for number, (texts, labels) in enumerate(
            zip(sets[self.roles[0]], sets[self.label_column], strict=True)
        ):
            columns[self.roles[0]] += texts
            columns[self.label_column] += labels
            columns[_SET] += [number] * len(texts)
        return Dataset.from_dict(columns)

    def stored(self, data: Any) -> Any:
        """The items put back into their sets; a set without items is gone."""
        from datasets import Dataset

        sets: dict[int, tuple[list[str], list[Any]]] = {}
        for text, label, number in zip(
            data[self.roles[0]], data[self.label_column], data[_SET], strict=True
        ):
            texts, labels = sets.setdefault(number, ([], []))
            texts.append(text)
            labels.append(label)
        return Dataset.from_dict(
            {
                self.roles[0]: [texts for texts, _ in sets.values()],
                self.label_column: [labels for _, labels in sets.values()],
            }
        )

    def reads(self, task: Task) -> Iterator[Read]:
        """All items but those of sets with a single label, which mteb scores 1 without a look."""
        for subset, split in evaluated(task):
            rows: list[int] = []
            start = 0
            for labels in splits_of(task, subset)[split][self.label_column]:
                if len(set(labels)) > 1:
                    rows += range(start, start + len(labels))
                start += len(labels)
            yield Read(subset, split, rows)


class Bitext(Flat):
    """Bitext mining of sentence pairs, one language pair per subset."""

    def data(self, task: Task, subset: str, split: str) -> Any:
        """One row per pair, also where the task holds two lists and says that they run in step."""
        from datasets import Dataset

        data = splits_of(task, subset)[split]
        if not isinstance(data, dict):
            return data
        columns = {role: data[role] for role in self.roles}
        n_rows = len(columns[self.roles[0]])
        if any(len(texts) != n_rows for texts in columns.values()) or data["gold"] != [
            (row, row) for row in range(n_rows)
        ]:
            raise UserError(
                f"{task.metadata.name}: its two sides are lists of different lengths, so a "
                f"sentence cannot be left out with its translation: choose "
                f"{task.superseded_by or 'a task of sentence pairs'}"
            )
        return Dataset.from_dict(columns)


class ParallelBitext(Bitext):
    """Bitext mining of one text in many languages: a column per language, a subset per pair.

    The pairs share the rows, so a row that cannot be scored in one pair is left out of all.
    """

    def reads(self, task: Task) -> Iterator[Read]:
        """All rows of each split, once for all pairs."""
        for split in task.eval_splits:
            yield Read("parallel", split, range(len(self.data(task, "parallel", split))))

    def instances(self, task: Task) -> list[Instance]:
        """One per row and pair of languages."""
        return [
            Instance(pair, shared.split, shared.row)
            for pair in task.hf_subsets
            for shared in super(ParallelBitext, self).instances(task)
        ]

    def instance_of(self, task: Task, slot: Slot) -> tuple[Instance, ...]:
        """The slot's row in every pair."""
        return tuple(Instance(pair, slot.split, slot.row) for pair in task.hf_subsets)

    def without(self, task: Task, excluded: Any) -> Task:
        """See `Structure.without`."""
        shared = {instance._replace(subset="parallel") for instance in excluded}
        return super().without(task, shared)

    def inputs(self, task: Task) -> Iterator[ModelInput]:
        """Each language once; mteb gives the language's name as the subset."""
        for _, split, rows, _ in self.reads(task):
            data = self.data(task, "parallel", split)
            for role in self.roles:
                for text in data.select(rows)[role]:
                    yield ModelInput(text, None, role, split)


def languages_of(pairs: Sequence[str]) -> tuple[str, ...]:
    """The columns of parallel subsets, which mteb names `eng_Latn-fra_Latn`."""
    return tuple(dict.fromkeys(language for pair in pairs for language in pair.split("-")))
