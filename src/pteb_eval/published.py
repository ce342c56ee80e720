"""Figures that were published, from the one file that holds them: `resources/published.yaml`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pteb_eval.errors import UserError
from pteb_eval.resources import resource

AVERAGE = "average"
"""In a data set's place: the mean over the source's own data sets."""


@dataclass(frozen=True, slots=True)
class Published:
    """What a source says of one model.

    Attributes:
        kind: `judge`, `paraphraser` or `implicit`.
        name: of the model, as published.
        models: folded names under which its figures stand beside a model of a run.
        figures: by data set, values by measure; scores are fractions.
    """

    kind: str
    name: str
    models: frozenset[str]
    figures: dict[str, dict[str, float]]


def published(kind: str, path: Path | None = None) -> list[Published]:
    """All published figures of a kind, in the order of the file.

    Args:
        kind: `judge`, `paraphraser` or `implicit`.
        path: the file; None: that of the repository.

    Raises:
        UserError: if there is no such file, or it holds something else.
    """
    path = path or resource("published.yaml")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        found = [_entry(entry, content["sources"]) for entry in content["published"]]
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise UserError(f"{path}: no table of published figures ({error!r})") from None
    return [entry for entry in found if entry.kind == kind]


def figures_of(entries: list[Published], model: str) -> dict[str, dict[str, float]]:
    """A model's figures by data set; empty where nothing was published of it.

    Names match as `folded` writes them.
    """
    name = folded(model)
    return next((entry.figures for entry in entries if name in entry.models), {})


def folded(model: str) -> str:
    """A model's name without the organization, in lower case, with `-` for `:`."""
    return model.lower().rpartition("/")[2].replace(":", "-")


def _entry(entry: dict[str, Any], sources: dict[str, str]) -> Published:
    if entry["source"] not in sources or not str(entry["table"]):
        raise ValueError(f"{entry['name']}: source and table are needed")
    figures = {
        task: {measure: float(value) for measure, value in values.items()}
        for task, values in entry["figures"].items()
    }
    models = frozenset(folded(name) for name in entry["models"])
    return Published(entry["kind"], entry["name"], models, figures)
