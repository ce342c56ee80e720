"""The results of a run on a terminal: what `pteb-eval summary` prints."""

from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pandas as pd

from pteb_eval.config import Config
from pteb_eval.errors import UserError
from pteb_eval.tables import add_verdicts, read_csv, task_title
from pteb_eval.workflow import Workflow

KEYS = ["generator", "task", "subset", "model"]
COLUMNS = ("model", "original", "PTEB", "std", "Δ", "interval of Δ", "n", "verdict")
ROOMY = 100
"""Columns of a terminal below which `std` and `n` are left out."""
STYLES = {
    "drops": "bold red",
    "rises": "bold blue",
    "identical": "green",
    "no detectable drop": "green",
    "underpowered": "yellow",
    "undefined": "yellow",
}


def show(config: Config, path: Path, out: TextIO) -> None:
    """Print a run's main results, in color on a terminal and as plain text elsewhere.

    Args:
        config: of the run.
        path: its file, for messages.
        out: where to print.

    Raises:
        UserError: if the tables are not there; it says what is and what makes them.
    """
    flow = Workflow(config)
    rows = _results(flow, path)
    heads = list(_notes_above(rows))
    below = [*_missing(flow, rows, path), *_notes_below(flow)]
    if out.isatty():
        _colored(rows, heads, below, out)
    else:
        _plain(rows, heads, below, out)


def _results(flow: Workflow, path: Path) -> pd.DataFrame:
    """The main results with their verdicts; scores × 100 as text."""
    if not flow.generators:
        raise UserError(
            f"{path}: no `generators`, so nothing is reworded and there is no Δ; the scores of the "
            f"originals are in {flow.layout.root / 'mteb'}"
        )
    for name in ("summary", "effects"):
        if not flow.layout.table(name).is_file():
            wanted = [Path(file) for file in flow.score_files() if "/scores/" in file]
            there = sum(file.is_file() for file in wanted)
            raise UserError(
                f"{flow.layout.table(name)}: not there yet ({there} of {len(wanted)} score files "
                f"are); make it with: pteb-eval run {path}"
            )
    summary, effects = (
        read_csv(flow.layout.table(name), dtype={"subset": str}) for name in ("summary", "effects")
    )
    rows = add_verdicts(summary, effects)
    shown = rows[KEYS].copy()
    for name, title in (("original", "original"), ("pteb_mean", "PTEB"), ("pteb_std", "std")):
        shown[title] = [_number(value) for value in rows[name]]
    shown["Δ"] = [_number(value, "+") for value in rows["delta"]]
    shown["interval of Δ"] = [
        f"[{_number(low, '+')}, {_number(high, '+')}]" if pd.notna(low) else "none"
        for low, high in zip(rows["delta_ci_low"], rows["delta_ci_high"], strict=True)
    ]
    shown["n"] = rows["n_instances"].astype(str)
    shown["verdict"] = rows["verdict"].fillna("no test")
    return shown


def _number(value: float, sign: str = "") -> str:
    return f"{100 * value:{sign}.2f}" if pd.notna(value) else "none"


def _notes_above(rows: pd.DataFrame) -> Iterator[str]:
    for generator, own in rows.groupby("generator", sort=False):
        found = own["verdict"].value_counts()
        told = ", ".join(f"{verdict} {count}" for verdict, count in found.items())
        yield f"Reworded by {generator}: {told} (of {len(own)}). Scores × 100."


def _missing(flow: Workflow, rows: pd.DataFrame, path: Path) -> Iterator[str]:
    """What the configuration asks for and the tables do not have, or the other way round."""
    asked = {
        "model": [model.name for model in flow.models.values()],
        "task": list(flow.tasks),
        "generator": list(flow.generators),
    }
    for kind, names in asked.items():
        there = set(rows[kind])
        left = {
            "not in the tables yet": [name for name in names if name not in there],
            "no longer in the configuration": sorted(there - set(names)),
        }
        for what, found in left.items():
            if found:
                plural = "s" if len(found) > 1 else ""
                yield f"{kind}{plural} {what}: {', '.join(found)}; run again: pteb-eval run {path}"


def _notes_below(flow: Workflow) -> Iterator[str]:
    table = flow.layout.table("warnings")
    if table.is_file() and (count := len(read_csv(table))):
        yield f"{count} warning{'s' if count > 1 else ''}: {table}"
    if flow.layout.report.is_file():
        yield f"Report: {flow.layout.report}"
    else:
        yield f"{flow.layout.report}: not there yet"


def _place(generator: str, task: str, subset: str, generators: int) -> str:
    name = task_title(task, subset)
    return f"{name}, {generator}" if generators > 1 else name


def _groups(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    generators = rows["generator"].nunique()
    for (generator, task, subset), own in rows.groupby(KEYS[:3], sort=False):
        yield _place(generator, task, subset, generators), own


def _plain(rows: pd.DataFrame, heads: list[str], below: list[str], out: TextIO) -> None:
    from tabulate import tabulate

    lines = [[place, *row] for place, own in _groups(rows) for row in own[list(COLUMNS)].to_numpy()]
    table = tabulate(
        lines, ["task", *COLUMNS], tablefmt="simple", disable_numparse=True,
        colalign=["left", "left", *["right"] * 6, "left"],
    )  # fmt: skip
    print(*heads, table, *below, sep="\n", file=out)


def _colored(rows: pd.DataFrame, heads: list[str], below: list[str], out: TextIO) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=out, highlight=False, markup=False)
    console.print(*heads, sep="\n")
    columns = [name for name in COLUMNS if console.width >= ROOMY or name not in ("std", "n")]
    widths = {name: max(len(name), int(rows[name].str.len().max())) for name in columns}
    room = console.width - sum(widths[name] + 2 for name in columns[1:])
    widths["model"] = max(8, min(widths["model"], room))  # longer names fold
    first = True
    for place, own in _groups(rows):
        console.print()
        console.print(place, style="bold cyan")
        table = Table(box=None, pad_edge=False, header_style="bold", show_header=first)
        for name in columns:
            left = name in ("model", "verdict")
            table.add_column(
                name,
                justify="left" if left else "right",
                overflow="fold",
                width=widths[name] if name == "model" else None,
                min_width=widths[name],
            )
        for row in own.to_dict("records"):
            style = STYLES.get(row["verdict"], "green")
            cells = (row[name] for name in columns[:-1])
            table.add_row(*cells, Text(row["verdict"], style=style))
        console.print(table)
        first = False
    console.print()
    console.print(*below, sep="\n", soft_wrap=True)
