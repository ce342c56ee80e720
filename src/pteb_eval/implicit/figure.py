"""Figure: accuracy at the suite's three levels, ours and the published averages."""

from functools import partial
from typing import Any

import pandas as pd

from pteb_eval.implicit.catalogue import LEVELS
from pteb_eval.layout import Layout
from pteb_eval.plot.panels import (
    BLUE,
    LINE,
    ORANGE,
    Margins,
    Panel,
    fitted,
    key_legend,
    pages,
    short_names,
    widest,
)
from pteb_eval.plot.stage import STYLE, save

BASELINES = ("bag-of-tokens", "Bag-of-tokens")
LOOKS: dict[str, dict[str, Any]] = {
    "this run": {"marker": "o", "color": BLUE, "linestyle": ""},
    "published": {"marker": "D", "mfc": "none", "mec": "black", "linestyle": ""},
}
BASELINE_LOOK: dict[str, Any] = {"color": ORANGE, "linestyle": "--"}


def draw(table: pd.DataFrame, layout: Layout) -> None:
    """Write the figure `implicit_levels` in all formats.

    Args:
        table: the table `implicit`, fractions.
        layout: the run's files.
    """
    import matplotlib as mpl

    mpl.use("agg")
    with mpl.rc_context(fname=str(STYLE)):
        save(lambda *size: levels(table, *size), layout, "implicit_levels")


def levels(table: pd.DataFrame, width: float, most: float) -> list[Any]:
    """A panel for each level, a line for each model that has it; dashed: bag of tokens.

    Args:
        table: the table `implicit`, fractions.
        width: of the figure, inches.
        most: height of a page, inches.
    """
    names = {m: fitted(n, 1.4) for m, n in short_names(table["model"]).items()}
    parts = {level: table[table[level].notna()].sort_values(level) for level in LEVELS}
    panels = [
        Panel(
            (level, "one score" if level == "speaker" else "mean of three scores"),
            LINE * max(3, 1.15 * len(part)),
            partial(_panel, part=part, level=level, names=names),
        )
        for level, part in parts.items()
    ]
    key = key_legend([*LOOKS.items(), ("bag of tokens", BASELINE_LOOK)])
    margins = Margins(widest(names.values()) + 0.08, inner=1.0)
    return pages(panels, width, margins, key, most)


def _panel(
    axis: Any, first: bool, inside: float, *, part: pd.DataFrame, level: str, names: dict[str, str]
) -> None:
    for source, look in LOOKS.items():
        places = [place for place, own in enumerate(part["source"] == source) if own]
        axis.plot(100 * part[level].iloc[places], places, ms=4, zorder=3, **look)
    for value in part.loc[part["model"].isin(BASELINES), level]:
        axis.axvline(100 * value, linewidth=0.8, zorder=1, **BASELINE_LOOK)
    axis.set_yticks(range(len(part)), [names[model] for model in part["model"]])
    axis.set_ylim(-0.6, len(part) - 0.4)
    axis.locator_params(axis="x", nbins=4)
    axis.set_xlabel("accuracy × 100", fontsize=6)
