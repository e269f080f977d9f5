"""Searches and comparisons in other processes and on Dask: the same bits, whoever dies."""

import os
import pickle
import time
from _thread import interrupt_main
from collections import Counter
from threading import Timer
from types import SimpleNamespace

import dask
import distributed
import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import scale

import polychotomy
import stubborn
from elsewhere import Deadly, DeadlyScaler, Grumbling
from polychotomy import SVM, MethodSweep, PolychotomyClassifier, TwoStepSearchCV
from polychotomy.compare import compare_methods
from polychotomy.compare._splits import rounds
from polychotomy.execution.calls import Answer, Call
from polychotomy.execution.cluster import DaskCluster
from polychotomy.execution.executors import Executor, InProcess, LocalProcesses
from polychotomy.tuning.parts import Found
from polychotomy.tuning.steps import run_elsewhere
from study_tasks import wait_until

pytestmark = pytest.mark.usefixtures("fork_server")

X, Y = load_wine(return_X_y=True)
X = scale(X)[::2]
Y = Y[::2]
GRID = {"machine__C": [0.1, 10.0], "machine__sigma2": [1.0, 10.0, 100.0]}
FACTORS = (0.5, 1.0, 2.0)


@pytest.fixture(scope="module")
def threads():
    """A cluster with two workers in this process, which costs little."""
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            protocol="tcp",
            dashboard_address=":0",
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def processes():
    """A cluster with two workers that may die."""
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def same_search(first, second):
    assert first.best_params_ == second.best_params_
    for name, column in first.cv_results_.items():
        np.testing.assert_array_equal(np.asarray(column), np.asarray(second.cv_results_[name]))
    if first.refit:
        assert np.array_equal(first.predict_proba(X), second.predict_proba(X))


def same_comparison(first, second):
    for figure in ("nll", "error", "brier"):
        found = second.figures(figure)
        assert sorted(found) == sorted(first.figures(figure))
        for name, values in first.figures(figure).items():
            np.testing.assert_array_equal(values, found[name])


@pytest.mark.usefixtures("several_blas_threads")
def test_a_search_has_the_same_bits_everywhere(threads):
    def search(executor, **more):
        # An iterator of folds cannot be sent anywhere; the folds can.
        folds = StratifiedKFold(3, shuffle=True, random_state=0).split(X, Y)
        classifier = PolychotomyClassifier(SVM(), random_state=3)
        found = TwoStepSearchCV(classifier, GRID, FACTORS, cv=folds, executor=executor, **more)
        return found.fit(X, Y, sample_weight=1.0 + np.arange(len(Y)) % 2)

    here = search(None, n_jobs=2)
    assert {"coarse", "fine"} == set(here.cv_results_["step"])
    for executor in (InProcess(), LocalProcesses(2), threads, threads.scheduler.address):
        same_search(here, search(executor))


def test_out_of_fold_probabilities_are_the_same(threads):
    here, there = (TwoStepSearchCV(coarse=GRID, fine=None, executor=e) for e in (None, threads))
    assert np.array_equal(here.fit_out_of_fold(X, Y), there.fit_out_of_fold(X, Y))
    same_search(here, there)


def test_methods_of_several_sweeps_run_at_the_same_time(threads):
    names = ["PWC_PSVM", "MWV_SVM", "WTA_SVM", "PWC_KLR"]
    here, there = (MethodSweep(names, GRID, FACTORS, executor=e) for e in (None, threads))
    here.fit(X, Y)
    there.fit(X, Y)
    for name, column in here.cells_.items():
        np.testing.assert_array_equal(column, there.cells_[name])
    for name, classifier in here.classifiers_.items():
        answers = "predict_proba" if hasattr(classifier, "predict_proba") else "decision_function"
        both = (getattr(one.classifiers_[name], answers)(X) for one in (here, there))
        assert np.array_equal(*both)


def test_warnings_and_errors_of_a_search_reach_the_user(threads):
    classifier = PolychotomyClassifier(Grumbling())
    search = TwoStepSearchCV(classifier, {"machine__C": [1.0, 2.0]}, None, executor=threads)
    with (
        pytest.warns(FitFailedWarning, match=r"\{'machine__C': 2\.0\}.* ArithmeticError: too much"),
        pytest.warns(UserWarning, match="this is odd"),
    ):
        search.fit(X, Y)
    assert search.best_params_ == {"machine__C": 1.0}

    class Broken(Executor):
        def call(self, task, context, take, on_answer):
            on_answer(take(), Answer(failure="in words", error=ZeroDivisionError("as it was")))

    with pytest.raises(ZeroDivisionError, match="as it was"):
        TwoStepSearchCV(executor=Broken()).fit(X, Y)


def test_comparisons_have_the_same_figures_on_a_cluster(threads):
    names = ["logistic", "PWC_PSVM", "MWV_SVM"]
    here = compare_methods(X, Y, names, n_splits=3)
    same_comparison(here, compare_methods(X, Y, names, n_splits=3, executor=threads))
    with pytest.raises(ValueError, match="n_jobs is for this machine"):
        compare_methods(X, Y, names, n_jobs=2, executor=threads)


