"""The ensemble of nested dichotomies: a mean of pipes, and scikit-learn's checks."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

import polychotomy as pc

X, y = load_digits(return_X_y=True)
# Neighbouring rows are by the same writer: every fourth is taken, so that all rows are alike.
X, y, NEW, TRUE = X[::4] / 16, y[::4], X[1::4] / 16, y[1::4]


def logistic():
    return LogisticRegression(solver="newton-cholesky", tol=1e-12)


@pytest.mark.parametrize("tree", ["random", "balanced", "random_pair"])
def test_the_answer_is_the_mean_of_different_trees(tree):
    clf = pc.NestedDichotomies(logistic(), tree, 4, tempering=None, random_state=3).fit(X, y)
    assert len({each.codebook_ for each in clf.trees_}) == 4
    each = [
        pc.PolychotomyClassifier(logistic(), one.codebook_).fit(X, y).predict_proba(NEW)
        for one in clf.trees_
    ]
    own = [one.predict_proba(NEW) for one in clf.trees_]
    np.testing.assert_allclose(clf.predict_proba(NEW), np.mean(own, axis=0), atol=1e-12)
    # CodeCoupling, the default of a matrix, finds the same p: a tree can fit any r exactly.
    np.testing.assert_allclose(np.mean(each, axis=0), np.mean(own, axis=0), atol=1e-5)
    single = np.mean([(p.argmax(axis=1) == TRUE).mean() for p in own])
    assert clf.score(NEW, TRUE) > single
    again = pc.NestedDichotomies(logistic(), tree, 4, tempering=None, random_state=3, n_jobs=2).fit(
        X, y
    )
    assert np.array_equal(again.predict_proba(NEW), clf.predict_proba(NEW))


def test_tempering_is_fitted_on_the_mean_of_rows_that_were_not_seen():
    weights = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.0 + (np.arange(len(y)) % 3))
    clf = pc.NestedDichotomies(logistic(), n_trees=3, random_state=0).fit(X, y, weights)
    p = np.mean(
        [
            pc.PolychotomyClassifier(
                logistic(), "nested", random_state=one.random_state
            ).fit_out_of_fold(X, y, weights)
            for one in clf.trees_
        ],
        axis=0,
    )
    wanted = pc.Tempering().fit(p, y[weights > 0], weights[weights > 0])
    flat = np.mean([one.predict_proba(NEW) for one in clf.trees_], axis=0)
    np.testing.assert_allclose(clf.predict_proba(NEW), wanted.transform(flat), atol=1e-12)
    np.testing.assert_allclose(clf.predict_proba(NEW).sum(axis=1), 1.0)

    def nll(p):
        return -np.log(p[np.arange(len(TRUE)), TRUE]).mean()

    assert nll(clf.predict_proba(NEW)) < nll(flat)


def test_two_classes_have_one_tree():
    two = y < 5
    clf = pc.NestedDichotomies(logistic(), tempering=None).fit(X, two)
    assert len(clf.trees_) == 1
    wanted = logistic().fit(X, two).predict_proba(NEW)
    np.testing.assert_allclose(clf.predict_proba(NEW), wanted, atol=1e-8)


def test_metadata_routing():
    wine, kind = load_wine(return_X_y=True)
    wine, weights = scale(wine), np.arange(len(kind)) % 2 + 1.0
    plain = pc.NestedDichotomies(logistic(), n_trees=2, random_state=0).fit(wine, kind, weights)
    with sklearn.config_context(enable_metadata_routing=True):
        machine = logistic().set_fit_request(sample_weight=True)
        routed = pc.NestedDichotomies(machine, n_trees=2, random_state=0)
        routed.fit(wine, kind, sample_weight=weights)
        assert routed.get_metadata_routing().consumes("fit", ["sample_weight"])
    assert np.array_equal(plain.predict_proba(wine), routed.predict_proba(wine))


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"tree": "centroid"}, ValueError, "For one given tree use PolychotomyClassifier"),
        ({"tree": [0, [1, 2]]}, ValueError, "draw different trees"),
        ({"n_trees": 0}, ValueError, "n_trees must be a positive integer"),
        ({"tempering": "hot"}, TypeError, "tempering must be None"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(options, error, sentence):
    with pytest.raises(error, match=sentence):
        pc.NestedDichotomies(**options).fit(X, y)


@pytest.mark.filterwarnings("ignore:Class.*fewer rows than the 2 folds:UserWarning")
@parametrize_with_checks([pc.NestedDichotomies(logistic(), n_trees=2, cv=2, random_state=0)])
def test_sklearn_checks(estimator, check):
    check(estimator)
