"""Stage `test`: from the score files of all cells to the tables of the run."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pteb_eval.layout import Layout
from pteb_eval.statistics.bootstrap import bootstrap_delta
from pteb_eval.statistics.contributions import spearman_contributions
from pteb_eval.statistics.correlation import Spearman
from pteb_eval.statistics.multiplicity import adjust, attainable
from pteb_eval.statistics.wilcoxon import wilcoxon
from pteb_eval.store import provenance_of, read_table
from pteb_eval.tables import write_tables

SCORE_COLUMNS = [
    "model", "generator", "task", "task_type", "subset", "split", "variant", "run", "metric",
    "value", "n_instances",
]  # fmt: skip
SUMMARY_COLUMNS = [
    "model", "generator", "task", "task_type", "subset", "metric", "original", "pteb_mean",
    "pteb_std", "delta", "delta_ci_low", "delta_ci_high", "n_runs", "n_instances",
    "excluded_instances", "failure_rate", "copy_rate", "judge_mean",
]  # fmt: skip
SIGNIFICANCE_COLUMNS = [
    "family", "unit", "model", "task", "n", "n_ties", "statistic", "p", "p_holm", "reject",
    "effect_size", "min_attainable_p", "verdict",
]  # fmt: skip
AS_PERCENT = ("value", "original", "pteb_mean", "pteb_std", "delta", "delta_ci_low",
              "delta_ci_high", "failure_rate", "copy_rate")  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One model, generator and task with its files read."""

    model: str
    generator: str
    task: str
    task_type: str
    metric: str
    scores: pd.DataFrame
    instances: pd.DataFrame
    excluded: dict[str, int]
    failure_rate: float
    copy_rate: float


def run(settings: dict[str, Any], root: Path) -> None:
    """Write `scores`, `summary` and `significance` as .csv, .md and .tex.

    Args:
        settings: `models` (name by slug), `generators`, `tasks`, `statistics`, `seed`.
        root: the run's folder `results/<name>`.
    """
    layout = Layout(root)
    cells = list(_cells(settings, layout))
    declared = settings["statistics"]
    scores = pd.concat([_original_scores(settings, layout), *(_long(cell) for cell in cells)])
    write_tables(scores[SCORE_COLUMNS], layout.table("scores"), AS_PERCENT)
    summary = pd.DataFrame(
        [row for cell in cells for row in _summaries(cell, declared, settings["seed"])],
        columns=SUMMARY_COLUMNS,
    )
    write_tables(summary, layout.table("summary"), AS_PERCENT)
    tests = [row for cell in cells for row in _tests(cell, declared)]
    significance = _adjusted(pd.DataFrame(tests), declared)
    write_tables(significance[SIGNIFICANCE_COLUMNS], layout.table("significance"))


def _cells(settings: dict[str, Any], layout: Layout) -> Iterator[Cell]:
    for task in settings["tasks"]:
        about = provenance_of(read_table(layout.texts(task), columns=["text_id"]).schema)
        for generator in settings["generators"]:
            rows = read_table(layout.paraphrases(generator, task), columns=["status", "copy"])
            ok = np.array(rows["status"].to_pylist()) == "ok"
            copies = np.array(rows["copy"].to_pylist(), dtype=bool)
            for slug, name in settings["models"].items():
                scores = read_table(layout.scores(slug, generator, task))
                yield Cell(
                    name,
                    generator,
                    task,
                    about["task_type"],
                    about["main_metric"],
                    scores.to_pandas(),
                    read_table(layout.instances(slug, generator, task)).to_pandas(),
                    provenance_of(scores.schema)["excluded_instances"],
                    float(1 - ok.mean()),
                    float(copies[ok].mean()) if ok.any() else float("nan"),
                )


def _long(cell: Cell) -> pd.DataFrame:
    return cell.scores.assign(
        model=cell.model, generator=cell.generator, task=cell.task, task_type=cell.task_type
    ).astype({"run": "Int64"})


