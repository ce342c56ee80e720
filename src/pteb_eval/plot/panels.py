"""What the figures share: colors, and a figure of stacked panels."""

from collections.abc import Sequence
from typing import Any

BLUE, ORANGE, GRAY = "#0072B2", "#D55E00", "#b0b0b0"
WIDTH = 6.3
"""Inches: the text width of most papers."""
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""After Okabe and Ito, safe for color-blind readers."""
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)))


def line_style(place: int) -> dict[str, Any]:
    """Color and dashes of the model at a place: seven colors, then the same ones dashed."""
    return {
        "color": COLORS[place % len(COLORS)],
        "linestyle": DASHES[place // len(COLORS) % len(DASHES)],
    }


def title(task: str, subset: str, generator: str) -> str:
    """Title of a panel."""
    name = task if subset == "default" else f"{task} ({subset})"
    return f"{name}, reworded by {generator}"


def stacked(heights: Sequence[float], width: float = WIDTH) -> tuple[Any, list[Any]]:
    """A figure with one panel above another.

    Args:
        heights: of the panels, inches.
        width: of the figure, inches.

    Returns:
        The figure and its axes.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, sum(heights) + 0.4), layout="constrained")
    axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=list(heights))
    return figure, list(axes[:, 0])


def nothing(sentence: str) -> Any:
    """A figure that says why there is nothing to draw."""
    figure, (axis,) = stacked([0.6])
    axis.axis("off")
    axis.text(0, 0.5, sentence, va="center", transform=axis.transAxes)
    return figure
