"""The small search: the best of a few settings, judged on rows that were not trained on."""

import io

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from polychotomy import load, save
from polychotomy.tuning.small_search import SmallSearch

X, Y = load_iris(return_X_y=True)
X, Y = X[::2], Y[::2]


def test_folds_choose_as_a_grid_search_does():
    grid = {"C": [1e-3, 0.1, 10.0]}
    ours = SmallSearch(LogisticRegression(max_iter=1000), grid).fit(X, Y)
    theirs = GridSearchCV(
        LogisticRegression(max_iter=1000), grid, scoring="neg_log_loss", cv=StratifiedKFold(3)
    ).fit(X, Y)
    assert ours.best_params_ == theirs.best_params_
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X))


def test_out_of_bag_chooses_the_least_log_loss():
    forest = RandomForestClassifier(n_estimators=60, random_state=0)
    found = SmallSearch(forest, {"min_samples_leaf": [1, 5, 30]}, judged="out of bag").fit(X, Y)
    losses = {}
    for leaf in (1, 5, 30):
        one = RandomForestClassifier(60, min_samples_leaf=leaf, oob_score=True, random_state=0)
        losses[leaf] = log_loss(Y, np.clip(one.fit(X, Y).oob_decision_function_, 1e-15, 1))
    assert found.best_params_ == {"min_samples_leaf": min(losses, key=losses.get)}


@pytest.mark.parametrize("judged", ["folds", "out of bag"])
def test_a_class_with_one_row(judged):
    y = Y.copy()
    y[0] = 3
    forest = RandomForestClassifier(n_estimators=20, random_state=0)
    found = SmallSearch(forest, {"min_samples_leaf": [1, 30]}, judged=judged).fit(X, y)
    assert found.classes_.tolist() == [0, 1, 2, 3]


def test_weights_count_in_training_and_in_the_scores():
    grid = {"C": [1e-3, 0.1, 10.0]}
    plain = SmallSearch(LogisticRegression(max_iter=1000), grid).fit(X, Y)
    equal = SmallSearch(LogisticRegression(max_iter=1000), grid).fit(X, Y, np.ones(len(Y)))
    assert np.allclose(equal.predict_proba(X), plain.predict_proba(X))
    tilted = SmallSearch(LogisticRegression(max_iter=1000), grid).fit(X, Y, 1.0 + 9.0 * (Y == 1))
    assert tilted.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()


def test_a_model_file_holds_it():
    found = SmallSearch(LogisticRegression(), {"C": [0.1, 1.0]}).fit(X, Y)
    file = io.BytesIO()
    save(found, file)
    again = load(io.BytesIO(file.getvalue()))
    assert np.array_equal(again.predict_proba(X), found.predict_proba(X))
    assert again.best_params_ == found.best_params_
