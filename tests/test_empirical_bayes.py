"""The empirical-Bayes solver against scipy, dense algebra and the evidence it maximises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import polychotomy as pc
from polychotomy.core import empirical_bayes
from polychotomy.core.empirical_bayes import (
    FREE_STRENGTH,
    Arrow,
    ClassScores,
    Dense,
    PooledColumns,
    UnsolvableError,
    fit_shrunk,
    minimise,
    penalties,
    typical_size,
)

moderate = settings(max_examples=20, deadline=None)


class Quadratic:
    """``1/2 (theta - centre)' A (theta - centre)``, of which Laplace's approximation is exact."""

    def __init__(self, matrix, centre):
        self.matrix, self.centre, self.n_parameters = matrix, centre, len(centre)

    def value(self, theta):
        return 0.5 * (theta - self.centre) @ self.matrix @ (theta - self.centre)

    def derivatives(self, theta):
        return self.matrix @ (theta - self.centre), Dense(self.matrix)


def log_evidence(model, groups, log_strengths):
    """Laplace's approximation of the log evidence, and the gamma prior of the strengths."""
    strengths = np.exp(log_strengths)
    fit = fit_shrunk(model, groups, strengths)
    penalty = penalties(model, groups, strengths)
    _, hessian = model.derivatives(fit.theta)
    identity = np.eye(model.n_parameters)
    inverse = np.stack([hessian.solve(penalty, row)[0] for row in identity])
    result = -model.value(fit.theta) - 0.5 * penalty @ fit.theta**2
    result += 0.5 * np.linalg.slogdet(inverse)[1]
    for group, strength in zip(groups, strengths, strict=True):
        # The prior has the density of shape 3/2 and rate 0.01 in the strength.
        result += 0.5 * len(group) * np.log(strength) + 0.5 * np.log(strength) - 0.01 * strength
    return result


def best_strengths(model, groups):
    found = minimize(
        lambda log_l: -log_evidence(model, groups, log_l),
        np.zeros(len(groups)),
        method="Nelder-Mead",
        options={"xatol": 1e-6, "fatol": 1e-10},
    )
    return np.exp(found.x)


@pytest.mark.parametrize("seed", range(4))
def test_the_fixed_point_maximises_the_evidence(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(12, 7))
    model = Quadratic(root.T @ root * 10.0**seed, rng.normal(size=7) * [1, 1, 1, 1, 0.1, 0.1, 0.1])
    groups = [np.array([1, 2, 3]), np.array([4, 5, 6])]
    fit = fit_shrunk(model, groups)
    np.testing.assert_allclose(fit.strengths, best_strengths(model, groups), rtol=1e-3)


def drawn_classes(seed, n_rows=400, n_classes=4):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_rows)
    f = 1.5 * np.eye(n_classes)[y] + rng.normal(size=(n_rows, n_classes))
    f[:, 0] += 0.7
    features = np.stack([f, np.ones_like(f)], axis=2)
    design = np.zeros((2 * n_classes, 1 + 2 * n_classes))
    design[::2, 0] = 1.0
    design[::2, 1 : 1 + n_classes] = np.eye(n_classes)
    design[1::2, 1 + n_classes :] = np.eye(n_classes)
    weights = rng.uniform(0.5, 2.0, size=n_rows)
    groups = [np.arange(1, 1 + n_classes), np.arange(1 + n_classes, 1 + 2 * n_classes)]
    return ClassScores(features, y, weights, design), groups


def drawn_columns(seed, n_rows=120, n_columns=5):
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, 2, size=(n_rows, n_columns)).astype(np.int8)
    scores = labels + rng.normal(size=(n_rows, n_columns))
    weights = rng.uniform(0.5, 2.0, size=n_rows)
    groups = [np.arange(1, 1 + n_columns), np.arange(1 + n_columns, 1 + 2 * n_columns)]
    return PooledColumns(scores, labels, weights), groups


MODELS = pytest.mark.parametrize("draw", [drawn_classes, drawn_columns])


@MODELS
def test_scores_are_kept_for_the_same_parameters_only(draw):
    """Newton's method asks for the value at a place, and then for the derivatives there."""
    model, _ = draw(0)
    scored = getattr(model, "_scored", None) or model._margins
    theta = np.linspace(-0.5, 0.5, model.n_parameters)
    value = model.value(theta)
    assert scored(theta) is scored(theta.copy())
    theta *= 0.5
    assert model.value(theta) != value
    assert model.value(theta) == draw(0)[0].value(theta)


