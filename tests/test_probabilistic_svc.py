"""The drop-in for SVC(probability=True)."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import polychotomy as pc


@pytest.mark.filterwarnings("ignore:Class.*fewer rows than the 5 folds:UserWarning")
@parametrize_with_checks([pc.ProbabilisticSVC(tol=1e-8)])
def test_sklearn_checks(estimator, check):
    check(estimator)


SETS = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}


@pytest.fixture(params=SETS)
def data(request):
    X, y = SETS[request.param](return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize(
    "options",
    [
        {"C": 2.0},
        {"C": 0.5, "gamma": 0.02},
        {"kernel": "linear"},
        {"kernel": "poly", "degree": 2, "coef0": 1.0},
        {"class_weight": "balanced"},
        {"class_weight": {0: 3.0, 1: 1.0}},
    ],
    ids=str,
)
def test_the_solution_is_laid_out_as_scikit_learn_does(data, options):
    X, y = data
    ours = pc.ProbabilisticSVC(tol=1e-8, **options).fit(X, y)
    theirs = SVC(tol=1e-8, decision_function_shape="ovo", **options).fit(X, y)
    np.testing.assert_allclose(
        ours.set_params(decision_function_shape="ovo").decision_function(X),
        theirs.decision_function(X),
        atol=1e-3,
    )
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    # Rows whose weight is as good as 0 may count as support vectors on one side only.
    dense = np.zeros((2, *theirs.dual_coef_.shape[:1], len(X)))
    dense[0][:, ours.support_] = ours.dual_coef_
    dense[1][:, theirs.support_] = theirs.dual_coef_
    kernel = SVC(**{**options, "class_weight": None}).fit(X, y)
    assert ours.dual_coef_.shape[0] == kernel.dual_coef_.shape[0]
    for row in range(dense.shape[1]):
        np.testing.assert_allclose(dense[0, row].sum(), dense[1, row].sum(), atol=1e-2)
    assert ours.n_support_.sum() == len(ours.support_)
    np.testing.assert_array_equal(ours.support_vectors_, X[ours.support_])
    np.testing.assert_array_equal(np.sort(y[ours.support_]), y[ours.support_])


def test_probabilities_are_near_those_of_libsvm(data):
    X, y = data
    ours = pc.ProbabilisticSVC(C=2.0).fit(X, y).predict_proba(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # which it is in newer versions
        theirs = SVC(C=2.0, probability=True, random_state=0).fit(X, y).predict_proba(X)
    assert np.abs(ours - theirs).mean() < 0.03


def test_predict_agrees_with_the_probabilities_and_nothing_is_random(data):
    X, y = data
    clf = pc.ProbabilisticSVC(C=2.0).fit(X, y)
    p = clf.predict_proba(X)
    np.testing.assert_array_equal(clf.classes_[p.argmax(axis=1)], clf.predict(X))
    np.testing.assert_array_equal(np.exp(clf.predict_log_proba(X)), np.exp(np.log(p)))
    np.testing.assert_array_equal(pc.ProbabilisticSVC(C=2.0).fit(X, y).predict_proba(X), p)
    both = pc.ProbabilisticSVC(C=2.0, n_jobs=2).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(both, p)


def test_sparse_and_precomputed(data):
    X, y = data
    p = pc.ProbabilisticSVC(gamma=0.05, tol=1e-8).fit(X, y).predict_proba(X)
    sparse = pc.ProbabilisticSVC(gamma=0.05, tol=1e-8).fit(csr_array(X), y)
    np.testing.assert_allclose(sparse.predict_proba(csr_array(X)), p, atol=1e-5)
    gram = rbf_kernel(X, gamma=0.05)
    precomputed = pc.ProbabilisticSVC(kernel="precomputed", tol=1e-8).fit(gram, y)
    np.testing.assert_allclose(precomputed.predict_proba(gram), p, atol=1e-5)
    assert precomputed.support_vectors_.shape == (0, 0)


def test_unknown_shape():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="Unknown decision_function_shape 'ova'"):
        pc.ProbabilisticSVC(decision_function_shape="ova").fit(X, y)
