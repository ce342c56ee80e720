"""The value of each instance, where a metric has one, as mteb's evaluator itself predicted it."""

import json
from collections.abc import Iterator
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


def instance_rows(task: Any, folder: Path) -> Iterator[dict[str, Any]]:
    """Rows of `INSTANCES`, without variant and run, for one evaluated split.

    Args:
        task: the version of the task that was evaluated.
        folder: the prediction folder that mteb wrote to.
    """
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
