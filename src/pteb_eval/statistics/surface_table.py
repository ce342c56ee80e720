"""The table `surface.csv`: how well texts find their own paraphrases, and what moves them."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from pteb_eval.layout import Layout
from pteb_eval.statistics.surface import shift_by_distance
from pteb_eval.store import read_table

COLUMNS = [
    "model", "generator", "task", "prompt_type", "n_texts", "n_runs", "cosine_mean", "cosine_std",
    "mrr", "hit_at_1", "rho_edit_distance", "p_edit_distance",
]  # fmt: skip


def surface_table_rows(settings: dict[str, Any], layout: Layout) -> Iterator[dict[str, Any]]:
    """Rows of `COLUMNS` for every model, generator, task and prompt type.

    Each text counts once: its values are means over its runs. `rho_edit_distance` is Spearman's
    correlation of 1 − cosine with the edit distance of the wording, positive if more rewording
    moves the vector further.
    """
    for task in settings["tasks"]:
        for generator in settings["generators"]:
            wording = read_table(
                layout.paraphrases(generator, task), columns=["text_id", "run", "edit_distance"]
            ).to_pandas()
            for slug, name in settings["models"].items():
                rows = read_table(layout.surface(slug, generator, task)).to_pandas()
                for kind, part in rows.groupby("prompt_type", sort=False):
                    yield {
                        "model": name,
                        "generator": generator,
                        "task": task,
                        "prompt_type": kind,
                        **_numbers(part.merge(wording, on=["text_id", "run"])),
                    }


def _numbers(rows: pd.DataFrame) -> dict[str, Any]:
    rows = rows.assign(reciprocal=1 / rows["rank"], hit=rows["rank"] == 1)
    texts = rows.groupby("text_id")[["cosine", "reciprocal", "hit", "edit_distance"]].mean()
    relation = shift_by_distance(texts["cosine"], texts["edit_distance"])
    return {
        "n_texts": len(texts),
        "n_runs": rows["run"].nunique(),
        "cosine_mean": texts["cosine"].mean(),
        "cosine_std": texts["cosine"].std(ddof=1),
        "mrr": texts["reciprocal"].mean(),
        "hit_at_1": texts["hit"].mean(),
        "rho_edit_distance": relation.rho,
        "p_edit_distance": relation.p,
    }
