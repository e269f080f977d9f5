"""The reliability of class probabilities, against plain loops, scikit-learn and SciPy."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from polychotomy.plots import ReliabilityDisplay, reliability_curves


def sample(n_rows=200, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(n_classes, 0.7), n_rows)
    y = (p.cumsum(axis=1) < rng.random(n_rows)[:, None]).sum(axis=1)
    return np.minimum(y, n_classes - 1), p


def plain_curve(predicted, happened, edges):
    """Go through the bins one by one: the lower edge belongs to the bin before."""
    points, error = [], 0.0
    for k in range(len(edges) - 1):
        inside = [
            i
            for i, value in enumerate(predicted)
            if (value > edges[k] or k == 0) and (value <= edges[k + 1] or k == len(edges) - 2)
        ]
        if inside:
            mean = sum(predicted[i] for i in inside) / len(inside)
            share = sum(bool(happened[i]) for i in inside) / len(inside)
            points.append((mean, share, len(inside)))
            error += len(inside) / len(predicted) * abs(mean - share)
    return np.array(points), error


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_curves_are_those_of_a_plain_loop(strategy):
    y, p = sample()
    curves = reliability_curves(y, p, n_bins=7, strategy=strategy, min_count=1)
    events = [(curves.classes[k], p[:, k], y == k) for k in range(3)]
    events.append((curves.confidence, p.max(axis=1), y == p.argmax(axis=1)))
    for curve, predicted, happened in events:
        edges = np.linspace(0, 1, 8)
        if strategy == "quantile":
            edges = np.quantile(predicted, edges)
        points, error = plain_curve(predicted, happened, edges)
        np.testing.assert_allclose(curve.predicted, points[:, 0])
        np.testing.assert_allclose(curve.observed, points[:, 1])
        np.testing.assert_array_equal(curve.count, points[:, 2])
        assert curve.error == pytest.approx(error)
    assert curves.class_error == pytest.approx(np.mean([curve.error for curve, *_ in events[:3]]))


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_a_class_has_scikit_learns_curve(strategy):
    y, p = sample()
    # Many equal probabilities: some quantiles coincide.
    p = np.round(p[:, 0], 1)
    curves = reliability_curves(
        y == 0, np.stack([1 - p, p], axis=1), n_bins=8, strategy=strategy, min_count=1
    )
    observed, predicted = calibration_curve(y == 0, p, n_bins=8, strategy=strategy)
    np.testing.assert_allclose(curves.classes[True].observed, observed)
    np.testing.assert_allclose(curves.classes[True].predicted, predicted)


def test_intervals_are_the_exact_binomial_ones():
    y, p = sample(60)
    curves = reliability_curves(y, p, n_bins=12, min_count=1, level=0.9)
    seen = set()
    for curve in curves.classes.values():
        for k, count in enumerate(curve.count):
            hits = round(curve.observed[k] * count)
            interval = binomtest(hits, int(count)).proportion_ci(0.9, "exact")
            np.testing.assert_allclose([curve.lower[k], curve.upper[k]], interval, atol=1e-12)
            seen.add(0 if hits == 0 else 1 if hits == count else 2)
    assert seen == {0, 1, 2}


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(2, 5), st.integers(1, 12), st.integers(0, 99))
def test_all_rows_are_counted_and_intervals_hold_the_frequency(n_rows, n_classes, n_bins, seed):
    y, p = sample(n_rows, n_classes, seed)
    curves = reliability_curves(y, p, np.arange(n_classes), n_bins=n_bins, min_count=1)
    for curve in (*curves.classes.values(), curves.confidence):
        assert curve.count.sum() == n_rows
        assert (curve.lower <= curve.observed).all()
        assert (curve.observed <= curve.upper).all()
        assert 0 <= curve.error <= 1


def test_small_bins_are_left_out_of_the_curve_but_not_of_the_error():
    y, p = sample()
    whole = reliability_curves(y, p, min_count=1).confidence
    part = reliability_curves(y, p, min_count=15).confidence
    np.testing.assert_array_equal(part.count, whole.count[whole.count >= 15])
    assert 0 < len(part.count) < len(whole.count)
    assert part.error == whole.error


def test_labels_in_any_order():
    y, p = sample()
    names = np.array(["owl", "ant", "cat"])
    curves = reliability_curves(names[y], p, names)
    plain = reliability_curves(y, p)
    for k, name in enumerate(names):
        assert curves.classes[name].error == plain.classes[k].error


def test_perfect_and_hopeless_probabilities():
    y = np.array([0, 1, 2] * 4)
    sure = np.eye(3)[y]
    assert reliability_curves(y, sure).confidence.error == 0
    assert reliability_curves(y, sure[:, [1, 2, 0]]).confidence.error == 1


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"p": [[0.5, 0.6]]}, "row 0 of p: 1.1"),
        ({"p": [[1.5, -0.5]]}, r"outside \[0, 1\] in row 0"),
        ({"y": [0, 1]}, "one class for each of the 1 rows"),
        ({"y": [7], "classes": [0, 1]}, "y has the class 7"),
        ({"classes": [1, 2, 3]}, "classes must be 2 labels"),
        ({"classes": None}, "classes must name the 2 columns of p"),
        ({"strategy": "quantil"}, "Did you mean 'quantile'"),
        ({"n_bins": 0}, "n_bins must be a whole number"),
        ({"min_count": 1.5}, "min_count must be a whole number"),
        ({"level": 95}, "level must be between 0 and 1"),
    ],
)
def test_bad_input_is_explained(changes, sentence):
    good = {"y": [0], "p": [[0.5, 0.5]], "classes": [0, 1]}
    with pytest.raises(ValueError, match=sentence):
        reliability_curves(**{**good, **changes})


def test_the_picture_shows_the_curves(can_be_read):
    y, p = sample()
    display = ReliabilityDisplay.from_predictions(np.array(["a", "b", "c"])[y], p, n_bins=5)
    assert list(display.lines_) == ["a", "b", "c", None]
    curve = display.curves.classes["b"]
    np.testing.assert_array_equal(display.lines_["b"].get_xdata(), curve.predicted)
    np.testing.assert_array_equal(display.lines_["b"].get_ydata(), curve.observed)
    # A band for each line.
    assert len(display.ax_.collections) == 4
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts[0] == f"predicted class ({display.curves.confidence.error:.3f})"
    assert f"b ({curve.error:.3f})" in texts
    can_be_read(display.figure_)


def test_of_many_classes_the_worst_are_drawn(can_be_read):
    y, p = sample(3000, 12)
    display = ReliabilityDisplay.from_predictions(y, p, uncertainty="none")
    errors = {label: curve.error for label, curve in display.curves.classes.items()}
    shown = [label for label in display.lines_ if label is not None]
    assert shown == sorted(errors, key=errors.get, reverse=True)[:6]
    assert len({display.lines_[label].get_color() for label in shown}) == 6
    assert not display.ax_.collections
    assert "6 of 12 classes" in display.ax_.get_legend().get_title().get_text()
    can_be_read(display.figure_)


def test_choices_of_what_is_drawn_and_where(can_be_read):
    y, p = sample()
    _, ax = plt.subplots()
    display = ReliabilityDisplay.from_predictions(
        y, p, ax=ax, show=[2], confidence=False, uncertainty="bars"
    )
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert list(display.lines_) == [2]
    assert len(ax.containers) == 1
    # A figure that makes no room beside its axes has the legend within.
    can_be_read(display.figure_)
    assert list(display.plot(show=[]).lines_) == [None]
    assert display.plot(show=[], confidence=False).ax_.get_legend() is None
    with pytest.raises(ValueError, match="show has the class 9"):
        display.plot(show=[9])
    with pytest.raises(ValueError, match="Unknown uncertainty 'bar'"):
        display.plot(uncertainty="bar")


def test_any_classifier_with_probabilities_will_do():
    y, _ = sample()
    X = np.random.default_rng(1).normal(size=(200, 2)) + y[:, None]
    clf = LogisticRegression().fit(X, y)
    display = ReliabilityDisplay.from_estimator(clf, X, y, n_bins=4)
    same = reliability_curves(y, clf.predict_proba(X), n_bins=4)
    assert display.curves.confidence.error == same.confidence.error
    with pytest.raises(TypeError, match="which this RidgeClassifier does not have"):
        ReliabilityDisplay.from_estimator(RidgeClassifier().fit(X, y), X, y)
