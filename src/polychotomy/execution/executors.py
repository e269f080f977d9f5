"""Executors: where units run. `DaskCluster` is in `cluster`."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Protocol

from .units import Outcome, Unit
from .work import perform, versions

OnDone = Callable[[Unit, Outcome], None]

DEATHS_ALLOWED = 1
_FAILED_STARTS_ALLOWED = 2


class Executor(Protocol):
    """The interface of an executor: any object with this method can be one.

    Examples
    --------
    >>> from polychotomy.execution.executors import Executor, InProcess, LocalProcesses
    >>> where: list[Executor] = [InProcess(), LocalProcesses(2)]
    """

    def run(self, units: Iterable[Unit], task: str, on_done: OnDone) -> None:
        """Run a task on units, and hand over each outcome when it is ready.

        Parameters
        ----------
        units : iterable of Unit
            They are taken one at a time, when a worker is free.
        task : str
            The task as ``"package.module:function"``.
        on_done : callable
            Called in this thread with each unit and its outcome, in the order in which they end.
            If it raises, all work stops.
        """


class InProcess:
    """Run the units one after another in this process.

    A task that crashes ends this process too.

    Examples
    --------
    >>> from polychotomy.execution.executors import InProcess
    >>> from polychotomy.execution.units import Unit
    >>> units = [Unit("demo", "iris", "0f3a", i, "svm", {"methods": ["a", "b"]}) for i in (0, 1)]
    >>> def on_done(unit, outcome):
    ...     print(unit.partition, [result.method for result in outcome.results])
    >>> InProcess().run(units, "polychotomy.execution.work:example", on_done)
    0 ['a', 'b']
    1 ['a', 'b']
    """

    def run(self, units: Iterable[Unit], task: str, on_done: OnDone) -> None:
        """Run a task on units; see `Executor.run`."""
        for unit in units:
            on_done(unit, perform(task, unit))


class Backlog:
    """The units still to run, and how often the worker of each has died.

    A unit whose worker died comes back after all others, when fewer neighbours compete for
    memory; when its worker dies again, the unit has failed.

    Parameters
    ----------
    units : iterable of Unit
        The units to run.

    Examples
    --------
    >>> from polychotomy.execution.executors import Backlog
    >>> from polychotomy.execution.units import Unit
    >>> unit = Unit("demo", "iris", "0f3a", 0, "svm", {})
    >>> backlog = Backlog([unit])
    >>> backlog.take() == unit, backlog.lost(unit, "SIGSEGV"), backlog.take() == unit
    (True, None, True)
    >>> backlog.lost(unit, "SIGSEGV").failure
    'Its worker died 2 times, the last time by SIGSEGV.'
    """

    def __init__(self, units: Iterable[Unit]) -> None:
        self._fresh = iter(units)
        self._returned: list[Unit] = []
        self._again: deque[Unit] = deque()
        self._deaths: Counter[str] = Counter()

    def take(self) -> Unit | None:
        """Return the next unit, or None if there is none at the moment."""
        unit = self._returned.pop() if self._returned else next(self._fresh, None)
        if unit is None and self._again:
            unit = self._again.popleft()
        return unit

    def put_back(self, unit: Unit) -> None:
        """Take back a unit that no worker has started; it will be the next one.

        Parameters
        ----------
        unit : Unit
            The unit.
        """
        self._returned.append(unit)

    def lost(self, unit: Unit, how: str) -> Outcome | None:
        """Record that the worker of a unit died; return a failure if the unit is to blame.

        Parameters
        ----------
        unit : Unit
            The unit of the worker.
        how : str
            How the worker died.
        """
        self._deaths[unit.key] += 1
        deaths = self._deaths[unit.key]
        if deaths <= DEATHS_ALLOWED:
            self._again.append(unit)
            return None
        failure = f"Its worker died {deaths} times, the last time by {how}."
        return Outcome(failure=failure, versions=versions())


class LocalProcesses:
    """Run the units in processes of this machine, one unit at a time in each.

    Each process is looked after by itself (a pool of `concurrent.futures` is broken as a whole
    when one of its processes dies). Each starts afresh: a script that uses this must do so under
    ``if __name__ == "__main__":``.

    Parameters
    ----------
    n_workers : int, optional
        The number of processes; by default one for each core that this process may use.

    Examples
    --------
    >>> from polychotomy.execution.executors import LocalProcesses
    >>> from polychotomy.execution.units import Unit
    >>> unit = Unit("demo", "iris", "0f3a", 0, "svm", {"methods": ["a", "b"]})
    >>> def on_done(unit, outcome):
    ...     print(unit.partition, [result.method for result in outcome.results])
    >>> LocalProcesses(1).run([unit], "polychotomy.execution.work:example", on_done)
    0 ['a', 'b']
    """

    def __init__(self, n_workers: int | None = None) -> None:
        if n_workers is None:
            n_workers = usable_cores()
        if n_workers < 1:
            raise ValueError(f"n_workers must be at least 1, got {n_workers}.")
        self.n_workers = n_workers

    def run(self, units: Iterable[Unit], task: str, on_done: OnDone) -> None:
        """Run a task on units; see `Executor.run`."""
        shift = _Shift(Backlog(units), task, on_done, self.n_workers)
        try:
            shift.work()
        except KeyboardInterrupt:
            shift.collect(0.0)
            raise
        finally:
            shift.dismiss()


def usable_cores() -> int:
    """Return the number of cores that this process may use.

    Examples
    --------
    >>> from polychotomy.execution.executors import usable_cores
    >>> usable_cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def process_context(modules: Sequence[str] = ()) -> BaseContext:
    """Return how to start processes: never by a fork of the driver, which has threads.

    Parameters
    ----------
    modules : sequence of str
        What the server process imports before it forks, in addition to this module. It counts
        only if no process has been started before.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    # Workers are forked from a server process that has only imported the library.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *modules])
    return context


class _Worker:
    """A process with a pipe to it, and its current unit."""

    def __init__(self, task: str) -> None:
        context = process_context()
        self.pipe, far_end = context.Pipe()
        self._process: BaseProcess = context.Process(  # type: ignore[attr-defined]
            target=_serve, args=(far_end, task, os.getcwd(), dict(os.environ)), daemon=True
        )
        self._process.start()
        far_end.close()
        self.unit: Unit | None = None
        self.started = False
        self.torn = False  # whether a message was read in part, so that no other can be read

    def give(self, unit: Unit) -> None:
        self.unit = unit
        # If the worker has died, the next read from its pipe notices.
        try:
            self.pipe.send(unit)
        except OSError:
            return

    def answer(self) -> Outcome | None:
        """Return the outcome of the unit, or None if it is not ready."""
        alive = self._process.is_alive()  # asked first: a last message may precede the death
        if not self.pipe.poll():
            if not alive:
                raise EOFError
            return None
        self.torn = True
        message = self.pipe.recv()
        self.torn = False
        if isinstance(message, BaseException):
            raise message
        if isinstance(message, Outcome):
            return message
        self.started = True
        return None

    def last_words(self) -> str:
        """Return how the process ended, in words."""
        self._process.join(5)
        code = self._process.exitcode
        if code is not None and code < 0:
            return signal.Signals(-code).name
        return f"exit code {code}"

    def stop(self) -> None:
        self.pipe.close()
        self._process.terminate()
        self._process.join(1)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


class _Shift:
    """One run of local workers."""

    def __init__(self, backlog: Backlog, task: str, on_done: OnDone, n_workers: int) -> None:
        self.backlog, self.task, self.on_done, self.n_workers = backlog, task, on_done, n_workers
        self.busy: list[_Worker] = []
        self.idle: list[_Worker] = []
        self.failed_starts = 0

    def work(self) -> None:
        while True:
            self.hand_out()
            if not self.busy:
                return
            self.collect(1.0)

    def hand_out(self) -> None:
        while len(self.busy) < self.n_workers:
            unit = self.backlog.take()
            if unit is None:
                return
            worker = self.idle.pop() if self.idle else _Worker(self.task)
            self.busy.append(worker)
            worker.give(unit)

    def collect(self, patience: float) -> None:
        """Wait for workers, and hand over finished outcomes."""
        wait([worker.pipe for worker in self.busy], patience)
        for worker in [worker for worker in self.busy if not worker.torn]:
            unit = worker.unit
            assert unit is not None
            try:
                outcome = worker.answer()
            except (EOFError, ConnectionError):
                outcome = self.bury(worker, unit)
            else:
                if outcome is not None:
                    self.busy.remove(worker)
                    self.idle.append(worker)
            if outcome is not None:
                self.on_done(unit, outcome)

    def bury(self, worker: _Worker, unit: Unit) -> Outcome | None:
        """Remove a dead worker; return a failure if its unit has killed workers before."""
        how = worker.last_words()
        self.busy.remove(worker)
        worker.stop()
        if worker.started:
            self.failed_starts = 0
            return self.backlog.lost(unit, how)
        self.failed_starts += 1
        if self.failed_starts > _FAILED_STARTS_ALLOWED:
            raise RuntimeError(
                f"Worker processes end with {how} before they start work. A script that runs a "
                "study in processes must do so under: if __name__ == '__main__'."
            )
        self.backlog.put_back(unit)
        return None

    def dismiss(self) -> None:
        for worker in self.busy + self.idle:
            worker.stop()


def _serve(pipe: Connection, task: str, folder: str, environment: dict[str, str]) -> None:
    """Work on units from a pipe until it is closed: the main function of a worker process."""
    as_worker(folder, environment)
    try:
        pipe.send("started")
        while True:
            unit: Unit = pipe.recv()
            pipe.send(_answer(task, unit))
    except (EOFError, ConnectionError):
        return  # the driver has closed the pipe, or is gone


def as_worker(folder: str, environment: Mapping[str, str]) -> None:
    """Prepare a new process for work: it ends with its parent, and libraries get one thread.

    Parameters
    ----------
    folder : str
        The working directory of the driver.
    environment : mapping of str to str
        Its environment.
    """
    # Ctrl-C in a terminal reaches all processes; only the driver reacts to it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # The server process may have started before the driver changed its settings.
    os.chdir(folder)
    os.environ.update(environment)
    # For libraries that a task loads later; those loaded already are limited by `perform`.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


def _answer(task: str, unit: Unit) -> Outcome | BaseException:
    try:
        return perform(task, unit)
    except BaseException as error:
        return error


def _end_with_parent() -> None:
    """End this process when the driver is gone, even in the middle of a unit."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
