"""Figure: average ranks over tasks, and which of them differ (Demšar 2006)."""

from typing import Any

import pandas as pd

from pteb_eval.plot.panels import BLUE, GRAY, nothing, stacked
from pteb_eval.statistics.across import cliques

ROW, BAR = 0.2, 0.1
"""Inches of a model's label and of a bar over models that do not differ."""


def critical_difference(across: pd.DataFrame) -> Any:
    """One panel a generator and group of tasks: models at their average ranks by PTEB score.

    The bar at the top is as long as Nemenyi's critical difference; models under one thick bar do
    not differ by more than it.

    Args:
        across: the table `across_tasks`.
    """
    drawn = across[across["critical_difference"].notna()]
    if (drawn["n_tasks"] > 1).any():  # ranks on a single task are no averages
        drawn = drawn[drawn["n_tasks"] > 1]
    if drawn.empty:
        return nothing("Average ranks need two models with scores on a common task.")
    panels, bars, heights = [], [], []
    for key, rows in drawn.groupby(["generator", "tasks", "metric"], sort=False, dropna=False):
        ordered = rows.sort_values("average_rank_after", kind="stable")
        ranks = ordered["average_rank_after"].to_numpy()
        bars.append(cliques(ranks, float(ordered["critical_difference"].iloc[0])))
        panels.append((key, ordered))
        heights.append(0.65 + BAR * len(bars[-1]) + ROW * ((len(rows) + 1) // 2))
    figure, axes = stacked(heights, gap=0.45)
    for axis, ((generator, tasks, metric), rows), found in zip(axes, panels, bars, strict=True):
        _panel(axis, rows, found)
        n = int(rows["n_tasks"].iloc[0])
        kind = tasks if pd.isna(metric) else f"{tasks} ({metric})"
        axis.set_title(f"{kind}, {n} task{'s' if n > 1 else ''}, reworded by {generator}")
    return figure


def _panel(axis: Any, rows: pd.DataFrame, found: tuple[tuple[int, ...], ...]) -> None:
    """The axis of ranks lies at y = 0, all else in inches above or below it."""
    ranks, models = rows["average_rank_after"].tolist(), rows["model"].tolist()
    difference, n_models = float(rows["critical_difference"].iloc[0]), len(rows)
    end = max(n_models, 1 + difference)
    margin = 0.45 * (end - 1)
    axis.axis("off")
    axis.set_xlim(1 - margin, end + margin)
    depth = BAR * len(found) + 0.12
    half = (n_models + 1) // 2
    axis.set_ylim(-depth - ROW * half, 0.5)
    axis.plot([1, n_models], [0, 0], color="black", linewidth=1)
    for rank in range(1, n_models + 1):
        axis.plot([rank, rank], [0, 0.06], color="black", linewidth=1)
        axis.text(rank, 0.09, str(rank), ha="center", fontsize=8)
    axis.plot([1, 1 + difference], [0.36, 0.36], color=BLUE, marker="|", ms=6)
    axis.text(1 + difference + 0.02 * end, 0.36, f"critical difference {difference:.2f}",
              color=BLUE, fontsize=8, va="center")  # fmt: skip
    for place, (rank, model) in enumerate(zip(ranks, models, strict=True)):
        left = place < half
        y = -depth - ROW * (place if left else n_models - 1 - place) - 0.05
        edge = 1 - 0.04 * (end - 1) if left else n_models + 0.04 * (end - 1)
        axis.plot([rank, rank, edge], [0, y, y], color=GRAY, linewidth=0.8, zorder=1)
        axis.plot(rank, 0, marker="o", ms=4, color="black", zorder=3)
        label = f"{model}  {rank:.2f}" if left else f"{rank:.2f}  {model}"
        axis.text(edge + (-0.01 if left else 0.01) * end, y, label,
                  ha="right" if left else "left", va="center", fontsize=8)  # fmt: skip
    for row, members in enumerate(found):
        y = -BAR * (row + 0.9)
        span = [ranks[members[0]] - 0.02 * end, ranks[members[-1]] + 0.02 * end]
        axis.plot(span, [y, y], color="black", linewidth=3, solid_capstyle="butt", zorder=2)
