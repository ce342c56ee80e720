"""Figure: the width of Δ's interval against the number of runs."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pteb_eval.plot.panels import (
    COLORS,
    GRAY,
    Margins,
    Panel,
    groups,
    heading,
    model_legend,
    nothing,
    pages,
    styles,
)
from pteb_eval.statistics.runs import VarianceSplit, width_curve

MOST = 20
"""Runs up to which curves are drawn, or twice as many as there are."""


def interval_width(runs: pd.DataFrame, width: float, most: float) -> list[Any]:
    """One panel a task, subset and generator; a curve a model, a mark at the runs there are.

    The thin dotted line, of up to seven models, is what instances alone leave however many runs
    there are; the dashed gray one the declared width.

    Args:
        runs: the table `runs`.
        width: of the figure, inches.
        most: height of a page, inches.
    """
    if runs.empty:
        return nothing("No metric here has an interval.", width)
    looks = styles(runs["model"])
    panels = [
        Panel(heading(*key), 1.15, partial(_panel, rows=rows, looks=looks))
        for key, rows in groups(runs)
    ]
    return pages(panels, width, Margins(0.42, inner=1.4), model_legend(runs["model"]), most)


def _panel(
    axis: Any, first: bool, inside: float, *, rows: pd.DataFrame, looks: dict[str, dict[str, Any]]
) -> None:
    most = max(MOST, 2 * int(rows["n_runs"].max()))
    numbers = np.arange(1, most + 1)
    for row in rows.to_dict("records"):
        style = looks[row["model"]]
        n_runs, level = int(row["n_runs"]), row["confidence"]
        split = VarianceSplit(row["instance_variance"], row["run_variance"], n_runs)
        axis.plot(numbers, 100 * width_curve(split, list(numbers), level), **style | {"marker": ""})
        axis.plot(n_runs, 100 * split.width(n_runs, level), ms=4, **style)
        if len(rows) > len(COLORS):  # too many lines to follow
            continue
        floor = 100 * VarianceSplit(split.instances, 0.0, n_runs).width(1, level)
        axis.axhline(floor, color=style["color"], linestyle=(0, (1, 2)), linewidth=0.6)
    target = rows["target_width"].iloc[0]
    if pd.notna(target):
        axis.axhline(100 * target, color=GRAY, linestyle=(0, (5, 3)))
    axis.set_xlim(0.5, most + 0.5)
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.locator_params(axis="y", nbins=5)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("runs")
    axis.set_ylabel("width × 100")
