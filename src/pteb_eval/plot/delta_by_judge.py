"""Figure: Δ against the rating that an instance's texts must have, with how many are left."""

from typing import Any

import numpy as np
import pandas as pd

from pteb_eval.judge.verdict import marked
from pteb_eval.plot.panels import GRAY, line_style, nothing, stacked, title


def delta_by_judge(drift: pd.DataFrame) -> Any:
    """One panel a task, subset and generator; one line a model, with intervals.

    Left of the first threshold stands the default, all compared instances. The number of instances
    stands above each threshold.

    Args:
        drift: the table `drift`.
    """
    if not drift["min_judge"].notna().any():
        return nothing("No thresholds: set `min_judge` to see Δ where the meaning was kept.")
    panels = list(drift.groupby(["task", "subset", "generator"], sort=False))
    figure, axes = stacked([1.9] * len(panels), gap=1.1)
    for axis, ((task, subset, generator), rows) in zip(axes, panels, strict=True):
        judge, verdict = rows[["judge", "verdict"]].iloc[0]
        axis.set_title(title(task, subset, generator), pad=22)
        axis.set_xlabel(f"every text judged at least, by {marked(judge, verdict)}")
        _panel(axis, rows)
    return figure


def _panel(axis: Any, rows: pd.DataFrame) -> None:
    thresholds = sorted(rows["min_judge"].dropna().unique())
    places = {threshold: place for place, threshold in enumerate(thresholds, start=1)}
    at = rows["min_judge"].map(places).fillna(0)
    models = list(dict.fromkeys(rows["model"]))
    axis.axhline(0, color=GRAY, linewidth=0.8)
    for number, model in enumerate(models):
        own = rows[rows["model"] == model].assign(place=at).sort_values("place")
        delta = 100 * own["delta"].to_numpy()
        below = delta - 100 * own["delta_ci_low"].to_numpy()
        above = 100 * own["delta_ci_high"].to_numpy() - delta
        arms = np.clip(np.nan_to_num([below, above]), 0, None)
        beside = own["place"] + 0.08 * (number - (len(models) - 1) / 2)
        axis.errorbar(
            beside, delta, yerr=arms, fmt="o", ms=4, capsize=2, label=model, **line_style(number)
        )
    counts = rows.assign(place=at).groupby("place")["n_instances"].first()
    for place, count in counts.items():
        axis.annotate(f"n = {count}", (place, 1.02), xycoords=("data", "axes fraction"),
                      ha="center", fontsize=8)  # fmt: skip
    axis.set_xticks(
        range(len(thresholds) + 1), ["all", *(f"{threshold:g}" for threshold in thresholds)]
    )
    axis.set_xlim(-0.4, len(thresholds) + 0.4)
    axis.set_ylabel("Δ × 100")
    axis.legend(fontsize=8)
