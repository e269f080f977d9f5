"""LS-SVM predictive variance (12), its sign, and moderated outputs (10)-(11)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from polychotomy import LSSVM
from polychotomy.machines.lssvm.evidence import optimise_hyperparameters
from polychotomy.machines.lssvm.predictive import moderated_probability, predictive_variance
from polychotomy.machines.lssvm.solve import factorise
from polychotomy.machines.lssvm.tridiagonal import tridiagonalise, with_targets

from . import lssvm_twins as twins

WEIGHTED = pytest.mark.parametrize("weighted", [False, True])
MU, ZETA = np.array([0.5, 1.0, 3.0, 1.0]), np.array([4.0, 1.0, 0.3, 100.0])


def some(seed, weighted, n=15, n_new=8):
    X, new = twins.rows(seed, n), 2 * twins.rows(seed + 1, n_new)
    return X, new, twins.row_weights(seed, n) if weighted else None


def tridiagonal(K, weights, cross, own, mu, zeta):
    return predictive_variance(tridiagonalise(K, weights), cross, own, mu, zeta)


def eigenvectors(K, weights, cross, own, mu, zeta):
    return predictive_variance(tridiagonalise(K, weights).eigenbasis, cross, own, mu, zeta)


def cholesky(K, weights, cross, own, mu, zeta):
    """Return the variance by a factorisation for every column."""
    columns = [
        predictive_variance(factorise(K, z / m, weights), cross, own, m[None], z[None])
        for m, z in zip(mu, zeta, strict=True)
    ]
    return np.hstack(columns)


WAYS = pytest.mark.parametrize("way", [tridiagonal, eigenvectors, cholesky])


@WAYS
@WEIGHTED
def test_equals_the_hessian_in_explicit_features(way, weighted):
    for n in (2, 3, 15):
        X, new, weights = some(1, weighted, n)
        got = way(X @ X.T, weights, new @ X.T, (new**2).sum(axis=1), MU, ZETA)
        assert got.shape == (8, 4)
        for column, (mu, zeta) in enumerate(zip(MU, ZETA, strict=True)):
            expected = twins.feature_variance(X, new, mu, zeta, weights)
            assert_allclose(got[:, column], expected, rtol=1e-10)


@WAYS
@WEIGHTED
def test_equals_a_gaussian_process_with_a_flat_bias(way, weighted):
    X, new, weights = some(2, weighted)
    K, cross = twins.gaussian(X), twins.gaussian(new, X)
    got = way(K, weights, cross, np.ones(8), MU, ZETA)
    for column, (mu, zeta) in enumerate(zip(MU, ZETA, strict=True)):
        expected = twins.process_variance(K, cross, np.ones(8), mu, zeta, weights)
        assert_allclose(got[:, column], expected, rtol=1e-9)


@WAYS
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_equals_equation_12_with_its_sign_corrected(way, kernel):
    X, new, _ = some(3, False)
    y = twins.labels(3, 15, 1)[:, 0]
    if kernel == "linear":
        K, cross, own = X @ X.T, new @ X.T, (new**2).sum(axis=1)
    else:
        K, cross, own = twins.gaussian(X), twins.gaussian(new, X), np.ones(8)
    got = way(K, None, cross, own, MU, ZETA)
    for column, (mu, zeta) in enumerate(zip(MU, ZETA, strict=True)):
        expected = twins.paper_variance(K, y, cross, own, mu, zeta, sign=-1)
        assert_allclose(got[:, column], expected, rtol=1e-8)


def test_many_new_rows_are_predicted_with_eigenvectors():
    X = twins.rows(8, 30)
    basis = tridiagonalise(twins.gaussian(X))
    assert basis.for_rows(60) is basis
    assert basis.for_rows(61) is basis.eigenbasis
    y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    model = LSSVM().fit(X, y)
    one_by_one = np.vstack([model.predict_proba(row[None]) for row in X])
    assert_allclose(model.predict_proba(np.tile(X, (3, 1)))[:30], one_by_one, rtol=1e-9)


def test_equation_12_as_printed_has_negative_variances():
    X = twins.rows(4, 15) + 3.0
    new = -X
    K, cross, own = X @ X.T, new @ X.T, (new**2).sum(axis=1)
    y = twins.labels(4, 15, 1)[:, 0]
    assert twins.paper_variance(K, y, cross, own, 1.0, 1.0, sign=1).min() < -1.0
    assert twins.paper_variance(K, y, cross, own, 1.0, 1.0, sign=-1).min() > 0.0
    one = np.ones(1)
    assert predictive_variance(tridiagonalise(K), cross, own, one, one).min() > 0.0


def test_a_column_does_not_depend_on_the_others():
    X, new, weights = some(5, True)
    basis, cross = tridiagonalise(twins.gaussian(X), weights), twins.gaussian(new, X)
    together = predictive_variance(basis, cross, np.ones(8), MU, ZETA)
    for column in range(4):
        alone = predictive_variance(basis, cross, np.ones(8), MU[[column]], ZETA[[column]])
        assert_array_equal(alone[:, 0], together[:, column])


@WAYS
@pytest.mark.parametrize("scale", [1e-300, 2.0**-40, 1e300])
def test_scaling_the_gram_and_mu_changes_nothing(way, scale):
    X, new, weights = some(6, True)
    K, cross = twins.gaussian(X), twins.gaussian(new, X)
    expected = way(K, weights, cross, np.ones(8), MU, ZETA)
    got = way(K * scale, weights, cross * scale, np.full(8, scale), MU * scale, ZETA)
    assert_allclose(got, expected, rtol=1e-11)


@WAYS
@given(st.integers(0, 10**6), st.integers(2, 12), st.floats(-8, 8), st.booleans())
@settings(max_examples=60, deadline=None)
def test_variance_lies_between_that_of_the_bias_and_that_of_no_data(
    way, seed, n, exponent, weighted
):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))[rng.integers(0, n, n)]
    weights = twins.row_weights(seed, n) if weighted else None
    v = twins.ones_or(weights, n)
    new = np.vstack([X, twins.rows(seed, 5, 2)])
    mu, zeta = np.array([1.0]), np.array([10.0**exponent])
    K, cross, own = twins.gaussian(X), twins.gaussian(new, X), np.ones(len(new))
    got = way(K, weights, cross, own, mu, zeta)[:, 0]
    least = 1 / (zeta * v.sum())
    centred = own - 2 * cross @ v / v.sum() + v @ K @ v / v.sum() ** 2
    assert (got >= least * (1 - 1e-12)).all()
    assert (got <= (least + centred) * (1 + 1e-9) + 1e-12).all()
    # no row of the training set is less certain than its own noise
    assert (got[:n] <= (1 / (zeta * v)) * (1 + 1e-6) + 1e-12).all()


@WAYS
def test_rounding_does_not_make_the_variance_negative(way):
    X = twins.rows(9, 15)
    K, zeta = 1e10 + X @ X.T, np.array([1e12])
    got = way(K, None, K, K.diagonal(), np.ones(1), zeta)
    assert (got >= 1 / (15 * zeta) * (1 - 1e-12)).all()


def test_level_two_and_the_variance_go_together():
    X, new, weights = some(7, True, n=30)
    K, cross, Y = twins.gaussian(X), twins.gaussian(new, X), twins.learnable(X, 7)
    columns = with_targets(tridiagonalise(K, weights), Y)
    chosen = optimise_hyperparameters(columns)
    got = predictive_variance(columns.basis, cross, np.ones(8), chosen.mu, chosen.zeta)
    for column in range(3):
        expected = twins.process_variance(
            K, cross, np.ones(8), chosen.mu[column], chosen.zeta[column], weights
        )
        assert_allclose(got[:, column], expected, rtol=1e-8)


def test_moderated_outputs_are_bayes_rule():
    rng = np.random.default_rng(8)
    z, variance = rng.normal(0, 2, (20, 3)), rng.uniform(0, 2, (20, 3))
    noise, prior = np.array([0.1, 1.0, 3.0]), np.array([0.5, 0.2, 0.9])
    expected = twins.moderated(z, variance, noise, prior)
    assert_allclose(moderated_probability(z, variance, noise, prior), expected, rtol=1e-9)
    assert_allclose(
        moderated_probability(z, variance, noise), twins.moderated(z, variance, noise, 0.5)
    )
    assert_allclose(
        moderated_probability(-z, variance, noise, 1 - prior),
        1 - moderated_probability(z, variance, noise, prior),
        atol=1e-14,
    )


def test_moderated_outputs_go_to_the_side_of_the_score_unless_the_prior_says_otherwise():
    z = np.array([[-0.1, 0.1, 0.0]])
    p = moderated_probability(z, np.ones((1, 3)), np.ones(3))
    assert p[0, 0] < 0.5 < p[0, 1]
    assert p[0, 2] == 0.5
    certain = moderated_probability(z, np.zeros((1, 3)), np.full(3, 1e-320))
    assert_array_equal(certain, [[0.0, 1.0, 0.5]])
    assert_allclose(moderated_probability(z, np.full((1, 3), 1e300), np.ones(3), 0.3), 0.3)
