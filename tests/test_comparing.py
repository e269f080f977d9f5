"""Comparing methods: figures, statistics, the recommendation, and the budget."""

import gc
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from polychotomy import TwoStepSearchCV, recipe, recipes
from polychotomy.compare import (
    Conditions,
    candidates,
    compare_methods,
    default_names,
    html_report,
    tuned_pipeline,
)
from polychotomy.compare import _candidates as table
from polychotomy.compare._judging import Level
from polychotomy.compare._ranking import holm, standard_error
from polychotomy.compare._splits import rounds as _rounds
from polychotomy.execution.deadline import OutOfTime, deadline

X, Y = load_iris(return_X_y=True)
X, Y = X[::2], Y[::2]


class Slow(LogisticRegression):
    """Training that never ends, and never asks for signals itself."""

    def fit(self, X, y, sample_weight=None):
        while True:
            try:
                sum(range(1000))
            except Exception:  # as searches do, which must not swallow the end of the time
                continue


@pytest.fixture
def quick(monkeypatch):
    """Three methods that take no time, one of them without sense."""
    known = {
        name: table.Candidate(name, name, "", "scikit-learn", True, True, lambda *_, n=n: n, make)
        for n, (name, make) in enumerate(
            (
                ("good", lambda conditions: LogisticRegression(C=30)),
                ("twin", lambda conditions: LogisticRegression(C=100, max_iter=1000)),
                ("poor", lambda conditions: LogisticRegression(C=1e-4)),
                ("slow", lambda conditions: Slow()),
                ("broken", lambda conditions: LogisticRegression(C=-1)),
            )
        )
    }
    monkeypatch.setattr(table, "candidates", lambda: known)
    return known


def test_figures_are_those_of_scikit_learn(quick):
    found = compare_methods(X, Y, ["good"], n_splits=4, test_size=0.3, random_state=3)
    splitter = StratifiedShuffleSplit(4, test_size=round(0.3 * len(Y)), random_state=3)
    for number, (train, test) in enumerate(splitter.split(X, Y)):
        scale = StandardScaler().fit(X[train])
        clf = LogisticRegression(C=30).fit(scale.transform(X[train]), Y[train])
        p = clf.predict_proba(scale.transform(X[test]))
        assert found.figures("nll")["good"][number] == pytest.approx(log_loss(Y[test], p))
        assert found.figures("error")["good"][number] == np.mean(p.argmax(axis=1) != Y[test])
        squares = ((p - np.eye(3)[Y[test]]) ** 2).sum(axis=1).mean()
        assert found.figures("brier")["good"][number] == pytest.approx(squares)


def test_the_ranking_and_what_is_not_distinguishable(quick):
    found = compare_methods(X, Y, ["poor", "twin", "good"], n_splits=6)
    assert found.recommended in ("good", "twin")
    assert found.methods[-1] == "poor"
    assert set(found.indistinguishable) == {"good", "twin"}
    poor = found.rows[2]
    assert poor["distinguishable"]
    # The corrected test, written out.
    nll = found.figures("nll")
    d = nll["poor"] - nll[found.recommended]
    ratio = found.test_to_train
    t = d.mean() / (d.std(ddof=1) * np.sqrt(1 / 6 + ratio))
    p = 2 * stats.t.sf(t, 5)
    assert poor["standard_error"] == pytest.approx(standard_error(d, ratio))
    assert p <= poor["p_value"] <= 2 * p
    text = " ".join(found.reasons)
    second = found.rows[1]
    d = nll[second["method"]] - nll[found.recommended]
    bound = d.mean() + stats.t.ppf(0.95, 5) * d.std(ddof=1) * np.sqrt(1 / 6 + ratio)
    assert found.margin == pytest.approx(0.02 * (nll["majority"] - nll[found.recommended]).mean())
    assert second["verdict"] == ("as good" if bound <= found.margin else "cannot tell")
    assert "Distinguishably behind: poor." in text
    assert found.groups == [found.indistinguishable, ["poor"]]


@pytest.mark.parametrize(("n_splits", "verdict"), [(5, "as good"), (4, "cannot tell")])
def test_few_splits_cannot_tell_whether_a_method_is_as_good(quick, n_splits, verdict):
    like = replace(quick["good"], name="like", make=lambda _: LogisticRegression(C=30.1))
    quick["like"] = like
    found = compare_methods(X, Y, ["good", "like"], n_splits=n_splits)
    first, second, _ = found.rows
    assert second["difference"] + 3 * second["standard_error"] < 0.1 * found.margin
    assert second["verdict"] == verdict
    assert found.is_as_good(second["method"], first["method"]) == (verdict == "as good")
    assert found.few_splits == ("4 splits are few" in " ".join(found.reasons))


