"""Attention checks: pairs whose rating is known and clear, mixed with the others."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pteb_eval.errors import UserError
from pteb_eval.ids import digest
from pteb_eval.tasks.files.tables import read_table
from pteb_eval.workflow import Workflow
from pteb_eval.workflow_judges import task_settings

CLEAR = (0, 5, 1, 4)
"""Ratings that a check may have, those first that leave least to guess."""
TOLERANCE = 1.0
"""A rating this far from the known one passes."""


class Check(NamedTuple):
    """A pair of known rating, 0 to 5."""

    first: str
    second: str
    gold: float


def draw_checks(flow: Workflow, source: str, n: int, seed: int) -> list[Check]:
    """Draw checks from rated pairs, as many of each clear rating as there are.

    Args:
        flow: the run, among whose STS tasks `source` may be.
        source: an STS task of the configuration, or a data file with the columns `sentence1`,
            `sentence2` and `score` from 0 to 5.
        n: how many.
        seed: decides which.

    Raises:
        UserError: if the source cannot be read or has too few clear pairs.
    """
    if n == 0:
        return []
    pairs = _of_task(flow, source) if source in flow.tasks else _of_file(Path(source))
    levels: dict[int, list[Check]] = {level: [] for level in CLEAR}
    for pair in sorted(set(pairs), key=lambda pair: digest([seed, *pair])):
        if pair.first != pair.second and pair.gold in levels:
            levels[int(pair.gold)].append(pair)
    turns = [
        (turn, place, check)
        for place, level in enumerate(CLEAR)
        for turn, check in enumerate(levels[level])
    ]
    if len(turns) < n:
        raise UserError(
            f"{source}: {len(turns)} pairs are rated exactly 0, 1, 4 or 5 of 5, and --checks wants "
            f"{n}: lower --checks, or name another file or task with --checks-from"
        )
    return [check for _, _, check in sorted(turns)[:n]]


def _of_file(path: Path) -> Iterator[Check]:
    table = read_table(path)
    first, second = table.texts("sentence1"), table.texts("sentence2")
    for left, right, (cell, place) in zip(first, second, table.cells("score"), strict=True):
        yield Check(left, right, table.number(cell, "score", place, 0, 5))


def _of_task(flow: Workflow, name: str) -> Iterator[Check]:
    from pteb_eval.tasks.copies import evaluated, splits_of
    from pteb_eval.tasks.load import load_task

    task = load_task(task_settings(flow.tasks[name]))
    if task.metadata.type != "STS":
        raise UserError(
            f"--checks-from {name}: a task of type {task.metadata.type} has no rated pairs: name "
            "an STS task or a file"
        )
    first, second = task.column_names
    span = task.max_score - task.min_score
    for subset, split in evaluated(task):
        for row in splits_of(task, subset)[split]:
            gold = 5 * (row["score"] - task.min_score) / span
            yield Check(row[first], row[second], round(gold, 6))
