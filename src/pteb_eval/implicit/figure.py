"""Figure: accuracy at the suite's three levels, ours and the published averages."""

from typing import Any

import pandas as pd

from pteb_eval.implicit.catalogue import LEVELS
from pteb_eval.layout import Layout
from pteb_eval.plot.panels import BLUE, GRAY, ORANGE, stacked
from pteb_eval.plot.stage import STYLE, save

BASELINES = ("bag-of-tokens", "Bag-of-tokens")


def draw(table: pd.DataFrame, layout: Layout) -> None:
    """Write the figure `implicit_levels` in all formats.

    Args:
        table: the table `implicit`, fractions.
        layout: the run's files.
    """
    import matplotlib as mpl

    mpl.use("agg")
    with mpl.rc_context(fname=str(STYLE)):
        save(levels(table), layout, "implicit_levels")


def levels(table: pd.DataFrame) -> Any:
    """A panel for each level, a line for each model that has it; dashed: bag of tokens."""
    parts = {level: table[table[level].notna()].sort_values(level) for level in LEVELS}
    figure, axes = stacked([0.15 + 0.24 * len(part) for part in parts.values()])
    for axis, (level, part) in zip(axes, parts.items(), strict=True):
        published = (part["source"] == "published").to_numpy()
        for mask, label, color in (
            (~published, "this run", BLUE),
            (published, "published average", GRAY),
        ):
            places = [place for place, own in enumerate(mask) if own]
            axis.scatter(100 * part[level][mask], places, s=40, color=color, label=label, zorder=3)
        for value in part.loc[part["model"].isin(BASELINES), level]:
            axis.axvline(100 * value, color=ORANGE, linestyle="--", linewidth=1, zorder=1)
        axis.set_yticks(range(len(part)), part["model"].tolist())
        axis.set_ylim(-0.6, len(part) - 0.4)
        axis.set_title(level)
        axis.set_xlabel("accuracy × 100")
    axes[0].legend(loc="lower right", fontsize=8)
    return figure
