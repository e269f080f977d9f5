"""Every binary machine with parameters of its own."""

import io

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

import polychotomy as pc

GRID = {"C": [0.1, 1.0, 10.0], "sigma2": [1.0, 30.0]}


def wine():
    X, y = load_wine(return_X_y=True)
    return scale(X), y


@pytest.mark.parametrize("machine", [pc.SVM(), pc.KernelLogisticRegression()])
def test_the_parameters_have_the_least_error_of_the_binary_problem(machine):
    X, y = load_breast_cancer(return_X_y=True)
    X, y, folds = scale(X)[::3], y[::3], StratifiedKFold(3)
    search = pc.MachineSearchCV(machine, GRID, None, cv=folds).fit(X, y)
    scores = {
        (C, sigma2): cross_val_score(
            clone(machine).set_params(C=C, sigma2=sigma2), X, y, cv=folds, scoring="accuracy"
        )
        for C in GRID["C"]
        for sigma2 in GRID["sigma2"]
    }
    sizes = [len(test) for _, test in folds.split(X, y)]
    right = {cell: np.dot(found, sizes) for cell, found in scores.items()}
    best = search.best_params_["C"], search.best_params_["sigma2"]
    assert right[best] == pytest.approx(max(right.values()))
    alone = clone(machine).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.decision_function(X), alone.decision_function(X))
    assert hasattr(search, "predict_proba") == hasattr(alone, "predict_proba")


def test_machines_of_a_code_choose_for_themselves():
    X, y = wine()
    machine = pc.MachineSearchCV(pc.SVM(), GRID, (0.5, 1.0, 2.0))
    clf = pc.PolychotomyClassifier(machine).fit(X, y)
    chosen = [tuple(each.best_params_.values()) for each in clf.estimators_]
    assert len(set(chosen)) > 1
    assert clf.score(X, y) > 0.98
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)
    for (i, j), each in zip([(0, 1), (0, 2), (1, 2)], clf.estimators_, strict=True):
        rows = (y == i) | (y == j)
        alone = clone(machine).fit(X[rows], y[rows] == i)
        assert alone.best_params_ == each.best_params_


def test_models_can_be_saved():
    X, y = wine()
    clf = pc.PolychotomyClassifier(pc.MachineSearchCV(fine=None), decoder="max_wins").fit(X, y)
    file = io.BytesIO()
    pc.save(clf, file)
    file.seek(0)
    again = pc.load(file)
    np.testing.assert_array_equal(again.decision_function(X), clf.decision_function(X))


def test_without_rows_to_hold_out_the_machine_keeps_its_parameters():
    search = pc.MachineSearchCV(pc.SVM(C=3.0)).fit([[0.0], [1.0]], [0, 1])
    assert search.best_params_ == {}
    assert search.machine_.C == 3.0
    with pytest.raises(ValueError, match=r"[Bb]inary|two classes|2 classes"):
        pc.MachineSearchCV().fit(*wine())


@parametrize_with_checks([pc.MachineSearchCV(pc.SVM(tol=1e-10), {"C": [1.0]}, None, cv=2)])
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_one_row_of_positive_weight_in_each_class_leaves_nothing_to_search():
    X, y = np.arange(8.0)[:, None], np.repeat([0, 1], 4)
    weights = np.where(np.isin(np.arange(8), [0, 7]), 1.0, 0.0)
    search = pc.MachineSearchCV(pc.SVM(), {"C": [1.0, 10.0]}, None).fit(X, y, weights)
    assert search.best_params_ == {}
    alone = pc.SVM().fit(X[[0, 7]], y[[0, 7]])
    np.testing.assert_allclose(search.predict(X), alone.predict(X))
