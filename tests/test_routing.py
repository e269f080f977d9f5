"""Scikit-learn's metadata routing, on as well as off."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_iris
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import polychotomy as pc

X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]
WEIGHTS = np.linspace(0.5, 2.0, len(Y))
GROUPS = np.arange(len(Y)) % 5
MODELS = {
    "classifier": pc.PolychotomyClassifier(),
    "logistic": pc.PolychotomyClassifier(LogisticRegression()),
    "search": pc.TwoStepSearchCV(fine=None, show_progress=False),
    "default search": pc.TwoStepSearchCV(
        pc.PolychotomyClassifier(pc.LSSVM(), "one_vs_rest"), show_progress=False
    ),
    "metric": pc.MetricClassifier(),
    "learned metric": pc.LearnedMetric(),
    "pool": pc.PolychotomyPool(),
    "two": pc.recipe("LS2"),
    "svc": pc.ProbabilisticSVC(),
    "svm": pc.SVM(),
}


def labels(name):
    return Y > 0 if name == "svm" else Y


def answer(model):
    return getattr(
        model,
        "predict_proba",
        getattr(model, "decision_function", None)
        or (model.transform if hasattr(model, "transform") else None),
    )(X)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.parametrize("name", MODELS)
def test_fits_end_without_metadata_and_are_the_same(name):
    off = sklearn.base.clone(MODELS[name]).fit(X, labels(name))
    with sklearn.config_context(enable_metadata_routing=True):
        on = sklearn.base.clone(MODELS[name]).fit(X, labels(name))
    np.testing.assert_array_equal(answer(on), answer(off))


@pytest.mark.parametrize("name", [name for name in MODELS if name != "logistic"])
def test_weights_reach_what_the_user_cannot_reach(name):
    off = sklearn.base.clone(MODELS[name]).fit(X, labels(name), sample_weight=WEIGHTS)
    with sklearn.config_context(enable_metadata_routing=True):
        on = sklearn.base.clone(MODELS[name]).fit(X, labels(name), sample_weight=WEIGHTS)
        np.testing.assert_array_equal(answer(on), answer(off))
        if name != "learned metric":
            asking = sklearn.base.clone(MODELS[name]).set_fit_request(sample_weight=True)
            asking.set_score_request(sample_weight=False)
            scaler = StandardScaler().set_fit_request(sample_weight=False)
            pipeline = make_pipeline(scaler, asking)
            pipeline.fit(X, labels(name), sample_weight=WEIGHTS)
            found = cross_validate(asking, X, labels(name), cv=2, params={"sample_weight": WEIGHTS})
            assert len(found["test_score"]) == 2


def test_a_machine_of_the_users_has_to_ask(routing):
    clf = pc.PolychotomyClassifier(LogisticRegression())
    with pytest.raises(UnsetMetadataPassedError, match="LogisticRegression"):
        clf.fit(X, Y, sample_weight=WEIGHTS)
    asking = LogisticRegression().set_fit_request(sample_weight=True)
    weighted = pc.PolychotomyClassifier(asking).fit(X, Y, sample_weight=WEIGHTS)
    deaf = LogisticRegression().set_fit_request(sample_weight=False)
    plain = pc.PolychotomyClassifier(deaf).fit(X, Y, sample_weight=WEIGHTS)
    assert not np.array_equal(weighted.binary_scores(X), plain.binary_scores(X))


def test_groups_reach_the_splitter(routing):
    for model in (
        pc.PolychotomyClassifier(cv=GroupKFold(2)),
        pc.TwoStepSearchCV(
            pc.PolychotomyClassifier(cv=GroupKFold(2)), fine=None, show_progress=False
        ),
    ):
        model.fit(X, Y, groups=GROUPS)
        with pytest.raises(ValueError, match="groups"):
            model.fit(X, Y)
        search = GridSearchCV(model, {}, cv=GroupKFold(2))
        search.fit(X, Y, groups=GROUPS)


def test_models_with_requests_can_be_saved(routing, tmp_path):
    machine = pc.SVM().set_fit_request(sample_weight=True)
    model = pc.PolychotomyClassifier(machine).set_fit_request(sample_weight=True).fit(X, Y)
    pc.save(model, tmp_path / "model")
    again = pc.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    # They are still there in the model that was saved.
    model.fit(X, Y, sample_weight=WEIGHTS)


CHECKED = [
    pc.PolychotomyClassifier(pc.SVM(tol=1e-8), random_state=0),
    pc.PolychotomyClassifier(LogisticRegression(tol=1e-12, max_iter=1000), "one_vs_rest"),
]


@pytest.mark.filterwarnings("ignore:Class.*fewer rows than the 5 folds:UserWarning")
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(estimator, check, id=f"{number}-{check.func.__name__}")
        for number, one in enumerate(CHECKED)
        for estimator, check in estimator_checks_generator(one)
        # Weights given to a machine of scikit-learn's need a request, which the check does not set.
        if not (number == 1 and "sample_weight" in check.func.__name__)
    ],
)
def test_sklearn_checks(estimator, check, routing):
    check(estimator)
