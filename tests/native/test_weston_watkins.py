"""Weston and Watkins' machine against SciPy, against the binary SVM, and in closed form."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from polychotomy.native.weston_watkins import solve_weston_watkins

RNG = np.random.default_rng(0)


def rows(n_rows=40, n_features=3, n_classes=4):
    y = np.arange(n_rows) % n_classes
    z = RNG.normal(size=(n_rows, n_features))
    z[:, 0] += y
    return np.column_stack([z, np.ones(n_rows)]), y


def constraints(z, y, n_classes):
    """Return one vector for every row and other class: its product with all weights is a margin."""
    each = np.zeros((len(z), n_classes, n_classes, z.shape[1]))
    for i, own in enumerate(y):
        each[i, :, own] += z[i]
        for k in range(n_classes):
            each[i, k, k] -= z[i]
    others = y[:, None] != np.arange(n_classes)
    return each[others].reshape(others.sum(), -1)


def objective(weights, z, y, C):
    scores = z @ weights.T
    loss = np.maximum(0.0, 2.0 - scores[np.arange(len(y)), y][:, None] + scores)
    loss[np.arange(len(y)), y] = 0.0
    return 0.5 * np.sum(weights**2) + C @ loss.sum(axis=1)


@pytest.mark.parametrize("C", [0.01, 0.3, 10.0])
def test_against_scipy(C):
    z, y = rows()
    bounds = C * RNG.uniform(0.5, 2.0, len(y))
    found = solve_weston_watkins(z, y, 4, bounds, tolerance=1e-3, max_epochs=20_000)
    A, upper = constraints(z, y, 4), np.repeat(bounds, 3)
    Q = A @ A.T
    peer = minimize(
        lambda a: (0.5 * a @ Q @ a - 2 * a.sum(), Q @ a - 2.0),
        upper / 2,
        jac=True,
        bounds=[(0.0, each) for each in upper],
        options={"maxiter": 50_000, "maxfun": 500_000, "ftol": 1e-15, "gtol": 1e-9},
    )
    assert found.converged
    np.testing.assert_allclose(found.primal, -peer.fun, rtol=3e-6)
    np.testing.assert_allclose(found.weights.ravel(), peer.x @ A, atol=2e-3)
    np.testing.assert_allclose(found.primal, objective(found.weights, z, y, bounds))
    assert found.dual <= -peer.fun * (1 + 1e-9)


def test_weights_and_duals_belong_together():
    z, y = rows(n_classes=5)
    found = solve_weston_watkins(z, y, 5, np.full(len(y), 0.5))
    others = y[:, None] != np.arange(5)
    assert not found.duals[~others].any()
    assert found.duals.min() >= 0.0
    assert found.duals.max() <= 0.5
    np.testing.assert_allclose(
        found.weights.ravel(), found.duals[others] @ constraints(z, y, 5), atol=1e-12
    )
    np.testing.assert_allclose(found.weights.sum(axis=0), 0.0, atol=1e-12)


def test_two_classes_are_the_binary_machine():
    z, y = rows(n_classes=2)
    peer = LinearSVC(loss="hinge", C=0.7, tol=1e-10, max_iter=1_000_000, fit_intercept=False)
    peer.fit(z, y)
    found = solve_weston_watkins(z, y, 2, np.full(len(y), 0.7), 1e-10, 100_000)
    np.testing.assert_allclose(found.weights[1], peer.coef_[0], atol=1e-4)


def test_small_C_in_closed_form():
    # No row reaches the margin, so that every dual variable is at its bound.
    z, y = rows()
    found = solve_weston_watkins(z, y, 4, np.full(len(y), 1e-6))
    own = y[:, None] == np.arange(4)
    np.testing.assert_allclose(found.weights, 1e-6 * np.where(own, 3.0, -1.0).T @ z, atol=1e-15)


def test_the_seed_changes_the_way_and_not_the_end():
    z, y = rows()
    first, second = (
        solve_weston_watkins(z, y, 4, np.ones(len(y)), 1e-8, 50_000, seed) for seed in (1, 2)
    )
    np.testing.assert_allclose(first.weights, second.weights, atol=1e-3)
    again = solve_weston_watkins(z, y, 4, np.ones(len(y)), 1e-8, 50_000, 1)
    assert np.array_equal(first.weights, again.weights)


def test_rows_of_zeros_limits_and_wrong_arguments():
    found = solve_weston_watkins([[0.0], [0.0], [1.0]], [0, 1, 2], 3, [1.0, 2.0, 3.0])
    assert found.converged
    assert found.duals[0].tolist() == [0.0, 1.0, 1.0]
    z, y = rows()
    few = solve_weston_watkins(z, y, 4, np.full(len(y), 1e4), 1e-12, 3)
    assert (few.epochs, few.converged) == (3, False)
    for wrong in (
        ([[np.nan]], [0], 2, [1.0]),
        ([[1.0]], [2], 2, [1.0]),
        ([[1.0]], [-1], 2, [1.0]),
        ([[1.0]], [0, 1], 2, [1.0]),
        ([[1.0]], [0], 2, [0.0]),
        ([1.0], [0], 2, [1.0]),
    ):
        with pytest.raises(ValueError, match=r"must|does not exist"):
            solve_weston_watkins(*wrong)
