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
from .forks import forked_ahead, n_forked_ahead
from .interface import Executor, deliver
from .work import load_function

# What the processes of a comparison import. It is here, so that they can begin before the driver
# has imported anything of it.
COMPARISONS_NEED = ("polychotomy.compare._judging", "sklearn.ensemble", "sklearn.svm", "pandas")
_FAILED_STARTS_ALLOWED = 2
# How long a driver waits for answers before it looks after its processes.
_PATIENCE = 1.0
# How long it waits for a process that it has ended.
_FAREWELL = 0.2


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
        self._crew: _Crew | None = None
        self._keeps_crew = False

    @property
    def size(self) -> int:
        """How many calls run at the same time."""
        return self.n_workers

    @property
    def is_ready(self) -> bool:
        """Whether a first call begins at once: processes are there already."""
        return n_forked_ahead() >= self.n_workers

    @contextlib.contextmanager
    def opened(self) -> Iterator[Executor]:
        """Keep processes for further rounds of calls with the same context."""
        self._keeps_crew = True
        try:
            yield self
        finally:
            self._keeps_crew = False
            self._dismiss()

    def call(self, task: str, context: Any, take: Take, on_answer: OnAnswer) -> None:
        """Make calls; see `Executor.call`."""
        backlog = Backlog.of(take)
        first = backlog.take()
        if first is None:
            return
        backlog.put_back(first)
        if self._crew is None or self._crew.context is not context:
            self._dismiss()
            self._crew = _Crew(context, self.memory, self.modules)
        shift = _Shift(backlog, task, self._crew, on_answer, self.n_workers)
        try:
            shift.work()
        except KeyboardInterrupt:
            shift.collect(0.0)
            raise
        finally:
            shift.end()
            if not self._keeps_crew:
                self._dismiss()

    def _dismiss(self) -> None:
        if self._crew is not None:
            self._crew.dismiss()
            self._crew = None


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


# The file of the context, the limit of memory, and the modules.
Setup = tuple[str, int | None, list[str]]


class _Crew:
    """Idle workers that share a context, which all of them map into their memory from a file."""

    def __init__(self, context: Any, memory: int | None, modules: list[str]) -> None:
        import joblib

        self.context = context
        self.idle: list[_Worker] = []
        self._folder = tempfile.TemporaryDirectory(
            prefix="polychotomy-", ignore_cleanup_errors=True
        )
        path = os.path.join(self._folder.name, "context")
        joblib.dump(context, path)
        self._setup: Setup = (path, memory, modules)

    def worker(self) -> _Worker:
        """Return a worker that has nothing to do."""
        return self.idle.pop() if self.idle else _Worker(self._setup)

    def dismiss(self) -> None:
        for worker in self.idle:
            worker.end()
        self._folder.cleanup()


class _Worker:
    """A process with a pipe to it, and its current call."""

    def __init__(self, setup: Setup) -> None:
        path, memory, modules = setup
        arguments = (path, memory, os.getcwd(), dict(os.environ))
        self.failure: Exception | None = None
        self.call: Call | None = None
        self.since = 0.0
        self.until: float | None = None
        self.started = False
        self.torn = False  # whether a message was read in part, so that no other can be read
        self._process: BaseProcess
        self._starting: threading.Thread | None = None
        forked = forked_ahead()
        if forked is not None:
            self._process, self.pipe = forked
            with contextlib.suppress(OSError):  # it has died: the next read notices
                self.pipe.send((_serve, arguments))
            if not n_forked_ahead():
                start_early(modules)  # for those that have to take the place of late ones
            return
        context = process_context(modules)
        self.pipe, far_end = context.Pipe()
        self._process = context.Process(  # type: ignore[attr-defined]
            target=_serve, args=(far_end, *arguments), daemon=True
        )
        # In a thread: the server answers when it has imported everything, which on a busy machine
        # may be after the time limit of the call.
        self._starting = threading.Thread(target=self._start, args=(far_end, modules), daemon=True)
        self._starting.start()

    def _start(self, far_end: Connection, modules: list[str]) -> None:
        try:
            with far_end:
                start_early(modules)
                self._process.start()
        except Exception as error:
            self.failure = error

    @property
    def _is_starting(self) -> bool:
        return self._starting is not None and self._starting.is_alive()

    def give(self, task: str, call: Call) -> None:
        self.call, self.since, self.until = call, perf_counter(), call.until
        # If the worker has died, the next read from its pipe notices.
        with contextlib.suppress(OSError):
            self.pipe.send((task, call.argument))

    def answer(self) -> Answer | None:
        """Return the answer to the call, or None if it is not ready."""
        assert self.call is not None
        # Asked first: a last message may precede the death.
        alive = self._is_starting or self._process.is_alive()
        if not self.pipe.poll():
            if self.failure is not None:
                raise self.failure
            if not alive:
                raise EOFError
            now = perf_counter()
            is_late = self.until is not None and now >= self.until
            return too_late(now - self.since) if is_late else None
        self.torn = True
        message = self.pipe.recv()
        self.torn = False
        if isinstance(message, Answer):
            return message
        self.started = True
        # What it took to start is not the fault of the call.
        self.until = self.call.until_after(perf_counter() - self.since)
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
        if self._is_starting or self._process.pid is None:
            return  # when it begins, it finds its pipe closed, and ends
        self._process.kill()
        # Not for longer: memory that a process has to give back can take a while.
        self._process.join(_FAREWELL)
        if self._process.exitcode is not None:
            self._process.close()


