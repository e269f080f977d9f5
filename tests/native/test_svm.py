"""The SVM solver against LIBSVM, against a plain twin, and against its own definition."""

import os
import sys
import textwrap
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from commands import Commands
from polychotomy.native import _core
from polychotomy.native.svm import SvmStatus, solve_svm

GRID = 10.0 ** np.arange(-3, 4)
BUNDLED = {"digits": load_digits, "iris": load_iris, "wine": load_wine}


# ---- data and twins -------------------------------------------------------------------------


def sample(name, n_rows):
    """Return standardised inputs and class numbers of a random sample, sorted by class."""
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
    else:
        pandas = pytest.importorskip("pandas")
        folder = os.environ.get("POLYCHOTOMY_DATA")
        if not folder:
            pytest.skip("POLYCHOTOMY_DATA does not name the folder with the papers' data sets")
        frame = pandas.read_csv(Path(folder) / f"{name}.csv.gz", dtype={"class": str})
        y = frame.pop("class").to_numpy()
        X = frame.to_numpy(float)
    rows = np.random.default_rng(0).permutation(len(y))[:n_rows]
    rows = rows[np.argsort(y[rows], kind="stable")]
    return StandardScaler().fit_transform(X[rows]), np.unique(y[rows], return_inverse=True)[1]


def gaussian(X, sigma2):
    squares = (X**2).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0)
    return np.exp(-(distances + distances.T) / (4 * sigma2))


def one_vs_one(y):
    pairs = list(combinations(range(y.max() + 1), 2))
    return np.stack([(y == i).astype(np.int8) - (y == j) for i, j in pairs], axis=1)


def one_vs_rest(y):
    return np.where(y[:, None] == np.arange(y.max() + 1), 1, -1).astype(np.int8)


def everything(gram):
    return [np.arange(len(gram))]


def decision_values(gram, solution):
    """Return an array indexed by subset, C, column and row."""
    return solution.coefficients @ gram + solution.biases[..., None]


def libsvm(gram, labels, C, weights=None, tol=1e-7):
    """Return signed coefficients and bias of one column from scikit-learn."""
    rows = np.flatnonzero(labels if weights is None else labels * weights)
    machine = SVC(C=C, kernel="precomputed", tol=tol, cache_size=500)
    machine.fit(
        np.ascontiguousarray(gram[np.ix_(rows, rows)]),
        labels[rows],
        sample_weight=None if weights is None else weights[rows],
    )
    coefficients = np.zeros(len(gram))
    coefficients[rows[machine.support_]] = machine.dual_coef_[0]
    bounds = np.full(len(gram), C) if weights is None else C * weights
    if (np.abs(coefficients[coefficients != 0]) < 1e-12 * C).any():
        # LIBSVM has taken rounding errors for free support vectors and its bias from them.
        coefficients[np.abs(coefficients) < 1e-12 * C] = 0
        return coefficients, middle_bias(gram, labels, bounds, coefficients)
    return coefficients, machine.intercept_[0]


def extremes(gram, labels, bounds, coefficients):
    """Return the largest residual that may rise and the smallest that may fall."""
    residual = labels - gram @ coefficients
    upper, lower = np.where(labels > 0, bounds, 0), np.where(labels < 0, -bounds, 0)
    return residual[coefficients < upper].max(), residual[coefficients > lower].min()


def middle_bias(gram, labels, bounds, coefficients):
    rows = labels * bounds != 0
    inner = gram[np.ix_(rows, rows)]
    return sum(extremes(inner, labels[rows], bounds[rows], coefficients[rows])) / 2


def dual_objective(gram, labels, coefficients):
    """Return 1/2 a'Qa - sum a, to be minimised."""
    return coefficients @ gram @ coefficients / 2 - coefficients @ labels


