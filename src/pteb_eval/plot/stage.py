"""Stage `plot`: all figures from the tables, as PDF, SVG and PNG."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from pteb_eval.layout import FIGURE_FORMATS, Layout
from pteb_eval.plot.critical_difference import critical_difference
from pteb_eval.plot.delta_by_judge import delta_by_judge
from pteb_eval.plot.interval_width import interval_width
from pteb_eval.plot.original_vs_pteb import original_vs_pteb
from pteb_eval.plot.paraphrasers import paraphrasers
from pteb_eval.plot.rank_changes import rank_changes
from pteb_eval.store import atomic_path
from pteb_eval.tables import read_csv

STYLE = Path(__file__).with_name("pteb.mplstyle")
MOST_PIXELS = 30_000  # high: a run of many tasks has a long figure, and matplotlib has a limit
# No dates in the files: the same numbers give the same bytes.
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "ModDate": None},
    "png": {"Software": None},
}


def run(settings: dict[str, Any], root: Path) -> None:
    """Draw figures.

    Args:
        settings: `figures`, their names.
        root: the run's folder `results/<name>`.
    """
    import matplotlib as mpl

    mpl.use("agg")
    layout = Layout(root)

    def table(name: str) -> pd.DataFrame:
        return read_csv(layout.table(name), dtype={"subset": str})

    drawings: dict[str, Callable[[], Any]] = {
        "original_vs_pteb": lambda: original_vs_pteb(table("summary"), table("scores")),
        "rank_changes": lambda: rank_changes(table("ranking")),
        "critical_difference": lambda: critical_difference(table("across_tasks")),
        "interval_width": lambda: interval_width(table("runs")),
        "delta_by_judge": lambda: delta_by_judge(table("drift")),
        "paraphrasers": lambda: paraphrasers(table("paraphrasers")),
    }
    with mpl.rc_context(fname=str(STYLE)):
        for name in settings["figures"]:
            save(drawings[name](), layout, name)


def save(figure: Any, layout: Layout, name: str) -> None:
    """Write a figure in all formats, in the style that is set."""
    for extension in FIGURE_FORMATS:
        with atomic_path(layout.figure(name, extension)) as temporary:
            figure.savefig(
                temporary,
                format=extension,
                metadata=METADATA[extension],
                dpi=min(300, MOST_PIXELS / figure.get_figheight()),
            )
