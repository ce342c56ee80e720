import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity

from pteb_eval.statistics.surface import invariance, shift_by_distance

TEXTS = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])


def test_ranks_by_hand():
    # The first finds its own, the second only after the third's, the third after both others'.
    own = np.array([[1.0, 0.0], [-1.0, 1.0], [0.0, -1.0]])
    found = invariance(TEXTS, np.array([own[0], own[1], [0.0, 0.5]]))
    assert found.cosine == pytest.approx([1, np.sqrt(0.5), np.sqrt(0.5)], abs=1e-6)
    assert found.rank.tolist() == [1, 2, 1.5]  # the third's own is as near as the first's
    assert found.mrr == pytest.approx((1 + 1 / 2 + 1 / 1.5) / 3)
    assert found.hit_at_1 == pytest.approx(1 / 3)


def test_identity_finds_everything():
    vectors = np.random.default_rng(0).normal(size=(50, 8))
    found = invariance(vectors, vectors * 3)
    assert (found.mrr, found.hit_at_1) == (1, 1)
    assert found.cosine == pytest.approx(np.ones(50))


def test_a_model_that_maps_all_to_one_point_gains_nothing():
    found = invariance(np.ones((9, 3)), np.ones((9, 3)))
    assert found.rank.tolist() == [5] * 9
    assert found.hit_at_1 == 0


def test_ranks_agree_with_a_full_matrix_whatever_the_block():
    rng = np.random.default_rng(1)
    texts = rng.normal(size=(83, 5)).astype("f4")
    answers = (texts + rng.normal(size=(83, 5))).astype("f4")
    cosines = cosine_similarity(texts.astype(float), answers.astype(float))
    expected = 1 + (cosines > np.diag(cosines)[:, None]).sum(axis=1)
    for max_bytes in (1, 83 * 8 * 10, 2**26):
        found = invariance(texts, answers, max_bytes=max_bytes)
        assert np.array_equal(found.rank, expected)
    assert found.mrr == pytest.approx((1 / expected).mean())
    assert found.hit_at_1 == (expected == 1).mean()


@given(st.permutations(range(12)), st.floats(0.1, 10))
@settings(max_examples=30, deadline=None)
def test_order_and_length_do_not_matter(order, scale):
    rng = np.random.default_rng(2)
    texts, answers = rng.normal(size=(2, 12, 4))
    found, moved = invariance(texts, answers), invariance(scale * texts[order], answers[order])
    assert np.array_equal(moved.rank, found.rank[order])
    assert moved.mrr == pytest.approx(found.mrr)


def test_edges():
    assert invariance([[1.0, 0.0]], [[0.0, 1.0]]).rank.tolist() == [1]
    assert invariance([[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]]).cosine.tolist() == [0, 1]
    nothing = invariance(np.empty((0, 3)), np.empty((0, 3)))
    assert np.isnan([nothing.mrr, nothing.hit_at_1]).all()
    with pytest.raises(ValueError, match="differ in shape"):
        invariance(TEXTS, TEXTS[:2])
    with pytest.raises(ValueError, match="NaN"):
        invariance(TEXTS, TEXTS * np.nan)


def test_shift_grows_with_edit_distance():
    found = shift_by_distance([0.99, 0.9, 0.8, 0.5], [0.1, 0.3, 0.4, 0.9])
    assert (found.rho, found.n) == (pytest.approx(1), 4)
    assert shift_by_distance([0.5, 0.8, 0.9], [0.1, 0.3, 0.9]).rho == pytest.approx(-1)
    assert np.isnan(shift_by_distance([0.5, 0.5], [0.1, 0.2]).rho)
    assert np.isnan(shift_by_distance([0.5], [0.1]).p)
