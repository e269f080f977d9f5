"""Kernel machines within a memory limit: the same answers, without a Gram matrix."""

import gc
import sys
import textwrap
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import polychotomy as pc
from commands import Commands
from polychotomy.kernels import (
    CachedRows,
    Function,
    Gaussian,
    Linear,
    LinearRows,
    Polynomial,
    Precomputed,
)
from polychotomy.machines import kernel_columns, on_demand
from polychotomy.machines.klr.linear import solve_linear_klr
from polychotomy.machines.lssvm import columns as lssvm_columns
from polychotomy.machines.svm.decomposition import decompose
from polychotomy.machines.svm.interior import interior_point
from polychotomy.native import _core
from polychotomy.native.klr import solve_klr
from polychotomy.native.svm import solve_svm

TINY = 1.0


def quadratic(A, B):
    return (1.0 + 0.1 * A @ B.T) ** 2


KERNELS = {
    "rbf": Gaussian(0.05),
    "poly": Polynomial(0.1, 3, 1.0),
    "linear": Linear(),
    "callable": Function(quadratic),
}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=4, return_X_y=True)
    return X[:240] / 8.0 - 1.0, y[:240]


def noisy(n_rows, n_features=6, seed=0):
    X, y = make_classification(
        n_rows, n_features, n_informative=4, n_redundant=0, flip_y=0.1, random_state=seed
    )
    return X, 2.0 * y - 1.0


def source(kernel, X, n_bytes=TINY, rows=None):
    if kernel.is_linear:
        return LinearRows(X)
    rows = np.arange(X.shape[0]) if rows is None else rows
    return CachedRows(kernel, X, rows, np.empty(CachedRows.room(len(rows), n_bytes)))


# ---- kernel rows ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("form", [np.asarray, csr_array, csr_matrix])
def test_rows_are_those_of_the_gram_matrix(name, form):
    if name == "callable" and form is not np.asarray:
        pytest.skip("this function is for dense matrices")
    kernel, X = KERNELS[name], noisy(50)[0]
    gram = kernel.between(X, X)
    rows = source(kernel, form(X))
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(rows.diagonal, gram.diagonal(), rtol=1e-12)
    for _ in range(10):  # more rows than are kept
        some = rng.permutation(50)[: rng.integers(1, 17)]
        np.testing.assert_allclose(rows.block(some), gram[np.ix_(some, some)], rtol=1e-10)
        amounts, residual = rng.standard_normal(len(some)), rng.standard_normal(50)
        expected = residual - gram[:, some] @ amounts
        rows.subtract(residual, some, amounts)
        np.testing.assert_allclose(residual, expected, atol=1e-10)


def test_rows_of_a_precomputed_kernel_are_those_of_its_part():
    X = noisy(40)[0]
    gram = X @ X.T
    part = np.arange(0, 40, 2)
    rows = source(Precomputed(), gram, rows=part)
    some = np.array([3, 1, 19])
    np.testing.assert_array_equal(rows.block(some), gram[np.ix_(part[some], part[some])])
    np.testing.assert_array_equal(rows.diagonal, gram.diagonal()[part])


def single_source(kernel, X, n_bytes=TINY):
    rows, memory = np.arange(len(X)), np.empty(CachedRows.room(len(X), n_bytes))
    return CachedRows(kernel, X.astype(np.float64), rows, memory, single=X)


def test_rows_of_inputs_in_single_precision_until_they_are_refined():
    kernel, X = KERNELS["rbf"], (5.0 + noisy(60, 20)[0]).astype(np.float32)
    gram = kernel.between(X.astype(np.float64), X.astype(np.float64))
    rows, some = single_source(kernel, X), np.arange(3, 40, 3)
    wrong = np.abs(rows.block(some) - gram[np.ix_(some, some)])
    assert 0.0 < wrong.max() <= 4.0 * rows.error < 1e-5
    rows.refine()
    assert rows.error == 0.0
    np.testing.assert_allclose(rows.block(some), gram[np.ix_(some, some)], rtol=1e-10)


