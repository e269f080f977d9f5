"""Kernel logistic regression against general optimisers, scikit-learn and itself."""

import os
import signal
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import expit
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression

from commands import Commands
from polychotomy.native import _core
from polychotomy.native.klr import KlrStatus, klr_leave_one_out, solve_klr

GRID = 10.0 ** np.arange(-3, 4)
EXACT = 1e-10


def standardised(X):
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def one_vs_rest(y):
    return np.where(y[:, None] == np.unique(y), 1, -1).astype(np.int8)


def bundled(load, n_rows, seed=0):
    X, y = load(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(y))[:n_rows]
    return standardised(X[rows]), one_vs_rest(y[rows])


def gaussian(X, sigma2):
    return np.exp(-cdist(X, X, "sqeuclidean") / (2 * sigma2))


def random_problem(seed, n_rows=40, sigma2=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 2))
    y = np.where(X[:, 0] + rng.standard_normal(n_rows) > 0, 1, -1).astype(np.int8)
    y[:2] = -1, 1
    return gaussian(X, sigma2), y


def solve_one(gram, y, C, weights=None, **options):
    """Return c, b and the status of one problem on all rows."""
    y = np.asarray(y, dtype=np.int8)
    solution = solve_klr(gram, y[:, None], [np.arange(len(y))], [C], weights, **options)
    return solution.coefficients[0, 0, 0], solution.biases[0, 0, 0], solution.status[0, 0, 0]


def criterion(gram, c, b, y, C, weights=None):
    """Return the documented criterion from its definition."""
    cost = C * (np.ones(len(y)) if weights is None else weights)
    used = (y != 0) & (cost > 0)
    f = (gram @ c + b)[used]
    cost, y, c = cost[used], y[used], c[used]
    r = cost * y * expit(-y * f) - c
    W = cost * expit(f) * expit(-f)
    return max(np.sqrt((r**2 / W).sum() / W.sum()), np.abs(r / cost).max())


def objective(theta, gram, y, C):
    """Return the primal objective and its gradient in (c, b)."""
    c, b = theta[:-1], theta[-1]
    gc = gram @ c
    margin = y * (gc + b)
    dual = C * y * expit(-margin)
    value = 0.5 * c @ gc + C * np.logaddexp(0, -margin).sum()
    return value, np.append(gc - gram @ dual, -dual.sum())


def assert_criterion_holds(gram, labels, solution, C_values, tolerance, weights=None):
    assert (solution.status == KlrStatus.CONVERGED).all()
    assert solution.criterion.max() <= tolerance
    for k, C in enumerate(C_values):
        for column in range(labels.shape[1]):
            c, b = solution.coefficients[0, k, column], solution.biases[0, k, column]
            own = criterion(gram, c, b, labels[:, column], C, weights)
            # Their sums are rounded in another order than ours.
            assert own <= 1.01 * tolerance


# ---- convergence ----------------------------------------------------------------------------

SETS = {"iris": (load_iris, 150), "wine": (load_wine, 178), "digits": (load_digits, 200)}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", SETS)
def test_all_cells_converge(name, weighted):
    X, labels = bundled(*SETS[name])
    labels = labels[:, :3].copy()
    weights = np.random.default_rng(1).exponential(size=len(X)) if weighted else None
    for sigma2 in GRID:
        gram = gaussian(X, sigma2)
        solution = solve_klr(gram, labels, [np.arange(len(X))], GRID, weights)
        assert_criterion_holds(gram, labels, solution, GRID, 1e-6, weights)


def from_folder(name, n_rows):
    folder = os.environ.get("POLYCHOTOMY_DATA")
    if not folder:
        pytest.skip("POLYCHOTOMY_DATA does not name a folder with the papers' data sets")
    import pandas as pd

    frame = pd.read_csv(Path(folder) / f"{name}.csv.gz", dtype={"class": str})
    frame = frame.sample(n_rows, random_state=0)
    X = standardised(frame.iloc[:, :-1].to_numpy(dtype=float))
    return X, one_vs_rest(frame["class"].to_numpy())


