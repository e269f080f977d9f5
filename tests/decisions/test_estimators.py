"""Decisions as estimators: scikit-learn's checks, metadata, model files, and rows of any kind."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import polychotomy as pc
from polychotomy.core import scores
from polychotomy.decisions import (
    CostClassifier,
    HeldOutClassifier,
    LabelShift,
    PredictionSets,
    RejectClassifier,
)

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["ä", "b", "c"])[Y]
COSTS = {"ä": {"go": 0, "ask": 1.0}, "b": {"go": 3, "ask": 1}, "c": {"go": 9, "ask": 1}}
CHECKED = {
    "costs": CostClassifier(GaussianNB()),
    "reject": RejectClassifier(GaussianNB(), reject_cost=1.0),
    "sets": PredictionSets(GaussianNB(), random_state=0),
    "cross": PredictionSets(GaussianNB(), calibration="cross", cv=2),
    "shift": LabelShift(GaussianNB(), cv=2),
    # It does not always predict the most likely class.
    "rejecting": RejectClassifier(GaussianNB(), coverage=0.8, cv=2),
}
NOT_THE_LIKELIEST = {"rejecting": ("check_classifiers_train", "check_classifiers_classes")}


def checks():
    for name, one in CHECKED.items():
        for estimator, check in estimator_checks_generator(one):
            if check.func.__name__ not in NOT_THE_LIKELIEST.get(name, ()):
                yield pytest.param(estimator, check, id=f"{name}-{check.func.__name__}")


@pytest.mark.filterwarnings("ignore:Class.*fewer rows than the 2 folds:UserWarning")
# With weights of one class alone, GaussianNB takes the logarithm of 0.
@pytest.mark.filterwarnings("ignore:divide by zero encountered in log:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:There are . held-out rows:UserWarning")
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_sklearn_checks(estimator, check):
    check(estimator)


MODELS = {
    "costs": CostClassifier(pc.PolychotomyClassifier(), COSTS),
    "array": CostClassifier(GaussianNB(), np.ones((3, 2)), actions=["x", "y"]),
    "tuned": CostClassifier(GaussianNB(), "balanced_accuracy", recall_floors={"b": 0.9}),
    "reject": RejectClassifier(GaussianNB(), coverage=0.7),
    "mixed labels": RejectClassifier(GaussianNB(), error=0.02, reject_label=7),
    "sets": PredictionSets(GaussianNB(), 0.8, class_conditional=True, random_state=0),
    "cross": PredictionSets(pc.PolychotomyClassifier(), method="raps", calibration="cross"),
    "shift": LabelShift(pc.ProbabilisticSVC()),
    "pipeline": make_pipeline(StandardScaler(), RejectClassifier(GaussianNB(), coverage=0.5)),
    "around a pipeline": CostClassifier(make_pipeline(StandardScaler(), GaussianNB()), COSTS),
    "search": GridSearchCV(CostClassifier(GaussianNB(), COSTS), {"cv": [2, 3]}, cv=2),
    "one in another": PredictionSets(LabelShift(GaussianNB()), random_state=0),
    "held out": HeldOutClassifier(GaussianNB(), cv=2),
    "frozen": RejectClassifier(FrozenEstimator(GaussianNB().fit(X, NAMES)), coverage=0.5),
}


def answers(model, rows):
    found = [model.predict(rows), model.predict_proba(rows)]
    more = [name for name in ("predict_set", "expected_costs", "answers") if hasattr(model, name)]
    return [*found, *(getattr(model, name)(rows) for name in more)]


@pytest.mark.parametrize("name", MODELS)
def test_model_files(name):
    model = clone(MODELS[name]).fit(X, NAMES)
    if name == "shift":
        model.adapt(X[60:])
    file = io.BytesIO()
    pc.save(model, file)
    file.seek(0)
    again = pc.load(file)
    assert type(again) is type(model)
    for one, other in zip(answers(model, X), answers(again, X), strict=True):
        np.testing.assert_array_equal(one, other)
    if name == "shift":
        assert again.shift_.p_value == model.shift_.p_value


def test_files_hold_no_functions():
    model = CostClassifier(GaussianNB(), lambda rows: np.ones((3, 3))).fit(X, NAMES)
    with pytest.raises(pc.persistence.ModelFileError):
        pc.save(model, io.BytesIO())


def test_a_changed_file_is_refused():
    model = CostClassifier(GaussianNB(), COSTS).fit(X, NAMES)
    model.costs_ = -model.costs_
    with pytest.raises(pc.persistence.ModelFileError, match="costs_ out of range"):
        pc.save(model, io.BytesIO())
    model = RejectClassifier(GaussianNB(), coverage=0.5).fit(X, NAMES)
    model.actions_ = model.actions_[[0, 0, 1, 2]]
    with pytest.raises(pc.persistence.ModelFileError, match="not distinct"):
        pc.save(model, io.BytesIO())


def test_weights_and_groups_without_routing():
    weights = np.where(NAMES == "b", 5.0, 1.0)
    plain = LogisticRegression(max_iter=500)
    expected = clone(plain).fit(X, NAMES, sample_weight=weights).predict_proba(X)
    for model in (
        CostClassifier(plain, COSTS),
        RejectClassifier(plain, coverage=0.5, cv=3),
        LabelShift(plain, tempering=False),
        PredictionSets(plain, calibration="cross"),
    ):
        model.fit(X, NAMES, sample_weight=weights)
        np.testing.assert_allclose(model.predict_proba(X), expected)
    # Rows without a weight are not there.
    some = np.arange(150) % 5 > 0
    heavy = RejectClassifier(pc.PolychotomyClassifier(), coverage=0.5)
    heavy.fit(X, NAMES, sample_weight=some.astype(float))
    light = clone(heavy).fit(X[some], NAMES[some])
    np.testing.assert_allclose(heavy.thresholds_, light.thresholds_, rtol=0.02)
    # A pipeline takes them for one of its steps.
    pipeline = make_pipeline(StandardScaler(), pc.PolychotomyClassifier())
    step = {"polychotomyclassifier__sample_weight": some.astype(float)}
    stepwise = HeldOutClassifier(pipeline).fit(X, NAMES, **step)
    assert len(stepwise.held_out().y) == some.sum()
    groups = np.arange(150) % 7
    grouped = RejectClassifier(GaussianNB(), coverage=0.5, cv=GroupKFold(3))
    grouped.fit(X, NAMES, groups=groups)
    with pytest.raises(ValueError, match="groups"):
        grouped.fit(X, NAMES)


def test_routing():
    weights = np.where(NAMES == "b", 5.0, 1.0)
    groups = np.arange(150) % 7
    with sklearn.config_context(enable_metadata_routing=True):
        deaf = RejectClassifier(LogisticRegression(max_iter=500), coverage=0.5)
        with pytest.raises(UnsetMetadataPassedError, match="LogisticRegression"):
            deaf.fit(X, NAMES, sample_weight=weights)
        asking = LogisticRegression(max_iter=500).set_fit_request(sample_weight=True)
        model = RejectClassifier(asking, coverage=0.5, cv=GroupKFold(3))
        model.fit(X, NAMES, sample_weight=weights, groups=groups)
        expected = LogisticRegression(max_iter=500).fit(X, NAMES, sample_weight=weights)
        np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X))
        found = cross_val_score(
            model, X, NAMES, cv=2, params={"sample_weight": weights, "groups": groups}
        )
        assert len(found) == 2


def test_rows_of_any_kind():
    words = ["red wine", "white wine", "pale ale", "brown ale", "dry cider", "sweet cider"] * 5
    kinds = [text.split()[1] for text in words]
    texts = RejectClassifier(make_pipeline(CountVectorizer(), MultinomialNB()), coverage=0.9).fit(
        words, kinds
    )
    assert texts.predict(["dry cider"]).tolist() == ["cider"]
    sparse = PredictionSets(LogisticRegression(max_iter=500), random_state=0)
    sparse.fit(csr_matrix(X), Y)
    dense = clone(sparse).fit(X, Y)
    np.testing.assert_array_equal(sparse.predict_set(csr_matrix(X)), dense.predict_set(X))
    frame = pd.DataFrame(X, columns=list("abcd"))
    clf = CostClassifier(GaussianNB(), "macro_f1").fit(frame, pd.Series(NAMES, dtype="category"))
    np.testing.assert_array_equal(clf.predict(frame), clone(clf).fit(X, NAMES).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(frame[["b", "a", "c", "d"]])


def test_kernel_matrices_are_cut_on_both_sides():
    gram = X @ X.T
    given_gram = pc.PolychotomyClassifier(pc.SVM(kernel="precomputed"))
    linear = pc.PolychotomyClassifier(pc.SVM(kernel="linear"))
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    one = RejectClassifier(given_gram, coverage=0.5, cv=folds).fit(gram, Y)
    other = RejectClassifier(linear, coverage=0.5, cv=folds).fit(X, Y)
    np.testing.assert_allclose(one.thresholds_, other.thresholds_, rtol=1e-3)


def test_a_failed_fit_changes_nothing():
    model = CostClassifier(GaussianNB(), COSTS).fit(X, NAMES)
    before = model.predict(X)
    with pytest.raises(ValueError, match="no row for class"):
        model.fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_notebooks_show_the_classifier_inside():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "GaussianNB" in CHECKED["costs"]._repr_html_()


def test_the_pool_gives_its_out_of_fold_probabilities():
    members = [("ls", pc.MetricClassifier()), ("bayes", GaussianNB())]
    pool = pc.PolychotomyPool(members)
    p = pool.fit_out_of_fold(X, NAMES)
    np.testing.assert_array_equal(pool.predict_proba(X), clone(pool).fit(X, NAMES).predict_proba(X))
    assert scores.nll(p, np.unique(NAMES, return_inverse=True)[1]) == pytest.approx(pool.nll_)
    kept = HeldOutClassifier(make_pipeline(StandardScaler(with_mean=False, with_std=False), pool))
    np.testing.assert_allclose(kept.fit(X, NAMES).held_out().p, p)


@pytest.mark.parametrize(
    "make",
    [
        CostClassifier,
        lambda fitted: CostClassifier(fitted, "macro_f1"),
        HeldOutClassifier,
        LabelShift,
        PredictionSets,
        RejectClassifier,
    ],
)
def test_a_fitted_classifier_keeps_a_class_that_new_rows_lack(make):
    fitted = LogisticRegression(max_iter=1000).fit(X, Y)
    there = Y != 1
    model = make(FrozenEstimator(fitted)).fit(X[there], Y[there])
    assert model.classes_.tolist() == [0, 1, 2]
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    if not isinstance(model, LabelShift):
        np.testing.assert_allclose(p, fitted.predict_proba(X))
    unknown = Y[there] + 1
    with pytest.raises(ValueError, match="y has the label 3, which is not a class"):
        make(FrozenEstimator(fitted)).fit(X[there], unknown)


def test_a_fitted_classifier_inside_another_is_refused_if_rows_lack_a_class():
    inside = make_pipeline("passthrough", FrozenEstimator(LogisticRegression().fit(X / 9, Y)))
    there = Y != 1
    model = CostClassifier(inside).fit(X[there] / 9, Y[there])
    with pytest.raises(ValueError, match="knows the class 1, of which y has no row"):
        model.predict_proba(X / 9)


def test_weights_of_an_earlier_step_are_not_those_of_the_classifier():
    weights = np.linspace(1.0, 3.0, 150)
    for last in (pc.PolychotomyClassifier(pc.LSSVM()), LogisticRegression()):
        pipeline = make_pipeline(StandardScaler(), last)
        step = {"standardscaler__sample_weight": weights}
        expected = clone(pipeline).fit(X, Y, **step).predict_proba(X)
        model = HeldOutClassifier(pipeline).fit(X, Y, **step)
        np.testing.assert_allclose(model.predict_proba(X), expected)
        assert model.estimator_[0].mean_[2] > 4.0  # 3.76 without weights
        none = {"standardscaler__sample_weight": np.where(np.arange(150) % 2, 1.0, 0.0)}
        assert len(HeldOutClassifier(pipeline).fit(X, Y, **none).held_out().y) == 150


def test_routed_weights_reach_the_steps_that_ask():
    weights = np.linspace(1.0, 3.0, 150)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=True),
            pc.PolychotomyClassifier(pc.LSSVM()).set_fit_request(sample_weight=False),
        )
        expected = clone(pipeline).fit(X, Y, sample_weight=weights).predict_proba(X)
        model = HeldOutClassifier(pipeline).fit(X, Y, sample_weight=weights)
        np.testing.assert_allclose(model.predict_proba(X), expected)
