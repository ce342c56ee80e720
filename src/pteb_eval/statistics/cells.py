"""The scored cells of a run, read from their files."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from pteb_eval.layout import Layout
from pteb_eval.store import provenance_of, read_table


@dataclass(frozen=True)
class Cell:
    """One model, generator and task with its files read.

    Attributes:
        model: the model's name.
        generator: the generator's name.
        task: the task's name.
        task_type: mteb's type of the task.
        metric: mteb's name of the main metric.
        scores: the scores file.
        instances: the instances file.
        excluded: by subset, instances left out because a paraphrase of theirs failed.
        failure_rate: share of the task's paraphrases that failed.
        copy_rate: share of the others that only copy their text.
        judge_mean: mean rating of the paraphrases by the first judge; NaN without one.
    """

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
    judge_mean: float = float("nan")

    @property
    def key(self) -> dict[str, str]:
        """The cell's names, as columns of a table."""
        return {
            "model": self.model,
            "generator": self.generator,
            "task": self.task,
            "task_type": self.task_type,
        }


def read_cells(settings: dict[str, Any], layout: Layout) -> Iterator[Cell]:
    """All cells of a run, task by task.

    Args:
        settings: `models` (name by slug), `generators`, `tasks`; `judges`, if there are any.
        layout: the run's files.
    """
    for task in settings["tasks"]:
        about = provenance_of(read_table(layout.texts(task), columns=["text_id"]).schema)
        for generator in settings["generators"]:
            rows = read_table(layout.paraphrases(generator, task), columns=["status", "copy"])
            ok = np.array(rows["status"].to_pylist()) == "ok"
            copies = np.array(rows["copy"].to_pylist(), dtype=bool)
            rating = _judge_mean(settings, layout, generator, task)
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
                    rating,
                )


def _judge_mean(settings: dict[str, Any], layout: Layout, generator: str, task: str) -> float:
    judges = settings.get("judges")
    if not judges:
        return float("nan")
    scores = read_table(layout.judgements(judges[0], generator, task), columns=["score"])
    mean = pc.mean(scores["score"]).as_py()
    return float("nan") if mean is None else float(mean)


def read_originals(settings: dict[str, Any], layout: Layout) -> Iterator[pd.DataFrame]:
    """Scores `original_all`: each model on all instances of each task, whatever was reworded."""
    for task in settings["tasks"]:
        about = provenance_of(read_table(layout.texts(task), columns=["text_id"]).schema)
        for slug, name in settings["models"].items():
            frame = read_table(layout.scores(slug, "original", task)).to_pandas()
            yield frame.assign(model=name, generator="", task=task, task_type=about["task_type"])