def twin(gram, labels, C, weights):
    """Solve the dual of a tiny problem by a general optimiser."""
    y = labels.astype(float)
    result = minimize(
        lambda a: dual_objective(gram, y, a * y),
        np.zeros(len(y)),
        jac=lambda a: y * (gram @ (a * y)) - 1,
        bounds=[(0, C * w) for w in weights],
        constraints={"type": "eq", "fun": lambda a: a @ y, "jac": lambda a: y},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    return result.x * y


def violation(gram, labels, bounds, coefficients):
    """Return the largest violation of the optimality conditions by a pair, and the goal's scale."""
    rows = labels != 0
    inner = gram[np.ix_(rows, rows)]
    rising, falling = extremes(inner, labels[rows], bounds[rows], coefficients[rows])
    spread, reach = np.ptp(inner @ coefficients[rows]), (bounds[rows] * np.diag(inner)).max()
    return max(rising - falling, 0.0), min(1.0, max(spread / 2, 1e-3 * reach))


def random_problem(seed, n_rows=24, n_columns=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 3))
    labels = rng.choice(np.array([-1, 0, 1], np.int8), size=(n_rows, n_columns))
    labels[0], labels[1] = 1, -1
    return X, labels, rng.choice([0.25, 1.0, 2.0, 3.0], size=n_rows)


# ---- LIBSVM ---------------------------------------------------------------------------------


def largest_differences(gram, labels, C_values, weights, tolerance):
    solution = solve_svm(
        gram, labels, everything(gram), C_values, weights=weights, tolerance=tolerance
    )
    assert (solution.status == SvmStatus.CONVERGED).all()
    values = decision_values(gram, solution)[0]
    differences = np.zeros((len(C_values), labels.shape[1]))
    for place, C in enumerate(C_values):
        for column in range(labels.shape[1]):
            expected, bias = libsvm(gram, labels[:, column], C, weights)
            objective = dual_objective(gram, labels[:, column], expected)
            ours = dual_objective(gram, labels[:, column], solution.coefficients[0, place, column])
            assert ours <= objective + 1e-5 * abs(objective)
            differences[place, column] = np.abs(
                gram @ expected + bias - values[place, column]
            ).max()
    return differences.max(axis=1)


@pytest.mark.parametrize("sigma2", GRID)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("code", [one_vs_one, one_vs_rest])
@pytest.mark.parametrize("name", ["iris", "wine", "digits"])
def test_equals_libsvm_over_the_grid(name, code, weighted, sigma2):
    X, y = sample(name, 80)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], len(y)) if weighted else None
    labels = code(y)[:, :4]
    differences = largest_differences(gaussian(X, sigma2), labels, GRID, weights, 1e-6)
    assert (differences[:-1] < 1e-3).all()
    assert differences[-1] < 1e-2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "n_rows"), [("segment", 500), ("satimage", 500), ("glass", 214), ("vehicle", 400)]
)
def test_equals_libsvm_on_the_papers_data(name, n_rows, weighted):
    X, y = sample(name, n_rows)
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y)) if weighted else None
    C_values = [1e-2, 1e1, 1e3]
    for code, sigma2 in ((one_vs_one, 1.0), (one_vs_rest, 100.0)):
        labels = code(y)[:, :3]
        differences = largest_differences(gaussian(X, sigma2), labels, C_values, weights, 1e-6)
        assert (differences[:-1] < 1e-3).all()
        assert differences[-1] < 1e-2


@pytest.mark.parametrize("sigma2", GRID)
@pytest.mark.parametrize("name", ["iris", "wine", "digits"])
def test_large_cost_is_near_the_exact_solution(name, sigma2):
    X, y = sample(name, 120)
    gram, labels = gaussian(X, sigma2), one_vs_rest(y)[:, :3]
    fine = solve_svm(gram, labels, everything(gram), [1000.0], tolerance=1e-7)
    exact = solve_svm(gram, labels, everything(gram), [1000.0], tolerance=1e-10)
    assert (exact.status == SvmStatus.CONVERGED).all()
    np.testing.assert_allclose(
        decision_values(gram, fine), decision_values(gram, exact), rtol=0, atol=1e-5
    )


