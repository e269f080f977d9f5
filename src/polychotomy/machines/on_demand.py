"""Training columns without a Gram matrix: a solver gets kernel rows on demand.

Note: a decomposition solver touches only the kernel rows of a few hundred rows at a time, so a
single large problem is solved before its Gram matrix would be computed, and memory stays bounded.
If many columns or folds use the same rows, they would compute the same kernel rows again, and the
shared Gram matrix is faster. So rows on demand are for problems solved once, and above the memory
limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..core.types import FloatArray, IntArray, SignArray
from ..kernels import CachedRows, Kernel, LinearRows, RowSource
from .solved import Solved, join_columns, scatter

# With at least this many rows, solving a binary problem once is faster than its Gram matrix.
LEAST_ROWS = 1000
# With this many rows per feature, a linear kernel is solved in the features.
ROWS_A_FEATURE = 10
# The memory is divided among at most this many threads, independent of n_jobs. The rounding of
# kernel rows depends on which rows are computed together, and the answer must not depend on n_jobs.
MOST_AT_ONCE = 8


class RowSolver(Protocol):
    """A kernel machine that can work without a Gram matrix."""

    def takes_rows(self, kernel: Kernel, n_features: int) -> bool:
        """Whether `solve_rows` can replace `solve`."""
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
    """Return whether to compute kernel rows on demand: above the limit, or if that is faster."""
    if not solver.takes_rows(kernel, X.shape[1]):
        return False
    if not within_limit:
        return True
    if len(labels) < LEAST_ROWS or kernel.is_precomputed:
        return False
    if kernel.is_linear and len(labels) >= ROWS_A_FEATURE * X.shape[1]:
        return True
    if len(subsets) > 1:
        return False
    groups = columns_by_participants(labels, subsets)
    solved_once = len(groups) == labels.shape[1]
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
    single: NDArray[np.float32] | None = None,
) -> Solved:
    """Solve every column on every subset of rows.

    Columns on the same rows share the kept kernel rows: all columns of one-vs-rest, and the subsets
    of each one-vs-one pair.
    """
    groups = columns_by_participants(labels, subsets)
    n_shares = max(1, min(MOST_AT_ONCE, len(groups)))
    n_threads = min(n_threads, n_shares)
    longest = max((len(rows) for _, rows in groups), default=0)
    size = 0 if kernel.is_linear else CachedRows.room(longest, memory_limit / n_shares)
    # Memory is allocated once, because the system is slow to provide new pages.
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
            source = _source(kernel, X, rows, buffer, stop, single)
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
    """Solve all groups; if one fails or is interrupted, wait until the others have stopped."""
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


def _source(
    kernel: Kernel,
    X: Any,
    rows: IntArray,
    buffer: FloatArray,
    stop: Event,
    single: NDArray[np.float32] | None,
) -> RowSource:
    everything = len(rows) == X.shape[0]
    if kernel.is_linear:
        return LinearRows(X if everything else X[rows], stop)
    return CachedRows(kernel, X, rows, buffer, stop, single)


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
