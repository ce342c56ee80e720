"""How well the texts of each instance kept their meaning, over all runs."""

import math
from pathlib import Path
from typing import Any

import pyarrow as pa

from pteb_eval.ids import text_id
from pteb_eval.provenance import stamp
from pteb_eval.store import read_table, write_table
from pteb_eval.tasks import Instance
from pteb_eval.variants import load_variants

SCHEMA = pa.schema(
    [
        ("subset", pa.string()),
        ("split", pa.string()),
        ("row", pa.string()),
        ("part", pa.string()),
        ("n_texts", pa.int32()),
        ("judge_min", pa.float32()),
        ("judge_mean", pa.float32()),
        ("edit_distance", pa.float32()),
    ]
)


def run(
    settings: dict[str, Any],
    code: str,
    texts: Path,
    paraphrases: Path,
    judgements: Path,
    output: Path,
) -> None:
    """Write one row an instance that has texts in scope.

    Args:
        settings: `judge`, `generator`, `task` (what `load_task` takes).
        code: fingerprint of this module.
        texts: the task's texts file.
        paraphrases: the generator's paraphrases of these texts.
        judgements: their ratings.
        output: the Parquet file to write, columns as in `SCHEMA`: over all texts and runs the least
            and mean rating and the mean edit distance. Both ratings are empty if one is missing,
            since of such an instance nobody knows that its meaning was kept.
    """
    variants = load_variants(settings["task"], texts, paraphrases)
    scores = _by_text(judgements, "score")
    distances = _by_text(paraphrases, "edit_distance")
    texts_of: dict[Instance, list[str]] = {}
    for slot, text in variants.structure.slots(variants.task):
        if slot in variants.reworded:
            for instance in variants.structure.instance_of(variants.task, slot):
                texts_of.setdefault(instance, []).append(text_id(text))
    rows = []
    for instance, identities in texts_of.items():
        keys = [(identity, run) for identity in identities for run in variants.runs]
        found = [scores.get(key) for key in keys]
        rated = [score for score in found if score is not None]
        whole = len(rated) == len(found)
        moved = [distance for key in keys if (distance := distances[key]) is not None]
        rows.append(
            {
                **instance._asdict(),
                "n_texts": len(identities),
                "judge_min": min(rated) if whole else None,
                "judge_mean": math.fsum(rated) / len(rated) if whole else None,
                "edit_distance": math.fsum(moved) / len(moved),
            }
        )
    write_table(output, pa.Table.from_pylist(rows, SCHEMA), stamp("judge", settings, code))


def _by_text(path: Path, column: str) -> dict[tuple[str, int], float | None]:
    rows = read_table(path, columns=["text_id", "run", column])
    keys = zip(rows["text_id"].to_pylist(), rows["run"].to_pylist(), strict=True)
    return dict(zip(keys, rows[column].to_pylist(), strict=True))
