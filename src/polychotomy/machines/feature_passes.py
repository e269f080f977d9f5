"""Passes over the kernel columns of all rows, for solvers that need several."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from ..core.threads import in_order, single_threaded_blas
from ..core.types import FloatArray, IntArray
from ..kernels import Landmarks, feature_sums
from .feature_blocks import in_blocks

# The curvature that all problems start from is estimated from this many rows for each landmark.
ROWS_A_LANDMARK, LEAST_ROWS = 10, 2_000


class Passes:
    """The kernel columns of some rows, in blocks, kept in memory if there is room.

    Parameters
    ----------
    landmarks : Landmarks
        The landmarks.
    X : ndarray or sparse matrix of shape (n_all, n_features)
        All rows.
    rows : ndarray of int
        The rows to pass over.
    room : float
        The memory in bytes for kernel columns; they are computed in every pass if it is too small.
    n_threads : int, default=1
        The number of threads; it changes nothing but the time.
    """

    def __init__(
        self, landmarks: Landmarks, X: Any, rows: IntArray, room: float, n_threads: int = 1
    ) -> None:
        self.landmarks, self.X, self.n_threads = landmarks, X, n_threads
        self.blocks = in_blocks(rows, landmarks.block_rows)
        self._keeps = 8.0 * len(rows) * len(landmarks) <= room
        self._kept: dict[int, NDArray[Any]] = {}

    def sum(
        self, function: Callable[[IntArray, NDArray[Any]], Iterable[FloatArray]]
    ) -> list[FloatArray]:
        """Return the sums, over all blocks in order, of what a function returns for a block.

        It takes the numbers of the rows and their kernel columns.
        """

        def work(number: int) -> list[FloatArray]:
            return list(function(self.blocks[number], self._columns(number)))

        totals: list[FloatArray] = []
        with single_threaded_blas():
            for found in in_order(work, range(len(self.blocks)), self.n_threads):
                totals = [a + b for a, b in zip(totals, found, strict=True)] if totals else found
        return totals

    def _columns(self, number: int) -> NDArray[Any]:
        if number in self._kept:
            return self._kept[number]
        columns = self.landmarks.columns(self.X[self.blocks[number]])
        if self._keeps:
            self._kept[number] = columns
        return columns


@dataclass(frozen=True)
class Coordinates:
    """Coordinates of weights in which the Hessian of a smooth loss is nearly the identity.

    A score is ``(z - mean) . w + b``. With ``w = U e`` for the eigenvectors U of the scatter of the
    features, and curvature a of the loss for one row, the Hessian is near ``a l + 1`` for the
    eigenvalues l, and ``a n`` for the bias.

    Parameters
    ----------
    to_columns : ndarray of shape (n_landmarks, n_landmarks)
        ``L^-T U``: from e to weights on kernel columns.
    mean : ndarray of shape (n_landmarks,)
        ``U' mean``.
    values : ndarray of shape (n_landmarks,)
        The eigenvalues of the scatter for a total weight of 1.
    """

    to_columns: FloatArray
    mean: FloatArray
    values: FloatArray

    @classmethod
    def of(
        cls, landmarks: Landmarks, X: Any, rows: IntArray, weights: FloatArray | None
    ) -> Coordinates:
        """Estimate them from some of the rows; the solution does not depend on them."""
        most = max(LEAST_ROWS, ROWS_A_LANDMARK * len(landmarks))
        if len(rows) > most:
            rows = np.sort(np.random.default_rng(0).choice(rows, size=most, replace=False))
        nothing = np.zeros(len(rows), dtype=np.intp)
        sums = feature_sums(landmarks, X, rows, nothing, np.zeros(1, dtype=np.intp), weights)
        total = float(len(rows) if weights is None else weights[rows].sum())
        shift = sums.sums[0] / total
        scatter = sums.products[0] / total - np.outer(shift, shift)
        with single_threaded_blas():
            values, vectors = eigh(scatter, lower=True, driver="evd", check_finite=False)
            to_columns = landmarks.of_columns(vectors)
        return cls(to_columns, vectors.T @ (sums.origin + shift), np.maximum(values, 0.0))

    def scales(self, curvature: FloatArray) -> FloatArray:
        """Return the scale of every unknown, the bias last, for problems of these curvatures.

        The curvature of a problem is that of a row times C and the total weight of its rows.
        """
        inside = 1.0 / np.sqrt(1.0 + curvature[:, None] * self.values)
        return np.column_stack([inside, 1.0 / np.sqrt(curvature)])

    def linear(self, unknowns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weights on kernel columns, one problem in each column, and the biases."""
        e, b = unknowns[:, :-1], unknowns[:, -1]
        return self.to_columns @ e.T, b - e @ self.mean

    def gradient(self, of_columns: FloatArray, of_biases: FloatArray) -> FloatArray:
        """Return the gradient by the unknowns from those by what `linear` returns."""
        inside = of_columns.T @ self.to_columns - np.outer(of_biases, self.mean)
        return np.column_stack([inside, of_biases])
