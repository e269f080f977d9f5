"""Codebooks as heat maps."""

import string

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polychotomy import (
    ErrorCorrectingCode,
    OneVsOne,
    PolychotomyClassifier,
    ProbabilisticSVC,
    TwoStepSearchCV,
)
from polychotomy.plots import CodebookDisplay

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])


def rows(display):
    return [label.get_text() for label in display.ax_.get_yticklabels()]


@pytest.mark.parametrize("code", [OneVsOne(), ErrorCorrectingCode()])
def test_letters_can_be_read(code, can_be_read):
    codebook = code.build(26, 0)
    display = CodebookDisplay.from_codebook(codebook, list(string.ascii_uppercase))
    assert rows(display) == list(string.ascii_uppercase)
    np.testing.assert_array_equal(display.ax_.images[0].get_array(), codebook.matrix)
    can_be_read(display.figure_)


def test_a_matrix_into_given_axes():
    _, ax = plt.subplots()
    display = CodebookDisplay.from_codebook([[1, 1], [1, -1], [-1, 0]], ax=ax)
    assert display.ax_ is ax
    assert rows(display) == ["0", "1", "2"]
    with pytest.raises(ValueError, match="classes must be 3 labels, one for each class; got 2"):
        CodebookDisplay.from_codebook(display.codebook, ["a", "b"])


@pytest.mark.parametrize(
    "estimator",
    [
        PolychotomyClassifier(LogisticRegression()),
        make_pipeline(StandardScaler(), "passthrough", PolychotomyClassifier()),
        TwoStepSearchCV(coarse={"machine__C": [1, 10]}, fine=None),
        ProbabilisticSVC(),
    ],
    ids=["classifier", "pipeline", "search", "svc"],
)
def test_the_classifier_is_found(estimator):
    display = CodebookDisplay.from_estimator(estimator.fit(X, NAMES[Y]))
    assert rows(display) == NAMES.tolist()
    assert display.codebook == OneVsOne().build(3)


def test_estimators_without_a_codebook_are_refused():
    with pytest.raises(TypeError, match="or search around one; got LogisticRegression"):
        CodebookDisplay.from_estimator(LogisticRegression())
    with pytest.raises(ValueError, match="not fitted"):
        CodebookDisplay.from_estimator(PolychotomyClassifier())
