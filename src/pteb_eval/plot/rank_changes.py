"""Figure: the models' ranks before and after rewording."""

from typing import Any

import pandas as pd

from pteb_eval.plot.panels import line_style, stacked, title


def rank_changes(ranking: pd.DataFrame) -> Any:
    """One panel a task, subset and generator: a line a model, with the intervals of both ranks.

    Args:
        ranking: the table `ranking`.
    """
    panels = list(ranking.groupby(["task", "subset", "generator"], sort=False))
    figure, axes = stacked([0.1 + 0.28 * len(rows) for _, rows in panels], gap=0.65)
    for axis, (key, rows) in zip(axes, panels, strict=True):
        _panel(axis, rows)
        first = rows.iloc[0]
        tau = "" if pd.isna(first["tau"]) else f": Kendall's τ {first['tau']:.2f}"
        if tau and pd.notna(first["tau_low"]):
            tau += f" [{first['tau_low']:.2f}, {first['tau_high']:.2f}]"
        axis.set_title(title(*key) + tau)
    return figure


def _panel(axis: Any, rows: pd.DataFrame) -> None:
    n_models = len(rows)
    for place, row in enumerate(rows.to_dict("records")):
        style = line_style(place)
        # Intervals of models at the same side stand next to each other, not on each other.
        aside = 0.02 * (place + 1)
        axis.plot(
            [0, 1], [row["rank_before"], row["rank_after"]], marker="o", ms=5, **style, zorder=3
        )
        for x, name in ((-aside, "rank_before"), (1 + aside, "rank_after")):
            axis.plot(
                [x, x], [row[f"{name}_low"], row[f"{name}_high"]], color=style["color"],
                linewidth=1.8, alpha=0.6, solid_capstyle="round", zorder=2,
            )  # fmt: skip
    edge = 0.02 * (n_models + 1) + 0.02
    for x, name, side in ((-edge, "rank_before", "right"), (1 + edge, "rank_after", "left")):
        for rank, tied in rows.groupby(name):
            axis.text(x, rank, _names(tied["model"].tolist()), ha=side, va="center", fontsize=8)
    axis.set_xlim(-0.9, 1.9)
    axis.set_ylim(n_models + 0.5, 0.5)
    axis.set_yticks(range(1, n_models + 1))
    axis.set_xticks([0, 1], ["original", "PTEB score"])
    axis.set_ylabel("rank")
    axis.grid(False)
    axis.spines[["left", "bottom"]].set_visible(False)
    axis.tick_params(axis="both", length=0)


def _names(tied: list[str]) -> str:
    """Label of the models at one rank."""
    return " = ".join(tied) if len(tied) < 3 else f"{tied[0]} and {len(tied) - 1} more"
