"""Sets of classes: scores by hand, coverage in many draws, MAPIE as the oracle."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from polychotomy import PolychotomyClassifier
from polychotomy.decisions import PredictionSets, set_report
from polychotomy.decisions.conformal import (
    ALWAYS,
    SCORES,
    class_thresholds,
    conformal_threshold,
    sets_of,
)

X, Y = load_iris(return_X_y=True)


def plain_score(p, k, u, method, penalty, rank):
    if method == "lac":
        return 1 - p[k]
    above = [j for j in range(len(p)) if p[j] > p[k]]
    score = sum(p[j] for j in above) + u * p[k]
    return score + (penalty * max(len(above) + 1 - rank, 0) if method == "raps" else 0)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(SCORES)), st.integers(0, 10**6), st.integers(2, 6))
def test_scores_are_those_of_a_plain_loop(method, seed, n_classes):
    rng = np.random.default_rng(seed)
    p, u = rng.dirichlet(np.ones(n_classes), 20), rng.random(20)
    scores = SCORES[method](p, u, 0.2, 2)
    by_hand = [
        [plain_score(row, k, u[i], method, 0.2, 2) for k in range(n_classes)]
        for i, row in enumerate(p)
    ]
    np.testing.assert_allclose(scores, by_hand, atol=1e-12)


def test_the_threshold_is_the_quantile_of_one_more_row():
    scores = np.arange(1.0, 20.0)  # 19 scores
    assert conformal_threshold(scores, 0.9) == 18
    assert conformal_threshold(scores, 0.95) == 19
    assert conformal_threshold(scores, 0.96) == ALWAYS
    assert conformal_threshold(scores[:0], 0.5) == ALWAYS


def drawn(rng, n_rows, n_classes=4, wrong=1.0):
    """Return probabilities that are wrong, and classes of them."""
    z = rng.normal(np.array([1.0, 0.5, 0.0, -0.8]), 1.3, (n_rows, n_classes))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    y = np.minimum((p.cumsum(axis=1) < rng.random(n_rows)[:, None]).sum(axis=1), n_classes - 1)
    said = np.exp(wrong * z) / np.exp(wrong * z).sum(axis=1, keepdims=True)
    return said, y


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("method", SCORES)
@pytest.mark.parametrize("class_conditional", [False, True])
def test_coverage_is_what_was_wanted_even_of_bad_probabilities(method, coverage, class_conditional):
    rng = np.random.default_rng(0)
    covered, by_class = [], []
    for _ in range(60):
        p, y = drawn(rng, 800, wrong=1.8)
        u = rng.random(800)
        scores = SCORES[method](p, u, 0.1, 1)
        thresholds = class_thresholds(scores[:300], y[:300], coverage, class_conditional)
        sets = sets_of(scores[300:], thresholds)
        covered.append(sets[np.arange(500), y[300:]].mean())
        by_class.append(set_report(sets, y[300:], range(4)).class_coverage)
    error = np.std(covered) / np.sqrt(60)
    assert coverage - 3 * error <= np.mean(covered) <= coverage + 3 * error + 4 / 300
    if class_conditional:
        error = np.nanstd(by_class, axis=0) / np.sqrt(60)
        assert (np.nanmean(by_class, axis=0) >= coverage - 3 * error).all()
        # A class of 20 rows overshoots by up to 1 / 21.
        assert (np.nanmean(by_class, axis=0) <= coverage + 3 * error + 0.05).all()


def rows(seed, n_rows):
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n_rows, p=[0.5, 0.35, 0.15])
    return rng.normal(size=(n_rows, 3)) + 1.2 * np.eye(3)[y], np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("calibration", ["split", "cross"])
@pytest.mark.parametrize("class_conditional", [False, True])
def test_coverage_of_the_estimator(calibration, class_conditional):
    found, classes = [], []
    for seed in range(15):
        Z, y = rows(seed, 2400)
        sets = PredictionSets(
            GaussianNB(),
            0.9,
            calibration=calibration,
            class_conditional=class_conditional,
            held_out=0.5,
            random_state=seed,
        ).fit(Z[:400], y[:400])
        report = sets.report(Z[400:], y[400:])
        found.append(report.coverage)
        classes.append(report.class_coverage)
        assert ("not guaranteed" in sets.guarantee_) == (calibration == "cross")
    error = np.std(found) / np.sqrt(15)
    assert 0.9 - 3 * error <= np.mean(found) <= 0.9 + 3 * error + 0.02
    if class_conditional:
        assert (np.mean(classes, axis=0) > 0.88).all()
    else:
        # Over all rows only: the rare class has less.
        assert np.mean(classes, axis=0)[2] < 0.8


def test_sets_are_never_empty_unless_allowed():
    Z, y = rows(0, 600)
    options = {"coverage": 0.5, "random_state": 0}
    full = PredictionSets(GaussianNB(), **options).fit(Z, y)
    bare = PredictionSets(GaussianNB(), allow_empty=True, **options).fit(Z, y)
    assert full.report(Z, y).sizes[0] == 0
    assert bare.report(Z, y).sizes[0] > 0
    some = bare.predict_set(Z).any(axis=1)
    np.testing.assert_array_equal(full.predict_set(Z)[some], bare.predict_set(Z)[some])
    likeliest = full.predict_proba(Z).argmax(axis=1)
    assert full.predict_set(Z)[np.arange(600), likeliest][~some].all()
    for method in ("aps", "raps"):
        sets = PredictionSets(GaussianNB(), 0.5, method=method, allow_empty=True).fit(Z, y)
        assert sets.report(Z, y).sizes[0] == 0


def test_a_penalty_makes_large_sets_smaller():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(10, 0.3), 4000)
    y = np.minimum((p.cumsum(axis=1) < rng.random(4000)[:, None]).sum(axis=1), 9)
    largest = {}
    for method in ("aps", "raps"):
        scores = SCORES[method](p, np.zeros(4000), 0.3, 1)
        thresholds = class_thresholds(scores[:2000], y[:2000], 0.9, False)
        report = set_report(sets_of(scores[2000:], thresholds), y[2000:], range(10))
        largest[method] = np.flatnonzero(report.sizes).max()
        assert report.coverage > 0.87
    assert largest["raps"] < largest["aps"]


def test_rows_set_aside_are_those_of_a_frozen_classifier():
    Z, y = rows(3, 500)
    fitted = GaussianNB().fit(Z[:200], y[:200])
    sets = PredictionSets(FrozenEstimator(fitted)).fit(Z[200:], y[200:])
    assert sets.held_out_counts_.sum() == 300
    own = (
        1 - fitted.predict_proba(Z[200:])[np.arange(300), np.searchsorted(["a", "b", "c"], y[200:])]
    )
    assert sets.thresholds_[0] == np.sort(own)[int(np.ceil(301 * 0.9)) - 1]
    assert "whatever the classifier" in sets.guarantee_


def test_cross_uses_the_pipes_own_probabilities():
    sets = PredictionSets(PolychotomyClassifier(), calibration="cross").fit(X, Y)
    p = PolychotomyClassifier().fit_out_of_fold(X, Y)
    own = np.sort(1 - p[np.arange(150), Y])
    assert sets.thresholds_[0] == own[int(np.ceil(151 * 0.9)) - 1]
    folds = PredictionSets(PolychotomyClassifier(), calibration="cross", cv=3).fit(X, Y)
    assert folds.thresholds_[0] != sets.thresholds_[0]


def test_data_frames_and_labels():
    frame = pd.DataFrame(X, columns=list("wxyz"))
    y = pd.Series(np.array(["a", "b", "c"])[Y])
    sets = PredictionSets(LogisticRegression(max_iter=500), 0.95, random_state=0).fit(frame, y)
    assert sets.feature_names_in_.tolist() == list("wxyz")
    inside = sets.predict_set(frame)
    for labels, row in zip(sets.predict_labels(frame), inside, strict=True):
        assert labels == ["abc"[k] for k in range(3) if row[k]]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"coverage": 1.0}, "coverage must be above 0 and below 1, got 1.0"),
        ({"coverage": 0}, "coverage must be above 0 and below 1, got 0"),
        ({"method": "lca"}, "Unknown method 'lca'. Did you mean 'lac'"),
        ({"calibration": "loo"}, "Unknown calibration 'loo'"),
        ({"held_out": 1.5}, "held_out must be above 0 and below 1"),
        ({"held_out": 0.001}, "leaves no held-out rows"),
        ({"held_out": 0.999}, "leaves rows of one class"),
        ({"penalty": -1, "method": "raps"}, "penalty must be a nonnegative number"),
    ],
)
def test_bad_input_gets_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        PredictionSets(GaussianNB(), **options).fit(X, Y)


def test_too_few_held_out_rows():
    with pytest.warns(
        UserWarning, match=r"38 held-out rows, but a coverage of 0\.99 needs at least 99"
    ):
        sets = PredictionSets(GaussianNB(), 0.99, random_state=0).fit(X, Y)
    assert sets.predict_set(X).all()
    rare = np.concatenate([np.flatnonzero(Y < 2), [100, 101, 102, 103]])
    with pytest.warns(UserWarning, match="2 has fewer, and will be in every set"):
        sets = PredictionSets(GaussianNB(), class_conditional=True, random_state=0).fit(
            X[rare], Y[rare]
        )
    assert sets.predict_set(X)[:, 2].all()
    with pytest.raises(ValueError, match="sets must have a row for each of the 2 labels"):
        set_report([[True]], [0, 1], [0, 1])


def test_mapie_gives_the_same_sets():
    pytest.importorskip("mapie", reason="MAPIE, the oracle of prediction sets, is not installed")
    from mapie.classification import SplitConformalClassifier

    Z, y = rows(7, 900)
    fitted = GaussianNB().fit(Z[:300], y[:300])
    for coverage in (0.8, 0.9, 0.95):
        theirs = SplitConformalClassifier(
            fitted, confidence_level=coverage, conformity_score="lac", prefit=True
        ).conformalize(Z[300:600], y[300:600])
        _, sets = theirs.predict_set(Z[600:])
        ours = PredictionSets(FrozenEstimator(fitted), coverage, allow_empty=True)
        ours.fit(Z[300:600], y[300:600])
        np.testing.assert_array_equal(ours.predict_set(Z[600:]), sets[:, :, 0])


def test_mapie_has_the_same_scores_of_adaptive_sets():
    pytest.importorskip("mapie", reason="MAPIE, the oracle of prediction sets, is not installed")
    from mapie.conformity_scores import APSConformityScore

    rng = np.random.default_rng(0)
    p, y = rng.dirichlet(np.ones(4), 50), rng.integers(0, 4, 50)
    theirs = APSConformityScore()
    theirs.set_external_attributes(classes=np.arange(4), random_state=0)
    found = theirs.get_conformity_scores(y, p, y_enc=y)[:, 0]
    # It takes away what we add.
    u = 1 - np.random.RandomState(0).uniform(size=50)
    np.testing.assert_allclose(SCORES["aps"](p, u, 0.0, 1)[np.arange(50), y], found, atol=1e-12)


@pytest.mark.parametrize("method", ["aps", "raps"])
def test_randomised_sets_of_rows_one_by_one_are_those_of_all_at_once(method):
    Z, y = rows(0, 600)
    sets = PredictionSets(GaussianNB(), method=method, randomised=True, random_state=0)
    sets.fit(Z[:400], y[:400])
    singly = np.vstack([sets.predict_set(row[None]) for row in Z[400:]])
    np.testing.assert_array_equal(singly, sets.predict_set(Z[400:]))


def test_rows_of_weight_0_are_not_held_out():
    Z, y = rows(0, 400)
    weights = np.r_[np.zeros(200), np.ones(200)]
    wrong = np.where(weights > 0, y, "c")
    sets = PredictionSets(GaussianNB(), random_state=0).fit(Z, wrong, sample_weight=weights)
    alone = PredictionSets(GaussianNB(), random_state=0).fit(Z[200:], y[200:])
    assert sets.held_out_counts_.sum() == 50
    np.testing.assert_array_equal(sets.held_out_counts_, alone.held_out_counts_)
    np.testing.assert_allclose(sets.thresholds_, alone.thresholds_)


@pytest.mark.parametrize(("rank", "error"), [("1", TypeError), (1.5, TypeError), (-1, ValueError)])
def test_a_bad_rank_is_refused(rank, error):
    with pytest.raises(error, match="rank must be"):
        PredictionSets(GaussianNB(), method="raps", rank=rank).fit(X, Y)
