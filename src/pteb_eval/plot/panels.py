"""What the figures share: widths, colors, fitting words, and pages of panels.

Figures are exactly as wide as the column of a paper that they are for, so that their text has the
size that it will have in print. Room for labels is measured, not guessed; nothing is cut off.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

from pteb_eval.tables import task_title

WIDE, NARROW = 6.3, 3.03
"""Inches: the text of a two-column page and one of its columns, as in the ACL's style."""
PAGE = 8.9
"""Inches of a page's height that a figure may take, with room for its caption."""
BLUE, ORANGE, GRAY = "#0072B2", "#D55E00", "#b0b0b0"
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""After Okabe and Ito, safe for color-blind readers."""
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
SMALL, NORMAL = 6.0, 7.0
"""Points: the least that is printed, and the size of titles and of axes' names."""
LINE = 0.13
"""Inches that a line of text takes, and so the least distance of labels."""


def line_style(place: int) -> dict[str, Any]:
    """Color, marker and dashes of the model at a place: told apart without colors, too."""
    return {
        "color": COLORS[place % len(COLORS)],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": DASHES[place // len(COLORS) % len(DASHES)],
    }


@cache
def text_width(text: str, size: float = SMALL, weight: str = "normal") -> float:
    """Inches that a text takes."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight=weight)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) / 72


def widest(texts: Iterable[str], size: float = SMALL) -> float:
    """Inches that the widest of some texts takes."""
    return max((text_width(text, size) for text in texts), default=0.0)


def fitted(text: str, inches: float, size: float = SMALL) -> str:
    """A text that is shortened in its middle until it fits."""
    if text_width(text, size) <= inches:
        return text
    for left_out in range(1, len(text) - 1):
        kept = len(text) - left_out
        short = f"{text[: kept - kept // 3]}…{text[len(text) - kept // 3 :]}"
        if text_width(short, size) <= inches:
            return short
    return "…"


def short_names(models: Iterable[str]) -> dict[str, str]:
    """Models without the organization before the slash, unless two would have one name."""
    models = list(dict.fromkeys(models))
    tails = [model.rpartition("/")[2] for model in models]
    return {
        model: tail if tails.count(tail) == 1 else model
        for model, tail in zip(models, tails, strict=True)
    }


def styles(models: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The line style of each model, the same in all panels."""
    return {model: line_style(place) for place, model in enumerate(dict.fromkeys(models))}


@dataclass(frozen=True)
class Panel:
    """One panel of a figure.

    Attributes:
        title: first line above it, and a second one in gray.
        height: of its inside, inches.
        draw: draws into an axis; told whether names stand beside it, and its inside width.
    """

    title: tuple[str, str]
    height: float
    draw: Callable[[Any, bool, float], None]


def heading(task: str, subset: str, generator: str, more: str = "") -> tuple[str, str]:
    """Title of a panel about a task, subset and generator."""
    return task_title(task, subset), f"reworded by {generator}{more}"


@dataclass(frozen=True)
class Margins:
    """Inches about the inside of each panel.

    Attributes:
        left, right: for labels beside.
        below: for the labels of the horizontal axis.
        inner: the least width of an inside; it decides how many panels stand side by side.
        shared: whether only panels of the first column need the left margin.
    """

    left: float
    right: float = 0.08
    below: float = 0.42
    inner: float = 1.3
    shared: bool = False


def pages(
    panels: Sequence[Panel],
    width: float,
    margins: Margins,
    legend: Callable[[Any, float], float] | None = None,
    most: float = math.inf,
) -> list[Any]:
    """Figures of panels, in rows side by side where there is room.

    Args:
        panels: in reading order.
        width: of each figure, inches.
        margins: about each panel.
        legend: draws into a figure from the given height (inches from the bottom) downwards; None:
            there is none. It is told its figure and returns the inches that it took; called with
            None it only returns them.
        most: height of a figure; what does not fit stands in the next. Infinite: one figure.

    Returns:
        The figures, each at least with one row of panels.
    """
    from matplotlib.figure import Figure

    n_columns, lefts, inside = _columns(len(panels), width, margins)
    above = 2 * LINE + 0.1
    rows = [panels[start : start + n_columns] for start in range(0, len(panels), n_columns)]
    heights = [max(panel.height for panel in row) + above + margins.below for row in rows]
    top = legend(None, width) if legend else 0.0
    figures = []
    for part in _broken(heights, most - top):
        total = top + sum(heights[row] for row in part)
        figure = Figure(figsize=(width, total))
        if legend:
            legend(figure, width)
        y = total - top
        for number in part:
            for column, panel in enumerate(rows[number]):
                x, low = lefts[column], y - above - panel.height
                axis = figure.add_axes(
                    (x / width, low / total, inside / width, panel.height / total)
                )
                panel.draw(axis, column == 0 or not margins.shared, inside)
                start = x - (margins.left if column == 0 or not margins.shared else 0)
                _titled(figure, panel, (start, y - 0.06), x + inside + margins.right - start)
            y -= heights[number]
        figures.append(figure)
    return figures


