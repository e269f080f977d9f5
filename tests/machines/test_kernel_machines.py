"""Kernel machines as binary classifiers and as the machines of a code."""

import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_kernels, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.utils import get_tags

import polychotomy as pc
from configurations import classifier
from polychotomy.kernels import (
    Function,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    SharedRows,
    settle_kernel,
)
from sklearn_checks import checks_of

MACHINES = [
    pc.SVM(tol=1e-8),
    pc.SVM(C=0.1, kernel="linear", tol=1e-8),
    pc.KernelLogisticRegression(tol=1e-8),
    pc.KernelLogisticRegression(kernel="linear", tol=1e-8),
    pc.LSSVM(),
    pc.LSSVM(C=1.0),
    pc.LSSVM(C=1.0, sigma2="evidence"),
    pc.LSSVM(C=1.0, landmarks=10),
    pc.KernelLogisticRegression(landmarks=10),
]
PIPES = [
    classifier(pc.SVM(tol=1e-8), "one_vs_one"),
    classifier(pc.SVM(tol=1e-8), "one_vs_rest", "winner_takes_all"),
    classifier(pc.KernelLogisticRegression(tol=1e-8), "one_vs_one"),
    classifier(
        pc.KernelLogisticRegression(tol=1e-8),
        "one_vs_one",
        calibrator="pooled_platt",
        tempering="auto",
        cv="leave_one_out",
    ),
    classifier(pc.LSSVM(), "minimal", pc.BayesianDecoding("training")),
    classifier(pc.LSSVM(), "one_vs_rest", pc.SoftMax(C=1.0), cv="leave_one_out"),
]


NOISE = (
    "The weight of a row is the inverse of its noise variance; the evidence, and with it C and the "
    "variances, still counts it as one row."
)


SHUFFLED = "scikit-learn 1.6 gives binary classifiers other labels after it has shuffled the rows."


def expected_failures(estimator):
    old = sklearn.__version__.startswith("1.6.")
    if isinstance(estimator, pc.LSSVM):
        reason = NOISE
    elif old and not get_tags(estimator).classifier_tags.multi_class:
        reason = SHUFFLED
    else:
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@pytest.mark.filterwarnings("ignore:Class.*fewer rows than the 5 folds:UserWarning")
@pytest.mark.parametrize(
    ("estimator", "check"), list(checks_of(MACHINES + PIPES, expected_failures))
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:500] / 16.0, y[:500]


KERNELS = [
    {"kernel": "rbf", "gamma": 0.05},
    {"kernel": "rbf", "gamma": "scale"},
    {"kernel": "rbf", "gamma": "auto"},
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.1},
]


@pytest.mark.parametrize("options", KERNELS, ids=str)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_svm_is_that_of_libsvm(cancer, options, C):
    X, y = cancer
    ours = pc.SVM(C, **options, tol=1e-6).fit(X[::2], y[::2])
    theirs = SVC(C=C, **options, tol=1e-6).fit(X[::2], y[::2])
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), atol=1e-3, rtol=1e-3
    )
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_attributes_give_the_decision_function(cancer):
    X, y = cancer
    svm = pc.SVM(sigma2=20.0).fit(X[::2], y[::2])
    kernel = pairwise_kernels(X, svm.support_vectors_, metric="rbf", gamma=1 / 40.0)
    by_hand = kernel @ svm.dual_coef_[0] + svm.intercept_
    np.testing.assert_allclose(svm.decision_function(X), by_hand, rtol=1e-8)
    np.testing.assert_array_equal(svm.support_vectors_, X[::2][svm.support_])


