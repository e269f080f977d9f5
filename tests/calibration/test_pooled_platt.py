"""Partially pooled sigmoids: what they minimise, their limits, and what must always hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from polychotomy import Margins, OneVsOne, PooledPlatt

moderate = settings(max_examples=20, deadline=None)


def drawn(seed, slopes, n_rows=300):
    """Draw scores whose log odds are `slopes` times them."""
    rng = np.random.default_rng(seed)
    scores = 2.0 * rng.normal(size=(n_rows, len(slopes)))
    odds = 1.0 / (1.0 + np.exp(-scores * slopes))
    labels = np.where(rng.uniform(size=odds.shape) < odds, 1, -1)
    labels[rng.uniform(size=odds.shape) < 0.3] = 0
    return scores, labels


def test_parameters_minimise_the_penalised_likelihood():
    scores, labels = drawn(0, [1.0, 2.0, 0.5])
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=len(scores))
    fitted = PooledPlatt().fit(Margins(mean=scores), labels, weights)
    entries = [
        (scores[i, c], c, labels[i, c], weights[i])
        for i in range(len(scores))
        for c in range(3)
        if labels[i, c]
    ]

    def total(slopes, biases):
        return sum(w * np.logaddexp(0, -s * (slopes[c] * f + biases[c])) for f, c, s, w in entries)

    # The unit of u: the slope of all columns alone.
    alone = minimize(lambda a: total([a[0]] * 3, [0.0] * 3), [1.0]).x[0]

    def objective(theta):
        slopes = theta[0] + alone * theta[1:4]
        l_u, l_v = fitted.strengths_
        return (
            total(slopes, theta[4:])
            + 0.5 * l_u * theta[1:4] @ theta[1:4]
            + 0.5 * l_v * theta[4:] @ theta[4:]
        )

    ours = np.array([fitted.slope_, *(fitted.slopes_ - fitted.slope_) / alone, *fitted.intercepts_])
    found = minimize(objective, ours + 0.05, method="BFGS")
    # The penalty of the common slope is very small.
    assert objective(ours) <= found.fun + 2e-3
    np.testing.assert_allclose(ours, found.x, atol=5e-3)


def test_alike_columns_are_pooled_and_different_ones_are_not():
    alike = PooledPlatt().fit(*_margins(drawn(1, [1.0] * 6, 60)))
    assert np.ptp(alike.slopes_) < 0.3
    slopes = np.array([0.3, 1.0, 3.0])
    apart = PooledPlatt().fit(*_margins(drawn(2, slopes, 3000)))
    np.testing.assert_allclose(apart.slopes_, slopes, rtol=0.15)


def _margins(rows):
    return Margins(mean=rows[0]), rows[1]


def test_a_separable_column_takes_the_common_slope():
    scores, labels = drawn(3, [1.0, 1.0, 1.0, 1.0], 400)
    few = labels[:, 3] != 0
    few[np.flatnonzero(few)[6:]] = False
    labels[:, 3] = np.where(few, np.sign(scores[:, 3]), 0)
    fitted = PooledPlatt().fit(Margins(mean=scores), labels)
    assert 0.7 < fitted.slopes_[3] < 1.5


def test_a_column_without_rows_has_the_common_slope():
    scores, labels = drawn(4, [1.0, 1.0, 1.0])
    labels[:, 1] = 0
    fitted = PooledPlatt().fit(Margins(mean=scores), labels)
    assert fitted.slopes_[1] == pytest.approx(fitted.slope_)
    assert fitted.intercepts_[1] == 0.0


@st.composite
def any_columns(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n_rows, n_columns = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    labels = rng.integers(-1, 2, size=(n_rows, n_columns))
    size = draw(st.sampled_from([0.0, 1e-200, 1e-3, 1.0, 1e6, 1e200]))
    scores = size * (rng.normal(size=labels.shape) + draw(st.sampled_from([0.0, 3.0])) * labels)
    if draw(st.booleans()):
        scores[0] *= 1e6
    return scores, labels, rng.integers(0, 4, size=n_rows)


@moderate
@given(any_columns())
def test_probabilities_whatever_the_rows(rows):
    scores, labels, weights = rows
    r = PooledPlatt().fit(Margins(mean=scores), labels, weights).transform(Margins(mean=scores))
    assert np.isfinite(r).all()
    assert ((r >= 0) & (r <= 1)).all()


@moderate
@given(any_columns())
def test_weights_are_repetitions_and_columns_can_be_turned(rows):
    scores, labels, weights = rows
    if not weights.any():
        return
    given_ = Margins(mean=scores)
    weighted = PooledPlatt().fit(given_, labels, weights).transform(given_)
    again = Margins(mean=np.repeat(scores, weights, axis=0))
    repeated = PooledPlatt().fit(again, np.repeat(labels, weights, axis=0)).transform(given_)
    np.testing.assert_allclose(repeated, weighted, atol=1e-7)
    signs = np.where(np.arange(scores.shape[1]) % 2 == 0, -1, 1)
    turned = Margins(mean=scores * signs)
    r = PooledPlatt().fit(turned, labels * signs, weights).transform(turned)
    np.testing.assert_allclose(np.where(signs > 0, r, 1 - r), weighted, atol=1e-7)


def test_rows_without_weight_do_not_count():
    scores, labels = drawn(7, [1.0, 2.0], 50)
    weights = np.ones(50)
    weights[0], scores[0] = 0.0, 1e250
    fitted = PooledPlatt().fit(Margins(mean=scores), labels, weights)
    without = PooledPlatt().fit(Margins(mean=scores[1:]), labels[1:])
    np.testing.assert_allclose(fitted.slopes_, without.slopes_)
    nothing = PooledPlatt().fit(Margins(mean=scores), labels, np.zeros(50))
    np.testing.assert_array_equal(nothing.slopes_, 0.0)


def test_scaling_all_scores_changes_nothing():
    scores, labels = drawn(5, [1.0, 2.0, 0.5])
    r = PooledPlatt().fit(Margins(mean=scores), labels).transform(Margins(mean=scores))
    for size in (1e-6, 1e6):
        scaled = Margins(mean=size * scores)
        np.testing.assert_allclose(
            PooledPlatt().fit(scaled, labels).transform(scaled), r, atol=1e-7
        )


def test_the_labels_of_a_code():
    y = np.repeat([0, 1, 2], 20)
    book = OneVsOne().build(3)
    scores = book.labels(y) + np.random.default_rng(6).normal(size=(60, 3))
    fitted = PooledPlatt().fit(Margins(mean=scores), book.labels(y))
    assert (fitted.slopes_ > 0).all()
