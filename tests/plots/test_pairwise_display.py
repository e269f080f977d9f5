"""The matrix of pairwise probabilities of a row."""

import string

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polychotomy import OneVsOne, PolychotomyClassifier
from polychotomy.plots import PairwiseDisplay

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])


def consistent(p):
    """Return the pairwise probabilities that class probabilities imply."""
    p = np.asarray(p, dtype=float)
    return p[:, None] / (p[:, None] + p)


def shares(display):
    """Return the lengths of the bars as shares of their sum."""
    lengths = np.array([bar.get_width() for bar in display.bars_])
    return (lengths / lengths.sum()).tolist()


def test_a_row_of_a_classifier_is_drawn_as_its_machines_say(can_be_read):
    machine = LogisticRegression()
    # A code whose columns are in no usual order.
    code = OneVsOne().build(3).matrix[:, [2, 0, 1]] * [1, -1, 1]
    clf = PolychotomyClassifier(machine, code).fit(X, NAMES[Y])
    display = PairwiseDisplay.from_estimator(clf, X[77])
    for i in range(3):
        for j in range(3):
            if i != j:
                rows = (Y == i) | (Y == j)
                alone = LogisticRegression().fit(X[rows], Y[rows] == i)
                assert display.r[i, j] == pytest.approx(alone.predict_proba(X[[77]])[0, 1])
    np.testing.assert_array_equal(display.p, clf.predict_proba(X[[77]])[0])
    np.testing.assert_allclose(shares(display), display.p)
    shown = display.im_.get_array()
    np.testing.assert_array_equal(np.ma.getmaskarray(shown), np.eye(3, dtype=bool))
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == NAMES.tolist()
    expected = [f"{display.r[i, j]:.2f}" for i in range(3) for j in range(3) if i != j]
    expected += [f"{value:.2f}" for value in display.p] + ["class probability"]
    assert sorted(text.get_text() for text in display.ax_.texts) == sorted(expected)
    can_be_read(display.figure_)


def test_the_steps_of_a_pipeline_are_applied():
    frame = pd.DataFrame(X, columns=list("abcd"))
    scaler, clf = StandardScaler(), PolychotomyClassifier(LogisticRegression())
    pipe = make_pipeline(scaler, clf).fit(frame, Y)
    display = PairwiseDisplay.from_estimator(pipe, frame.iloc[[77]])
    np.testing.assert_array_equal(display.p, pipe.predict_proba(frame.iloc[[77]])[0])


def test_letters_sorted_by_probability_can_be_read(can_be_read):
    p = np.random.default_rng(0).dirichlet(np.full(26, 0.5))
    letters = np.array(list(string.ascii_uppercase))
    display = PairwiseDisplay.from_probabilities(consistent(p), letters, order="probability")
    np.testing.assert_allclose(display.p, p, atol=1e-6)
    assert shares(display) == sorted(shares(display), reverse=True)
    expected = letters[np.argsort(-display.p)].tolist()
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == expected
    # Sorted consistent probabilities are above 1/2 right of the diagonal.
    assert (display.im_.get_array()[np.triu_indices(26, 1)] >= 0.5).all()
    # Numbers beside the bars, none in so many cells.
    assert len(display.ax_.texts) == 27
    can_be_read(display.figure_)


def test_given_axes_and_class_probabilities(can_be_read):
    _, ax = plt.subplots()
    r = consistent([4, 2, 1])
    np.fill_diagonal(r, np.nan)
    display = PairwiseDisplay.from_probabilities(r, p=[0.5, 0.3, 0.2], ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    # Nothing of it lies beyond the axes, on the bar of colours above.
    display.figure_.canvas.draw()
    assert all(ax.bbox.y1 >= text.get_window_extent().y1 for text in ax.texts)
    can_be_read(display.figure_)
    np.testing.assert_allclose(shares(display), [0.5, 0.3, 0.2])
    coupled = PairwiseDisplay.from_probabilities(r)
    np.testing.assert_allclose(coupled.p, np.array([4, 2, 1]) / 7)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"r": [[0.5, 0.2]]}, "r must be a square matrix"),
        ({"r": [[0, 1.2], [0.3, 0]]}, r"r\[0, 1\] is 1.2"),
        ({"r": [[0, np.nan], [0.3, 0]]}, r"r\[0, 1\] is nan"),
        ({"r": consistent([1, 2]), "p": [1.0]}, "p must be 2 probabilities"),
        ({"r": consistent([1, 2]), "classes": "abc"}, "classes must be 2 labels"),
        ({"r": consistent([1, 2]), "order": "size"}, "Unknown order 'size'"),
    ],
)
def test_bad_input_is_explained(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        PairwiseDisplay.from_probabilities(**arguments)


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"code": "one_vs_rest"}, "this classifier's code is 'one_vs_rest'"),
        ({"decoder": "max_wins"}, "no probabilities; choose a calibrator"),
        ({"calibrator": "platt", "decoder": "max_wins"}, "yields no class probabilities"),
    ],
)
def test_classifiers_without_pairwise_probabilities_are_refused(parts, sentence):
    clf = PolychotomyClassifier(**parts).fit(X[::3], Y[::3])
    with pytest.raises(ValueError, match=sentence):
        PairwiseDisplay.from_estimator(clf, X[0])
