"""Coupling of one-vs-rest: against the general solver, its equation, and the closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import polychotomy as pc
from polychotomy import native

probability = st.one_of(
    st.floats(0, 1), st.sampled_from([0.0, 1e-300, 1e-12, 0.5, 1.0 - 1e-12, 1.0])
)


def one_vs_rest(n_classes):
    return (2 * np.eye(n_classes) - 1).astype(np.int8)


@st.composite
def rows(draw, most=12):
    n_classes = draw(st.integers(2, most))
    return draw(arrays(np.float64, (3, n_classes), elements=probability))


@settings(max_examples=100, deadline=None)
@given(rows())
def test_it_is_the_solution_of_the_general_solver(r):
    p = native.couple_one_vs_rest(r)
    wanted, n_unconverged = native.couple_code(r, one_vs_rest(r.shape[1]), tolerance=1e-14)
    assert n_unconverged == 0
    np.testing.assert_allclose(p, wanted, rtol=0, atol=1e-9)


@settings(max_examples=100, deadline=None)
@given(rows(40), st.sampled_from([1e-15, 1e-8, 1e-6]))
def test_one_multiplier_serves_all_classes(r, pull):
    p = native.couple_one_vs_rest(r, pull)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert (p > 0).all()
    r = np.clip(r, 1e-12, 1 - 1e-12)
    for given_, found in zip(r, p, strict=True):
        # p is found to about 1e-15, so the equation holds to that divided by p (1 - p).
        rest = 1.0 - found
        level = (found - given_) / (found * rest) + pull * np.log(found)
        known = 1e-11 / np.minimum(found, rest).clip(1e-300)
        sure = known < 1e-3
        if sure.sum() > 1:
            spread = level[sure].max() - level[sure].min()
            assert spread <= known[sure].max() + 1e-9


def test_closed_forms():
    rng = np.random.default_rng(0)
    # Two classes: p_1 = (1 + r_1 - r_2) / 2. One-hot r, and r that sum to 1: p = r.
    r = rng.random((50, 2))
    wanted = (1.0 + r[:, 0] - r[:, 1]) / 2.0
    np.testing.assert_allclose(native.couple_one_vs_rest(r, 1e-15)[:, 0], wanted, atol=1e-11)
    np.testing.assert_allclose(native.couple_one_vs_rest(np.eye(7)), np.eye(7), atol=1e-6)
    p = rng.dirichlet(np.full(30, 0.3), size=20)
    np.testing.assert_allclose(native.couple_one_vs_rest(p, 1e-15), p, atol=1e-11)
    np.testing.assert_allclose(native.couple_one_vs_rest(np.zeros((1, 8))), 1 / 8, rtol=1e-12)
    np.testing.assert_allclose(native.couple_one_vs_rest(np.ones((1, 8))), 1 / 8, rtol=1e-12)


def test_the_order_of_r_is_kept_with_a_thousand_classes():
    r = np.random.default_rng(1).random((3, 1000)) ** 3
    p = native.couple_one_vs_rest(r)
    np.testing.assert_array_equal(np.argsort(p, axis=1), np.argsort(r, axis=1))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)


def test_rows_do_not_depend_on_the_rows_beside():
    r = np.random.default_rng(2).random((20, 9))
    p = native.couple_one_vs_rest(r)
    np.testing.assert_array_equal(native.couple_one_vs_rest(r[7:9]), p[7:9])


@pytest.mark.parametrize("pull", [1e-8, 1e-3, 0.5])
def test_the_decoder_uses_it_for_one_vs_rest_in_any_order(pull):
    rng = np.random.default_rng(3)
    order = rng.permutation(5)
    r, book = rng.random((10, 5)), pc.Codebook(one_vs_rest(5)[:, order])
    p = pc.CodeCoupling(pull).decode(r, book)
    wanted, _ = native.couple_code(r, book.matrix, pull=pull)
    np.testing.assert_allclose(p, wanted, rtol=0, atol=1e-8)


def test_wrong_arguments_are_refused():
    for bad, message in (
        (np.full(3, 0.5), "two dimensions"),
        (np.full((2, 1), 0.5), "two classes"),
        (np.full((2, 3), np.nan), r"\[0, 1\]"),
        (np.full((2, 3), 1.5), r"\[0, 1\]"),
    ):
        with pytest.raises(ValueError, match=message):
            native.couple_one_vs_rest(bad)
    with pytest.raises(ValueError, match="pull"):
        native.couple_one_vs_rest(np.full((2, 3), 0.5), 0.0)