@pytest.mark.parametrize("kernel", [Gaussian(1e4), Polynomial(0.1, 3, 1.0), Function(quadratic)])
def test_rows_are_double_where_single_precision_has_too_few_digits(kernel):
    X = noisy(30)[0].astype(np.float32)
    rows, gram = single_source(kernel, X), kernel.between(X.astype(float), X.astype(float))
    assert rows.error == 0.0
    np.testing.assert_allclose(rows.block(np.arange(16)), gram[:16, :16], rtol=1e-10)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-9])
def test_single_precision_is_left_before_it_exceeds_the_tolerance(tolerance):
    X, y = noisy(200)
    X, kernel = X.astype(np.float32), Gaussian(0.2)
    bounds = np.full(200, 20.0)
    rows = single_source(kernel, X, n_bytes=8 * 200 * 200)
    found = decompose(rows, y, bounds, tolerance)
    exact = decompose(source(kernel, X.astype(float)), y, bounds, 1e-9)
    gram = kernel.between(X.astype(float), X.astype(float))
    scores = gram @ (y * found.coefficients) + found.bias
    expected = gram @ (y * exact.coefficients) + exact.bias
    assert found.converged
    assert (rows.error > 0.0) == (tolerance == 1e-3)
    np.testing.assert_allclose(scores, expected, atol=10 * tolerance)


def test_scores_of_inputs_in_single_precision(monkeypatch):
    X, y = noisy(300)
    X = X.astype(np.float32)
    monkeypatch.setattr(kernel_columns, "LEAST_FOR_SINGLE", 10)
    asked = []
    between_single = Gaussian.between_single
    monkeypatch.setattr(
        Gaussian, "between_single", lambda *given: asked.append(1) or between_single(*given)
    )
    for C, is_single in ((1.0, True), (1e6, False)):
        model = pc.ProbabilisticSVC(C=C, gamma=0.3).fit(X, y)
        asked.clear()
        found = model.decision_function(X)
        assert bool(asked) == is_single
        expected = model.decision_function(X.astype(float))
        np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def test_held_out_scores_are_computed_once(monkeypatch):
    X, y = load_digits(n_class=3, return_X_y=True)
    asked, scores = [], kernel_columns.FittedKernels.scores
    monkeypatch.setattr(
        kernel_columns.FittedKernels, "scores", lambda *given: asked.append(1) or scores(*given)
    )
    model = pc.ProbabilisticSVC(memory_limit=TINY, tempering=True).fit(X[:150], y[:150])
    # Those of five folds serve the sigmoids and the tempering.
    assert len(asked) == 5
    asked.clear()
    model.predict_proba(X)
    assert len(asked) == 1


def test_rows_used_last_are_kept_within_the_room():
    calls = []

    def counted(A, B):
        calls.append(len(A))
        return A @ B.T

    X = noisy(100)[0]
    rows = source(Function(counted), X, n_bytes=20 * 100 * 8)
    assert rows._kept.nbytes == 20 * 100 * 8
    calls.clear()
    rows.block(np.arange(10))
    rows.block(np.arange(10, 20))
    rows.block(np.arange(5))  # there already
    assert sum(calls) == 20
    rows.block(np.arange(50, 60))  # drops 5..14, which were used longest ago
    rows.block(np.concatenate([np.arange(5), np.arange(15, 20)]))
    assert sum(calls) == 30
    rows.block(np.arange(5, 7))
    assert sum(calls) == 32


@settings(max_examples=50, deadline=None)
@given(
    st.integers(1, 9), st.integers(1, 9), st.floats(1e-6, 1e6), st.booleans(), st.integers(0, 99)
)
def test_native_gaussian_is_that_of_numpy(n_rows, n_columns, gamma, baseline, seed):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((n_rows, 3)), rng.standard_normal((n_columns, 3))
    own, other = gamma * (A**2).sum(axis=1), gamma * (B**2).sum(axis=1)
    products = A @ B.T
    exponent = np.minimum(2 * gamma * products - own[:, None] - other, 0.0)
    _core.use_baseline_lanes(baseline)
    try:
        _core.gaussian_of_products(products, own, other, gamma)
    finally:
        _core.use_baseline_lanes(False)
    slack = 1e-15 * (own[:, None] + other)  # the sums are rounded in another order
    assert (np.abs(products - np.exp(exponent)) <= 1e-14 + slack).all()