def _columns(n_panels: int, width: float, margins: Margins) -> tuple[int, list[float], float]:
    """How many panels stand side by side, where their insides begin, and how wide these are."""
    own = 0.12 if margins.shared else margins.left  # a gap where names stand only once
    room = width - margins.left + own
    n_columns = max(1, min(n_panels, int(room // (own + margins.inner + margins.right))))
    inside = room / n_columns - own - margins.right
    step = own + inside + margins.right
    return n_columns, [margins.left + column * step for column in range(n_columns)], inside


def _broken(heights: Sequence[float], most: float) -> list[list[int]]:
    """Numbers of the rows on each page."""
    parts: list[list[int]] = [[]]
    taken = 0.0
    for row, height in enumerate(heights):
        if parts[-1] and taken + height > most:
            parts.append([])
            taken = 0.0
        parts[-1].append(row)
        taken += height
    return parts


def _titled(figure: Any, panel: Panel, corner: tuple[float, float], room: float) -> None:
    """Both lines of a title, from a corner (inches from the left and the bottom) downwards."""
    width, height = figure.get_size_inches()
    for row, (text, size, color) in enumerate(
        [(panel.title[0], NORMAL, "black"), (panel.title[1], SMALL, "#555555")]
    ):
        x, y = corner[0] / width, (corner[1] - row * LINE) / height
        figure.text(x, y, fitted(text, room, size), size=size, color=color, va="top")


def model_legend(models: Iterable[str], *, lines: bool = True) -> Callable[[Any, float], float]:
    """A legend of models, once above all panels, in as many columns as fit."""
    looks, names = styles(models), short_names(models)
    return key_legend(
        [
            (names[model], look if lines else look | {"linestyle": ""})
            for model, look in looks.items()
        ]
    )


def key_legend(entries: Sequence[tuple[str, dict[str, Any]]]) -> Callable[[Any, float], float]:
    """A legend of labels and line styles, once above all panels, in as many columns as fit."""

    def legend(figure: Any, width: float) -> float:
        from matplotlib.lines import Line2D

        n_columns = max(1, int(width // (widest(text for text, _ in entries) + 0.5)))
        taken = LINE * math.ceil(len(entries) / n_columns) + 0.12
        if figure is not None:
            handles = [Line2D([], [], **({"ms": 3.5} | look)) for _, look in entries]
            figure.legend(
                handles, [text for text, _ in entries], loc="upper left", ncols=n_columns,
                bbox_to_anchor=(0, 1), handlelength=2.2, columnspacing=1.0, labelspacing=0.25,
                borderaxespad=0.3,
            )  # fmt: skip
        return taken

    return legend


def nothing(sentence: str, width: float) -> list[Any]:
    """A figure that says why there is nothing to draw."""
    import textwrap

    from matplotlib.figure import Figure

    lines = textwrap.wrap(sentence, int(width / 0.058))
    figure = Figure(figsize=(width, 0.2 + LINE * len(lines)))
    figure.text(0.05 / width, 0.5, "\n".join(lines), va="center", size=NORMAL)
    return [figure]


def groups(table: pd.DataFrame) -> list[tuple[tuple[str, str, str], pd.DataFrame]]:
    """The parts of a table by task, subset and generator, in its order."""
    keys = ["task", "subset", "generator"]
    return [((t, s, g), rows) for (t, s, g), rows in table.groupby(keys, sort=False)]
