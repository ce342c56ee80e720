"""Figure: Δ against the rating that an instance's texts must have, with how many are left."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pteb_eval.judge.verdict import marked
from pteb_eval.plot.panels import (
    GRAY,
    SMALL,
    Margins,
    Panel,
    fitted,
    groups,
    heading,
    model_legend,
    nothing,
    pages,
    styles,
)


def delta_by_judge(drift: pd.DataFrame, width: float, most: float) -> list[Any]:
    """One panel a task, subset and generator; one line a model, with intervals.

    Left of the first threshold stands the default, all compared instances. The number of instances
    stands above each threshold.

    Args:
        drift: the table `drift`.
        width: of the figure, inches.
        most: height of a page, inches.
    """
    if not drift["min_judge"].notna().any():
        return nothing("No thresholds: set `min_judge` to see Δ where the meaning was kept.", width)
    looks = styles(drift["model"])
    panels = [
        Panel(
            heading(*key),
            1.3,
            partial(_panel, rows=rows, looks=looks),
        )
        for key, rows in groups(drift)
    ]
    margins = Margins(0.4, below=0.45, inner=2.0)
    return pages(panels, width, margins, model_legend(drift["model"]), most)


def _panel(
    axis: Any, first: bool, inside: float, *, rows: pd.DataFrame, looks: dict[str, dict[str, Any]]
) -> None:
    thresholds = sorted(rows["min_judge"].dropna().unique())
    places = {threshold: place for place, threshold in enumerate(thresholds, start=1)}
    at = rows["min_judge"].map(places).fillna(0)
    models = list(dict.fromkeys(rows["model"]))
    axis.axhline(0, color=GRAY, linewidth=0.6)
    for number, model in enumerate(models):
        own = rows[rows["model"] == model].assign(place=at).sort_values("place")
        delta = 100 * own["delta"].to_numpy()
        below = delta - 100 * own["delta_ci_low"].to_numpy()
        above = 100 * own["delta_ci_high"].to_numpy() - delta
        arms = np.clip(np.nan_to_num([below, above]), 0, None)
        beside = own["place"] + 0.7 * ((number + 0.5) / len(models) - 0.5)
        axis.errorbar(beside, delta, yerr=arms, ms=3, capsize=1, elinewidth=0.7, **looks[model])
    counts = rows.assign(place=at).groupby("place")["n_instances"].first()
    axis.margins(y=0.12)
    for place, count in counts.items():
        axis.annotate(f"n = {count}", (place, 0.98), xycoords=("data", "axes fraction"),
                      ha="center", va="top", fontsize=SMALL)  # fmt: skip
    axis.set_xticks(
        range(len(thresholds) + 1), ["all", *(f"{threshold:g}" for threshold in thresholds)]
    )
    axis.set_xlim(-0.5, len(thresholds) + 0.5)
    axis.set_ylim(top=axis.get_ylim()[1] + 0.12 * np.ptp(axis.get_ylim()))
    axis.set_ylabel("Δ × 100")
    judge, verdict = rows[["judge", "verdict"]].iloc[0]
    label = f"every text judged at least, by {marked(judge, verdict)}"
    axis.set_xlabel(fitted(label, inside + 0.3, SMALL), fontsize=SMALL)
