"""Searches beyond the exact range: on a sample of the rows, with the last fit on all of them."""

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csr_matrix
from sklearn.datasets import make_classification
from sklearn.model_selection import PredefinedSplit

import polychotomy as pc
from polychotomy.tuning.sample import Given, search_rows

X, Y = make_classification(400, 5, n_informative=4, n_classes=3, n_redundant=0, random_state=2)
GRID = {"machine__C": [0.1, 10.0], "machine__sigma2": [1.0, 10.0]}


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr("polychotomy.tuning.sample.SEARCH_ROWS", 120)
    monkeypatch.setattr("polychotomy.tuning.sample.SEARCH_LANDMARKS", 30)
    monkeypatch.setattr("polychotomy.tuning.sample.EXACT_SEARCH_ROWS", 100)
    monkeypatch.setattr("polychotomy.machines.auto.EXACT_ROWS", 150)
    monkeypatch.setattr("polychotomy.machines.auto.FIRST_NUMBER", 20)


def search(machine, cv=3):
    clf = pc.PolychotomyClassifier(machine, "one_vs_rest")
    return pc.TwoStepSearchCV(clf, coarse=GRID, fine=None, cv=cv, show_progress=False)


@pytest.mark.parametrize("Machine", [pc.SVM, pc.KernelLogisticRegression])
def test_the_search_is_that_of_the_sample_and_the_fit_that_of_all_rows(Machine):
    found = search(Machine(landmarks="auto")).fit(X, Y)
    rows = search_rows(Given(X, Y, None, {}))
    assert 120 <= len(rows) <= 130
    landmarks = None if Machine is pc.SVM else 30
    alone = search(Machine(landmarks=landmarks)).fit(X[rows], Y[rows])
    assert found.best_params_ == alone.best_params_
    np.testing.assert_array_equal(found.cv_results_["cv_error"], alone.cv_results_["cv_error"])
    whole = pc.PolychotomyClassifier(Machine(landmarks="auto"), "one_vs_rest", cv=3)
    whole.set_params(**found.best_params_).fit(X, Y)
    np.testing.assert_array_equal(found.decision_function(X), whole.decision_function(X))
    assert found.best_estimator_.machine.landmarks == "auto"


def test_the_sample_can_be_smaller_and_is_searched_exactly():
    machine = pc.KernelLogisticRegression(landmarks="auto")
    found = search(machine).set_params(max_rows=80).fit(X, Y)
    rows = search_rows(Given(X, Y, None, {}), most=80)
    assert 80 <= len(rows) < 90
    alone = search(pc.KernelLogisticRegression()).fit(X[rows], Y[rows])
    np.testing.assert_array_equal(found.cv_results_["cv_error"], alone.cv_results_["cv_error"])
    with pytest.raises(ValueError, match="max_rows must be a whole number of at least 2"):
        search(machine).set_params(max_rows=1.5).fit(X, Y)


def test_few_rows_and_splitters_are_searched_whole(monkeypatch):
    monkeypatch.setattr("polychotomy.machines.auto.EXACT_ROWS", 400)
    folds = [(np.arange(k, 400, 2), np.arange(1 - k, 400, 2)) for k in range(2)]
    splitter = PredefinedSplit(np.arange(400) % 2)
    given = search(pc.SVM(landmarks="auto"), splitter).fit(X, Y)
    whole = search(pc.SVM(), folds[::-1]).fit(X, Y)
    np.testing.assert_array_equal(given.cv_results_["cv_error"], whole.cv_results_["cv_error"])
    few = search(pc.SVM(landmarks="auto")).fit(X[:100], Y[:100])
    exact = search(pc.SVM()).fit(X[:100], Y[:100])
    np.testing.assert_array_equal(few.cv_results_["cv_error"], exact.cv_results_["cv_error"])
    np.testing.assert_array_equal(few.decision_function(X), exact.decision_function(X))