@pytest.mark.parametrize("sigma2", GRID)
@pytest.mark.parametrize("name", ["segment", "waveform"])
def test_all_cells_of_the_papers_sets_converge(name, sigma2):
    X, labels = from_folder(name, 400)
    gram = gaussian(X, sigma2)
    solution = solve_klr(gram, labels, [np.arange(400)], GRID)
    assert_criterion_holds(gram, labels, solution, GRID, 1e-6)


def test_decision_values_are_as_good_as_the_tolerance_says():
    # The corner where a fixed tolerance of the gradient leaves an error of 1 in f.
    X, labels = bundled(load_digits, 200)
    gram = gaussian(X, 1000.0)
    rough, exact = (
        solve_klr(gram, labels, [np.arange(200)], [1000.0], tolerance=tolerance)
        for tolerance in (1e-6, EXACT)
    )
    assert (exact.status == KlrStatus.CONVERGED).all()
    difference = (rough.coefficients - exact.coefficients) @ gram
    difference += (rough.biases - exact.biases)[..., None]
    f = exact.coefficients @ gram + exact.biases[..., None]
    W = expit(f) * expit(-f)
    assert np.sqrt((W * difference**2).sum(axis=-1) / W.sum(axis=-1)).max() < 1e-6
    assert np.abs(difference).max() < 1e-4


# ---- other solvers --------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_linear_kernel_equals_scikit_learn(load, C):
    X, labels = bundled(load, 120)
    solution = solve_klr(X @ X.T, labels, [np.arange(120)], [C])
    for column in range(labels.shape[1]):
        peer = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1000)
        peer.fit(X, labels[:, column])
        f = X @ (X.T @ solution.coefficients[0, 0, column]) + solution.biases[0, 0, column]
        np.testing.assert_allclose(expit(f), peer.predict_proba(X)[:, 1], rtol=0, atol=1e-5)


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("seed", range(4))
def test_equals_a_general_optimiser(seed, C):
    gram, y = random_problem(seed, n_rows=12)
    c, b, _ = solve_one(gram, y, C, tolerance=EXACT)
    peer = minimize(
        objective,
        np.zeros(13),
        (gram, y, C),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-10, "maxiter": 5000},
    )
    assert objective(np.append(c, b), gram, y, C)[0] <= peer.fun * (1 + 1e-12)
    np.testing.assert_allclose(gram @ c + b, gram @ peer.x[:-1] + peer.x[-1], rtol=0, atol=1e-5)


# ---- what must not matter -------------------------------------------------------------------


def test_a_path_equals_each_value_alone_in_any_order():
    gram, y = random_problem(5)
    subsets = [np.arange(40), np.arange(0, 40, 2)]
    C_values = np.array([10.0, 1e-2, 1e3, 1.0])
    path = solve_klr(gram, y[:, None], subsets, C_values, tolerance=EXACT)
    assert (path.status == KlrStatus.CONVERGED).all()
    for k, C in enumerate(C_values):
        alone = solve_klr(gram, y[:, None], subsets, [C], tolerance=EXACT)
        np.testing.assert_allclose(
            path.coefficients[:, k], alone.coefficients[:, 0], rtol=0, atol=1e-8 * C
        )
        np.testing.assert_allclose(path.biases[:, k], alone.biases[:, 0], rtol=0, atol=1e-7)


def test_weights_equal_repeated_rows():
    gram, y = random_problem(6)
    times = np.random.default_rng(6).integers(0, 4, size=40)
    times[:2] = 1
    copies = np.repeat(np.arange(40), times)
    c, b, _ = solve_one(gram, y, 3.0, times, tolerance=EXACT)
    repeated, repeated_b, _ = solve_one(
        gram[np.ix_(copies, copies)], y[copies], 3.0, tolerance=EXACT
    )
    np.testing.assert_allclose(c, np.bincount(copies, repeated, 40), rtol=0, atol=1e-8)
    np.testing.assert_allclose(b, repeated_b, rtol=0, atol=1e-8)
    # Copies share their coefficient: c is unique although the matrix is singular.
    np.testing.assert_allclose(repeated, (c / np.maximum(times, 1))[copies], rtol=0, atol=1e-8)


