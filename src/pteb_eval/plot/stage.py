"""Stage `plot`: original against PTEB score for each model, generator and task."""

from pathlib import Path
from typing import Any

import pandas as pd

from pteb_eval.layout import FIGURE_FORMATS, Layout
from pteb_eval.store import atomic_path

STYLE = Path(__file__).with_name("pteb.mplstyle")
BLUE, ORANGE = "#0072B2", "#D55E00"
# No dates in the files: the same numbers give the same bytes.
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "ModDate": None},
    "png": {"Software": None},
}


def run(root: Path) -> None:
    """Draw all figures from the tables, as PDF, SVG and PNG."""
    import matplotlib as mpl

    mpl.use("agg")
    layout = Layout(root)
    summary = pd.read_csv(layout.table("summary"), dtype={"subset": str})
    scores = pd.read_csv(layout.table("scores"), dtype={"subset": str})
    with mpl.rc_context(fname=str(STYLE)):
        figure = original_vs_pteb(summary, scores)
        for extension in FIGURE_FORMATS:
            with atomic_path(layout.figure("original_vs_pteb", extension)) as temporary:
                figure.savefig(temporary, format=extension, metadata=METADATA[extension])


def original_vs_pteb(summary: pd.DataFrame, scores: pd.DataFrame) -> Any:
    """One panel a task, subset and generator; one line a model.

    The bar about the PTEB score is the bootstrap interval of Δ, laid from the original score.
    """
    from matplotlib.figure import Figure

    panels = list(summary.groupby(["task", "subset", "generator"], sort=False))
    heights = [0.9 + 0.38 * len(rows) for _, rows in panels]
    figure = Figure(figsize=(6.3, sum(heights) + 0.5), layout="constrained")
    axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    runs = scores[(scores["variant"] == "paraphrase") & (scores["metric"] == "main_score")]
    for axis, (key, rows) in zip(axes, panels, strict=True):
        _panel(axis, rows, runs, key)
    axes[0].legend(
        loc="lower left", bbox_to_anchor=(0, 1.12), ncols=3, borderaxespad=0, fontsize=8
    )
    return figure


def _panel(axis: Any, rows: pd.DataFrame, runs: pd.DataFrame, key: tuple[Any, ...]) -> None:
    task, subset, generator = key
    for place, row in enumerate(rows.itertuples()):
        y = len(rows) - 1 - place
        first = place == 0
        own = runs[
            (runs["model"] == row.model)
            & (runs["task"] == task)
            & (runs["subset"] == subset)
            & (runs["generator"] == generator)
        ]
        original, mean = 100 * row.original, 100 * row.pteb_mean
        axis.plot([original, mean], [y, y], color="#b0b0b0", zorder=1)
        axis.scatter(
            100 * own["value"], [y] * len(own), s=9, color=ORANGE, alpha=0.35, linewidths=0,
            zorder=2, label="single runs" if first else None,
        )  # fmt: skip
        axis.errorbar(
            mean, y, fmt="o", ms=6, color=ORANGE, capsize=3, zorder=3,
            xerr=[[_length(100 * row.delta_ci_high - 100 * row.delta)],
                  [_length(100 * row.delta - 100 * row.delta_ci_low)]],
            label="PTEB (mean of runs, interval of Δ)" if first else None,
        )  # fmt: skip
        axis.scatter(
            original, y, s=36, facecolor="white", edgecolor=BLUE, linewidths=1.5, zorder=4,
            label="original" if first else None,
        )  # fmt: skip
    axis.set_yticks(range(len(rows)), list(reversed(rows["model"].tolist())))
    axis.set_ylim(-0.6, len(rows) - 0.4)
    axis.set_xlabel(f"{rows['metric'].iloc[0]} × 100")
    name = task if subset == "default" else f"{task} ({subset})"
    axis.set_title(f"{name}, reworded by {generator}, n = {int(rows['n_instances'].iloc[0])}")


def _length(value: float) -> float:
    """Length of one arm of an error bar; none where there is no interval."""
    return max(0.0, value) if pd.notna(value) else 0.0
