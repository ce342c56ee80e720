"""What the numbers say, in three sentences for each generator."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pteb_eval.report.results import percent, points
from pteb_eval.statistics.runs import FEWEST_RUNS
from pteb_eval.tables import task_title

COPIES = 0.1
"""Share of copies from which on Δ is visibly too small."""
FEW = 100
"""Instances below which intervals of most metrics are wider than most drops."""
PLACES = ["task", "subset"]


@dataclass(frozen=True)
class Answer:
    """Three sentences on one generator, and what to call them."""

    generator: str
    drops: str
    ranks: str
    care: str


def answers(
    results: pd.DataFrame,
    pairs: pd.DataFrame,
    confidence: float,
    judge: str = "",
    review: pd.DataFrame | None = None,
    *,
    substituted: bool = False,
) -> Iterator[Answer]:
    """The answer for each generator.

    Args:
        results: rows of `summary` with the verdict on each.
        pairs: the table `model_pairs`.
        confidence: of the intervals.
        judge: the first judge with the verdict on it; empty if there is none.
        review: the table `review`, if people rated a sample.
        substituted: whether failed paraphrases are replaced by their original.
    """
    for generator, rows in results.groupby("generator", sort=False):
        own = pairs[pairs["generator"] == generator]
        yield Answer(
            str(generator),
            _drops(rows),
            _ranks(rows, own, confidence),
            _care(rows, str(generator), judge, review, substituted=substituted),
        )


def _drops(rows: pd.DataFrame) -> str:
    """How many lose how much."""
    drops = rows[rows["verdict"] == "drops"].sort_values("delta", ascending=False)
    places = [task_title(*key) for key in rows[PLACES].drop_duplicates().itertuples(index=False)]
    single = len(places) == 1
    n_models, n_drops = rows["model"].nunique(), drops["model"].nunique()
    verb = "loses" if n_drops == 1 else "lose"
    if single:
        start = f"{n_drops or 'None'} of {n_models} models {verb} a detectable part of the score on"
        start += f" {places[0]}"
    else:
        start = (
            f"{len(drops) or 'None'} of {len(rows)} scores ({n_models} models on {len(places)} "
            "tasks) drop detectably under rewording"
        )
    if len(drops) == 1 or (single and 0 < len(drops) <= 3):
        start += ": " + ", ".join(
            f"{row['model']} by {_with_interval(row)}" for row in drops.to_dict("records")
        )
    elif len(drops):
        start += (
            f", by {points(drops['delta'].min(), 1)} to {points(drops['delta'].max(), 1)} points "
            f"(median {points(drops['delta'].median(), 1)}); the most: {_where(drops, single)}"
        )
    rises = rows[rows["verdict"] == "rises"]
    if len(rises):
        start += f"; {len(rises)} {'rises' if len(rises) == 1 else 'rise'}"
    if not len(drops) and rows["delta"].notna().any():
        start += (
            f": Δ goes from {points(rows['delta'].min(), 1, sign=True)} to "
            f"{points(rows['delta'].max(), 1, sign=True)} points"
        )
    return start + "."


def _where(drops: pd.DataFrame, single: bool) -> str:
    most = drops.to_dict("records")[0]
    return str(most["model"]) + (
        "" if single else f" on {task_title(most['task'], most['subset'])}"
    )


def _with_interval(row: dict[str, Any]) -> str:
    said = f"{points(row['delta'], 1)} points"
    if pd.notna(row["delta_ci_low"]):
        low, high = (points(row[name], 1) for name in ("delta_ci_low", "delta_ci_high"))
        said += f" (interval {low} to {high})"
    return said


def swaps(results: pd.DataFrame, pairs: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Pairs of models that stand in opposite order before and after rewording.

    Args:
        results: as of `answers`.
        pairs: the table `model_pairs`.
        confidence: share of resamples from which on an order counts as turned around (`real`).
    """
    keys = ["generator", *PLACES]
    scores = results[[*keys, "model", "original", "pteb_mean"]]
    both = pairs.merge(scores, on=[*keys, "model"]).merge(
        scores.rename(columns={"model": "other_model"}),
        on=[*keys, "other_model"],
        suffixes=("", "_other"),
    )
    before = both["original"] - both["original_other"]
    after = both["pteb_mean"] - both["pteb_mean_other"]
    found = both[before * after < 0]
    return found.assign(real=found["flip_probability"] >= confidence).sort_values(
        "flip_probability", ascending=False, kind="stable"
    )