@pytest.mark.parametrize(("C", "expected"), [(1e3, "POOL"), (1e-4, "twin")])
def test_a_pool_within_one_standard_error_is_recommended(quick, C, expected):
    known = table.candidates()
    pool = table.Candidate(
        "POOL",
        "a pool",
        "",
        "ours",
        True,
        True,
        lambda *_: 1.0,
        lambda _: LogisticRegression(C=C, max_iter=1000),
    )
    known |= {"POOL": pool}
    found = compare_methods(X, Y, ["twin", "POOL"], n_splits=6)
    best, other, _ = found.rows
    assert best["method"] == "twin"
    assert (other["difference"] <= other["standard_error"]) == (expected == "POOL")
    assert found.recommended == found.storable == expected
    text = " ".join(found.reasons)
    assert f"({expected}): " in text
    assert ("is within one standard error of the least" in text) == (expected == "POOL")
    alone = compare_methods(X, Y, ["twin", "POOL"], n_splits=1)
    assert alone.recommended == alone.rows[0]["method"]


def test_what_more_time_would_do_is_what_was_short(quick):
    found = compare_methods(X, Y, ["good"], n_splits=2)
    rows = found.most_rows
    said = {}
    for level in (Level(rows), Level(rows, tuned=False), Level(rows - 10)):
        words = " ".join(replace(found, level=level).reasons)
        said[level] = words.partition("More time would ")[2].partition(": --time.")[0]
    assert list(said.values()) == [
        "",
        "tune the methods, and judge them on more splits",
        "judge the best methods on more rows",
    ]


def test_one_split_says_that_nothing_is_sure(quick):
    found = compare_methods(X, Y, ["poor", "good"], n_splits=1)
    assert found.rows[1]["distinguishable"] is None
    assert "uncertainty of the ranking is unknown" in " ".join(found.reasons)
    assert found.groups == []


def test_a_slow_method_is_left_out_in_time(quick):
    # One fit of it takes so long that this test would not end.
    found = compare_methods(X, Y, ["slow", "good", "poor"], n_splits=5, time_limit=3.0)
    assert list(found.left_out) == ["slow"]
    assert "not finished after" in found.left_out["slow"]
    assert "Skipped: slow" in str(found)
    assert str(found).endswith("Allow more with --time, or name fewer methods with --methods.")
    assert found.n_splits == 5


def test_a_method_that_fails_is_left_out_with_its_reason(quick):
    found = compare_methods(X, Y, ["good", "broken"], n_splits=2)
    assert "it failed" in found.left_out["broken"]
    assert "Allow more" not in str(found)
    nothing = compare_methods(X, Y, ["broken"], n_splits=2)
    assert nothing.recommended == "majority"
    assert nothing.storable is None
    assert "Only the baseline could be judged" in str(nothing)
    assert "it failed" in str(nothing)


def test_the_deadline_ends_what_swallows_exceptions():
    def swallow():
        with deadline(0.2):
            while True:
                try:
                    time.sleep(0.01)
                except Exception:
                    continue

    with pytest.raises(OutOfTime):
        swallow()


def test_the_deadline_is_not_swallowed_by_callbacks_of_the_collector(monkeypatch):
    def work(seconds):
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            pass

    def collect():
        with deadline(0.1):
            while True:
                gc.collect(0)
                work(0.005)

    # Dask has such a callback. Most signals arrive while it runs.
    swallowed = []
    monkeypatch.setattr(sys, "unraisablehook", swallowed.append)
    gc.callbacks.append(slow := lambda phase, info: work(0.02))
    try:
        with pytest.raises(OutOfTime):
            collect()
    finally:
        gc.callbacks.remove(slow)
    assert swallowed == []


def test_methods_without_probabilities_come_last_and_share_a_sweep():
    found = compare_methods(X, Y, ["MWV_SVM", "PWC_PSVM"], n_splits=2)
    assert found.methods == ["PWC_PSVM", "MWV_SVM"]
    assert np.isnan(found.rows[-1]["nll"])
    assert len({found.candidates[name].sweep for name in found.methods}) == 1
    name, errors = found.hard_pairs()
    assert name == "PWC_PSVM"
    assert np.allclose(errors, errors.T, equal_nan=True)
    assert np.isnan(np.diag(errors)).all()
    assert errors[0, 1] <= errors[1, 2]
    alone = compare_methods(X, Y, ["MWV_SVM"], n_splits=1)
    assert alone.criterion == "error"
    assert "No other method was judged with it" in str(alone)
    assert alone.doubtful() == []
    assert alone.reliability() is None
    assert "<h2>" in html_report(alone, "iris")


def test_tuning_is_that_of_the_search():
    """What the sweep of a comparison answers is what a search alone answers."""
    found = compare_methods(X, Y, ["PWC_PSVM", "MWV_SVM"], n_splits=1, random_state=1)
    (held,) = found.held_out["PWC_PSVM"]
    ((train, test),) = _rounds(Y, "hold-out", 1, 0.25, 1)
    scale = StandardScaler().fit(X[train])
    search = TwoStepSearchCV(recipe("PWC_PSVM"), ties="nll").fit(
        scale.transform(X[train]), Y[train]
    )
    assert held.parameters == search.best_params_
    assert np.allclose(held.p, search.predict_proba(scale.transform(X[test])))


