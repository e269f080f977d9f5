"""Calls of one function, in this process or in processes that can be ended.

Design note: units of a study are kept in a store, so that they and their results are plain values.
A comparison exchanges arrays and keeps nothing, and each of its calls has a time limit. It shares
how processes are started, and nothing else. A thread cannot be ended, and a signal reaches the
native code of other libraries only when it returns to Python; a process can always be ended.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import perf_counter
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from .deadline import OutOfTime, deadline
from .executors import as_worker, process_context
from .work import load_function

# How often a driver looks whether a time limit has passed.
PATIENCE = 0.1


@dataclass(frozen=True)
class Call:
    """A call to make.

    Attributes
    ----------
    argument : object
        The second argument of the function; the first is the context.
    until : float or None
        When the call is ended, by `time.perf_counter`.
    """

    argument: Any
    until: float | None = None


@dataclass(frozen=True)
class Answer:
    """How a call ended.

    Attributes
    ----------
    value : object
        What the function returned.
    failure : str or None
        Why there is no value, in words.
    late : bool
        Whether its time was up.
    seconds : float
        How long it took.
    """

    value: Any = None
    failure: str | None = None
    late: bool = False
    seconds: float = 0.0


Take = Callable[[], Call | None]
OnAnswer = Callable[[Call, Answer], None]


class Calls(Protocol):
    """The interface of what makes calls."""

    def run(self, task: str, context: Any, take: Take, on_answer: OnAnswer) -> None:
        """Make calls until there are no more.

        Parameters
        ----------
        task : str
            The function as ``"package.module:function"``; it gets the context and an argument.
        context : object
            What all calls share.
        take : callable
            Returns the next call, or None. After None it is asked again when another call has
            ended; the work is done when it returns None and no call is running.
        on_answer : callable
            Called in this thread with each call and its answer, in the order in which they end.
        """


class CallsHere:
    """Make the calls one after another in this process, in one thread.

    A call in time-consuming code of other libraries ends only when it returns to Python.

    Examples
    --------
    >>> from polychotomy.execution.calls import Call, CallsHere
    >>> calls = iter([Call(1), Call(2)])
    >>> def on_answer(call, answer):
    ...     print(answer.value)
    >>> CallsHere().run("operator:add", 40, lambda: next(calls, None), on_answer)
    41
    42
    """

    def run(self, task: str, context: Any, take: Take, on_answer: OnAnswer) -> None:
        """Make calls; see `Calls.run`."""
        function = load_function(task)
        while (call := take()) is not None:
            start = perf_counter()
            try:
                with deadline(None if call.until is None else call.until - start):
                    answer = answered(function, context, call.argument)
            except OutOfTime:
                answer = Answer(failure="out of time", late=True, seconds=perf_counter() - start)
            on_answer(call, answer)


class CallsInProcesses:
    """Make the calls in processes of this machine, in one thread each; late ones are ended.

    Each process starts afresh: a script that uses this must do so under
    ``if __name__ == "__main__":``.

    Parameters
    ----------
    n_workers : int
        The number of processes.
    memory : int or None, default=None
        The bytes that each process may use for its data, where the system has such a limit.
    modules : sequence of str
        What the calls will import, once for all processes.

    Examples
    --------
    >>> from polychotomy.execution.calls import Call, CallsInProcesses
    >>> calls = iter([Call(1), Call(2)])
    >>> found = []
    >>> def on_answer(call, answer):
    ...     found.append(answer.value)
    >>> CallsInProcesses(2).run("operator:add", 40, lambda: next(calls, None), on_answer)
    >>> sorted(found)
    [41, 42]
    """

    def __init__(
        self, n_workers: int, memory: int | None = None, modules: Sequence[str] = ()
    ) -> None:
        self.n_workers = n_workers
        self.memory = memory
        self.modules = list(modules)

    def run(self, task: str, context: Any, take: Take, on_answer: OnAnswer) -> None:
        """Make calls; see `Calls.run`."""
        first = take()
        if first is None:
            return
        waiting = [first]
        start_early(self.modules)
        with _stored(context) as path:
            crew = _Crew(self.n_workers, (task, path, self.memory, self.modules))
            try:
                crew.work(lambda: waiting.pop() if waiting else take(), on_answer)
            finally:
                crew.dismiss()


def start_early(modules: list[str]) -> None:
    """Start to import modules for later processes, while this one does something else.

    Parameters
    ----------
    modules : list of str
        The modules that the calls will need.
    """
    context = process_context(modules)
    if context.get_start_method() == "forkserver":
        from multiprocessing.forkserver import ensure_running

        ensure_running()


def available_memory() -> int | None:
    """Return the bytes of memory that are free now; None if the system does not say."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024 * int(line.split()[1])
    except OSError:
        pass
    return None