# ---- the definition -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_equals_a_general_optimiser(seed, C):
    X, labels, weights = random_problem(seed, n_rows=12, n_columns=1)
    gram = gaussian(X, 2.0)
    rows = np.flatnonzero(labels[:, 0])
    solution = solve_svm(gram, labels, [rows], [C], weights=weights, tolerance=1e-9)
    inner = np.ix_(rows, rows)
    expected = twin(gram[inner], labels[rows, 0], C, weights[rows])
    np.testing.assert_allclose(
        solution.coefficients[0, 0, 0, rows], expected, atol=1e-5 * max(1, C)
    )


@given(
    st.integers(0, 10**6),
    st.floats(-3, 3),
    st.floats(-3, 3),
    st.sampled_from([1e-2, 1e-3, 1e-6]),
    st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_solutions_are_feasible_and_optimal(seed, log_C, log_sigma2, tolerance, weighted):
    X, labels, weights = random_problem(seed)
    gram, C = gaussian(X, 10.0**log_sigma2), 10.0**log_C
    bounds = C * weights if weighted else np.full(len(X), C)
    solution = solve_svm(
        gram,
        labels,
        everything(gram),
        [C],
        weights=weights if weighted else None,
        tolerance=tolerance,
    )
    assert (solution.status == SvmStatus.CONVERGED).all()
    for column in range(labels.shape[1]):
        signs, coefficients = labels[:, column], solution.coefficients[0, 0, column]
        alphas = coefficients * signs
        assert (alphas >= 0).all()
        assert (alphas <= bounds).all()
        assert (coefficients[signs == 0] == 0).all()
        assert abs(coefficients.sum()) <= 1e-12 * max(np.abs(coefficients).sum(), C)
        gap, scale = violation(gram, signs, bounds, coefficients)
        noise = 1e-14 * (1 + np.abs(coefficients).sum())
        assert gap <= tolerance * scale + noise
        assert solution.gaps[0, 0, column] == pytest.approx(gap, abs=tolerance * scale / 5 + noise)


def test_hard_machines_settle_their_free_coefficients_at_once():
    X, y = sample("segment", 500)
    gram, labels, C = gaussian(X, 100.0), one_vs_rest(y), 1e4
    solution = solve_svm(gram, labels, everything(gram), [C])
    steps = 0
    for column, signs in enumerate(labels.T):
        coefficients = solution.coefficients[0, 0, column]
        assert (coefficients * signs >= 0).all()
        assert (coefficients * signs <= C).all()
        assert abs(coefficients.sum()) <= 1e-12 * np.abs(coefficients).sum()
        gap, scale = violation(gram, signs, np.full(len(signs), C), coefficients)
        assert gap <= 1e-3 * scale + 1e-14 * np.abs(coefficients).sum()
        steps += SVC(C=C, kernel="precomputed").fit(gram, signs).n_iter_[0]
    # LIBSVM moves pairs only.
    assert solution.iterations.sum() < steps / 3


def test_bias_is_the_mean_over_free_support_vectors():
    X, y = sample("iris", 100)
    gram, labels = gaussian(X, 5.0), one_vs_rest(y)
    solution = solve_svm(gram, labels, everything(gram), [1.0], tolerance=1e-8)
    for column in range(3):
        coefficients = solution.coefficients[0, 0, column]
        free = (coefficients != 0) & (np.abs(coefficients) < 1)
        assert free.any()
        expected = (labels[:, column] - gram @ coefficients)[free].mean()
        assert solution.biases[0, 0, column] == pytest.approx(expected, abs=1e-10)


def test_bias_is_the_middle_of_its_interval_where_no_vector_is_free():
    rng = np.random.default_rng(0)
    labels = np.repeat([[1], [-1]], 10, axis=0)
    gram = gaussian(rng.standard_normal((20, 2)), 1.0)
    solution = solve_svm(gram, labels, everything(gram), [0.01])
    coefficients = solution.coefficients[0, 0, 0]
    np.testing.assert_array_equal(coefficients, 0.01 * labels[:, 0])
    residual = labels[:, 0] - gram @ coefficients
    # All positive rows may only fall, all negative ones only rise.
    expected = (residual[:10].min() + residual[10:].max()) / 2
    assert solution.biases[0, 0, 0] == pytest.approx(expected, abs=1e-13)


def test_tolerance_means_the_same_at_small_cost():
    X, y = sample("digits", 150)
    gram, labels = gaussian(X, 30.0), one_vs_rest(y)
    rough = solve_svm(gram, labels, everything(gram), [1e-3, 1e-6])
    exact = solve_svm(gram, labels, everything(gram), [1e-3, 1e-6], tolerance=1e-8)
    values, expected = decision_values(gram, rough), decision_values(gram, exact)
    scale = np.ptp(expected, axis=-1, keepdims=True)
    assert (np.abs(values - expected) <= 5e-3 * scale).all()


# ---- subsets, paths, weights ----------------------------------------------------------------


def test_path_equals_each_cost_alone_in_any_order():
    X, y = sample("wine", 120)
    gram, labels = gaussian(X, 10.0), one_vs_rest(y)
    C_values = np.array([10.0, 0.01, 1000.0, 1.0, 0.1, 1.0])
    path = solve_svm(gram, labels, everything(gram), C_values, tolerance=1e-8)
    values = decision_values(gram, path)
    for place, C in enumerate(C_values):
        alone = solve_svm(gram, labels, everything(gram), [C], tolerance=1e-8)
        np.testing.assert_allclose(
            values[:, place], decision_values(gram, alone)[:, 0], rtol=0, atol=1e-6
        )
    shuffled = solve_svm(gram, labels, everything(gram), C_values[::-1], tolerance=1e-8)
    for place in (0, 1, 2, 4):
        np.testing.assert_array_equal(
            path.coefficients[:, place], shuffled.coefficients[:, -1 - place]
        )


def test_subsets_equal_smaller_problems():
    X, y = sample("iris", 150)
    gram, labels = gaussian(X, 1.0), one_vs_one(y)
    subsets = [np.arange(0, 150, 2), np.arange(1, 150, 3), np.arange(150)]
    together = solve_svm(gram, labels, subsets, [0.1, 10.0])
    for number, rows in enumerate(subsets):
        inner = np.ascontiguousarray(gram[np.ix_(rows, rows)])
        alone = solve_svm(inner, labels[rows], everything(inner), [0.1, 10.0])
        np.testing.assert_array_equal(
            together.coefficients[number][..., rows], alone.coefficients[0]
        )
        np.testing.assert_array_equal(together.biases[number], alone.biases[0])
        outside = np.setdiff1d(np.arange(150), rows)
        assert (together.coefficients[number][..., outside] == 0).all()


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
@pytest.mark.parametrize("sigma2", [1.0, 1000.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_columns_on_the_same_rows_share_nothing_that_shows(weighted, sigma2, tolerance):
    X, y = sample("digits", 450)
    gram, labels = gaussian(X, sigma2), one_vs_rest(y)
    weights = np.random.default_rng(0).uniform(0.2, 3, len(y)) if weighted else None
    subsets = [np.arange(300), np.arange(0, 450, 2), np.arange(100, 450)]
    together = solve_svm(gram, labels, subsets, GRID, weights, tolerance)
    for number, subset in enumerate(subsets):
        for column in range(0, labels.shape[1], 3):
            alone = solve_svm(gram, labels[:, [column]], [subset], GRID, weights, tolerance)
            for name in ("coefficients", "biases", "iterations"):
                np.testing.assert_array_equal(
                    getattr(alone, name)[0, :, 0], getattr(together, name)[number, :, column]
                )


def test_weights_equal_repeated_rows():
    X, labels, _ = random_problem(3)
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    weights[:2] = 1
    repeated = np.repeat(np.arange(len(X)), weights)
    gram = gaussian(X, 1.0)
    weighted = solve_svm(gram, labels, everything(gram), GRID, weights=weights, tolerance=1e-9)
    twice = solve_svm(gram, labels, [repeated], GRID, tolerance=1e-9)
    np.testing.assert_allclose(
        decision_values(gram, weighted), decision_values(gram, twice), rtol=0, atol=1e-6
    )


def test_a_column_without_both_signs_is_untrained():
    gram = np.eye(6)
    labels = np.array(
        [[1, 1, 0, 1], [1, -1, 0, 1], [1, 1, 0, 1], [1, 1, 0, 1], [1, 1, 0, -1], [1, 1, 0, 1]]
    )
    weights = np.array([1, 1, 1, 1, 0, 1])
    subsets = [np.arange(6), np.array([0, 2]), np.array([], dtype=int)]
    solution = solve_svm(gram, labels, subsets, [1.0], weights=weights)
    untrained = solution.status == SvmStatus.UNTRAINED
    assert untrained.tolist() == [[[True, False, True, True]], [[True] * 4], [[True] * 4]]
    assert (solution.coefficients[untrained] == 0).all()
    assert (solution.biases[untrained] == 0).all()


def test_nothing_to_do():
    gram = np.eye(3)
    assert solve_svm(gram, np.zeros((3, 0)), everything(gram), [1.0]).biases.shape == (1, 1, 0)
    assert solve_svm(gram, np.zeros((3, 2)), [], [1.0]).coefficients.shape == (0, 1, 2, 3)
    assert solve_svm(gram, np.zeros((3, 2)), everything(gram), []).biases.shape == (1, 0, 2)
    empty = solve_svm(np.zeros((0, 0)), np.zeros((0, 2)), [np.array([], dtype=int)], [1.0])
    assert (empty.status == SvmStatus.UNTRAINED).all()


def test_single_precision_gram():
    X, y = sample("iris", 150)
    gram, labels = gaussian(X, 1.0).astype(np.float32), one_vs_rest(y)
    narrow = solve_svm(gram, labels, everything(gram), GRID, tolerance=1e-7)
    wide = solve_svm(gram.astype(float), labels, everything(gram), GRID, tolerance=1e-7)
    np.testing.assert_array_equal(narrow.coefficients, wide.coefficients)


# ---- hard cases -----------------------------------------------------------------------------


def test_repeated_rows_with_opposite_labels():
    X = np.random.default_rng(0).standard_normal((20, 2))
    gram = gaussian(np.concatenate([X, X]), 1.0)
    labels = np.repeat([[1], [-1]], 20, axis=0)
    solution = solve_svm(gram, labels, everything(gram), GRID)
    assert (solution.status == SvmStatus.CONVERGED).all()
    np.testing.assert_allclose(decision_values(gram, solution), 0, atol=1e-9)


@pytest.mark.parametrize("n_positive", [1, 10, 15])
def test_constant_gram(n_positive):
    labels = np.where(np.arange(20) < n_positive, 1, -1)[:, None]
    gram = np.full((20, 20), 0.7)
    solution = solve_svm(gram, labels, everything(gram), GRID)
    assert (solution.status == SvmStatus.CONVERGED).all()
    expected = 0.0 if n_positive == 10 else np.sign(n_positive - 10)
    np.testing.assert_allclose(decision_values(gram, solution), expected, atol=1e-9)


def test_one_row_a_class():
    gram = np.array([[1.0, 0.2], [0.2, 1.0]])
    solution = solve_svm(gram, np.array([[1], [-1]]), everything(gram), [0.1, 100.0])
    alphas = [0.1, 2 / 1.6]
    np.testing.assert_allclose(
        solution.coefficients[0, :, 0], [[a, -a] for a in alphas], rtol=1e-12
    )
    np.testing.assert_allclose(solution.biases, 0, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_indefinite_gram_ends_with_its_status(seed):
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((40, 40))
    labels = np.where(rng.random((40, 2)) < 0.5, 1, -1)
    solution = solve_svm(half + half.T, labels, [np.arange(40)], GRID, max_iterations=10**6)
    assert (solution.status == SvmStatus.INDEFINITE).any()
    assert set(np.unique(solution.status)) <= {SvmStatus.INDEFINITE, SvmStatus.CONVERGED}
    assert np.isfinite(solution.coefficients).all()
    assert np.isfinite(solution.biases).all()


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-30, 1e30, 1e300, 1e308])
@pytest.mark.parametrize("C", [1e-300, 1e-3, 1.0, 1e3, 1e300])
def test_any_scale_gives_finite_answers(scale, C):
    X, labels, weights = random_problem(0)
    gram = gaussian(X, 1.0) * scale
    solution = solve_svm(gram, labels, everything(gram), [C, C / 2], weights=weights)
    assert (solution.status == SvmStatus.CONVERGED).all()
    assert np.isfinite(solution.coefficients).all()
    assert np.isfinite(solution.biases).all()
    assert (np.abs(solution.coefficients[0, 0]) <= C * weights).all()


@pytest.mark.parametrize("scale", [2.0**-900, 2.0**-20, 2.0**20, 2.0**900])
def test_a_power_of_two_moves_from_the_gram_to_the_coefficients(scale):
    X, labels, _ = random_problem(0)
    gram = gaussian(X, 1.0)
    plain = solve_svm(gram, labels, everything(gram), [0.1, 10.0])
    scaled = solve_svm(gram * scale, labels, everything(gram), np.array([0.1, 10.0]) / scale)
    np.testing.assert_array_equal(scaled.coefficients * scale, plain.coefficients)
    np.testing.assert_array_equal(scaled.biases, plain.biases)


def test_iteration_limit():
    X, y = sample("iris", 150)
    gram = gaussian(X, 1.0)
    for limit in (0, 5):
        solution = solve_svm(gram, one_vs_rest(y), everything(gram), [1e3], max_iterations=limit)
        assert (solution.status == SvmStatus.ITERATION_LIMIT).all()
        assert (solution.iterations == limit).all()
        assert (solution.gaps > 1e-3).all()


# ---- large problems -------------------------------------------------------------------------


def noisy_problem(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 4))
    y = np.sign(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n_rows)).astype(np.int8)
    return X, y[:, None]


