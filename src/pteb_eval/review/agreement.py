"""What ratings say: attention, agreement among people and with judges, share of kept meaning."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pteb_eval.errors import UserError
from pteb_eval.review.checks import TOLERANCE
from pteb_eval.review.key import CHECK, PAIR
from pteb_eval.statistics.bootstrap import interval
from pteb_eval.statistics.correlation import Spearman

COLUMNS = [
    "generator", "task", "n_pairs", "n_raters", "n_ratings", "mean_rating", "threshold",
    "kept_share", "kept_low", "kept_high", "alpha", "judge", "verdict", "n_judged", "rho",
    "rho_low", "rho_high",
]  # fmt: skip
RATER_COLUMNS = ["rater", "n_pairs", "mean_rating", "n_checks", "checks_passed", "check_error"]
IDENTITY = ["generator", "task", "text_id", "run"]  # of a pair
ALL = "all"


def rater_rows(ratings: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """How attentive each person was, columns as in `RATER_COLUMNS`.

    Args:
        ratings: one row a rating, with the key's columns and `rater`, `rating`.

    A check passes if its rating is at most `TOLERANCE` from the known one; `check_error` is the
    mean absolute distance.
    """
    for rater, rows in ratings.groupby("rater"):
        pairs, checks = rows[rows["kind"] == PAIR], rows[rows["kind"] == CHECK]
        error = (checks["rating"] - checks["gold"]).abs()
        yield {
            "rater": rater,
            "n_pairs": len(pairs),
            "mean_rating": pairs["rating"].mean(),
            "n_checks": len(checks),
            "checks_passed": (error <= TOLERANCE).mean() if len(checks) else math.nan,
            "check_error": error.mean(),
        }


def review_rows(
    ratings: pd.DataFrame,
    judgements: pd.DataFrame,
    verdicts: Mapping[str, str],
    *,
    threshold: float,
    confidence: float,
    resamples: int,
    seed: int,
) -> Iterator[dict[str, Any]]:
    """Rows of `COLUMNS` for each generator and task, and over all if there are several.

    Args:
        ratings: as for `rater_rows`; attention checks are left out here.
        judgements: columns `judge`, `generator`, `task`, `text_id`, `run`, `score`. Each judge has
            a row of its own.
        verdicts: of validation on each judge.
        threshold: mean rating from which on the meaning counts as kept.
        confidence: of the intervals.
        resamples: of the bootstrap over pairs.
        seed: of the bootstrap.
    """
    ratings = ratings[ratings["kind"] == PAIR]
    cells: list[tuple[Any, pd.DataFrame]] = list(ratings.groupby(["generator", "task"], sort=False))
    for (generator, task), rows in [*cells, *([((ALL, ALL), ratings)] if len(cells) > 1 else [])]:
        means = rows.groupby(IDENTITY, as_index=False)["rating"].mean()
        kept = int((means["rating"] >= threshold).sum())
        low, high = wilson(kept, len(means), confidence)
        common = {
            "generator": generator,
            "task": task,
            "n_pairs": len(means),
            "n_raters": rows["rater"].nunique(),
            "n_ratings": len(rows),
            "mean_rating": means["rating"].mean(),
            "threshold": threshold,
            "kept_share": kept / len(means),
            "kept_low": low,
            "kept_high": high,
            "alpha": alpha(rows.pivot(index="rater", columns="item", values="rating").to_numpy()),
        }
        both = means.merge(judgements, on=IDENTITY)
        for judge, pairs in both.groupby("judge"):
            rho = correlation(pairs["rating"], pairs["score"], confidence, resamples, seed)
            told = {"judge": judge, "verdict": verdicts[judge], "n_judged": len(pairs)}
            yield {**common, **told, **rho}
        if both.empty:
            yield common


def wilson(count: int, n: int, confidence: float) -> tuple[float, float]:
    """Wilson's interval of a share."""
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(count, n, alpha=1 - confidence, method="wilson")
    return float(low), float(high)


def alpha(ratings: np.ndarray) -> float:
    """Krippendorff's alpha for ordinal ratings.

    Args:
        ratings: (n_raters, n_items), NaN where a person did not rate.

    Returns:
        1 for full agreement, 0 for chance; NaN if no item has two ratings, or all ratings that can
        be compared are the same, where agreement and chance cannot be told apart.
    """
    compared = ratings[:, (~np.isnan(ratings)).sum(axis=0) > 1]
    if len(np.unique(compared[~np.isnan(compared)])) < 2:
        return math.nan
    try:
        import krippendorff
    except ImportError:
        raise UserError(
            "agreement among people needs a package that is not installed: "
            "pip install 'pteb-eval[review]'"
        ) from None
    return float(krippendorff.alpha(compared, level_of_measurement="ordinal"))


def correlation(
    people: Sequence[float] | pd.Series,
    judge: Sequence[float] | pd.Series,
    confidence: float,
    resamples: int,
    seed: int,
) -> dict[str, float]:
    """Spearman's ρ with its percentile bootstrap interval over pairs; NaN where it is undefined."""
    statistic = Spearman(people, np.asarray(judge)[None])
    n = len(people)
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), resamples).T
    rho = float(statistic.resampled(np.ones((n, 1)))[0, 0])
    drawn = statistic.resampled(counts.astype(np.float64))[0]
    bounds = interval(rho, drawn, level=confidence)
    return {"rho": rho, "rho_low": bounds.low, "rho_high": bounds.high}
