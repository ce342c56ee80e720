"""The paraphrases of a run in numbers, for each generator, task and language."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pteb_eval.layout import Layout
from pteb_eval.paraphrase.quality import duplicate_runs
from pteb_eval.store import read_table

COLUMNS = [
    "generator", "task", "language", "n_texts", "n_paraphrases", "failure_rate", "statuses",
    "copy_rate", "duplicate_rate", "edit_distance", "word_overlap", "length_ratio", "cut_rate",
]  # fmt: skip
MEANS = ("edit_distance", "word_overlap", "length_ratio")


def quality_rows(
    layout: Layout, generators: Sequence[str], tasks: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Rows of `paraphrase_quality.csv`, columns as in `COLUMNS`.

    Rates are fractions in [0, 1]; those of copies, duplicates (among the runs of one text) and
    answers cut at the token limit, and the means of the distances, are over usable paraphrases.
    """
    for generator in generators:
        for task in tasks:
            texts = read_table(layout.texts(task), columns=["text_id", "languages"])
            languages = {row["text_id"]: " or ".join(row["languages"]) for row in texts.to_pylist()}
            rows = read_table(layout.paraphrases(generator, task))
            codes = np.array([languages[identity] for identity in rows["text_id"].to_pylist()])
            for code in dict.fromkeys(codes.tolist()):
                part = rows.filter(pa.array(codes == code))
                yield {"generator": generator, "task": task, "language": code, **_numbers(part)}


def _numbers(rows: pa.Table) -> dict[str, Any]:
    statuses = Counter(rows["status"].to_pylist())
    usable = rows.filter(pa.array([status == "ok" for status in rows["status"].to_pylist()]))
    by_text: dict[str, list[str]] = {}
    for identity, paraphrase in zip(
        usable["text_id"].to_pylist(), usable["paraphrase"].to_pylist(), strict=True
    ):
        by_text.setdefault(identity, []).append(paraphrase)
    n = max(usable.num_rows, 1)
    return {
        "n_texts": len(set(rows["text_id"].to_pylist())),
        "n_paraphrases": rows.num_rows,
        "failure_rate": 1 - statuses["ok"] / rows.num_rows,
        "statuses": ", ".join(f"{status} {count}" for status, count in statuses.most_common()),
        "copy_rate": sum(usable["copy"].to_pylist()) / n,
        "duplicate_rate": sum(map(duplicate_runs, by_text.values())) / n,
        "cut_rate": usable["finish_reason"].to_pylist().count("length") / n,
        **{name: _mean(usable[name]) for name in MEANS},
    }


def _mean(column: pa.ChunkedArray) -> float:
    return float(np.mean(column.to_numpy())) if len(column) else float("nan")