# ---- the solver -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("C", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_decomposition_equals_the_solver_on_the_gram_matrix(name, C, weighted):
    X, y = noisy(150)
    kernel = KERNELS[name]
    weights = np.random.default_rng(0).integers(0, 3, 150) * 0.7 if weighted else np.ones(150)
    gram = kernel.between(X, X)
    expected = solve_svm(gram, y[:, None], [np.arange(150)], [C], weights=weights, tolerance=1e-7)
    found = decompose(source(kernel, X), y, C * weights, 1e-7)
    assert found.converged
    assert abs(found.coefficients.sum()) < 1e-9 * C
    assert (found.coefficients * y >= 0).all()
    assert (found.coefficients * y <= C * weights).all()
    scale = np.abs(gram @ expected.coefficients[0, 0, 0]).max()
    np.testing.assert_allclose(
        gram @ found.coefficients + found.bias,
        gram @ expected.coefficients[0, 0, 0] + expected.biases.item(),
        rtol=0,
        atol=1e-5 * max(1.0, scale),
    )


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 60),
    st.sampled_from(list(KERNELS)),
    st.floats(1e-4, 1e2),
    st.integers(0, 10**6),
)
def test_solutions_meet_the_optimality_conditions(n_rows, name, C, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 2)).round(1)  # with rows that occur twice
    y = np.where(np.arange(n_rows) < rng.integers(1, n_rows), 1.0, -1.0)
    bounds = C * rng.random(n_rows)
    kernel = KERNELS[name]
    found = decompose(source(kernel, X), y, bounds, 1e-5)
    assert found.converged
    size = found.coefficients * y
    assert (size >= 0).all()
    assert (size <= bounds).all()
    assert abs(found.coefficients.sum()) <= 1e-9 * bounds.sum()
    residual = y - kernel.between(X, X) @ found.coefficients
    up = np.where(y > 0, size < bounds, size > 0)
    low = np.where(y > 0, size > 0, size < bounds)
    assert residual[up].max() - residual[low].min() <= 1.1e-5


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_linear_machines_with_many_rows_equal_scikit_learns(form, C):
    X, y = noisy(300)
    weights = np.random.default_rng(0).integers(1, 4, 300) * 0.5
    near, n_steps = interior_point(form(X), y, C * weights)
    assert 0 < n_steps < 50
    assert abs(near.sum()) <= 1e-10 * C * 300
    assert (near * y >= 0).all()
    assert (near * y <= C * weights).all()
    residual = y - X @ (X.T @ near)
    up = np.where(y > 0, near < C * weights, near < 0)
    low = np.where(y > 0, near > 0, -near < C * weights)
    scale = min(1.0, np.ptp(y - residual))
    assert residual[up].max() - residual[low].min() <= 1e-2 * scale  # near, not there yet
    svm = decompose(LinearRows(form(X)), y, C * weights, 1e-6, start=near)
    assert svm.converged
    klr = solve_linear_klr(form(X), y, C * weights, 1e-9, 200)
    assert klr.converged
    reference = solve_klr(
        X @ X.T, y[:, None], [np.arange(300)], [C], weights=weights, tolerance=1e-9
    )
    np.testing.assert_allclose(
        X @ (X.T @ klr.coefficients) + klr.bias,
        X @ (X.T @ reference.coefficients[0, 0, 0]) + reference.biases.item(),
        atol=1e-6,
    )


def test_separable_rows_do_not_upset_linear_machines():
    X = np.linspace(-1.0, 1.0, 50)[:, None]
    y = np.sign(X[:, 0])
    for C in (1.0, 1e8):
        bounds = np.full(50, C)
        found = decompose(LinearRows(X), y, bounds, 1e-6, start=interior_point(X, y, bounds)[0])
        assert found.converged
        if C > 1:  # the widest margin between -1/49 and 1/49
            assert X[:, 0] @ found.coefficients == pytest.approx(49.0, rel=1e-4)
        assert solve_linear_klr(X, y, bounds, 1e-8, 200).converged


