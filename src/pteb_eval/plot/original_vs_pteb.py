"""Figure: original against PTEB score for each model, generator and task."""

from typing import Any

import pandas as pd

from pteb_eval.plot.panels import BLUE, GRAY, ORANGE, stacked, title


def original_vs_pteb(summary: pd.DataFrame, scores: pd.DataFrame) -> Any:
    """One panel a task, subset and generator; one line a model.

    The bar about the PTEB score is the bootstrap interval of Δ, laid from the original score.
    Single runs are ticks below the line.

    Args:
        summary: the table `summary`.
        scores: the table `scores`.
    """
    panels = list(summary.groupby(["task", "subset", "generator"], sort=False))
    figure, axes = stacked([0.15 + 0.38 * len(rows) for _, rows in panels])
    runs = scores[(scores["variant"] == "paraphrase") & (scores["metric"] == "main_score")]
    keys = ["model", "task", "subset", "generator", "run"]
    by_run = runs.groupby(keys)["value"].mean().reset_index()
    for axis, ((task, subset, generator), rows) in zip(axes, panels, strict=True):
        place = (by_run[["task", "subset", "generator"]] == [task, subset, generator]).all(axis=1)
        _panel(axis, rows, by_run[place])
        n = int(rows["n_instances"].iloc[0])
        axis.set_title(f"{title(task, subset, generator)}, n = {n}")
    handles, labels = axes[0].get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    above = 1 + 0.28 / (0.15 + 0.38 * len(panels[0][1]))
    axes[0].legend(
        once.values(), once.keys(), loc="lower left", bbox_to_anchor=(0, above), ncols=3,
        fontsize=8, borderaxespad=0,
    )  # fmt: skip
    return figure


def _panel(axis: Any, rows: pd.DataFrame, runs: pd.DataFrame) -> None:
    for place, row in enumerate(rows.to_dict("records")):
        y = len(rows) - 1 - place
        original, mean = 100 * row["original"], 100 * row["pteb_mean"]
        own = 100 * runs.loc[runs["model"] == row["model"], "value"]
        axis.plot([original, mean], [y, y], color=GRAY, zorder=1)
        axis.scatter(
            original, y, s=75, facecolor="none", edgecolor=BLUE, linewidths=1.5, zorder=4,
            label="original",
        )  # fmt: skip
        axis.errorbar(
            mean, y, fmt="o", ms=6, color=ORANGE, capsize=3, zorder=3,
            xerr=[[_length(100 * (row["delta_ci_high"] - row["delta"]))],
                  [_length(100 * (row["delta"] - row["delta_ci_low"]))]],
            label="PTEB score: mean of runs, interval of Δ",
        )  # fmt: skip
        axis.scatter(
            own, [y - 0.24] * len(own), marker="|", s=42, color=ORANGE, linewidths=1.1, zorder=2,
            label="single runs",
        )  # fmt: skip
    axis.set_yticks(range(len(rows)), list(reversed(rows["model"].tolist())))
    axis.set_ylim(-0.6, len(rows) - 0.4)
    axis.set_xlabel(f"{rows['metric'].iloc[0]} × 100")


def _length(value: float) -> float:
    """Length of one arm of an error bar; none where there is no interval."""
    return max(0.0, value) if pd.notna(value) else 0.0