def test_listed_folds_are_those_of_the_rows_of_the_sample():
    groups = np.arange(400) // 10 % 4
    folds = [(np.flatnonzero(groups != k), np.flatnonzero(groups == k)) for k in range(4)]
    found = search(pc.SVM(landmarks="auto"), folds).fit(X, Y)
    rows = search_rows(Given(X, Y, None, {}))
    left = [tuple(np.flatnonzero(np.isin(rows, part)) for part in pair) for pair in folds]
    alone = search(pc.SVM(), left).fit(X[rows], Y[rows])
    np.testing.assert_array_equal(found.cv_results_["cv_error"], alone.cv_results_["cv_error"])
    whole = pc.PolychotomyClassifier(pc.SVM(landmarks="auto"), "one_vs_rest", cv=folds)
    whole.set_params(**found.best_params_).fit(X, Y)
    np.testing.assert_array_equal(found.decision_function(X), whole.decision_function(X))


def test_folds_that_the_sample_cannot_train_are_searched_whole(monkeypatch):
    monkeypatch.setattr("polychotomy.machines.auto.EXACT_ROWS", 400)
    rows = search_rows(Given(X, Y, None, {}))
    others = np.setdiff1d(np.arange(400), rows)
    folds = [(others, rows), (rows, others)]
    found = search(pc.SVM(landmarks="auto"), folds).fit(X, Y)
    whole = search(pc.SVM(), folds).fit(X, Y)
    np.testing.assert_array_equal(found.cv_results_["cv_error"], whole.cv_results_["cv_error"])


def test_the_sample_has_all_classes_and_does_not_depend_on_the_order():
    y = np.where(np.arange(400) < 3, 7, Y)
    rows = search_rows(Given(X, y, None, {}))
    assert (y[rows] == 7).sum() == 3
    order = np.random.default_rng(0).permutation(400)
    others = search_rows(Given(X[order], y[order], None, {}))
    assert set(order[others]) == set(rows)
    weights = (np.arange(400) % 2).astype(float)
    assert (search_rows(Given(X, y, weights, {})) % 2 == 1).all()
    part = Given(csr_matrix(X), y.tolist(), weights, {"groups": np.arange(400)}).of_rows(rows)
    assert part.fit_params["groups"].tolist() == rows.tolist()
    assert part.X.shape == (len(rows), 5)
    assert list(part.y) == y[rows].tolist()


def test_a_sweep_searches_methods_of_a_sample_together():
    names = ["WTA_SVM", "MWV_SVM", "LSSVM_LIN_1vsA_Bayes"]
    sweep = pc.MethodSweep(names, cv=3, fine=None, show_progress=False).fit(X, Y)
    for name, clf in sweep.classifiers_.items():
        assert clf.score(X, Y) > 0.5, name
    assert sweep.best_params_["WTA_SVM"].keys() == {"machine__C", "machine__sigma2"}
    assert sweep.best_params_["LSSVM_LIN_1vsA_Bayes"] == {}


@pytest.mark.parametrize("name", ["WTA_SVM", "PWC_KLR", "LSSVM_LIN_MOC_Bayes", "SMC1va"])
def test_recipes_are_exact_for_few_rows(name):
    one = pc.recipe(name).fit(X[:140], Y[:140])
    assert one.machine.landmarks == "auto"
    two = pc.recipes()[name].classifier(landmarks=None).fit(X[:140], Y[:140])
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert type(one.machines_.machine) is type(two.machines_.machine)


def test_a_sample_takes_and_refuses_what_all_rows_do():
    machine = pc.SVM(landmarks="auto")
    expected = search(machine).fit(csr_matrix(X), Y).decision_function(X)
    found = search(machine).fit(coo_matrix(X), Y).decision_function(X)
    np.testing.assert_array_equal(found, expected)
    found = search(machine).fit(X, Y, sample_weight=1.0)
    expected = search(machine).fit(X, Y, sample_weight=np.ones(400))
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        search(machine).fit(X[:-1], Y)
    with pytest.raises(ValueError, match=r"expected \(400,\): one weight a row"):
        search(machine).fit(X, Y, sample_weight=np.ones(399))
    with pytest.raises(ValueError, match="zero for every row of class 0"):
        search(machine).fit(X, Y, sample_weight=np.zeros(400))
    with pytest.raises(ValueError, match="y has 2 columns"):
        search(machine).fit(X, np.c_[Y, Y])
