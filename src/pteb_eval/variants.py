"""Run k of a task: the task with each text in scope replaced by its paraphrase k."""

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pteb_eval.errors import UserError
from pteb_eval.ids import text_id
from pteb_eval.store import provenance_of, read_table
from pteb_eval.tasks import Instance, Slot, Structure
from pteb_eval.tasks.load import load_task, structure_for

OK = "ok"


@dataclass(frozen=True)
class Variants:
    """A task, what of it is reworded, and the paraphrases.

    Attributes:
        task: the loaded mteb task.
        structure: the structure of the task.
        reworded: the slots in scope.
        paraphrases: paraphrase by (text id, run); failed ones are absent.
        runs: numbers of the runs.
    """

    task: Any
    structure: Structure
    reworded: Set[Slot]
    paraphrases: dict[tuple[str, int], str]
    runs: tuple[int, ...]

    def run(self, run: int, excluded: Set[Instance] = frozenset()) -> Any:
        """The task of one run, without the excluded instances.

        A text whose paraphrase failed stays as it is; to leave its instance out is up to the
        caller.
        """

        def new_text(slot: Slot, text: str) -> str:
            if slot not in self.reworded:
                return text
            return self.paraphrases.get((text_id(text), run), text)

        return self.structure.replaced(self.original(excluded), new_text)

    def all_runs(self) -> Iterator[Any]:
        """The compared instances of each run in turn, failed ones included."""
        return (self.run(run, self.outside()) for run in self.runs)

    def outside(self) -> set[Instance]:
        """The instances that are not compared, since none of their texts is in scope."""
        return set(self.structure.instances(self.task)) - self.selected()

    def original(self, excluded: Set[Instance] = frozenset()) -> Any:
        """The task with its own texts, without the excluded instances."""
        return self.structure.without(self.task, excluded) if excluded else self.task

    def failed(self) -> set[Instance]:
        """The instances that have a text in scope without a paraphrase in some run."""
        missing: set[Instance] = set()
        for slot, text in self.structure.slots(self.task):
            if slot not in self.reworded:
                continue
            identity = text_id(text)
            if any((identity, run) not in self.paraphrases for run in self.runs):
                missing.update(self.structure.instance_of(self.task, slot))
        return missing

    def selected(self) -> set[Instance]:
        """The instances that have a text in scope: those that are compared."""
        return {
            instance
            for slot in self.reworded
            for instance in self.structure.instance_of(self.task, slot)
        }


def reworded_slots(texts: pa.Table) -> set[Slot]:
    """The slots that the texts table marks as in scope."""
    return {
        Slot(slot["subset"], slot["split"], slot["role"], slot["row"], slot["position"])
        for slots in texts["slots"].to_pylist()
        for slot in slots
        if slot["reworded"]
    }


def usable_paraphrases(rows: pa.Table) -> tuple[dict[tuple[str, int], str], tuple[int, ...]]:
    """Paraphrases with status `ok` by (text id, run), and the numbers of all runs in the table."""
    usable = {}
    runs: set[int] = set()
    columns: Iterable[tuple[Any, ...]] = zip(
        *(rows[name].to_pylist() for name in ("text_id", "run", "paraphrase", "status")),
        strict=True,
    )
    for identity, run, paraphrase, status in columns:
        runs.add(run)
        if status == OK:
            usable[identity, run] = paraphrase
    return usable, tuple(sorted(runs))


def load_variants(task_settings: dict[str, Any], texts: Path, paraphrases: Path | None) -> Variants:
    """Load a task with its texts file and, if given, its paraphrases file.

    Raises:
        UserError: if the task's data is not what the texts file was made from.
    """
    task = load_task(task_settings)
    table = read_table(texts)
    made_from = provenance_of(table.schema)["task_revision"]
    if made_from != task.metadata.dataset["revision"]:
        raise UserError(
            f"task {task.metadata.name}: its data changed since {texts} was made; run fetch again"
        )
    usable, runs = usable_paraphrases(read_table(paraphrases)) if paraphrases else ({}, ())
    return Variants(task, structure_for(task), reworded_slots(table), usable, runs)
