import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics.pairwise import cosine_similarity

from pteb_eval.errors import UserError
from pteb_eval.statistics.contributions import spearman_contributions
from pteb_eval.statistics.score import pteb_score


def pair_at_angles(degrees):
    """Pairs of unit vectors in the plane with these angles between them."""
    angles = np.radians(degrees)
    first = np.tile([1.0, 0.0], (len(angles), 1))
    return first, np.stack([np.cos(angles), np.sin(angles)], axis=1)


GOLD = [5.0, 4.0, 2.0, 0.0]
IN_ORDER = pair_at_angles([5, 20, 50, 90])
ONE_SWAP = pair_at_angles([5, 50, 20, 90])  # d² = 1 + 1, so ρ = 1 − 6·2/60 = 0.8
REVERSED = pair_at_angles([90, 50, 20, 5])


def test_the_recipe_by_hand():
    score = pteb_score([IN_ORDER, ONE_SWAP, REVERSED], GOLD, original=IN_ORDER)
    assert score.per_run == pytest.approx((1.0, 0.8, -1.0))
    assert score.mean == pytest.approx(0.8 / 3)
    assert score.std == pytest.approx(np.std([1.0, 0.8, -1.0], ddof=1))
    assert score.original == pytest.approx(1.0)
    assert score.delta == pytest.approx(1 - 0.8 / 3)


def test_percent_scales_every_score():
    score = pteb_score([ONE_SWAP, IN_ORDER], GOLD, original=REVERSED, percent=True)
    assert score.per_run == pytest.approx((80.0, 100.0))
    assert (score.mean, score.original, score.delta) == pytest.approx((90.0, -100.0, -190.0))
    assert score.std == pytest.approx(20 / np.sqrt(2))


def test_per_run_score_agrees_with_another_library():
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 6, 40)
    runs = [(rng.normal(size=(40, 8)), rng.normal(size=(40, 8)).astype("f4")) for _ in range(3)]
    expected = [spearmanr(gold, np.diag(cosine_similarity(a, b))).statistic for a, b in runs]
    assert pteb_score(runs, gold).per_run == pytest.approx(expected)


def test_one_run_has_no_spread_and_no_original_no_delta():
    score = pteb_score([ONE_SWAP], GOLD)
    assert np.isnan(score.std)
    assert score.original is None
    assert score.delta is None


@pytest.mark.filterwarnings("ignore:An input array is constant")
def test_a_model_that_maps_all_to_one_point_has_no_score():
    constant = np.ones((4, 3)), np.ones((4, 3))
    assert np.isnan(pteb_score([constant, IN_ORDER], GOLD).mean)


@pytest.mark.parametrize(
    ("runs", "gold", "message"),
    [
        ([], GOLD, "embeddings: no run"),
        ([IN_ORDER, (IN_ORDER[0][:3], IN_ORDER[1])], GOLD, r"embeddings\[1\]: shapes \(3, 2\)"),
        ([IN_ORDER], GOLD[:3], r"embeddings\[0\]: .* with 3 gold"),
        ([IN_ORDER], [1.0, np.nan, 2.0, 3.0], "gold: "),
        ([IN_ORDER], [GOLD], "gold: shape"),
        ([(IN_ORDER[0] * np.nan, IN_ORDER[1])], GOLD, r"embeddings\[0\]: holds NaN"),
    ],
)
def test_bad_input_is_one_clear_line(runs, gold, message):
    with pytest.raises(UserError, match=message) as raised:
        pteb_score(runs, gold)
    assert "\n" not in str(raised.value)


def test_contributions_without_ties_by_hand():
    # Ranks of gold 1 2 3 4 against 1 3 2 4: d² = 0 1 1 0, and 1 − 6 d²/(n² − 1) with n = 4.
    assert spearman_contributions([1, 2, 3, 4], [0.1, 0.3, 0.2, 0.4]) == pytest.approx(
        [1, 0.6, 0.6, 1]
    )


def test_contributions_average_to_spearman_with_ties_on_both_sides():
    rng = np.random.default_rng(1)
    gold = rng.integers(0, 5, 60).astype(float)
    similarities = np.stack([rng.normal(size=60), rng.integers(0, 9, 60) / 10, gold])
    expected = [spearmanr(gold, row).statistic for row in similarities]
    assert spearman_contributions(gold, similarities).mean(axis=1) == pytest.approx(expected)


def test_ties_in_gold_leave_differences_proportional_to_squared_rank_differences():
    rng = np.random.default_rng(2)
    gold = rng.integers(0, 4, 30)
    similarities = rng.normal(size=(2, 30))
    drop = np.subtract(*spearman_contributions(gold, similarities))
    gold_ranks = np.array([np.mean(np.flatnonzero(np.sort(gold) == g)) for g in gold])
    squared = (similarities.argsort().argsort() - gold_ranks) ** 2
    rise = squared[1] - squared[0]
    factor = (drop @ rise) / (rise @ rise)
    assert factor > 0
    assert drop == pytest.approx(factor * rise)


@pytest.mark.parametrize("gold", [[1.0, 1.0, 1.0], [1.0, 2.0, np.nan]])
def test_contributions_are_undefined_without_a_ranking(gold):
    assert np.isnan(spearman_contributions(gold, [[0.1, 0.2, 0.3]])).all()


def test_a_constant_variant_is_undefined_alone():
    values = spearman_contributions([1, 2, 3], [[0.5, 0.5, 0.5], [1, 2, 3]])
    assert np.isnan(values[0]).all()
    assert values[1] == pytest.approx([1, 1, 1])
