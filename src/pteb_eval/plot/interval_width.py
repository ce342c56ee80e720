"""Figure: the width of Δ's interval against the number of runs."""

from typing import Any

import numpy as np
import pandas as pd

from pteb_eval.plot.panels import GRAY, line_style, nothing, stacked, title
from pteb_eval.statistics.runs import VarianceSplit, width_curve

MOST = 20
"""Runs up to which curves are drawn, or twice as many as there are."""


def interval_width(runs: pd.DataFrame) -> Any:
    """One panel a task, subset and generator; a curve a model, a dot at the runs there are.

    The dotted line is what instances alone leave however many runs there are; the dashed gray one
    the declared width.

    Args:
        runs: the table `runs`.
    """
    if runs.empty:
        return nothing("No metric here has an interval.")
    panels = list(runs.groupby(["task", "subset", "generator"], sort=False))
    figure, axes = stacked([1.7] * len(panels))
    for axis, (key, rows) in zip(axes, panels, strict=True):
        _panel(axis, rows)
        axis.set_title(title(*key))
    return figure


def _panel(axis: Any, rows: pd.DataFrame) -> None:
    most = max(MOST, 2 * int(rows["n_runs"].max()))
    numbers = np.arange(1, most + 1)
    for place, row in enumerate(rows.to_dict("records")):
        style = line_style(place)
        n_runs, level = int(row["n_runs"]), row["confidence"]
        split = VarianceSplit(row["instance_variance"], row["run_variance"], n_runs)
        axis.plot(numbers, 100 * width_curve(split, list(numbers), level), label=row["model"],
                  **style)  # fmt: skip
        axis.plot(n_runs, 100 * split.width(n_runs, level), "o", ms=5, color=style["color"])
        floor = 100 * VarianceSplit(split.instances, 0.0, n_runs).width(1, level)
        axis.axhline(floor, color=style["color"], linestyle=(0, (1, 2)), linewidth=0.9)
    target = rows["target_width"].iloc[0]
    if pd.notna(target):
        axis.axhline(100 * target, color=GRAY, linestyle=(0, (5, 3)), label="wanted")
    axis.set_xlim(0.5, most + 0.5)
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("runs")
    axis.set_ylabel("width of Δ's interval × 100")
    axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)