def test_a_problem_sees_its_own_rows_only():
    gram, y = random_problem(7)
    other = np.where(np.arange(40) % 5 == 0, 0, -y).astype(np.int8)
    weights = np.random.default_rng(7).uniform(0.5, 2, size=40)
    subset = np.random.default_rng(7).permutation(40)[:30]
    labels = np.stack([y, other], axis=1)
    solution = solve_klr(gram, labels, [np.arange(40), subset], [2.0], weights, EXACT)
    for s, rows in enumerate([np.arange(40), subset]):
        for column in range(2):
            used = np.sort(rows[labels[rows, column] != 0])
            c, b, _ = solve_one(
                gram[np.ix_(used, used)], labels[used, column], 2.0, weights[used], tolerance=EXACT
            )
            expected = np.zeros(40)
            expected[used] = c
            found = solution.coefficients[s, 0, column]
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)
            assert (found[np.setdiff1d(np.arange(40), used)] == 0).all()
            np.testing.assert_allclose(solution.biases[s, 0, column], b, rtol=0, atol=1e-8)


def test_threads_change_no_bit():
    X, labels = bundled(load_digits, 150)
    subsets = [np.flatnonzero(np.arange(150) % 5 != fold) for fold in range(5)]
    gram = gaussian(X, 100.0)
    one, three, many = (
        solve_klr(gram, labels, subsets, GRID[::2], n_threads=n) for n in (1, 3, 99)
    )
    for other in (three, many):
        np.testing.assert_array_equal(one.coefficients, other.coefficients)
        np.testing.assert_array_equal(one.biases, other.biases)
        np.testing.assert_array_equal(one.status, other.status)
        np.testing.assert_array_equal(one.iterations, other.iterations)
        np.testing.assert_array_equal(one.criterion, other.criterion)
    assert np.abs(one.coefficients).max() > 0


