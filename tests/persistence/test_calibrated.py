"""Calibrated classifiers of scikit-learn: as they were saved, and refused where they do not fit."""

from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polychotomy.compare._candidates import NEAREST, candidates
from polychotomy.core.state import StateError
from polychotomy.persistence import ModelFileError
from polychotomy.persistence._model import check_model
from polychotomy.persistence._names import Names

from . import mutations
from .models import TWO, WORDS, X, Y, loaded, saved
from .mutations import with_array

# As `polychotomy compare` tunes it, in fewer cells.
SEARCH = GridSearchCV(
    CalibratedClassifierCV(SVC(), cv=2, ensemble=False),
    {"estimator__gamma": ["scale", 0.03]},
    scoring="neg_log_loss",
    cv=2,
)
MODELS = {
    "sigmoid": (CalibratedClassifierCV(SVC(), cv=2, ensemble=False), WORDS),
    "isotonic": (CalibratedClassifierCV(SVC(), cv=2, method="isotonic"), Y),
    "two classes": (CalibratedClassifierCV(GaussianNB(), cv=2), TWO),
    "searched": (make_pipeline(StandardScaler(), SEARCH), Y),
}
FIRST = "calibrated_classifiers_[0]"


@cache
def real(name):
    model, y = MODELS[name]
    model = clone(model).fit(X, y)
    return saved(model), model


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_one_is_the_saved_one(name):
    data, model = real(name)
    np.testing.assert_array_equal(loaded(data).predict_proba(X), model.predict_proba(X))


CHANGES = {
    f"{FIRST}.estimator.support_": lambda a: a[:-1],
    f"{FIRST}.estimator._dual_coef_": lambda a: a[:, :1],
    f"{FIRST}.estimator.support_vectors_": lambda a: a[:, :-1],
    f"{FIRST}.calibrators[0].a_": lambda a: a * np.nan,
    f"{FIRST}.classes": lambda a: a[:-1],
}


@pytest.mark.parametrize("path", CHANGES)
def test_what_does_not_fit_is_refused(path):
    with pytest.raises(ModelFileError):
        loaded(with_array(real("sigmoid")[0], path, CHANGES[path]))


def test_parts_that_do_not_belong_together_are_refused():
    def broken(words, change):
        model = deepcopy(real("isotonic")[1])
        change(model, model.calibrated_classifiers_[0])
        with pytest.raises(StateError, match=words):
            check_model(model, Names())

    broken("no classifiers", lambda model, first: model.calibrated_classifiers_.clear())
    broken("another type", lambda model, first: model.calibrated_classifiers_.append(SVC()))
    broken("calibrators of other classes", lambda model, first: first.calibrators.pop())
    broken("not on the list", lambda model, first: first.calibrators.append(SVC()))
    broken("no valid method", lambda model, first: setattr(first, "method", "temperature"))
    broken("other classes", lambda model, first: setattr(model, "classes_", np.arange(1, 4)))
    broken("inputs", lambda model, first: setattr(model, "n_features_in_", 3))


@pytest.mark.parametrize("mutation", [mutations.change_schema, mutations.change_array])
def test_mutations_never_crash(mutation):
    data, model = real("sigmoid")
    rng = np.random.default_rng(0)
    n_refused = 0
    for _ in range(30):
        try:
            answer = loaded(mutation(data, rng)).predict(X[:3])
            assert set(answer) <= set(model.classes_)
        except ModelFileError:
            n_refused += 1
    assert n_refused


def test_what_cannot_be_kept_has_a_neighbour_that_can():
    known = candidates()
    assert known["calibrated_svc"].storable
    assert {name for name, one in known.items() if not one.storable} == set(NEAREST)
    assert all(known[name].storable for name in NEAREST.values())
