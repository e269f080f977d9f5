"""Processes forked ahead of time, from a driver that has imported everything they need.

Design note: a server process that imports the library again is ready a second or two after the
driver, and takes that time from it on a busy machine. A fork is ready at once. It is safe only as
long as the driver has one thread and has run no parallel code, so that all forks are made at the
start of a command, and wait for work. Late ones are ended and replaced by others that wait.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

# Processes that wait, and the end of the pipe to each; the numbers of those that have got work.
_waiting: list[tuple[BaseProcess, Connection]] = []
_working: set[int | None] = set()
# Pipes that are at their end when the driver is gone: no other process may have these ends open.
_driver_ends: list[int] = []


def fork_ahead(count: int, modules: Sequence[str]) -> bool:
    """Fork processes that wait for work, if that is safe here; return whether it was.

    Parameters
    ----------
    count : int
        The number of processes.
    modules : sequence of str
        What they need, imported here before.
    """
    if sys.platform != "linux" or threading.active_count() > 1:
        return False
    for module in modules:
        import_module(module)
    # An import may have started a thread.
    if threading.active_count() > 1:
        return False
    # An exception in the middle of a fork is lost, and may leave a lock of Python's behind. The
    # signal cannot be blocked: it would reach a thread of BLAS.
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        _fork(count)
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        signal.raise_signal(signal.SIGINT)
    return bool(_waiting)


def _fork(count: int) -> None:
    """Fork as many processes as the system allows, at most `count`."""
    context = multiprocessing.get_context("fork")
    alive, driver_end = os.pipe()
    _driver_ends.append(driver_end)
    with warnings.catch_warnings():
        # BLAS has threads, and ends them before a fork. Newer Pythons warn all the same.
        warnings.simplefilter("ignore", DeprecationWarning)
        for _ in range(count):
            ours, theirs = context.Pipe()
            ends = [ours, *(pipe for _, pipe in _waiting)]
            process = context.Process(
                target=_wait_for_work, args=(theirs, alive, ends), daemon=True
            )
            try:
                process.start()
            except OSError:
                # Too many processes: a server makes those that are missing, when they are needed.
                ours.close()
                break
            finally:
                theirs.close()
            _waiting.append((process, ours))
    os.close(alive)


def n_forked_ahead() -> int:
    """Return how many processes wait for work."""
    return len(_waiting)


def forked_ahead() -> tuple[BaseProcess, Connection] | None:
    """Return a process that waits, and the pipe to it; None if there is none."""
    if not _waiting:
        return None
    _working.add(_waiting[-1][0].pid)
    return _waiting.pop()


def end_waiting() -> None:
    """End the processes that still wait: there will be no work for them.

    Note: they have copies of all files that the driver had open, of its pipes, too.
    """
    ended = [process for process, _ in _waiting]
    while _waiting:
        process, pipe = _waiting.pop()
        pipe.close()
        process.kill()
    for process in ended:
        process.join(0.2)
        if not process.is_alive():
            process.close()
    _working.intersection_update(child.pid for child in multiprocessing.active_children())
    if not _working:
        while _driver_ends:
            os.close(_driver_ends.pop())


def _wait_for_work(pipe: Connection, alive: int, others: Sequence[Connection]) -> None:
    """Wait for a function and its arguments: the main function of a process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the driver reacts to Ctrl-C
    # Ends of the driver's that this process has only because it is a copy.
    for end in _driver_ends:
        os.close(end)
    for other in others:
        other.close()
    with contextlib.suppress(EOFError, ConnectionError):
        function, arguments = pipe.recv()
        function(pipe, *arguments, alive)
