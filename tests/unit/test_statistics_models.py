import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from pteb_eval.statistics.across import average_ranks, mean_delta, standardized_delta
from pteb_eval.statistics.bootstrap import delta_interval, resample
from pteb_eval.statistics.comparison import compare, two_sided_p
from pteb_eval.statistics.correlation import Spearman
from pteb_eval.statistics.ranking import rank_models, rank_scores
from pteb_eval.statistics.statistic import Mean


def model(drop, seed=0, noise=0.2, n=200):
    """Per-instance values of a model that loses `drop`; the same instances for every seed."""
    level = np.random.default_rng(99).normal(0.6, 0.3, n)
    own = np.random.default_rng(seed).normal(0, noise, (4, n))
    return Mean(level + own - np.array([0, drop, drop, drop])[:, None])


def drawn(statistic, seed=0, n_resamples=400):
    return resample(statistic, n_resamples=n_resamples, seed=seed)


def test_a_less_robust_model_is_told_apart():
    fragile, robust = drawn(model(0.3, seed=1)), drawn(model(0.0, seed=2))
    result = compare(fragile, robust)
    assert result.interval.estimate == pytest.approx(fragile.delta - robust.delta)
    assert result.interval.low > 0
    assert result.p == pytest.approx(2 / 401)
    reverse = compare(robust, fragile)
    assert reverse.interval.high == pytest.approx(-result.interval.low)
    assert reverse.p == result.p


def test_pairing_takes_out_what_models_share():
    shared = np.random.default_rng(3).normal(0, 1, (4, 200))
    one = Mean(shared + np.random.default_rng(4).normal(0, 0.05, (4, 200)))
    other = Mean(shared + np.random.default_rng(5).normal(0, 0.05, (4, 200)))
    separate = delta_interval(drawn(one))
    together = compare(drawn(one), drawn(other)).interval
    assert together.high - together.low < (separate.high - separate.low) / 5


def test_a_model_does_not_differ_from_itself():
    one = drawn(model(0.1))
    result = compare(one, one, method="bca")
    assert (result.interval.low, result.interval.high, result.p) == (0, 0, 1)


def test_models_drawn_otherwise_cannot_be_compared():
    one = drawn(model(0.1))
    for other in (
        drawn(model(0.1), seed=1),
        drawn(model(0.1, n=100)),
        drawn(model(0.1), n_resamples=50),
    ):
        with pytest.raises(ValueError, match="resamples of different"):
            compare(one, other)


def test_two_sided_p_by_hand():
    assert two_sided_p(np.array([-1.0, 2.0, 3.0, 4.0])) == pytest.approx(2 * 2 / 5)
    assert two_sided_p(np.zeros(9)) == 1
    assert two_sided_p(np.array([1.0, np.nan])) == pytest.approx(1.0)
    assert np.isnan(two_sided_p(np.array([np.nan])))


# Rankings


def test_ranking_by_hand():
    before, after = np.array([0.9, 0.8, 0.7]), np.array([0.5, 0.8, 0.7])
    old = np.array([[0.9, 0.9], [0.8, 0.8], [0.7, 0.7]])
    new = np.array([[0.5, 0.9], [0.8, 0.8], [0.7, 0.7]])
    result = rank_scores(before, after, old, new)
    assert result.before.tolist() == [1, 2, 3]
    assert result.after.tolist() == [3, 1, 2]
    assert result.tau == pytest.approx(-1 / 3)  # of three pairs two are reversed
    assert result.flip.tolist() == [[0, 0.5, 0.5], [0.5, 0, 0], [0.5, 0, 0]]
    assert result.after_interval.tolist() == [[1, 3], [1, 2], [2, 3]]
    assert result.before_interval.tolist() == [[1, 1], [2, 2], [3, 3]]


def test_ties_share_ranks_and_half_a_flip():
    scores = np.array([0.5, 0.5])
    old, new = np.array([[0.5, 0.6], [0.5, 0.5]]), np.array([[0.6, 0.6], [0.5, 0.5]])
    result = rank_scores(scores, scores, old, new)
    assert result.before.tolist() == [1.5, 1.5]
    assert np.isnan(result.tau)
    assert result.flip[0, 1] == 0.25


def test_undefined_resamples_do_not_rank():
    scores = np.array([0.2, 0.1])
    resampled = np.array([[0.2, np.nan], [0.1, 0.3]])
    assert rank_scores(scores, scores, resampled, resampled).flip[0, 1] == 0
    nothing = rank_scores(scores, scores, resampled[:, 1:], resampled[:, 1:])
    assert np.isnan(nothing.flip).all()
    assert np.isnan(nothing.before_interval).all()
    assert np.isnan(nothing.tau_interval).all()


