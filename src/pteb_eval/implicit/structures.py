"""Which texts of the suite's tasks are reworded: what somebody wrote, never an answer option.

An option is a name that the evaluation compares with. It is encoded as it stands.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pteb_eval.implicit.rows import DEV
from pteb_eval.tasks.copies import evaluated, splits_of
from pteb_eval.tasks.flat import Flat, Read
from pteb_eval.tasks.structure import ModelInput, Task


@dataclass(frozen=True)
class WithOptions(Flat):
    """Rows of a text and of options that are kept: one in a cell, or a list.

    Attributes:
        kept: the column of the options.
    """

    kept: str = "options"

    def reads(self, task: Task) -> Iterator[Read]:
        """The development rows, if thresholds are chosen on them, then the scored ones."""
        for subset, split in evaluated(task):
            if DEV in splits_of(task, subset):
                rows = range(len(self.data(task, subset, DEV)))
                yield Read(subset, DEV, rows, scored=False)
            yield Read(subset, split, range(len(self.data(task, subset, split))))

    def inputs(self, task: Task) -> Iterator[ModelInput]:
        """The options, then the texts. See `Structure.inputs`."""
        for subset, split, _, _ in self.reads(task):
            for cell in self.data(task, subset, split)[self.kept]:
                for option in [cell] if isinstance(cell, str) else cell:
                    yield ModelInput(option, None, subset, split)
        yield from super().inputs(task)
