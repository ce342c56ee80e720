"""The table `paraphrasers`: which generator keeps the meaning and still says it otherwise?"""

import math
from pathlib import Path
from typing import Any

import pandas as pd

from pteb_eval.judge.verdict import RELIABLE
from pteb_eval.layout import Layout
from pteb_eval.published import AVERAGE, figures_of, published
from pteb_eval.rates import measured_rate
from pteb_eval.store import provenance_of, read_table

PARAPHRASER_COLUMNS = [
    "generator", "judge", "verdict", "n", "judge_mean", "judge_q25", "judge_median", "judge_q75",
    "kept_share", "lost_share", "edit_distance", "copy_rate", "failure_rate", "tokens_per_text",
    "seconds_per_text", "pareto", "recommended", "published_judge_mean", "judge_mean_difference",
    "published_edit_distance", "edit_distance_difference", "published_seconds_per_text",
    "seconds_per_text_difference",
]  # fmt: skip
KEPT, LOST = 4.0, 3.0
"""On the scale: nearly the same meaning, and an important detail gone."""


def paraphraser_rows(
    settings: dict[str, Any], layout: Layout, cache: Path, verdict: str
) -> list[dict[str, Any]]:
    """Rows of `PARAPHRASER_COLUMNS`, one a generator, over all tasks.

    Ratings, edit distances and copies are over the texts and runs for which every generator has a
    paraphrase that the first judge could rate. A generator is on the Pareto front if none is better
    in one of mean rating and edit distance and at least as good in the other. Recommended is the
    one with the greatest edit distance of those whose mean rating is at least 4; nobody is if none
    comes so far, or if the judge is not reliable.

    Args:
        settings: `judges`, `generators`, `tasks`.
        layout: the run's files.
        cache: the cache folder, which has the rates that were measured on this machine.
        verdict: on the first judge.
    """
    judge = settings["judges"][0]
    frames = {name: _paraphrases(layout, judge, name, settings["tasks"])
              for name in settings["generators"]}  # fmt: skip
    known = published("paraphraser")
    shared = None
    for frame in frames.values():
        own = frame.index[frame["score"].notna()]
        shared = own if shared is None else shared.intersection(own)
    rows = []
    for name, frame in frames.items():
        same = frame.loc[shared]
        rating = same["score"]
        first = layout.paraphrases(name, settings["tasks"][0])
        engine = provenance_of(read_table(first, columns=[]).schema).get("engine", {})
        rate = measured_rate(cache, "paraphrase", engine)
        rows.append(
            {
                "generator": name,
                "judge": judge,
                "verdict": verdict,
                "n": len(same),
                "judge_mean": rating.mean(),
                "judge_q25": rating.quantile(0.25),
                "judge_median": rating.median(),
                "judge_q75": rating.quantile(0.75),
                "kept_share": (rating >= KEPT).mean(),
                "lost_share": (rating < LOST).mean(),
                "edit_distance": same["edit_distance"].mean(),
                "copy_rate": same["copy"].astype(float).mean(),
                "failure_rate": (frame["status"] != "ok").mean(),
                "tokens_per_text": frame["n_tokens"].mean(),
                "seconds_per_text": 1 / rate if rate else math.nan,
            }
        )
        rows[-1] |= _beside(rows[-1], figures_of(known, str(engine.get("model"))))
    for row in rows:
        row["pareto"] = not any(_beats(other, row) for other in rows)
    able = [row for row in rows if row["judge_mean"] >= KEPT and verdict == RELIABLE]
    best = max(able, key=lambda row: row["edit_distance"], default=None)
    return [{**row, "recommended": row is best} for row in rows]


def _beside(row: dict[str, Any], figures: dict[str, dict[str, float]]) -> dict[str, float]:
    """Published figures and how far the row's are from them; NaN where there are none."""
    known = figures.get(AVERAGE, {})
    found = {}
    for name in ("judge_mean", "edit_distance", "seconds_per_text"):
        found[f"published_{name}"] = known.get(name, math.nan)
        found[f"{name}_difference"] = row[name] - found[f"published_{name}"]
    return found


def _beats(one: dict[str, Any], other: dict[str, Any]) -> bool:
    pairs = [(one[name], other[name]) for name in ("judge_mean", "edit_distance")]
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


def _paraphrases(layout: Layout, judge: str, generator: str, tasks: list[str]) -> pd.DataFrame:
    """All paraphrases of a generator with their ratings, by task, text and run."""
    keys, columns = ["text_id", "run"], ["status", "copy", "edit_distance", "n_tokens"]
    parts = []
    for task in tasks:
        made = read_table(layout.paraphrases(generator, task), columns=[*keys, *columns])
        rated = read_table(layout.judgements(judge, generator, task), columns=[*keys, "score"])
        both = made.to_pandas().merge(rated.to_pandas(), on=keys, validate="one_to_one")
        parts.append(both.assign(task=task))
    return pd.concat(parts).set_index(["task", *keys])