@pytest.mark.parametrize("size", [1, 3, 12])
def test_a_dense_system_is_solved_as_by_numpy(size):
    root = np.random.default_rng(size).normal(size=(size, size))
    matrix, penalty, right = root @ root.T, np.linspace(0.1, 1.0, size), np.ones(size)
    before = matrix.copy()
    solution, inverse_diagonal = Dense(matrix).solve(penalty, right)
    whole = matrix + np.diag(penalty)
    np.testing.assert_allclose(solution, np.linalg.solve(whole, right), rtol=1e-8)
    np.testing.assert_allclose(inverse_diagonal, np.linalg.inv(whole).diagonal(), rtol=1e-8)
    np.testing.assert_array_equal(matrix, before)


@MODELS
def test_the_fixed_point_is_near_the_evidence_of_models_that_are_not_quadratic(draw):
    """It leaves out that the Hessian changes with the strengths, which is a small matter here."""
    model, groups = draw(0)
    fit = fit_shrunk(model, groups)
    best = best_strengths(model, groups)
    np.testing.assert_allclose(fit.strengths, best, rtol=0.3)
    of_best = fit_shrunk(model, groups, best).theta
    np.testing.assert_allclose(fit.theta, of_best, atol=0.03)


@MODELS
def test_the_rule_holds_where_it_ends(draw):
    model, groups = draw(1)
    fit = fit_shrunk(model, groups)
    assert fit.converged
    penalty = penalties(model, groups, fit.strengths)
    hessian = numerical_hessian(model, fit.theta) + np.diag(penalty)
    inverse = np.linalg.inv(hessian)
    for group, strength in zip(groups, fit.strengths, strict=True):
        determined = len(group) - strength * np.trace(inverse[np.ix_(group, group)])
        squares = fit.theta[group] @ fit.theta[group]
        assert strength == pytest.approx((determined + 1) / (squares + 0.02), rel=1e-3)


def numerical_hessian(model, theta, step=1e-5):
    columns = [
        (model.derivatives(theta + e)[0] - model.derivatives(theta - e)[0]) / (2 * step)
        for e in step * np.eye(len(theta))
    ]
    return np.stack(columns)


