"""Calibrators against plain objectives and scikit-learn."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_iris
from sklearn.isotonic import IsotonicRegression

import polychotomy as pc
from polychotomy import Isotonic, Margins, NoCalibration, OneVsOne, Platt, PooledPlatt
from polychotomy.calibration import CALIBRATORS

moderate = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def targets(labels, weights):
    """Platt's smoothed targets, with sums of weights for counts."""
    plus = sum(w for label, w in zip(labels, weights, strict=True) if label > 0)
    minus = sum(w for label, w in zip(labels, weights, strict=True) if label < 0)
    return [(plus + 1) / (plus + 2) if label > 0 else 1 / (minus + 2) for label in labels]


def objective(parameters, scores, labels, weights):
    """The weighted cross entropy of the smoothed targets under 1 / (1 + exp(A f + B))."""
    A, B = parameters
    total = 0.0
    for f, t, w in zip(scores, targets(labels, weights), weights, strict=True):
        z = A * f + B
        # -t log p - (1 - t) log(1 - p), with p = 1 / (1 + e^z)
        soft = max(z, 0.0) + math.log1p(math.exp(-abs(z)))
        total += w * (soft - (1 - t) * z)
    return total


def gradient(parameters, scores, labels, weights):
    A, B = parameters
    slope = offset = 0.0
    for f, t, w in zip(scores, targets(labels, weights), weights, strict=True):
        z = A * f + B
        one_minus_p = 1 / (1 + math.exp(-z)) if z > -700 else 0.0
        slope += w * f * (one_minus_p - (1 - t))
        offset += w * (one_minus_p - (1 - t))
    return np.array([slope, offset])