def _original_scores(settings: dict[str, Any], layout: Layout) -> pd.DataFrame:
    """The rows `original_all`: each model on all instances of each task, whatever was reworded."""
    frames = []
    for task in settings["tasks"]:
        about = provenance_of(read_table(layout.texts(task), columns=["text_id"]).schema)
        for slug, name in settings["models"].items():
            frame = read_table(layout.scores(slug, "original", task)).to_pandas()
            frames.append(
                frame.assign(
                    model=name, generator="", task=task, task_type=about["task_type"]
                ).astype({"run": "Int64"})
            )
    return pd.concat(frames)


def _summaries(cell: Cell, declared: dict[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    main = cell.scores[cell.scores["metric"] == "main_score"]
    for subset, rows in main.groupby("subset", sort=False):
        original = rows[rows["variant"] == "original"]
        runs = rows[rows["variant"] == "paraphrase"].groupby("run")["value"].mean()
        low, high = _interval(cell, str(subset), declared, seed)
        yield {
            "model": cell.model,
            "generator": cell.generator,
            "task": cell.task,
            "task_type": cell.task_type,
            "subset": subset,
            "metric": cell.metric,
            "original": original["value"].mean(),
            "pteb_mean": runs.mean(),
            "pteb_std": runs.std(ddof=1),
            "delta": original["value"].mean() - runs.mean(),
            "delta_ci_low": low,
            "delta_ci_high": high,
            "n_runs": len(runs),
            "n_instances": original["n_instances"].sum(),
            "excluded_instances": cell.excluded.get(str(subset), 0),
            "failure_rate": cell.failure_rate,
            "copy_rate": cell.copy_rate,
            "judge_mean": float("nan"),
        }


def _similarities(cell: Cell, subset: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Gold (n,) and similarities (1 + runs, n), row 0 the original; None where there are none."""
    rows = cell.instances[cell.instances["subset"] == subset]
    rows = rows[rows["value_name"] == "cosine_similarity"]
    if rows.empty:
        return None
    by_instance = rows.assign(run=rows["run"].fillna(0).astype(int)).pivot(
        index=["split", "row"], columns="run", values="value"
    )
    gold = rows[rows["variant"] == "original"].set_index(["split", "row"])["gold"]
    return gold.loc[by_instance.index].to_numpy(), by_instance.to_numpy().T


def _interval(cell: Cell, subset: str, declared: dict[str, Any], seed: int) -> tuple[float, float]:
    found = _similarities(cell, subset)
    if found is None:
        return float("nan"), float("nan")
    interval = bootstrap_delta(
        Spearman(*found),
        n_resamples=declared["resamples"],
        level=declared["confidence"],
        seed=seed,
    )
    return interval.low, interval.high


def _tests(cell: Cell, declared: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for subset in cell.instances["subset"].unique():
        found = _similarities(cell, str(subset))
        if found is None:
            continue
        values = spearman_contributions(*found)
        result = wilcoxon(
            values[0] - values[1:].mean(axis=0),
            alternative=declared["alternative"],
            zero_method=declared["zero_method"],
        )
        yield {
            "family": " / ".join([cell.generator, cell.task, str(subset)]),
            "unit": "instance",
            "model": cell.model,
            "task": cell.task,
            **asdict(result),
        }


def _adjusted(tests: pd.DataFrame, declared: dict[str, Any]) -> pd.DataFrame:
    """Adjust p within each family, over its models."""
    families = []
    for _, family in tests.groupby("family", sort=False):
        method = declared["correction"]
        adjusted = adjust(family["p"], method=method, alpha=declared["alpha"])
        reach = attainable(family["p"], family["min_attainable_p"], method=method)
        families.append(
            family.assign(
                p_holm=adjusted.p,
                reject=adjusted.reject,
                verdict=[
                    _verdict(*row, alpha=declared["alpha"])
                    for row in zip(
                        family["status"], adjusted.reject, family["effect_size"], reach, strict=True
                    )
                ],
            )
        )
    return pd.concat(families) if families else pd.DataFrame(columns=SIGNIFICANCE_COLUMNS)


def _verdict(status: str, reject: bool, effect: float, reach: float, *, alpha: float) -> str:
    if status != "ok":
        return status
    if reject:
        return "drops" if effect > 0 else "rises"
    return "underpowered" if reach > alpha else "no detectable drop"
