"""What intervals and tests promise, on many data sets whose truth is known."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from pteb_eval.statistics.bootstrap import delta_interval, resample
from pteb_eval.statistics.contributions import spearman_contributions
from pteb_eval.statistics.correlation import Spearman
from pteb_eval.statistics.permutation import permutation_test
from pteb_eval.statistics.signed_rank import signed_rank
from pteb_eval.statistics.statistic import Mean
from pteb_eval.statistics.wilcoxon import wilcoxon

RUNS = 6
DECLARED = {"alternative": "two-sided", "zero_method": "pratt"}


def continuous(rng, n, *, drop=0.1, instance=0.0, paraphrase=0.0, whole_run=0.0):
    """Values whose true Δ is `drop`, with the standard deviations of the three sources of noise."""
    level = rng.normal(size=n)
    original = level + drop + rng.normal(0, instance, n)
    runs = level + rng.normal(0, paraphrase, (RUNS, n)) + rng.normal(0, whole_run, (RUNS, 1))
    return np.vstack([original, runs])


def right_or_wrong(rng, n, *, drop=0.0):
    """Right/wrong answers, skewed as accuracies are; every variant is drawn alike if drop is 0."""
    ease = rng.normal(1.5, 1, n)
    chances = 1 / (1 + np.exp(-np.vstack([ease, np.tile(ease - drop, (RUNS, 1))])))
    return (rng.random(chances.shape) < chances).astype(float)


def pairs(rng, n, *, own=1.0, reworded=1.0):
    """Gold, and similarities whose true rank correlation falls with `reworded` over `own`."""
    gold = rng.normal(size=n)
    latent = gold + 0.5 * rng.normal(size=n)
    noise = rng.normal(size=(1 + RUNS, n)) * np.array([own] + [reworded] * RUNS)[:, None]
    return gold, latent + noise


def true_spearman(noise):
    """Of normal variables with the correlation that `pairs` makes."""
    return 6 / np.pi * np.arcsin(1 / np.sqrt(1 + 0.25 + noise**2) / 2)


def coverage(make, truth, n_data_sets):
    hits = {"percentile": 0, "bca": 0}
    rng = np.random.default_rng(1)
    for seed in range(n_data_sets):
        drawn = resample(make(rng), n_resamples=400, seed=seed)
        for method in hits:
            found = delta_interval(drawn, method=method)
            hits[method] += found.low <= truth <= found.high
    return np.array(list(hits.values())) / n_data_sets


@pytest.mark.parametrize(
    "noise",
    [
        {"instance": 0.5, "paraphrase": 0.2},
        {"paraphrase": 0.5},
        {"instance": 0.5, "paraphrase": 0.1, "whole_run": 0.1},
        {"instance": 0.1, "paraphrase": 0.1, "whole_run": 0.1},
    ],
    ids=["instances", "paraphrases", "instances and runs", "runs"],
)
def test_intervals_of_a_mean_cover_the_truth(noise):
    covered = coverage(lambda rng: Mean(continuous(rng, 80, **noise)), 0.1, 500)
    assert ((covered >= 0.92) & (covered <= 0.98)).all(), covered


def test_intervals_of_spearman_cover_the_truth():
    truth = true_spearman(0.4) - true_spearman(0.8)
    covered = coverage(lambda rng: Spearman(*pairs(rng, 100, own=0.4, reworded=0.8)), truth, 300)
    assert ((covered >= 0.92) & (covered <= 0.98)).all(), covered


def false_positives(make, test, n_data_sets=1000):
    rng = np.random.default_rng(3)
    return sum(test(make(rng)) <= 0.05 for _ in range(n_data_sets)) / n_data_sets


BAND = 3 * np.sqrt(0.05 * 0.95 / 1000)


@pytest.mark.parametrize(
    "make",
    [lambda rng: right_or_wrong(rng, 80), lambda rng: spearman_contributions(*pairs(rng, 80))],
    ids=["right or wrong", "spearman"],
)
def test_signed_rank_keeps_its_level_on_a_thousand_null_data_sets(make):
    share = false_positives(make, lambda values: signed_rank(values, **DECLARED).p)
    assert 0.05 - BAND <= share <= 0.05 + BAND


def test_wilcoxon_keeps_its_level_on_symmetric_differences():
    share = false_positives(
        lambda rng: rng.normal(size=23), lambda differences: wilcoxon(differences, **DECLARED).p
    )
    assert 0.05 - BAND <= share <= 0.05 + BAND


def test_wilcoxon_on_the_mean_of_runs_does_not_keep_it_on_skewed_values():
    # Why signed_rank exists. The mean itself is at 0, as a t-test confirms.
    def difference(rng):
        values = right_or_wrong(rng, 300)
        return values[0] - values[1:].mean(axis=0)

    assert false_positives(difference, lambda d: wilcoxon(d, **DECLARED).p, 200) > 0.5
    assert false_positives(difference, lambda d: ttest_1samp(d, 0).pvalue, 200) < 0.12


def test_permutation_keeps_its_level():
    def p_value(data):
        gold, similarities = data
        statistic = Spearman(gold, similarities[:3])
        return permutation_test(statistic, alternative="two-sided", n_permutations=39).p

    share = false_positives(lambda rng: pairs(rng, 15), p_value, 200)
    assert share <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_a_known_drop_is_found():
    rng = np.random.default_rng(4)
    one_sided = {"alternative": "greater", "zero_method": "pratt"}
    made = [right_or_wrong(rng, 300, drop=0.8) for _ in range(100)]
    assert np.mean([signed_rank(values, **one_sided).p <= 0.05 for values in made]) >= 0.95
    made = [spearman_contributions(*pairs(rng, 150, own=0.4, reworded=0.8)) for _ in range(100)]
    assert np.mean([signed_rank(values, **one_sided).p <= 0.05 for values in made]) >= 0.95
    assert all(signed_rank(values, **one_sided).shift > 0 for values in made)
