"""Dask arrays and data frames as blocks of rows, computed where the Dask cluster wants them.

Note: by Dask's own futures. Dask computes a block again when the worker that had it dies, and one
block after the other is added here, in their order, whichever worker has computed it.
"""

from __future__ import annotations

import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from ..core.extras import needed
from ..core.threads import single_threaded_blas
from .block import (
    Block,
    check_finite,
    checked_inputs,
    checked_labels,
    checked_weights,
    rows_a_block,
)
from .source import RowBlocks

Result = TypeVar("Result")
# The blocks that are computed, or wait to be, for every thread of the cluster.
AHEAD = 2


class DaskBlocks(RowBlocks):
    """Rows of Dask arrays, or of a Dask data frame and a column.

    With a `distributed.Client`, blocks are computed by the workers of its cluster; without one,
    they are computed here, one at a time.

    Parameters
    ----------
    X : dask array of shape (n_rows, n_features), or dask data frame
        The inputs.
    y : dask array of shape (n_rows,), or dask series
        The classes.
    sample_weight : dask array of shape (n_rows,), or dask series, default=None
        The weights of the rows.
    """

    def __init__(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        super().__init__([])
        needed("dask.array", "cluster", "Dask arrays need dask")
        if y is None:
            raise ValueError("fit needs the classes of a Dask array: fit(X, y).")
        columns = getattr(X, "columns", None)
        if columns is not None and all(isinstance(name, str) for name in columns):
            self.feature_names = list(columns)
        lengths = _lengths(X)
        inputs, labels = _array(X, lengths, "X"), _array(y, lengths, "y")
        weights = None if sample_weight is None else _array(sample_weight, lengths, "sample_weight")
        if inputs.ndim != 2:
            raise ValueError(f"X must have rows and columns; it has the shape {inputs.shape}.")
        self.n_rows, self.n_features = int(inputs.shape[0]), int(inputs.shape[1])
        for name, values in (("y", labels), ("sample_weight", weights)):
            if values is not None and values.shape != (self.n_rows,):
                raise ValueError(
                    f"X has {self.n_rows} rows, but {name} has the shape {values.shape}."
                )
        self._edges = np.cumsum([0, *inputs.chunks[0]])
        size = rows_a_block(self.n_features)
        self._parts = (
            _parts(inputs.rechunk({0: size, 1: -1})),
            _parts(labels.rechunk(size)),
            None if weights is None else _parts(weights.rechunk(size)),
        )
        self._size = size

    @property
    def on_cluster(self) -> bool:  # type: ignore[override]
        """Whether there is a cluster."""
        return _client() is not None

    def blocks(self) -> Iterator[Block]:
        """Compute the blocks here, one at a time."""
        self.n_read += 1
        for task in self._tasks(_itself, None):
            yield task.compute()

    def compute(self, work: Callable[[Block], Result]) -> Iterator[Result]:
        """Yield what `work` returns for every block, in their order, computed by the cluster.

        Parameters
        ----------
        work : callable
            Takes a block; it is sent to the workers.
        """
        client = _client()
        self.n_read += 1
        waiting: deque[Any] = deque()
        with warnings.catch_warnings():
            # The function holds the landmarks, and is sent once: Dask need not warn of its size.
            warnings.filterwarnings("ignore", message="Sending large graph")
            # A task, not scattered data, which would be lost with the worker that has them.
            shared = client.submit(_kept, work, pure=False)
            try:
                for task in self._tasks(_perform, shared):
                    waiting.append(client.compute(task, retries=2))
                    if len(waiting) > AHEAD * max(1, sum(client.nthreads().values())):
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                client.cancel([*waiting, shared])

    def _tasks(self, function: Any, shared: Any) -> Iterator[Any]:
        from dask.delayed import delayed

        inputs, labels, weights = self._parts
        for number, (X, y) in enumerate(zip(inputs, labels, strict=True)):
            own = None if weights is None else weights[number]
            start = number * self._size
            last = min(start + self._size, self.n_rows)
            first_chunk = int(np.searchsorted(self._edges, start, side="right")) - 1
            last_chunk = int(np.searchsorted(self._edges, last, side="left"))
            edges = self._edges[first_chunk : last_chunk + 1].tolist()
            yield delayed(function, pure=False)(
                shared, number, start, first_chunk, edges, X, y, own
            )


def _kept(work: Any) -> Any:
    return work


def _itself(_: Any, *args: Any) -> Block:
    return _block(*args)


def _perform(work: Callable[[Block], Any], *args: Any) -> Any:
    with single_threaded_blas():
        return work(_block(*args))


def _block(
    number: int, start: int, first_chunk: int, edges: list[int], X: Any, y: Any, weights: Any
) -> Block:
    """Return a checked block; errors name the chunk of the Dask array."""

    def place(row: int) -> str:
        chunk = int(np.searchsorted(edges, start + row, side="right")) - 1
        return f"Block {first_chunk + chunk}, row {start + row - edges[chunk]},"

    where = f"Block {first_chunk}"
    inputs = checked_inputs(X, where)
    check_finite(inputs, place)
    return Block(
        number,
        start,
        inputs,
        checked_labels(y, len(inputs), where, place),
        checked_weights(weights, len(inputs), where, place),
    )


def _lengths(X: Any) -> Any:
    """Return the numbers of rows of the parts of a data frame; None for arrays."""
    if not hasattr(X, "map_partitions") or not hasattr(X, "columns"):
        return None
    return tuple(X.map_partitions(len, enforce_metadata=False).compute())


def _array(values: Any, lengths: Any, name: str) -> Any:
    """Return a Dask array with known chunks."""
    if hasattr(values, "to_dask_array"):
        if lengths is None:
            lengths = tuple(values.map_partitions(len, enforce_metadata=False).compute())
        if values.npartitions != len(lengths):
            raise ValueError(
                f"X has {len(lengths)} partitions, but {name} has {values.npartitions}; take both "
                "from the same data frame."
            )
        return values.to_dask_array(lengths=lengths)
    arrays = needed("dask.array", "cluster", "Dask arrays need dask")
    if not isinstance(values, arrays.Array):
        return arrays.from_array(np.asarray(values))
    unknown = any(np.isnan(size) for sizes in values.chunks for size in sizes)
    return values.compute_chunk_sizes() if unknown else values


def _parts(array: Any) -> list[Any]:
    return list(array.to_delayed().ravel())


def _client() -> Any:
    """Return the client of a cluster, if there is one."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None