@pytest.mark.parametrize("C", [0.01, 100.0])
def test_large_problems_are_optimal(C):
    X, labels = noisy_problem(1100)
    gram = gaussian(X, 1.0)
    solution = solve_svm(gram, labels, everything(gram), [C], tolerance=1e-5)
    assert (solution.status == SvmStatus.CONVERGED).all()
    bounds = np.full(len(X), C)
    gap, scale = violation(gram, labels[:, 0], bounds, solution.coefficients[0, 0, 0])
    assert gap <= 1e-5 * scale * (1 + 1e-6) + 1e-10


def test_shrinking_changes_nothing_but_the_path():
    X, labels = noisy_problem(400)
    gram = gaussian(X, 1.0)
    solution = solve_svm(gram, labels, everything(gram), [1000.0], tolerance=1e-7)
    assert solution.iterations[0, 0, 0] > 2 * len(X)
    gap, _ = violation(gram, labels[:, 0], np.full(400, 1000.0), solution.coefficients[0, 0, 0])
    assert gap <= 1e-7 + 1e-9


def test_nearly_equal_rows_end_at_small_cost():
    # Near the end all rows in work have nearly the same decision value.
    rng = np.random.default_rng(0)
    gram = gaussian(np.concatenate([rng.standard_normal((120, 2)) * 1e-3, np.ones((80, 2))]), 10.0)
    labels = np.where(rng.random((200, 3)) < 0.3, 1, -1)
    for tolerance in (1e-3, 1e-6):
        solution = solve_svm(
            gram, labels, everything(gram), GRID[:4], tolerance=tolerance, max_iterations=10**5
        )
        assert (solution.status == SvmStatus.CONVERGED).all()


