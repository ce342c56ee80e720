"""One test of one model on one task, or of one model over all tasks."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pteb_eval.statistics.measured import Measured
from pteb_eval.statistics.permutation import permutation_test
from pteb_eval.statistics.signed_rank import signed_rank
from pteb_eval.statistics.statistic import Array
from pteb_eval.statistics.verdict import Status
from pteb_eval.statistics.wilcoxon import WilcoxonResult, wilcoxon

FEWEST_FOR_RANKS = 20
"""Below so many instances Spearman's contributions depend on each other too much to be ranked."""
FEWEST_EXPERIMENTS = 6
UNSOUND = "wilcoxon: mean_of_runs does not keep its level, see docs/method.md"


@dataclass(frozen=True)
class Test:
    """One test, before the others of its family are known.

    Attributes:
        method: `signed_rank`, `wilcoxon`, `permutation`, or empty without a test.
        n: number of units.
        n_ties: units that no run changed.
        statistic: the test's own.
        p: raw p-value.
        effect_size: matched-pairs rank-biserial; NaN where nothing is ranked.
        min_attainable_p: smallest raw p that the test could have given.
        status: of the test.
        shift: Hodges–Lehmann; NaN where nothing is ranked.
        direction: its sign is that of the change that the test found.
        note: why there is no test, or what to know of it.
    """

    method: str
    n: int
    n_ties: int
    statistic: float
    p: float
    effect_size: float
    min_attainable_p: float
    status: Status
    shift: float
    direction: float
    note: str = ""


def no_test(n: int, note: str) -> Test:
    """What stands where no test can be made; it leaves its family."""
    nan = math.nan
    return Test("", n, 0, nan, nan, nan, nan, "undefined", nan, nan, note)


def instance_test(measured: Measured, declared: dict[str, Any], seed: int) -> Test:
    """Test a model's change on one task, with instances or mteb's experiments as units.

    Args:
        measured: its scores there.
        declared: `alternative`, `zero_method`, `wilcoxon`, `permutations`.
        seed: of draws.
    """
    n = len(measured.index)
    if not measured.parts:
        return no_test(measured.n_instances, measured.note)
    values = measured.values
    if measured.kind in ("correlation", "mean") and values is not None:
        ranked = _ranked(values, declared, seed)
        unfit = measured.kind == "correlation" and n < FEWEST_FOR_RANKS
        if declared["wilcoxon"] == "each_run" and unfit and len(measured.parts) == 1:
            return _permuted(measured, declared, seed, ranked)
        return ranked
    if measured.kind == "experiments" and n < FEWEST_EXPERIMENTS:
        return no_test(n, f"{n} experiments: fewer than {FEWEST_EXPERIMENTS} are not tested")
    if len(measured.parts) > 1:
        return no_test(n, f"{measured.cell.metric} over several splits is not tested")
    return _permuted(measured, declared, seed, None)


def _ranked(values: Array, declared: dict[str, Any], seed: int) -> Test:
    how = {name: declared[name] for name in ("alternative", "zero_method")}
    if declared["wilcoxon"] == "each_run":
        return _of_ranks("signed_rank", signed_rank(values, **how, seed=seed))
    mean = values[0] - values[1:].mean(axis=0)
    return _of_ranks("wilcoxon", wilcoxon(mean, **how), UNSOUND)


def _of_ranks(method: str, found: WilcoxonResult, note: str = "") -> Test:
    return Test(method=method, **asdict(found), direction=found.effect_size, note=note)


def _permuted(measured: Measured, declared: dict[str, Any], seed: int, ranked: Test | None) -> Test:
    """A permutation test; size and shift are those of the ranks, where there are any."""
    found = permutation_test(
        measured.parts[0],
        alternative=declared["alternative"],
        n_permutations=declared["permutations"],
        seed=seed,
    )
    return Test(
        method="permutation",
        n=found.n,
        n_ties=found.n_ties,
        statistic=found.delta,
        p=found.p,
        effect_size=ranked.effect_size if ranked else math.nan,
        min_attainable_p=found.min_attainable_p,
        status=found.status,
        shift=ranked.shift if ranked else math.nan,
        direction=found.delta,
    )


def dataset_test(deltas: Sequence[float], declared: dict[str, Any]) -> Test:
    """Wilcoxon's test of a model's Δ with tasks as units.

    Args:
        deltas: one a task.
        declared: `alternative`, `zero_method`.
    """
    how = {name: declared[name] for name in ("alternative", "zero_method")}
    return _of_ranks("wilcoxon", wilcoxon(np.asarray(deltas), **how))
