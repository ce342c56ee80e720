"""What made the numbers: tasks, generators, settings and versions."""

from collections import Counter
from typing import Any

from pteb_eval import __version__
from pteb_eval.ids import digest
from pteb_eval.layout import Layout
from pteb_eval.provenance import library_versions
from pteb_eval.store import provenance_of, read_table

TABLES = {
    "summary": "scores, Δ and quality of each model and task",
    "significance": "the tests",
    "effects": "the tests, with effect sizes and notes",
    "runs": "what makes Δ's interval wide",
    "paraphrase_quality": "failures, copies, distances",
    "surface": "how far vectors move, without any gold",
    "inputs": "prompts, and how many texts were cut",
    "ranking": "ranks before and after",
    "model_pairs": "every two models compared",
    "across_tasks": "each model over all tasks",
    "drift": "Δ on instances that the judge rated high enough",
    "drift_regression": "what part of Δ goes with lower ratings",
    "paraphrasers": "meaning kept against wording changed",
    "judge_agreement": "every two judges compared",
    "implicit": "averages of the suite, beside the published ones",
    "implicit_delta": "Δ on implicit tasks against all others",
}
"""What the tables that can be opened hold, in a few words."""


def task(layout: Layout, name: str) -> dict[str, Any]:
    """A task's provenance, and how many texts it has."""
    table = read_table(layout.texts(name), columns=["reworded"])
    return {
        **provenance_of(table.schema),
        "n_texts": table.num_rows,
        "n_reworded": sum(table["reworded"].to_pylist()),
    }


def generator(layout: Layout, name: str, tasks: list[str]) -> dict[str, Any]:
    """A generator's provenance, and how often each status came up."""
    statuses: Counter[str] = Counter()
    about: dict[str, Any] = {}
    for one in tasks:
        table = read_table(layout.paraphrases(name, one), columns=["status"])
        about = provenance_of(table.schema)
        statuses.update(table["status"].to_pylist())
    return {"name": name, "statuses": dict(statuses.most_common()), **about}


def signature(settings: dict[str, Any]) -> str:
    """One line that stands for all that produced the numbers, after sacrebleu's example."""
    parts = {
        "runs": settings["runs"],
        "seed": settings["seed"],
        "scope": settings["scope"],
        "failed": settings["on_failure"],
        "config": digest(settings)[:12],
        "pteb-eval": __version__,
        "mteb": library_versions().get("mteb", "?"),
    }
    return " | ".join(f"{key}:{value}" for key, value in parts.items())
