"""Stage `plot`: all figures from the tables, as PDF, SVG and PNG, in two widths; and captions."""

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from pteb_eval.captions import write_captions
from pteb_eval.layout import COLUMN_SUFFIX, FIGURE_FORMATS, Layout
from pteb_eval.plot.captions import PRINTED, run_captions
from pteb_eval.plot.critical_difference import critical_difference
from pteb_eval.plot.delta import delta
from pteb_eval.plot.delta_by_judge import delta_by_judge
from pteb_eval.plot.interval_width import interval_width
from pteb_eval.plot.original_vs_pteb import original_vs_pteb
from pteb_eval.plot.panels import NARROW, PAGE, WIDE
from pteb_eval.plot.paraphrasers import paraphrasers
from pteb_eval.plot.rank_changes import rank_changes
from pteb_eval.store import atomic_path
from pteb_eval.tables import read_csv

STYLE = Path(__file__).with_name("pteb.mplstyle")
PRINT, SCREEN = 300, 150
"""Dots an inch of a PNG: of what fits on a page, and of what only a screen shows whole."""
MOST_PIXELS = 30_000  # high: a run of many tasks has a long figure, and matplotlib has a limit
# No dates in the files: the same numbers give the same bytes.
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "ModDate": None},
    "png": {"Software": None},
}
Draw = Callable[[float, float], list[Any]]
"""From a width and the most height of a page, in inches, to the figures of the pages."""


def run(settings: dict[str, Any], root: Path) -> None:
    """Draw the figures and write the captions.

    Args:
        settings: `figures` and `tables`, their names; `statistics` and `on_failure`, which captions
            state.
        root: the run's folder `results/<name>`.
    """
    import matplotlib as mpl

    mpl.use("agg")
    layout = Layout(root)

    @cache  # each is drawn in two widths, and counted for its caption
    def table(name: str) -> pd.DataFrame:
        return read_csv(layout.table(name), dtype={"subset": str})

    drawings: dict[str, Callable[..., list[Any]]] = {
        "delta": lambda *size: delta(table("summary"), table("effects"), *size),
        "original_vs_pteb": lambda *size: original_vs_pteb(
            table("summary"), table("scores"), *size
        ),
        "rank_changes": lambda *size: rank_changes(table("ranking"), *size),
        "critical_difference": lambda *size: critical_difference(table("across_tasks"), *size),
        "interval_width": lambda *size: interval_width(table("runs"), *size),
        "delta_by_judge": lambda *size: delta_by_judge(table("drift"), *size),
        "paraphrasers": lambda *size: paraphrasers(table("paraphrasers"), *size),
    }
    with mpl.rc_context(fname=str(STYLE)):
        for name in settings["figures"]:
            save(drawings[name], layout, name)
    write_captions(run_captions(settings, table), layout, printed=PRINTED)


def save(draw: Draw, layout: Layout, name: str) -> None:
    """Write a figure in both widths and all formats, in the style that is set.

    What is taller than a page has several pages as PDF; SVG and PNG hold it in one.
    """
    for width, suffix in ((WIDE, ""), (NARROW, COLUMN_SUFFIX)):
        whole = draw(width, math.inf)
        height = whole[0].get_figheight()
        paged = whole if height <= PAGE else draw(width, PAGE)
        dots = min(PRINT if height <= PAGE else SCREEN, MOST_PIXELS / height)
        for extension in FIGURE_FORMATS:
            with atomic_path(layout.figure(name + suffix, extension)) as temporary:
                if extension == "pdf":
                    _save_pages(paged, temporary)
                else:
                    whole[0].savefig(
                        temporary, format=extension, metadata=METADATA[extension], dpi=dots
                    )


def _save_pages(figures: list[Any], path: Path) -> None:
    from matplotlib.backends.backend_pdf import PdfPages

    with PdfPages(path, metadata=METADATA["pdf"]) as pages:
        for figure in figures:
            pages.savefig(figure)