@MODELS
@pytest.mark.parametrize("strengths", [(1.0, 1.0), (100.0, 0.01)])
def test_parameters_at_fixed_strengths_are_those_of_scipy(draw, strengths):
    model, groups = draw(2)
    penalty = penalties(model, groups, np.array(strengths))
    assert penalty[0] == FREE_STRENGTH

    def objective(theta):
        return model.value(theta) + 0.5 * penalty @ theta**2

    def gradient(theta):
        return model.derivatives(theta)[0] + penalty * theta

    theta = fit_shrunk(model, groups, strengths).theta
    start = np.zeros(model.n_parameters)
    found = minimize(objective, start, jac=gradient, method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(theta, found.x, atol=1e-5)
    assert objective(theta) <= found.fun + 1e-10
    # scipy is told the gradient: it is that of the value.
    numerical = [
        (objective(found.x + e) - objective(found.x - e)) / 2e-5
        for e in 1e-5 * np.eye(model.n_parameters)
    ]
    np.testing.assert_allclose(numerical, gradient(found.x), atol=1e-4)


@MODELS
def test_hessians_are_those_of_the_gradients(draw):
    model, _ = draw(3)
    rng = np.random.default_rng(3)
    theta, right = 0.3 * rng.normal(size=(2, model.n_parameters))
    penalty = rng.uniform(0.1, 3.0, size=model.n_parameters)
    matrix = numerical_hessian(model, theta) + np.diag(penalty)
    solution, diagonal = model.derivatives(theta)[1].solve(penalty, right)
    np.testing.assert_allclose(solution, np.linalg.solve(matrix, right), rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(diagonal, np.diagonal(np.linalg.inv(matrix)), rtol=1e-5)


def test_the_arrow_is_solved_where_columns_have_no_rows():
    arrow = Arrow(np.array([0.0, 3.0]), np.array([0.0, 1.0]), np.array([0.0, 2.0]))
    dense = np.array(
        [[3.0, 0, 3, 0, 1], [0, 0, 0, 0, 0], [3, 0, 3, 0, 1], [0, 0, 0, 0, 0], [1, 0, 1, 0, 2]]
    )
    penalty, right = np.array([1e-3, 1.0, 2.0, 3.0, 4.0]), np.arange(1.0, 6.0)
    solution, diagonal = arrow.solve(penalty, right)
    inverse = np.linalg.inv(dense + np.diag(penalty))
    np.testing.assert_allclose(solution, inverse @ right, rtol=1e-9)
    np.testing.assert_allclose(diagonal, np.diagonal(inverse), rtol=1e-9)


@moderate
@given(st.integers(0, 10**6), st.floats(1e-3, 1e3), st.integers(2, 4))
def test_newton_ends_at_a_small_gradient_from_anywhere(seed, size, n_classes):
    rng = np.random.default_rng(seed)
    model, groups = drawn_classes(seed, n_rows=15, n_classes=n_classes)
    model.features[:, :, 0] *= size
    penalty = penalties(model, groups, 10.0 ** rng.uniform(-3, 3, size=2))
    theta, diagonal, converged = minimise(model, penalty, rng.normal(size=model.n_parameters))
    assert converged
    gradient = model.derivatives(theta)[0] + penalty * theta
    assert np.abs(gradient).max() < 1e-5 * (1 + size)
    assert (diagonal > 0).all()


def test_rounding_below_zero_is_lifted():
    flat = np.full((3, 3), 1e9) - 1e-6 * np.diag([0.0, 1.0, 0.0])
    solution, diagonal = Dense(flat).solve(np.full(3, 1e-12), np.ones(3))
    assert np.isfinite(solution).all()
    assert (diagonal > 0).all()


def test_typical_sizes():
    assert typical_size(np.array([[3.0, 4.0]])) == pytest.approx(np.sqrt(12.5))
    assert typical_size(np.zeros((2, 2))) == 1.0
    assert typical_size(np.array([1e300, 1e300])) == pytest.approx(1e300)
    weighted = typical_size(np.array([1.0, 5.0]), np.array([3.0, 1.0]))
    assert weighted == pytest.approx(typical_size(np.array([1.0, 1.0, 1.0, 5.0])))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_hessian_that_is_not_finite_ends_the_search(bad):
    with pytest.raises(UnsolvableError):
        Dense(np.full((2, 2), bad)).solve(np.ones(2), np.ones(2))


@pytest.mark.parametrize("size", [1e-300, 1e-100, 1e100, 1e300])
def test_extreme_weights_leave_a_finite_fit(size):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1.0, 1.0, 1.0], 60)
    weights = np.where(np.arange(60) % 3, size, 1.0)
    with np.errstate(all="ignore"):
        found = pc.Tempering().fit(p, np.arange(60) % 3, weights)
    assert np.isfinite(found.slope_)
    assert np.isfinite(found.biases_).all()
    assert np.isfinite(found.transform(p)).all()


def test_rounds_end_when_newton_fails_again_and_again():
    class Broken(Quadratic):
        """No step ever lowers the value, and the strengths never settle."""

        rounds = 0

        def value(self, theta):
            return float("inf") if theta.any() else 0.0

        def derivatives(self, theta):
            Broken.rounds += 1
            return np.ones(2), Dense(np.eye(2) * 3.0 ** (Broken.rounds % 3))

    fit = fit_shrunk(Broken(np.eye(2), np.zeros(2)), [np.arange(2)])
    assert not fit.converged
    assert Broken.rounds == 2


def test_a_slow_fixed_point_is_reached_by_leaps(monkeypatch):
    groups = [np.arange(40)]
    rounds, strengths = [], []
    for leap in (empirical_bayes.LONGEST_LEAP, 0.0):
        model = Quadratic(np.eye(40), np.linspace(-2, 2, 40))
        solved = []
        solve = Dense.solve

        def counted(self, *args, solved=solved, solve=solve):
            solved.append(1)
            return solve(self, *args)

        with monkeypatch.context() as patched:
            patched.setattr(empirical_bayes, "LONGEST_LEAP", leap)
            patched.setattr(Dense, "solve", counted)
            strengths.append(fit_shrunk(model, groups).strengths)
        rounds.append(len(solved))
    assert 3 * rounds[0] < rounds[1], rounds
    np.testing.assert_allclose(strengths[0], strengths[1], rtol=1e-3)
