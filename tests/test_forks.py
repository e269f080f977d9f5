"""Processes that are forked ahead of time."""

import errno
import os
import select
import signal
import sys
import threading
import time
from contextlib import nullcontext
from functools import cache
from pathlib import Path

import pytest

from polychotomy.core import threads
from polychotomy.execution.calls import Call
from polychotomy.execution.executors import LocalProcesses
from polychotomy.execution.forks import end_waiting, fork_ahead, forked_ahead, n_forked_ahead
from polychotomy.execution.work import WorkerError


@pytest.fixture
def three(monkeypatch):
    # Threads of the test runner do not matter: they hold no lock that a fork needs.
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    if not fork_ahead(3, ["stubborn"]):
        pytest.skip("only Linux has them")
    yield
    end_waiting()
    assert not n_forked_ahead()


def answers(executor, task, calls, context=None):
    waiting, found = iter(calls), []
    executor.call(task, context, lambda: next(waiting, None), lambda _, one: found.append(one))
    return found


def test_they_answer_and_late_ones_are_replaced(three):
    executor = LocalProcesses(1)
    assert executor.is_ready
    late, good = answers(
        executor, "stubborn:sleep", [Call(60.0, time.perf_counter() + 0.2), Call(0.0)]
    )
    assert (late.late, good.value) == (True, "slept")
    assert n_forked_ahead() == 1
    with pytest.raises(WorkerError, match="no_such_function"):
        answers(executor, "stubborn:no_such_function", [Call(0.0)])
    assert not executor.is_ready


def test_they_are_kept_for_further_rounds_with_the_same_context(three):
    context = ["what all calls share"]
    with LocalProcesses(1).opened() as executor:
        first, second = (
            answers(executor, "stubborn:process_id", [Call(None)], context)[0].value
            for _ in range(2)
        )
        [other] = answers(executor, "stubborn:process_id", [Call(None)], ["another"])
    assert first == second
    assert other.value not in (first, os.getpid())


def test_they_end_with_the_driver(three):
    # What tells them is the end of a pipe, so that no sibling may have its other end open.
    for _ in range(3):
        process, pipe = forked_ahead()
        pipe.close()
        ended, _, _ = select.select([process.sentinel], [], [], 20.0)
        assert ended


def test_no_fork_of_a_process_with_threads():
    stop = threading.Event()
    other = threading.Thread(target=stop.wait)
    other.start()
    try:
        assert not fork_ahead(1, [])
    finally:
        stop.set()
        other.join()


def test_an_import_may_start_a_thread(tmp_path, monkeypatch):
    Path(tmp_path, "with_a_thread.py").write_text(
        "import threading\nstop = threading.Event()\nthreading.Thread(target=stop.wait).start()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    counted = []
    count = threading.active_count
    monkeypatch.setattr(threading, "active_count", lambda: counted.append(1) or count() - others)
    others = count() - 1
    try:
        assert not fork_ahead(1, ["with_a_thread"])
        assert len(counted) == 2
    finally:
        sys.modules["with_a_thread"].stop.set()


def test_an_interrupt_waits_until_all_are_forked(monkeypatch):
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    fork, forks = os.fork, []

    def interrupted():
        os.kill(os.getpid(), signal.SIGINT)
        forks.append(fork())
        return forks[-1]

    monkeypatch.setattr(os, "fork", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fork_ahead(2, [])
    assert (len(forks), n_forked_ahead()) == (2, 2)
    end_waiting()


def test_a_limit_of_processes_leaves_fewer(monkeypatch):
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    fork, forks = os.fork, []

    def limited():
        if len(forks) == 2:
            raise BlockingIOError(errno.EAGAIN, "too many")
        forks.append(fork())
        return forks[-1]

    monkeypatch.setattr(os, "fork", limited)
    before = len(os.listdir("/proc/self/fd"))
    assert fork_ahead(5, [])
    assert n_forked_ahead() == 2
    end_waiting()
    assert (
        len(os.listdir("/proc/self/fd")) <= before + 4
    )  # Python leaves two pipes of the fork that failed


def test_what_a_process_takes_to_start_is_not_taken_from_the_call():
    assert Call(None, 10.0, 15.0).until_after(3.0) == 13.0
    assert Call(None, 10.0, 15.0).until_after(9.0) == 15.0
    assert Call(None, 10.0, 8.0).until_after(1.0) == 10.0
    assert Call(None, 10.0).until_after(1.0) == 10.0
    assert Call(None).until_after(1.0) is None


def test_libraries_with_threads_are_looked_for_once_and_after_imports(monkeypatch):
    looked = []

    class Controller:
        def __init__(self):
            looked.append(1)

        def limit(self, limits):
            return nullcontext(limits)

    monkeypatch.setattr(threads, "ThreadpoolController", Controller)
    monkeypatch.setattr(threads, "_all_thread_pools", cache(threads._all_thread_pools.__wrapped__))
    for _ in range(3):
        with threads.single_threaded() as limit:
            assert limit == 1
    assert len(looked) == 1
    monkeypatch.setitem(sys.modules, "another_module", sys)
    with threads.single_threaded():
        assert len(looked) == 2
