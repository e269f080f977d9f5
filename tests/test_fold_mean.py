"""The mean of one copy of a classifier for every fold."""

import io

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import polychotomy as pc
from polychotomy.ensemble.fold_mean import FoldMean
from polychotomy.export import check_against

X, Y = load_wine(return_X_y=True)
NAMES = np.array(["barolo", "grignolino", "barbera"])[Y]
FOLDS = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, Y))


def through_a_file(clf):
    file = io.BytesIO()
    pc.save(clf, file)
    file.seek(0)
    return pc.load(file)


@pytest.mark.parametrize("weighted", [False, True])
def test_against_copies_by_hand(weighted):
    weights = np.arange(len(Y)) % 3 + 1.0 if weighted else None
    clf = FoldMean(GaussianNB(), cv=FOLDS)
    p = clf.fit_out_of_fold(X, NAMES, weights)
    mean = 0.0
    for train, test in FOLDS:
        one = GaussianNB().fit(X[train], NAMES[train], None if weights is None else weights[train])
        np.testing.assert_array_equal(p[test], one.predict_proba(X[test]))
        mean = mean + one.predict_proba(X) / 3
    np.testing.assert_allclose(clf.predict_proba(X), mean, rtol=1e-14)


def test_rows_of_weight_0_do_not_count():
    weights = np.arange(len(Y)) % 2.0
    one, two = FoldMean(GaussianNB()), FoldMean(GaussianNB())
    p, q = one.fit_out_of_fold(X, Y, weights), two.fit_out_of_fold(X[1::2], Y[1::2])
    np.testing.assert_allclose(p, q, rtol=1e-12)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), rtol=1e-12)


def test_copies_have_different_seeds():
    clf = FoldMean(DecisionTreeClassifier(random_state=0)).fit(X, Y)
    assert len({model.random_state for model in clf.models_}) == 5
    again = FoldMean(DecisionTreeClassifier(random_state=0)).fit(X, Y)
    np.testing.assert_array_equal(clf.predict_proba(X), again.predict_proba(X))


def test_a_fold_may_lack_a_class():
    # The class of one row is known to the copies that have seen it.
    labels = np.r_[Y, 3]
    clf = FoldMean(GaussianNB(var_smoothing=1e-3), cv=3)
    with pytest.warns(UserWarning, match="Class 3 has fewer rows"):
        p = clf.fit_out_of_fold(np.vstack([X, X[:1]]), labels)
    assert p[-1, 3] == 0.0
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)


def test_without_rows_to_hold_out_there_is_one_model():
    clf = FoldMean(DecisionTreeClassifier())
    with pytest.warns(UserWarning, match="fewer rows"):
        assert clf.fit_out_of_fold(X[[0, 70, 150]], Y[[0, 70, 150]]) is None
    assert len(clf.models_) == 1
    np.testing.assert_array_equal(clf.predict(X[[0, 70, 150]]), Y[[0, 70, 150]])
    # Nor with a class that would be alone in a training part.
    with pytest.warns(UserWarning, match="fewer rows"):
        assert FoldMean(DecisionTreeClassifier()).fit_out_of_fold(X[:9], np.arange(9) < 1) is None


def test_files_and_graphs_give_the_same():
    trees = ExtraTreesClassifier(5, max_features=None, random_state=0)
    clf = FoldMean(trees, cv=3).fit(X[::2], NAMES[::2])
    np.testing.assert_array_equal(through_a_file(clf).predict_proba(X), clf.predict_proba(X))
    pytest.importorskip("onnxruntime")
    assert check_against(pc.to_onnx(clf, X), clf, X) < 1e-6


@pytest.mark.parametrize("models", [[], [GaussianNB().fit(X, Y)], [GaussianNB()]])
def test_files_with_other_models_are_refused(models):
    clf = FoldMean(GaussianNB()).fit(X[:, :5], NAMES)
    clf.models_ = models
    with pytest.raises(pc.persistence.ModelFileError):
        through_a_file(clf)


@parametrize_with_checks([FoldMean(LogisticRegression(), cv=2)])
def test_sklearn_checks(estimator, check):
    check(estimator)
