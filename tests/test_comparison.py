"""Comparing decoders on one set of scores."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import SVC, LinearSVC

import polychotomy as pc
from polychotomy.pipe.cross_fit import TrialBatch


def overlapping(n_classes=4, n_rows=160):
    return make_blobs(n_rows, centers=n_classes, cluster_std=3.0, random_state=0)


@pytest.mark.parametrize(
    ("code", "count"), [("one_vs_one", 25), ("one_vs_rest", 17), ("minimal", 10), ("ordinal", 10)]
)
def test_all_decoders_that_fit_the_code_are_compared(code, count):
    X, y = overlapping()
    comparison = pc.compare_decoders(pc.PolychotomyClassifier(SVC(), code), X, y)
    assert len(comparison.rows) == count
    assert comparison.n_rows == 160
    errors = [row["error"] for row in comparison.rows]
    assert errors == sorted(errors)
    assert len(str(comparison).splitlines()) == count + 1


@pytest.mark.parametrize("decoder", ["max_wins", "weighted_voting", "nesting", "binary_tree"])
def test_figures_equal_cross_validation_of_the_pipe_with_own_probabilities(decoder):
    """Without a calibrator nothing is cross-fitted, and the figures are plain cross-validation."""
    X, y = overlapping()
    folds = StratifiedKFold(5)
    clf = pc.PolychotomyClassifier(LogisticRegression(), decoder=decoder, cv=folds)
    predicted = cross_val_predict(clf, X, y, cv=folds)
    (row,) = pc.compare_decoders(clf, X, y, [decoder]).rows
    assert row["error"] == pytest.approx(np.mean(predicted != y))
    assert row["nll"] is None


def test_probabilities_are_judged_by_nll_and_brier():
    X, y = overlapping()
    clf = pc.PolychotomyClassifier(LogisticRegression(), cv=StratifiedKFold(5))
    p = cross_val_predict(clf, X, y, cv=StratifiedKFold(5), method="predict_proba")
    (row,) = pc.compare_decoders(clf, X, y, [pc.PairwiseCoupling()]).rows
    assert row["nll"] == pytest.approx(-np.mean(np.log(p[np.arange(160), y])), rel=1e-9)
    assert row["brier"] == pytest.approx(np.mean(((p - np.eye(4)[y]) ** 2).sum(axis=1)), rel=1e-9)


def test_no_row_is_judged_by_anything_that_saw_it():
    """On noise labels every decoder must be at chance, however flexible."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 8)), np.tile([0, 1, 2], 100)
    for code in ("one_vs_one", "one_vs_rest"):
        clf = pc.PolychotomyClassifier(SVC(C=100.0), code)
        for row in pc.compare_decoders(clf, X, y).rows:
            # chance is 2/3, with a deviation of 0.027
            assert 0.585 < row["error"] < 0.75, row
            if row["nll"] is not None:
                assert row["nll"] > 0.99 * np.log(3), row


def test_the_classifier_is_not_changed():
    X, y = overlapping()
    clf = pc.PolychotomyClassifier(LinearSVC(), decoder="max_wins")
    pc.compare_decoders(clf, X, y, ["max_wins", "pairwise_coupling"])
    assert not hasattr(clf, "classes_")
    fitted = clone(clf).fit(X, y)
    before = fitted.predict(X)
    pc.compare_decoders(fitted, X, y, ["max_wins"])
    np.testing.assert_array_equal(fitted.predict(X), before)


def test_what_cannot_be_compared():
    X, y = overlapping()
    clf = pc.PolychotomyClassifier(LinearSVC(), calibrator="none")
    rows = pc.compare_decoders(clf, X, y).rows
    assert {row["decoder"] for row in rows if row["nll"] is not None} == {
        "ShrunkSoftMax()",
        "SoftMax()",
        "SoftMax(C=None)",
    }
    with pytest.raises(ValueError, match="needs probabilities"):
        pc.compare_decoders(clf, X, y, ["weighted_voting"])
    with pytest.raises(ValueError, match="WinnerTakesAll is for one_vs_rest"):
        pc.compare_decoders(clf, X, y, ["winner_takes_all"])
    with pytest.raises(ValueError, match="compare_decoders needs folds"):
        pc.compare_decoders(clone(clf).set_params(cv="prefit"), X, y)
    rest = pc.PolychotomyClassifier(LogisticRegression(), "one_vs_rest")
    sparse = pc.compare_decoders(rest, csr_array(X), y)
    assert "DynamicallyOrdered()" not in [row["decoder"] for row in sparse.rows]


def test_weights_count_in_training_and_in_the_figures():
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]
    weights = np.where(np.arange(150) % 3 == 0, 0.0, 2.0)
    clf = pc.PolychotomyClassifier(LogisticRegression())
    weighted = pc.compare_decoders(clf, X, y, sample_weight=weights)
    kept = weights > 0
    heavier = pc.PolychotomyClassifier(LogisticRegression(C=2.0))
    removed = pc.compare_decoders(heavier, X[kept], y[kept])
    theirs = {row["decoder"]: row["error"] for row in removed.rows}
    for row in weighted.rows:
        # Rows of weight 2 count as two, and so shrink this one less.
        if row["decoder"] != "ShrunkSoftMax()":
            assert row["error"] == pytest.approx(theirs[row["decoder"]], abs=1e-12)


def test_a_calibrator_that_fails_leaves_no_half_answer(monkeypatch):
    made = []

    class Batch(TrialBatch):
        def __init__(self, *args):
            super().__init__(*args)
            made.append(self)

    monkeypatch.setattr("polychotomy.tuning.compare_decoders.TrialBatch", Batch)
    X, y = load_iris(return_X_y=True)
    clf = pc.PolychotomyClassifier(pc.SVM(), calibrator="isotonic")
    pc.compare_decoders(clf, X, y, ["max_wins"])
    batch = TrialBatch(made[0].plan, made[0].trials)

    def fail(*args):
        raise ValueError("no")

    with monkeypatch.context() as broken:
        broken.setattr(pc.Isotonic, "_fit", fail)
        with pytest.raises(ValueError, match="no"):
            batch._calibrated_by(pc.Isotonic())
    np.testing.assert_array_equal(
        batch._calibrated_by(pc.Isotonic()), made[0]._calibrated_by(pc.Isotonic())
    )
