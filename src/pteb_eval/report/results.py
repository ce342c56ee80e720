"""Scores, drops and verdicts as the page shows them: the main table and the heat map."""

import math
import re
from typing import Any

import pandas as pd

from pteb_eval.tables import add_verdicts, task_title

STEPS = 5
"""Shades of the heat map on either side of 0."""
MARKS = {"drops": "▼", "rises": "▲"}


def with_verdicts(summary: pd.DataFrame, effects: pd.DataFrame) -> pd.DataFrame:
    """Rows of `summary` with `verdict` and `p_adjusted`; `not tested` where there is none."""
    rows = add_verdicts(summary, effects)
    return rows.assign(verdict=rows["verdict"].fillna("not tested").map(in_points))


def in_points(verdict: str) -> str:
    """A verdict with its ε in points, as all else on the page."""
    return re.sub(r"±([\d.e-]+)", lambda found: f"±{100 * float(found[1]):g} points", verdict)


def points(fraction: float, digits: int = 2, *, sign: bool = False) -> str:
    """A score or a difference × 100 with a true minus; `none` if it is not a number."""
    if fraction is None or math.isnan(fraction):
        return "none"
    shown = f"{100 * fraction:{'+' if sign else ''}.{digits}f}"
    zero = float(shown) == 0
    return (shown.lstrip("+-") if zero else shown).replace("-", "−")


def percent(fraction: float, digits: int = 0) -> str:
    """A share in percent; one that is not 0 does not look like it."""
    least = 10**-digits
    if 0 < 100 * fraction < least / 2:
        return f"< {least:g} %"
    return f"{100 * fraction:.{digits}f} %"


def p_value(p: float) -> str:
    """A p-value with three decimals at most."""
    if math.isnan(p):
        return ""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def digits_for(results: pd.DataFrame) -> int:
    """Decimals of scores × 100: two, unless every interval is wider than two points."""
    width = results["delta_ci_high"] - results["delta_ci_low"]
    return 1 if width.min() > 0.02 else 2


def heat_maps(results: pd.DataFrame) -> list[dict[str, Any]]:
    """For each generator models × tasks; a cell has a shade, a mark and all that is known of it."""
    most = results["delta"].abs().max()
    step = most / STEPS if most > 0 else 1.0
    maps = []
    for generator, rows in results.groupby("generator", sort=False):
        places = list(rows[["task", "subset"]].drop_duplicates().itertuples(index=False))
        cells = {(row["model"], row["task"], row["subset"]): row for row in rows.to_dict("records")}
        maps.append(
            {
                "generator": generator,
                "columns": [task_title(*place) for place in places],
                "rows": [
                    {
                        "model": model,
                        "cells": [_cell(cells.get((model, *place)), step) for place in places],
                    }
                    for model in rows["model"].unique()
                ],
                "most": most,
            }
        )
    return maps


def _cell(row: dict[str, Any] | None, step: float) -> dict[str, Any] | None:
    if row is None or math.isnan(row["delta"]):
        return None
    level = min(STEPS, math.ceil(abs(row["delta"]) / step - 1e-9))
    kind = "zero" if level == 0 else f"{'drop' if row['delta'] > 0 else 'rise'}-{level}"
    p = "" if math.isnan(row["p_adjusted"]) else f" (adjusted p {p_value(row['p_adjusted'])})"
    interval = ""
    if not math.isnan(row["delta_ci_low"]):
        low, high = (points(row[name], sign=True) for name in ("delta_ci_low", "delta_ci_high"))
        interval = f", interval {low} to {high}"
    return {
        "kind": kind,
        "mark": MARKS.get(row["verdict"], ""),
        "delta": points(row["delta"], 1, sign=True),
        "about": (
            f"{row['model']} on {task_title(row['task'], row['subset'])}: "
            f"Δ {points(row['delta'], sign=True)}{interval}. "
            f"{row['metric']} {points(row['original'])} on the original, "
            f"{points(row['pteb_mean'])} reworded. {row['n_instances']} instances. "
            f"Verdict: {row['verdict']}{p}."
        ),
    }
