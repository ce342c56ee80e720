"""From the files that people handed in to the tables of the run."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pteb_eval.errors import UserError
from pteb_eval.ids import text_id
from pteb_eval.layout import Layout
from pteb_eval.review.agreement import COLUMNS, RATER_COLUMNS, rater_rows, review_rows
from pteb_eval.review.judged import COLUMNS as JUDGED
from pteb_eval.review.judged import judged
from pteb_eval.review.key import PAIR, read_key
from pteb_eval.review.ratings import Ratings, one_each, read_ratings
from pteb_eval.statistics.drift import judge_verdict
from pteb_eval.statistics.stage import AS_PERCENT
from pteb_eval.store import read_table
from pteb_eval.tables import write_tables
from pteb_eval.workflow import Workflow


def collect(flow: Workflow, files: Sequence[Path]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write and return the tables `review` and `review_raters`.

    Raises:
        UserError: if a file is damaged or belongs to no sample of this run, if files belong to
            several, or if the rated paraphrases are no longer those of the run.
    """
    people = one_each(read_ratings(path) for path in files)
    key, threshold = _key(flow.layout, people)
    ratings = pd.concat([_joined(one, key) for one in people], ignore_index=True)
    pairs = key[key["kind"] == PAIR]
    cells = list(dict.fromkeys(zip(pairs["generator"], pairs["task"], strict=True)))
    for cell in cells:
        _check_unchanged(flow.layout, pairs, *cell)
    declared = flow.config.statistics
    rows = review_rows(
        ratings,
        _judgements(flow, cells),
        _verdicts(flow),
        threshold=threshold,
        confidence=declared.confidence,
        resamples=declared.resamples,
        seed=flow.config.seed,
    )
    review = pd.DataFrame(rows, columns=COLUMNS).astype({"n_judged": "Int64"})
    raters = pd.DataFrame(rater_rows(ratings), columns=RATER_COLUMNS)
    write_tables(review, flow.layout.table("review"), AS_PERCENT)
    write_tables(raters, flow.layout.table("review_raters"), AS_PERCENT)
    return review, raters


def _key(layout: Layout, people: Sequence[Ratings]) -> tuple[pd.DataFrame, float]:
    """The key of the sample that all files belong to, and the threshold that was declared."""
    first = people[0]
    for one in people:
        if one.sample != first.sample:
            raise UserError(
                f"{one.path}: of sample {one.sample[:40]!r}, but {first.path} is of "
                f"{first.sample[:40]!r}: import one sample at a time"
            )
    there = {path.name.split(".")[0]: path for path in layout.root.glob("review/*.key.parquet")}
    if first.sample not in there:
        raise UserError(
            f"{first.path}: sample {first.sample[:40]!r} was not exported from {layout.root} "
            f"(its samples: {', '.join(sorted(there)) or 'none'}): name the right configuration "
            "with --config"
        )
    key, about = read_key(there[first.sample])
    return key, float(about["threshold"])


def _joined(one: Ratings, key: pd.DataFrame) -> pd.DataFrame:
    unknown = one.by_item.keys() - set(key["item"])
    if unknown:
        raise UserError(
            f"{one.path}: item {min(unknown)[:40]!r} is not in sample {one.sample} (and "
            f"{len(unknown) - 1} more): the file was changed, or is of another sample"
        )
    frame = pd.DataFrame({"item": list(one.by_item), "rating": list(one.by_item.values())})
    return frame.assign(rater=one.rater).merge(key, on="item")


def _check_unchanged(layout: Layout, pairs: pd.DataFrame, generator: str, task: str) -> None:
    """What people rated must be what the run's judges and scores are about."""
    path = layout.paraphrases(generator, task)
    now = read_table(path, columns=["text_id", "run", "paraphrase"]).to_pandas()
    here = pairs[(pairs["generator"] == generator) & (pairs["task"] == task)]
    both = here.merge(now, on=["text_id", "run"])
    same = [
        text_id(text) == told
        for text, told in zip(both["paraphrase"], both["paraphrase_sha256"], strict=True)
    ]
    if sum(same) < len(here):
        raise UserError(
            f"{path}: {len(here) - sum(same)} of {len(here)} rated paraphrases are no longer in "
            "it: import into the run as it was exported, or export and rate anew"
        )


def _verdicts(flow: Workflow) -> dict[str, str]:
    """What validation says of each judge, once the run has got so far."""
    validated = bool(flow.gold) and flow.layout.table("judge_validation").is_file()
    return {judge: judge_verdict(flow.layout, judge, validated) for judge in flow.judges}


def _judgements(flow: Workflow, cells: Sequence[tuple[str, str]]) -> pd.DataFrame:
    frames = [
        judged(flow.layout, flow.judges, generator, task).assign(generator=generator, task=task)
        for generator, task in cells
    ]
    return pd.concat(frames, ignore_index=True)[[*JUDGED, "generator", "task"]]
