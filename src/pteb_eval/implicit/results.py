"""Results on the suite: each model's in the benchmark's layout, all beside the published ones."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pteb_eval.captions import several, write_captions
from pteb_eval.config.base import ORIGINAL
from pteb_eval.errors import UserError
from pteb_eval.implicit.catalogue import GROUPS, LEVELS, datasets, entry, scores
from pteb_eval.implicit.figure import draw
from pteb_eval.layout import Layout
from pteb_eval.published import AVERAGE, figures_of, published
from pteb_eval.store import provenance_of, read_table, write_text
from pteb_eval.tables import bold_best, read_csv, signed, write_tables

BASELINE = "bag-of-tokens"
RESULT_COLUMNS = [
    "dataset", "task", "level", "score", "counts", "evaluation", "n_instances", "accuracy",
    "f1_macro", "f1_micro", "f1_weighted", "f1_right", "precision", "recall", "ties", "threshold",
    "best_threshold", "best_accuracy", "majority_baseline", "random_baseline", "evaluation_time",
]  # fmt: skip
VALUES = ("total", *LEVELS, *GROUPS)
SUITE_COLUMNS = [
    "source", "model", *VALUES, "gain", "tasks_missing",
    *(f"published_{name}" for name in VALUES), *(f"{name}_difference" for name in VALUES),
]  # fmt: skip
DELTA_COLUMNS = [
    "model", "generator", "meaning", "task_type", "n_tasks", "original", "pteb_mean", "delta",
    "delta_ci_low", "delta_ci_high",
]  # fmt: skip
DELTA_AS_PERCENT = ("original", "pteb_mean", "delta", "delta_ci_low", "delta_ci_high")
# Names in mteb's scores of what the columns hold, by type of task.
_METRICS = {
    "Classification": {
        "accuracy": "accuracy", "f1_macro": "f1", "f1_micro": "f1_micro",
        "f1_weighted": "f1_weighted", "precision": "precision", "recall": "recall",
    },
    "ZeroShotClassification": {"accuracy": "accuracy", "ties": "ties"},
    "PairClassification": {
        "accuracy": "dev_accuracy", "f1_right": "dev_f1", "precision": "dev_precision",
        "recall": "dev_recall", "threshold": "dev_threshold", "best_threshold": "best_threshold",
        "best_accuracy": "best_accuracy",
    },
}  # fmt: skip
_EVALUATIONS = {
    "Classification": "classification",
    "ZeroShotClassification": "zero_shot",
    "PairClassification": "pairs",
}


def run(settings: dict[str, Any], root: Path) -> None:
    """Write the files of `Layout.suite` and `suite_summary`, the table and the figure.

    Args:
        settings: `models` (name by slug), `tasks` (the suite's name by name in the run) and
            `reworded`, whether the run has generators.
        root: the run's folder `results/<name>`.
    """
    layout = Layout(root)
    summaries = []
    for slug, model in settings["models"].items():
        rows, notes = [], {}
        for task, name in settings["tasks"].items():
            row, about = _row(layout, slug, task, name)
            rows.append(row)
            notes[task] = about
        revision = next(iter(notes.values()))["model_revision"]
        for dataset in dict.fromkeys(row["dataset"] for row in rows):
            own = [row for row in rows if row["dataset"] == dataset]
            frame = pd.DataFrame(own, columns=RESULT_COLUMNS)
            write_text(layout.suite(slug, dataset), frame.to_csv(index=False))
            about = {
                "model": model,
                "revision": revision,
                "dataset": datasets()[dataset].title,
                "citation": datasets()[dataset].citation,
                "license": datasets()[dataset].license,
                "results": [{**_plain(row), **notes[row["task"]]} for row in own],
            }
            write_text(layout.suite(slug, dataset, "json"), json.dumps(about, indent=2) + "\n")
        summary = {"model": model, "revision": revision, **averages(rows)}
        write_summary(summary, layout.suite_summary(slug))
        summaries.append(summary)
    table = suite_table(summaries)
    write_tables(table, layout.table("implicit"), people=shown_suite(table))
    draw(table, layout)
    if settings["reworded"]:
        summary = read_csv(layout.table("summary"), dtype={"subset": str})
        drops = delta_table(summary, settings["tasks"])
        write_tables(drops, layout.table("implicit_delta"), DELTA_AS_PERCENT)
    write_captions(_captions(settings, table), layout, "implicit")


def _captions(settings: dict[str, Any], table: pd.DataFrame) -> dict[str, str]:
    of = (
        f"{several(len(settings['models']), 'model')} and "
        f"{several(len(settings['tasks']), 'task')} of the implicit suite in this run."
    )
    found = {
        "implicit": "Averages of accuracy × 100 over the implicit suite; in brackets what was "
        "published of the same model and the difference. Bold: the best of this run. Published "
        f"averages of other models below. {of}",
        "implicit_levels": "Accuracy × 100 at the three levels of the implicit suite, with "
        f"{several(int((table['source'] == 'published').sum()), 'published average')}; dashed: a "
        f"bag of tokens. {of}",
    }
    if settings["reworded"]:
        found["implicit_delta"] = (
            "Mean Δ × 100 on implicit tasks against all others, by type of task; intervals take "
            f"the tasks as independent. {of}"
        )
    return found


def write_summary(summary: Mapping[str, Any], path: Path) -> None:
    """Write a model's averages as JSON."""
    write_text(path, json.dumps(_plain(summary), indent=2) + "\n")


def summary_of(folder: Path) -> dict[str, Any]:
    """A model's averages over all results in a folder, whenever they were made.

    Raises:
        UserError: if the results are not of one revision of one model.
    """
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*_results.json"))]
    models = {(one["model"], one["revision"]) for one in found}
    if len(models) != 1:
        shown = ", ".join(f"{model} at {revision}" for model, revision in sorted(models))
        raise UserError(f"{folder}: results of more than one model ({shown}): delete the old ones")
    ((model, revision),) = models
    rows = [row for one in found for row in one["results"]]
    return {"model": model, "revision": revision, **averages(rows)}


def averages(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The suite's averages of accuracy, as fractions.

    A score is the mean over its tasks, a level the mean over its scores, and the total the mean
    over all seven scores. A mean that lacks a task is NaN, and the tasks are named in `missing`.
    Of a task in several evaluations the first counts.

    Args:
        rows: of one model, with `name`, the suite's name of the task, and `accuracy`.
    """
    found: dict[str, float] = {}
    for row in rows:
        found.setdefault(row["name"], row["accuracy"])
    wanted = scores()
    single = {
        score: _mean([found.get(task, math.nan) for task in tasks])
        for score, tasks in wanted.items()
    }
    levels = {
        level: _mean(
            [v for score, v in single.items() if entry(wanted[score][0]).dataset.level == level]
        )
        for level in LEVELS
    }
    missing = [task for tasks in wanted.values() for task in tasks if task not in found]
    return {
        "total": _mean(list(single.values())),
        "levels": levels,
        "scores": single,
        "missing": missing,
    }


def suite_table(summaries: list[dict[str, Any]]) -> pd.DataFrame:
    """Our averages and the published ones, fractions; `gain` is over the same source's baseline.

    Beside those of a model of which figures were published stand these, and ours less them.
    """
    known = published("implicit")
    ours = [
        {
            "source": "this run",
            "model": summary["model"],
            "total": summary["total"],
            **summary["levels"],
            **{group: summary["scores"][group] for group in GROUPS},
            "tasks_missing": len(summary["missing"]),
            **{
                f"published_{name}": value
                for name, value in figures_of(known, summary["model"]).get(AVERAGE, {}).items()
            },
        }
        for summary in summaries
    ]
    theirs = [{"source": "published", "model": one.name, **one.figures[AVERAGE]} for one in known]
    table = pd.DataFrame([*ours, *theirs]).reindex(columns=SUITE_COLUMNS)
    for name in VALUES:
        table[f"{name}_difference"] = table[name] - table[f"published_{name}"]
    for source, baseline in (("this run", BASELINE), ("published", "Bag-of-tokens")):
        own = table["source"] == source
        base = table.loc[own & (table["model"] == baseline), "total"]
        if len(base):
            table.loc[own, "gain"] = table.loc[own, "total"] - float(base.iloc[0])
    table["tasks_missing"] = table["tasks_missing"].astype("Int64")
    return table


def shown_suite(table: pd.DataFrame) -> pd.DataFrame:
    """The table for people, × 100: the best of this run bold, published figures in brackets."""
    ours = table["source"] == "this run"
    shown = table[["source", "model"]].astype(str)
    for name in (*VALUES, "gain"):
        texts = ["" if pd.isna(value) else f"{100 * value:.1f}" for value in table[name]]
        best = bold_best(texts, table[name].where(ours).tolist())
        shown[name] = [
            bold if own else text for bold, text, own in zip(best, texts, ours, strict=True)
        ]
    for name in VALUES:
        theirs, more = table[f"published_{name}"], table[f"{name}_difference"]
        shown[name] += [
            "" if pd.isna(other) else f" ({100 * value:.1f}, {signed(100 * other, 1)})"
            for value, other in zip(theirs, more, strict=True)
        ]
    shown["tasks_missing"] = ["" if pd.isna(n) else str(n) for n in table["tasks_missing"]]
    return shown


def delta_table(summary: pd.DataFrame, tasks: Mapping[str, str]) -> pd.DataFrame:
    """Δ on implicit tasks against Δ on all others, each a mean over tasks and subsets of one type.

    Only means within a type of task are taken: their metrics are the same. The interval is that of
    the mean of independent Δ: half-widths add up as squares. It is empty if a task has none.

    Args:
        summary: the table `summary`.
        tasks: the suite's name by name in the run; tasks that only stand beside do not count.
    """
    rows = summary[[entry(tasks[t]).counts if t in tasks else True for t in summary["task"]]]
    rows = rows.assign(
        meaning=["implicit" if task in tasks else "surface" for task in rows["task"]],
        below=(rows["delta"] - rows["delta_ci_low"]) ** 2,
        above=(rows["delta_ci_high"] - rows["delta"]) ** 2,
    )
    found = []
    keys = ["model", "generator", "meaning", "task_type"]
    for key, own in rows.groupby(keys, sort=False):
        means = own[["original", "pteb_mean", "delta"]].mean()
        arms = own[["below", "above"]].sum(skipna=False) ** 0.5 / len(own)
        found.append(
            {
                **dict(zip(keys, key, strict=True)),
                "n_tasks": own["task"].nunique(),
                **means,
                "delta_ci_low": means["delta"] - arms["below"],
                "delta_ci_high": means["delta"] + arms["above"],
            }
        )
    return pd.DataFrame(found, columns=DELTA_COLUMNS)


def _row(layout: Layout, slug: str, task: str, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A task's row under `RESULT_COLUMNS`, and what else is known of it."""
    one = entry(name)
    about = provenance_of(read_table(layout.texts(task), columns=["text_id"]).schema)
    table = read_table(layout.scores(slug, ORIGINAL, task))
    made = provenance_of(table.schema)
    kind = about["task_type"]
    found = dict(zip(table["metric"].to_pylist(), table["value"].to_pylist(), strict=True))
    values = {
        column: found.get(metric) for column, metric in _METRICS[kind].items() if metric in found
    }
    values.setdefault("accuracy", found["main_score"])  # of pairs without a development split
    row = {
        "dataset": one.dataset.name,
        "task": task,
        "name": name,
        "level": one.dataset.level,
        "score": one.score,
        "counts": one.counts,
        "evaluation": _EVALUATIONS[kind],
        "n_instances": table["n_instances"][0].as_py(),
        **values,
        "majority_baseline": found.get("majority_baseline"),
        "random_baseline": found["random_baseline"],
        "evaluation_time": made["mteb_result"]["evaluation_time"],
    }
    more = {
        "headline": about["main_metric"],
        "data_revision": about["task_revision"],
        "notes": about["notes"],
        "model_revision": made["encoder"]["revision"],
    }
    return row, more


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _plain(value: Any) -> Any:
    """The same with null for what is not a number, since JSON has none."""
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value