def test_linear_klr_is_logistic_regression(cancer):
    X, y = cancer
    for C in (0.01, 1.0):
        ours = pc.KernelLogisticRegression(C, kernel="linear").fit(X, y)
        theirs = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12).fit(X, y)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize(
    ("kernel", "known"),
    [
        (Gaussian(0.5), True),
        (Gaussian(1e7), False),  # the rows are too far from 0 for this width
        (Laplacian(1e7), True),
        (Linear(), True),
        (Polynomial(0.5, 3, 1.0), True),
        (Polynomial(0.5, 2.5, 1.0), False),
        (Polynomial(0.5, 3, -1.0), False),
        (Function(np.inner), False),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_kernels_that_are_known_to_be_semidefinite(kernel, known, form):
    assert kernel.is_semidefinite(form(np.array([[0.0, 1.0], [2.0, -0.5]]))) is known


@pytest.mark.parametrize("machine", [pc.SVM, pc.KernelLogisticRegression])
def test_precomputed_callable_and_sparse_are_the_same_kernel(cancer, machine):
    X, y = cancer
    expected = machine(gamma=0.02).fit(X[::2], y[::2]).decision_function(X)
    gram = pairwise_kernels(X, metric="rbf", gamma=0.02)
    precomputed = machine(kernel="precomputed").fit(gram[::2, ::2], y[::2])
    np.testing.assert_allclose(precomputed.decision_function(gram[:, ::2]), expected, atol=1e-5)
    function = machine(kernel=gaussian).fit(X[::2], y[::2])
    np.testing.assert_allclose(function.decision_function(X), expected, atol=1e-5)
    sparse = machine(gamma=0.02).fit(csr_array(X[::2]), y[::2])
    np.testing.assert_allclose(sparse.decision_function(csr_array(X)), expected, atol=1e-5)


def gaussian(X, Z):
    return pairwise_kernels(X, Z, metric="rbf", gamma=0.02)


@pytest.mark.parametrize("sparse", [False, True])
def test_kernels_against_scikit_learn(digits, sparse):
    X = csr_array(digits[0][:40]) if sparse else digits[0][:40]
    rows = SharedRows(X)
    for kernel, name, options in [
        (Gaussian(0.3), "rbf", {"gamma": 0.3}),
        (Linear(), "linear", {}),
        (Polynomial(0.5, 2, 1.0), "poly", {"gamma": 0.5, "degree": 2, "coef0": 1.0}),
    ]:
        expected = pairwise_kernels(X, metric=name, **options)
        np.testing.assert_allclose(rows.gram(kernel), expected, rtol=1e-12)
        np.testing.assert_allclose(kernel.between(X[:5], X), expected[:5], rtol=1e-12)
        np.testing.assert_allclose(kernel.diagonal(X), expected.diagonal(), rtol=1e-12)
        some = np.array([3, 1, 30])
        np.testing.assert_allclose(
            rows.gram_of(kernel, some), expected[np.ix_(some, some)], rtol=1e-12
        )


def test_the_width_scale_is_that_of_scikit_learn(digits):
    X, _ = digits
    assert settle_kernel("rbf", X, None, "scale", 3, 0.0).gamma == 1 / (64 * X.var())
    assert settle_kernel("rbf", csr_array(X), None, "scale", 3, 0.0).gamma == pytest.approx(
        1 / (64 * X.var())
    )
    assert settle_kernel("rbf", X, None, "auto", 3, 0.0).gamma == 1 / 64
    assert settle_kernel("rbf", X, 2.0, "scale", 3, 0.0).gamma == 0.25
    weights = np.arange(500) % 3.0
    repeated = np.repeat(X, weights.astype(int), axis=0)
    for rows in (X, csr_array(X)):
        weighted = settle_kernel("rbf", rows, None, "scale", 3, 0.0, weights)
        assert weighted.gamma == pytest.approx(1 / (64 * repeated.var()))


@pytest.mark.parametrize("code", ["one_vs_one", "one_vs_rest", "minimal"])
def test_columns_on_the_shared_gram_equal_machines_of_their_own(digits, code):
    X, y = digits
    shared = pc.PolychotomyClassifier(pc.SVM(C=5, gamma=0.05, tol=1e-8), code).fit(X, y)
    single = pc.PolychotomyClassifier(SVC(C=5, gamma=0.05, tol=1e-8), code).fit(X, y)
    np.testing.assert_allclose(shared.binary_scores(X), single.binary_scores(X), atol=1e-4)
    np.testing.assert_allclose(shared.predict_proba(X), single.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("machine", [pc.SVM(tol=1e-8), pc.KernelLogisticRegression(tol=1e-8)])
def test_a_memory_limit_changes_the_way_but_not_the_answer(digits, machine):
    X, y = digits
    clf = pc.PolychotomyClassifier(machine, "one_vs_one")
    free = clone(clf).fit(X, y)
    tight = clone(clf).set_params(machine__memory_limit=500_000).fit(X, y)
    np.testing.assert_allclose(tight.binary_scores(X), free.binary_scores(X), atol=1e-5)
    np.testing.assert_allclose(tight.predict_proba(X), free.predict_proba(X), atol=1e-5)


def test_kernel_logistic_regression_needs_the_gram_matrix_of_a_column(digits):
    X, y = digits
    clf = pc.PolychotomyClassifier(pc.KernelLogisticRegression(memory_limit=1000), "one_vs_one")
    with pytest.raises(MemoryError, match=r"0 against 1 has 1\d\d rows, whose Gram matrix of"):
        clf.fit(X, y)


@pytest.mark.parametrize("machine", [pc.SVM(), pc.KernelLogisticRegression()])
@pytest.mark.usefixtures("several_blas_threads")
def test_jobs_change_nothing(digits, machine):
    X, y = digits
    one = pc.PolychotomyClassifier(machine).fit(X, y)
    two = pc.PolychotomyClassifier(machine, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.binary_scores(X), two.binary_scores(X))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_decoders_that_train_and_compare_work_on_shared_grams(digits):
    X, y = digits
    nest = pc.PolychotomyClassifier(pc.SVM(C=1.0), decoder="nesting").fit(X, y)
    assert nest.score(X, y) > 0.8
    some = ["max_wins", "pairwise_coupling", "nesting", "binary_tree", "bayesian"]
    rows = pc.compare_decoders(pc.PolychotomyClassifier(pc.SVM(C=5)), X, y, some).rows
    assert rows[0]["error"] < 0.05


def test_grid_search_over_a_machine(digits):
    X, y = digits
    clf = pc.PolychotomyClassifier(pc.SVM())
    search = GridSearchCV(clf, {"machine__C": [0.01, 10.0], "machine__sigma2": [1.0, 100.0]}, cv=3)
    assert search.fit(X, y).best_params_["machine__C"] == 10.0


def test_a_solver_at_its_limit_names_the_binary_problem():
    X, y = make_blobs(90, centers=3, cluster_std=3.0, random_state=0)
    labels = np.array(["a", "b", "c"])[y]
    with pytest.warns(ConvergenceWarning, match="the binary problem 'a' against 'b' and 2 more"):
        pc.PolychotomyClassifier(pc.SVM(C=100.0, max_iter=3)).fit(X, labels)
    with pytest.warns(ConvergenceWarning, match="the binary problem 1 against 0"):
        pc.SVM(C=100.0, max_iter=3).fit(X[y < 2], y[y < 2])


@pytest.mark.parametrize("machine", [pc.SVM, pc.KernelLogisticRegression])
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"C": 0.0}, r"'C' parameter of \w+ must be a float in the range \(0.0, inf.*Got 0.0"),
        ({"C": "1"}, r"'C' parameter of \w+ must be a float in the range"),
        ({"C": float("nan")}, "'C' parameter"),
        ({"C": True}, "'C' parameter"),
        ({"sigma2": -1.0}, r"'sigma2' .* must be a float in the range \(0.0, inf\) or None"),
        ({"gamma": "scael"}, "Unknown gamma 'scael'. Did you mean 'scale'"),
        ({"kernel": "rbg"}, "Unknown kernel 'rbg'. Did you mean 'rbf'"),
        ({"kernel": 3}, "Unknown kernel 3"),
        ({"gamma": 0.0}, "'gamma' .* must be a str among {'auto', 'scale'} or a float"),
        ({"kernel": "linear", "gamma": "scael"}, "Unknown gamma 'scael'"),
        ({"degree": -1}, r"'degree' .* must be a float in the range \[0.0, inf\). Got -1 instead"),
        ({"degree": "3"}, "'degree' parameter"),
        ({"coef0": float("inf")}, r"'coef0' .* must be a float in the range \(-inf, inf\)"),
        ({"tol": 0.0}, "'tol' parameter"),
        ({"max_iter": -2}, r"'max_iter' .* must be an int in the range \[-1, inf\)"),
        ({"max_iter": 2.5}, "'max_iter' parameter"),
        ({"memory_limit": 0}, "'memory_limit' .* or None. Got 0 instead"),
    ],
)
def test_bad_parameters(machine, options, sentence):
    X, y = make_blobs(30, centers=2, random_state=0)
    with pytest.raises(ValueError, match=sentence):
        machine(**options).fit(X, y)
    with pytest.raises(ValueError, match=sentence):
        pc.PolychotomyClassifier(machine(**options)).fit(X, y)