def test_confusion_and_doubtful_rows_agree_with_the_answers(quick):
    found = compare_methods(X, Y, ["good"], n_splits=3)
    rows, predicted, p = found.pooled()
    assert found.confusion().sum() == len(rows)
    assert np.trace(found.confusion()) == np.sum(predicted == Y[rows])
    worst = found.doubtful(1)[0]
    mine = p[rows == worst["row"]].mean(axis=0)
    assert worst["probability"] == pytest.approx(mine[Y[worst["row"]]])
    assert worst["times"] == np.sum(rows == worst["row"])


@pytest.mark.parametrize("protocol", ["hold-out", "nested"])
def test_no_row_is_trained_and_tested_on(protocol):
    rounds = _rounds(Y, protocol, 7, 0.2, 0)
    assert len(rounds) == 7
    for train, test in rounds:
        assert sorted([*train, *test]) == list(range(len(Y)))
    if protocol == "nested":
        assert sorted(np.concatenate([test for _, test in rounds[:5]])) == list(range(len(Y)))


def test_a_class_with_two_rows_can_be_compared():
    keep = np.r_[np.arange(25), np.arange(25, 27), np.arange(50, 75)]
    found = compare_methods(X[keep], Y[keep], ["logistic", "PWC_PSVM", "PSVC"], n_splits=2)
    assert found.n_splits == 2
    assert len(found.methods) + len(found.left_out) == 3


def test_peers_adapt_to_small_classes():
    x, y = load_wine(return_X_y=True)
    few = np.r_[0:12, 59:71, 130:133]
    for name in ("logistic", "forest", "boosting", "calibrated_svc"):
        model = tuned_pipeline(name, y[few])
        if name in ("logistic", "calibrated_svc"):
            assert model.fit(x[few], y[few]).predict_proba(x[:2]).shape == (2, 3)
    assert candidates()["calibrated_svc"].make(Conditions(smallest_class=1)) is None


def test_names():
    known = candidates()
    assert set(recipes()) <= set(known)
    assert {"PSVC", "TKLR", "PWC_KLR", "logistic", "boosting"} <= set(default_names())
    for pool in ("POOL", "LS2"):
        assert (pool in default_names()) == (pool in recipes())
    with pytest.raises(ValueError, match="Did you mean 'PWC_PSVM'"):
        compare_methods(X, Y, ["PWC_PSWM"])
    assert [one.name for one in table.choose(["pwc-klr"])] == ["PWC_KLR"]
    assert len(table.choose("all")) == len(known)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_splits": 0}, "n_splits"),
        ({"test_size": 1.5}, "test_size"),
        ({"protocol": "oracle"}, "protocol"),
        ({"time_limit": -1}, "time_limit"),
        ({"preprocessor": "sclae"}, "preprocessor"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        compare_methods(X, Y, ["logistic"], **options)


def test_holm_against_its_definition():
    p = {"a": 0.012, "b": 0.04, "c": 0.02, "d": float("nan")}
    adjusted = holm(p)
    assert adjusted["a"] == pytest.approx(0.036)
    assert adjusted["c"] == pytest.approx(0.04)
    assert adjusted["b"] == pytest.approx(0.04)
    assert np.isnan(adjusted["d"])


def test_methods_are_tried_in_the_order_of_their_expected_times():
    known = table.candidates()

    def order(names, n_rows):
        return [one.name for one in table.fastest_first((known[n] for n in names), n_rows, 10, 5)]

    names = ["POOL", "boosting", "PWC_PSVM", "logistic", "NEST"]
    assert order(names, 1000)[:2] == ["logistic", "PWC_PSVM"]
    assert order(["POOL", "LS2"], 1000) == ["LS2", "POOL"]
    # Boosting grows trees for every class, and the LS-SVMs of LS2 are asked for the rows alone.
    two, many = (known["POOL"].expected_seconds(1000, 10, n) for n in (2, 50))
    assert many > 1.2 * two
    assert known["LS2"].expected_seconds(1000, 10, 2) == known["LS2"].expected_seconds(1000, 10, 50)
    # While both are exact, an LS-SVM grows faster with the rows than an SVM: the guesses of the
    # machines say so. In features, it takes one pass.
    pair = ["PWC_PSVM", "LSSVM_RBF_1vs1_Hamming"]
    few, more = ([known[name].expected_seconds(n, 10, 5) for name in pair] for n in (300, 3_000))
    assert more[1] / few[1] > 2.0 * more[0] / few[0]
    assert order(pair, 30_000) == pair[::-1]
