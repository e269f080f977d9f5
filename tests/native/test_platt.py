"""Platt's sigmoids against a general optimiser."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from polychotomy import native as native
from polychotomy.native.platt import fit_platt, fit_platt_on


def objective(theta, scores, labels, weights):
    """Return the weighted cross-entropy with smoothed targets of one column."""
    positive, negative = weights[labels > 0].sum(), weights[labels < 0].sum()
    target = np.where(labels > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
    z = theta[0] * scores + theta[1]
    return (weights * np.where(labels != 0, np.logaddexp(0, -z) + target * z, 0)).sum()


def twin(scores, labels, weights=None):
    """Fit one column by Nelder-Mead, then quasi-Newton."""
    weights = np.ones(len(scores)) if weights is None else weights
    arguments = (scores, labels, weights)
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000, "maxfev": 4000}
    return minimize(objective, [0.0, 0.0], arguments, method="Nelder-Mead", options=options).x


def problem(seed, n_rows=60, n_columns=3):
    rng = np.random.default_rng(seed)
    labels = rng.choice(np.array([-1, 0, 1], np.int8), size=(n_rows, n_columns))
    scores = labels * rng.uniform(0, 2) + rng.standard_normal((n_rows, n_columns))
    return scores, labels


@pytest.mark.parametrize("seed", range(5))
def test_equals_a_general_optimiser(seed):
    scores, labels = problem(seed)
    slopes, intercepts, converged = native.fit_platt(scores, labels)
    expected = np.array([twin(scores[:, k], labels[:, k]) for k in range(3)])
    assert converged.all()
    np.testing.assert_allclose(slopes, expected[:, 0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(intercepts, expected[:, 1], rtol=1e-5, atol=1e-6)


@given(st.integers(0, 10**6), st.floats(-300, 300), st.floats(-3, 3))
@settings(max_examples=60, deadline=None)
def test_gradient_vanishes_at_any_scale_and_offset(seed, exponent, offset):
    scores, labels = problem(seed, n_rows=30)
    scores = (scores + offset) * 10.0**exponent
    slopes, intercepts, converged = native.fit_platt(scores, labels)
    assert converged.all()
    positive, negative = (labels > 0).sum(axis=0), (labels < 0).sum(axis=0)
    target = np.where(labels > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
    residual = (target - 1 / (1 + np.exp(scores * slopes + intercepts))) * (labels != 0)
    np.testing.assert_allclose(residual.sum(axis=0), 0, atol=1e-7)
    np.testing.assert_allclose((residual * scores * 10.0**-exponent).sum(axis=0), 0, atol=1e-7)


def test_larger_scores_of_the_positive_class_give_a_negative_slope():
    scores, labels = problem(1)
    slopes, _, _ = native.fit_platt(scores + 2 * labels, labels)
    assert (slopes < 0).all()


def test_weights_equal_repetition():
    scores, labels = problem(2)
    times = np.random.default_rng(2).integers(0, 4, size=len(scores))
    weighted = native.fit_platt(scores, labels, times)
    repeated = native.fit_platt(np.repeat(scores, times, axis=0), np.repeat(labels, times, axis=0))
    np.testing.assert_allclose(weighted[0], repeated[0], rtol=1e-9)
    np.testing.assert_allclose(weighted[1], repeated[1], rtol=1e-9, atol=1e-12)


def test_columns_do_not_depend_on_each_other():
    scores, labels = problem(3)
    together = native.fit_platt(scores, labels)
    for k in range(3):
        alone = native.fit_platt(scores[:, [k]], labels[:, [k]])
        for one, many in zip(alone, together, strict=True):
            assert one[0] == many[k]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_subsets_and_sets_of_scores_do_not_depend_on_each_other(n_threads):
    scores, labels = problem(5)
    rng = np.random.default_rng(5)
    sets = np.stack([scores, scores + rng.standard_normal(scores.shape), 1e-200 * scores])
    weights = rng.uniform(0.5, 2, len(scores))
    subsets = [np.arange(60), rng.permutation(60)[:40], np.arange(1, 60, 2), np.zeros(0, int)]
    together = fit_platt_on(subsets, sets, labels, weights, n_threads=n_threads)
    for i, rows in enumerate(subsets):
        for j, own in enumerate(sets):
            alone = native.fit_platt(own[rows], labels[rows], weights[rows])
            for one, many in zip(alone, together, strict=True):
                np.testing.assert_array_equal(one, many[i, j])


def test_subsets_that_cannot_be_are_refused():
    scores, labels = problem(6)
    for rows in ([60], [-1]):
        with pytest.raises(ValueError, match="row that does not exist"):
            fit_platt_on([rows], scores[None], labels)
    with pytest.raises(ValueError, match="rows and columns of labels"):
        fit_platt_on([[0]], scores, labels)
    with pytest.raises(ValueError, match="n_threads"):
        fit_platt_on([[0]], scores[None], labels, n_threads=0)


def test_rows_that_are_not_used_do_not_matter():
    scores, labels = problem(4)
    changed = np.where(labels == 0, 1e200, scores)
    for one, other in zip(
        native.fit_platt(scores, labels), native.fit_platt(changed, labels), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_separable_scores():
    labels = np.repeat(np.array([-1, 1], np.int8), 20)[:, None]
    scores = labels * np.linspace(1, 2, 40)[:, None]
    slopes, intercepts, converged = native.fit_platt(scores, labels)
    assert converged.all()
    expected = twin(scores[:, 0], labels[:, 0])
    np.testing.assert_allclose([slopes[0], intercepts[0]], expected, rtol=1e-5, atol=1e-6)
    # only two different scores: the sigmoid goes through both targets
    slopes, intercepts, _ = native.fit_platt(labels.astype(float), labels)
    np.testing.assert_allclose(slopes, -np.log(21), rtol=1e-9)
    np.testing.assert_allclose(intercepts, 0, atol=1e-9)


def test_constant_scores_give_the_mean_target():
    labels = np.array([1, 1, 1, -1], np.int8)[:, None]
    for score in (0.0, 3.0, -1e300, 1e-300):
        slopes, intercepts, converged = native.fit_platt(np.full((4, 1), score), labels)
        assert slopes[0] == 0
        assert converged[0]
        mean = (3 * 4 / 5 + 1 / 3) / 4
        np.testing.assert_allclose(1 / (1 + np.exp(intercepts)), mean)


@pytest.mark.parametrize("sign", [-1, 1])
def test_one_sign_only_gives_its_target(sign):
    scores = np.arange(5.0)[:, None]
    labels = np.full((5, 1), sign, np.int8)
    slopes, intercepts, converged = native.fit_platt(scores, labels)
    assert slopes[0] == 0
    assert converged[0]
    target = 6 / 7 if sign > 0 else 1 / 7
    np.testing.assert_allclose(1 / (1 + np.exp(intercepts)), target)


def test_no_usable_row_gives_zeros():
    scores = np.arange(4.0)[:, None]
    nothing = np.zeros((4, 1), np.int8)
    something = np.array([1, -1, 1, -1], np.int8)[:, None]
    for arguments in (
        (scores, nothing),
        (scores, something, np.zeros(4)),
        (np.empty((0, 1)), np.empty((0, 1), np.int8)),
    ):
        slopes, intercepts, converged = native.fit_platt(*arguments)
        assert (slopes[0], intercepts[0], converged[0]) == (0, 0, True)


@pytest.mark.parametrize("scale", [1e300, 1.7e308, 1e-300, 5e-324])
def test_huge_and_tiny_scores(scale):
    labels = np.array([1, 1, -1, 1, -1, -1], np.int8)[:, None]
    unit = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])[:, None]
    slopes, intercepts, converged = native.fit_platt(unit * scale, labels)
    assert np.isfinite(slopes).all()
    assert np.isfinite(intercepts).all()
    assert converged.all()
    if scale > 1e-307:
        # two of three at either score
        p = 1 / (1 + np.exp(unit * (slopes[0] * scale) + intercepts[0]))
        expected = np.where(unit > 0, (2 * 0.8 + 0.2) / 3, (0.8 + 2 * 0.2) / 3)
        np.testing.assert_allclose(p, expected, rtol=1e-9)


def test_one_huge_score_among_usual_ones():
    scores, labels = problem(6, n_columns=1)
    scores[0], labels[0] = 1e300, 1
    slopes, intercepts, converged = native.fit_platt(scores, labels)
    assert converged.all()
    assert np.isfinite([slopes, intercepts]).all()
    start = objective([0, 0], scores[:, 0], labels[:, 0], np.ones(60))
    assert objective([slopes[0], intercepts[0]], scores[:, 0], labels[:, 0], np.ones(60)) < start


def test_running_out_of_iterations_is_reported():
    scores, labels = problem(7)
    assert not native.fit_platt(scores, labels, max_iterations=1)[2].any()


def test_wrong_arguments_are_refused():
    scores, labels = problem(8)
    with pytest.raises(ValueError, match="same shape"):
        native.fit_platt(scores, labels[:, :2])
    with pytest.raises(ValueError, match="two dimensions"):
        native.fit_platt(scores[:, 0], labels[:, 0])
    with pytest.raises(ValueError, match="one entry a row"):
        native.fit_platt(scores, labels, np.ones(5))
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="nonnegative"):
            native.fit_platt(scores, labels, np.full(len(scores), bad))
    for bad in (2 * labels, 0.5 * labels, 1.5 * labels):
        with pytest.raises(ValueError, match="labels"):
            native.fit_platt(scores, bad)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="finite"):
            native.fit_platt(np.full_like(scores, bad), labels)


def test_many_rows_have_the_sigmoid_of_their_weighted_kinds():
    # Above 65,536 rows a part of them shows where to start, and medians come from a part, too.
    rng = np.random.default_rng(0)
    labels = np.where(rng.random((700, 3)) < [0.5, 0.02, 0.9], 1, -1)
    scores = labels + 1.5 * rng.standard_normal((700, 3))
    scores[:, 2] = np.round(scores[:, 2])
    order = rng.permutation(np.repeat(np.arange(700), 100))
    found = fit_platt(scores[order], labels[order])
    expected = fit_platt(scores, labels, np.full(700, 100.0))
    assert found[2].all()
    for many, few in zip(found[:2], expected[:2], strict=True):
        np.testing.assert_allclose(many, few, rtol=1e-6)
