"""Tables for papers: LaTeX with booktabs, whatever stands in a name."""

import re
from collections.abc import Sequence

import pandas as pd

PAGE_ROWS = 45
"""Rows beyond which a table breaks over pages."""
_PLAIN = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "\u2013": "--",
    "\u2014": "---",
    "…": r"\ldots{}",
    "’": "'",
    "‘": "`",
    "“": "``",
    "”": "''",
    "†": r"\dag{}",
    "\u00a0": "~",
    "\n": " ",
}
_MATH = {
    "Δ": r"\Delta",
    "α": r"\alpha",
    "ε": r"\varepsilon",
    "κ": r"\kappa",
    "ρ": r"\rho",
    "τ": r"\tau",
    "±": r"\pm",
    "×": r"\times",
    "≥": r"\geq",
    "≤": r"\leq",
    "≈": r"\approx",
    "−": "-",
    "·": r"\cdot",
    "→": r"\rightarrow",
    "²": "^2",
}
_SYMBOLS = str.maketrans(_PLAIN | {symbol: f"${math}$" for symbol, math in _MATH.items()})
# Letters of Latin-1 and Latin Extended-A that the encoding T1 lacks.
_LACKING = "ĦħĸĿŀŉŦŧſ÷×"
_OTHER = re.compile(f"[{_LACKING}]|[^\x20-\x7eÀ-ſ]")


def escaped(text: str) -> str:
    """A text as LaTeX with the font encoding T1 prints it; `**bold**` is bold.

    Letters of other than Latin scripts, for which pdfLaTeX has no font, become their code points
    such as U+4E2D.
    """
    found = [
        _escaped(part) if place % 2 == 0 else rf"\textbf{{{_escaped(part)}}}"
        for place, part in enumerate(re.split(r"\*\*(.+?)\*\*", text))
    ]
    return "".join(found)


def _escaped(text: str) -> str:
    known = "".join(
        letter if letter in _PLAIN or letter in _MATH else _OTHER.sub(_code_point, letter)
        for letter in text
    )
    return known.translate(_SYMBOLS)


def _code_point(match: re.Match[str]) -> str:
    return f"U+{ord(match[0]):04X}"


def latex_table(
    shown: pd.DataFrame, numeric: Sequence[str] = (), blocks: Sequence[str] = (), note: str = ""
) -> str:
    r"""A table for `\input`, without caption: in the caption's place stands what the user writes.

    Columns of one value in all rows are left out and named in a comment. Beyond `PAGE_ROWS` rows it
    is a `longtable`; a shorter one shrinks to the width of the line if it is wider.

    Args:
        shown: the table, all cells text.
        numeric: columns that stand flush right.
        blocks: columns whose change draws a line between rows.
        note: what the marks in the table mean, as a comment above it.
    """
    constant = {
        name: str(shown[name].iloc[0])
        for name in shown.columns
        if len(shown) > 1 and name not in numeric and shown[name].nunique() == 1
    }
    kept = shown.drop(columns=list(constant)) if len(constant) < shown.shape[1] else shown
    head = " & ".join(escaped(str(name)) for name in kept.columns) + r" \\"
    form = "".join("r" if name in numeric else "l" for name in kept.columns)
    body = _rows(kept, [name for name in blocks if name in kept.columns])
    said = [note] if note else []
    said += [f"the same in all rows: {name} = {value}" for name, value in constant.items() if value]
    comments = [f"% {escaped(line)}" for line in said]
    if len(kept) > PAGE_ROWS:
        needs = r"% Needs \usepackage[T1]{fontenc}, booktabs and longtable."
        lines = [
            r"\begingroup\footnotesize\setlength{\tabcolsep}{4pt}",
            rf"\begin{{longtable}}{{{form}}}",
            rf"\toprule {head} \midrule \endhead",
            r"\bottomrule \endfoot",
            *body,
            r"\end{longtable}\endgroup",
        ]
    else:
        needs = r"% Needs \usepackage[T1]{fontenc}, booktabs and graphicx."
        lines = [
            r"\noindent\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{form}}}",
            rf"\toprule {head} \midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}}",
        ]
    return "\n".join([needs, *comments, *lines]) + "\n"


def _rows(kept: pd.DataFrame, blocks: list[str]) -> list[str]:
    lines: list[str] = []
    last: tuple[str, ...] | None = None
    for row in kept.to_dict("records"):
        block = tuple(row[name] for name in blocks)
        if last is not None and block != last:
            lines.append(r"\midrule")
        last = block
        cells = [escaped(str(value)) for value in row.values()]
        if cells[0].startswith(("[", "*")):  # which would belong to the end of the row before
            cells[0] = "{}" + cells[0]
        lines.append(" & ".join(cells) + r" \\")
    return lines