def test_only_a_support_vector_machine_has_a_hard_margin_and_indefinite_kernels():
    X, y = make_blobs(40, centers=2, random_state=0)
    with pytest.raises(ValueError, match="'C' parameter of KernelLogisticRegression"):
        pc.KernelLogisticRegression(C=np.inf).fit(X, y)
    with pytest.raises(ValueError, match="'C' parameter of LSSVM"):
        pc.LSSVM(C=np.inf).fit(X, y)
    with pytest.raises(ValueError, match="cannot take kernel='sigmoid': its Gram matrix is not"):
        pc.KernelLogisticRegression(kernel="sigmoid").fit(X, y)
    with pytest.raises(ValueError, match="The Gram matrix is not positive semidefinite"):
        pc.LSSVM(kernel="sigmoid").fit(X, y)


def test_klr_names_an_indefinite_function_as_the_cause():
    X, y = load_iris(return_X_y=True)

    def distance(A, B):
        return cdist(A, B)

    with pytest.raises(ValueError, match="kernel=this function: its Gram matrix is not positive"):
        pc.KernelLogisticRegression(100.0, kernel=distance).fit(X, y == 1)
    with pytest.raises(ValueError, match="cannot take kernel='precomputed': its Gram matrix"):
        pc.KernelLogisticRegression(100.0, kernel="precomputed").fit(distance(X, X), y == 1)


