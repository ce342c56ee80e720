"""Figure: how much of the meaning each generator keeps against how differently it says it."""

from functools import partial
from typing import Any

import pandas as pd

from pteb_eval.judge.verdict import marked
from pteb_eval.plot.panels import (
    GRAY,
    NARROW,
    Margins,
    Panel,
    fitted,
    key_legend,
    line_style,
    pages,
)
from pteb_eval.statistics.paraphrasers import KEPT


def paraphrasers(table: pd.DataFrame, width: float, most: float) -> list[Any]:
    """One point a generator; those that no other beats in both are joined.

    A recommended generator is named so in the legend. Beside a generator for which figures were
    published stands a hollow diamond at them.

    Args:
        table: the table `paraphrasers`.
        width: of the figure, inches.
        most: height of a page, inches.
    """
    looks = {
        row["generator"]: line_style(place) | {"linestyle": ""}
        for place, row in enumerate(table.to_dict("records"))
    }
    best = table.loc[table["recommended"], "generator"].tolist()
    entries = [
        (fitted(name + (" (recommended)" if name in best else ""), NARROW - 0.6), look)
        for name, look in looks.items()
    ]
    if table["published_judge_mean"].notna().any():
        entries.append(("as published", {"marker": "D", "mfc": "none", "mec": "black", "ls": ""}))
    judge, verdict = table[["judge", "verdict"]].iloc[0]
    panel = Panel(
        ("Meaning kept and wording changed", f"rated by {marked(judge, verdict)}"),
        2.2,
        partial(_panel, table=table, looks=looks),
    )
    return pages([panel], width, Margins(0.42, inner=2.0), key_legend(entries), most)


def _panel(
    axis: Any, first: bool, inside: float, *, table: pd.DataFrame, looks: dict[str, dict[str, Any]]
) -> None:
    front = table[table["pareto"]].sort_values("edit_distance")
    axis.plot(front["edit_distance"], front["judge_mean"], color=GRAY, zorder=1)
    axis.axhline(KEPT, color=GRAY, linewidth=0.6, linestyle=":")
    for row in table.to_dict("records"):
        axis.errorbar(
            row["edit_distance"], row["judge_mean"], ms=5, capsize=0, elinewidth=0.6, zorder=2,
            yerr=[[max(0.0, row["judge_mean"] - row["judge_q25"])],
                  [max(0.0, row["judge_q75"] - row["judge_mean"])]],
            **looks[row["generator"]],
        )  # fmt: skip
        axis.plot(row["published_edit_distance"], row["published_judge_mean"], marker="D", ms=4,
                  mfc="none", mec="black", zorder=3)  # fmt: skip
    axis.set_ylabel("mean rating, 0 to 5")
    axis.set_xlabel("mean edit distance")
    axis.set_xlim(0, 1)
    axis.set_ylim(0, 5.1)
