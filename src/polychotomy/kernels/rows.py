"""Kernel rows computed on demand, within a memory bound."""

from __future__ import annotations

from functools import partial
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.types import FloatArray, IntArray
from ..native import _core
from .base import Kernel
from .distances import inner_products, squared_norms

# Kernel rows are computed in tiles with at most this many numbers.
TILE_ENTRIES = 1 << 19
# More rows at once make fewer but slower rounds of a solver; with fewer it would make no progress.
MOST_AT_ONCE, LEAST_AT_ONCE = 256, 16
# Mirrored entries of a Gram matrix may differ by this share of the largest entry.
_ASYMMETRY = 1e-5


class StoppedError(Exception):
    """Raised to end this thread, because another one failed or was interrupted."""


class RowSource:
    """The Gram matrix of some rows, computed when a solver asks for parts of it.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    most_at_once : int
        The largest number of rows in one request.
    diagonal : ndarray of shape (n_rows,)
        The kernel of every row with itself.
    stop : Event, default=None
        Set by others to end the work.
    """

    # The typical error of an entry, where it is not that of double precision.
    error = 0.0

    def __init__(
        self, n_rows: int, most_at_once: int, diagonal: FloatArray, stop: Event | None = None
    ) -> None:
        self.n_rows = n_rows
        self.most_at_once = most_at_once
        self.diagonal = diagonal
        self._stop = stop

    def block(self, rows: IntArray) -> FloatArray:
        """Return the Gram matrix of a few rows, after checking that it is finite and symmetric."""
        self.go_on()
        block = self._block(rows)
        # The same messages as for a whole Gram matrix.
        largest = np.abs(block).max(initial=0.0)
        if not np.isfinite(largest):
            raise ValueError("The Gram matrix must be finite; it has a NaN or infinite entry.")
        asymmetry = np.abs(block - block.T).max(initial=0.0)
        if asymmetry > _ASYMMETRY * largest:
            raise ValueError(
                f"The Gram matrix must be symmetric; mirrored entries differ by {asymmetry:.2g}."
            )
        return block

    def go_on(self) -> None:
        """Raise StoppedError if another thread asked to stop."""
        if self._stop is not None and self._stop.is_set():
            raise StoppedError

    def refine(self) -> None:
        """Go on in double precision."""

    def subtract(self, residual: FloatArray, rows: IntArray, amounts: FloatArray) -> None:
        """Subtract the columns of a few rows, times their amounts, from the residuals."""
        raise NotImplementedError

    def _block(self, rows: IntArray) -> FloatArray:
        raise NotImplementedError


class LinearRows(RowSource):
    """The linear kernel, which needs no kernel rows: ``K a = X (X' a)``.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        The inputs.
    stop : Event, default=None
        Set by others to end the work.
    """

    def __init__(self, X: Any, stop: Event | None = None) -> None:
        super().__init__(X.shape[0], MOST_AT_ONCE, squared_norms(X), stop)
        self.X = X

    def _block(self, rows: IntArray) -> FloatArray:
        part = self.X[rows]
        return np.ascontiguousarray(inner_products(part, part))

    def subtract(self, residual: FloatArray, rows: IntArray, amounts: FloatArray) -> None:
        """Subtract the columns of a few rows, times their amounts, from the residuals."""
        residual -= self.X @ (self.X[rows].T @ amounts)


class CachedRows(RowSource):
    """Rows of any kernel, computed in batches; the most recently used are kept.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X : ndarray or sparse matrix of shape (n_all, n_features)
        The inputs; for a precomputed kernel the matrix.
    rows : ndarray of int
        The rows of X in the Gram matrix, ascending.
    memory : ndarray of shape (n_numbers,)
        The memory for kept rows, with the size that `room` returns.
    stop : Event, default=None
        Set by others to end the work.
    single : ndarray of shape (n_all, n_features), default=None
        The inputs in single precision, if they are given so: the kernel is then computed from
        these, in half the time, until `refine` is called.
    """

    @staticmethod
    def room(n_rows: int, n_bytes: float) -> int:
        """Return how many numbers fit in this many bytes, but at least a few rows."""
        return int(min(max(n_bytes / 8, LEAST_AT_ONCE * n_rows), n_rows**2))

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        rows: IntArray,
        memory: FloatArray,
        stop: Event | None = None,
        single: NDArray[np.float32] | None = None,
    ) -> None:
        n_rows = len(rows)
        n_kept = min(len(memory) // max(n_rows, 1), n_rows)
        coarse = None if single is None else kernel.on_demand_single(single, rows)
        self._in_double = partial(kernel.on_demand, X, rows)
        diagonal, self._tile, self.error = coarse or self._in_double()
        super().__init__(n_rows, min(MOST_AT_ONCE, n_kept), diagonal, stop)
        self._kept = memory[: n_kept * n_rows].reshape(n_kept, n_rows)
        self._place_of = np.full(self.n_rows, -1)
        self._row_at = np.full(n_kept, -1)
        self._last_use = np.full(n_kept, -1)
        self._clock = 0

    def refine(self) -> None:
        """Go on in double precision, without the rows that were kept."""
        _, self._tile, self.error = self._in_double()
        self._place_of[:] = self._row_at[:] = self._last_use[:] = -1

    def _block(self, rows: IntArray) -> FloatArray:
        block = np.empty((len(rows), len(rows)))
        _core.gather_block(self._kept, self._places(rows), rows, block)
        return block

    def subtract(self, residual: FloatArray, rows: IntArray, amounts: FloatArray) -> None:
        """Subtract the columns of a few rows, times their amounts, from the residuals."""
        _core.subtract_rows(residual, self._kept, self._places(rows), amounts)

    def _places(self, rows: IntArray) -> IntArray:
        """Return the places of rows, after computing those that are not kept."""
        self._clock += 1
        places = self._place_of[rows]
        self._last_use[places[places >= 0]] = self._clock
        missing = rows[places < 0]
        if len(missing):
            self._compute(missing)
        return self._place_of[rows]

    def _compute(self, rows: IntArray) -> None:
        oldest = np.argsort(self._last_use, kind="stable")[: len(rows)]
        dropped = self._row_at[oldest]
        self._place_of[dropped[dropped >= 0]] = -1
        step = max(1, TILE_ENTRIES // len(rows))
        for start in range(0, self.n_rows, step):
            tile = slice(start, min(start + step, self.n_rows))
            self._kept[oldest, tile] = self._tile(rows, tile)
        self._place_of[rows] = oldest
        self._row_at[oldest] = rows
        self._last_use[oldest] = self._clock
