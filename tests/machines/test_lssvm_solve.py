"""LS-SVM level 1 against dense twins: Cholesky and tridiagonal ways, leave-one-out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from polychotomy.machines.lssvm import tridiagonal as tri
from polychotomy.machines.lssvm.solve import factorise

from . import lssvm_twins as twins

WEIGHTED = pytest.mark.parametrize("weighted", [False, True])


def some(seed, weighted, n=20):
    X = twins.rows(seed, n)
    weights = twins.row_weights(seed, n) if weighted else None
    return twins.gaussian(X), twins.labels(seed, n), weights


def solve(K, Y, gamma, weights=None):
    return factorise(K, gamma, weights).solve(K, Y, gamma)


def leave_one_out(K, Y, gamma, weights=None):
    return factorise(K, gamma, weights).leave_one_out(Y, gamma)


def tridiagonal_fit(K, Y, gamma, weights=None):
    return tri.fit(tri.with_targets(tri.tridiagonalise(K, weights), Y), gamma)


WAYS = pytest.mark.parametrize("way", [solve, tridiagonal_fit])


@WAYS
@WEIGHTED
@pytest.mark.parametrize("gamma", [1e-3, 1.0, 1e3])
def test_equals_elimination(way, weighted, gamma):
    for n in (2, 3, 4, 20):
        K, Y, weights = some(n, weighted, n)
        fit = way(K, Y, gamma, weights)
        a, b = twins.bordered(K, Y, gamma, weights)
        assert_allclose(fit.coefficients, a, rtol=1e-9, atol=1e-11 * np.abs(a).max())
        assert_allclose(fit.biases, b, rtol=1e-9, atol=1e-11)
        assert_allclose(fit.coefficients.sum(axis=0), 0, atol=1e-12 * np.abs(a).max())


@WAYS
def test_equals_the_papers_system(way):
    K, Y, _ = some(3, False)
    fit = way(K, Y, 7.0)
    for column, y in enumerate(Y.T):
        alpha, b = twins.paper_system(K, y, 7.0)
        assert_allclose(fit.coefficients[:, column], alpha * y, rtol=1e-10, atol=1e-12)
        assert_allclose(fit.biases[column], b, rtol=1e-10, atol=1e-12)


@WEIGHTED
def test_minimises_the_weighted_objective_in_explicit_features(weighted):
    X, Y, gamma = twins.rows(5), twins.labels(5), 3.0
    weights = twins.row_weights(5) if weighted else None
    fit = solve(X @ X.T, Y, gamma, weights)
    s = np.sqrt(gamma * twins.ones_or(weights, 20))
    design = s[:, None] * np.column_stack([X, np.ones(20)])
    ridge = np.column_stack([np.eye(3), np.zeros(3)])
    targets = np.vstack([s[:, None] * Y, np.zeros((3, 3))])
    expected = np.linalg.lstsq(np.vstack([design, ridge]), targets)[0]
    assert_allclose(X.T @ fit.coefficients, expected[:-1], rtol=1e-10)
    assert_allclose(fit.biases, expected[-1], rtol=1e-10)


def test_a_whole_weight_counts_as_copies_of_the_row():
    X, Y = twins.rows(6), twins.labels(6)
    times = np.random.default_rng(6).integers(1, 4, 20)
    K = twins.gaussian(X)
    fit = solve(K, Y, 2.0, times.astype(float))
    copies = np.repeat(np.arange(20), times)
    many = solve(K[np.ix_(copies, copies)], Y[copies], 2.0)
    assert_allclose(fit.scores(K), many.scores(K[:, copies]), rtol=1e-11, atol=1e-12)


def difficult(name, n):
    rng = np.random.default_rng(11)
    X = rng.standard_normal((n, 4))
    few = X[rng.integers(0, 5, n)]
    return {
        "gaussian": twins.gaussian(X),
        "wide": twins.gaussian(X, width=1e6),
        "narrow": twins.gaussian(X, width=1e-3),
        "constant": np.ones((n, n)),
        "linear": X @ X.T,
        "duplicated": twins.gaussian(few),
        "far from 0": 1e6 + X @ X.T,
        "polynomial": (1 + X @ X.T) ** 5,
    }[name]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gamma", [1e-8, 1e-4, 1.0, 1e4, 1e8])
@pytest.mark.parametrize(
    "name",
    ["gaussian", "wide", "narrow", "constant", "linear", "duplicated", "polynomial"],
)
def test_residual_is_at_the_limit_of_double_precision(name, gamma, weighted):
    K = difficult(name, 60)
    weights = twins.row_weights(1, 60) if weighted else np.ones(60)
    Y = twins.labels(1, 60)
    fit = solve(K, Y, gamma, weights)
    ridge = 1 / (gamma * weights)[:, None]
    residual = Y - K @ fit.coefficients - ridge * fit.coefficients - fit.biases
    size = (np.abs(K) @ np.abs(fit.coefficients) + ridge * np.abs(fit.coefficients)).max() + 1
    # |r| <= 1e-8 |y|, unless coefficients rounded to double precision cannot have that
    assert np.abs(residual).max() <= max(1e-8, 4 * np.finfo(float).eps * size)
    assert np.abs(residual).max() <= 1e-14 * size
    assert np.abs(fit.coefficients.sum(axis=0)).max() <= 1e-13 * np.abs(fit.coefficients).sum()


@pytest.mark.parametrize("name", ["linear", "far from 0", "polynomial"])
def test_refinement_makes_up_for_a_ridge_below_the_rounding(name):
    K = difficult(name, 40)
    K = K + np.eye(40) * np.abs(K).max() * 1e-6
    Y = twins.labels(2, 40)
    fit = solve(K, Y, 1e300)
    residual = Y - K @ fit.coefficients - fit.biases
    assert np.abs(residual).max() <= 1e-14 * (np.abs(K) @ np.abs(fit.coefficients)).max()


def test_every_column_may_have_its_own_gamma():
    K, Y, weights = some(9, True)
    gammas = np.array([0.1, 1.0, 50.0])
    fit = tridiagonal_fit(K, Y, gammas, weights)
    for column, gamma in enumerate(gammas):
        expected = solve(K, Y, gamma, weights)
        assert_allclose(
            fit.coefficients[:, column], expected.coefficients[:, column], rtol=1e-9, atol=1e-11
        )
        assert_allclose(fit.biases[column], expected.biases[column], rtol=1e-10, atol=1e-12)


@WEIGHTED
@pytest.mark.parametrize("gamma", [1e-2, 1.0, 1e2])
def test_leave_one_out_equals_refits(weighted, gamma):
    for n in (2, 3, 4, 20):
        K, Y, weights = some(n + 30, weighted, n)
        expected = twins.refits(K, Y, gamma, weights)
        assert_allclose(leave_one_out(K, Y, gamma, weights), expected, rtol=1e-9, atol=1e-10)
        columns = tri.with_targets(tri.tridiagonalise(K, weights), Y)
        assert_allclose(tri.leave_one_out(columns, gamma), expected, rtol=1e-9, atol=1e-10)


def test_leave_one_out_without_a_ridge_is_that_of_least_squares():
    X, Y = twins.rows(42), twins.labels(42)
    design = np.column_stack([X, np.ones(20)])
    hat = design @ np.linalg.pinv(design)
    expected = Y - (Y - hat @ Y) / (1 - hat.diagonal())[:, None]
    # The rounding of the eigenvalues 0 of K is a share of the ridge that replaces 1 / gamma.
    scores = leave_one_out(X @ X.T, Y, 1e20)
    assert_allclose(scores, expected, atol=0.02)
    columns = tri.with_targets(tri.tridiagonalise(X @ X.T), Y)
    assert_allclose(tri.leave_one_out(columns, 1e20), expected, atol=0.02)


def test_leave_one_out_with_a_gamma_for_every_column():
    K, Y, weights = some(41, True)
    gammas = np.array([0.1, 1.0, 50.0])
    scores = tri.leave_one_out(tri.with_targets(tri.tridiagonalise(K, weights), Y), gammas)
    for column, gamma in enumerate(gammas):
        expected = twins.refits(K, Y[:, [column]], gamma, weights)
        assert_allclose(scores[:, [column]], expected, rtol=1e-9, atol=1e-10)


@WAYS
@pytest.mark.parametrize("exponent", [-1000, -300, -1, 7, 300, 1000])
def test_a_power_of_two_in_the_gram_costs_no_digit(way, exponent):
    K, Y, weights = some(12, True)
    fit, same = way(K, Y, 2.0, weights), way(K * 2.0**exponent, Y, 2.0 ** (1 - exponent), weights)
    assert_array_equal(same.coefficients * 2.0**exponent, fit.coefficients)
    assert_array_equal(same.biases, fit.biases)


@WAYS
@pytest.mark.parametrize("exponent", [-900, 900])
def test_a_power_of_two_in_the_weights_costs_no_digit(way, exponent):
    K, Y, weights = some(12, True)
    fit, same = way(K, Y, 2.0, weights), way(K, Y, 2.0 ** (1 - exponent), weights * 2.0**exponent)
    assert_array_equal(same.coefficients, fit.coefficients)
    assert_array_equal(same.biases, fit.biases)


@WAYS
@pytest.mark.parametrize("scale", [1e-300, 1e300])
@pytest.mark.parametrize("gamma", [1e-8, 1.0, 1e8])
def test_extreme_scales_give_finite_scores(way, scale, gamma):
    K, Y, _ = some(13, False)
    fit = way(K * scale, Y, gamma)
    assert np.isfinite(fit.coefficients).all()
    scores = fit.scores(K * scale)
    if scale > 1:
        # there is as good as no ridge
        assert_allclose(scores, Y, atol=1e-6)
    else:
        assert_allclose(scores, np.broadcast_to(Y.mean(axis=0), Y.shape), atol=1e-12)


@WAYS
def test_a_kernel_need_be_positive_definite_only_when_centred(way):
    X, Y = twins.rows(14), twins.labels(14)
    K = -np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    fit = way(K, Y, 5.0)
    a, b = twins.bordered(K, Y, 5.0)
    assert_allclose(fit.coefficients, a, rtol=1e-9, atol=1e-11)
    assert_allclose(fit.biases, b, rtol=1e-9, atol=1e-11)


@WAYS
def test_an_indefinite_gram_is_refused_with_its_eigenvalue(way):
    X, Y = twins.rows(15), twins.labels(15)
    K = X @ np.diag([4.0, 1.0, -2.0]) @ X.T
    values = twins.centred_eigenvalues(K)
    with pytest.raises(ValueError, match=f"{values[0] / values[-1]:.3g} times the largest"):
        way(K, Y, 100.0)
    with pytest.raises(ValueError, match="is negative"):
        way(-np.eye(20), Y, 100.0)


@WAYS
@pytest.mark.parametrize("gamma", [1e-100, 1e-3])
def test_a_large_ridge_does_not_hide_an_indefinite_gram(way, gamma):
    X, Y = twins.rows(15), twins.labels(15)
    K = X @ np.diag([4.0, 1.0, -2.0]) @ X.T
    assert twins.centred_eigenvalues(K)[0] > -1 / gamma
    with pytest.raises(ValueError, match="times the largest"):
        way(K, Y, gamma)


def test_a_kernel_that_is_known_to_be_semidefinite_is_not_tried_a_second_time():
    X, Y = twins.rows(15), twins.labels(15)
    K = X @ np.diag([4.0, 1.0, -2.0]) @ X.T
    a, _ = twins.bordered(K, Y, 1e-3)
    fit = factorise(K, 1e-3, semidefinite=True).solve(K, Y, 1e-3)
    assert_allclose(fit.coefficients, a, rtol=1e-9)
    with pytest.raises(ValueError, match="times the largest"):
        factorise(K, 100.0, semidefinite=True)


@WAYS
def test_rounding_that_is_small_beside_the_largest_eigenvalue_only_is_not_refused(way):
    n, rounding = 40, np.finfo(float).eps ** 0.5
    contrasts = np.linalg.qr(np.column_stack([np.ones(n), twins.rows(19, n, n - 1)]))[0][:, 1:]
    values = np.append(np.geomspace(1.0, 1e-3, n - 2) ** 4, -0.7 * rounding)
    K, Y = (contrasts * values) @ contrasts.T, twins.labels(19, n)
    # no diagonal entry is as large as the eigenvalue that counts
    assert rounding * K.diagonal().max() < -values[-1]
    a, b = twins.bordered(K, Y, 5.0)
    fit = way(K, Y, 5.0)
    assert_allclose(fit.coefficients, a, rtol=1e-9, atol=1e-11)
    assert_allclose(fit.biases, b, rtol=1e-9, atol=1e-11)


@WAYS
def test_eigenvalues_that_are_negative_by_rounding_only_are_not_refused(way):
    X, Y = twins.rows(16), twins.labels(16)
    K = (X @ X.T).astype(np.float32).astype(float)
    smallest = twins.centred_eigenvalues(K)[0]
    assert smallest < -1e-8
    # The ridge is lost, and twice the rounding takes its place.
    a, _ = twins.bordered(K, Y, -0.5 / smallest)
    assert_allclose(way(K, Y, 1e8).coefficients, a, rtol=1e-5, atol=1e-5 * np.abs(a).max())
    expected = way(X @ X.T, Y, 100.0).scores(X @ X.T)
    assert_allclose(way(K, Y, 100.0).scores(K), expected, atol=1e-4)


@WAYS
def test_without_a_ridge_a_singular_gram_gives_least_squares(way):
    X, Y = twins.rows(18), twins.labels(18)
    design = np.column_stack([X, np.ones(20)])
    fit = way(X @ X.T, Y, 1e20)
    expected = design @ np.linalg.lstsq(design, Y)[0]
    assert_allclose(fit.scores(X @ X.T), expected, atol=0.05)


@WAYS
def test_duplicated_rows_with_opposite_labels(way):
    K, Y = np.ones((2, 2)), np.array([[1.0], [-1.0]])
    fit = way(K, Y, 1e8)
    assert_allclose(fit.coefficients, 1e8 * Y, rtol=1e-12)
    assert_allclose(fit.biases, 0, atol=1e-6)


def test_a_constant_gram_leaves_no_rounding_behind():
    K, Y = np.full((10, 10), 2 * 3.7**2), np.tile([[1.0], [-1.0]], (5, 1))
    factor = factorise(K, 1e20)
    assert_array_equal(factor.triangle, np.sqrt(factor.ridge) * np.eye(9))
    assert_allclose(factor.leave_one_out(Y, factor.gamma), -Y / 9, rtol=1e-12)


def test_noise_that_overflows_leaves_the_first_solution():
    K, Y, _ = some(20, False)
    weights = np.where(np.arange(20) < 10, 1e-300, 1e300)
    Y[10], Y[12:] = -1.0, 1.0
    fit = factorise(K, 1e-308, weights).solve(K, Y, 1e-308)
    # the light rows are as good as absent
    a, biases = twins.bordered(K[10:, 10:], Y[10:], 1e-8)
    assert_allclose(fit.coefficients[10:], a, rtol=1e-9)
    assert_allclose(fit.biases, biases, rtol=1e-9)


def test_the_factor_is_that_of_the_centred_matrix():
    K, _, weights = some(21, True)
    factor = factorise(K, 3.0, weights)
    exponent = factor.centring.gram_exponent + factor.centring.weight_exponent
    values = np.linalg.eigvalsh(factor.triangle @ factor.triangle.T) * 2.0**exponent
    assert_allclose(values, twins.centred_eigenvalues(K, weights)[1:] + 1 / 3.0, rtol=1e-11)
    assert_array_equal(factor.triangle, np.tril(factor.triangle))
    assert_allclose(factor.gamma, 3.0, rtol=1e-15)


def test_bad_input_is_refused():
    K, Y, _ = some(17, False)
    for gamma in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="gamma must be positive"):
            solve(K, Y, gamma)
        with pytest.raises(ValueError, match="gamma must be positive"):
            tridiagonal_fit(K, Y, gamma)
    with pytest.raises(ValueError, match="square"):
        solve(K[:5], Y, 1.0)
    with pytest.raises(ValueError, match="at least two rows"):
        solve(K[:1, :1], Y[:1], 1.0)
    for wrong in (np.nan, np.inf, -np.inf):
        spoilt = K.copy()
        spoilt[3, 4] = spoilt[4, 3] = wrong
        with pytest.raises(ValueError, match="not finite"):
            solve(spoilt, Y, 1.0)
    with pytest.raises(ValueError, match="20 rows"):
        solve(K, Y[:5], 1.0)
    for weights in (np.zeros(20), np.ones(19), np.full(20, np.inf), -np.ones(20)):
        with pytest.raises(ValueError, match="Row weights"):
            solve(K, Y, 1.0, weights)


@given(st.integers(0, 10**6), st.integers(2, 12), st.floats(-6, 6), st.booleans())
@settings(max_examples=60, deadline=None)
def test_equations_hold_for_any_rows(seed, n, exponent, weighted):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))[rng.integers(0, n, n)]
    K, Y, gamma = twins.gaussian(X), twins.labels(seed, n), 10.0**exponent
    weights = twins.row_weights(seed, n) if weighted else np.ones(n)
    for way in (solve, tridiagonal_fit):
        fit = way(K, Y, gamma, weights)
        a = fit.coefficients
        fitted = K @ a + a / (gamma * weights)[:, None] + fit.biases
        assert_allclose(fitted, Y, atol=1e-13 * (1 + n * np.abs(a).max() + n))