class _Shift:
    """One run of local workers."""

    def __init__(
        self,
        backlog: Backlog[Call],
        task: str,
        crew: _Crew,
        on_answer: OnAnswer,
        n_workers: int,
    ) -> None:
        self.backlog, self.task, self.crew, self.on_answer = backlog, task, crew, on_answer
        self.n_workers = n_workers
        self.busy: list[_Worker] = []
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
            worker = self.crew.worker()
            self.busy.append(worker)
            worker.give(self.task, call)

    def collect(self, patience: float) -> None:
        """Wait for workers, and hand over their answers."""
        ends = [one.until for one in self.busy if one.until is not None]
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
                        self.crew.idle.append(worker)
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

    def end(self) -> None:
        """End what still runs."""
        for worker in self.busy:
            worker.end()


def _serve(
    pipe: Connection,
    path: str,
    memory: int | None,
    folder: str,
    env: dict[str, str],
    parent: int | None = None,
) -> None:
    """Answer calls from a pipe until it is closed: the main function of a worker process."""
    as_worker(folder, env, parent)
    with contextlib.suppress(EOFError, ConnectionError):  # the driver is gone
        pipe.send("started")
        context = answered(_loaded, path, None)
        _limit_memory(memory)
        while True:
            task, argument = pipe.recv()
            if context.failure is not None:
                pipe.send(context)
            else:
                pipe.send(answered(_performed, (task, context.value), argument))


def _loaded(path: str, _: Any) -> Any:
    """Return the context of all calls."""
    import joblib

    # Read-only: a call must not change what the next one sees.
    return joblib.load(path, mmap_mode="r")


def _performed(given: tuple[str, Any], argument: Any) -> Any:
    task, context = given
    return load_function(task)(context, argument)


def _limit_memory(memory: int | None) -> None:
    """Let an allocation beyond the limit fail, so that one call cannot take all memory.

    The system counts what is mapped. Of that, what holds nothing is allowed in addition.
    """
    if memory is None:
        return
    try:
        import resource
    except ImportError:
        return
    with contextlib.suppress(ValueError, OSError):
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = memory + _reserved()
        least = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_DATA, (least, most))


def _reserved() -> int:
    """Return the bytes that are mapped for data and hold nothing; 0 if the system does not say."""
    if "pyarrow" in sys.modules:
        # Its allocator reserves a gigabyte at once when it is first asked for a byte.
        sys.modules["pyarrow"].allocate_buffer(1)
    try:
        with open("/proc/self/status") as stream:
            sizes = dict(line.split(":", 1) for line in stream)
        mapped, held = (int(sizes[name].split()[0]) for name in ("VmData", "RssAnon"))
    except (OSError, KeyError, ValueError):
        return 0
    return max(0, mapped - held) << 10


def as_worker(folder: str, environment: Mapping[str, str], parent: int | None = None) -> None:
    """Prepare a new process for work: it ends with its parent, and libraries get one thread.

    Parameters
    ----------
    folder : str
        The working directory of the driver.
    environment : mapping of str to str
        Its environment.
    parent : int, default=None
        A file descriptor that is at its end when the driver is gone; the library's by default.
    """
    # Ctrl-C in a terminal reaches all processes; only the driver reacts to it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    # The server process may have started before the driver changed its settings.
    os.chdir(folder)
    os.environ.update(environment)
    # For libraries that a call loads later; those loaded already are limited by `answered`.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


def _end_with_parent(parent: int | None) -> None:
    """End this process when the driver is gone, even in the middle of a call."""
    if parent is None:
        process = multiprocessing.parent_process()
        assert process is not None
        parent = process.sentinel
    wait([parent])
    os._exit(1)