@pytest.mark.parametrize("only_baseline", [False, True])
@pytest.mark.parametrize("order", [1, 2, 11, 12, 13, 24, 36, 37, 100, 130, 601])
def test_the_factorisation_equals_numpys(order, only_baseline):
    rng = np.random.default_rng(order)
    root = rng.standard_normal((order, order))
    matrix, right = root @ root.T + np.eye(order), rng.standard_normal(order)
    expected = np.linalg.solve(matrix, right)
    upper = np.triu_indices(order, 1)
    matrix[upper] = np.nan  # is not read
    try:
        _core.use_baseline_lanes(only_baseline)
        assert _core.klr_solve_positive_definite(matrix, right)
    finally:
        _core.use_baseline_lanes(False)
    np.testing.assert_allclose(right, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    matrix[order // 2, order // 2] = -1.0
    assert not _core.klr_solve_positive_definite(matrix, right)


@pytest.mark.parametrize("n_rows", [2, 5, 12, 13, 25, 60, 300])
def test_both_instruction_sets_agree(n_rows):
    # One value of C, so large that conjugate gradients alone do not do: Cholesky's turn.
    gram, y = random_problem(8, n_rows, sigma2=0.5)
    c, b, status = solve_one(gram, y, 1e4, tolerance=1e-9)
    assert status == KlrStatus.CONVERGED
    try:
        _core.use_baseline_lanes(True)
        other, other_b, _ = solve_one(gram, y, 1e4, tolerance=1e-9)
    finally:
        _core.use_baseline_lanes(False)
    np.testing.assert_allclose(other, c, rtol=0, atol=1e-4)
    np.testing.assert_allclose(other_b, b, rtol=1e-6, atol=1e-6)


# ---- edges ----------------------------------------------------------------------------------


def test_duplicated_rows_with_opposite_labels():
    gram, y = random_problem(9, n_rows=20)
    twice = np.r_[np.arange(20), np.arange(20)]
    gram, y = gram[np.ix_(twice, twice)], np.r_[y, -y]
    c, b, status = solve_one(gram, y, 1000.0)
    assert status == KlrStatus.CONVERGED
    np.testing.assert_allclose(gram @ c + b, 0, rtol=0, atol=1e-5)
    np.testing.assert_allclose(c, 500.0 * y, rtol=1e-5)


@pytest.mark.parametrize("value", [0.0, 1.0, 1e6])
def test_a_constant_gram_gives_the_shares_of_the_signs(value):
    y = np.array([1, 1, 1, -1], np.int8)
    c, b, status = solve_one(np.full((4, 4), value), y, 2.0)
    assert status == KlrStatus.CONVERGED
    np.testing.assert_allclose(expit(value * c.sum() + b), 0.75, rtol=1e-6)
    np.testing.assert_allclose(c, [0.5, 0.5, 0.5, -1.5], rtol=1e-5)


def test_one_row_of_each_sign():
    gram = np.array([[1.0, 0.2], [0.2, 1.0]])
    c, b, status = solve_one(gram, [1, -1], 5.0, tolerance=EXACT)
    assert status == KlrStatus.CONVERGED
    # By symmetry f = +-0.8 a and b = 0, with a = 5 sigmoid(-0.8 a).
    assert c[0] == pytest.approx(5 * expit(-0.8 * c[0]), rel=1e-8)
    np.testing.assert_allclose([c[1], b], [-c[0], 0], rtol=0, atol=1e-8)


@pytest.mark.parametrize("sigma2", [0.01, 1.0, 100.0])
def test_separable_data_at_a_large_value(sigma2):
    rng = np.random.default_rng(10)
    y = np.repeat(np.array([-1, 1], np.int8), 30)
    X = rng.standard_normal((60, 2)) + 5 * y[:, None]
    gram = gaussian(X, sigma2)
    c, b, status = solve_one(gram, y, 1e6)
    assert status == KlrStatus.CONVERGED
    assert criterion(gram, c, b, y, 1e6) <= 1.01e-6
    assert (y * (gram @ c + b) > 3).all()


def test_columns_that_lack_a_sign_are_left_alone():
    gram, y = random_problem(11)
    labels = np.stack([y, np.ones(40), np.zeros(40), np.where(np.arange(40) < 20, 1, -1)], axis=1)
    solution = solve_klr(gram, labels, [np.arange(20), []], [1.0, 2.0])
    untrained = solution.status == KlrStatus.UNTRAINED
    assert untrained[:, 0].tolist() == [[False, True, True, True], [True] * 4]
    assert (untrained[:, 0] == untrained[:, 1]).all()
    assert (solution.coefficients[untrained] == 0).all()
    assert (solution.biases[untrained] == 0).all()
    # A sign that has weight 0 only is no sign.
    weights = (y > 0).astype(float)
    assert solve_one(gram, y, 1.0, weights)[2] == KlrStatus.UNTRAINED


def test_an_indefinite_gram_ends_with_its_status():
    y = np.array([1, -1, 1, -1], np.int8)
    gram = np.eye(4) - 1.0
    _, _, status = solve_one(gram, y, 1000.0)
    assert status == KlrStatus.CONVERGED  # the directions of no curvature sum to nothing
    _, _, status = solve_one(-np.eye(4), y, 1000.0)
    assert status == KlrStatus.INDEFINITE
    rng = np.random.default_rng(12)
    noise = rng.standard_normal((30, 30))
    c, b, status = solve_one(noise + noise.T, np.sign(noise[0]), 100.0)
    assert status in (KlrStatus.INDEFINITE, KlrStatus.STALLED, KlrStatus.ITERATION_LIMIT)
    assert np.isfinite(c).all()
    assert np.isfinite(b)


@pytest.mark.parametrize("scale", [1e-300, 1e-100, 1e100, 1e300])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_extreme_scales_are_finite_or_say_so(scale, C):
    gram, y = random_problem(13)
    c, b, status = solve_one(scale * gram, y, C)
    assert np.isfinite(c).all()
    assert np.isfinite(b)
    if scale < 1:
        assert status == KlrStatus.CONVERGED
        np.testing.assert_allclose(expit(b), (y > 0).mean(), rtol=1e-5)
        np.testing.assert_allclose(c, C * y * expit(-y * b), rtol=1e-5)
    else:
        assert status != KlrStatus.UNTRAINED


def test_a_tolerance_beyond_the_arithmetic_stalls():
    gram, y = random_problem(14)
    c, b, status = solve_one(gram, y, 10.0, tolerance=1e-300)
    assert status == KlrStatus.STALLED
    assert criterion(gram, c, b, y, 10.0) < 1e-10


def test_a_gram_too_large_for_the_tolerance_stalls():
    # f is a sum of terms of 1e9: it is not known to 1e-7.
    X = np.random.default_rng(21).standard_normal((100, 3))
    y = np.sign(X[:, 0] + np.random.default_rng(22).standard_normal(100))
    c, b, status = solve_one(1e4 * X @ X.T, y, 1e5, tolerance=1e-9)
    assert status == KlrStatus.STALLED
    assert criterion(1e4 * X @ X.T, c, b, y, 1e5) < 1e-4


def test_weights_of_many_magnitudes():
    gram, y = random_problem(20, n_rows=100, sigma2=100.0)
    weights = 10.0 ** np.random.default_rng(20).uniform(-5, 5, size=100)
    solution = solve_klr(gram, y[:, None], [np.arange(100)], GRID, weights)
    assert_criterion_holds(gram, y[:, None], solution, GRID, 1e-6, weights)


def test_too_few_iterations_are_reported_and_do_not_spoil_the_next():
    gram, y = random_problem(14)
    few = solve_klr(gram, y[:, None], [np.arange(40)], [1.0, 100.0], max_iterations=1)
    assert few.status.ravel().tolist() == [KlrStatus.ITERATION_LIMIT] * 2
    assert few.iterations.ravel().tolist() == [1, 1]
    assert few.criterion.min() > 1e-6


def test_nothing_to_do():
    gram, y = random_problem(15, n_rows=4)
    assert solve_klr(gram, y[:, None], [], [1.0]).coefficients.shape == (0, 1, 1, 4)
    assert solve_klr(gram, y[:, None], [[0, 1]], []).coefficients.shape == (1, 0, 1, 4)
    assert solve_klr(gram, np.zeros((4, 0)), [[0, 1]], [1.0]).status.shape == (1, 1, 0)


# ---- the wrapper ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"gram": np.ones((4, 3))}, "square"),
        ({"gram": np.ones(4)}, "square"),
        ({"gram": np.zeros((0, 0)), "labels": np.zeros((0, 1))}, "at least one row"),
        ({"gram": np.full((4, 4), np.nan)}, "finite"),
        ({"gram": np.triu(np.ones((4, 4)))}, "symmetric"),
        ({"labels": np.ones(4)}, "two dimensions"),
        ({"labels": np.ones((3, 1))}, "one row for every row"),
        ({"labels": np.full((4, 1), 0.5)}, "-1, 0 or"),
        ({"labels": np.full((4, 1), 257)}, "-1, 0 or"),
        ({"subsets": [[0, 4]]}, r"Subset 0 .* outside 0\.\.3"),
        ({"subsets": [[0, 1], [-1, 0]]}, "Subset 1 .* outside"),
        ({"subsets": [[0, 0]]}, "twice"),
        ({"subsets": [[0.0, 1.0]]}, "row numbers"),
        ({"subsets": [[True, False, True, True]]}, "row numbers"),
        ({"C_values": [0.0]}, "positive"),
        ({"C_values": [np.inf]}, "positive"),
        ({"C_values": 1.0}, "vector"),
        ({"weights": [1.0, 1.0]}, "one for every row"),
        ({"weights": [1.0, 1.0, -1.0, 1.0]}, "nonnegative"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"tolerance": np.nan}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"n_threads": 0}, "n_threads"),
        ({"n_threads": 1.5}, "whole number"),
    ],
)
def test_wrong_arguments_are_refused(changed, sentence):
    arguments = {
        "gram": np.eye(4),
        "labels": np.array([[1], [1], [-1], [-1]]),
        "subsets": [[0, 1, 2, 3]],
        "C_values": [1.0],
    }
    assert solve_klr(**arguments).status.item() == KlrStatus.CONVERGED
    with pytest.raises(ValueError, match=sentence):
        solve_klr(**{**arguments, **changed})