def test_a_model_that_loses_its_lead_flips_surely_and_a_close_pair_by_chance():
    models = [drawn(Mean(model(0.5, seed=6).values + 0.3)), drawn(model(0, seed=7)),
              drawn(model(0, seed=8))]  # fmt: skip
    result = rank_models(models)
    assert result.before[0] == 1
    assert result.after[0] == 3
    assert result.flip[0, 1] > 0.95
    assert 0.1 < result.flip[1, 2] < 0.9
    assert np.array_equal(result.flip, result.flip.T)


@given(arrays(float, (4, 6), elements=st.floats(0, 1)), st.permutations(range(4)))
@settings(max_examples=30, deadline=None)
def test_ranks_follow_the_models_and_stay_within_bounds(scores, order):
    result = rank_scores(scores[:, 0], scores[:, 1], scores[:, 2:4], scores[:, 4:])
    moved = scores[order]
    again = rank_scores(moved[:, 0], moved[:, 1], moved[:, 2:4], moved[:, 4:])
    assert np.array_equal(again.after, result.after[order])
    assert np.array_equal(again.flip, result.flip[np.ix_(order, order)])
    assert result.after.sum() == pytest.approx(10)
    assert (result.after_interval[:, 0] <= result.after_interval[:, 1]).all()


# Across tasks


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_the_mean_over_tasks_is_narrower_by_the_root_of_their_number(method):
    tasks = [drawn(model(0.1, seed=seed), seed=seed) for seed in range(4)]
    found = mean_delta(tasks, method=method)
    single = [delta_interval(task, method=method) for task in tasks]
    assert found.estimate == pytest.approx(np.mean([one.estimate for one in single]))
    expected = np.sqrt(np.square([one.se for one in single]).sum()) / 4
    assert found.se == pytest.approx(expected, rel=0.15)
    assert found.low < found.estimate < found.high


def test_standardized_delta_of_a_mean_is_cohens_d():
    values = np.random.default_rng(9).normal([[0.5], [0]], 1, (2, 50))
    d = values[0] - values[1]
    assert standardized_delta(drawn(Mean(values))) == pytest.approx(d.mean() / d.std())
    # Neither the unit of the metric nor the number of instances matters.
    assert standardized_delta(drawn(Mean(100 * values))) == pytest.approx(d.mean() / d.std())
    twice = np.tile(values, 2)
    assert standardized_delta(drawn(Mean(twice))) == pytest.approx(d.mean() / d.std())


def test_standardized_delta_exists_for_rank_correlations_and_at_the_borders():
    rng = np.random.default_rng(10)
    gold = rng.normal(size=100)
    worse = Spearman(gold, np.stack([gold, gold + rng.normal(size=100)]))
    assert standardized_delta(drawn(worse)) > 0.2
    same = Mean(np.tile(rng.normal(size=9), (3, 1)))
    assert standardized_delta(drawn(same)) == 0
    assert standardized_delta(drawn(Mean([[1.0] * 5, [0.5] * 5]))) == np.inf


def test_average_ranks_by_hand():
    scores = [[0.9, 0.8, 0.9, 0.7], [0.5, 0.9, 0.8, 0.6], [0.1, 0.2, 0.3, 0.5]]
    result = average_ranks(scores)
    assert result.ranks == pytest.approx([1.25, 1.75, 3])
    # Demšar (2006), table 5: q = 2.343 for three models at 0.05.
    assert result.critical_difference == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 4)), rel=1e-3)
    assert result.friedman_p == pytest.approx(stats.friedmanchisquare(*scores).pvalue)
    assert result.cliques == ((0, 1), (1, 2))


def test_one_clique_holds_all_models_that_do_not_differ():
    result = average_ranks(np.random.default_rng(11).random((4, 3)))
    assert len(result.cliques) == 1
    assert sorted(result.cliques[0]) == [0, 1, 2, 3]


def test_average_ranks_leave_out_tasks_without_all_scores():
    result = average_ranks([[0.9, np.nan, 0.3], [0.5, 0.4, 0.2]])
    assert (result.n_tasks, result.ranks.tolist()) == (2, [1, 2])
    assert np.isnan(result.friedman_p)
    assert average_ranks([[0.5, 0.6]]).cliques == ()
    assert average_ranks([[np.nan], [0.4]]).n_tasks == 0


def test_average_ranks_do_not_mind_the_scale_of_a_task():
    scores = np.random.default_rng(12).random((5, 6))
    mixed = scores * [1, 100, 0.01, 1, 5, 1] + [0, -50, 0, 3, 0, 0]
    assert np.array_equal(average_ranks(mixed).ranks, average_ranks(scores).ranks)
