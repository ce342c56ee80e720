"""What the figures share: colors, and a figure of stacked panels."""

from collections.abc import Sequence
from typing import Any

BLUE, ORANGE, GRAY = "#0072B2", "#D55E00", "#b0b0b0"
WIDTH = 4.8
"""Inches inside a panel: with names of models about the text width of most papers."""
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


def stacked(heights: Sequence[float], gap: float = 0.85) -> tuple[Any, list[Any]]:
    """A figure with one panel above another.

    Panels have fixed sizes, since fitting dozens of them to each other takes minutes; what stands
    outside them is kept by saving with a tight box.

    Args:
        heights: of the panels' insides, inches.
        gap: between panels, for a title and labels, inches.

    Returns:
        The figure and its axes.
    """
    from matplotlib.figure import Figure

    total = sum(heights) + gap * len(heights)
    figure = Figure(figsize=(WIDTH, total))
    axes, top = [], total
    for height in heights:
        top -= gap + height
        axes.append(figure.add_axes((0, top / total, 1, height / total)))
    return figure, axes


def nothing(sentence: str) -> Any:
    """A figure that says why there is nothing to draw."""
    figure, (axis,) = stacked([0.3])
    axis.axis("off")
    axis.text(0, 0.5, sentence, va="center", transform=axis.transAxes)
    return figure
