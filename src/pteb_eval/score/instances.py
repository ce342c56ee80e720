"""The value of each instance, where a metric has one, as mteb's evaluator itself predicted it."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from pteb_eval.tasks.instances import instance_values

INSTANCES = pa.schema(
    [
        ("subset", pa.string()),
        ("split", pa.string()),
        ("row", pa.string()),
        ("variant", pa.string()),
        ("run", pa.int32()),
        ("value_name", pa.string()),
        ("value", pa.float64()),
        ("gold", pa.float64()),
    ]
)


def instance_rows(
    task: Any, split: str, folder: Path, scores: Mapping[str, Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Rows of `INSTANCES`, without variant and run, for one evaluated split.

    A clustering task has no values of texts; its rows are mteb's experiments, which sample the same
    texts in every version of the task.

    Args:
        task: the version of the task that was evaluated.
        split: the split.
        folder: the prediction folder that mteb wrote to.
        scores: mteb's scores by subset.
    """
    for subset, found in scores.items():
        for experiment, value in _experiments(found.get("v_measures", ())):
            yield {
                "subset": subset,
                "split": split,
                "row": experiment,
                "value_name": "v_measure",
                "value": float(value),
            }
    file = folder / task.prediction_file_name
    predictions = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    for instance, metric, value, gold in instance_values(task, predictions):
        yield {
            "subset": instance.subset,
            "split": instance.split,
            "row": instance.row,
            "value_name": metric,
            "value": value,
            "gold": gold,
        }


def _experiments(measures: Any) -> Iterator[tuple[str, float]]:
    """Name and value of each experiment, from mteb's list, or its lists by level of the labels."""
    if isinstance(measures, Mapping):
        for level, values in measures.items():
            yield from ((f"{level} / {number}", value) for number, value in enumerate(values))
    else:
        yield from ((str(number), value) for number, value in enumerate(measures))
