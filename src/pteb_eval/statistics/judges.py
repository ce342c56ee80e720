"""The table `judge_agreement`: do judges of different kinds see the same drift?"""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from pteb_eval.layout import Layout
from pteb_eval.store import read_table

AGREEMENT_COLUMNS = [
    "judge", "verdict", "other_judge", "other_verdict", "generator", "task", "n", "mean",
    "other_mean", "spearman", "p", "weighted_kappa",
]  # fmt: skip


def agreement_rows(
    settings: dict[str, Any], layout: Layout, verdicts: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Rows of `AGREEMENT_COLUMNS` for each pair of judges, generator and task.

    Spearman's correlation compares the order of ratings, whatever scale a judge uses; Cohen's kappa
    with quadratic weights the ratings themselves, rounded to whole points. Paraphrases count that
    both judges rated.

    Args:
        settings: `judges`, `generators`, `tasks`.
        layout: the run's files.
        verdicts: on each judge.
    """
    for generator in settings["generators"]:
        for task in settings["tasks"]:
            ratings = {
                judge: read_table(
                    layout.judgements(judge, generator, task), columns=["text_id", "run", "score"]
                )
                .to_pandas()
                .set_index(["text_id", "run"])["score"]
                for judge in settings["judges"]
            }
            for judge, other in combinations(settings["judges"], 2):
                both = pd.concat([ratings[judge], ratings[other]], axis=1).dropna()
                names = {
                    "judge": judge,
                    "verdict": verdicts[judge],
                    "other_judge": other,
                    "other_verdict": verdicts[other],
                    "generator": generator,
                    "task": task,
                }
                yield names | _numbers(both.iloc[:, 0], both.iloc[:, 1])


def _numbers(one: pd.Series, other: pd.Series) -> dict[str, Any]:
    from scipy.stats import spearmanr
    from sklearn.metrics import cohen_kappa_score

    found = {"n": len(one), "mean": one.mean(), "other_mean": other.mean()}
    if len(one) < 2 or one.nunique() < 2 or other.nunique() < 2:
        return found  # no correlation with what does not vary
    rho = spearmanr(one, other)
    whole = [np.rint(ratings.to_numpy(np.float64)).astype(int) for ratings in (one, other)]
    kappa = cohen_kappa_score(*whole, labels=range(6), weights="quadratic")
    return found | {"spearman": rho.statistic, "p": rho.pvalue, "weighted_kappa": kappa}
