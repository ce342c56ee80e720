"""Captions of figures and tables as text, LaTeX and reStructuredText."""

import re
from collections.abc import Mapping

import pandas as pd

from pteb_eval.latex import escaped
from pteb_eval.layout import Layout
from pteb_eval.store import write_text

TEX_HEAD = r"""% \caption{\ptebcaption{delta}} and so on, for every figure and table by its name.
% Needs \usepackage[T1]{fontenc}.
\providecommand{\ptebcaption}[1]{\csname ptebcaption@#1\endcsname}
"""


def write_captions(
    captions: Mapping[str, str],
    layout: Layout,
    part: str = "",
    printed: Mapping[str, str] | None = None,
) -> None:
    """Write the files of `Layout.captions`.

    Args:
        captions: by name of the figure or table.
        layout: the run's files.
        part: `implicit` for those of the suite.
        printed: what stands before some of them in LaTeX, whose tables have marks of their own.
    """
    more = printed or {}
    tex = "".join(
        rf"\expandafter\def\csname ptebcaption@{name}\endcsname{{%"
        f"\n{escaped(f'{more[name]} {text}' if name in more else text)}}}\n"
        for name, text in captions.items()
    )
    content = {
        "md": "".join(f"**{name}.** {_marked(text)}\n\n" for name, text in captions.items()),
        "tex": TEX_HEAD + tex,
        # The files of workflow/report each take one of these.
        "rst": "".join(
            f".. begin [{name}]\n\n{_marked(text)}\n\n.. end [{name}]\n\n"
            for name, text in captions.items()
        ),
    }
    for extension, text in content.items():
        write_text(layout.captions(extension, part), text)


def _marked(text: str) -> str:
    """The text with what Markdown and reStructuredText take for markup escaped."""
    return re.sub(r"([\\*`_|<\[])", r"\\\1", text)


def span(values: "pd.Series[float]") -> str:
    """Least and greatest of some counts, such as `60` or `60 to 1,379`."""
    known = values.dropna()
    if known.empty:
        return "0"
    low, high = int(known.min()), int(known.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def several(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
