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

SIMILARITIES = {
    "similarity_scores": ("similarity", 1),
    "dot_scores": ("dot_product", 1),
    "manhattan_distances": ("negative_manhattan", -1),
    "euclidean_distances": ("negative_euclidean", -1),
}
"""Of a pair, beside its cosine: mteb's name, ours, and the sign that makes more alike greater."""


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
    rows = [
        {
            "subset": instance.subset,
            "split": instance.split,
            "row": instance.row,
            "value_name": metric,
            "value": value,
            "gold": gold,
        }
        for instance, metric, value, gold in instance_values(task, predictions)
    ]
    yield from rows
    yield from _other_similarities(task, predictions, rows)


def _other_similarities(
    task: Any, predictions: Mapping[str, Any], rows: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Pairs by the other functions of which mteb's main metric, `max_ap`, takes the best."""
    from mteb.abstasks import AbsTaskPairClassification

    if not isinstance(task, AbsTaskPairClassification):
        return
    cosines = [row for row in rows if row["value_name"] == "cosine_similarity"]
    for subset in dict.fromkeys(row["subset"] for row in cosines):
        own = [row for row in cosines if row["subset"] == subset]
        for key, (name, sign) in SIMILARITIES.items():
            values = predictions[subset][own[0]["split"]][key]
            for row, value in zip(own, values, strict=True):
                yield {**row, "value_name": name, "value": sign * float(value)}


def _experiments(measures: Any) -> Iterator[tuple[str, float]]:
    """Name and value of each experiment, from mteb's list, or its lists by level of the labels."""
    if isinstance(measures, Mapping):
        for level, values in measures.items():
            yield from ((f"{level} / {number}", value) for number, value in enumerate(values))
    else:
        yield from ((str(number), value) for number, value in enumerate(measures))