def _ranks(rows: pd.DataFrame, pairs: pd.DataFrame, confidence: float) -> str:
    """Which changes of the ranking are real."""
    if rows["model"].nunique() < 2:
        return "With one model there is no ranking that could change."
    if pairs.empty:
        return "Whether the ranking changes cannot be said here: no two models could be compared."
    n_places = len(rows[PLACES].drop_duplicates())
    where = "" if n_places == 1 else f" on any of {n_places} tasks"
    found = swaps(rows, pairs, confidence)
    if found.empty:
        return f"No two models change places in the ranking{where}."
    real = found[found["real"]]
    start = (
        f"{len(found)} of {len(pairs)} pairs of models{where.replace(' any of', '')} "
        f"{'changes' if len(found) == 1 else 'change'} places in the ranking"
    )
    share = f"at least {percent(confidence)} of resamples"
    if real.empty:
        return f"{start}, but none in {share}: these changes may be chance."
    shown = [
        f"{row.model} and {row.other_model}"
        + ("" if n_places == 1 else f" on {task_title(row.task, row.subset)}")
        for row in real.head(3).itertuples()
    ]
    rest = "" if len(real) <= 3 else f" and {len(real) - 3} more"
    tail = "" if len(real) == len(found) else "; the others may be chance"
    return f"{start}; {len(real)} of them in {share} ({', '.join(shown)}{rest}){tail}."


def _care(
    rows: pd.DataFrame,
    generator: str,
    judge: str,
    review: pd.DataFrame | None,
    *,
    substituted: bool,
) -> str:
    """What not to rely on."""
    quality = rows.drop_duplicates("task")
    worst = quality.sort_values("copy_rate").to_dict("records")[-1]
    copied = percent(worst["copy_rate"]) + (f" (on {worst['task']})" if len(quality) > 1 else "")
    most = quality["failure_rate"].max()
    failed = percent(most, 1) if most else "none"
    said = [
        f"{'up to ' if len(quality) > 1 else ''}{copied} of the paraphrases only copy their text"
        + (", which makes Δ too small" if worst["copy_rate"] >= COPIES else "")
        + f", and {'at most ' if most and len(quality) > 1 else ''}{failed} failed"
    ]
    if substituted:
        said.append("originals stand in for failed paraphrases, so every Δ is too small")
    said += _weak(rows)
    by_task = review is not None or len(quality) == 1
    for task, own in quality.groupby("task", sort=False) if by_task else [("", quality)]:
        rating = own["judge_mean"].mean()
        rated = f"judge {judge} gives them {rating:.2f} of 5 for keeping the meaning"
        said.append(meaning(review, generator, str(task), rated if pd.notna(rating) else ""))
    return "Read with care: " + "; ".join(dict.fromkeys(said)) + "."


def _weak(rows: pd.DataFrame) -> Iterator[str]:
    """Verdicts that say nothing, few runs, and small tasks."""
    for verdict, why in (
        ("underpowered", "too few instances to tell"),
        ("undefined", "no test was possible"),
    ):
        count = int((rows["verdict"] == verdict).sum())
        if count:
            yield f"{count} of {len(rows)} verdicts {_is(count)} “{verdict}” ({why})"
    if (n_runs := int(rows["n_runs"].max())) < FEWEST_RUNS:
        yield f"with fewer than {FEWEST_RUNS} runs, here {n_runs}, Δ is not steady"
    few = rows.loc[rows["n_instances"] < FEW].drop_duplicates(PLACES)
    if len(few) == 1:
        row = few.iloc[0]
        yield f"{task_title(row['task'], row['subset'])} has only {row['n_instances']} instances"
    elif len(few):
        yield f"{len(few)} tasks have fewer than {FEW} instances"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def meaning(review: pd.DataFrame | None, generator: str, task: str, rated: str = "") -> str:
    """Whether the meaning was kept, as far as people or a judge rated it."""
    if review is not None:
        own = review[(review["generator"] == generator) & (review["task"] == task)]
        for row in own.itertuples():
            said = (
                f"People rated {row.n_pairs} of the usable ones: {row.kept_share:.0%} keep the "
                f"meaning ({row.kept_low:.0%} to {row.kept_high:.0%})"
            )
            return f"{said}; {rated}" if rated else said
    return rated or (
        "nobody has checked that the paraphrases keep the meaning, so a drop may be the "
        "paraphraser's doing as well as the model's"
    )
