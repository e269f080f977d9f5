"""The picture of risk and coverage; its numbers are tested with the decisions."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from polychotomy.decisions import risk_coverage
from polychotomy.plots import RiskCoverageDisplay


def test_the_picture(can_be_read):
    Z, y = make_classification(400, 6, n_informative=4, n_classes=4, random_state=0)
    models = {
        name: one.fit(Z[::2], y[::2])
        for name, one in (("bayes", GaussianNB()), ("logistic", LogisticRegression()))
    }
    p = {name: one.predict_proba(Z[1::2]) for name, one in models.items()}
    display = RiskCoverageDisplay.from_predictions(y[1::2], p)
    can_be_read(display.figure_)
    line = display.lines_["bayes"]
    np.testing.assert_array_equal(line.get_ydata(), risk_coverage(y[1::2], p["bayes"]).risk)
    _, ax = plt.subplots()
    one = RiskCoverageDisplay.from_estimator(models["bayes"], Z[1::2], y[1::2], ax=ax)
    assert one.ax_ is ax
    with pytest.raises(TypeError, match="needs class probabilities"):
        RiskCoverageDisplay.from_estimator(LinearSVC().fit(Z, y), Z, y)
