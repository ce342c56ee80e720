import numpy as np
import pytest

from pteb_eval.statistics.bootstrap import delta_interval, resample
from pteb_eval.statistics.correlation import Spearman
from pteb_eval.statistics.runs import (
    VarianceSplit,
    next_runs,
    run_warnings,
    runs_needed,
    split_variance,
    width_curve,
)
from pteb_eval.statistics.statistic import Mean

Z = 1.959964


def noisy(n_runs, n=3000, *, instance=0.3, paraphrase=0.6, whole_run=0.0, seed=0):
    rng = np.random.default_rng(seed)
    level = rng.normal(size=n)
    runs = level + rng.normal(0, paraphrase, (n_runs, n)) + rng.normal(0, whole_run, (n_runs, 1))
    return Mean(np.vstack([level + rng.normal(0, instance, n), runs]))


def test_variance_is_split_into_its_known_parts():
    split = split_variance(resample(noisy(20), n_resamples=1))
    assert split.instances == pytest.approx(0.3**2 / 3000, rel=0.2)
    assert split.runs == pytest.approx(0.6**2 / 3000, rel=0.2)


def test_shifts_of_whole_runs_are_of_the_runs():
    split = split_variance(resample(noisy(200, n=500, whole_run=0.1), n_resamples=1))
    assert split.runs == pytest.approx(0.1**2 + 0.6**2 / 500, rel=0.2)
    assert split.instances == pytest.approx(0.3**2 / 500, rel=0.2)


def test_the_curve_predicts_the_width_with_other_numbers_of_runs():
    rng = np.random.default_rng(1)
    gold = rng.normal(size=400)
    latent = gold + 0.5 * rng.normal(size=400)
    variants = latent + rng.normal(size=(25, 400)) * np.array([0.2] + [1.0] * 24)[:, None]
    split = split_variance(resample(Spearman(gold, variants[:7]), n_resamples=1))
    for n_runs in (5, 24):
        drawn = resample(Spearman(gold, variants[: n_runs + 1]), n_resamples=600)
        found = delta_interval(drawn)
        assert split.width(n_runs) == pytest.approx(found.high - found.low, rel=0.2)


def test_identical_variants_need_one_run_and_warn_of_nothing():
    split = split_variance(resample(Mean(np.tile(np.arange(9.0), (7, 1))), n_resamples=1))
    assert (split.instances, split.runs, split.run_share) == (0, 0, 0)
    assert runs_needed(split, 0.01) == 1
    assert run_warnings(split) == []


def test_one_run_tells_nothing_of_runs():
    assert split_variance(resample(noisy(1), n_resamples=1)).runs == 0


SPLIT = VarianceSplit(instances=0.0004, runs=0.0036, n_runs=6)


def test_widths_by_hand():
    assert SPLIT.width(9) == pytest.approx(2 * Z * np.sqrt(0.0008))
    assert width_curve(SPLIT, [1, 4]) == pytest.approx(2 * Z * np.sqrt([0.0040, 0.0013]))
    assert SPLIT.run_share == pytest.approx(0.6)


def test_runs_needed_by_hand():
    assert runs_needed(SPLIT, 2 * Z * np.sqrt(0.0008)) == 9
    assert runs_needed(SPLIT, 2 * Z * np.sqrt(0.0007999)) == 10
    assert runs_needed(SPLIT, 10.0) == 1
    assert runs_needed(SPLIT, 2 * Z * 0.0199) is None  # the instances alone are that wide
    assert runs_needed(SPLIT, 2 * 1.644854 * np.sqrt(0.0008), level=0.9) == 9


@pytest.mark.parametrize("target", [0.08, 0.1, 0.15])
def test_runs_needed_is_the_first_that_is_narrow_enough(target):
    needed = runs_needed(SPLIT, target)
    assert SPLIT.width(needed) <= target < SPLIT.width(needed - 1)


@pytest.mark.parametrize(
    ("width", "target", "n_runs", "cap", "split", "expected"),
    [
        (0.10, 0.12, 6, 30, SPLIT, 6),  # reached
        (0.12, 0.1109, 6, 30, SPLIT, 9),  # what the split asks for
        (0.12, 0.08, 6, 30, SPLIT, 12),  # that is 219: at most double
        (0.12, 0.08, 12, 20, SPLIT, 20),  # never beyond the cap
        (0.12, 0.08, 20, 20, SPLIT, 20),
        (0.12, 0.05, 6, 30, SPLIT, 6),  # out of reach: the instances
        (0.15, 0.14, 6, 30, SPLIT, 7),  # the split says enough, the interval does not: one more
        (0.12, 0.1, 6, 30, None, 9),  # 6 · 1.2² = 8.64
        (np.nan, 0.1, 6, 30, SPLIT, 12),
        (np.nan, 0.1, 6, 30, None, 12),
    ],
)
def test_next_runs(width, target, n_runs, cap, split, expected):
    assert next_runs(width, target, n_runs, cap, split) == expected


def test_auto_runs_end_at_the_target():
    everything = noisy(64, n=400)
    n_runs, asked = 2, []
    while True:
        drawn = resample(Mean(everything.values[: n_runs + 1]), n_resamples=400)
        found = delta_interval(drawn)
        width = found.high - found.low
        following = next_runs(width, 0.075, n_runs, 64, split_variance(drawn))
        if following == n_runs:
            break
        asked.append(following)
        n_runs = following
    assert width <= 0.075
    assert 8 <= n_runs < 64
    assert asked == sorted(set(asked))


def test_warnings_name_the_pitfall_and_the_source():
    few, dominated = run_warnings(VarianceSplit(0.0001, 0.01, 5))
    assert few.startswith("5 runs: below 6")
    assert dominated.startswith("runs make 95% of the variance")
    assert run_warnings(VarianceSplit(0.01, 0.0001, 6)) == []
