"""Comparisons that always answer: splits, rare classes, processes, time, growing parts."""

import io
import pickle
import re
import sys
import time
import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import precision_recall_fscore_support, roc_auc_score

from polychotomy import PolychotomyPool
from polychotomy.cli.comparisons import FEW_SPARE, SPARE, _no_time_for, prepare_workers
from polychotomy.compare import (
    _splits,
    _where,
    candidates,
    class_figures,
    compare_methods,
    default_names,
    fit_method,
    html_report,
    slices,
    tuned_pipeline,
    worst_confusions,
)
from polychotomy.compare._assembling import common_splits
from polychotomy.compare._candidates import choose
from polychotomy.compare._classes import settle_classes
from polychotomy.compare._importance import Question
from polychotomy.compare._judging import HeldOut, Judged, Level, Task
from polychotomy.compare._notes import note_of
from polychotomy.compare._peers import Conditions
from polychotomy.compare._report import MOST_PANELS, _panels_left
from polychotomy.compare._schedule import Schedule
from polychotomy.compare._sections import SIDE, _class_rows, _map
from polychotomy.compare._sizes import sizes
from polychotomy.compare._splits import periods, rounds, stratified_order
from polychotomy.core.progress import work_progress
from polychotomy.execution.calls import Answer, Call
from polychotomy.execution.deadline import Clock
from polychotomy.execution.executors import InProcess, LocalProcesses
from polychotomy.recipes import recipe
from polychotomy.tuning.small_search import _inside

pytestmark = pytest.mark.usefixtures("fork_server")

X, Y = load_iris(return_X_y=True)
SMALL_X, SMALL_Y = X[::2], Y[::2]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=2, max_size=8), st.integers(0, 5))
def test_splits_never_test_what_they_did_not_learn(counts, seed):
    y = np.repeat(np.arange(len(counts)), counts)
    if max(counts) < 2:
        return
    for protocol in ("hold-out", "nested"):
        for train, test in rounds(y, protocol, 3, 0.25, seed):
            assert not set(train) & set(test)
            assert set(y[test]) <= set(y[train])
            assert set(y[train]) == set(y)  # classes with one row train
            assert len(train) + len(test) == len(y)


@pytest.mark.filterwarnings("ignore:.* not judged, because")
@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=20, max_size=60), st.integers(0, 3))
def test_groups_stay_together_and_time_goes_on(values, seed):
    y = np.arange(len(values)) % 2
    if len(set(values)) > 1:
        groups = np.array(values)
        try:
            found = rounds(y, "hold-out", 3, 0.25, seed, groups=groups)
        except ValueError:
            found = []  # a training part with one class only
        for train, test in found:
            assert not set(groups[train]) & set(groups[test])
        try:
            found = rounds(y, "hold-out", 3, 0.25, seed, order=groups)
        except ValueError:
            found = []
        for train, test in found:
            assert groups[train].max() < groups[test].min()


