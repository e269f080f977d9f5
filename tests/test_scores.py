"""Error, NLL, Brier score and calibration error, against scikit-learn and plain loops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, log_loss, zero_one_loss

from polychotomy.core import scores


def slow_mean(values, weights):
    weights = [1.0] * len(values) if weights is None else weights
    total = math.fsum(weight * value for weight, value in zip(weights, values, strict=True))
    return total / math.fsum(weights)


def slow_nll(p, y, weights):
    own = [row[k] if k >= 0 else 0.0 for row, k in zip(p, y, strict=True)]
    return slow_mean([-math.log(max(value, 1e-15)) for value in own], weights)


def slow_brier(p, y, weights):
    def distance(row, k):
        # A class without a column: the truth is 1 in a column where the probability is 0.
        return sum((value - (j == k)) ** 2 for j, value in enumerate(row)) + (k < 0)

    return slow_mean([distance(row, k) for row, k in zip(p, y, strict=True)], weights)


def slow_calibration_error(p, y, weights, n_bins):
    weights = [1.0] * len(y) if weights is None else list(weights)
    inner = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    bins = {}
    for row, k, weight in zip(p.tolist(), y, weights, strict=True):
        place = sum(max(row) > edge for edge in inner)
        right = row.index(max(row)) == k
        bins.setdefault(place, []).append(weight * (right - max(row)))
    return sum(abs(math.fsum(each)) for each in bins.values()) / math.fsum(weights)


@st.composite
def problems(draw):
    n_rows, n_classes = draw(st.integers(1, 12)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    p = rng.dirichlet(np.full(n_classes, draw(st.sampled_from([0.01, 0.3, 3.0]))), n_rows)
    y = rng.integers(-1 if draw(st.booleans()) else 0, n_classes, n_rows)
    weights = rng.uniform(0.1, 5.0, n_rows) if draw(st.booleans()) else None
    return p, y, weights


@given(problems())
def test_scores_are_those_of_plain_loops(problem):
    p, y, weights = problem
    assert scores.nll(p, y, weights) == pytest.approx(slow_nll(p, y, weights), rel=1e-12)
    assert scores.brier(p, y, weights) == pytest.approx(slow_brier(p, y, weights), abs=1e-12)
    wrong = [int(row.argmax()) != k for row, k in zip(p, y, strict=True)]
    found = scores.error(p.argmax(axis=1), y, weights)
    assert found == pytest.approx(slow_mean(wrong, weights), abs=1e-12)
    for n_bins in (1, 4, 10):
        found = scores.calibration_error(p, y, weights, n_bins=n_bins)
        assert found == pytest.approx(slow_calibration_error(p, y, weights, n_bins), abs=1e-12)


@given(problems())
def test_scores_are_those_of_scikit_learn(problem):
    p, y, weights = problem
    # scikit-learn knows neither classes without a column nor our floor.
    p, y = np.maximum(p, 1e-9), np.maximum(y, 0)
    p /= p.sum(axis=1, keepdims=True)
    labels = range(p.shape[1])
    expected = log_loss(y, p, sample_weight=weights, labels=labels)
    assert scores.nll(p, y, weights) == pytest.approx(expected, rel=1e-10, abs=1e-12)
    wrong = zero_one_loss(y, p.argmax(axis=1), sample_weight=weights)
    assert scores.error(p.argmax(axis=1), y, weights) == pytest.approx(wrong, abs=1e-12)
    if p.shape[1] == 2:
        # Of two classes scikit-learn counts one; ours is the sum of both.
        half = brier_score_loss(y, p[:, 1], sample_weight=weights, pos_label=1)
        assert scores.brier(p, y, weights) == pytest.approx(2.0 * half, abs=1e-12)


@given(problems())
def test_leading_axes_are_judged_one_by_one(problem):
    p, y, weights = problem
    stack = np.stack([p, p[:, ::-1], np.roll(p, 1, axis=1)])
    for score in (scores.nll, scores.brier):
        expected = [score(each, y, weights) for each in stack]
        np.testing.assert_allclose(score(stack, y, weights), expected, rtol=1e-14, atol=1e-15)
    expected = [scores.error(each.argmax(axis=1), y, weights) for each in stack]
    found = scores.error(stack.argmax(axis=2), y, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_a_confident_mistake_costs_as_much_as_the_floor_says():
    p, y = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0, 1])
    assert scores.nll(p, y) == pytest.approx(-np.log(scores.LEAST_PROBABILITY) / 2)
    p[1] = 1.0 - 1e-14, 1e-14
    assert scores.nll(p, y) == pytest.approx(-np.log(1e-14) / 2)


def test_whole_weights_repeat_rows():
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet(np.ones(3), 20), rng.integers(0, 3, 20)
    times = rng.integers(0, 4, 20)
    many, labels = np.repeat(p, times, axis=0), np.repeat(y, times)
    for score in (scores.nll, scores.brier, scores.calibration_error):
        assert score(p, y, times.astype(float)) == pytest.approx(score(many, labels))


def test_quantile_bins_hold_the_same_number_of_rows():
    predicted = np.random.default_rng(1).random(40)
    bins = scores.probability_bins(predicted, 4, "quantile")
    np.testing.assert_array_equal(np.bincount(bins), 10)