@pytest.mark.parametrize("options", [{}, {"memory_limit": 1e4}], ids=["gram", "rows"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_hard_margin_is_one(kernel, options):
    X, y = make_blobs(120, centers=2, random_state=0, cluster_std=0.9)
    X, y = X[np.abs(X[:, 1] - 2.6) > 0.4], y[np.abs(X[:, 1] - 2.6) > 0.4]
    machine = pc.SVM(np.inf, kernel=kernel, tol=1e-8, **options).fit(X, y)
    margins = np.where(y == 1, 1, -1) * machine.decision_function(X)
    np.testing.assert_allclose(margins[machine.support_], 1.0, atol=1e-6)
    assert margins.min() > 1 - 1e-6
    # The sum of the weights is twice the dual objective, and |w|^2 the primal one.
    gram = machine._fitted.kernel.between(machine.support_vectors_, machine.support_vectors_)
    norm = (machine.dual_coef_ @ gram @ machine.dual_coef_.T).item()
    np.testing.assert_allclose(np.abs(machine.dual_coef_).sum(), norm, rtol=1e-6)


@pytest.mark.parametrize("options", [{}, {"memory_limit": 1e4}], ids=["gram", "rows"])
def test_no_hard_margin_is_warned_about(options):
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        pc.SVM(np.inf, kernel="linear", **options).fit(X, [0, 1, 0, 1])


def test_a_search_takes_an_infinite_C():
    X, y = make_blobs(60, centers=2, random_state=0)
    search = pc.TwoStepSearchCV(
        pc.PolychotomyClassifier(pc.SVM()), {"machine__C": [1.0, np.inf]}, cv=3
    ).fit(X, y)
    assert search.score(X, y) > 0.8


@pytest.mark.parametrize(("gamma", "coef0"), [(0.1, 0.0), (1.0, -1.0)])
@pytest.mark.parametrize("options", [{}, {"memory_limit": 1e4}], ids=["gram", "rows"])
def test_the_sigmoid_kernel_ends_in_a_stationary_point(gamma, coef0, options):
    X, y = make_blobs(120, centers=2, random_state=0, cluster_std=2.0)
    X = X - X.mean(axis=0)
    C = 2.0
    machine = pc.SVM(C, kernel="sigmoid", gamma=gamma, coef0=coef0, tol=1e-6, **options)
    machine.fit(X, y)
    gram = np.tanh(gamma * X @ X.T + coef0)
    signs = np.where(y == 1, 1.0, -1.0)
    beta = np.zeros(len(X))
    beta[machine.support_] = machine.dual_coef_[0]
    a = beta * signs
    assert a.min() >= 0
    assert a.max() <= C
    residual = signs - gram @ beta
    up = np.where(signs > 0, a < C, a > 0)
    down = np.where(signs > 0, a > 0, a < C)
    assert residual[up].max() - residual[down].min() <= 1e-5
    np.testing.assert_allclose(
        machine.decision_function(X), gram @ beta + machine.intercept_, atol=1e-9
    )


@pytest.mark.parametrize("options", [{}, {"memory_limit": 1e5}], ids=["gram", "rows"])
def test_kernels_may_be_sparse(options):
    X, y = make_blobs(150, centers=2, random_state=0, cluster_std=3.0)
    gram = rbf_kernel(X, gamma=0.1)
    p = pc.SVM(kernel="precomputed", **options).fit(gram, y).decision_function(gram)
    sparse = csr_array(gram)
    found = pc.SVM(kernel="precomputed", **options).fit(sparse, y).decision_function(sparse)
    np.testing.assert_allclose(found, p, atol=0.02)
    logistic = pc.KernelLogisticRegression(kernel="precomputed")
    q = logistic.fit(gram, y).predict_proba(gram)
    np.testing.assert_allclose(logistic.fit(sparse, y).predict_proba(sparse), q, atol=1e-6)
    callable_ = pc.SVM(kernel=lambda X, Z: csr_array(rbf_kernel(X, Z, gamma=0.1)), **options)
    np.testing.assert_allclose(callable_.fit(X, y).decision_function(X), p, atol=0.02)


def test_three_classes_need_a_code():
    X, y = make_blobs(30, centers=3, random_state=0)
    with pytest.raises(ValueError, match=r"use PolychotomyClassifier\(SVM\(\)\)"):
        pc.SVM().fit(X, y)


@pytest.mark.parametrize("machine", [pc.SVM(), pc.KernelLogisticRegression()])
def test_odd_data(machine):
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 10)
    constant = np.ones((20, 3))
    assert set(machine.fit(constant, y).predict(constant)) <= {0, 1}
    twice = np.repeat(rng.normal(size=(10, 2)), 2, axis=0)  # the same rows, opposite labels
    np.testing.assert_allclose(machine.fit(twice, y).decision_function(twice), 0.0, atol=0.02)
    single = machine.fit(np.array([[0.0], [1.0]]), [0, 1])
    np.testing.assert_array_equal(single.predict([[0.0], [1.0]]), [0, 1])
    X = rng.normal(size=(20, 2))
    for scale in (1e-150, 1e150):
        assert np.isfinite(machine.fit(X * scale, y).decision_function(X * scale)).all()
    with pytest.warns(UserWarning, match="cannot tell rows apart"):
        machine.fit(X * 1e-300, y)
    assert np.isfinite(machine.decision_function(X * 1e-300)).all()


@pytest.mark.parametrize("machine", [pc.SVM(), pc.KernelLogisticRegression(), pc.LSSVM()])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "poly"])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_inputs_that_are_too_large_are_refused_by_name(machine, kernel, form):
    huge = 1e308 if kernel == "laplacian" else 1e300
    X = np.random.default_rng(0).normal(size=(20, 3))
    machine = clone(machine).set_params(kernel=kernel)
    with pytest.raises(ValueError, match=r"X has entries as large as .*MaxAbsScaler"):
        machine.fit(form(X / np.abs(X).max() * huge), np.tile([0, 1], 10))
    scaled = make_pipeline(MaxAbsScaler(), machine).fit(X * 1e300, np.tile([0, 1], 10))
    assert np.isfinite(scaled.decision_function(X * 1e300)).all()