def test_every_beginning_is_stratified():
    y = np.repeat([0, 1, 2], [700, 250, 50])
    order = stratified_order(y, np.arange(1000), 0)
    assert sorted(order) == list(range(1000))
    for size in (20, 100, 500):
        shares = np.bincount(y[order[:size]], minlength=3) / size
        assert np.abs(shares - [0.7, 0.25, 0.05]).max() <= 3 / size
    assert sizes(3000, 3) == [1000, 3000]
    assert sizes(1000, 3) == [1000]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_what_is_done_and_how_long_it_takes_is_shown(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with work_progress(True) as tick:
        tick("split 2 of 10: PSVC, forest", 20.0, 150.0)
    assert "split 2 of 10: PSVC, forest" in terminal.getvalue()
    assert "about 2 min" in terminal.getvalue()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with work_progress(True) as tick:
        tick("nothing is shown in a pipe", 1.0, None)
    assert sys.stderr.getvalue() == ""


def schedule(**changes):
    given = {
        "groups": [choose(["logistic"]), choose(["forest"])],
        "sizes": [100],
        "n_splits": 10,
        "clock": Clock(None),
        "n_workers": 2,
        "y": Y,
        "n_features": 4,
        "tick": lambda *_: None,
    }
    return Schedule(**{**given, **changes})


def judged(plan, nll, seconds):
    """Take a task, and answer it."""
    call = plan.take()
    p = np.full((2, 3), (1.0 - np.exp(-nll)) / 2)
    p[[0, 1], Y[:2]] = np.exp(-nll)
    held = HeldOut(np.arange(2), Y[:2], p, seconds, {})
    answer = Answer(Judged(dict.fromkeys(call.argument.names, held), []), seconds=seconds)
    plan.on_answer(call, answer)
    return call.argument


def test_fast_methods_go_on_where_the_best_have_no_time():
    names = ["POOL", "TKLR", "PSVC", "LSL", "logistic"]
    groups = [choose([name]) for name in names]
    plan = schedule(groups=groups, sizes=[1000, 4000, 16000, 43500], clock=Clock(60.0), n_workers=1)
    # Three of the best four would take longer with 4,000 rows than there is time.
    figures = {"POOL": (0.8, 20.0), "TKLR": (0.9, 20.0), "PSVC": (0.95, 20.0)}
    figures |= {"LSL": (1.0, 0.1), "logistic": (1.5, 0.05)}
    for name in names:
        assert judged(plan, *figures[name]).names == (name,)
    further = [judged(plan, 0.5, 0.1) for _ in range(2)]
    assert [(task.names, task.level.rows) for task in further] == [
        (("LSL",), 43500),
        (("logistic",), 43500),
    ]


def test_what_is_left_at_few_splits_is_said_to_be_so_because_of_all_methods():
    groups = [choose([name]) for name in ("logistic", "forest", "PSVC")]
    plan = schedule(groups=groups, clock=Clock(20.0))
    for seconds in (7.0, 8.0, 9.0):
        judged(plan, 0.5, seconds)
    plan.take()
    why = "one split takes 9.0 s, and 3 splits of all methods do not fit into the time"
    assert plan.failures == {"PSVC": why}


def test_what_remains_is_reckoned_from_what_was_done():
    plan = schedule()
    judged(plan, 0.5, 4.0)
    judged(plan, 0.5, 6.0)
    assert plan.remaining() == pytest.approx((9 * 4.0 + 9 * 6.0) / 2)
    assert schedule(clock=Clock(5.0)).remaining() <= 5.0
    assert schedule(sizes=[100, 1000]).remaining() is None


def test_the_best_go_on_to_all_rows_as_soon_as_there_is_time():
    names = ["logistic", "forest", "boosting", "LSL"]
    plan = schedule(
        groups=[choose([name]) for name in names],
        sizes=[1000, 4000, 16000, 50000],
        clock=Clock(600.0),
        n_splits=1,
    )
    for nll, seconds in ((0.9, 1.0), (0.5, 1.0), (0.6, 50.0), (0.4, 1.0)):
        assert judged(plan, nll, seconds).level == Level(1000)
    # The slow one stays behind; the others are judged on all rows at once, the best first.
    after = [judged(plan, 0.3, 1.0) for _ in range(3)]
    assert [task.names for task in after] == [("LSL",), ("forest",), ("logistic",)]
    assert {task.level for task in after} == {Level(50000)}


def test_the_best_goes_on_alone_if_the_others_are_slow():
    plan = schedule(
        groups=[choose(["forest"]), choose(["LSL"])], sizes=[1000, 50000], clock=Clock(600.0)
    )
    judged(plan, 0.5, 300.0)
    judged(plan, 0.4, 1.0)
    assert judged(plan, 0.3, 1.0).level == Level(50000)
    # One method is no ranking: further splits are of the size that two have reached.
    assert judged(plan, 0.4, 1.0).level == Level(1000)
    assert plan.best_nll(Level(50000)) < plan.best_nll(Level(1000))


def test_a_method_that_was_stopped_is_tried_again_if_time_is_left():
    plan = schedule(
        groups=[choose(["forest"]), choose(["LSL"])], sizes=[1000, 50000], clock=Clock(600.0)
    )
    first = plan.take()
    plan.on_answer(first, Answer(failure="out of time", late=True, seconds=20.0))
    judged(plan, 0.4, 1.0)
    assert judged(plan, 0.3, 1.0).level == Level(50000)  # LSL goes on alone
    again = judged(plan, 0.2, 30.0)
    assert (again.names, again.level, again.split) == (("forest",), Level(1000), 0)
    # Not if it has had about as much.
    plan = schedule(clock=Clock(60.0), n_splits=1)
    call = plan.take()
    plan.on_answer(call, Answer(failure="out of time", late=True, seconds=30.0))
    assert judged(plan, 0.4, 1.0).names == ("forest",)
    assert plan.take() is None


def test_the_time_left_is_used_where_no_method_has_an_answer():
    plan = schedule(clock=Clock(200.0), n_splits=1)
    for _ in range(2):
        call = plan.take()
        plan.on_answer(call, Answer(failure="out of time", late=True, seconds=150.0))
    calls = [plan.take(), plan.take()]
    assert [call.argument.names for call in calls] == [("logistic",), ("forest",)]
    assert not any(call.argument.level.tuned for call in calls)
    assert calls[0].until > time.perf_counter() + 150.0
    # Not for methods that failed otherwise.
    plan = schedule(clock=Clock(200.0), n_splits=1)
    for _ in range(2):
        plan.on_answer(plan.take(), Answer(failure="not enough memory", seconds=1.0))
    assert plan.take() is None
    assert plan.failures["forest"] == "it failed: not enough memory"
    # If one of them still runs, its answer is waited for.
    plan = schedule(clock=Clock(200.0), n_splits=1)
    call = plan.take()
    plan.take()
    plan.on_answer(call, Answer(failure="out of time", late=True, seconds=150.0))
    assert plan.take() is None


def test_there_is_an_answer_when_the_time_is_over():
    late = Clock(1.0, start=time.perf_counter() - 5.0, pace=60.0)
    found = compare_methods(SMALL_X, SMALL_Y, ["PSVC", "logistic"], clock=late, n_jobs=2)
    assert found.recommended in ("PSVC", "logistic")
    names = ["PSVC", "LSL", "logistic"]
    plan = schedule(groups=[choose([name]) for name in names], clock=Clock(1.0, pace=2.0))
    call = plan.last_call()
    assert call.argument.names == ("logistic",)
    assert call.until > time.perf_counter() + 0.3
    judged(plan, 0.5, 1.0)
    assert plan.last_call() is None


def test_quick_fits_end_with_the_time_but_for_the_first_two():
    names = ["logistic", "forest", "boosting", "LSL"]
    assert len(list(schedule(groups=[choose([name]) for name in names]).quick_calls())) == 4
    late = schedule(groups=[choose([name]) for name in names], clock=Clock(1.0, start=-1e9))
    calls = list(late.quick_calls())
    assert [call.argument.names for call in calls] == [("logistic",)]
    names = ["LSL", "logistic", "forest"]
    late = schedule(groups=[choose([name]) for name in names], clock=Clock(1.0, start=-1e9))
    assert [call.argument.names for call in late.quick_calls()] == [("logistic",)]
    short = schedule(groups=[choose([name]) for name in names], clock=Clock(0.4))
    assert [call.argument.names for call in short.quick_calls()] == [("LSL",), ("logistic",)]
    assert all(call.until > time.perf_counter() for call in calls)


def test_time_is_kept_for_training_the_best():
    plan = schedule(clock=Clock(1000.0), train_rows=1000)
    assert plan.clock.reserve == pytest.approx(100.0)
    judged(plan, 0.5, 20.0)
    assert plan.clock.reserve == pytest.approx(100.0)  # one method says little
    judged(plan, 0.6, 1.0)
    assert 100.0 < plan.clock.reserve <= 400.0
    plan = schedule(clock=Clock(1000.0), train_rows=1000)
    judged(plan, 0.5, 20.0)
    judged(plan, 0.4, 1.0)  # the forest is better, and faster
    assert plan.clock.reserve == pytest.approx(100.0)
    # On a slow computer, a moment more.
    assert schedule(clock=Clock(20.0, pace=8.0), train_rows=1000).clock.reserve == 4.0


def test_the_time_that_is_kept_does_not_shrink_when_more_rows_begin():
    groups = [choose([name]) for name in ("LSL", "forest", "logistic")]
    plan = schedule(
        groups=groups, sizes=[1000, 4000], clock=Clock(1000.0), train_rows=4000, n_workers=1
    )
    for nll in (0.4, 0.5, 0.6):
        judged(plan, nll, 100.0)
    kept = plan.clock.reserve
    assert kept > 100.0
    task = judged(plan, 0.4, 100.0)
    assert task.level.rows == 4000
    assert plan.clock.reserve == kept


def test_the_only_method_that_does_not_fail_is_judged_on_all_splits_of_all_rows():
    plan = schedule(sizes=[1000, 4000], n_splits=3, n_workers=1)
    plan.on_answer(plan.take(), Answer(failure="not enough memory", seconds=1.0))
    tasks = [judged(plan, 0.5, 1.0) for _ in range(4)]
    assert [(task.level.rows, task.split) for task in tasks] == [
        (1000, 0),
        (4000, 0),
        (4000, 1),
        (4000, 2),
    ]
    assert plan.take() is None


def test_work_that_would_be_ended_at_once_is_not_begun():
    plan = schedule(clock=Clock(60.0, pace=3.0), n_splits=3)
    judged(plan, 0.5, 1.0)
    judged(plan, 0.4, 1.0)
    assert judged(plan, 0.5, 1.0).split == 1
    plan.clock.limit = plan.clock.spent + 0.5  # less than a split has taken
    assert plan.take() is None
    late = schedule(clock=Clock(60.0, pace=600.0))
    assert late.take() is None


def test_many_rows_or_classes_have_methods_of_their_own():
    assert not {"LSL", "KMR"} & set(default_names(2000, 3))
    assert {"LSL", "KMR"} <= set(default_names(5000, 3))
    assert "LSL" in default_names(2000, 300)
    assert "KMR" not in default_names(2000, 300)
    inputs, y = make_blobs(400, centers=40, n_features=3, random_state=0)
    found = compare_methods(inputs, y, ["LSL", "KMR"], n_splits=1)
    assert len(found.methods) == 2
    assert all(not row["worse_than_majority"] for row in found.rows)


def test_processes_change_no_figure():
    # So many splits that the work is worth processes.
    one = compare_methods(SMALL_X, SMALL_Y, ["logistic", "PWC_PSVM"], n_splits=8)
    two = compare_methods(SMALL_X, SMALL_Y, ["logistic", "PWC_PSVM"], n_splits=8, n_jobs=2)
    for figure in ("nll", "error", "brier"):
        for name, values in one.figures(figure).items():
            assert np.array_equal(two.figures(figure)[name], values)


def test_a_process_that_does_not_stop_is_ended():
    start = time.perf_counter()
    calls = iter([Call(60.0, until=start + 1.0), Call(0.0)])
    answers = []
    LocalProcesses(1).call(
        "stubborn:sleep",
        None,
        lambda: next(calls, None),
        lambda call, answer: answers.append(answer),
    )
    assert [answer.late for answer in answers] == [True, False]
    assert answers[1].value == "slept"
    assert time.perf_counter() - start < 50.0


def test_methods_are_fitted_with_one_filter_of_warnings(monkeypatch):
    """scikit-learn sets all filters again for every tree of a forest."""
    seen = []

    def fit(candidate, split, conditions):
        seen.append(len(warnings.filters))
        warnings.warn("something to note", UserWarning, stacklevel=1)
        raise ValueError("not fitted")

    monkeypatch.setattr("polychotomy.compare._judging._judge_alone", fit)
    before = list(warnings.filters)
    compare_methods(SMALL_X, SMALL_Y, ["logistic"], n_splits=1)
    assert seen == [1]
    assert list(warnings.filters) == before


@pytest.mark.parametrize(("limit", "spare"), [(20.0, SPARE), (600.0, FEW_SPARE), (None, FEW_SPARE)])
def test_few_spare_processes_where_others_can_be_started(monkeypatch, limit, spare):
    counts = []
    monkeypatch.setattr(
        "polychotomy.execution.forks.fork_ahead", lambda count, _: bool(counts.append(count)) or 1
    )
    prepare_workers(2, limit)
    assert counts == [2 + spare]


def test_two_pools_are_what_each_is_alone():
    both = compare_methods(SMALL_X, SMALL_Y, ["POOL", "LS2"], n_splits=1)
    alone = compare_methods(SMALL_X, SMALL_Y, ["LS2"], n_splits=1)
    assert np.array_equal(both.held_out["LS2"][0].p, alone.held_out["LS2"][0].p)
    pool = recipe("POOL", tuned=True).set_params(random_state=0)
    with pytest.raises(ValueError, match="not the first ones"):
        pool.fit_with_parts(SMALL_X, SMALL_Y, None, {"x": type(pool)([("no", pool)])})


def test_rare_classes():
    y = np.array([f"c{k}" for k in SMALL_Y], dtype=object)
    y[0], y[1], y[2] = "alone", "two", "two"
    found = compare_methods(SMALL_X, y, ["logistic", "PWC_PSVM"], n_splits=3)
    assert len(found.methods) == 2
    row = next(one for one in class_figures(found) if one["class"] == "alone")
    assert row["tested"] == 0
    assert row["recall"] is None
    assert "'alone'" in found.notes[0]
    assert "--rare" in found.notes[0]
    # The note about folds names classes by their labels, and an option of the command.
    assert not any("Class 0" in note or "Classes 0" in note for note in found.notes)
    merged = compare_methods(SMALL_X, y, ["logistic"], n_splits=2, rare="merge")
    assert "(rare)" in merged.classes.tolist()
    dropped = compare_methods(SMALL_X, y, ["logistic"], n_splits=2, rare="drop")
    assert dropped.classes.tolist() == ["c0", "c1", "c2"]
    assert len(dropped.y) == len(y) - 3
    with pytest.raises(ValueError, match="class of its own"):
        settle_classes(["a", "b", "c"])
    with pytest.raises(ValueError, match="rare"):
        settle_classes(["a", "b", "c"], "hide")


def test_a_large_table_is_tried_on_parts_of_it():
    inputs, y = make_blobs(4000, centers=4, n_features=3, cluster_std=4.0, random_state=0)
    found = compare_methods(inputs, y, ["logistic", "LSL"], n_splits=2, time_limit=12.0)
    assert len(found.methods) >= 2
    assert found.level.rows in (1000, 3000)
    assert (found.worth == "") == (found.level == Level(3000))
    assert {point["rows"] for point in found.curve} >= {1000}
    assert found.recommended != "majority"


def test_no_time_at_all_leaves_an_answer():
    inputs, y = make_blobs(3000, centers=3, n_features=3, cluster_std=4.0, random_state=0)
    found = compare_methods(inputs, y, time_limit=1.0)
    assert found.candidates[found.recommended].name == found.recommended
    assert found.rows
    assert str(found)


def test_folds_inside_methods_keep_groups_together():
    groups = np.arange(len(SMALL_Y)) // 3
    conditions = Conditions(20, 0, None, SMALL_Y, groups)
    known = candidates()
    used = {
        "PSVC": lambda made: made.estimator.cv,
        "POOL": lambda made: made.cv,
        "logistic": lambda made: made.cv,
        "forest": lambda made: made.cv,
        "calibrated_svc": lambda made: made.cv,
        "stack": lambda made: made.members[0][1].folds,
    }
    for name, folds in used.items():
        tested = []
        for train, test in folds(known[name].make(conditions)):
            assert not set(groups[train]) & set(groups[test])
            tested += test.tolist()
        assert sorted(tested) == list(range(len(SMALL_Y)))
    few = conditions.first(30)
    assert len(few.y) == len(few.together) == 30
    assert max(test.max() for _, test in few.splits(3)) == 29
    # The folds of a classifier inside those of the search.
    (train, _), *_ = splits = conditions.splits(3)
    for own, held in _inside(splits, train):
        assert not set(groups[train[own]]) & set(groups[train[held]])
    assert periods(np.arange(10)).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_groups_change_what_is_chosen():
    # Every row four times: trees that learn rows by heart look good if copies are left behind.
    random = np.random.RandomState(0)
    few, classes = random.normal(size=(40, 2)), random.randint(0, 2, 40)
    inputs, y, groups = (np.repeat(values, 4, axis=0) for values in (few, classes, np.arange(40)))
    found = {}
    for kept in (None, groups):
        run = compare_methods(inputs, y, ["forest"], n_splits=1, groups=kept)
        found[kept is None] = run.held_out["forest"][0].parameters["min_samples_leaf"]
    assert found == {True: 1, False: 10}
    model = fit_method("PWC_PSVM", inputs, y, groups=groups)
    assert model[-1].cv is None or isinstance(model[-1].cv, int)
    assert isinstance(model[-1].best_estimator_.cv, int)
    for name in ("calibrated_svc", "PSVC"):
        run = compare_methods(inputs, y, [name], n_splits=1, order=np.arange(160) // 20)
        assert run.methods == [name]


def test_weights_count_in_the_figures():
    weights = np.where(SMALL_Y == 2, 0.0, 1.0)
    found = compare_methods(SMALL_X, SMALL_Y, ["forest"], n_splits=2, sample_weight=weights)
    (held, _) = found.held_out["forest"]
    wrong = held.predicted != SMALL_Y[held.rows]
    own = weights[held.rows]
    assert held.figures(SMALL_Y[held.rows])["error"] == pytest.approx(
        (wrong * own).sum() / own.sum()
    )
    with pytest.raises(ValueError, match="sample_weight"):
        compare_methods(SMALL_X, SMALL_Y, ["logistic"], sample_weight=-weights)


def test_common_splits_keep_two_methods():
    runs = {"a": {0: 1, 1: 1, 2: 1}, "b": {0: 1}, "c": {}}
    assert common_splits(runs) == (["a", "b"], [0])
    runs = {"a": dict.fromkeys(range(6)), "b": dict.fromkeys(range(4)), "c": {0: 1}}
    assert common_splits(runs) == (["a", "b"], [0, 1, 2, 3])
    assert common_splits({}) == ([], [])


def test_figures_by_class_are_those_of_scikit_learn():
    found = compare_methods(X, Y, ["PWC_PSVM"], n_splits=2)
    rows, predicted, p = found.pooled()
    precision, recall, f1, tested = precision_recall_fscore_support(Y[rows], predicted)
    for k, row in enumerate(class_figures(found)):
        assert row["precision"] == pytest.approx(precision[k])
        assert row["recall"] == pytest.approx(recall[k])
        assert row["f1"] == pytest.approx(f1[k])
        assert row["tested"] == tested[k]
        assert row["auc"] == pytest.approx(roc_auc_score(Y[rows] == k, p[:, k]))
    wrong = [one["rows"] for one in worst_confusions(found)]
    assert sum(wrong) == np.sum(Y[rows] != predicted)


def test_importance_fits_no_pool_again_and_goes_with_the_curve(monkeypatch):
    """A pool takes a third of a second."""
    rounds_of_calls = []

    class Watched(InProcess):
        def call(self, task, context, take, on_answer):
            kinds = set()

            def watched():
                call = take()
                if call is not None:
                    kinds.add(type(call.argument))
                return call

            super().call(task, context, watched, on_answer)
            rounds_of_calls.append(kinds)

    def compared():
        return compare_methods(
            SMALL_X, SMALL_Y, ["LS2"], n_splits=1, importance=True, executor=Watched()
        )

    with monkeypatch.context() as fitting_again:
        fitting_again.setattr("polychotomy.compare._judging.KEPT_ROWS", 0)
        expected = compared()
    assert {Question, Task} in rounds_of_calls
    monkeypatch.setattr(PolychotomyPool, "fit", lambda *_: pytest.fail("it is fitted again"))
    found = compared()
    assert found.importance == expected.importance
    assert len(found.importance) == 4
    assert {point["rows"] for point in found.curve} == {point["rows"] for point in expected.curve}
    assert len(found.curve) > 1


def test_importance_and_slices_find_the_column():
    random = np.random.RandomState(0)
    frame = pandas.DataFrame({"signal": random.normal(size=300), "noise": random.normal(size=300)})
    frame["colour"] = np.where(np.arange(300) % 3 == 0, "red", "blue")
    hidden = frame["colour"] == "red"
    y = np.where(hidden, random.randint(0, 2, 300), frame["signal"] > 0)
    from polychotomy.tables import table_of_frame

    table = table_of_frame(frame.assign(y=y), "y")
    found = compare_methods(
        table.X,
        table.y,
        ["logistic"],
        n_splits=3,
        preprocessor=table.schema.preprocessor(),
        importance=True,
    )
    assert found.importance[0]["column"] == "signal"
    assert found.importance[0]["lower"] > 0
    worst = slices(found, table.X)[0]
    assert (worst["column"], worst["where"]) == ("colour", "red")
    assert len({point["rows"] for point in found.curve}) == 3
    page = html_report(found, "made", X=table.X)
    assert "every method was tuned inside each training part" in page
    quick = html_report(replace(found, level=replace(found.level, tuned=False)), "made", X=table.X)
    assert "no method was tuned, because there was no time" in quick
    assert "every method was tuned" not in quick
    brief = html_report(found, "made", X=table.X, until=0.0)
    left_out = "There was no time to draw the reliability of the classes: allow more with --time."
    assert '<section id="reliability">' in brief
    for sentence in (left_out, "There was no time to draw the ranking: allow more with --time."):
        assert sentence in brief
        assert sentence not in page
    assert "Nowhere in particular" not in page
    same = pandas.DataFrame({"same": np.zeros(300)})
    assert "Nowhere in particular" in html_report(found, "made", X=same)
    once = compare_methods(
        table.X,
        table.y,
        ["logistic"],
        n_splits=1,
        preprocessor=table.schema.preprocessor(),
        importance=True,
    )
    # Two shuffles of one split would leave everything open, from far below 0 to far above.
    signal = once.importance[0]
    assert signal["column"] == "signal"
    assert signal["upper"] - signal["lower"] < signal["importance"]
    assert "would change: this needs a second split." in html_report(once, "made", X=table.X)
    assert len(brief) < len(page)
    for section in ("classes", "inputs", "curve", "slices"):
        assert f'<section id="{section}">' in page


def test_a_page_says_which_panels_there_was_no_time_for():
    # Without the panel of the predicted class: -1 if not even that was drawn.
    none = "There was no time to draw the reliability of the classes: allow more with --time."
    assert _panels_left(3, -1) == _panels_left(3, 0) == none
    assert _panels_left(3, 1).startswith("The one of 3 classes with the largest")
    assert _panels_left(3, 2).startswith("The 2 of 3 classes with the largest")
    assert _panels_left(3, 2).endswith("There was no time to draw more: allow more with --time.")
    assert _panels_left(3, 3) == ""
    assert "no time" not in _panels_left(MOST_PANELS + 1, MOST_PANELS)


def test_a_fitted_method_is_that_of_the_pipeline():
    one = fit_method("PWC_PSVM", SMALL_X, SMALL_Y)
    two = tuned_pipeline("PWC_PSVM", SMALL_Y).fit(SMALL_X, SMALL_Y)
    assert np.allclose(one.predict_proba(X), two.predict_proba(X))


def test_no_two_methods_are_described_by_the_same_words():
    words = [one.words for one in candidates().values()]
    assert len(set(words)) == len(words)
    assert candidates()["PWC_PSVM"].title == "SVM, pairs, coupled (PWC_PSVM)"


def test_splits_of_many_rows_are_drawn_when_they_are_asked_for():
    y = np.random.RandomState(0).randint(0, 3, _splits.MANY_ROWS)
    y[:3] = 3, 3, 4  # a class of two rows, and one of a single row
    few = _splits.rounds(y[1:], "hold-out", 4, 0.25, 7)
    many = _splits.rounds(y, "hold-out", 4, 0.25, 7)
    assert isinstance(few, list)
    assert isinstance(many, _splits.HoldOuts)
    expected = list(_splits.HoldOuts(y, 4, 0.25, 7))
    many[1]
    assert len(many._known) == 2
    sent = pickle.loads(pickle.dumps(many))
    for number in (3, 0, 2):
        for one, other in zip(sent[number], expected[number], strict=True):
            assert np.array_equal(one, other)
    assert all(len(train) >= many.fewest_training_rows for train, _ in expected)


def test_a_process_may_use_two_gigabytes_or_more_for_a_large_table(monkeypatch):
    monkeypatch.setattr(_where, "available_memory", lambda: 100 << 30)
    assert _where.most_memory(1000, 2) == 2 << 30
    assert _where.most_memory(1 << 30, 2) == 12 << 30
    monkeypatch.setattr(_where, "available_memory", lambda: 1 << 30)
    assert _where.most_memory(1000, 2) < 1 << 29


def test_a_single_process_may_use_most_of_what_is_free(monkeypatch):
    monkeypatch.setattr(_where, "available_memory", lambda: 100 << 30)
    assert _where.most_memory(1000, 1) == 80 << 30


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what is resident")
def test_memory_that_is_reserved_and_not_used_does_not_count():
    found = []
    calls = iter([Call(400 << 20), Call(800 << 20)])
    where = LocalProcesses(1, memory=700 << 20, modules=["stubborn"])
    take, keep = lambda: next(calls, None), lambda _, answer: found.append(answer)
    where.call("stubborn:fill", pandas.Series(["a", "b"]), take, keep)
    assert found[0].value == (2, float(400 << 17))
    assert found[1].failure == "not enough memory"


def test_lack_of_memory_is_said_and_more_time_is_not_advised():
    raw = "All 49 cells of the search of PSVC failed, the first with: MemoryError: std::bad_alloc"
    plan = schedule(clock=Clock(200.0), n_splits=1)
    plan.on_answer(plan.take(), Answer(failure=raw, seconds=1.0))
    (why,) = set(plan.failures.values())
    assert why == "it failed: not enough memory"
    X, y = load_iris(return_X_y=True)
    found = compare_methods(X[::3], y[::3], ["PWC_PSVM", "logistic"], n_splits=1)
    untuned = replace(found, level=Level(37, False), most_rows=37)
    assert "More time would tune" in " ".join(untuned.reasons)
    lacking = replace(untuned, why=dict.fromkeys(found.methods, why))
    words = " ".join(lacking.reasons)
    assert "More time" not in words
    assert "Allow more" not in words
    assert "memory was not enough, more time does not help: --jobs 1 lets" in words


def test_cells_of_a_search_that_are_skipped_are_said_in_words_of_the_command_line():
    start = "The search of KernelLogisticRegression skips the cell {'C': 1.0}, and any others"
    assert (
        note_of(f"{start} that fail: The solver did not converge; scale the inputs", "PSVC") == ""
    )
    note = note_of(f"{start} that fail: MemoryError: std::bad_alloc", "PSVC")
    assert note.startswith("PSVC: some parameters could not be tried, because a process had not")
    assert "--jobs 1" in note


def test_what_was_done_with_rare_classes_is_not_advised_again():
    X, y = load_iris(return_X_y=True)
    few = np.r_[0:40, 50:90, 100:102, 120:122]
    kinds = y[few].astype(str)
    kinds[-2:] = "3"
    asked = (X[few], kinds, ["PWC_PSVM"])
    kept, merged = (compare_methods(*asked, n_splits=1, rare=one) for one in ("keep", "merge"))
    assert "--rare merge" in " ".join(kept.notes)
    assert "Class '(rare)': fewer rows than the 5 folds" in " ".join(merged.notes)
    assert "--rare" not in " ".join(merged.notes)
    # Classes with five rows are neither dropped nor merged.
    few = np.r_[0:40, 50:90, 100:105]
    notes = compare_methods(X[few], y[few], ["PWC_PSVM"], n_splits=1).notes
    assert "Class 2: fewer rows than the 5 folds" in " ".join(notes)
    assert "--rare" not in " ".join(notes)


def test_a_page_says_what_there_was_no_time_for():
    X, y = load_iris(return_X_y=True)
    found = compare_methods(X[::2], y[::2], ["PWC_PSVM"], n_splits=2)
    (words,) = _no_time_for(found)
    assert words.startswith("There was no time to find out which inputs matter or to draw a learn")
    found = compare_methods(X[::2], y[::2], ["PWC_PSVM"], n_splits=2, importance=True)
    assert _no_time_for(found) == []


def test_many_pairs_are_searched_on_fewer_rows():
    svm, logistic = choose(["PSVC", "logistic"])
    assert [svm.tuned_rows(n) for n in (3, 28, 100)] == [4000, 4000, (1 << 23) // 4950]
    assert logistic.tuned_rows(100) == 16_000


def test_slices_of_missing_fields_are_not_those_of_a_category():
    """A category may be called nan; and long texts take no more memory than they need."""
    y, rows = np.zeros(200, dtype=int), np.arange(200)
    predicted = (rows < 60).astype(int)
    values = np.array(["nan", "a", "b"], dtype=object)[rows % 3]
    values[:40] = np.nan
    values[60:80] = None

    class Judged:
        def pooled(self, name=None):
            return rows, predicted, None

    found = Judged()
    found.y = y
    frame = pandas.DataFrame({"colour": values, "text": ["x" * 400_000] + ["word"] * 199})
    tracemalloc.start()
    worst = slices(found, frame)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [(one["where"], one["rows"]) for one in worst] == [("missing", 60)]
    assert most < 10_000_000


def test_the_map_of_hundreds_of_classes_can_be_seen():
    """Every pair has a square that is wide enough for the pointer, and inside of the frame."""

    class Counted:
        per_class = tuple({"class": k} for k in range(300))

        def confusion(self):
            counts = np.eye(300, dtype=int)
            counts[0, 299] = counts[299, 298] = 1
            return counts

    labels = [f"k{k}" for k in range(300)]
    # The list of the worst confusions has few of so many classes; the table has that of each.
    taken = [row["taken_for"] for row in _class_rows(Counted(), labels)]
    assert (taken[0], taken[1], taken[299]) == ("k299 (1)", "", "k298 (1)")
    drawn = _map(Counted(), labels)
    found = re.findall(r'class="(\w+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"', drawn)
    assert len(found) == 302
    kinds, x, y, width = zip(*found, strict=True)
    places = np.array([x, y, width], dtype=float)
    assert places[2].min() >= 5.0
    assert (places[:2] + places[2]).max() <= SIDE
    # Confusions beside the diagonal are not covered by it.
    assert kinds[-2:] == ("wrong", "wrong")
    assert "k299 predicted as k298: 1 test row<" in drawn
