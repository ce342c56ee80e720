"""Tests of hypotheses, families of them, equivalence and verdicts."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.weightstats import DescrStatsW

from pteb_eval.statistics.correlation import Spearman
from pteb_eval.statistics.multiplicity import adjust, attainable
from pteb_eval.statistics.permutation import permutation_test
from pteb_eval.statistics.signed_rank import signed_rank
from pteb_eval.statistics.statistic import Mean
from pteb_eval.statistics.verdict import Evidence, tost, verdict
from pteb_eval.statistics.wilcoxon import hodges_lehmann, wilcoxon

BOTH = {"alternative": "two-sided", "zero_method": "wilcox"}
few = settings(max_examples=40, deadline=None)
steps = st.integers(-8, 8).map(lambda step: step / 8)


# Wilcoxon on differences


def test_six_draws_cannot_go_below_one_in_thirty_two():
    result = wilcoxon([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], **BOTH)
    assert (result.p, result.min_attainable_p) == (0.03125, 0.03125)
    assert (result.statistic, result.effect_size, result.n, result.n_ties) == (0, 1, 6, 0)
    assert result.shift == pytest.approx(0.35)


def test_wilcoxon_by_hand():
    # |d| ranks 1 2 3 4 5 with signs + − + + +: W₊ = 13, W₋ = 2; of 32 sign patterns 3 have W₋ ≤ 2.
    d = [0.1, -0.2, 0.3, 0.4, 0.5]
    one_sided = wilcoxon(d, alternative="greater", zero_method="wilcox")
    assert (one_sided.statistic, one_sided.p) == (13, pytest.approx(3 / 32))
    assert one_sided.min_attainable_p == pytest.approx(1 / 32)
    assert one_sided.effect_size == pytest.approx((13 - 2) / 15)
    assert wilcoxon(d, alternative="less", zero_method="wilcox").p == pytest.approx(30 / 32)
    assert wilcoxon(d, **BOTH).p == pytest.approx(6 / 32)


@pytest.mark.parametrize("zero_method", ["wilcox", "pratt", "zsplit"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("n", [9, 30, 200])
def test_wilcoxon_agrees_with_scipy(n, alternative, zero_method):
    d = np.round(np.random.default_rng(n).normal(0.1, 1, n), 1)
    result = wilcoxon(d, alternative=alternative, zero_method=zero_method)
    kept = d[d != 0] if zero_method == "wilcox" else d
    expected = stats.wilcoxon(kept, alternative=alternative, zero_method=zero_method)
    assert (result.statistic, result.p) == (expected.statistic, expected.pvalue)
    assert result.min_attainable_p <= result.p
    assert result.n_ties == (d == 0).sum()


def test_a_floats_noise_is_no_evidence():
    # Unrounded, the ten would be ranked and give p = 0.0016.
    noise = np.array([0.0] * 20 + [5e-17] * 10)
    result = wilcoxon(noise, **BOTH)
    assert (result.status, result.p, result.n_ties, result.effect_size) == ("identical", 1, 30, 0)


@pytest.mark.parametrize("differences", [[], [0.1, np.nan], [np.inf, 0.2]])
def test_undefined_differences_have_no_p(differences):
    result = wilcoxon(differences, **BOTH)
    assert result.status == "undefined"
    assert np.isnan([result.p, result.min_attainable_p, result.effect_size, result.shift]).all()


def test_one_difference_proves_nothing():
    assert wilcoxon([0.4], **BOTH).p == 1
    assert wilcoxon([0.4], alternative="greater", zero_method="wilcox").p == 0.5


@given(st.lists(steps, min_size=1, max_size=30))
@few
def test_hodges_lehmann_is_the_median_of_all_pairwise_means(values):
    walsh = [(a + b) / 2 for a, b in itertools.combinations_with_replacement(values, 2)]
    assert hodges_lehmann(values) == pytest.approx(np.median(walsh), abs=1e-9)


# From 14 on, since below scipy goes through all signs, slowly.
@given(st.lists(steps, min_size=14, max_size=20), st.randoms(use_true_random=False))
@few
def test_wilcoxon_ignores_order_and_scale_and_turns_with_the_sign(values, random):
    result = wilcoxon(values, alternative="greater", zero_method="pratt")
    shuffled = random.sample(values, len(values))
    scaled = wilcoxon(np.multiply(shuffled, 4), alternative="greater", zero_method="pratt")
    assert (scaled.p, scaled.effect_size) == pytest.approx((result.p, result.effect_size))
    assert scaled.shift == pytest.approx(4 * result.shift)
    mirrored = wilcoxon(np.negative(values), alternative="less", zero_method="pratt")
    assert mirrored.p == pytest.approx(result.p)
    assert mirrored.effect_size == pytest.approx(-result.effect_size)


# One original against several runs


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("n", [7, 90])
def test_with_one_run_signed_rank_is_wilcoxon(n, alternative):
    values = np.random.default_rng(n).normal(size=(2, n))
    one = signed_rank(values, alternative=alternative, zero_method="pratt")
    assert one == wilcoxon(values[0] - values[1], alternative=alternative, zero_method="pratt")


def test_signed_rank_by_hand():
    # Sizes 3 1 2 in the first instance and 6 2 4 in the second rank as 4 1 2.5 and 6 2.5 5. As the
    # original, the variants would sum to 5 −6.5 1.5 in the first and to 8.5 −11 2.5 in the second.
    values = [[3.0, 6.0], [0.0, 0.0], [2.0, 4.0]]
    result = signed_rank(values, alternative="greater", zero_method="wilcox")
    assert result.statistic == pytest.approx(4 + 1 + 6 + 2.5)
    assert result.effect_size == 1
    first, second = [5, -4 - 2.5, 2.5 - 1], [8.5, -6 - 5, 5 - 2.5]
    null = [(a + b) / np.hypot(a, b) for a in first for b in second]
    ours = (5 + 8.5) / np.hypot(5, 8.5)
    assert result.p == pytest.approx(sum(t >= ours - 1e-9 for t in null) / 9)
    assert result.min_attainable_p == pytest.approx(1 / 9)
    assert result.shift == pytest.approx(hodges_lehmann([3, 6, 1, 2]))


@pytest.mark.parametrize("zero_method", ["wilcox", "pratt", "zsplit"])
def test_normal_and_drawn_nulls_agree_near_their_border(zero_method, monkeypatch):
    rng = np.random.default_rng(5)
    values = rng.integers(0, 3, (4, 45)) + np.array([[0.4], [0], [0], [0]]).round()
    values[0] += rng.random(45) < 0.15
    drawn = signed_rank(values, alternative="greater", zero_method=zero_method)
    monkeypatch.setattr("pteb_eval.statistics.signed_rank.SMALL", 40)
    normal = signed_rank(values, alternative="greater", zero_method=zero_method)
    assert normal.p == pytest.approx(drawn.p, abs=0.015)


def test_identical_runs_and_undefined_values_are_said():
    same = np.tile(np.arange(5.0), (7, 1))
    result = signed_rank(same + 1e-9 * np.arange(7)[:, None], **BOTH)
    assert (result.status, result.p, result.n_ties) == ("identical", 1, 5)
    same[3, 2] = np.nan
    assert signed_rank(same, **BOTH).status == "undefined"
    assert signed_rank(np.empty((7, 0)), **BOTH).status == "undefined"
    with pytest.raises(ValueError, match="a run"):
        signed_rank(same[:1], **BOTH)


@given(
    arrays(float, (4, 12), elements=steps), st.permutations(range(12)), st.permutations([1, 2, 3])
)
@few
def test_signed_rank_ignores_the_order_of_instances_and_runs(values, rows, runs):
    result = signed_rank(values, **BOTH)
    moved = signed_rank(values[[0, *runs]][:, rows] * 2 + 1, **BOTH)
    assert moved.statistic == pytest.approx(result.statistic)
    assert moved.effect_size == pytest.approx(result.effect_size)
    assert moved.p == pytest.approx(result.p, abs=0.04)  # other draws
    mirrored = signed_rank(-values, **BOTH)
    assert mirrored.effect_size == pytest.approx(-result.effect_size)


# Permutation of a whole set's metric


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_exact_permutation_agrees_with_scipy(alternative):
    values = np.random.default_rng(3).normal(size=(2, 9)).round(1)
    ours = permutation_test(Mean(values), alternative=alternative)
    expected = stats.permutation_test(
        tuple(values),
        lambda a, b, axis: np.mean(a, axis=axis) - np.mean(b, axis=axis),
        permutation_type="samples",
        alternative=alternative,
        n_resamples=10_000,
        vectorized=True,
    )
    assert (ours.delta, ours.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert ours.min_attainable_p == pytest.approx(2**-9 * (2 if alternative == "two-sided" else 1))


def test_all_ways_to_choose_an_original_are_tried():
    # The best of three is the original in both instances: one way in nine.
    result = permutation_test(Mean([[3.0, 5.0], [1.0, 1.0], [0.0, 2.0]]), alternative="greater")
    assert result.p == pytest.approx(1 / 9)


def test_permutation_of_spearman_finds_a_drop_and_repeats_itself():
    rng = np.random.default_rng(4)
    gold = rng.normal(size=60)
    similarities = np.stack([gold, *(gold + rng.normal(size=(3, 60)))])
    tests = [
        permutation_test(Spearman(gold, similarities), alternative="greater", n_permutations=200)
        for _ in range(2)
    ]
    assert tests[0] == tests[1]
    assert tests[0].p == tests[0].min_attainable_p == pytest.approx(1 / 201)
    rising = permutation_test(Spearman(gold, similarities), alternative="less", n_permutations=200)
    assert rising.p == 1


def test_permutation_flags_identical_and_undefined():
    gold = np.arange(6.0)
    same = permutation_test(Spearman(gold, np.tile(gold, (3, 1))), alternative="two-sided")
    assert (same.status, same.p, same.n_ties) == ("identical", 1, 6)
    constant = permutation_test(Spearman(gold, np.ones((2, 6))), alternative="two-sided")
    assert constant.status == "undefined"
    assert np.isnan(constant.p)


# Families


def test_holm_by_hand():
    # Sorted 0.01 0.02 0.03 times 3 2 1, made to rise: 0.03 0.04 0.04.
    adjusted = adjust([0.02, np.nan, 0.01, 0.03], alpha=0.035)
    assert adjusted.p == pytest.approx([0.04, np.nan, 0.03, 0.04], nan_ok=True)
    assert adjusted.reject.tolist() == [False, False, True, False]
    assert adjusted.family_size == 3


def test_benjamini_hochberg_agrees_with_scipy():
    p = np.random.default_rng(0).uniform(size=20) ** 2
    assert adjust(p, method="fdr_bh").p == pytest.approx(stats.false_discovery_control(p))


@pytest.mark.parametrize("p_values", [[], [np.nan, np.nan]])
def test_a_family_without_a_defined_test_is_empty(p_values):
    adjusted = adjust(p_values)
    assert adjusted.family_size == 0
    assert np.isnan(adjusted.p).all()
    assert not adjusted.reject.any()


def test_two_tests_of_six_draws_can_never_reach_five_percent():
    assert attainable([0.4, 0.03125], [0.03125] * 2) == pytest.approx([0.0625, 0.0625])
    # Beside a test that rejects anyway, the second needs no correction.
    assert attainable([1e-9, 0.4], [1e-9, 0.03125])[1] == pytest.approx(0.03125)
    assert np.isnan(attainable([np.nan, 0.4], [np.nan, 0.03125])[0])


chances = st.lists(st.floats(0, 1), min_size=1, max_size=9)
fewer = settings(max_examples=8, deadline=None)  # statsmodels' Holm takes a tenth of a second


@given(chances)
@fewer
def test_adjusted_p_is_never_smaller_and_keeps_the_order(p_values):
    for method in ("holm", "fdr_bh"):
        adjusted = adjust(p_values, method=method).p
        assert (adjusted >= np.array(p_values) - 1e-12).all()
        assert (np.diff(adjusted[np.argsort(p_values)]) >= -1e-12).all()


@pytest.mark.parametrize("method", ["holm", "fdr_bh"])
@given(chances, st.floats(0, 1))
@fewer
def test_attainable_is_the_adjusted_p_of_a_test_at_its_best(method, p_values, share):
    best = np.multiply(p_values, share)
    reach = attainable(p_values, best, method=method)
    for i in range(0, len(p_values), 3):
        improved = [best[i] if j == i else p for j, p in enumerate(p_values)]
        assert reach[i] == pytest.approx(adjust(improved, method=method).p[i])


# Equivalence and verdicts


@pytest.mark.parametrize("shift", [-0.3, 0.0, 0.2])
def test_tost_agrees_with_statsmodels(shift):
    d = np.random.default_rng(6).normal(shift, 1, 80)
    expected = DescrStatsW(d).ttost_mean(-0.5, 0.5)[0]
    ours = tost(d.mean(), d.std(ddof=1) / np.sqrt(80), epsilon=0.5, df=79)
    assert ours == pytest.approx(expected)


def test_tost_at_its_borders():
    assert tost(0.5, 0.1, epsilon=0.5, df=10) == pytest.approx(0.5)
    assert tost(0.1, 0.0, epsilon=0.5, df=10) == 0
    assert tost(0.5, 0.0, epsilon=0.5, df=10) == 1
    assert np.isnan(tost(np.nan, 0.1, epsilon=0.5, df=10))
    assert np.isnan(tost(0.1, 0.1, epsilon=0.5, df=0))


def evidence(**changes):
    nothing = {
        "status": "ok", "reject": False, "effect": 0.1, "delta": 0.01, "low": -0.01, "high": 0.03,
        "attainable_p": 1e-4,
    }  # fmt: skip
    return Evidence(**(nothing | changes))


@pytest.mark.parametrize(
    ("changes", "options", "expected"),
    [
        ({}, {}, "no detectable drop"),
        ({"reject": True}, {}, "drops"),
        ({"reject": True, "effect": -0.1, "delta": -0.01}, {}, "rises"),
        ({"reject": True, "effect": -0.1}, {}, "no detectable drop"),
        ({"reject": True, "tost_p": 0.01}, {"epsilon": 0.05}, "drops"),
        ({"tost_p": 0.01}, {"epsilon": 0.05}, "equivalent within ±0.05"),
        ({"tost_p": 0.2}, {"epsilon": 0.05}, "no detectable drop"),
        ({"tost_p": 0.2}, {"epsilon": 0.01}, "underpowered"),
        ({}, {"max_width": 0.03}, "underpowered"),
        ({}, {"max_width": 0.05}, "no detectable drop"),
        ({"attainable_p": 0.0625}, {}, "underpowered"),
        ({"low": np.nan, "high": np.nan}, {}, "underpowered"),
        ({"status": "identical"}, {}, "identical"),
        ({"status": "undefined"}, {}, "undefined"),
        ({"delta": np.nan, "reject": True}, {}, "undefined"),
    ],
)
def test_the_first_rule_that_holds_names_the_verdict(changes, options, expected):
    assert verdict(evidence(**changes), **options) == expected
