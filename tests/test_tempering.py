"""Tempering on arrays: what it minimises, and what must always hold."""

from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

import polychotomy as pc
from polychotomy import Margins, Tempering
from polychotomy.core import slope_and_biases
from polychotomy.core.empirical_bayes import ClassScores
from polychotomy.core.math import softmax

moderate = settings(max_examples=25, deadline=None)


def drawn(seed, n_rows=200, n_classes=3, slope=2.0):
    """Draw probabilities that are too sure (slope > 1), and classes."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n_rows, n_classes))
    true = softmax(z + np.linspace(0.0, 0.8, n_classes))
    y = (rng.uniform(size=(n_rows, 1)) > true.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return softmax(slope * z), y


def test_parameters_minimise_the_penalised_likelihood():
    p, y = drawn(0)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    tempering = Tempering().fit(p, y, weights)
    l_d, l_b = tempering.strengths_

    def objective(theta):
        d, b = theta[0], theta[1:]
        log_p = np.log(p)
        scores = (1 + d) * (log_p - log_p.mean(axis=1, keepdims=True)) + b
        nll = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y]
        return weights @ nll + 0.5 * l_d * d**2 + 0.5 * l_b * b @ b

    found = minimize(objective, np.zeros(4), method="BFGS", options={"gtol": 1e-7})
    ours = np.array([tempering.slope_ - 1.0, *tempering.biases_])
    np.testing.assert_allclose(ours, found.x, atol=1e-4)
    assert objective(ours) <= found.fun + 1e-9
    assert tempering.biases_.sum() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("block", [1 << 21, 12])
def test_its_likelihood_is_the_general_one_with_a_shared_slope(block, monkeypatch):
    monkeypatch.setattr(slope_and_biases, "ENTRIES", block)
    rng = np.random.default_rng(4)
    z, y = 3.0 * rng.normal(size=(30, 5)), rng.integers(5, size=30)
    weights = rng.integers(0, 4, size=30).astype(float)
    features = np.ones((30, 5, 2))
    features[:, :, 0] = z
    design = np.zeros((10, 6))
    design[::2, 0], design[1::2, 1:] = 1.0, np.eye(5)
    for given_weights in (None, weights):
        general = ClassScores(features, y, given_weights, design, offset=z)
        model = slope_and_biases.SlopeAndBiases(z, y, given_weights)
        for theta in rng.normal(size=(3, 6)):
            assert model.value(theta) == pytest.approx(general.value(theta), rel=1e-12)
            gradient, hessian = model.derivatives(theta)
            wanted, matrix = general.derivatives(theta)
            np.testing.assert_allclose(gradient, wanted, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(hessian.matrix, matrix.matrix, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("slope", [0.3, 1.0, 3.0])
def test_the_truth_is_found_where_rows_are_many(slope):
    p, y = drawn(1, n_rows=20000, slope=slope)
    tempering = Tempering().fit(p, y)
    assert tempering.slope_ * slope == pytest.approx(1.0, abs=0.05)
    np.testing.assert_allclose(np.diff(tempering.biases_), 0.4, atol=0.1)


def test_few_rows_change_little_and_no_evidence_changes_nothing():
    p = softmax(np.random.default_rng(2).normal(size=(4, 3)))
    tempering = Tempering().fit(p, p.argmax(axis=1))
    assert np.abs(tempering.transform(p) - p).max() < 0.1
    uniform = np.full((6, 3), 1 / 3)
    even = Tempering().fit(uniform, [0, 1, 2, 0, 1, 2])
    np.testing.assert_allclose(even.transform(p), p, atol=1e-9)
    assert even.strengths_[0] == pytest.approx(50.0)  # the mode of the prior


@st.composite
def any_rows(draw):
    """Draw probabilities with zeros and ones among them, classes and weights."""
    n_rows, n_classes = draw(st.integers(1, 12)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    p = softmax(draw(st.sampled_from([0.0, 1.0, 30.0, 1e4])) * rng.normal(size=(n_rows, n_classes)))
    y = rng.integers(draw(st.integers(1, n_classes)), size=n_rows)  # classes may be absent
    if draw(st.booleans()):
        y = p.argmax(axis=1)  # separable
    weights = rng.choice([0.0, 1.0, 3.0], size=n_rows) * draw(st.sampled_from([1.0, 1e-6, 1e6]))
    return p, y, weights


@moderate
@given(any_rows())
def test_probabilities_whatever_the_rows(rows):
    p, y, weights = rows
    tempered = Tempering().fit(p, y, weights).transform(p)
    assert np.isfinite(tempered).all()
    assert (tempered >= 0).all()
    np.testing.assert_allclose(tempered.sum(axis=1), 1.0, atol=1e-12)


@moderate
@given(any_rows(), st.randoms(use_true_random=False))
def test_weights_are_repetitions_and_classes_have_no_order(rows, random):
    p, y, weights = rows
    weights = np.minimum(np.round(weights), 3.0)
    times = weights.astype(int)
    if not times.any():
        return
    weighted = Tempering().fit(p, y, weights).transform(p)
    repeated = Tempering().fit(np.repeat(p, times, axis=0), np.repeat(y, times)).transform(p)
    np.testing.assert_allclose(weighted, repeated, atol=1e-8)
    order = list(range(p.shape[1]))
    random.shuffle(order)
    place = np.argsort(order)
    permuted = Tempering().fit(p[:, order], place[y], weights).transform(p[:, order])
    np.testing.assert_allclose(permuted, weighted[:, order], atol=1e-8)


def test_smaller_probabilities_count_as_the_floor():
    p, y = drawn(3)
    zeros = np.where(p < 0.01, 0.0, p)
    fitted = Tempering(floor=0.01).fit(zeros, y)
    np.testing.assert_array_equal(
        fitted.transform(zeros), clone(fitted).fit(np.maximum(p, 0.01), y).transform(p)
    )


@pytest.mark.parametrize(
    ("p", "y", "kind", "sentence"),
    [
        ([[0.5, 0.5]], [2], ValueError, "class number 2 in row 0, but p has 2 columns"),
        ([[0.5, 0.5]], ["a"], TypeError, "y must be class numbers"),
        ([[0.5, 0.5]], [0, 1], ValueError, "one class for each of the 1 rows"),
        ([[1.0]], [0], ValueError, "at least two classes"),
        ([[1.5, -0.5]], [0], ValueError, r"p has a value outside \[0, 1\] in row 0"),
        ([[np.nan, 0.5]], [0], ValueError, "p has a NaN or infinite value in row 0"),
        (np.zeros((0, 2)), np.zeros(0, int), ValueError, "at least one row"),
    ],
)
def test_wrong_rows(p, y, kind, sentence):
    with pytest.raises(kind, match=sentence):
        Tempering().fit(p, y)


def test_wrong_use():
    with pytest.raises(ValueError, match="must be fitted"):
        Tempering().transform([[0.5, 0.5]])
    fitted = Tempering().fit([[0.5, 0.5]], [0])
    with pytest.raises(ValueError, match="p has 3 columns, but Tempering was fitted to 2 classes"):
        fitted.transform([[0.2, 0.3, 0.5]])
    with pytest.raises(ValueError, match="floor must be a positive number"):
        Tempering(floor=0.0).fit([[0.5, 0.5]], [0])


# --------------------------------------------------------------------------- as the last stage


def overlapping(n_rows=150, n_classes=4, seed=0):
    return make_blobs(n_rows, centers=n_classes, cluster_std=3.0, random_state=seed)


class Spy(Tempering):
    """Remembers what it was fitted to."""

    seen: ClassVar[dict] = {}

    def fit(self, p, y, weights=None):
        Spy.seen.update(p=p, y=y, weights=weights)
        return super().fit(p, y, weights)


PIPES = [
    (pc.SVM(sigma2=9.0, tol=1e-10), "one_vs_one", "platt", "pairwise_coupling"),
    (LogisticRegression(), "one_vs_rest", "none", "winner_takes_all"),
    (pc.SVM(sigma2=9.0, tol=1e-10), "one_vs_rest", "none", "shrunk_soft_max"),
    (pc.KernelLogisticRegression(sigma2=9.0, tol=1e-10), "minimal", "auto", "code_coupling"),
]


@pytest.mark.parametrize(("machine", "code", "calibrator", "decoder"), PIPES)
def test_it_is_fitted_on_probabilities_that_nothing_has_seen(machine, code, calibrator, decoder):
    """In the fold left out they are those of plain parts, fitted on the other folds."""
    X, y = overlapping()
    folds = StratifiedKFold(3)
    clf = pc.PolychotomyClassifier(machine, code, calibrator, decoder, tempering=Spy(), cv=folds)
    clf.fit(X, y)
    plain = clone(clf).set_params(tempering=None)
    np.testing.assert_array_equal(
        clf.tempering_.transform(plain.fit(X, y).predict_proba(X)), clf.predict_proba(X)
    )
    assert plain.tempering_ is None
    splits = list(folds.split(X, y))
    margins = [clone(plain).fit(X[train], y[train]) for train, _ in splits]
    scores = np.zeros((len(y), clf.codebook_.n_columns))
    for fitted, (_, test) in zip(margins, splits, strict=True):
        scores[test] = fitted.binary_scores(X[test])
    for fitted, (train, test) in zip(margins, splits, strict=True):
        seen = Margins(mean=scores[test])
        if clf.calibrator_.learns:
            labels = clf.codebook_.labels(y[train])
            sigmoids = clone(clf.calibrator_).fit(Margins(mean=scores[train]), labels)
            seen = seen.with_probability(sigmoids.transform(seen))
        elif calibrator != "none" or decoder == "winner_takes_all":
            seen = fitted.machines_.margins(X[test], True)
        context = pc.Context(clf.codebook_, y[train], held_out=Margins(mean=scores[train]))
        expected = clone(clf.decoder_).fit(context).decode(seen)
        np.testing.assert_allclose(Spy.seen["p"][test], expected, atol=1e-6)


def test_on_noise_it_makes_probabilities_even():
    """A pipe that overfits knows nothing: tempered, it must not be worse than that."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 8)), np.tile([0, 1, 2], 100)
    clf = pc.PolychotomyClassifier(DecisionTreeClassifier(random_state=0), tempering="auto")
    p = clf.fit(X[:200], y[:200]).predict_proba(X[200:])
    plain = clone(clf).set_params(tempering=None).fit(X[:200], y[:200]).predict_proba(X[200:])
    assert log_loss(y[200:], p) < np.log(3) + 0.05
    assert log_loss(y[200:], plain) > 2 * np.log(3)


