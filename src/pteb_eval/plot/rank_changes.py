"""Figure: the models' ranks before and after rewording."""

from functools import partial
from typing import Any

import pandas as pd

from pteb_eval.plot.panels import (
    LINE,
    SMALL,
    Margins,
    Panel,
    fitted,
    groups,
    heading,
    pages,
    short_names,
    styles,
    text_width,
    widest,
)

MOST_LABEL = 0.88
"""Inches of a label, of which one stands on each side."""
ASIDE = 0.4
"""Room for intervals beside the slopes, as a share of the slopes' width."""


def rank_changes(ranking: pd.DataFrame, width: float, most: float) -> list[Any]:
    """One panel a task, subset and generator: a line a model, with the intervals of both ranks.

    Args:
        ranking: the table `ranking`.
        width: of the figure, inches.
        most: height of a page, inches.
    """
    names, looks = short_names(ranking["model"]), styles(ranking["model"])
    parts = groups(ranking)
    labels = [
        {column: _labels(rows, column, names) for column in ("rank_before", "rank_after")}
        for _, rows in parts
    ]
    edge = widest(text for one in labels for side in one.values() for text in side.values()) + 0.08
    panels = [
        Panel(
            heading(*key, _tau(rows)),
            LINE * (0.8 + len(rows)),
            partial(_panel, rows=rows, labels=own, looks=looks),
        )
        for (key, rows), own in zip(parts, labels, strict=True)
    ]
    return pages(panels, width, Margins(edge, edge, below=0.26, inner=0.75), most=most)


def _panel(
    axis: Any,
    first: bool,
    inside: float,
    *,
    rows: pd.DataFrame,
    labels: dict[str, dict[float, str]],
    looks: dict[str, dict[str, Any]],
) -> None:
    for place, row in enumerate(rows.to_dict("records"), start=1):
        style = looks[row["model"]]
        axis.plot([0, 1], [row["rank_before"], row["rank_after"]], ms=3, **style, zorder=3)
        # Intervals of models at the same side stand next to each other, not on each other.
        aside = ASIDE * place / (len(rows) + 1) + 0.03
        for x, name in ((-aside, "rank_before"), (1 + aside, "rank_after")):
            axis.plot(
                [x, x], [row[f"{name}_low"], row[f"{name}_high"]], color=style["color"],
                linewidth=1, alpha=0.7, solid_capstyle="round", zorder=2,
            )  # fmt: skip
    beside, edges = 0.04 / inside, axis.get_yaxis_transform()
    for name, x, side in (("rank_before", -beside, "right"), ("rank_after", 1 + beside, "left")):
        for rank, label in labels[name].items():
            axis.text(x, rank, label, ha=side, va="center", fontsize=SMALL, transform=edges)
    axis.set_xlim(-ASIDE - 0.05, 1 + ASIDE + 0.05)
    axis.set_ylim(len(rows) + 0.5, 0.3)
    axis.set_yticks([])
    axis.set_xticks([0, 1], ["original", "PTEB"])
    axis.grid(False)
    axis.spines[["left", "bottom"]].set_visible(False)
    axis.tick_params(axis="both", length=0)


def _labels(rows: pd.DataFrame, column: str, names: dict[str, str]) -> dict[float, str]:
    """Label of the models at each rank."""
    found = {}
    for rank, tied in rows.groupby(column)["model"]:
        own, number = [names[model] for model in tied], f"{rank:g}"
        name = " = ".join(own)
        if len(own) > 1 and text_width(name) > MOST_LABEL:
            more = f" and {len(own) - 1} more"
            name = fitted(own[0], MOST_LABEL - text_width(more)) + more
        name = fitted(name, MOST_LABEL)
        found[float(rank)] = f"{name}  {number}" if column == "rank_before" else f"{number}  {name}"
    return found


def _tau(rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    if pd.isna(first["tau"]):
        return ""
    interval = f" [{first['tau_low']:.2f}, {first['tau_high']:.2f}]"
    return f", τ = {first['tau']:.2f}" + (interval if pd.notna(first["tau_low"]) else "")
