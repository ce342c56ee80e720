"""Figure: how much of the meaning each generator keeps against how differently it says it."""

from typing import Any

import pandas as pd

from pteb_eval.judge.verdict import marked
from pteb_eval.plot.panels import BLUE, GRAY, ORANGE, stacked
from pteb_eval.statistics.paraphrasers import KEPT


def paraphrasers(table: pd.DataFrame) -> Any:
    """One point a generator; those that no other beats in both are joined.

    Args:
        table: the table `paraphrasers`.
    """
    figure, (axis,) = stacked([3.2])
    front = table[table["pareto"]].sort_values("edit_distance")
    axis.plot(front["edit_distance"], front["judge_mean"], color=GRAY, zorder=1)
    axis.axhline(KEPT, color=GRAY, linewidth=0.8, linestyle=":")
    for row in table.to_dict("records"):
        color = ORANGE if row["recommended"] else BLUE
        axis.errorbar(
            row["edit_distance"], row["judge_mean"], fmt="o", ms=6, color=color, capsize=0,
            yerr=[[max(0.0, row["judge_mean"] - row["judge_q25"])],
                  [max(0.0, row["judge_q75"] - row["judge_mean"])]],
            elinewidth=0.8, zorder=2,
        )  # fmt: skip
        note = "  recommended" if row["recommended"] else ""
        axis.annotate(
            f"{row['generator']}{note}", (row["edit_distance"], row["judge_mean"]),
            xytext=(6, 5), textcoords="offset points", fontsize=8,
        )  # fmt: skip
    judge, verdict = table[["judge", "verdict"]].iloc[0]
    axis.set_ylabel(f"mean rating by {marked(judge, verdict)}")
    axis.set_xlabel("mean edit distance")
    axis.set_xlim(0, 1)
    axis.set_ylim(0, 5.1)
    axis.set_title("Paraphrasers: meaning kept and wording changed")
    return figure
