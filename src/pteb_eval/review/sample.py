"""Which pairs people see: a sample that mirrors all usable paraphrases, drawn by a seed.

Each generator and task gets the same number of pairs. Within one, pairs are ordered by judge score
and edit distance and taken at equal steps from a random start. So every stratum of the two is in
the sample in proportion to its size, every text is equally likely to be drawn with one of its
usable runs, and a share in the sample estimates the share among all, without weights.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pteb_eval.errors import UserError
from pteb_eval.ids import digest
from pteb_eval.layout import Layout
from pteb_eval.review.judged import judged
from pteb_eval.store import read_table

Cell = tuple[str, str]  # generator and task


def draw(
    layout: Layout, cells: Sequence[Cell], judge: str | None, n_pairs: int, seed: int
) -> list[dict[str, Any]]:
    """Draw the pairs.

    Args:
        layout: of the run.
        cells: generators and tasks.
        judge: the one that counts, whose scores the sample mirrors; None: the run has none.
        n_pairs: pairs in all; fewer if there are not so many.
        seed: decides which.

    Returns:
        Dicts of `generator`, `task`, `text_id`, `run`, `text`, `paraphrase`, `edit_distance` and
        `judge_score` (NaN without one).

    Raises:
        UserError: if a file is missing, nothing is usable, or `n_pairs` does not reach all cells.
    """
    sizes = {cell: _n_usable(layout, cell) for cell in cells}
    n_cells = sum(size > 0 for size in sizes.values())
    if not n_cells:
        raise UserError(f"{layout.root}: no paraphrase has the status ok, so none can be rated")
    if n_pairs < n_cells:
        raise UserError(
            f"--pairs {n_pairs}: there are {n_cells} pairs of generator and task: give at least "
            "as many"
        )
    return [
        row
        for cell, n in allocate(sizes, n_pairs).items()
        for row in _cell(layout, cell, judge, n, seed)
    ]


def allocate(sizes: Mapping[Cell, int], total: int) -> dict[Cell, int]:
    """Split a total evenly; what a small cell cannot give goes to the larger ones."""
    shares, left = {}, total
    ordered = sorted(sizes, key=lambda cell: (sizes[cell], cell))
    for place, cell in enumerate(ordered):
        shares[cell] = min(sizes[cell], left // (len(ordered) - place))
        left -= shares[cell]
    return shares


def _n_usable(layout: Layout, cell: Cell) -> int:
    statuses: list[str] = read_table(layout.paraphrases(*cell), columns=["status"])[
        "status"
    ].to_pylist()
    return statuses.count("ok")


def _cell(
    layout: Layout, cell: Cell, judge: str | None, n: int, seed: int
) -> Iterator[dict[str, Any]]:
    generator, task = cell
    rows = read_table(
        layout.paraphrases(generator, task),
        columns=["text_id", "run", "paraphrase", "status", "edit_distance"],
    ).to_pandas()
    rows = rows[rows["status"] == "ok"].drop(columns="status")
    scores = judged(layout, [judge] if judge else [], generator, task).drop(columns="judge")
    rows = rows.merge(scores.rename(columns={"score": "judge_score"}), "left")
    texts = read_table(layout.texts(task), columns=["text_id", "text"]).to_pandas()
    for row in systematic(rows, n, seed, cell).merge(texts, on="text_id").to_dict("records"):
        yield {"generator": generator, "task": task, **row}


def systematic(rows: pd.DataFrame, n: int, seed: int, cell: Cell) -> pd.DataFrame:
    """`n` of the rows at equal steps along judge score and edit distance, from a random start.

    Only as many runs of a text are in the frame as are needed to find `n`: ratings of one text's
    paraphrases are not independent.
    """
    chance = [digest([seed, *cell, row.text_id, int(row.run)]) for row in rows.itertuples()]
    rows = rows.assign(chance=chance).sort_values("chance")
    turn = rows.groupby("text_id").cumcount()
    n_turns = next(k for k in range(1, len(rows) + 2) if (turn < k).sum() >= n)
    frame = rows[turn < n_turns]
    level = frame["judge_score"].astype(float).round().fillna(-1)
    # To and fro, so that a step across two levels does not jump in the distance.
    distance = frame["edit_distance"].where(level % 2 == 0, -frame["edit_distance"])
    order = np.lexsort((frame["chance"], distance, level))
    start = np.random.default_rng(int(digest([seed, *cell])[:16], 16)).random()
    places = ((np.arange(n) + start) * len(frame) / max(n, 1)).astype(int)
    return frame.iloc[order[places]].drop(columns="chance")