def runs(folder):
    lines = (folder / "calls").read_text().splitlines()
    return Counter(line.split()[0] for line in lines)


def counted(executor, folder, calls):
    """Return the answers to calls by argument, with the seconds that all took."""
    waiting, found, start = iter(calls), {}, time.perf_counter()
    executor.call(
        "elsewhere:count_calls",
        str(folder),
        lambda: next(waiting, None),
        lambda call, answer: found.update({call.argument: answer}),
    )
    return found, time.perf_counter() - start


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("where", ["local", "dask"])
def test_who_dies_is_replaced_and_nothing_is_done_twice(where, tmp_path, request):
    client = request.getfixturevalue("processes") if where == "dask" else None
    executor = LocalProcesses(2) if client is None else DaskCluster(client=client)
    (tmp_path / "3").write_text("x")
    (tmp_path / "5").write_text("xxxx")
    found, _ = counted(executor, tmp_path, [Call(number) for number in range(8)])
    assert [found[number].value for number in (0, 1, 2, 3, 4, 6, 7)] == [0, 1, 2, 3, 4, 6, 7]
    assert found[5].failure.startswith("Its worker died 2 times, the last time by")
    assert runs(tmp_path) == {**dict.fromkeys("012467", 1), "3": 2, "5": 2}


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("where", ["local", "dask"])
def test_searches_and_comparisons_survive_the_death_of_workers(where, tmp_path, request):
    client = request.getfixturevalue("processes") if where == "dask" else None
    executor = LocalProcesses(2) if client is None else client
    # A search.
    grid = {"machine__C": [0.1, 1.0, 10.0]}
    classifier = PolychotomyClassifier(Deadly(folder=str(tmp_path)))
    here = TwoStepSearchCV(classifier, grid, None).fit(X, Y)
    (tmp_path / "1").write_text("x")
    there = TwoStepSearchCV(classifier, grid, None, executor=executor).fit(X, Y)
    assert (tmp_path / "1").read_text() == ""
    same_search(here, there)
    # A cell that always kills is named, and the others count.
    (tmp_path / "10").write_text("xx")
    search = TwoStepSearchCV(classifier, grid, None, refit=False, executor=executor)
    with pytest.warns(
        FitFailedWarning, match=r"the cell \{'machine__C': 10\.0\}.* Its worker died 2 times"
    ):
        search.fit(X, Y)
    assert np.isnan(search.cv_results_["cv_error"]).tolist() == [False, False, True]
    # A comparison.
    train, _ = rounds(Y, "hold-out", 2, 0.25, 0)[1]
    scaler = DeadlyScaler(str(tmp_path), X[train, 0].mean())
    names = ["logistic", "forest"]
    here = compare_methods(X, Y, names, n_splits=2, preprocessor=scaler)
    (tmp_path / "split").write_text("x")
    same_comparison(
        here, compare_methods(X, Y, names, n_splits=2, preprocessor=scaler, executor=executor)
    )
    assert (tmp_path / "split").read_text() == ""


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_method_that_always_kills_is_said_to(tmp_path):
    train, _ = rounds(Y, "hold-out", 1, 0.25, 0)[0]
    scaler = DeadlyScaler(str(tmp_path), X[train, 0].mean())
    (tmp_path / "split").write_text("xx")
    found = compare_methods(
        X, Y, ["logistic"], n_splits=1, preprocessor=scaler, executor=LocalProcesses(1)
    )
    why = "it failed: Its worker died 2 times, the last time by SIGKILL."
    assert found.left_out == {"logistic": why}


def test_a_late_call_on_a_cluster_ends_with_its_worker(processes):
    before = set(processes.nthreads())
    start = time.perf_counter()
    calls = iter([Call(600.0, until=start + 1.5), Call(0.0), Call(0.1, until=start + 500.0)])
    answers = []
    DaskCluster(client=processes).call(
        "stubborn:wait",
        None,
        lambda: next(calls, None),
        lambda call, answer: answers.append((call.argument, answer)),
    )
    assert time.perf_counter() - start < 100.0
    assert sorted((argument, answer.late) for argument, answer in answers) == [
        *((0.0, False), (0.1, False), (600.0, True))
    ]
    wait_until(lambda: len(processes.nthreads()) == 2 and set(processes.nthreads()) != before)


def test_a_late_worker_without_a_nanny_is_left_alone(threads):
    before = set(threads.nthreads())
    start = time.perf_counter()
    # Workers in one process work one after the other: the others wait for the late one.
    calls = iter([Call(1.5, until=start + 0.3), *(Call(0.0) for _ in range(3))])
    answers = []
    DaskCluster(client=threads).call(
        "stubborn:wait",
        None,
        lambda: next(calls, None),
        lambda call, answer: answers.append(answer),
    )
    assert sorted(answer.late for answer in answers) == [False, False, False, True]
    assert set(threads.nthreads()) == before