@pytest.mark.parametrize("place", [(1, 0), (0, 699), (699, 0), (130, 69), (600, 599), (64, 63)])
def test_any_asymmetry_is_noticed(place):
    gram = np.eye(700)
    gram[place] = 1e-6
    with pytest.raises(ValueError, match="symmetric"):
        solve_klr(gram, np.zeros((700, 1)), [], [1.0])


def test_an_interrupt_stops_the_threads_soon(tmp_path):
    script = """
        import numpy as np
        from polychotomy.native.klr import solve_klr

        rng = np.random.default_rng(0)
        X = rng.standard_normal((1500, 5))
        gram = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
        labels = np.sign(rng.standard_normal((1500, 400)))
        print("started", flush=True)
        try:
            solve_klr(gram, labels, [np.arange(1500)] * 5, [1e2, 1e3, 1e4], n_threads=2)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        else:
            print("finished", flush=True)
        # The core still works.
        solution = solve_klr(gram[:9, :9], labels[:9], [np.arange(9)], [1.0])
        print(solution.status.max() <= 1, flush=True)
    """
    with Commands(tmp_path).started_code(textwrap.dedent(script)) as process:
        process.says("started\n")
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        sent = time.perf_counter()
        output = process.end().out
        waited = time.perf_counter() - sent
    assert output == "started\ninterrupted\nTrue\n"
    # The whole would take minutes; the margin is for a busy machine.
    assert waited < 10


