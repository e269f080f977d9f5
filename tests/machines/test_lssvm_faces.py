"""LS-SVMs as binary classifiers and as the machines of a code."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import StandardScaler

import polychotomy as pc
from polychotomy.machines.base import TrainingOptions

from . import lssvm_twins as twins


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_scores_are_those_of_centred_ridge_regression(cancer):
    """With a linear kernel on centred inputs the bias is the mean of the targets."""
    X, y = cancer
    targets = 2.0 * y - 1.0
    lssvm = pc.LSSVM(C=0.1, kernel="linear").fit(X, y)
    ridge = KernelRidge(alpha=10.0, kernel="linear").fit(X, targets - targets.mean())
    np.testing.assert_allclose(lssvm.latent(X)[0], ridge.predict(X) + targets.mean(), rtol=1e-7)
    kernel = X @ lssvm.support_vectors_.T
    by_hand = kernel @ lssvm.dual_coef_[0] + lssvm.intercept_
    np.testing.assert_allclose(lssvm.latent(X)[0], by_hand, rtol=1e-10)


def test_moderated_outputs_are_equations_10_and_11(cancer):
    X, y = cancer
    lssvm = pc.LSSVM().fit(X[::2], y[::2])
    mean, variance = lssvm.latent(X)
    spread = 1.0 / lssvm.zeta_ + variance
    prior = y[::2].mean()
    positive = prior * np.exp(-((1.0 - mean) ** 2) / (2.0 * spread))
    negative = (1.0 - prior) * np.exp(-((1.0 + mean) ** 2) / (2.0 * spread))
    p = lssvm.predict_proba(X)[:, 1]
    np.testing.assert_allclose(p, positive / (positive + negative), rtol=1e-9)
    assert lssvm.C_ == pytest.approx(lssvm.zeta_ / lssvm.mu_)


def test_the_evidence_chooses_a_width_that_generalises(cancer):
    X, y = cancer
    chosen = pc.LSSVM(sigma2="evidence").fit(X[::2], y[::2])
    assert 1.0 < chosen.sigma2_ < 1000.0
    assert chosen.score(X[1::2], y[1::2]) > 0.94
    fixed = pc.LSSVM(sigma2=chosen.sigma2_).fit(X[::2], y[::2])
    np.testing.assert_allclose(fixed.decision_function(X), chosen.decision_function(X), rtol=1e-6)
    assert pc.LSSVM(kernel="linear").fit(X, y).sigma2_ is None


@pytest.mark.parametrize(
    ("code", "sigma2"),
    # With "evidence", widths tried for one column on the same rows are offered to the others too.
    [("one_vs_one", 2.0), ("one_vs_rest", 2.0), ("minimal", 2.0), ("one_vs_one", "evidence")],
)
def test_columns_equal_machines_of_their_own(iris, code, sigma2):
    X, y = iris
    shared = pc.PolychotomyClassifier(pc.LSSVM(sigma2=sigma2), code).fit(X, y)
    scores = shared.binary_scores(X)
    for column, word in enumerate(shared.codebook_.matrix.T):
        used = word[y] != 0
        single = pc.LSSVM(sigma2=sigma2).fit(X[used], word[y][used])
        np.testing.assert_allclose(scores[:, column], single.latent(X)[0], atol=1e-4)


def test_one_shared_width(iris):
    X, y = iris
    machine = pc.LSSVM(sigma2="evidence", shared_sigma2=True)
    shared = pc.PolychotomyClassifier(machine, "one_vs_rest").fit(X, y)
    assert len(shared.machines_.fitted.pieces) == 1
    machine = pc.LSSVM(sigma2="evidence")
    own = pc.PolychotomyClassifier(machine, "one_vs_rest").fit(X, y)
    assert len(own.machines_.fitted.pieces) > 1


def test_bayesian_decoding_reads_variance_and_noise(iris):
    """VANGESTEL (19): the class of least weighted squared error."""
    X, y = iris
    clf = pc.PolychotomyClassifier(pc.LSSVM(), "one_vs_rest", decoder="bayesian").fit(X, y)
    margins = clf.machines_.margins(X, True)
    spread = 2.0 * (margins.noise + margins.variance)
    cost = np.stack(
        [((1.0 - word * margins.mean) ** 2 / spread).sum(axis=1) for word in clf.codebook_.matrix],
        axis=1,
    )
    p = np.exp(-cost) / np.exp(-cost).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(clf.predict_proba(X), p, atol=1e-12)


def test_a_calibrator_replaces_the_likelihoods(iris):
    X, y = iris
    parts = {"machine": pc.LSSVM(), "code": "one_vs_rest", "decoder": "bayesian"}
    own = pc.PolychotomyClassifier(**parts).fit(X, y)
    platt = pc.PolychotomyClassifier(**parts, calibrator="platt").fit(X, y)
    assert not np.allclose(own.predict_proba(X), platt.predict_proba(X))


@pytest.mark.parametrize("code", ["one_vs_one", "one_vs_rest"])
def test_leave_one_out_scores_are_those_of_n_refits(iris, code):
    X, y = iris[0][::3], iris[1][::3]
    seen = {}

    class Spy(pc.Platt):
        def fit(self, margins, labels, weights=None):
            seen["scores"] = margins.mean
            return super().fit(margins, labels, weights)

    machine = pc.LSSVM(C=2.0, sigma2=2.0)
    pc.PolychotomyClassifier(machine, code, Spy(), cv="leave_one_out").fit(X, y)
    clf = pc.PolychotomyClassifier(machine, code, "none", decoder="hamming")
    for row in range(0, len(y), 7):
        others = np.arange(len(y)) != row
        refit = clone(clf).fit(X[others], y[others])
        used = refit.codebook_.matrix[y[row]] != 0
        np.testing.assert_allclose(
            seen["scores"][row, used], refit.binary_scores(X[[row]])[0, used], rtol=1e-7
        )


def fixed(X, labels, weights, **options):
    """Fit the columns of labels at a given C; return them, and what they are fitted with."""
    columns = pc.LSSVM(**options).as_columns()
    state = columns.prepare(X)
    plain = TrainingOptions(describe=str, counts=weights)
    (fitted,) = columns.fit(state, labels, [np.arange(len(X))], weights, plain)
    return columns, fitted, (state, labels, np.arange(len(X)), weights, plain)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.05, 3.0])
def test_a_given_c_equals_the_bordered_system_and_explicit_inverses(weighted, C):
    X, new = twins.rows(50, 30), twins.rows(51, 8)
    Y = twins.labels(50, 30)
    weights = twins.row_weights(50, 30) if weighted else None
    columns, fitted, arguments = fixed(X, Y.astype(np.int8), weights, C=C, sigma2=1.0)
    K, cross = twins.gaussian(X), twins.gaussian(new, X)
    a, b = twins.bordered(K, Y, C, weights)
    np.testing.assert_allclose(fitted.coefficients, a, rtol=1e-10)
    np.testing.assert_allclose(fitted.biases, b, rtol=1e-10)
    margins = columns.margins(fitted, new, probability=True)
    np.testing.assert_allclose(margins.mean, cross @ a + b, rtol=1e-10)
    v = twins.ones_or(weights, 30)
    bordered = np.ones((31, 31))
    bordered[:30, :30] = K + np.diag(1 / (C * v))
    bordered[30, 30] = 0.0
    inverse = np.linalg.inv(bordered)
    for column, y in enumerate(Y.T):
        # y' P y = 2 (E_W + C E_D), with P the part of the inverse that belongs to the rows
        mu = 29 / (y @ inverse[:30, :30] @ y)
        found = fitted.pieces[0].hyperparameters
        np.testing.assert_allclose(found.mu[column], mu, rtol=1e-10)
        np.testing.assert_allclose(found.zeta[column], C * mu, rtol=1e-10)
        np.testing.assert_allclose(margins.noise[column], 1 / (C * mu), rtol=1e-10)
        border = np.column_stack([cross, np.ones(8)])
        variance = (1 - np.einsum("ij,jk,ik->i", border, inverse, border)) / mu
        np.testing.assert_allclose(margins.variance[:, column], variance, rtol=1e-9)
    scores = columns.leave_one_out_scores(fitted, *arguments).scores
    np.testing.assert_allclose(scores, twins.refits(K, Y, C, weights), rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "poly"])
def test_a_given_c_equals_the_same_c_found_by_evidence(kernel, weighted):
    """The one is solved by a Cholesky factor, the other by a tridiagonal matrix."""
    X = twins.rows(52, 40)
    y, new = twins.learnable(X, 52, 1)[:, 0], twins.rows(53)
    weights = twins.row_weights(52, 40) if weighted else None
    found = pc.LSSVM(kernel=kernel, coef0=1.0).fit(X, y, weights)
    given = pc.LSSVM(found.C_, kernel=kernel, coef0=1.0).fit(X, y, weights)
    for name in ("C_", "mu_", "zeta_", "dual_coef_", "intercept_"):
        np.testing.assert_allclose(getattr(given, name), getattr(found, name), rtol=1e-9)
    for ours, theirs in zip(given.latent(new), found.latent(new), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    left_out = [
        machine.as_columns()
        .leave_one_out_scores(machine._fitted, None, np.zeros((40, 1)), None, None, None)
        .scores
        for machine in (given, found)
    ]
    np.testing.assert_allclose(left_out[0], left_out[1], rtol=1e-9)


def test_a_given_c_with_a_width_found_by_evidence(iris):
    X, y = iris[0], iris[1] > 0
    found = pc.LSSVM(2.0, sigma2="evidence").fit(X, y)
    given = pc.LSSVM(2.0, sigma2=found.sigma2_).fit(X, y)
    np.testing.assert_allclose(found.latent(X), given.latent(X), rtol=1e-12)
    assert found.C_ == given.C_ == pytest.approx(2.0, rel=1e-14)


def test_the_scores_of_a_c_that_is_too_large_belong_to_the_c_that_is_told():
    machine = pc.LSSVM(1e20).fit(np.ones((2, 1)), [-1, 1])
    assert 1e12 < machine.C_ < 1e16
    np.testing.assert_allclose(machine.dual_coef_, machine.C_ * np.array([[-1, 1]]), rtol=1e-12)
    assert machine.zeta_ / machine.mu_ == pytest.approx(machine.C_, rel=1e-12)


def hyperbolic(A, B):
    return np.tanh(A @ B.T - 1.0)


@pytest.mark.parametrize("C", ["evidence", 1e-3, 1e3])
@pytest.mark.parametrize("kernel", [{"kernel": hyperbolic}, {"kernel": "poly", "coef0": -2.0}])
def test_kernels_that_are_not_semidefinite_are_refused(C, kernel):
    X, y = twins.rows(54), twins.labels(54, n_columns=1)[:, 0]
    with pytest.raises(ValueError, match="not positive semidefinite"):
        pc.LSSVM(C, **kernel, degree=2).fit(X, y)


def test_distances_that_are_lost_in_rounding_are_refused():
    X, y = twins.rows(54), twins.labels(54, n_columns=1)[:, 0]
    with pytest.raises(ValueError, match="not positive semidefinite"):
        pc.LSSVM(1e-3, sigma2=1.0).fit(X + 1e8, y)
    near = pc.LSSVM(1e-3, sigma2=1.0).fit(X, y)
    far = pc.LSSVM(1e-3, sigma2=1.0).fit(X + 1e4, y)
    np.testing.assert_allclose(far.latent(X + 1e4), near.latent(X), rtol=1e-6)


@pytest.mark.parametrize("C", [1e-300, 1.0, 1e20, 1e300])
@pytest.mark.parametrize(
    ("X", "y", "weights"),
    [
        (np.ones((10, 2)), np.tile([1, -1], 5), None),
        (np.full((10, 2), 3.7), np.tile([1, -1], 5), np.arange(1.0, 11.0)),
        (np.array([[0.0], [1.0]]), [1, -1], None),
        (np.ones((2, 1)), [1, -1], None),
        (1e-300 * twins.rows(55), twins.labels(55)[:, 0], None),
        (1e150 * twins.rows(55), twins.labels(55)[:, 0], None),
        (twins.rows(55), twins.labels(55)[:, 0], np.geomspace(1e-12, 1e12, 20)),
        (twins.rows(55), twins.labels(55)[:, 0], np.where(np.arange(20) < 9, 1e-300, 1e300)),
    ],
    ids=["constant", "rounded", "two rows", "equal rows", "tiny", "huge", "weights", "far apart"],
)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.filterwarnings("ignore:X has no entry larger:UserWarning")
def test_degenerate_rows_get_finite_answers_at_a_given_c(X, y, weights, C, kernel):
    machine = pc.LSSVM(C, kernel=kernel).fit(X, y, weights)
    mean, variance = machine.latent(X)
    assert np.isfinite(mean).all()
    assert (variance > 0).all()
    assert np.isfinite(variance).all()
    p = machine.predict_proba(X)
    assert ((p >= 0) & (p <= 1)).all()
    if np.ptp(X) == 0 and weights is None and C == 1.0:
        np.testing.assert_allclose(p, 0.5, atol=1e-12)
    for value in (machine.C_, machine.mu_, machine.zeta_):
        assert 0 < value < np.inf


def test_leave_one_out_needs_a_formula():
    X, y = make_blobs(60, centers=3, random_state=0)
    with pytest.raises(ValueError, match=r"; SVM has none\. Choose a number of folds"):
        pc.PolychotomyClassifier(pc.SVM(), cv="leave_one_out").fit(X, y)
    with pytest.raises(ValueError, match="Unknown cv 'loo'"):
        pc.PolychotomyClassifier(pc.SVM(), cv="loo").fit(X, y)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"C": "evidenc"},
            "'C' parameter of LSSVM must be a str among {'evidence', 'shared_evidence'}",
        ),
        ({"C": -1.0}, "'C' parameter of LSSVM"),
        ({"sigma2": "evidenc"}, "'sigma2' .* a str among {'evidence'} or a float .* or None"),
        ({"sigma2": "evidence", "degree": -1}, "'degree' parameter of LSSVM"),
        ({"occam": "yes"}, "'occam' .* must be an instance of 'bool'"),
        ({"shared_sigma2": 1}, "'shared_sigma2' parameter"),
        ({"kernel": "precomputed"}, "LSSVM cannot take kernel='precomputed'"),
    ],
)
def test_bad_parameters(options, sentence):
    X, y = make_blobs(30, centers=2, random_state=0)
    with pytest.raises(ValueError, match=sentence):
        pc.LSSVM(**options).fit(X, y)


@pytest.mark.usefixtures("several_blas_threads")
def test_jobs_change_nothing(iris):
    X, y = iris
    one = pc.PolychotomyClassifier(pc.LSSVM(sigma2="evidence")).fit(X, y)
    two = pc.PolychotomyClassifier(pc.LSSVM(sigma2="evidence"), n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
