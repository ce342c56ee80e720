"""Figure: average ranks over tasks, and which of them differ (Demšar 2006)."""

import math
from functools import partial
from typing import Any

import pandas as pd

from pteb_eval.plot.panels import (
    BLUE,
    GRAY,
    LINE,
    SMALL,
    WIDE,
    Margins,
    Panel,
    fitted,
    nothing,
    pages,
    short_names,
    text_width,
    widest,
)
from pteb_eval.statistics.across import cliques

BAR = 0.08
"""Inches of a bar over models that do not differ."""
TOP, STUB = 0.38, 0.1
"""Inches above the axis of ranks, and of a model's line beside its label."""


def critical_difference(across: pd.DataFrame, width: float, most: float) -> list[Any]:
    """One panel a generator and group of tasks: models at their average ranks by PTEB score.

    The bar at the top is as long as Nemenyi's critical difference; models under one thick bar do
    not differ by more than it.

    Args:
        across: the table `across_tasks`.
        width: of the figure, inches.
        most: height of a page, inches.
    """
    drawn = across[across["critical_difference"].notna()]
    if (drawn["n_tasks"] > 1).any():  # ranks on a single task are no averages
        drawn = drawn[drawn["n_tasks"] > 1]
    if drawn.empty:
        return nothing("Average ranks need two models with scores on a common task.", width)
    n_sides = (
        2 if width == WIDE else 1
    )  # half of the models stand on each side, where there is room
    names = {m: fitted(n, 1.5) for m, n in short_names(drawn["model"]).items()}
    panels = []
    keys = ["generator", "tasks", "metric"]
    for (generator, tasks, metric), rows in drawn.groupby(keys, sort=False, dropna=False):
        ordered = rows.sort_values("average_rank_after", kind="stable")
        ranks = ordered["average_rank_after"].to_numpy()
        found = cliques(ranks, float(ordered["critical_difference"].iloc[0]))
        n = int(rows["n_tasks"].iloc[0])
        kind = tasks if pd.isna(metric) else f"{tasks} ({metric})"
        panels.append(
            Panel(
                (f"{kind}, {n} task{'s' if n > 1 else ''}", f"reworded by {generator}"),
                TOP + BAR * len(found) + LINE * (math.ceil(len(rows) / n_sides) + 1),
                partial(_panel, rows=ordered, found=found, names=names, n_sides=n_sides),
            )
        )
    edge = widest(names.values()) + text_width("00.00  ") + STUB + 0.07
    margins = Margins(edge if n_sides == 2 else 0.08, edge, below=0.05, inner=0.9)
    return pages(panels, width, margins, most=most)


def _panel(
    axis: Any,
    first: bool,
    inside: float,
    *,
    rows: pd.DataFrame,
    found: tuple[tuple[int, ...], ...],
    names: dict[str, str],
    n_sides: int,
) -> None:
    """The axis of ranks lies at y = 0, all else in inches above or below it."""
    ranks, models = rows["average_rank_after"].tolist(), rows["model"].tolist()
    difference, n_models = float(rows["critical_difference"].iloc[0]), len(rows)
    end = max(n_models, 1 + difference)
    unit = (end - 1) / inside  # ranks an inch
    half = math.ceil(n_models / n_sides)  # the best of two sides stand on the left
    n_left = half if n_sides == 2 else 0
    depth = BAR * len(found) + LINE
    axis.axis("off")
    axis.set_xlim(1, end)
    axis.set_ylim(-depth - LINE * half, TOP)
    style: dict[str, Any] = {"clip_on": False}
    axis.plot([1, n_models], [0, 0], color="black", **style)
    step = math.ceil(0.16 * unit)  # as many numbers as fit
    for rank in range(1, n_models + 1):
        axis.plot([rank, rank], [0, 0.04], color="black", **style)
        if (rank - 1) % step == 0:
            axis.text(rank, 0.06, str(rank), ha="center", fontsize=SMALL)
    axis.plot([1, 1 + difference], [0.2, 0.2], color=BLUE, marker="|", ms=4, **style)
    axis.text(1, 0.25, f"critical difference {difference:.2f}", color=BLUE, fontsize=SMALL)
    for place, (rank, model) in enumerate(zip(ranks, models, strict=True)):
        left = place < n_left
        y = -depth - LINE * (place if left else n_models - 1 - place)
        edge = 1 - STUB * unit if left else end + STUB * unit
        axis.plot([rank, rank, edge], [0, y, y], color=GRAY, linewidth=0.6, zorder=1, **style)
        axis.plot(rank, 0, marker="o", ms=3, color="black", zorder=3, **style)
        label = f"{names[model]}  {rank:.2f}" if left else f"{rank:.2f}  {names[model]}"
        axis.text(edge + (-0.03 if left else 0.03) * unit, y, label,
                  ha="right" if left else "left", va="center", fontsize=SMALL)  # fmt: skip
    for row, members in enumerate(found):
        y = -BAR * (row + 0.8)
        span = [ranks[members[0]] - 0.03 * unit, ranks[members[-1]] + 0.03 * unit]
        axis.plot(
            span, [y, y], color="black", linewidth=2, solid_capstyle="butt", zorder=2, **style
        )