def test_the_time_limit_holds_on_a_cluster_without_workers():
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        start = time.perf_counter()
        found = compare_methods(X, Y, ["logistic", "PSVC"], time_limit=1.0, executor=client)
        assert time.perf_counter() - start < 30.0
    # At most the fits that need no cluster.
    assert not any(one.tuned for name in found.methods for one in found.held_out[name])


@pytest.fixture
def held():
    """Let calls of `stubborn.hold` wait until the test has ended."""
    stubborn.released.clear()
    yield
    stubborn.released.set()


def test_an_interrupt_stops_the_work_on_a_cluster(threads, held):
    calls = iter([Call(True), Call(True), Call(True)])
    answers, taken = [], []

    def take():
        taken.append(next(calls, None))
        if len(taken) == 2:  # as many as there are workers
            Timer(0.2, interrupt_main).start()
        return taken[-1]

    with pytest.raises(KeyboardInterrupt):
        DaskCluster(client=threads).call(
            "stubborn:hold",
            None,
            take,
            lambda call, answer: answers.append(answer),
        )
    assert answers == []
    assert len(list(calls)) == 1
    assert not any(threads.processing().values())


def test_searches_with_a_client_can_be_cloned_pickled_and_saved(threads, tmp_path):
    search = TwoStepSearchCV(coarse={"machine__C": [1.0]}, fine=None, executor=threads)
    assert clone(search).executor is threads
    assert clone(MethodSweep(["PWC_PSVM"], executor=threads)).executor is threads
    cluster = DaskCluster(client=threads)
    assert clone(search.set_params(executor=cluster)).executor is cluster
    assert pickle.loads(pickle.dumps(cluster)).address == threads.scheduler.address
    search.set_params(executor=threads).fit(X, Y)
    again = pickle.loads(pickle.dumps(search))
    assert again.executor == threads.scheduler.address
    same_search(search, again)
    polychotomy.save(search, tmp_path / "search.polychotomy")
    assert search.executor is threads
    loaded = polychotomy.load(tmp_path / "search.polychotomy")
    assert loaded.executor is None
    assert np.array_equal(loaded.predict_proba(X), search.predict_proba(X))


def test_what_is_no_executor_is_refused():
    with pytest.raises(TypeError, match="executor must be None, an executor such as Loc"):
        TwoStepSearchCV(executor=4).fit(X, Y)
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "0.2s"}),
        pytest.raises(ConnectionError, match=r"There is no Dask scheduler at tcp://127\.0\.0\.1:9"),
    ):
        TwoStepSearchCV(executor="tcp://127.0.0.1:9").fit(X, Y)
    with pytest.raises(ConnectionError, match="There is no Dask scheduler at nowhere://x;"):
        compare_methods(X, Y, ["logistic"], executor="nowhere://x")


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_local_backends_of_joblib_are_honoured(backend, monkeypatch):
    alone = TwoStepSearchCV(coarse=GRID, fine=None).fit(X, Y)
    asked = []
    path = SVM.solve_path

    def watched(self, *args):
        asked.append(args[-1])
        return path(self, *args)

    monkeypatch.setattr(SVM, "solve_path", watched)
    with joblib.parallel_config(backend, n_jobs=2):
        same_search(alone, TwoStepSearchCV(coarse=GRID, fine=None).fit(X, Y))
        assert set(asked) == {2}  # threads of the core
        # Classifiers of other libraries are trained by joblib itself.
        machine = LogisticRegression()
        clf = PolychotomyClassifier(machine).fit(X, Y)
    assert np.array_equal(
        clf.predict_proba(X), PolychotomyClassifier(machine).fit(X, Y).predict_proba(X)
    )


def test_comparisons_take_their_processes_from_joblib(monkeypatch):
    started = []
    call = LocalProcesses.call

    def watched(self, *args):
        started.append(self.n_workers)
        return call(self, *args)

    monkeypatch.setattr(LocalProcesses, "call", watched)
    monkeypatch.setattr("polychotomy.compare._where.SMALL", 0.0)
    here = compare_methods(X, Y, ["logistic"], n_splits=2)
    with joblib.parallel_config("threading", n_jobs=2):
        same_comparison(here, compare_methods(X, Y, ["logistic"], n_splits=2))
    assert started == [2]


def test_the_search_with_the_longest_parts_goes_first():
    seconds, order, taken = (0.2, 3.0, 1.0), [], []

    class Noting(InProcess):
        def call(self, task, context, take, on_answer):
            while (call := take()) is not None:
                number, _ = call.argument
                order.append(number)
                found = Found([], [0.1], seconds={"solver": seconds[number]})
                on_answer(call, Answer(value=found))

    step = SimpleNamespace(take_in=lambda part, found: taken.append(part))
    searches = [iter([(step, (number, part)) for part in range(3)]) for number in range(3)]
    sweeps = [SimpleNamespace(portable=lambda: None)] * 3
    run_elsewhere(searches, sweeps, Noting())
    # One part of each, whose times are not known yet; then the slowest until it is done.
    assert order == [0, 1, 2, 1, 1, 2, 2, 0, 0]
    assert len(set(taken)) == 9
