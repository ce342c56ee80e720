"""The table `summary` as a paper prints it: scores, Δ with its interval, and what the test says."""

import pandas as pd

from pteb_eval.latex import latex_table
from pteb_eval.tables import add_verdicts, bold_best

MARKS = {"drops": "*", "rises": "*", "identical": "=", "underpowered": "?", "undefined": "?"}
"""After Δ, by verdict; nothing for `no detectable drop`, ≈ for an equivalence."""
NOTE = (
    "* the test finds a change; ≈ equivalent within ±ε; = identical; ? underpowered or undefined; "
    "bold: the best original and PTEB score of a task. All × 100"
)
BLOCK = ["generator", "task", "subset"]


def paper_summary(summary: pd.DataFrame, effects: pd.DataFrame) -> str:
    """LaTeX of the main results: a block a generator, task and subset, a row a model.

    Args:
        summary: the table `summary`.
        effects: the table `effects`, for the verdicts.
    """
    rows = add_verdicts(summary, effects)
    parts = []
    for _, part in rows.groupby(BLOCK, sort=False):
        shown = part[[*BLOCK, "metric", "model"]].astype(str)
        for name, title in (("original", "original"), ("pteb_mean", "PTEB")):
            texts = ["" if pd.isna(value) else f"{100 * value:.2f}" for value in part[name]]
            shown[title] = bold_best(texts, part[name].tolist())
        shown["std"] = [
            f"{100 * value:.2f}" if pd.notna(value) else "" for value in part["pteb_std"]
        ]
        shown["Δ"] = [
            _signed(row["delta"]) + _mark(row["verdict"]) for row in part.to_dict("records")
        ]
        shown["interval of Δ"] = [
            f"[{_signed(row['delta_ci_low'])}, {_signed(row['delta_ci_high'])}]"
            if pd.notna(row["delta_ci_low"])
            else ""
            for row in part.to_dict("records")
        ]
        shown["n"] = part["n_instances"].astype(str)
        parts.append(shown)
    columns = [*BLOCK, "metric", "model", "original", "PTEB", "std", "Δ", "interval of Δ", "n"]
    table = pd.concat(parts)[columns] if parts else pd.DataFrame(columns=columns)
    numeric = ["original", "PTEB", "std", "Δ", "interval of Δ", "n"]
    return latex_table(table, numeric, BLOCK, NOTE)


def _signed(value: float) -> str:
    return "" if pd.isna(value) else f"{100 * value:.2f}".replace("-", "−")


def _mark(verdict: object) -> str:
    return "≈" if str(verdict).startswith("equivalent") else MARKS.get(str(verdict), "")
