"""The table `judge_validation`: how far each judge agrees with people, in the form of PTEB's."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pteb_eval.ids import digest
from pteb_eval.judge.verdict import NOT_RELIABLE, RELIABLE
from pteb_eval.published import AVERAGE, figures_of
from pteb_eval.published import published as published_of
from pteb_eval.statistics.bootstrap import Interval, interval, resample_counts
from pteb_eval.statistics.correlation import Spearman
from pteb_eval.statistics.statistic import Array, Mean
from pteb_eval.store import provenance_of, read_table
from pteb_eval.tables import bold_best, signed, write_tables

COLUMNS = [
    "judge", "task", "subset", "n", "spearman", "spearman_ci_low", "spearman_ci_high", "mae",
    "mae_ci_low", "mae_ci_high", "unparsable", "verdict", "published_spearman",
    "spearman_difference", "published_mae", "mae_difference",
]  # fmt: skip


def run(settings: dict[str, Any], files: Sequence[Path], published: Path, output: Path) -> None:
    """Write the table as .csv, .md and .tex.

    Args:
        settings: `judges` (pairs of name and model), `min_judge_spearman`, `confidence`,
            `resamples`, `seed`.
        files: the rated gold pairs of all judges and tasks.
        published: YAML file of published figures.
        output: the CSV file; the others lie beside it.
    """
    known = published_of("judge", published)
    rows: list[dict[str, Any]] = []
    by_judge: dict[str, list[Path]] = {judge: [] for judge, _ in settings["judges"]}
    for path in files:
        about = provenance_of(read_table(path, columns=[]).schema)["settings"]
        by_judge[about["judge"]].append(path)
    for judge, model in settings["judges"]:
        own = list(_rows(judge, by_judge[judge], settings))
        reliable = own[-1]["spearman"] >= settings["min_judge_spearman"]
        for row in own:
            found = figures_of(known, model).get(row["task"], {})
            row["verdict"] = RELIABLE if reliable else NOT_RELIABLE
            for name in ("spearman", "mae"):
                row[f"published_{name}"] = found.get(name, math.nan)
                row[f"{name}_difference"] = row[name] - row[f"published_{name}"]
        rows += own
    frame = pd.DataFrame(rows, columns=COLUMNS)
    write_tables(frame, output, people=wide(frame))


def _rows(judge: str, files: Sequence[Path], settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A row for each task and subset, and last the average over them."""
    rhos, maes, rated, wanted = [], [], 0, 0
    for path in files:
        table = read_table(path)
        about = provenance_of(table.schema)
        frame = table.to_pandas()
        for subset, part in frame.groupby("subset", sort=False):
            usable = part[part["status"] == "ok"]
            seed = int(digest([settings["seed"], about["settings"]["task"], subset])[:8], 16)
            rho, mae = agreement(
                usable["gold"].to_numpy(np.float64),
                usable["score"].to_numpy(np.float64),
                settings,
                seed,
            )
            rhos.append(rho)
            maes.append(mae if about["graded"] else (math.nan, np.full_like(mae[1], math.nan)))
            wanted, rated = wanted + len(part), rated + len(usable)
            name = {"judge": judge, "task": about["settings"]["task"], "subset": str(subset)}
            yield name | _numbers(rhos[-1], maes[-1], len(part), len(usable), settings)
    name = {"judge": judge, "task": AVERAGE, "subset": ""}
    # A judge without a correlation somewhere, say of one answer to all, has no average either.
    graded = [mae for mae in maes if not math.isnan(mae[0])]
    yield name | _numbers(_mean(rhos), _mean(graded), wanted, rated, settings)


Drawn = tuple[float, Array]
"""A value on the data and on each resample."""


