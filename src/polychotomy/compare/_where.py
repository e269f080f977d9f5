"""Where a comparison runs: in this process, in others, or on an executor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from joblib import effective_n_jobs

from ..execution.deadline import Clock
from ..execution.executors import Executor, InProcess, LocalProcesses, opened
from ..execution.processes import COMPARISONS_NEED, available_memory

# With less time left than this multiple of the clock's pace, no processes are started.
START = 2.0
# Work of so many seconds is not worth other processes.
SMALL = 1.5
# What a process may use: so many bytes, or more for a large table, of which methods make copies;
# and of the memory that is free at the start not more than this share, of all processes together.
# A single process may use that share.
MOST_MEMORY, COPIES, MEMORY_SHARE = 2 << 30, 12, 0.8


@contextmanager
def place_for(
    executor: Any, n_jobs: int | None, seconds: float, clock: Clock, n_bytes: int
) -> Iterator[Executor]:
    """Give the executor for work of so many seconds on a table of so many bytes."""
    if executor is not None:
        if n_jobs is not None:
            raise ValueError("n_jobs is for this machine, and does not go with executor.")
        with opened(executor) as ready:
            yield ready
        return
    # None means 1, or the number that `joblib.parallel_config` sets.
    n_workers = effective_n_jobs(n_jobs)
    most = most_memory(n_bytes, n_workers)
    local = LocalProcesses(n_workers, memory=most, modules=COMPARISONS_NEED)
    alone = n_jobs is None and n_workers == 1
    worth_it = local.is_ready or (seconds >= SMALL and has_time(clock, START))
    if alone or not worth_it:
        yield InProcess()
        return
    with local.opened() as ready:
        yield ready


def most_memory(n_bytes: int, n_workers: int) -> int:
    """Return the bytes that each of some processes may use for a table of so many bytes."""
    wanted, free = max(MOST_MEMORY, COPIES * n_bytes), available_memory()
    if n_workers == 1 and free is not None:
        return int(MEMORY_SHARE * free)
    return wanted if free is None else min(wanted, int(MEMORY_SHARE * free / n_workers))


def has_time(clock: Clock, paces: float) -> bool:
    """Whether so much time is left, in multiples of the clock's pace."""
    left = clock.left()
    return left is None or left > paces * clock.pace
