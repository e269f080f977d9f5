"""Shifted class frequencies: against direct maximum likelihood, QuaPy, and the true ones."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from polychotomy import PolychotomyClassifier
from polychotomy.core import scores
from polychotomy.decisions import LabelShift, estimate_frequencies, reweighted

CENTRES = np.array([[0.0, 0.0], [1.6, 0.0], [0.0, 1.6], [1.6, 1.6]])


def rows(rng, n_rows, frequencies):
    y = rng.choice(len(frequencies), n_rows, p=frequencies)
    return rng.normal(size=(n_rows, 2)) + CENTRES[y], y


def direct(p, old):
    """Maximise the likelihood of the frequencies with SciPy."""

    def negative(logits):
        q = np.exp(logits - logits.max())
        q /= q.sum()
        return -np.mean(np.log(p @ (q / old)))

    best = minimize(negative, np.log(old), method="BFGS", options={"gtol": 1e-9}).x
    q = np.exp(best - best.max())
    return q / q.sum()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_em_maximises_the_likelihood(seed):
    rng = np.random.default_rng(seed)
    old = rng.dirichlet(np.full(3, 5.0))
    p = reweighted(rng.dirichlet(np.full(3, 0.5), 300), np.ones(3) / 3, old)
    found = estimate_frequencies(p, old)
    best = direct(p, old)

    def likelihood(q):
        return np.mean(np.log(p @ (q / old)))

    assert likelihood(found) >= likelihood(best) - 1e-9
    np.testing.assert_allclose(found, best, atol=2e-3)
    assert found.sum() == pytest.approx(1)


def test_plain_em_ends_in_the_same_place():
    rng = np.random.default_rng(3)
    old = np.array([0.5, 0.3, 0.2])
    p = rng.dirichlet([2, 1, 0.5], 400)
    q = old.copy()
    for _ in range(4000):
        weighted = p * (q / old)
        q = (weighted / weighted.sum(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(estimate_frequencies(p, old), q, atol=1e-6)


def test_mapped_files_are_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("polychotomy.decisions.shift.BLOCK", 100)
    rng = np.random.default_rng(0)
    p = rng.dirichlet([2, 1, 0.5], 1050)
    file = np.memmap(tmp_path / "p", np.float64, "w+", shape=p.shape)
    file[:] = p
    np.testing.assert_allclose(
        estimate_frequencies(file, [0.5, 0.3, 0.2]), estimate_frequencies(p, [0.5, 0.3, 0.2])
    )


def nll(model, X, y):
    return scores.nll(model.predict_proba(X), y)


def test_shifted_rows_are_predicted_as_with_the_true_frequencies():
    rng = np.random.default_rng(0)
    even = np.full(4, 0.25)
    X, y = rows(rng, 1500, even)
    model = LabelShift(LinearDiscriminantAnalysis()).fit(X, y)
    excess, gained, errors = [], [], []
    for _ in range(40):
        new = rng.dirichlet(np.ones(4))
        Z, t = rows(rng, 600, new)
        model.adapt(Z)
        plain = model.unadapted_proba(Z)
        found = scores.of_truth(model.predict_proba(Z), t)
        told = scores.of_truth(reweighted(plain, model.training_frequencies_, new), t)
        rowwise = np.log(np.maximum(told, 1e-15)) - np.log(np.maximum(found, 1e-15))
        excess.append(rowwise.mean())
        gained.append(np.log(found).mean() - np.log(scores.of_truth(plain, t)).mean())
        error = (-np.log(np.maximum(told, 1e-15))).std() / np.sqrt(600)
        errors.append(error)
    # On average well within one standard error of an NLL, and in nearly all draws.
    assert np.mean(excess) < 0.5 * np.mean(errors)
    assert np.mean(np.array(excess) < np.array(errors)) > 0.85
    assert np.mean(gained) > 0.1


def test_without_shift_it_does_no_harm():
    rng = np.random.default_rng(1)
    frequencies = np.array([0.4, 0.3, 0.2, 0.1])
    harm, found, errors = [], [], []
    for _ in range(25):
        X, y = rows(rng, 500, frequencies)
        model = LabelShift(LinearDiscriminantAnalysis(), cv=3).fit(X, y)
        Z, t = rows(rng, 300, frequencies)
        before = scores.nll(model.unadapted_proba(Z), t)
        model.adapt(Z)
        found.append(model.shift_.p_value < 0.05)
        errors.append(np.log(scores.of_truth(model.unadapted_proba(Z), t)).std() / np.sqrt(300))
        harm.append(nll(model, Z, t) - before)
    assert np.mean(found) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 25)
    # Where the test finds a shift by chance, a little; a fraction of the error of an NLL.
    assert np.mean(harm) < 0.25 * np.mean(errors)


def test_the_test_finds_shifts_and_has_uniform_p_values_without():
    rng = np.random.default_rng(2)
    even = np.full(4, 0.25)
    p_values, found = [], []
    X, y = rows(rng, 4000, even)
    model = LabelShift(LinearDiscriminantAnalysis(), tempering=False).fit(X, y)
    for _ in range(60):
        p_values.append(model.adapt(rows(rng, 300, even)[0]).shift_.p_value)
        shifted = rows(rng, 300, [0.55, 0.15, 0.15, 0.15])[0]
        found.append(model.adapt(shifted).shift_.p_value < 0.05)
    assert np.mean(found) > 0.9
    assert np.mean(np.array(p_values) < 0.05) < 0.2
    assert 0.35 < np.mean(p_values) < 0.65


def test_both_estimates_agree_and_a_warning_comes_if_more_has_changed():
    rng = np.random.default_rng(4)
    X, y = rows(rng, 2000, np.full(4, 0.25))
    model = LabelShift(LogisticRegression()).fit(X, y)
    Z, t = rows(rng, 2000, [0.6, 0.2, 0.1, 0.1])
    found = model.adapt(Z).shift_
    assert (np.abs(found.check - np.bincount(t) / 2000) < 4 * found.check_error).all()
    assert (np.abs(found.frequencies - np.bincount(t) / 2000) < 4 * found.check_error).all()
    assert (found.check_error < 0.05).all()
    assert found.agrees
    moved = 2.0 * rows(rng, 2000, np.full(4, 0.25))[0]
    with pytest.warns(UserWarning, match="More than the class frequencies may have changed"):
        model.adapt(moved)


def test_the_pipe_and_data_frames_and_labels():
    rng = np.random.default_rng(5)
    X, y = rows(rng, 300, np.full(4, 0.25))
    frame, names = pd.DataFrame(X, columns=["u", "v"]), np.array(["a", "b", "c", "d"])[y]
    model = LabelShift(PolychotomyClassifier()).fit(frame, names)
    np.testing.assert_array_equal(model.frequencies_, model.training_frequencies_)
    Z, t = rows(rng, 300, [0.7, 0.1, 0.1, 0.1])
    model.adapt(pd.DataFrame(Z, columns=["u", "v"]))
    assert model.frequencies_[0] > 0.55
    said = model.predict(pd.DataFrame(Z, columns=["u", "v"]))
    plain = np.array(["a", "b", "c", "d"])[
        model.unadapted_proba(pd.DataFrame(Z, columns=["u", "v"])).argmax(axis=1)
    ]
    truth = np.array(["a", "b", "c", "d"])[t]
    assert np.mean(said == truth) > np.mean(plain == truth) + 0.05
    fitted = LogisticRegression().fit(X, y)
    frozen = LabelShift(FrozenEstimator(fitted), tempering=False).fit(X, y)
    np.testing.assert_array_equal(frozen.predict_proba(Z), fitted.predict_proba(Z))


@pytest.mark.parametrize(
    ("p", "training", "sentence"),
    [
        (np.zeros((0, 2)), [0.5, 0.5], "from no rows"),
        ([[0.5, 0.5]], [1.0, 0.0], "training must be positive"),
        ([[0.5, 0.6]], [0.5, 0.5], "must sum to 1"),
        ([[0.5, 0.5]], [0.5, 0.25, 0.25], "2 nonnegative numbers"),
    ],
)
def test_bad_input_gets_a_sentence(p, training, sentence):
    with pytest.raises(ValueError, match=sentence):
        estimate_frequencies(p, training)


def test_a_bad_level_is_refused():
    with pytest.raises(ValueError, match="level must be above 0 and below 1"):
        LabelShift(LogisticRegression(), level=0).fit([[0], [1], [0], [1]], [0, 1, 0, 1])


def test_rows_of_vanished_classes_keep_their_probabilities():
    p = reweighted([[1.0, 0.0], [0.5, 0.5]], [0.5, 0.5], [0.0, 1.0])
    np.testing.assert_array_equal(p, [[1.0, 0.0], [0.0, 1.0]])


def test_quapy_estimates_the_same():
    with mpl.rc_context():  # importing it changes the style of all pictures
        quapy = pytest.importorskip("quapy", reason="QuaPy, the oracle of shifts, is not installed")
    rng = np.random.default_rng(6)
    X, y = rows(rng, 800, np.full(4, 0.25))
    Z, _ = rows(rng, 500, [0.55, 0.25, 0.15, 0.05])
    fitted = LogisticRegression().fit(X, y)
    theirs = quapy.method.aggregative.EMQ(fitted, fit_classifier=False)
    theirs.fit(X, y)
    found = estimate_frequencies(fitted.predict_proba(Z), np.bincount(y) / 800)
    # QuaPy stops where the frequencies move by less than 1e-4 a step.
    np.testing.assert_allclose(found, theirs.predict(Z), atol=5e-3)
