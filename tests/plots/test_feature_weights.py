"""The weights of inputs as bars."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from polychotomy import SVM, LearnedMetric, MetricClassifier, PolychotomyClassifier
from polychotomy.plots import FeatureWeightsDisplay

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, 1] > 0).astype(int)


def test_the_largest_is_on_top():
    display = FeatureWeightsDisplay([0.2, 1.0, 0.5], ["a", "b", "c"]).plot()
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["b", "c", "a"]
    assert [bar.get_width() for bar in display.ax_.patches] == [1.0, 0.5, 0.2]
    top, bottom = display.ax_.get_ylim()[::-1]
    assert top < bottom


def test_estimators_with_a_metric_are_drawn():
    metric = LearnedMetric(rounds=1)
    machine = PolychotomyClassifier(SVM(sigma2=1.0))
    for estimator in (metric, MetricClassifier(metric=metric), make_pipeline(metric, machine)):
        display = FeatureWeightsDisplay.from_estimator(estimator.fit(X, Y), most=2)
        labels = [label.get_text() for label in display.ax_.get_yticklabels()]
        assert labels[0] == "x1"
        assert len(labels) == 2


def test_bad_requests_are_refused():
    with pytest.raises(TypeError, match="fitted LearnedMetric or MetricClassifier"):
        FeatureWeightsDisplay.from_estimator(LogisticRegression())
    with pytest.raises(ValueError, match="names must be 2 names"):
        FeatureWeightsDisplay([0.1, 0.2], ["a"]).plot()
