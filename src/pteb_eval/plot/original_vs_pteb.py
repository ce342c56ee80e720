"""Figure: original against PTEB score for each model, generator and task."""

from functools import partial
from typing import Any

import pandas as pd

from pteb_eval.plot.panels import (
    BLUE,
    GRAY,
    LINE,
    ORANGE,
    Margins,
    Panel,
    fitted,
    groups,
    heading,
    key_legend,
    pages,
    short_names,
    widest,
)

KEY: list[tuple[str, dict[str, Any]]] = [
    ("original", {"marker": "o", "ms": 5, "mfc": "none", "mec": BLUE, "linestyle": ""}),
    ("PTEB score with the interval of Δ", {"marker": "o", "ms": 3.5, "color": ORANGE}),
    ("single runs", {"marker": "|", "ms": 5, "color": ORANGE, "linestyle": ""}),
]
MOST_LABEL = 1.45
"""Inches of a model's name."""


def original_vs_pteb(
    summary: pd.DataFrame, scores: pd.DataFrame, width: float, most: float
) -> list[Any]:
    """One panel a task, subset and generator; one line a model.

    The bar about the PTEB score is the bootstrap interval of Δ, laid from the original score.
    Single runs are ticks below the line.

    Args:
        summary: the table `summary`.
        scores: the table `scores`.
        width: of the figure, inches.
        most: height of a page, inches.
    """
    runs = scores[(scores["variant"] == "paraphrase") & (scores["metric"] == "main_score")]
    keys = ["task", "subset", "generator"]
    by_run = runs.groupby([*keys, "model", "run"])["value"].mean().reset_index()
    drawn = dict(list(by_run.groupby(keys)))
    names = {m: fitted(n, MOST_LABEL) for m, n in short_names(summary["model"]).items()}
    panels = [
        Panel(
            heading(*key, f", n = {int(rows['n_instances'].iloc[0])}"),
            LINE * max(3, 1.25 * len(rows)),
            partial(_panel, rows=rows, runs=drawn[key], names=names),
        )
        for key, rows in groups(summary)
    ]
    alike = summary.groupby(keys, sort=False)["model"].agg(tuple).nunique() == 1
    margins = Margins(0.08 + widest(names.values()), shared=alike, inner=1.25)
    return pages(panels, width, margins, key_legend(KEY), most)


def _panel(
    axis: Any,
    first: bool,
    inside: float,
    *,
    rows: pd.DataFrame,
    runs: pd.DataFrame,
    names: dict[str, str],
) -> None:
    place = {model: len(rows) - 1 - number for number, model in enumerate(rows["model"])}
    y = rows["model"].map(place)
    original, mean, delta = 100 * rows["original"], 100 * rows["pteb_mean"], rows["delta"]
    axis.hlines(y, original, mean, color=GRAY, zorder=1)
    axis.scatter(
        original, y, s=22, facecolor="none", edgecolor=BLUE, linewidths=1, zorder=4,
        label="original",
    )  # fmt: skip
    arms = [rows["delta_ci_high"] - delta, delta - rows["delta_ci_low"]]
    axis.errorbar(
        mean, y, fmt="o", ms=3, color=ORANGE, capsize=1.5, elinewidth=0.9, zorder=3,
        xerr=[(100 * arm).fillna(0).clip(lower=0) for arm in arms],
    )  # fmt: skip
    axis.scatter(
        100 * runs["value"], runs["model"].map(place) - 0.3, marker="|", s=9, color=ORANGE,
        linewidths=0.7, zorder=2, label="single runs",
    )  # fmt: skip
    axis.set_yticks(range(len(rows)), [names[model] if first else "" for model in reversed(place)])
    axis.set_ylim(-0.7, len(rows) - 0.4)
    axis.locator_params(axis="x", nbins=4)
    axis.set_xlabel(f"{rows['metric'].iloc[0]} × 100", fontsize=6)
