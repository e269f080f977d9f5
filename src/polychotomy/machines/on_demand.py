"""Training columns without a Gram matrix: kernel rows are computed when a solver asks for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event
from typing import Any, Protocol

import numpy as np

from ..core.types import FloatArray, IntArray, SignArray
from ..kernels import CachedRows, Kernel, LinearRows, RowSource
from .solved import Solved, join_columns, scatter

# From here on a binary problem that is solved once needs less time than its Gram matrix.
LEAST_ROWS = 1000
# The linear kernel of this many rows a feature is not worth writing down.
ROWS_A_FEATURE = 10
# The memory is shared out to so many threads at most, whatever n_jobs is: the answer must not
# depend on it, and the rounding of kernel rows depends on which of them are computed together.
MOST_AT_ONCE = 8


class RowSolver(Protocol):
    """A kernel machine that may do without a Gram matrix."""

    def takes_rows(self, kernel: Kernel, n_features: int) -> bool:
        """Whether `solve_rows` can take the place of `solve`."""
        ...

    def solve_rows(
        self,
        source: RowSource,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
    ) -> Solved:
        """Solve every column on every subset of rows without a Gram matrix."""
        ...


def is_worth_it(
    solver: RowSolver,
    kernel: Kernel,
    X: Any,
    labels: SignArray,
    subsets: Sequence[IntArray],
    within_limit: bool,
) -> bool:
    """Say whether to compute kernel rows on demand: over the limit, or where that is faster."""
    if not solver.takes_rows(kernel, X.shape[1]):
        return False
    if not within_limit:
        return True
    if len(labels) < LEAST_ROWS or kernel.is_precomputed:
        return False
    if kernel.is_linear and len(labels) >= ROWS_A_FEATURE * X.shape[1]:
        return True
    groups = columns_by_participants(labels, subsets)
    solved_once = len(subsets) == 1 and len(groups) == labels.shape[1]
    return solved_once and max((len(rows) for _, rows in groups), default=0) >= LEAST_ROWS


def solve_on_demand(
    solver: RowSolver,
    kernel: Kernel,
    X: Any,
    labels: SignArray,
    subsets: Sequence[IntArray],
    weights: FloatArray | None,
    memory_limit: float,
    n_threads: int,
) -> Solved:
    """Solve every column on every subset of rows.

    Columns on the same rows share the kernel rows that are kept: all of one-vs-rest, and every
    pair of one-vs-one with itself in other subsets.
    """
    groups = columns_by_participants(labels, subsets)
    n_shares = max(1, min(MOST_AT_ONCE, len(groups)))
    n_threads = min(n_threads, n_shares)
    longest = max((len(rows) for _, rows in groups), default=0)
    size = 0 if kernel.is_linear else CachedRows.room(longest, memory_limit / n_shares)
    # Memory is asked for once: the system takes long to hand it out.
    buffers: SimpleQueue[FloatArray] = SimpleQueue()
    stop = Event()
    for _ in range(n_threads):
        buffers.put(np.empty(size))

    def solve(columns: IntArray, rows: IntArray) -> Solved:
        place = np.full(len(labels), -1)
        place[rows] = np.arange(len(rows))
        inside = [place[subset][place[subset] >= 0] for subset in subsets]
        own_weights = None if weights is None else weights[rows]
        buffer = buffers.get()
        try:
            source = _source(kernel, X, rows, buffer, stop)
            part = solver.solve_rows(source, labels[np.ix_(rows, columns)], inside, own_weights)
        finally:
            buffers.put(buffer)
        return scatter(part, rows, len(labels))

    return _in_order(_run(solve, groups, n_threads, stop), groups, labels, subsets)


def _run(
    solve: Callable[[IntArray, IntArray], Solved],
    groups: Sequence[tuple[IntArray, IntArray]],
    n_threads: int,
    stop: Event,
) -> list[Solved]:
    """Solve all groups; when one fails or the user interrupts, wait for the others to stop."""
    if n_threads == 1:
        return [solve(columns, rows) for columns, rows in groups]
    with ThreadPoolExecutor(n_threads) as threads:
        try:
            return list(threads.map(solve, *zip(*groups, strict=True)))
        except BaseException:
            stop.set()
            raise


def columns_by_participants(
    labels: SignArray, subsets: Sequence[IntArray]
) -> list[tuple[IntArray, IntArray]]:
    """Group columns by the rows that take part in them in some subset."""
    used = np.zeros(len(labels), dtype=bool)
    for subset in subsets:
        used[subset] = True
    groups: dict[bytes, list[int]] = {}
    for column in range(labels.shape[1]):
        groups.setdefault((used & (labels[:, column] != 0)).tobytes(), []).append(column)
    return [
        (np.array(columns), np.flatnonzero(used & (labels[:, columns[0]] != 0)))
        for columns in groups.values()
    ]


def _source(kernel: Kernel, X: Any, rows: IntArray, buffer: FloatArray, stop: Event) -> RowSource:
    everything = len(rows) == X.shape[0]
    if kernel.is_linear:
        return LinearRows(X if everything else X[rows], stop)
    return CachedRows(kernel, X, rows, buffer, stop)


def _in_order(
    parts: Sequence[Solved],
    groups: Sequence[tuple[IntArray, IntArray]],
    labels: SignArray,
    subsets: Sequence[IntArray],
) -> Solved:
    if not parts:
        return Solved.untrained(len(subsets), 0, len(labels))
    order = np.argsort(np.concatenate([columns for columns, _ in groups]))
    joined = join_columns(parts)
    return Solved(*(getattr(joined, name)[:, order] for name in Solved.__dataclass_fields__))