def test_rounding_makes_no_free_support_vectors():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    labels = np.where(np.arange(300) < 130, 1, -1)[:, None]
    weights = np.where(labels[:, 0] > 0, 0.1, 0.1 * 130 / 170)
    gram = gaussian(X, 1000.0)
    solution = solve_svm(gram, labels, everything(gram), GRID[:3], weights=weights)
    expected = GRID[:3, None] * weights * labels[:, 0]
    np.testing.assert_allclose(solution.coefficients[0, :, 0], expected, rtol=1e-11)
    for place, C in enumerate(GRID[:3]):
        bias = middle_bias(gram, labels[:, 0], C * weights, expected[place])
        assert solution.biases[0, place, 0] == pytest.approx(bias, abs=1e-9)


# ---- single precision -----------------------------------------------------------------------


def assert_optimal(gram, labels, C_values, weights, tolerance):
    """Check, in double precision, the tolerance that was asked for, and the bias."""
    solution = solve_svm(gram, labels, everything(gram), C_values, weights, tolerance)
    assert (solution.status == SvmStatus.CONVERGED).all()
    for place, C in enumerate(C_values):
        bounds = np.full(len(gram), C) if weights is None else C * weights
        for column, signs in enumerate(labels.T):
            coefficients = solution.coefficients[0, place, column]
            gap, scale = violation(gram, signs, bounds, coefficients)
            assert gap <= tolerance * scale * (1 + 1e-6) + 1e-14 * np.abs(coefficients).sum()
            rows = signs != 0
            inner = gram[np.ix_(rows, rows)]
            up, low = extremes(inner, signs[rows], bounds[rows], coefficients[rows])
            bias = solution.biases[0, place, column]
            assert min(up, low) - tolerance * scale <= bias <= max(up, low) + tolerance * scale


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sigma2", [0.001, 0.1, 10.0, 1000.0])
@pytest.mark.parametrize("name", ["wine", "digits", "segment", "vehicle"])
def test_single_precision_keeps_the_tolerance_along_the_path(name, sigma2, weighted):
    X, y = sample(name, 400)
    labels = np.concatenate([one_vs_rest(y), one_vs_one(y)[:, :5]], axis=1)
    weights = np.random.default_rng(0).uniform(0.2, 3, len(y)) if weighted else None
    assert_optimal(gaussian(X, sigma2), labels, GRID, weights, 1e-3)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-4])
