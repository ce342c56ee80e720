import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn.metrics import average_precision_score

from pteb_eval.statistics import bootstrap
from pteb_eval.statistics.bootstrap import (
    acceleration,
    bootstrap_delta,
    delta_interval,
    interval,
    resample,
    standard_error,
)
from pteb_eval.statistics.correlation import Pearson, Spearman
from pteb_eval.statistics.precision import AveragePrecision
from pteb_eval.statistics.statistic import Mean, observed

few = settings(max_examples=40, deadline=None)
N = 40


def example(kind, seed=0, decimals=2, n=N):
    """A statistic on an original and two runs, with ties if rounded, and its oracle."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 6, n).astype(float)
    values = (gold + rng.normal(0, [[1], [2], [4]], (3, n))).round(decimals)
    labels = (gold > 3).astype(float)
    if kind == "spearman":
        return Spearman(gold, values), lambda row, at: stats.spearmanr(gold[at], row[at]).statistic
    if kind == "pearson":
        return Pearson(gold, values), lambda row, at: stats.pearsonr(gold[at], row[at]).statistic
    if kind == "mean":
        return Mean(values), lambda row, at: row[at].mean()
    return (
        AveragePrecision(labels, values),
        lambda row, at: average_precision_score(labels[at], row[at]),
    )


KINDS = ["spearman", "pearson", "mean", "precision"]


@pytest.mark.parametrize("decimals", [0, 6], ids=["ties", "no ties"])
@pytest.mark.parametrize("kind", KINDS)
def test_resampled_scores_equal_the_metric_of_the_resampled_data(kind, decimals):
    statistic, oracle = example(kind, decimals=decimals)
    drawn = np.random.default_rng(1).integers(0, N, (5, N))
    counts = np.stack([np.bincount(row, minlength=N) for row in drawn], axis=1).astype(float)
    expected = [[oracle(row, at) for at in drawn] for row in statistic.values]
    assert statistic.resampled(counts) == pytest.approx(np.array(expected))
    everything = [oracle(row, np.arange(N)) for row in statistic.values]
    assert observed(statistic) == pytest.approx(everything)


@pytest.mark.parametrize("decimals", [0, 6], ids=["ties", "no ties"])
@pytest.mark.parametrize("kind", KINDS)
def test_influence_is_the_derivative_in_an_instances_weight(kind, decimals):
    statistic, _ = example(kind, decimals=decimals)
    influence = statistic.influence()
    assert influence.sum(axis=1) == pytest.approx(np.zeros(3), abs=1e-9)
    step = 1e-4
    up, down = np.ones((N, N)) + step * np.eye(N), np.ones((N, N)) - step * np.eye(N)
    if kind == "spearman":  # average ranks of whole copies only: see the next test
        return
    slope = (statistic.resampled(up) - statistic.resampled(down)) / (2 * step)
    assert influence == pytest.approx(N * slope, abs=1e-4)


@pytest.mark.parametrize("decimals", [0, 6], ids=["ties", "no ties"])
def test_influence_of_spearman_is_about_the_jackknife(decimals):
    statistic, _ = example("spearman", decimals=decimals, n=400)
    left_out = statistic.resampled(np.ones((400, 400)) - np.eye(400))
    jackknife = 399 * (observed(statistic)[:, None] - left_out)
    assert statistic.influence() == pytest.approx(jackknife, abs=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_influence_predicts_the_bootstraps_spread(kind):
    statistic, _ = example(kind, n=300)
    drawn = resample(statistic, n_resamples=1500)
    predicted = np.sqrt(np.square(statistic.influence()).sum(axis=1)) / 300
    assert drawn.resampled.std(axis=1) == pytest.approx(predicted, rel=0.12)


def test_undefined_metrics_are_nan_and_leave_the_others():
    gold = np.arange(4.0)
    ones = np.ones((4, 1))
    values = [[1, 1, 1, 1], [0, 1, 2, 3], [0, np.nan, 1, 2]]
    for statistic in (Spearman(gold, values), Pearson(gold, values)):
        assert statistic.resampled(ones)[:, 0] == pytest.approx([np.nan, 1, np.nan], nan_ok=True)
        assert np.isnan(statistic.influence()).all(axis=1).tolist() == [True, False, True]
    none_positive = AveragePrecision([0, 0, 0, 0], values)
    assert np.isnan(none_positive.resampled(ones)).all()
    assert np.isnan(none_positive.influence()).all()
    all_positive = AveragePrecision([1, 1, 1, 1], values[:2])
    assert all_positive.resampled(ones)[:, 0] == pytest.approx([1, 1])
    with pytest.raises(ValueError, match="other values"):
        AveragePrecision([0, 1, 2, 1], values)
    with pytest.raises(ValueError, match="shape"):
        Spearman(gold, [[1, 2, 3]])


def test_constant_similarity_has_an_average_precision_of_the_positive_share():
    statistic = AveragePrecision([1, 0, 0, 0], np.ones((2, 4)))
    assert observed(statistic) == pytest.approx([0.25, 0.25])


# Resampling


def test_equal_seeds_draw_equal_instances_and_runs_for_all_models():
    one, _ = example("mean", seed=1)
    first, again = resample(one, n_resamples=100, seed=7), resample(one, n_resamples=100, seed=7)
    assert np.array_equal(first.resampled, again.resampled)
    # A model that is another plus a constant, instance by instance, is so in every resample too.
    other = resample(Mean(one.values + 0.5), n_resamples=100, seed=7)
    assert other.resampled == pytest.approx(first.resampled + 0.5)
    assert np.array_equal(other.run_weights, first.run_weights)
    assert not np.array_equal(resample(one, n_resamples=100, seed=8).resampled, first.resampled)


def test_more_resamples_begin_with_the_same_ones():
    statistic, _ = example("spearman")
    few_drawn, many = (resample(statistic, n_resamples=n).resampled for n in (45, 70))
    assert np.array_equal(few_drawn, many[:, :45])


def test_original_and_runs_see_the_same_instances():
    row = np.random.default_rng(0).normal(size=50)
    drawn = resample(Mean([row, row - 0.25, row - 0.25]), n_resamples=64)
    assert drawn.deltas() == pytest.approx(np.full(64, 0.25))
    assert drawn.delta == pytest.approx(0.25)


def test_runs_are_resampled_with_their_excess_over_the_instances_noise():
    # No noise of instances at all: what remains is the variance of the mean of four whole runs.
    runs = np.array([0.0, 0.1, 0.3, 0.6])
    values = np.vstack([np.ones(30), np.tile(runs[:, None], (1, 30))])
    drawn = resample(Mean(values), n_resamples=20_000)
    assert drawn.run_variance == pytest.approx((0, runs.var(ddof=1)))
    half = stats.t(3).ppf(0.975) * runs.std(ddof=1) / 2
    found = delta_interval(drawn)
    assert (found.low, found.high) == pytest.approx((0.75 - half, 0.75 + half), rel=0.15)
    assert standard_error(drawn) ** 2 == pytest.approx(runs.var(ddof=1) / 4)
    # Noise of single paraphrases alone: the instances already count it, and runs add next to none.
    noise = np.random.default_rng(2).normal(size=(5, 4000))
    noise -= noise.mean(axis=1, keepdims=True)
    assert resample(Mean(noise), n_resamples=1).run_variance[1] == 0


def test_a_resample_of_one_run_is_that_of_instances():
    values = np.random.default_rng(3).normal(size=(2, 30))
    drawn = resample(Mean(values), n_resamples=50)
    assert drawn.deltas() == pytest.approx(drawn.resampled[0] - drawn.resampled[1])


def test_too_little_to_resample_is_refused():
    with pytest.raises(ValueError, match="needs an original, a run"):
        resample(Mean(np.ones((1, 5))))
    with pytest.raises(ValueError, match="needs an original, a run"):
        resample(Mean(np.ones((3, 0))))


# Intervals


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_intervals_agree_with_scipy(method):
    difference = np.random.default_rng(4).exponential(size=60) ** 2
    statistic = Mean([difference, np.zeros(60)])
    ours = bootstrap_delta(statistic, n_resamples=20_000, method=method)
    expected = stats.bootstrap(
        (difference,),
        np.mean,
        n_resamples=20_000,
        method={"percentile": "percentile", "bca": "BCa"}[method],
        rng=np.random.default_rng(5),
    )
    assert ours.estimate == pytest.approx(difference.mean())
    assert ours.se == pytest.approx(expected.standard_error, rel=0.03)
    assert (ours.low, ours.high) == pytest.approx(tuple(expected.confidence_interval), rel=0.03)


def test_percentile_by_hand():
    found = interval(0.5, np.arange(101) / 100, level=0.9)
    assert (found.low, found.high) == pytest.approx((0.05, 0.95))


def test_bca_moves_with_bias():
    values = np.arange(1001) / 1000
    plain = interval(0.5, values, method="bca")
    assert (plain.low, plain.high) == pytest.approx((0.025, 0.975), abs=0.001)
    # Three quarters of the resamples lie below: the interval moves up by twice that bias.
    bias = stats.norm.ppf(0.75)
    moved = interval(0.75, values, method="bca")
    assert moved.low == pytest.approx(stats.norm.cdf(2 * bias - 1.96), abs=0.002)


def test_acceleration_is_that_of_scipys_jackknife():
    d = np.random.default_rng(6).exponential(size=200)
    centred = d - d.mean()
    drawn = resample(Mean([d, np.zeros(200)]), n_resamples=1)
    assert acceleration(drawn) == pytest.approx(
        (centred**3).sum() / (6 * (centred**2).sum() ** 1.5)
    )


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_degenerate_data(method):
    same = np.tile(np.random.default_rng(7).normal(size=9), (4, 1))
    found = delta_interval(resample(Mean(same), n_resamples=50), method=method)
    assert (found.estimate, found.low, found.high, found.se) == pytest.approx((0, 0, 0, 0))
    single = bootstrap_delta(Mean([[1.0], [0.5]]), n_resamples=50, method=method)
    assert single.estimate == 0.5
    assert np.isnan([single.low, single.high]).all()
    constant = bootstrap_delta(Spearman(np.arange(5), np.ones((2, 5))), n_resamples=50)
    assert np.isnan([constant.estimate, constant.low, constant.high]).all()
    assert constant.n_undefined == 50


def test_undefined_resamples_are_left_out_and_counted():
    # Of three pairs, one resample in nine draws a single pair three times and has no ranking.
    statistic = Spearman([1, 2, 3], [[1, 2, 3], [1, 3, 2]])
    found = bootstrap_delta(statistic, n_resamples=900)
    assert 60 < found.n_undefined < 140
    assert np.isfinite([found.low, found.high]).all()


steps = st.integers(0, 5).map(float)


@given(arrays(float, (4, 12), elements=steps), arrays(float, 12, elements=steps), st.data())
@few
def test_rank_statistics_ignore_order_and_rising_scales(values, gold, data):
    rows = data.draw(st.permutations(range(12)))
    counts = np.random.default_rng(0).integers(0, 3, (12, 4)).astype(float)
    first = Spearman(gold, values).resampled(counts)
    moved = Spearman(3 * gold[rows] + 1, np.exp(values[:, rows])).resampled(counts[rows])
    assert moved == pytest.approx(first, nan_ok=True)
    first = AveragePrecision(gold > 2, values).resampled(counts)
    moved = AveragePrecision(gold[rows] > 2, np.exp(values[:, rows])).resampled(counts[rows])
    assert moved == pytest.approx(first, nan_ok=True)


def test_blocks_bound_memory_and_cover_every_resample(monkeypatch):
    statistic, _ = example("mean")
    widths = []
    plain = statistic.resampled
    monkeypatch.setattr(
        statistic, "resampled", lambda counts: widths.append(counts.shape[1]) or plain(counts)
    )
    drawn = resample(statistic, n_resamples=100)
    assert drawn.resampled.shape == (3, 100)
    assert max(widths) <= bootstrap.BLOCK
