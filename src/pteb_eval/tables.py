"""Tables as CSV for programs, Markdown for people and LaTeX for papers."""

from pathlib import Path

import pandas as pd

from pteb_eval.store import write_text


def write_tables(frame: pd.DataFrame, csv: Path, hundredfold: tuple[str, ...] = ()) -> None:
    """Write a frame beside `csv` as .csv (fractions, full precision), .md and .tex (rounded).

    Args:
        frame: the table.
        csv: path of the CSV file; the others differ in their extension.
        hundredfold: columns of scores, shown ×100 in .md and .tex.
    """
    write_text(csv, frame.to_csv(index=False))
    shown = rounded(frame, hundredfold)
    write_text(csv.with_suffix(".md"), shown.to_markdown(index=False) + "\n")
    latex = shown.rename(columns=lambda name: name.replace("_", r"\_"))
    latex = latex.map(lambda cell: cell.replace("_", r"\_").replace("%", r"\%"))
    write_text(csv.with_suffix(".tex"), latex.to_latex(index=False))


def rounded(frame: pd.DataFrame, hundredfold: tuple[str, ...] = ()) -> pd.DataFrame:
    """The frame as people read it: strings; scores ×100 with two digits, p-values with three."""
    shown = pd.DataFrame(index=frame.index)
    for name in frame.columns:
        column = frame[name]
        if name in hundredfold:
            shown[name] = [_number(100 * value, 2) for value in column]
        elif pd.api.types.is_float_dtype(column):
            shown[name] = [_number(value, 3) for value in column]
        else:
            shown[name] = ["" if pd.isna(value) else str(value) for value in column]
    return shown


def _number(value: float, digits: int) -> str:
    if pd.isna(value):
        return ""
    if value != 0 and abs(value) < 10**-digits:
        return f"{value:.0e}"
    return f"{value:.{digits}f}"
