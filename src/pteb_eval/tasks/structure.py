"""The seam between a task and its texts.

A *slot* says where a text stands in a task. A *structure* knows one shape of task: it lists the
slots, makes the task with other texts in them, and makes the task without some instances. With it,
run k of a task is the task with each slot's text replaced by paraphrase k of that text.
"""

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol


class Instance(NamedTuple):
    """The unit that is scored and, if a paraphrase of it failed, left out.

    A pair, a row, a query, a cluster item or a summarised text, depending on the structure.

    Attributes:
        subset: mteb's subset, usually a language or language pair; `default` where there is none.
        split: the split of the data set.
        row: id within the split: the row's number in the data set, or the query's own id; it stays
            the same when other instances are left out.
        part: empty for what is scored; `train` and `document` name what the scored ones lean on: a
            row of the train split, a document of the corpus. These can be left out too, but are
            never among `Structure.instances`, so they do not count as instances lost.
    """

    subset: str
    split: str
    row: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a text stands.

    Attributes:
        subset: as in `Instance`.
        split: as in `Instance`.
        role: column or role, such as `sentence1`, `text`, `query`, `document`.
        row: id within the split and role: the row's number, the query's or the document's id.
        position: place in a list cell; 0 where the cell holds one text.
    """

    subset: str
    split: str
    role: str
    row: str
    position: int = 0


@dataclass(frozen=True, slots=True)
class ModelInput:
    """One text as an evaluator hands it to a model.

    Attributes:
        text: the text after mteb's own joining of fields (title and body, query and instruction).
        prompt_type: `query`, `document` or None, as mteb passes it to `encode`.
        subset: as in `Instance`.
        split: as in `Instance`.
    """

    text: str
    prompt_type: str | None
    subset: str
    split: str


Task = Any  # mteb.AbsTask: mteb is imported where it is needed, not here


class Structure(Protocol):
    """One shape of task. Nothing here changes the task it is given: the results are copies."""

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that its slots can have."""
        ...

    def slots(self, task: Task) -> Iterator[tuple[Slot, str]]:
        """Every slot whose text the evaluator reads and that is not blank, each once.

        Covers all evaluated subsets and splits, and those rows of the train split that mteb's
        undersampling picks: the rest would cost paraphrases that no score depends on.
        """
        ...

    def replaced(self, task: Task, new_text: Callable[[Slot, str], str]) -> Task:
        """A copy of the task in which each slot's text is `new_text(slot, text)`.

        The copy has the samples of `task`, or draws the same.
        """
        ...

    def instances(self, task: Task) -> list[Instance]:
        """All instances of the evaluated subsets and splits, in the data set's order."""
        ...

    def instance_of(self, task: Task, slot: Slot) -> tuple[Instance, ...]:
        """What must be left out if this slot's text has no paraphrase: see `Instance.part`."""
        ...

    def without(self, task: Task, excluded: Set[Instance]) -> Task:
        """A copy of the task without these instances."""
        ...

    def inputs(self, task: Task) -> Iterator[ModelInput]:
        """Every text that the evaluator will ask a model to encode, repeats included."""
        ...