@pytest.mark.parametrize("machine", [pc.SVM(), pc.KernelLogisticRegression()])
@pytest.mark.parametrize("limit", [None, 1e3])
def test_a_precomputed_kernel_has_to_be_square(machine, limit):
    clf = clone(machine).set_params(kernel="precomputed", memory_limit=limit)
    with pytest.raises(ValueError, match=r"X must be the square matrix .* 20 rows and 3 columns"):
        clf.fit(np.ones((20, 3)), np.tile([0, 1], 10))


def test_inputs_are_not_kept(cancer):
    X, y = cancer
    X = X.copy()
    expected = X.copy()
    svm = pc.SVM().fit(X, y)
    before = svm.decision_function(expected)
    X[:] = 0.0
    np.testing.assert_array_equal(svm.decision_function(expected), before)


@pytest.mark.parametrize("machine", [pc.SVM(), pc.KernelLogisticRegression(), pc.LSSVM()])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_types_of_numbers_are_made_double(machine, dtype):
    X = (16 * load_digits(return_X_y=True)[0][:200]).astype(dtype)
    y = load_digits(return_X_y=True)[1][:200]
    clf = pc.PolychotomyClassifier(machine, "one_vs_rest")
    double = clone(clf).fit(X.astype(np.float64), y)
    other = clone(clf).fit(X, y)
    np.testing.assert_array_equal(
        other.binary_scores(X.astype(np.float64)), double.binary_scores(X.astype(np.float64))
    )


