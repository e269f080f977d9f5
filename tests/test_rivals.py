"""Rivals from other libraries: bagging, early stopping, the stack, and what is not installed."""

import importlib
import sys
from types import ModuleType

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_wine
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from polychotomy import StructuredTempering
from polychotomy.compare import _candidates as table
from polychotomy.compare import _rivals
from polychotomy.compare._bagged import BaggedClassifier, GreedyStack, greedy_weights
from polychotomy.compare._peers import Conditions
from polychotomy.pipe.folds import FoldRows

ALL_X, ALL_y = load_wine(return_X_y=True)
X, y, NEW, NEW_y = ALL_X[::2, :5], ALL_y[::2], ALL_X[1::2, :5], ALL_y[1::2]
NAMES = np.array(["red", "rose", "white"])


def test_a_bag_is_the_mean_of_the_folds_models():
    bag = BaggedClassifier(GaussianNB(), folds=4).fit(X, NAMES[y])
    p, out_of_fold = 0.0, np.zeros((len(y), 3))
    for train, test in FoldRows(X, y, np.arange(len(y)), None).stratified(4):
        model = GaussianNB().fit(X[train], y[train])
        p, out_of_fold[test] = p + model.predict_proba(NEW) / 4, model.predict_proba(X[test])
    np.testing.assert_allclose(bag.predict_proba(NEW), p)
    np.testing.assert_allclose(bag.out_of_fold_, out_of_fold)
    np.testing.assert_array_equal(bag.predict(NEW), NAMES[p.argmax(axis=1)])
    tempered = BaggedClassifier(GaussianNB(), folds=4, tempered=True).fit(X, y)
    wanted = StructuredTempering().fit(out_of_fold, y).transform(p)
    np.testing.assert_allclose(tempered.predict_proba(NEW), wanted)


def test_early_stopping_sees_the_fold_left_out():
    seen = []

    def stopping(model, X, y, held_X, held_y):
        seen.append((len(X), len(held_X), set(y), set(held_y)))
        return model.fit(X, y)

    labels = np.where(np.arange(len(y)) == 3, 7, y + 3)  # one row of class 7
    bag = BaggedClassifier(GaussianNB(var_smoothing=1e-3), stopping).fit(X, labels)
    assert len(seen) == 5
    for n_train, n_held, known, held in seen:
        assert n_train + n_held in (len(y), len(y) - 1)  # without the class that cannot be known
        assert held <= known == set(range(len(known)))
    assert bag.predict_proba(NEW).shape == (len(NEW), 4)
    np.testing.assert_allclose(bag.predict_proba(NEW).sum(axis=1), 1.0)
    few = BaggedClassifier(GaussianNB()).fit([[0.0], [1.0]], ["a", "b"])
    assert few.predict([[0.1]]) == ["a"]


def test_greedy_weights_by_brute_force():
    rng = np.random.default_rng(0)
    p, labels = rng.dirichlet([1, 1, 1], size=(4, 30)), rng.integers(3, size=30)
    picked = []
    for _ in range(8):
        losses = [
            log_loss(labels, np.mean([p[k] for k in [*picked, one]], axis=0)) for one in range(4)
        ]
        picked.append(int(np.argmin(losses)))
    np.testing.assert_allclose(greedy_weights(p, labels, 8), np.bincount(picked, minlength=4) / 8)


def test_the_stack_is_the_weighted_mean_of_tempered_members():
    models = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=3, random_state=0)}
    members = [(name, BaggedClassifier(one, tempered=True)) for name, one in models.items()]
    stack = GreedyStack(members).fit(X, NAMES[y])
    wanted = sum(w * stack.members_[name].predict_proba(NEW) for name, w in stack.weights_.items())
    np.testing.assert_allclose(stack.predict_proba(NEW), wanted)
    assert log_loss(NEW_y, wanted) < 0.6
    assert np.mean(stack.predict(NEW) == NAMES[NEW_y]) > 0.8


class Stub(ClassifierMixin, BaseEstimator):
    """Accepts any constructor, as the classifiers of packages that are not installed here."""

    def __init__(self, **options):
        self.options = options

    def get_params(self, deep=True):
        return dict(self.options)

    def fit(self, X, y, **_):
        self.model = KNeighborsClassifier(3).fit(X, y)
        return self

    def predict_proba(self, X):
        return self.model.predict_proba(X)


CLASSES = {
    "catboost": "CatBoostClassifier",
    "lightgbm": "LGBMClassifier",
    "xgboost": "XGBClassifier",
    "pytabkit": "RealMLP_TD_Classifier",
    "tabpfn": "TabPFNClassifier",
    "tabicl": "TabICLClassifier",
}


@pytest.mark.parametrize("name", _rivals.PACKAGES)
def test_rivals_appear_when_they_are_installed(name, monkeypatch):
    package, _ = _rivals.PACKAGES[name]
    module = ModuleType(package)
    setattr(module, CLASSES[package], type(CLASSES[package], (Stub,), {}))
    module.early_stopping = lambda *_, **__: None
    monkeypatch.setitem(sys.modules, package, module)
    monkeypatch.setattr(_rivals, "find_spec", lambda one: True if one == package else None)
    known = {peer.name: peer for peer in _rivals.rivals()}
    assert set(known) == {name, f"{name}_tempered", "stack"}
    assert set(known) <= set(table.candidates())
    assert ("never tried" in known[name].words) == (name in _rivals.UNTRIED)
    for peer in (known[name], known[f"{name}_tempered"]):
        model = peer.make(Conditions()).fit(X, NAMES[y])
        assert (model.tempering_ is None) == (peer.name == name)
        assert model.predict_proba(NEW).shape == (len(NEW), 3)
    assert _rivals.how_to_install(name) == ""


def test_the_stack_is_always_there(monkeypatch):
    monkeypatch.setattr(_rivals, "find_spec", lambda one: None)
    (peer,) = _rivals.rivals()
    names = [name for name, _ in peer.make(Conditions()).members]
    assert names == ["boosting", "extra trees", "mlp", "svc", "logistic"]
    assert "stack of boosting" in peer.words
    with pytest.raises(ValueError, match=r"pip install 'polychotomy\[rivals\]'"):
        table.choose(["catboost_tempered"])
    with pytest.raises(ValueError, match="TabPFN needs a package that is not installed"):
        table.choose(["TabPFN"])
    assert not {"catboost", "stack"} & set(table.default_names())


@pytest.mark.parametrize("name", ["catboost", "lightgbm", "xgboost"])
def test_installed_boosters(name, monkeypatch):
    """With the real packages, where there are any."""
    importlib.import_module(name) if _rivals.installed(name) else pytest.skip(f"no {name}")
    monkeypatch.setattr(_rivals, "MOST_TREES", 30)
    (peer,) = (one for one in _rivals.rivals() if one.name == f"{name}_tempered")
    model = peer.make(Conditions()).fit(X, NAMES[y])
    assert log_loss(NEW_y, model.predict_proba(NEW)) < 0.7