@pytest.mark.parametrize("C", [10.0, 1e3, 1e5])
@pytest.mark.parametrize("sigma2", [1.0, 100.0, 1000.0])
def test_double_precision_takes_over_where_single_is_not_enough(sigma2, C, tolerance):
    X, labels = noisy_problem(200)
    assert_optimal(gaussian(X, sigma2), labels, [C], None, tolerance)


def test_single_precision_sees_that_a_gram_is_indefinite():
    X, labels = noisy_problem(200)
    gram = gaussian(X, 1.0)
    gram[0, 1] = gram[1, 0] = 1.0 + 1e-9  # less than single precision can tell from 1
    labels[:2, 0] = 1, -1
    solution = solve_svm(gram, labels, everything(gram), [1.0])
    assert (solution.status == SvmStatus.INDEFINITE).all()


# ---- kernels that are 0 nearly everywhere ---------------------------------------------------


def clustered_problem(seed=0):
    """Return inputs in many small clusters, and three columns of noisy labels."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.uniform(0, 10, (150, 3)), 4, axis=0) + 0.05 * rng.standard_normal((600, 3))
    labels = np.where(rng.random((600, 3)) < (0.5, 0.2, 0.95), 1, -1).astype(np.int8)
    labels[rng.random(600) < 0.1, 2] = 0
    return X, labels


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-7])
@pytest.mark.parametrize("sigma2", [1e-4, 1e-3, 5e-3])
def test_sparse_kernels_are_solved_to_the_tolerance(sigma2, tolerance, weighted):
    X, labels = clustered_problem()
    gram = gaussian(X, sigma2)
    assert (gram > 1e-17).sum(axis=1).mean() < 600 / 50
    weights = np.random.default_rng(0).uniform(0.2, 3, len(X)) if weighted else None
    assert_optimal(gram, labels, GRID, weights, tolerance)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_sparse_kernels_equal_libsvm(C):
    X, labels = clustered_problem()
    assert largest_differences(gaussian(X, 3e-3), labels, [C], None, 1e-7).max() < 1e-3


# ---- threads, lanes, signals ----------------------------------------------------------------


def test_results_do_not_depend_on_the_number_of_threads():
    X, y = sample("digits", 200)
    gram, labels = gaussian(X, 10.0), np.concatenate([one_vs_one(y), one_vs_rest(y)], axis=1)
    subsets = [np.arange(200), np.arange(0, 200, 2), np.arange(50, 200)]
    first = solve_svm(gram, labels, subsets, GRID)
    for n_threads in (2, 5):
        other = solve_svm(gram, labels, subsets, GRID, n_threads=n_threads)
        for name in ("coefficients", "biases", "status", "iterations", "gaps"):
            np.testing.assert_array_equal(getattr(first, name), getattr(other, name))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_all_lanes_agree(dtype):
    X, labels = noisy_problem(137)
    gram = gaussian(X, 1.0).astype(dtype)
    best = solve_svm(gram, labels, everything(gram), GRID, tolerance=1e-8)
    _core.use_baseline_lanes(True)
    try:
        baseline = solve_svm(gram, labels, everything(gram), GRID, tolerance=1e-8)
    finally:
        _core.use_baseline_lanes(False)
    np.testing.assert_allclose(
        decision_values(gram.astype(float), best),
        decision_values(gram.astype(float), baseline),
        rtol=0,
        atol=1e-6,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to oneself there")
def test_interrupt(tmp_path):
    script = """
        import os, signal, threading, time
        import numpy as np
        from polychotomy.native.svm import solve_svm
        rng = np.random.default_rng(0)
        half = rng.standard_normal((300, 300))
        labels = np.where(rng.random((300, 50)) < 0.5, 1, -1)
        sent = []
        def send():
            time.sleep(0.3)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=send).start()
        try:
            while True:
                solve_svm(half @ half.T, labels, [np.arange(300)] * 100, [1e3], tolerance=1e-9,
                          n_threads=2)
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - sent[0])
    """
    done = Commands(tmp_path).run_code(textwrap.dedent(script))
    assert done.code == 0, done.err
    word, seconds = done.out.split()
    assert word == "interrupted"
    assert float(seconds) < 10  # ten times what is promised, for machines under load


# ---- arguments ------------------------------------------------------------------------------

GOOD = {
    "gram": np.eye(4),
    "labels": np.array([[1], [-1], [1], [-1]]),
    "subsets": [np.arange(4)],
    "C_values": [1.0],
}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"gram": np.eye(4)[:3]}, "square matrix"),
        ({"gram": np.ones(4)}, "square matrix"),
        ({"gram": np.diag([1, 1, np.nan, 1])}, "finite"),
        ({"gram": np.diag([1, 1, np.inf, 1]).astype(np.float32)}, "finite"),
        ({"gram": np.triu(np.ones((4, 4)))}, "symmetric"),
        ({"labels": np.ones(4)}, "two dimensions"),
        ({"labels": np.ones((3, 1))}, "one row for every row of gram"),
        ({"labels": np.full((4, 1), 2)}, "-1, 0 or"),
        ({"labels": np.full((4, 1), 0.5)}, "-1, 0 or"),
        ({"labels": np.full((4, 1), 257)}, "-1, 0 or"),
        ({"labels": np.full((4, 1), np.nan)}, "-1, 0 or"),
        ({"subsets": [[0, 4]]}, "outside 0..3"),
        ({"subsets": [[0, 1], [-1, 2]]}, "subset 1 has a row number"),
        ({"subsets": [[0.0, 1.0]]}, "integers"),
        ({"subsets": [[[0, 1]]]}, "vector of row numbers"),
        ({"subsets": [np.array([True, False, True, True])]}, "integers"),
        ({"C_values": [0.0]}, "C_values must be"),
        ({"C_values": [np.inf]}, "C_values must be"),
        ({"C_values": 1.0}, "C_values must be"),
        ({"weights": [1, 1, 1]}, "one for every row"),
        ({"weights": [1, 1, 1, -1]}, "nonnegative"),
        ({"weights": [1, 1, 1, np.nan]}, "finite"),
        ({"tolerance": 0.0}, "tolerance must be"),
        ({"tolerance": np.nan}, "tolerance must be"),
        ({"max_iterations": -1}, "max_iterations must be"),
        ({"max_iterations": 1.5}, "max_iterations must be an integer"),
        ({"n_threads": 0}, "n_threads must be"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        solve_svm(**{**GOOD, **changes})