# ---------------------------------------------------------------------------- the Laplacian kernel


@pytest.mark.parametrize("machine", [pc.SVM, pc.KernelLogisticRegression, pc.LSSVM])
def test_the_laplacian_kernel_is_scikit_learns(cancer, machine):
    X, y = cancer[0][:120], cancer[1][:120]
    options = {"C": 2.0} if machine is pc.LSSVM else {"C": 2.0, "tol": 1e-8}
    ours = machine(kernel="laplacian", gamma=0.03, **options).fit(X, y)
    theirs = machine(kernel=lambda A, B: laplacian_kernel(A, B, gamma=0.03), **options).fit(X, y)
    new = cancer[0][120:150]
    expected = theirs.decision_function(new)
    np.testing.assert_allclose(ours.decision_function(new), expected, atol=1e-5)
    sparse = machine(kernel="laplacian", gamma=0.03, **options).fit(csr_array(X), y)
    np.testing.assert_allclose(sparse.decision_function(csr_array(new)), expected, atol=1e-5)


def test_the_width_of_the_laplacian_kernel(cancer):
    X, y = cancer[0][:120], cancer[1][:120]
    n_features = X.shape[1]

    assert settle_kernel("laplacian", X, None, "auto", 3, 0.0).gamma == 1 / n_features
    scale = settle_kernel("laplacian", X, None, "scale", 3, 0.0).gamma
    assert scale == pytest.approx(1 / (n_features * X.std()))
    # The unit of the inputs does not matter.
    plain = pc.SVM(kernel="laplacian", tol=1e-8).fit(X, y).decision_function(X)
    other = pc.SVM(kernel="laplacian", tol=1e-8).fit(1000 * X, y).decision_function(1000 * X)
    np.testing.assert_allclose(other, plain, atol=1e-5)
    for sigma2 in (1.0, "evidence"):
        with pytest.raises(ValueError, match="sigma2 is the width of the Gaussian kernel"):
            pc.LSSVM(kernel="laplacian", sigma2=sigma2).fit(X, y)


def test_laplacian_grams_and_blocks_are_the_same(cancer):
    X = cancer[0][:40]
    kernel = Laplacian(gamma=0.1)
    rows = SharedRows(X)
    expected = np.exp(-0.1 * np.abs(X[:, None] - X).sum(axis=2))
    np.testing.assert_allclose(rows.gram(kernel), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel.between(X[:5], X), expected[:5], rtol=1e-12)
    np.testing.assert_array_equal(rows.gram_of(kernel, np.arange(5)), rows.gram(kernel)[:5, :5])
    np.testing.assert_array_equal(kernel.diagonal(X), 1.0)