@pytest.mark.parametrize(
    ("machine", "calibrator"),
    [(pc.LSSVM(), "platt"), (pc.LSSVM(), "none"), (pc.KernelLogisticRegression(), "platt")],
)
def test_leave_one_out(machine, calibrator):
    X, y = overlapping()
    clf = pc.PolychotomyClassifier(
        machine, "one_vs_one", calibrator, "pairwise_coupling", tempering=True, cv="leave_one_out"
    )
    p = clf.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert 0.3 < clf.tempering_.slope_ < 3.0


def test_prefit_is_tempered_in_calibrate():
    X, y = overlapping(400)
    clf = pc.PolychotomyClassifier(pc.SVM(), tempering="auto", cv="prefit").fit(X[::2], y[::2])
    assert not hasattr(clf, "tempering_")
    clf.calibrate(X[1::2], y[1::2])
    held_out = clone(clf).set_params(cv=5).fit(X[::2], y[::2])
    assert clf.tempering_.slope_ == pytest.approx(held_out.tempering_.slope_, abs=0.4)
    own = pc.PolychotomyClassifier(LogisticRegression(), tempering="auto", cv="prefit")
    with pytest.raises(NotFittedError, match="Call calibrate"):
        own.fit(X, y).predict(X)


def test_weights_reach_it_and_zeros_do_not():
    X, y = overlapping()
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 2.0)
    clf = pc.PolychotomyClassifier(pc.SVM(), tempering=Spy(), cv=StratifiedKFold(3))
    clf.fit(X, y, weights)
    np.testing.assert_array_equal(Spy.seen["weights"], 2.0)
    np.testing.assert_array_equal(Spy.seen["y"], y[weights > 0])


