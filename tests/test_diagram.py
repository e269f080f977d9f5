"""What notebooks show: the parts of the pipe, in their order and by their roles."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

import polychotomy as pc

X, y = load_iris(return_X_y=True)
X, y = X[::5], y[::5]
# What scikit-learn writes: a title, and below it the caption, if there is one.
TITLE = re.compile(r'<div><div>([^<]*)</div>(?:<div class="caption">([^<]*)</div>)?</div>')


def titles(estimator):
    """Return the titles of the diagram with their captions, from top to bottom."""
    page = estimator_html_repr(estimator)
    return [f"{name} ({role})" if role else name for name, role in TITLE.findall(page)]


PIPE = [
    "OneVsOne (code)",
    "SVM (machine)",
    "Platt (calibrator)",
    "PairwiseCoupling (decoder)",
]


@pytest.mark.parametrize("fitted", [False, True])
def test_a_pipe_shows_its_parts(fitted):
    classifier = pc.PolychotomyClassifier()
    if fitted:
        classifier.fit(X, y)
    assert titles(classifier) == ["PolychotomyClassifier", *PIPE]
    assert ("<span>Fitted</span>" in estimator_html_repr(classifier)) == fitted


def test_names_and_matrices_are_shown_as_parts():
    matrix = np.array([[1, 1], [-1, 0], [0, -1]])
    classifier = pc.PolychotomyClassifier(LogisticRegression(C=3), matrix, None, "loss")
    shown = ["CustomCode (code)", "LogisticRegression (machine)", "NoCalibration (calibrator)"]
    assert titles(classifier)[1:] == [*shown, "LossDecoding (decoder)"]
    # The parameters are below the title.
    assert "LogisticRegression(C=3)" in estimator_html_repr(classifier)


def test_a_tempered_svc_in_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), pc.ProbabilisticSVC())
    before = ["Pipeline", "StandardScaler", "probabilisticsvc: ProbabilisticSVC"]
    assert titles(pipeline) == [*before, *PIPE, "Tempering (tempering)"]


def test_a_search_shows_what_it_searches_and_then_the_best():
    search = pc.TwoStepSearchCV(coarse={"machine__C": [1.0]}, fine=None, show_progress=False)
    name = "estimator: PolychotomyClassifier"
    assert titles(search) == ["TwoStepSearchCV", name, *PIPE]
    search.fit(X, y)
    assert titles(search) == ["TwoStepSearchCV", "best_estimator_: PolychotomyClassifier", *PIPE]


def test_a_sweep_shows_its_methods_beside_each_other():
    shown = titles(pc.MethodSweep(["PWC_PSVM", "MWV_SVM"]))
    first = ["PWC_PSVM: PolychotomyClassifier", *PIPE, "MWV_SVM: PolychotomyClassifier"]
    assert shown[1:7] == first
    assert shown[-1] == "MaxWins (decoder)"


@pytest.mark.parametrize("fitted", [False, True])
def test_a_pool_shows_its_members(fitted):
    pool = pc.PolychotomyPool([("svm", pc.PolychotomyClassifier()), ("bayes", GaussianNB())], cv=3)
    shown = titles(pool.fit(X, y) if fitted else pool)
    members = ["svm: PolychotomyClassifier", *PIPE, "bayes: GaussianNB", "GaussianNB"]
    assert shown == ["PolychotomyPool", *members]


@pytest.mark.parametrize("fitted", [False, True])
def test_a_classifier_in_a_metric_comes_after_it(fitted):
    classifier = pc.MetricClassifier(metric=pc.LearnedMetric(views=["standardised"], rounds=1))
    shown = titles(classifier.fit(X, y) if fitted else classifier)
    metric = ["LearnedMetric (metric)", "estimator: PolychotomyClassifier"]
    assert shown[:3] == ["MetricClassifier", *metric]
    assert "LSSVM (machine)" in shown


@pytest.mark.parametrize(
    "wrong", [{"decoder": "nonsense"}, {"machine": "svn"}, {"machine": pc.SVM}, {"code": 3}]
)
def test_a_wrong_parameter_gives_a_plain_box(wrong):
    assert titles(pc.PolychotomyClassifier(**wrong)) == ["PolychotomyClassifier"]