@pytest.mark.parametrize("machine", [pc.SVM(tol=1e-6), pc.KernelLogisticRegression(tol=1e-8)])
@pytest.mark.parametrize("code", ["one_vs_one", "one_vs_rest"])
def test_the_linear_kernel_of_many_rows_needs_no_gram_matrix(monkeypatch, machine, code):
    X, y = make_classification(600, 4, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    clf = pc.PolychotomyClassifier(clone(machine).set_params(kernel="linear"), code)
    expected = clone(clf).fit(X, y).binary_scores(X)
    monkeypatch.setattr(on_demand, "LEAST_ROWS", 100)
    monkeypatch.setattr("polychotomy.kernels.gram.SharedRows.gram", None)
    for n_jobs in (1, 2):
        found = clone(clf).set_params(n_jobs=n_jobs).fit(X, y).binary_scores(X)
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_iteration_limits_are_reported():
    X, y = noisy(100)
    found = decompose(source(KERNELS["rbf"], X), y, np.full(100, 10.0), 1e-6, 7)
    assert (found.converged, found.iterations) == (False, 7)


def test_matrices_that_are_no_kernels_are_refused():
    X, y = noisy(100)
    for function, sentence in (
        (lambda A, B: np.full((len(A), len(B)), np.nan), "finite"),
        (lambda A, B: A[:, :1] + 2.0 * B[:, 0], "symmetric"),
    ):
        with pytest.raises(ValueError, match=sentence):
            pc.SVM(kernel=function, memory_limit=TINY).fit(X, y)


# ---- machines -------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["one_vs_one", "one_vs_rest"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", quadratic, "precomputed"])
def test_a_tiny_limit_changes_no_answer(digits, code, kernel):
    X, y = digits
    if kernel == "precomputed":
        X = X @ X.T
    weights = 1.0 + np.arange(len(y)) % 3
    machine = pc.SVM(C=5, kernel=kernel, gamma=0.05, coef0=1.0, tol=1e-8)
    clf = pc.PolychotomyClassifier(machine, code)
    free = clone(clf).fit(X, y, sample_weight=weights)
    tight = clone(clf).set_params(machine__memory_limit=TINY).fit(X, y, sample_weight=weights)
    scale = np.abs(free.binary_scores(X)).max()
    np.testing.assert_allclose(
        tight.binary_scores(X), free.binary_scores(X), rtol=0, atol=1e-6 * max(1.0, scale)
    )
    np.testing.assert_allclose(tight.predict_proba(X), free.predict_proba(X), atol=1e-4)


def test_sparse_inputs_and_the_svc_face_within_a_tiny_limit(digits):
    X, y = digits
    dense = pc.SVM(C=5, gamma=0.05, tol=1e-8).fit(X, y % 2)
    sparse = pc.SVM(C=5, gamma=0.05, tol=1e-8, memory_limit=TINY).fit(csr_matrix(X), y % 2)
    np.testing.assert_allclose(
        sparse.decision_function(csr_matrix(X)), dense.decision_function(X), atol=1e-6
    )
    ours = pc.ProbabilisticSVC(C=5, gamma=0.05, tol=1e-6, memory_limit=TINY).fit(X, y)
    theirs = SVC(C=5, gamma=0.05, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(
        ours.set_params(decision_function_shape="ovo").decision_function(X),
        theirs.set_params(decision_function_shape="ovo").decision_function(X),
        atol=1e-4,
    )


@pytest.mark.parametrize("limit", [TINY, 100_000, 2_500_000, np.inf])
@pytest.mark.parametrize("code", ["one_vs_one", "one_vs_rest"])
@pytest.mark.usefixtures("several_blas_threads")
def test_jobs_change_no_bit_at_any_limit(digits, limit, code):
    X, y = digits
    machine = pc.SVM(C=5, gamma=0.05, memory_limit=limit)
    one = pc.PolychotomyClassifier(machine, code, n_jobs=1).fit(X, y)
    for n_jobs in (2, 5):
        more = pc.PolychotomyClassifier(machine, code, n_jobs=n_jobs).fit(X, y)
        np.testing.assert_array_equal(one.binary_scores(X), more.binary_scores(X))


def test_no_gram_matrix_where_one_solve_would_not_use_it(monkeypatch):
    def refuse(self, kernel, n_threads=1):
        raise AssertionError("a Gram matrix was computed")

    monkeypatch.setattr("polychotomy.kernels.gram.SharedRows.gram", refuse)
    n_rows = on_demand.LEAST_ROWS
    X, y = noisy(n_rows)
    for machine in (pc.SVM(), pc.SVM(kernel="linear")):
        found = machine.fit(X, y).decision_function(X)
        theirs = SVC(kernel=machine.kernel).fit(X, y).decision_function(X)
        np.testing.assert_allclose(found, theirs, atol=0.02)
    with pytest.raises(AssertionError, match="a Gram matrix"):
        pc.SVM().fit(X[: n_rows - 1], y[: n_rows - 1])


def test_a_limit_of_iterations_is_named_without_a_gram_matrix():
    X, y = noisy(100)
    with pytest.warns(ConvergenceWarning, match=r"the binary problem 1\.0 against -1\.0"):
        pc.SVM(C=100.0, max_iter=3, memory_limit=TINY).fit(X, y)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to oneself there")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupt(n_jobs, tmp_path):
    script = f"""
        import os, signal, threading, time
        import numpy as np
        import polychotomy as pc
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((3000, 20)), np.arange(3000) % 3
        machine = pc.SVM(C=1e4, memory_limit=1e6, tol=1e-6)
        sent = []
        def send():
            time.sleep(0.5)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=send).start()
        try:
            while True:
                pc.PolychotomyClassifier(machine, n_jobs={n_jobs}).fit(X, y)
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - sent[0], flush=True)
    """
    done = Commands(tmp_path).run_code(textwrap.dedent(script))
    assert done.code == 0, done.err
    word, seconds = done.out.split()
    assert word == "interrupted"
    assert float(seconds) < 10  # ten times what is promised, for machines under load


@pytest.mark.parametrize("options", [{"C": 1.0}, {"sigma2": "evidence"}])
def test_ls_svms_over_the_limit_are_refused_with_the_sizes(digits, options):
    X, y = digits
    with pytest.raises(MemoryError, match=r"1 against 0 has \d+ rows and needs \d+ matrices"):
        pc.LSSVM(**options, memory_limit=1e5).fit(X[y < 2], y[y < 2])
    machine = pc.LSSVM(**options, memory_limit=1e8)
    free = pc.PolychotomyClassifier(clone(machine).set_params(memory_limit=None)).fit(X, y)
    tight = pc.PolychotomyClassifier(machine, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(tight.binary_scores(X), free.binary_scores(X))


def quadratic_sum(A, B):
    products = A @ B.T
    products += 1.0
    products *= products
    return products


@pytest.mark.parametrize(
    ("C", "stated"), [(1.0, lssvm_columns.MATRICES_OF_FACTOR), ("evidence", lssvm_columns.MATRICES)]
)
@pytest.mark.parametrize("kernel", ["linear", quadratic_sum])
def test_an_ls_svm_takes_as_many_matrices_as_is_stated_and_leaves_one_behind(C, stated, kernel):
    X, y = noisy(600)
    machine = pc.LSSVM(C, kernel=kernel).fit(X[:50], y[:50])  # imports what it needs
    gc.collect()
    tracemalloc.start()
    try:
        machine.fit(X, y)
        gc.collect()
        left, peak = (size / (8 * 600**2) for size in tracemalloc.get_traced_memory())
    finally:
        tracemalloc.stop()
    assert stated - 1.5 < peak < stated + 0.1
    assert 0.9 < left < 1.2