def test_priors_come_after_it():
    X, y = overlapping()
    plain = pc.PolychotomyClassifier(pc.SVM(), tempering=True).fit(X, y)
    priors = [0.7, 0.1, 0.1, 0.1]
    reweighted = clone(plain).set_params(priors=priors).fit(X, y)
    expected = plain.predict_proba(X) * priors / plain.class_sizes_
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(reweighted.predict_proba(X), expected, atol=1e-12)


def test_no_folds_no_tempering():
    clf = pc.PolychotomyClassifier(LogisticRegression(), tempering=True)
    with pytest.warns(UserWarning, match="fewer rows than the 5 folds"):
        clf.fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    assert clf.tempering_ is None
    assert clf.predict_proba([[0.0]]).shape == (1, 3)


@pytest.mark.parametrize(
    ("options", "kind", "sentence"),
    [
        ({"decoder": "max_wins"}, ValueError, "which MaxWins does not yield here"),
        ({"decoder": "nesting"}, ValueError, "which Nesting does not yield here"),
        ({"tempering": "on"}, TypeError, "tempering must be None, 'auto', True or a Tempering"),
        ({"tempering": Tempering}, TypeError, r"write Tempering\(\), with brackets"),
    ],
)
def test_what_cannot_be_tempered(options, kind, sentence):
    X, y = overlapping()
    with pytest.raises(kind, match=sentence):
        pc.PolychotomyClassifier(pc.SVM(), **{"tempering": True, **options}).fit(X, y)


def test_a_decoder_that_trains_machines_is_refused():
    class Refitting(pc.PairwiseCoupling):
        needs = frozenset({"probabilities", "refit"})

    X, y = overlapping()
    with pytest.raises(ValueError, match="trains machines of its own"):
        pc.PolychotomyClassifier(pc.SVM(), decoder=Refitting(), tempering=True).fit(X, y)


def test_a_search_ends_with_it():
    X, y = overlapping()
    clf = pc.PolychotomyClassifier(pc.SVM(tol=1e-8), tempering=True)
    grid = {"machine__C": [1.0, 10.0], "machine__sigma2": [9.0]}
    best = pc.TwoStepSearchCV(clf, grid, fine=None).fit(X, y).best_estimator_
    again = clone(best).fit(X, y)
    assert best.tempering_.slope_ == pytest.approx(again.tempering_.slope_, abs=1e-5)


def test_comparisons_leave_it_out():
    X, y = overlapping()
    clf = pc.PolychotomyClassifier(pc.SVM(), tempering=True)
    rows = pc.compare_decoders(clf, X, y, ["max_wins", "pairwise_coupling"]).rows
    plain = pc.compare_decoders(
        clone(clf).set_params(tempering=None), X, y, ["max_wins", "pairwise_coupling"]
    ).rows
    assert [row["nll"] for row in rows] == [row["nll"] for row in plain]
