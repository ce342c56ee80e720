"""The value of each instance, where a metric has one, as mteb's evaluator itself predicted it."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from pteb_eval.tasks import Structure

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


def instance_values(
    task: Any, structure: Structure, split: str, folder: Path, scores: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Rows of `INSTANCES`, without variant and run, for one evaluated split.

    Args:
        task: the version of the task that was evaluated.
        structure: its structure.
        split: the evaluated split.
        folder: the prediction folder that mteb wrote to.
        scores: mteb's scores by subset.
    """
    from mteb.abstasks.sts import AbsTaskSTS

    if not isinstance(task, AbsTaskSTS):
        return
    predictions = json.loads((folder / task.prediction_file_name).read_text(encoding="utf-8"))
    for subset in scores:
        similarities = predictions[subset][split]["cosine_scores"]
        data = task.dataset[subset][split] if subset in task.dataset else task.dataset[split]
        rows = [
            instance.row
            for instance in structure.instances(task)
            if instance.subset == subset and instance.split == split
        ]
        for row, similarity, gold in zip(rows, similarities, data["score"], strict=True):
            yield {
                "subset": subset,
                "split": split,
                "row": row,
                "value_name": "cosine_similarity",
                "value": similarity,
                "gold": float(gold),
            }
