"""The executor for processes of this machine."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from time import perf_counter
from typing import Any

from .calls import Answer, Backlog, Call, OnAnswer, Take, answered, too_late
from .interface import Executor, deliver
from .work import load_function

# What the processes of a comparison import. It is here, so that they can begin before the driver
# has imported anything of it.
COMPARISONS_NEED = ("polychotomy.compare._judging", "sklearn.ensemble", "sklearn.svm", "pandas")
_FAILED_STARTS_ALLOWED = 2
# How long a driver waits for answers before it looks after its processes.
_PATIENCE = 1.0


class LocalProcesses(Executor):
    """Run everything in processes of this machine, one call at a time in each; late ones are ended.

    Each process is looked after by itself (a pool of `concurrent.futures` is broken as a whole
    when one of its processes dies). Each starts afresh: a script that uses this must do so under
    ``if __name__ == "__main__":``. A thread could not be ended, and a signal reaches the native
    code of other libraries only when it returns to Python; a process can always be ended.

    Parameters
    ----------
    n_workers : int, optional
        The number of processes; by default one for each core that this process may use.
    memory : int, optional
        The bytes that each process may use for its data, where the system has such a limit.
    modules : sequence of str, optional
        What the calls will import, once for all processes.

    Examples
    --------
    >>> from polychotomy.execution.calls import Call
    >>> from polychotomy.execution.executors import LocalProcesses
    >>> calls = iter([Call(1), Call(2)])
    >>> found = []
    >>> def on_answer(call, answer):
    ...     found.append(answer.value)
    >>> LocalProcesses(2).call("operator:add", 40, lambda: next(calls, None), on_answer)
    >>> sorted(found)
    [41, 42]

    The units of a study:

    >>> from polychotomy.execution.units import Unit
    >>> unit = Unit("demo", "iris", "0f3a", 0, "svm", {"methods": ["a", "b"]})
    >>> def on_done(unit, outcome):
    ...     print(unit.partition, [result.method for result in outcome.results])
    >>> LocalProcesses(1).run([unit], "polychotomy.execution.work:example", on_done)
    0 ['a', 'b']
    """

    def __init__(
        self,
        n_workers: int | None = None,
        *,
        memory: int | None = None,
        modules: Sequence[str] = (),
    ) -> None:
        if n_workers is None:
            n_workers = usable_cores()
        if n_workers < 1:
            raise ValueError(f"n_workers must be at least 1, got {n_workers}.")
        self.n_workers = n_workers
        self.memory = memory
        self.modules = list(modules)

    @property
    def size(self) -> int:
        """How many calls run at the same time."""
        return self.n_workers

    def call(self, task: str, context: Any, take: Take, on_answer: OnAnswer) -> None:
        """Make calls; see `Executor.call`."""
        backlog = Backlog.of(take)
        first = backlog.take()
        if first is None:
            return
        backlog.put_back(first)
        start_early(self.modules)
        with _stored(context) as path:
            setup = (task, path, self.memory, self.modules)
            shift = _Shift(backlog, setup, on_answer, self.n_workers)
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


def start_early(modules: Sequence[str]) -> None:
    """Start to import modules for later processes, while this one does something else.

    Parameters
    ----------
    modules : sequence of str
        The modules that the calls will need.
    """
    context = process_context(modules)
    if context.get_start_method() == "forkserver":
        from multiprocessing.forkserver import ensure_running

        # The server inherits the mask: Ctrl-C while it imports would print a traceback.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _stored(context: Any) -> Iterator[str]:
    """Write the context to a file, whose arrays all processes map into their memory."""
    import joblib

    with tempfile.TemporaryDirectory(prefix="polychotomy-", ignore_cleanup_errors=True) as folder:
        path = os.path.join(folder, "context")
        joblib.dump(context, path)
        yield path


# The task, the file of the context, the limit of memory, and the modules.
Setup = tuple[str, str, int | None, list[str]]


class _Worker:
    """A process with a pipe to it, and its current call."""

    def __init__(self, setup: Setup) -> None:
        context = process_context(setup[3])
        self.pipe, far_end = context.Pipe()
        self._process: BaseProcess = context.Process(  # type: ignore[attr-defined]
            target=_serve, args=(far_end, *setup[:3], os.getcwd(), dict(os.environ)), daemon=True
        )
        # In a thread: the server answers when it has imported everything, which on a busy machine
        # may be after the time limit of the call.
        self.failure: Exception | None = None
        self._starting = threading.Thread(target=self._start, args=(far_end,), daemon=True)
        self._starting.start()
        self.call: Call | None = None
        self.since = 0.0
        self.started = False
        self.torn = False  # whether a message was read in part, so that no other can be read

    def _start(self, far_end: Connection) -> None:
        try:
            with far_end:
                self._process.start()
        except Exception as error:
            self.failure = error

    def give(self, call: Call) -> None:
        self.call, self.since = call, perf_counter()
        # If the worker has died, the next read from its pipe notices.
        with contextlib.suppress(OSError):
            self.pipe.send(call.argument)

    def answer(self) -> Answer | None:
        """Return the answer to the call, or None if it is not ready."""
        assert self.call is not None
        # Asked first: a last message may precede the death.
        alive = self._starting.is_alive() or self._process.is_alive()
        if not self.pipe.poll():
            if self.failure is not None:
                raise self.failure
            if not alive:
                raise EOFError
            return too_late(perf_counter() - self.since) if self.call.is_late else None
        self.torn = True
        message = self.pipe.recv()
        self.torn = False
        if isinstance(message, Answer):
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

    def end(self) -> None:
        self.pipe.close()
        if self._starting.is_alive() or self._process.pid is None:
            return  # when it begins, it finds its pipe closed, and ends
        self._process.kill()
        self._process.join()
        self._process.close()


class _Shift:
    """One run of local workers."""

    def __init__(
        self, backlog: Backlog[Call], setup: Setup, on_answer: OnAnswer, n_workers: int
    ) -> None:
        self.backlog, self.setup, self.on_answer = backlog, setup, on_answer
        self.n_workers = n_workers
        self.busy: list[_Worker] = []
        self.idle: list[_Worker] = []
        self.failed_starts = 0

    def work(self) -> None:
        while True:
            self.hand_out()
            if not self.busy:
                return
            self.collect(_PATIENCE)

    def hand_out(self) -> None:
        while len(self.busy) < self.n_workers:
            call = self.backlog.take()
            if call is None:
                return
            worker = self.idle.pop() if self.idle else _Worker(self.setup)
            self.busy.append(worker)
            worker.give(call)

    def collect(self, patience: float) -> None:
        """Wait for workers, and hand over their answers."""
        ends = [one.call.until for one in self.busy if one.call and one.call.until is not None]
        if ends:
            patience = max(0.0, min(patience, min(ends) - perf_counter()))
        wait([worker.pipe for worker in self.busy], patience)
        for worker in [worker for worker in self.busy if not worker.torn]:
            call = worker.call
            assert call is not None
            try:
                answer = worker.answer()
            except (EOFError, ConnectionError):
                answer = self.bury(worker, call)
            else:
                if answer is not None:
                    self.busy.remove(worker)
                    if answer.late:
                        worker.end()
                    else:
                        self.idle.append(worker)
            if answer is not None:
                deliver(call, answer, self.on_answer)

    def bury(self, worker: _Worker, call: Call) -> Answer | None:
        """Remove a dead worker; return a failure if its call has killed workers before."""
        how = worker.last_words()
        self.busy.remove(worker)
        worker.end()
        if worker.started:
            self.failed_starts = 0
            failure = self.backlog.lost(call, how)
            seconds = perf_counter() - worker.since
            return None if failure is None else Answer(failure=failure, seconds=seconds)
        self.failed_starts += 1
        if self.failed_starts > _FAILED_STARTS_ALLOWED:
            raise RuntimeError(
                f"Worker processes end with {how} before they start work. A script that starts "
                "processes must do so under: if __name__ == '__main__'."
            )
        self.backlog.put_back(call)
        return None

    def dismiss(self) -> None:
        for worker in self.busy + self.idle:
            worker.end()


def _serve(
    pipe: Connection, task: str, path: str, memory: int | None, folder: str, env: dict[str, str]
) -> None:
    """Answer calls from a pipe until it is closed: the main function of a worker process."""
    as_worker(folder, env)
    with contextlib.suppress(EOFError, ConnectionError):  # the driver is gone
        pipe.send("started")
        ready = answered(_ready, task, path)
        _limit_memory(memory)
        while True:
            argument = pipe.recv()
            if ready.value is None:
                pipe.send(ready)
            else:
                function, context = ready.value
                pipe.send(answered(function, context, argument))


def _ready(task: str, path: str) -> tuple[Any, Any]:
    """Return the function and the context of all calls."""
    import joblib

    # Read-only: a call must not change what the next one sees.
    return load_function(task), joblib.load(path, mmap_mode="r")


def _limit_memory(memory: int | None) -> None:
    """Let an allocation beyond the limit fail, so that one call cannot take all memory."""
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
    # For libraries that a call loads later; those loaded already are limited by `answered`.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


def _end_with_parent() -> None:
    """End this process when the driver is gone, even in the middle of a call."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
