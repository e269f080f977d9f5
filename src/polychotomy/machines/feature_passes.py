"""Passes over the kernel columns of all rows, for solvers that need several."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigh, solve_triangular

from ..core.contents import sample_by_content
from ..core.threads import in_order, single_threaded_blas
from ..core.types import FloatArray, IntArray
from ..kernels import Landmarks, feature_sums
from ..native.memory import recycled_empty
from .feature_blocks import in_blocks

# Blocks of kernel columns have about this many numbers.
PASS_ENTRIES = 1 << 20
# Products of kernel columns with a few weights are taken by this many rows. BLAS copies the factors
# of larger products to another place first, which took as long as the products.
ROWS_A_PRODUCT = 32
# The curvature that all problems start from is estimated from this many rows for each landmark.
ROWS_A_LANDMARK, LEAST_ROWS = 10, 2_000


class Passes:
    """The kernel columns of some rows, in blocks, kept in memory if there is room.

    Note: blocks are smaller than those of `feature_sums`. They stay in the processor's cache, and
    memory that is asked of the system for every block takes longer than the kernel.

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
        self.dtype = landmarks.precision(X)
        self._size = max(1, PASS_ENTRIES // max(len(landmarks), 1))
        self.blocks = in_blocks(rows, self._size)
        shape = len(rows), len(landmarks)
        keeps = self.dtype.itemsize * shape[0] * shape[1] <= room
        self._kept = _empty(shape, self.dtype) if keeps else None
        self._filled = np.zeros(len(self.blocks), dtype=bool)

    def sum(
        self, function: Callable[[IntArray, NDArray[Any]], Iterable[FloatArray]]
    ) -> list[FloatArray]:
        """Return the sums, over all blocks in order, of what a function returns for a block.

        It takes the numbers of the rows and their kernel columns, of precision `dtype`; sums are in
        double precision.
        """

        def work(number: int) -> list[FloatArray]:
            return list(function(self.blocks[number], self._columns(number)))

        totals: list[FloatArray] = []
        with single_threaded_blas():
            for found in in_order(work, range(len(self.blocks)), self.n_threads):
                if not totals:
                    totals = [np.zeros(np.shape(part)) for part in found]
                for total, part in zip(totals, found, strict=True):
                    total += part
        return totals

    def _columns(self, number: int) -> NDArray[Any]:
        if self._kept is None:
            return self.landmarks.columns(self.X[self.blocks[number]], self.dtype)
        start = number * self._size
        kept = self._kept[start : start + len(self.blocks[number])]
        if not self._filled[number]:
            kept[:] = self.landmarks.columns(self.X[self.blocks[number]], self.dtype)
            self._filled[number] = True
        return kept


def thin_products(columns: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    """Return ``columns @ weights`` for a few columns of weights."""
    pieces, rest = _pieces(columns)
    return np.concatenate([(pieces @ weights).reshape(-1, weights.shape[1]), rest @ weights])


def thin_sums(slopes: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any]:
    """Return ``slopes.T @ columns`` for a few columns of slopes."""
    (pieces, rest), (own, own_rest) = _pieces(columns), _pieces(slopes)
    result: NDArray[Any] = np.matmul(own.swapaxes(1, 2), pieces).sum(axis=0)
    result += own_rest.T @ rest
    return result


def _pieces(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Cut rows into pieces of a fixed size, and the rest."""
    whole = len(values) // ROWS_A_PRODUCT * ROWS_A_PRODUCT
    return values[:whole].reshape(-1, ROWS_A_PRODUCT, values.shape[1]), values[whole:]


def _empty(shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
    count = shape[0] * shape[1]
    whole: NDArray[Any] = recycled_empty((-(-count * dtype.itemsize // 8),)).view(dtype)
    return whole[:count].reshape(shape)


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
        scatter, mean = scatter_of(landmarks, X, rows, weights)
        with single_threaded_blas():
            values, vectors = eigh(scatter, lower=True, driver="evd", check_finite=False)
            to_columns = landmarks.of_columns(vectors)
        return cls(to_columns, vectors.T @ mean, np.maximum(values, 0.0))

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


@dataclass(frozen=True)
class Whitening:
    """`Coordinates` for one curvature: ``w = R^-T e`` with ``R R' = a S + 1`` for the scatter S.

    Note: one Cholesky factorisation takes a fiftieth of the time of the eigenvectors, which serve
    all curvatures. A machine that is trained for a few values of C takes this.

    Parameters
    ----------
    landmarks : Landmarks
        The landmarks.
    factor : ndarray of shape (n_landmarks, n_landmarks)
        R, a lower triangle.
    mean : ndarray of shape (n_landmarks,)
        The mean of the features.
    curvature : float
        a, the curvature of a row times C and the total weight of the rows.
    """

    landmarks: Landmarks
    factor: FloatArray
    mean: FloatArray
    curvature: float

    @classmethod
    def of(
        cls, landmarks: Landmarks, scatter: FloatArray, mean: FloatArray, curvature: float
    ) -> Whitening:
        """Factorise, given the lower triangle of the scatter and the mean, for a weight of 1."""
        inside = curvature * scatter
        inside[np.diag_indices(len(inside))] += 1.0
        with single_threaded_blas():
            factor = cholesky(inside, lower=True, overwrite_a=True, check_finite=False)
        return cls(landmarks, factor, mean, curvature)

    def linear(self, unknowns: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the weights of features and of kernel columns, and the biases."""
        weights: FloatArray = solve_triangular(
            self.factor, unknowns[:, :-1].T, lower=True, trans="T", check_finite=False
        )
        biases = unknowns[:, -1] / np.sqrt(self.curvature) - self.mean @ weights
        return weights, self.landmarks.of_columns(weights), biases

    def unknowns(self, weights: FloatArray, biases: FloatArray) -> FloatArray:
        """Return the unknowns of these weights of features and biases."""
        last = (biases + self.mean @ weights) * np.sqrt(self.curvature)
        return np.column_stack([(self.factor.T @ weights).T, last])

    def gradient(
        self, of_columns: FloatArray, of_biases: FloatArray, of_weights: FloatArray
    ) -> FloatArray:
        """Return the gradient by the unknowns from those by what `linear` returns."""
        inside = self.landmarks.from_columns(of_columns.T).T - np.outer(self.mean, of_biases)
        inside = solve_triangular(
            self.factor, inside + of_weights, lower=True, check_finite=False, overwrite_b=True
        )
        return np.column_stack([inside.T, of_biases / np.sqrt(self.curvature)])


def scatter_of(
    landmarks: Landmarks, X: Any, rows: IntArray, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the scatter of the features of some of the rows, a lower triangle, and their mean."""
    most = max(LEAST_ROWS, ROWS_A_LANDMARK * len(landmarks))
    if len(rows) > most:
        rows = sample_by_content(X, most, 0, rows)
    nothing = np.zeros(len(rows), dtype=np.intp)
    sums = feature_sums(landmarks, X, rows, nothing, np.zeros(1, dtype=np.intp), weights)
    total = float(len(rows) if weights is None else weights[rows].sum())
    shift = sums.sums[0] / total
    scatter = sums.products[0]
    scatter /= total
    scatter -= np.outer(shift, shift)
    return scatter, sums.origin + shift
