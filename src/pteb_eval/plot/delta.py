"""Figure: Δ of every model on every task, as a map."""

import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pteb_eval.plot.panels import (
    LINE,
    SMALL,
    Margins,
    Panel,
    fitted,
    nothing,
    pages,
    short_names,
    text_width,
    widest,
)
from pteb_eval.tables import add_verdicts

CELL = 0.105
"""Inches: a narrower cell has no room for the name of its column."""
BAR = 0.42
"""Inches for the color bar."""
MAP = "RdBu_r"
"""Red where the score drops, blue where it rises: told apart by color-blind readers."""


def delta(summary: pd.DataFrame, effects: pd.DataFrame, width: float, most: float) -> list[Any]:
    """A map a generator: rows are models, columns tasks.

    A task of several subsets is their mean. Where there is no room for all tasks, columns are means
    over those of one type and metric. Bold, or a dot where numbers do not fit: the test finds a
    change (of several subsets or tasks: in all of them).

    Args:
        summary: the table `summary`.
        effects: the table `effects`.
        width: of the figure, inches.
        most: height of a page, inches.
    """
    rows = add_verdicts(summary, effects)
    rows["found"] = rows["verdict"].isin(("drops", "rises"))
    names = {m: fitted(n, 0.45 * width) for m, n in short_names(rows["model"]).items()}
    left = widest(names.values()) + 0.08
    room = width - left - BAR
    rows["column"] = rows["task"]
    if rows["task"].nunique() * CELL > room:
        rows["column"] = rows["task_type"] + " (" + rows["metric"] + ")"
    by_task = rows.groupby(["generator", "model", "column", "task"], sort=False)
    rows = by_task.agg(delta=("delta", "mean"), found=("found", "all")).reset_index()
    rows = rows.groupby(["generator", "model", "column"], sort=False)
    cells = rows.agg(delta=("delta", "mean"), found=("found", "all")).reset_index()
    if not cells["delta"].notna().any():
        return nothing("No Δ is defined.", width)
    reach = 100 * max(cells["delta"].abs().max(), 0.001)
    columns = {name: fitted(name, 1.6) for name in dict.fromkeys(cells["column"])}
    inside = min(room, 0.9 * len(columns))
    panels = [
        Panel(
            ("Δ × 100", f"reworded by {generator}"),
            LINE * 1.15 * own["model"].nunique(),
            partial(_panel, cells=own, names=names, columns=columns, reach=reach),
        )
        for generator, own in cells.groupby("generator", sort=False)
    ]
    below = LINE if _fit_beside(columns, inside) else widest(columns.values())
    margins = Margins(left, width - left - inside, below=below + 0.12, inner=inside)
    return pages(panels, width, margins, most=most)


def _panel(
    axis: Any,
    first: bool,
    inside: float,
    *,
    cells: pd.DataFrame,
    names: dict[str, str],
    columns: dict[str, str],
    reach: float,
) -> None:
    models = list(dict.fromkeys(cells["model"]))
    grid = cells.pivot(index="model", columns="column").reindex(models)
    values = 100 * grid["delta"].reindex(columns=list(columns)).to_numpy(float)
    found = grid["found"].reindex(columns=list(columns)).fillna(False).to_numpy(bool)
    image = axis.imshow(values, cmap=MAP, vmin=-reach, vmax=reach, aspect="auto")
    _numbers(axis, values, found, reach, inside / len(columns))
    level = _fit_beside(columns, inside)
    axis.set_xticks(range(len(columns)), list(columns.values()), rotation=0 if level else 90)
    axis.set_yticks(range(len(models)), [names[model] for model in models])
    axis.tick_params(length=0)
    axis.grid(False)
    axis.spines[:].set_visible(False)
    height = axis.get_position().height * axis.figure.get_figheight()
    bar = axis.inset_axes((1 + 0.07 / inside, 0, 0.09 / inside, min(1.0, 1.6 / height)))
    axis.figure.colorbar(image, cax=bar)
    bar.locator_params(axis="y", nbins=max(2, min(5, int(height / 0.25))))
    bar.spines[:].set_visible(False)


def _fit_beside(columns: dict[str, str], inside: float) -> bool:
    """Whether the names of columns fit beside each other."""
    return widest(columns.values()) + 0.06 <= inside / len(columns)


def _numbers(axis: Any, values: Any, found: Any, reach: float, cell: float) -> None:
    """The values where they fit, else marks of those that a test found."""
    texts = [[_short(value) for value in row] for row in values]
    fit = max(text_width(text, SMALL, "bold") for row in texts for text in row) + 0.02 <= cell
    for (row, column), value in np.ndenumerate(values):
        text = texts[row][column] if fit else "•" if found[row, column] else ""
        axis.text(
            column, row, text, ha="center", va="center", fontsize=SMALL,
            weight="bold" if found[row, column] else "normal",
            color="white" if abs(value) > 0.6 * reach else "black",
        )  # fmt: skip


def _short(value: float) -> str:
    """A value in at most four characters."""
    if math.isnan(value):
        return "–"
    text = f"{value:.1f}" if abs(value) < 9.95 else f"{value:.0f}"
    return text.replace("-", "−").replace("−0.0", "0.0")
