"""The tables `significance` and `effects`: families of tests, and what each comes to."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from pteb_eval.statistics.across import standardized_delta
from pteb_eval.statistics.bootstrap import Interval, Resamples
from pteb_eval.statistics.measured import Analyzed, Measured
from pteb_eval.statistics.multiplicity import adjust, attainable
from pteb_eval.statistics.single_tests import dataset_test, instance_test
from pteb_eval.statistics.verdict import Evidence, tost, verdict

SIGNIFICANCE_COLUMNS = [
    "family", "unit", "model", "task", "n", "n_ties", "statistic", "p", "p_holm", "reject",
    "effect_size", "min_attainable_p", "verdict",
]  # fmt: skip
EFFECTS_COLUMNS = [
    "family", "family_size", "unit", "generator", "model", "task", "subset", "method",
    "alternative", "correction", "p_adjusted", "attainable_p_adjusted", "delta", "delta_ci_low",
    "delta_ci_high", "standardized_delta", "shift", "epsilon", "p_equivalence", "verdict", "note",
]  # fmt: skip
ALL_TASKS = "all data sets"


def significance(
    analyzed: Sequence[Analyzed], declared: dict[str, Any], seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables, with a row for each test, in the same order.

    Args:
        analyzed: all models, generators, tasks and subsets.
        declared: the config's `statistics`.
        seed: of draws.
    """
    if declared["unit"] == "instance":
        rows = [_instance_row(*one, declared, seed) for one in analyzed]
    else:
        rows = list(_dataset_rows([one[0] for one in analyzed], declared))
    families: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        families.setdefault(row["family"], []).append(row)
    table = pd.DataFrame([row for family in families.values() for row in _judged(family, declared)])
    if declared["family"] != "task":
        # The family's name does not tell the subset there.
        named = table["task"].where(
            table["subset"].isin(["default", ""]), table["task"] + " (" + table["subset"] + ")"
        )
        return table.assign(task=named)[SIGNIFICANCE_COLUMNS], table[EFFECTS_COLUMNS]
    return table[SIGNIFICANCE_COLUMNS], table[EFFECTS_COLUMNS]


def _instance_row(
    measured: Measured,
    drawn: Resamples | None,
    interval: Interval,
    declared: dict[str, Any],
    seed: int,
) -> dict[str, Any]:
    n, epsilon = len(measured.index), declared["epsilon"]
    equivalence = math.nan
    if epsilon is not None:
        equivalence = tost(measured.delta, interval.se, epsilon=epsilon, df=n - 1)
    generator, task, subset = measured.place
    family = {
        "task": f"{generator} / {task} / {subset}",
        "model": f"{generator} / {measured.cell.model}",
        "all": f"{generator} / all tests",
    }[declared["family"]]
    return {
        **measured.key,
        "family": family,
        "unit": "experiment" if measured.kind == "experiments" else "instance",
        **asdict(instance_test(measured, declared, seed)),
        "delta": measured.delta,
        "delta_ci_low": interval.low,
        "delta_ci_high": interval.high,
        "standardized_delta": math.nan if drawn is None else standardized_delta(drawn),
        "p_equivalence": equivalence,
    }


def _dataset_rows(
    all_measured: Sequence[Measured], declared: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """One test a model and generator over its tasks, a task's Δ being the mean over its subsets."""
    frame = pd.DataFrame([{**one.key, "delta": one.delta} for one in all_measured])
    by_task = frame.groupby(["generator", "model", "task"], sort=False)["delta"].mean()
    for (generator, model), deltas in by_task.groupby(["generator", "model"], sort=False):
        family = f"{generator} / {model if declared['family'] == 'model' else ALL_TASKS}"
        test = dataset_test(deltas.to_numpy(), declared)
        yield {
            "family": family,
            "unit": "dataset",
            "generator": generator,
            "model": model,
            "task": ALL_TASKS,
            "subset": "",
            **asdict(test),
            # Metrics may differ, so there is no mean; the shift tells the direction.
            "delta": test.shift,
            "delta_ci_low": math.nan,
            "delta_ci_high": math.nan,
            "standardized_delta": math.nan,
            "p_equivalence": math.nan,
        }


def _judged(family: list[dict[str, Any]], declared: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of one family with adjusted p-values, its size and verdicts."""
    method, alpha = declared["correction"], declared["alpha"]
    p = np.array([row["p"] for row in family])
    adjusted = adjust(p, method=method, alpha=alpha)
    reach = attainable(p, [row["min_attainable_p"] for row in family], method=method)
    for row, p_adjusted, reject, least in zip(
        family, adjusted.p, adjusted.reject, reach, strict=True
    ):
        by_instance = row["unit"] != "dataset"
        evidence = Evidence(
            row["status"],
            bool(reject),
            row["direction"],
            row["delta"],
            row["delta_ci_low"] if by_instance else 0.0,
            row["delta_ci_high"] if by_instance else 0.0,
            float(least),
            row["p_equivalence"],
        )
        yield {
            **row,
            "family": f"{row['family']} (m = {adjusted.family_size})",
            "family_size": adjusted.family_size,
            "alternative": declared["alternative"],
            "correction": method,
            "p_holm": p_adjusted,
            "p_adjusted": p_adjusted,
            "attainable_p_adjusted": least,
            "reject": bool(reject),
            "epsilon": math.nan if declared["epsilon"] is None else declared["epsilon"],
            "verdict": verdict(
                evidence,
                alpha=alpha,
                epsilon=declared["epsilon"] if by_instance else None,
                max_width=declared["max_width"] if by_instance else None,
            ),
        }