def answered(function: Callable[[Any, Any], Any], context: Any, argument: Any) -> Answer:
    """Call a function in one thread; an exception is an answer too."""
    start = perf_counter()
    try:
        with threadpool_limits(1):
            return Answer(function(context, argument), seconds=perf_counter() - start)
    except (Exception, SystemExit) as error:
        if os.environ.get("POLYCHOTOMY_DEBUG"):
            traceback.print_exc()
        return Answer(failure=in_words(error), seconds=perf_counter() - start)


def in_words(error: BaseException) -> str:
    """Return an exception in one line."""
    if isinstance(error, MemoryError):
        return "not enough memory"
    text = str(error).strip()
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__


@contextlib.contextmanager
def _stored(context: Any) -> Iterator[str]:
    """Write the context to a file, whose arrays all processes map into their memory."""
    import joblib

    with tempfile.TemporaryDirectory(prefix="polychotomy-", ignore_cleanup_errors=True) as folder:
        path = os.path.join(folder, "context")
        joblib.dump(context, path)
        yield path


Setup = tuple[str, str, int | None, list[str]]


class _Worker:
    def __init__(self, setup: Setup) -> None:
        context = process_context(setup[3])
        self.pipe, far_end = context.Pipe()
        self.process: BaseProcess = context.Process(  # type: ignore[attr-defined]
            target=_serve, args=(far_end, *setup[:3], os.getcwd(), dict(os.environ)), daemon=True
        )
        self.process.start()
        far_end.close()
        self.call: Call | None = None
        self.since = 0.0

    def give(self, call: Call) -> None:
        self.call, self.since = call, perf_counter()
        # If the process has died, the next read from its pipe notices.
        with contextlib.suppress(OSError):
            self.pipe.send(call.argument)

    def answer(self) -> Answer | None:
        """Return the answer; None if the process is still working on it, and may."""
        assert self.call is not None
        seconds = perf_counter() - self.since
        if not self.pipe.poll():
            if not self.process.is_alive() and not self.pipe.poll():
                return Answer(failure="its process died", seconds=seconds)
            if self.call.until is not None and perf_counter() >= self.call.until:
                return Answer(failure="out of time", late=True, seconds=seconds)
            return None
        try:
            found: Answer = self.pipe.recv()
        except (EOFError, ConnectionError):
            return Answer(failure="its process died", seconds=seconds)
        return found

    def end(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join()
        self.process.close()


class _Crew:
    def __init__(self, n_workers: int, setup: Setup) -> None:
        self.n_workers, self.setup = n_workers, setup
        self.busy: list[_Worker] = []
        self.idle: list[_Worker] = []

    def work(self, take: Take, on_answer: OnAnswer) -> None:
        while True:
            while len(self.busy) < self.n_workers and (call := take()) is not None:
                worker = self.idle.pop() if self.idle else _Worker(self.setup)
                self.busy.append(worker)
                worker.give(call)
            if not self.busy:
                return
            wait([worker.pipe for worker in self.busy], self._patience())
            for worker in list(self.busy):
                answer = worker.answer()
                if answer is None:
                    continue
                self.busy.remove(worker)
                if answer.late or not worker.process.is_alive():
                    worker.end()
                else:
                    self.idle.append(worker)
                assert worker.call is not None
                on_answer(worker.call, answer)

    def _patience(self) -> float | None:
        ends = [one.call.until for one in self.busy if one.call and one.call.until is not None]
        return max(0.0, min(PATIENCE, min(ends) - perf_counter())) if ends else 1.0

    def dismiss(self) -> None:
        for worker in self.busy + self.idle:
            worker.end()


def _serve(
    pipe: Connection, task: str, path: str, memory: int | None, folder: str, env: dict[str, str]
) -> None:
    """Answer calls from a pipe until it is closed: the main function of a process."""
    as_worker(folder, env)
    import joblib

    # Read-only: a call must not change what the next one sees.
    context = joblib.load(path, mmap_mode="r")
    function = load_function(task)
    _limit_memory(memory)
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            pipe.send(answered(function, context, pipe.recv()))


def _limit_memory(memory: int | None) -> None:
    """Let an allocation beyond the limit fail, so that one method cannot take all memory."""
    if memory is None:
        return
    try:
        import resource
    except ImportError:
        return
    with contextlib.suppress(ValueError, OSError):
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        least = memory if most == resource.RLIM_INFINITY else min(memory, most)
        resource.setrlimit(resource.RLIMIT_DATA, (least, most))