# ---- leave one out --------------------------------------------------------------------------


def refits(gram, y, C, weights=None):
    """Return the score of every row by a fit without it."""
    rows = np.flatnonzero(y)
    subsets = [np.setdiff1d(np.arange(len(y)), [row]) for row in rows]
    labels = np.asarray(y, dtype=np.int8)[:, None]
    solution = solve_klr(gram, labels, subsets, [C], weights, tolerance=1e-9)
    assert (solution.status == KlrStatus.CONVERGED).all()
    coefficients, biases = solution.coefficients[:, 0, 0], solution.biases[:, 0, 0]
    return np.array(
        [gram[row] @ c + b for row, c, b in zip(rows, coefficients, biases, strict=True)]
    )


def leave_one_out_of(load, n_rows, sigma2, C, column=1):
    """Return the result and the true refits."""
    X, labels = bundled(load, n_rows)
    gram, y = gaussian(X, sigma2), labels[:, column]
    c, b, _ = solve_one(gram, y, C, tolerance=1e-9)
    return klr_leave_one_out(gram, c, b, y, C), refits(gram, y, C)


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0, 300.0])
@pytest.mark.parametrize(("load", "sigma2"), [(load_wine, 1.0), (load_iris, 100.0)])
def test_leave_one_out_is_near_true_refits(load, sigma2, C):
    result, true = leave_one_out_of(load, 120, sigma2, C)
    wrong = np.abs(result.scores - true)
    assert wrong.max() < 0.05
    # The estimate is about the error where it is small.
    assert (wrong < 1.5 * result.error + 1e-6).all()
    assert result.error.max() < 0.5


