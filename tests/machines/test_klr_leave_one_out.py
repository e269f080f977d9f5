"""Leave-one-out scores of kernel logistic regression as calibration data."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

import polychotomy as pc
from polychotomy.machines.klr.columns import LARGEST_ERROR, UNTRUSTED_SHARE
from polychotomy.pipe.folds import FoldRows


class Spy(pc.Platt):
    """Remembers the scores it was fitted to."""

    seen: dict = {}  # noqa: RUF012

    def fit(self, margins, labels, weights=None):
        Spy.seen["scores"] = margins.mean
        return super().fit(margins, labels, weights)


def rows(load, step):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X)[::step], y[::step]


def fitted(C, sigma2, code, X, y, weights=None, **options):
    machine = pc.KernelLogisticRegression(C, sigma2=sigma2, tol=1e-9, **options)
    decoder = "pairwise_coupling" if code == "one_vs_one" else "code_coupling"
    clf = pc.PolychotomyClassifier(machine, code, Spy(), decoder, cv="leave_one_out")
    clf.fit(X, y, weights)
    return clf, Spy.seen["scores"]


@pytest.mark.parametrize("code", ["one_vs_one", "one_vs_rest"])
@pytest.mark.parametrize(("load", "C"), [(load_iris, 1.0), (load_wine, 10.0)])
def test_scores_are_near_those_of_n_refits(load, C, code):
    X, y = rows(load, 4)
    weights = np.where(np.arange(len(y)) % 5 == 0, 2.0, 1.0)
    weights[3] = 0.0
    clf, scores = fitted(C, 5.0, code, X, y, weights)
    assert clf.leave_one_out_columns_.all()
    used = np.flatnonzero(weights)
    plain = clone(clf).set_params(calibrator="none", cv=5, decoder="hamming")
    for place in range(0, len(used), 6):
        row = used[place]
        others = np.setdiff1d(used, [row])
        refit = clone(plain).fit(X[others], y[others], weights[others])
        own = clf.codebook_.matrix[y[row]] != 0
        np.testing.assert_allclose(
            scores[place, own], refit.binary_scores(X[[row]])[0, own], atol=1.5 * LARGEST_ERROR
        )


def test_columns_that_cannot_be_trusted_get_the_scores_of_folds():
    X, y = rows(load_iris, 1)
    clf, scores = fitted(1e4, 0.5, "one_vs_one", X, y)
    fallen = ~clf.leave_one_out_columns_
    assert fallen[2]  # versicolor and virginica are not apart
    assert not fallen.all()
    expected = np.zeros_like(scores)
    for train, test in FoldRows(X, y, np.arange(150), None).stratified():
        refit = clone(clf).set_params(calibrator="none", cv=5).fit(X[train], y[train])
        expected[test] = refit.binary_scores(X[test])
    own = clf.codebook_.matrix[y] != 0
    near = np.isclose(scores, expected, rtol=1e-4, atol=1e-4) | ~own
    np.testing.assert_array_equal(near.all(axis=0), fallen)
    assert 0.0 < UNTRUSTED_SHARE < 0.1


def test_memory_that_is_short_means_folds():
    X, y = rows(load_iris, 2)
    clf, _ = fitted(1.0, 5.0, "one_vs_one", X, y, memory_limit=8.0 * 50**2 * 3)
    assert not clf.leave_one_out_columns_.any()


@pytest.mark.filterwarnings("ignore:Class.*fewer rows than the 5 folds:UserWarning")
def test_a_class_of_one_row():
    X, y = rows(load_iris, 5)
    y = np.where(np.arange(len(y)) == 0, 3, y)
    clf, scores = fitted(1.0, 5.0, "one_vs_one", X, y)
    assert np.isfinite(scores).all()
    assert np.isfinite(clf.predict_proba(X)).all()


def test_folds_leave_no_mark():
    X, y = rows(load_iris, 3)
    clf = pc.PolychotomyClassifier(pc.KernelLogisticRegression(), cv="leave_one_out")
    assert not hasattr(clf.fit(X, y), "leave_one_out_columns_")  # nothing learns from scores
    clf.set_params(calibrator="platt").fit(X, y)
    assert clf.leave_one_out_columns_.shape == (3,)
    assert not hasattr(clf.set_params(cv=3).fit(X, y), "leave_one_out_columns_")


def test_weights_beyond_rounding_get_the_scores_of_folds():
    X, y = rows(load_iris, 3)
    X = np.round(X)
    weights = np.random.default_rng(0).choice([1e-100, 1.0, 1e100], len(y))
    machine = pc.KernelLogisticRegression(0.01, kernel="linear")
    clf = pc.PolychotomyClassifier(machine, "one_vs_one", Spy(), cv="leave_one_out")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        clf.fit(X, y, weights)
    assert not clf.leave_one_out_columns_.all()
    assert np.isfinite(Spy.seen["scores"]).all()
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)
