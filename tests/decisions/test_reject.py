"""Answers only where the class is sure: thresholds, risk and coverage, the picture."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from polychotomy import PolychotomyClassifier
from polychotomy.decisions import RejectClassifier, risk_coverage
from polychotomy.decisions.rejection import NEVER, coverage_threshold, error_threshold

X, Y = load_iris(return_X_y=True)


def hard(seed, n_rows=3000):
    return make_classification(
        n_rows,
        6,
        n_informative=4,
        n_redundant=0,
        n_classes=4,
        class_sep=1.3,
        n_clusters_per_class=1,
        random_state=seed,
    )


def plain_curve(wrong, confidence):
    """Answer one row after another, the surest first; rows of equal confidence by their mean."""
    wrong = np.array(wrong, float)
    for value in set(confidence):
        tied = [i for i, other in enumerate(confidence) if other == value]
        wrong[tied] = wrong[tied].mean()
    order = sorted(range(len(wrong)), key=lambda i: -confidence[i])
    return np.array([np.mean([wrong[i] for i in order[: k + 1]]) for k in range(len(order))])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_the_curve_is_that_of_a_plain_loop(seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(3), 40)
    p[::3] = p[0]  # equal confidences
    y = rng.integers(0, 3, 40)
    curve = risk_coverage(y, p, [0, 1, 2])
    risk = plain_curve(p.argmax(axis=1) != y, p.max(axis=1).tolist())
    np.testing.assert_allclose(curve.risk, risk)
    assert curve.area == pytest.approx(risk.mean())
    assert curve.best_area <= curve.area + 1e-12
    assert curve.at(1.0) == pytest.approx(np.mean(p.argmax(axis=1) != y))
    # The order of the rows does not matter.
    mixed = rng.permutation(40)
    assert risk_coverage(y[mixed], p[mixed], [0, 1, 2]).area == pytest.approx(curve.area)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 0.5), st.floats(0.05, 0.95))
def test_thresholds_are_the_best_of_all(seed, error, coverage):
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.random(60), 1 + seed % 3)
    wrong = (rng.random(60) > confidence).astype(float)
    fine = [
        t
        for t in set(confidence.tolist())
        if (wrong[confidence >= t].sum() + 1) / ((confidence >= t).sum() + 1) <= error + 1e-12
    ]
    assert error_threshold(confidence, wrong, error) == (min(fine) if fine else NEVER)
    reached = [t for t in set(confidence.tolist()) if np.mean(confidence >= t) >= coverage - 1e-9]
    assert coverage_threshold(confidence, coverage) == max(reached)


def test_wanted_error_and_coverage_on_new_rows():
    errors, shares = [], []
    for seed in range(12):
        Z, y = hard(seed)
        train, new = np.arange(500), np.arange(500, 3000)
        by_error = RejectClassifier(GaussianNB(), error=0.1).fit(Z[train], y[train])
        answered = by_error.answers(Z[new])
        errors.append(np.mean(by_error.predict(Z[new])[answered] != y[new][answered]))
        by_share = RejectClassifier(GaussianNB(), coverage=0.6).fit(Z[train], y[train])
        shares.append(by_share.answers(Z[new]).mean())
    error_of_mean = np.std(errors) / np.sqrt(12)
    assert np.mean(errors) <= 0.1 + 2 * error_of_mean
    assert np.mean(errors) > 0.05
    assert np.mean(shares) == pytest.approx(0.6, abs=4 * np.sqrt(0.24 / 500 / 12) + 0.01)


def test_class_wise_thresholds():
    Z, y = hard(1)
    clf = RejectClassifier(LogisticRegression(), error=0.05, class_wise=True).fit(Z[::2], y[::2])
    assert len(set(clf.thresholds_.tolist())) == 4
    said = clf.predict(Z[1::2])
    for k in range(4):
        rows = said == k
        wrong = np.mean(y[1::2][rows] != k)
        assert wrong < 0.05 + 3 * np.sqrt(0.05 * 0.95 / rows.sum())
    by_share = RejectClassifier(LogisticRegression(), coverage=0.5, class_wise=True)
    by_share.fit(Z[::2], y[::2])
    likeliest = by_share.predict_proba(Z[1::2]).argmax(axis=1)
    for k in range(4):
        assert by_share.answers(Z[1::2])[likeliest == k].mean() == pytest.approx(0.5, abs=0.12)
    costs = {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4}
    by_cost = RejectClassifier(LogisticRegression(), reject_cost=costs).fit(Z[::2], y[::2])
    np.testing.assert_allclose(by_cost.thresholds_, [0.9, 0.8, 0.7, 0.6])


def test_a_fitted_classifier_is_used_as_it_is():
    Z, y = hard(2)
    fitted = GaussianNB().fit(Z[:500], y[:500])
    clf = RejectClassifier(FrozenEstimator(fitted), coverage=0.5).fit(Z[500:900], y[500:900])
    np.testing.assert_array_equal(clf.predict_proba(Z), fitted.predict_proba(Z))
    assert clf.answers(Z[500:900]).mean() == 0.5


def test_labels_of_rejected_rows():
    for labels, rejected in (
        (np.array(["a", "b", "c"]), "rejected"),
        (np.array([1, 2, 3]), -1),
        (np.array([-1, 0, 1]), -2),
    ):
        clf = RejectClassifier(GaussianNB(), coverage=0.5).fit(X, labels[Y])
        assert clf.actions_.tolist() == [*labels.tolist(), rejected]
        assert rejected in clf.predict(X).tolist()
    clf = RejectClassifier(GaussianNB(), coverage=0.5, reject_label="ask").fit(X, Y)
    assert set(clf.predict(X).tolist()) == {0, 1, 2, "ask"}
    flags = RejectClassifier(GaussianNB(), coverage=0.5).fit(X, Y > 0)
    assert None in flags.predict(X).tolist()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"reject_cost": -0.1}, "reject_cost must be a nonnegative number, got -0.1"),
        ({"reject_cost": np.nan}, "reject_cost must be a nonnegative number"),
        ({"reject_cost": {0: 1, 1: 1}}, "reject_cost lacks 2"),
        ({"reject_cost": {0: 1, 1: 1, 2: 1, 7: 1}}, "names 7, which is not a class"),
        ({"coverage": 1.0}, "coverage must be above 0 and below 1, got 1.0"),
        ({"error": 0.0}, "error must be above 0 and below 1, got 0.0"),
        ({"error": 0.1, "coverage": 0.5}, "Give error or coverage, not both"),
        ({"reject_label": 2}, "2 is a class; choose a reject_label"),
    ],
)
def test_bad_input_gets_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        RejectClassifier(GaussianNB(), **options).fit(X, Y)


def test_impossible_wishes():
    with pytest.raises(TypeError, match="coverage must be a number"):
        RejectClassifier(GaussianNB(), coverage="0.5").fit(X, Y)
    with pytest.warns(UserWarning, match=r"No threshold has an error of at most 0\.001"):
        clf = RejectClassifier(GaussianNB(), error=0.001).fit(X, Y)
    assert not clf.answers(X).any()
    with pytest.raises(ValueError, match="There are no held-out rows"):
        RejectClassifier(GaussianNB(), coverage=0.5).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="must name the 2 columns of p"):
        risk_coverage([0, 1, 2], [[0.5, 0.5]] * 3)


def test_out_of_fold_probabilities_of_the_pipe_are_used():
    clf = RejectClassifier(PolychotomyClassifier(), coverage=0.8).fit(X, Y)
    p = PolychotomyClassifier().fit_out_of_fold(X, Y)
    assert clf.thresholds_[0] == np.sort(p.max(axis=1))[::-1][119]
    np.testing.assert_array_equal(
        clf.predict_proba(X), PolychotomyClassifier().fit(X, Y).predict_proba(X)
    )
    # A later stage would change them: folds are fitted.
    tempered = PolychotomyClassifier(tempering="auto")
    clf = RejectClassifier(tempered, coverage=0.8).fit(X, Y)
    np.testing.assert_array_equal(clf.predict_proba(X), tempered.fit(X, Y).predict_proba(X))