@pytest.mark.parametrize("C", [30.0, 300.0, 1e4])
@pytest.mark.parametrize("load", [load_wine, load_iris, load_digits])
@pytest.mark.parametrize("sigma2", [1.0, 10.0])
def test_leave_one_out_says_which_scores_cannot_be_trusted(load, sigma2, C):
    result, true = leave_one_out_of(load, 120, sigma2, C)
    wrong = np.abs(result.scores - true)
    trusted = result.error <= 0.05
    assert wrong[trusted].max() < 0.07
    assert trusted.mean() > 0.7


def test_leave_one_out_can_be_wrong():
    # The reason for the estimate: one row is off by more than 1 here.
    result, true = leave_one_out_of(load_iris, 150, 1.0, 300.0)
    wrong = np.abs(result.scores - true)
    assert wrong.max() > 1
    assert result.error[wrong.argmax()] > 1


def test_leave_one_out_equals_the_formula():
    gram, y = random_problem(16, sigma2=0.3)
    weights = np.random.default_rng(16).uniform(0.2, 2, size=40)
    c, b, _ = solve_one(gram, y, 5.0, weights, tolerance=EXACT)
    f = gram @ c + b
    W = 5.0 * weights * expit(f) * expit(-f)
    Q = np.linalg.inv(gram + np.diag(1 / W))
    q = Q.sum(axis=0)
    P = Q - np.outer(q, q) / q.sum()
    z = f + 5.0 * weights * ((y > 0) - expit(f)) / W
    expected = z - P @ z / np.diag(P)
    scores = klr_leave_one_out(gram, c, b, y, 5.0, weights).scores
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(scores, refits(gram, y, 5.0, weights), rtol=0, atol=0.3)


def test_leave_one_out_of_rows_outside_is_the_fit():
    gram, y = random_problem(17)
    y[30:] = 0
    weights = np.where(np.arange(40) % 10 == 5, 0.0, 1.0)
    c, b, _ = solve_one(gram, y, 1.0, weights)
    result = klr_leave_one_out(gram, c, b, y, 1.0, weights)
    outside = (y == 0) | (weights == 0)
    np.testing.assert_allclose(result.scores[outside], (gram @ c + b)[outside], rtol=1e-12)
    assert (result.error[outside] == 0).all()
    used = np.flatnonzero(~outside)
    alone = klr_leave_one_out(gram[np.ix_(used, used)], c[used], b, y[used], 1.0)
    np.testing.assert_allclose(result.scores[used], alone.scores, rtol=1e-9, atol=1e-9)
    assert (result.error[used] > 0).all()


def test_leave_one_out_of_the_only_row_of_its_sign():
    gram, _ = random_problem(18, n_rows=10)
    y = np.array([1] + [-1] * 9)
    c, b, _ = solve_one(gram, y, 1.0)
    error = klr_leave_one_out(gram, c, b, y, 1.0).error
    assert np.isinf(error).tolist() == [True] + [False] * 9
    result = klr_leave_one_out(gram, np.zeros(10), 0.0, np.ones(10), 1.0)
    assert np.isinf(result.error).all()
    assert (result.scores == 0).all()


def test_leave_one_out_of_saturated_rows_is_finite():
    y = np.repeat(np.array([-1, 1], np.int8), 10)
    gram = 1e4 * np.outer(y, y) + np.eye(20)
    c, b, _ = solve_one(gram, y, 1e6)
    result = klr_leave_one_out(gram, c, b, y, 1e6)
    assert np.isfinite(result.scores).all()
    assert not np.isnan(result.error).any()


def test_leave_one_out_refuses_wrong_arguments():
    gram, y = random_problem(19, n_rows=6)
    with pytest.raises(ValueError, match="coefficients"):
        klr_leave_one_out(gram, np.zeros(5), 0.0, y, 1.0)
    with pytest.raises(ValueError, match="labels"):
        klr_leave_one_out(gram, np.zeros(6), 0.0, y[:5], 1.0)
    with pytest.raises(ValueError, match="positive"):
        klr_leave_one_out(gram, np.zeros(6), 0.0, y, -1.0)