def agreement(
    gold: Array, scores: Array, settings: dict[str, Any], seed: int
) -> tuple[Drawn, Drawn]:
    """Spearman's correlation and the mean absolute error, each with its paired resamples.

    Args:
        gold: people's ratings in [0, 5], (n,).
        scores: the judge's, (n,).
        settings: `resamples`.
        seed: of the resamples.
    """
    if len(gold) < 2:
        none = math.nan, np.full(settings["resamples"], math.nan)
        return none, none
    both = Spearman(gold, scores[None]), Mean(np.abs(gold - scores)[None])
    values = [float(one.resampled(np.ones((len(gold), 1)))[0, 0]) for one in both]
    blocks = list(resample_counts(len(gold), settings["resamples"], np.random.SeedSequence(seed)))
    drawn = [np.concatenate([one.resampled(block)[0] for block in blocks]) for one in both]
    return (values[0], drawn[0]), (values[1], drawn[1])


def _mean(parts: Sequence[Drawn]) -> Drawn:
    """The mean over data sets; each weighs the same."""
    if not parts:
        return math.nan, np.empty(0)
    return float(np.mean([value for value, _ in parts])), np.mean([d for _, d in parts], axis=0)


def _numbers(
    rho: Drawn, mae: Drawn, wanted: int, rated: int, settings: dict[str, Any]
) -> dict[str, Any]:
    level = settings["confidence"]
    one, other = (_interval(drawn, level) for drawn in (rho, mae))
    return {
        "n": wanted,
        "spearman": one.estimate,
        "spearman_ci_low": one.low,
        "spearman_ci_high": one.high,
        "mae": other.estimate,
        "mae_ci_low": other.low,
        "mae_ci_high": other.high,
        "unparsable": 1 - rated / wanted if wanted else math.nan,
    }


def _interval(drawn: Drawn, level: float) -> Interval:
    return interval(drawn[0], drawn[1], level=level)


def wide(frame: pd.DataFrame) -> pd.DataFrame:
    """The table for people: a row a judge; Spearman × 100 and MAE of each data set side by side.

    The best value of a column stands between `**`, and a published figure with the difference
    beside it. A published average has a column of its own, since it is over the source's data sets.
    """
    places = list(dict.fromkeys(zip(frame["task"], frame["subset"], strict=True)))
    shown: dict[str, list[str]] = {"judge": list(dict.fromkeys(frame["judge"]))}
    for task, subset in places:
        rows = frame[(frame["task"] == task) & (frame["subset"] == subset)].set_index("judge")
        rows = rows.reindex(shown["judge"])
        name = task if subset in ("default", "") else f"{task} {subset}"
        shown[f"{name} ρ"] = _cells(rows, "spearman", 100, 2, largest=True)
        if rows["mae"].notna().any():
            shown[f"{name} MAE"] = _cells(rows, "mae", 1, 2, largest=False)
    average = frame[frame["task"] == AVERAGE].set_index("judge").loc[shown["judge"]]
    if average["published_spearman"].notna().any():
        shown["published average ρ (difference)"] = [
            "" if pd.isna(value) else f"{100 * value:.2f} ({signed(100 * difference, 2)})"
            for value, difference in zip(
                average["published_spearman"], average["spearman_difference"], strict=True
            )
        ]
    shown["unparsable %"] = [f"{100 * value:.1f}" for value in average["unparsable"]]
    shown["n"] = [str(value) for value in average["n"]]
    shown["verdict"] = list(average["verdict"])
    return pd.DataFrame(shown)


def _cells(rows: pd.DataFrame, name: str, scale: int, digits: int, *, largest: bool) -> list[str]:
    texts = [
        "undefined" if pd.isna(value) else f"{scale * value:.{digits}f}" for value in rows[name]
    ]
    cells = bold_best(texts, rows[name].tolist(), largest=largest)
    for place, row in enumerate(rows.to_dict("records")):
        if pd.notna(row[name]) and pd.notna(row[f"{name}_ci_low"]):
            low, high = (scale * row[f"{name}_ci_{end}"] for end in ("low", "high"))
            cells[place] += f" [{low:.{digits}f}, {high:.{digits}f}]"
        if pd.notna(row[f"published_{name}"]) and row["task"] != AVERAGE:
            theirs, more = (scale * row[key] for key in (f"published_{name}", f"{name}_difference"))
            cells[place] += f" (published {theirs:.{digits}f}, difference {signed(more, digits)})"
    return cells
