"""LS-SVMs as binary classifiers and as the machines of a code."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import StandardScaler

import polychotomy as pc


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


def test_leave_one_out_needs_a_formula():
    X, y = make_blobs(60, centers=3, random_state=0)
    with pytest.raises(ValueError, match=r"; SVM has none\. Choose a number of folds"):
        pc.PolychotomyClassifier(pc.SVM(), cv="leave_one_out").fit(X, y)
    with pytest.raises(ValueError, match="Unknown cv 'loo'"):
        pc.PolychotomyClassifier(pc.SVM(), cv="loo").fit(X, y)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"C": "evidenc"}, "C must be 'evidence' or a positive number"),
        ({"C": -1.0}, "C must be a positive number"),
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