@st.composite
def columns(draw, n_columns=2):
    n_rows = draw(st.integers(4, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = rng.choice([-1, 0, 1], p=[0.4, 0.2, 0.4], size=(n_rows, n_columns))
    labels[0], labels[1] = 1, -1
    scores = labels * draw(st.sampled_from([0.0, 0.5, 2.0])) + rng.normal(size=labels.shape)
    weights = rng.uniform(0.2, 3, size=n_rows) if draw(st.booleans()) else None
    return scores, labels, weights


@moderate
@given(columns())
def test_platt_minimises_the_smoothed_cross_entropy(drawn):
    scores, labels, weights = drawn
    platt = Platt().fit(Margins(mean=scores), labels, weights)
    for c in range(scores.shape[1]):
        used = labels[:, c] != 0
        row_weights = np.ones(used.sum()) if weights is None else weights[used]
        given_ = scores[used, c].tolist(), labels[used, c].tolist(), row_weights.tolist()
        fitted = (platt.slopes_[c], platt.intercepts_[c])
        np.testing.assert_allclose(gradient(fitted, *given_), 0, atol=1e-3)
        best = minimize(
            objective, [0.0, 0.0], args=given_, jac=gradient, method="BFGS",
            options={"gtol": 1e-10},
        )  # fmt: skip
        assert objective(fitted, *given_) <= best.fun + 1e-7


@moderate
@given(columns())
def test_platt_transforms_by_13(drawn):
    scores, labels, weights = drawn
    platt = Platt().fit(Margins(mean=scores), labels, weights)
    sigmoids = list(zip(platt.slopes_, platt.intercepts_, strict=True))
    expected = [
        [1 / (1 + math.exp(A * f + B)) for f, (A, B) in zip(row, sigmoids, strict=True)]
        for row in scores
    ]
    np.testing.assert_allclose(platt.transform(Margins(mean=scores)), expected, rtol=1e-12)


@pytest.mark.parametrize("calibrator", [Platt(), Isotonic()])
@moderate
@given(columns())
def test_rows_that_do_not_take_part_do_not_count(calibrator, drawn):
    scores, labels, weights = drawn
    changed = np.where(labels == 0, 1e6, scores)
    one = calibrator.fit(Margins(mean=scores), labels, weights).transform(Margins(mean=scores))
    two = calibrator.fit(Margins(mean=changed), labels, weights).transform(Margins(mean=scores))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("calibrator", [Platt(), Isotonic()])
def test_weighted_rows_are_repeated_rows(calibrator):
    rng = np.random.default_rng(0)
    labels = rng.choice([-1, 0, 1], size=(40, 3))
    scores = labels + 1.5 * rng.normal(size=labels.shape)
    repeats = rng.integers(0, 4, size=40)
    margins = Margins(mean=scores)
    weighted = calibrator.fit(margins, labels, repeats.astype(float)).transform(margins)
    many = Margins(mean=np.repeat(scores, repeats, axis=0))
    repeated = calibrator.fit(many, np.repeat(labels, repeats, axis=0)).transform(margins)
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-5)


def test_the_smoothed_targets_bound_separable_scores():
    scores = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    labels = np.array([[-1], [-1], [1], [1]])
    platt = Platt().fit(Margins(mean=scores), labels)
    p = platt.transform(Margins(mean=scores))[:, 0]
    assert np.isfinite(platt.slopes_).all()
    assert platt.slopes_[0] < 0
    # The mean of the fitted probabilities is that of the targets 1/4 and 3/4.
    assert p.mean() == pytest.approx(0.5, abs=1e-6)
    assert 0.05 < p[0] < p[1] < 0.5 < p[2] < p[3] < 0.95


@pytest.mark.parametrize("size", [1e-150, 1e-8, 1e8, 1e150, 1e300])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_platt_for_scores_of_any_size(noise, size):
    rng = np.random.default_rng(1)
    labels = np.repeat([[1], [-1]], 20, axis=0)
    scores = labels + noise * rng.normal(size=labels.shape)
    plain = Platt().fit(Margins(mean=scores), labels).transform(Margins(mean=scores))
    scaled = Margins(mean=size * scores)
    p = Platt().fit(scaled, labels).transform(scaled)
    np.testing.assert_allclose(p, plain, rtol=0, atol=1e-4)


def test_platt_transforms_huge_scores_without_a_warning():
    labels, scores = np.array([[1], [-1], [1], [-1]]), np.array([[0.1], [-0.1], [0.05], [0.02]])
    platt = Platt().fit(Margins(mean=scores), labels)
    assert platt.slopes_[0] < -5  # so that the product with a score can overflow
    far = platt.transform(Margins(mean=np.array([[1e308], [-1e308], [1e300]])))
    np.testing.assert_array_equal(far, [[1.0], [0.0], [1.0]])


def test_platt_turns_scores_that_are_wrong_way_round():
    labels, scores = np.array([[1], [-1], [1], [-1]]), np.array([[-1.0], [1.0], [-2.0], [2.0]])
    assert Platt().fit(Margins(mean=scores), labels).slopes_[0] > 0


# -------------------------------------------------------------------------------------- isotonic


@moderate
@given(columns())
def test_isotonic_is_scikit_learns(drawn):
    scores, labels, weights = drawn
    isotonic = Isotonic().fit(Margins(mean=scores), labels, weights)
    new = np.linspace(-5, 5, 21)[:, None] * np.ones((1, scores.shape[1]))
    p = isotonic.transform(Margins(mean=new))
    for c in range(scores.shape[1]):
        used = labels[:, c] != 0
        own = np.ones(used.sum()) if weights is None else weights[used]
        positive = labels[used, c] > 0
        n_positive, n_negative = own[positive].sum(), own[~positive].sum()
        twin = IsotonicRegression(out_of_bounds="clip").fit(scores[used, c], positive, own)
        # Bounded by what the rows of each side support.
        low, high = 1 / (n_negative + 2), (n_positive + 1) / (n_positive + 2)
        knots = np.clip(twin.y_thresholds_, low, high)
        expected = np.interp(new[:, c], twin.X_thresholds_, knots)
        np.testing.assert_allclose(p[:, c], expected, rtol=1e-12)
    assert (np.diff(p, axis=0) >= 0).all()
    assert p.min() > 0
    assert p.max() < 1


def test_isotonic_coupled_has_a_finite_likelihood():
    X, y = load_iris(return_X_y=True)
    clf = pc.PolychotomyClassifier(pc.SVM(), calibrator="isotonic", decoder="pairwise_coupling")
    p = clf.fit(X[::2], y[::2]).predict_proba(X)
    assert p[np.arange(len(y)), y].min() > 1e-4


@pytest.mark.filterwarnings("default")
def test_isotonic_warns_of_few_rows():
    scores = np.linspace(-1, 1, 99)[:, None]
    labels = np.where(scores > 0, 1, -1)
    with pytest.warns(UserWarning, match="only 99 rows; with fewer than 100 the calibrators"):
        Isotonic().fit(Margins(mean=scores), labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Isotonic().fit(Margins(mean=np.vstack([scores, scores])), np.vstack([labels, labels]))


def pooled(scores, labels):
    """Pool adjacent violators: the nondecreasing means of least squares, by a plain loop."""
    order = sorted(range(len(scores)), key=lambda i: scores[i])
    blocks = []
    for i in order:
        blocks.append([float(labels[i] > 0), 1])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            mean, n = blocks.pop()
            other, m = blocks.pop()
            blocks.append([(mean * n + other * m) / (n + m), n + m])
    flat = [mean for mean, n in blocks for _ in range(n)]
    return [flat[order.index(i)] for i in range(len(scores))]


@moderate
@given(columns(n_columns=1))
def test_isotonic_pools_adjacent_violators(drawn):
    scores, labels, _ = drawn
    labels = np.where(labels == 0, 1, labels)
    p = Isotonic().fit(Margins(mean=scores), labels).transform(Margins(mean=scores))
    expected = pooled(scores[:, 0].tolist(), labels[:, 0].tolist())
    n_positive, n_negative = (labels > 0).sum(), (labels < 0).sum()
    expected = np.clip(expected, 1 / (n_negative + 2), (n_positive + 1) / (n_positive + 2))
    np.testing.assert_allclose(p[:, 0], expected, rtol=0, atol=1e-12)


# ------------------------------------------------------------------------------------------ none


def test_no_calibration_passes_probabilities_through():
    own = np.array([[0.2, 0.9]])
    margins = Margins(mean=np.array([[-1.0, 3.0]]), probability=own)
    calibrator = NoCalibration().fit(margins, np.array([[1, -1]]))
    assert calibrator.transform(margins) is margins.probability
    np.testing.assert_array_equal(calibrator.transform(margins), own)
    assert calibrator.transform(Margins(mean=np.zeros((1, 2)))) is None
    assert not NoCalibration.learns
    assert Platt.learns
    assert Isotonic.learns


# ---------------------------------------------------------------------------------------- errors


def test_the_names():
    assert CALIBRATORS == {
        "platt": Platt,
        "pooled_platt": PooledPlatt,
        "isotonic": Isotonic,
        "none": NoCalibration,
    }


@pytest.mark.parametrize("calibrator", [Platt(), PooledPlatt(), Isotonic(), NoCalibration()])
@pytest.mark.parametrize("shape", [(4, 2), (3, 3), (4,), (4, 3, 1)])
def test_labels_of_another_shape(calibrator, shape):
    with pytest.raises(ValueError, match=r"labels have shape \(.*, but the scores have \(4, 3\)"):
        calibrator.fit(Margins(mean=np.zeros((4, 3))), np.ones(shape, dtype=int))


@pytest.mark.parametrize("calibrator", [Platt(), PooledPlatt(), Isotonic()])
def test_inputs_are_not_changed(calibrator):
    rng = np.random.default_rng(0)
    book = OneVsOne().build(3)
    y = np.repeat([0, 1, 2], 5)
    scores, weights, labels = rng.normal(size=(15, 3)), rng.uniform(1, 2, 15), book.labels(y)
    copies = scores.copy(), weights.copy(), labels.copy()
    for array in (scores, weights, labels):
        array.setflags(write=False)
    calibrator.fit(Margins(mean=scores), labels, weights).transform(Margins(mean=scores))
    for array, copy in zip((scores, weights, labels), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("calibrator", [Platt(), PooledPlatt(), Isotonic()])
def test_margins_without_scores_are_refused(calibrator):
    with pytest.raises(ValueError, match="these Margins have none"):
        calibrator.fit(Margins(probability=[[0.5]]), [[1]])


@pytest.mark.parametrize("calibrator", [Platt(), Isotonic()])
def test_a_column_without_rows_is_undecided(calibrator):
    scores = Margins(mean=[[1.0, 3.0], [-1.0, 2.0]])
    fitted = calibrator.fit(scores, [[1, 0], [-1, 0]])
    np.testing.assert_array_equal(fitted.transform(scores)[:, 1], 0.5)
