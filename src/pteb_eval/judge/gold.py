"""Pairs of texts that people rated: what a judge is held against."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from pteb_eval.errors import UserError
from pteb_eval.judge.ratings import HIGHEST
from pteb_eval.progress import say
from pteb_eval.provenance import stamp
from pteb_eval.store import write_table
from pteb_eval.tasks.copies import evaluated
from pteb_eval.tasks.flat import Flat
from pteb_eval.tasks.load import load_task, structure_for

SCHEMA = pa.schema(
    [
        ("subset", pa.string()),
        ("split", pa.string()),
        ("row", pa.string()),
        ("first", pa.string()),
        ("second", pa.string()),
        ("gold", pa.float64()),
    ]
)


def run(settings: dict[str, Any], code: str, output: Path) -> None:
    """Write the pairs of an STS or pair classification task.

    Args:
        settings: `task` (what `load_task` takes), `max_instances`: first so many pairs of each
            subset and split, or None.
        code: fingerprint of this module.
        output: the Parquet file to write, columns as in `SCHEMA`. `gold` is put on the scale from 0
            to 5 by the least and greatest score of the task; of pair classification it is 5 for
            pairs that belong together and 0 for the others, and the metadata's `graded` is false.

    Raises:
        UserError: if the task has no such pairs.
    """
    from mteb import abstasks

    task = load_task(settings["task"])
    if isinstance(task, abstasks.AbsTaskSTS):
        column, low, high = "score", float(task.min_score), float(task.max_score)
    elif isinstance(task, abstasks.AbsTaskPairClassification):
        column, low, high = task.label_column_name, 0.0, 1.0
    else:
        raise UserError(
            f"validate_judge: {task.metadata.name} is of type {task.metadata.type}: pairs with "
            "gold are needed, an STS or pair classification task"
        )
    rows = list(_pairs(task, column, low, high, settings["max_instances"]))
    say(f"judge: {len(rows)} pairs with gold from {task.metadata.name}")
    about = {
        "task": task.metadata.name,
        "task_revision": task.metadata.dataset["revision"],
        "graded": isinstance(task, abstasks.AbsTaskSTS),
    }
    write_table(output, pa.Table.from_pylist(rows, SCHEMA), stamp("judge", settings, code, **about))


def _pairs(
    task: Any, column: str, low: float, high: float, limit: int | None
) -> Iterator[dict[str, Any]]:
    structure = structure_for(task)
    assert isinstance(structure, Flat)  # as both types of task are
    for subset, split in evaluated(task):
        data = structure.data(task, subset, split)
        columns = [data[name][:limit] for name in (*structure.roles, column)]
        for row, (first, second, gold) in enumerate(zip(*columns, strict=True)):
            if first.strip() and second.strip():
                yield {
                    "subset": subset,
                    "split": split,
                    "row": str(row),
                    "first": first,
                    "second": second,
                    "gold": HIGHEST * (float(gold) - low) / (high - low),
                }
