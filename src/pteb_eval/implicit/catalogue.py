"""What the suite consists of, read from `resources/implicit/suite.yaml`.

Imported while configurations are parsed, so nothing heavy is imported here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import yaml

from pteb_eval.errors import UserError
from pteb_eval.ids import digest
from pteb_eval.resources import resource

LEVELS = ("utterance", "speaker", "society")
GROUPS = ("P-IMP", "P-PRE", "P-R&D")
DEFAULT_DATASETS = ("pub", "pstance", "sbic")


@dataclass(frozen=True)
class Dataset:
    """One data set of the suite.

    Attributes:
        name: short name.
        title: full name.
        level: one of `LEVELS`.
        license: as stated beside the data.
        homepage: where it is described.
        revision: of the published data.
        citation: its paper.
        prompt: instruction for models that take one.
        texts: texts of a task of it, roughly.
        characters: their mean length, roughly.
        tasks: its tasks by name.
        files: address and SHA-256 (or None) by file name; empty if it is handed out on request.
        request: how to ask for it; empty if it can be downloaded.
        wanted: the files that a local copy holds.
        labels: spellings by label; empty where the rows bring options of their own.
        offensive: whether its texts offend.
    """

    name: str
    title: str
    level: str
    license: str
    homepage: str
    revision: str
    citation: str
    prompt: str
    texts: int
    characters: int
    tasks: dict[str, dict[str, Any]]
    files: dict[str, dict[str, str]] = field(default_factory=dict)
    request: str = ""
    wanted: str = ""
    labels: dict[str, list[str]] = field(default_factory=dict)
    offensive: bool = False


@dataclass(frozen=True)
class Entry:
    """One task of the suite.

    Attributes:
        name: name in configurations.
        dataset: what it is made of.
        part: which part of the data set.
        title: what is told apart.
        score: which of the suite's seven scores it belongs to: one of `GROUPS`, or its data set.
        counts: whether it counts in that score, or only stands beside it.
    """

    name: str
    dataset: Dataset
    part: str
    title: str
    score: str
    counts: bool

    @property
    def declared(self) -> str:
        """Digest of all that is declared and decides the rows of the task."""
        suite = _suite()
        shares = [suite["split_seed"], suite["split_shares"]]
        return digest([self.part, self.dataset.labels, self.dataset.prompt, shares])[:16]


@cache
def _suite() -> dict[str, Any]:
    path = resource("implicit/suite.yaml")
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


@cache
def datasets() -> dict[str, Dataset]:
    """All data sets by name."""
    return {name: Dataset(name, **about) for name, about in _suite()["datasets"].items()}


@cache
def entries() -> dict[str, Entry]:
    """All tasks by name."""
    return {
        name: Entry(
            name,
            dataset,
            task["part"],
            task["title"],
            task.get("group", dataset.name),
            task.get("counts", True),
        )
        for dataset in datasets().values()
        for name, task in dataset.tasks.items()
    }


def task_name(settings: Mapping[str, Any]) -> str:
    """Name of a task in files and tables, from the keys `implicit` and `evaluation`."""
    evaluation = settings.get("evaluation")
    return f"{settings['implicit']}-{evaluation}" if evaluation else str(settings["implicit"])


def scores() -> dict[str, list[str]]:
    """The suite's seven scores: the tasks whose mean each of them is."""
    found: dict[str, list[str]] = {}
    for one in entries().values():
        if one.counts:
            found.setdefault(one.score, []).append(one.name)
    return found


def entry(name: str) -> Entry:
    """A task by its name.

    Raises:
        UserError: unknown name, with near matches.
    """
    from pteb_eval.tasks.names import near

    if name not in entries():
        raise UserError(f"unknown implicit task {name!r}{near(name, entries())}")
    return entries()[name]


def dataset(name: str) -> Dataset:
    """A data set by its name.

    Raises:
        UserError: unknown name, with near matches.
    """
    from pteb_eval.tasks.names import near

    if name not in datasets():
        known = ", ".join(datasets())
        raise UserError(f"unknown data set {name!r}{near(name, datasets())} (known: {known})")
    return datasets()[name]


def split_rule() -> tuple[int, dict[str, float]]:
    """Seed and shares of the splits of sets that come without."""
    suite = _suite()
    return suite["split_seed"], suite["split_shares"]
