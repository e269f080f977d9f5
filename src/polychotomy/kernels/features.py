"""Sums over the features of training rows, block by block.

Note: blocks have a size that depends on the number of landmarks only, and are added in a fixed
order. So the number of threads, or of machines that compute the blocks, changes no bit. Adding
blocks as they finish would be as fast, but every run would have other last digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dsyrk, ssyrk
from scipy.sparse import csr_array

from ..core.threads import in_order, single_threaded_blas
from ..core.types import FloatArray, IntArray
from .base import Kernel
from .gram import check_sizes, warn_of_scales
from .landmarks import WELL_CONDITIONED, Landmarks, choose_landmarks
from .settle import kernel_class

# A unit of work is this many blocks of one cell; its sums are added before they are handed on.
BLOCKS_A_CHUNK = 8
# Up to this many groups, a dense matrix of indicators is faster than a sparse one.
FEW_GROUPS = 64


class FeatureRows:
    """Training rows, with the landmarks that several machines share.

    Note: unlike `SharedRows`, single-precision rows stay as they are. `Landmarks.precision` decides
    whether single precision is enough.

    Parameters
    ----------
    kernel : str or callable
        The kernel of an estimator, for which the rows are checked.
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        The inputs.
    """

    def __init__(self, kernel: Any, X: Any) -> None:
        kind = kernel_class(kernel)
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        warn_of_scales(kind, X)
        check_sizes(kind, X)
        self.X = X
        self._known: dict[Any, Landmarks] = {}

    def landmarks(
        self, kernel: Kernel, number: int, rows: IntArray, choice: str, seed: int
    ) -> Landmarks:
        """Return landmarks among some rows; those chosen before are kept."""
        key = kernel, number, choice, seed, rows.tobytes()
        if key not in self._known:
            with single_threaded_blas():
                self._known[key] = choose_landmarks(kernel, self.X, number, rows, choice, seed)
        return self._known[key]


@dataclass(frozen=True)
class FeatureSums:
    """Sums over rows in groups, several of which make a cell.

    Parameters
    ----------
    products : ndarray of shape (n_cells, n_landmarks, n_landmarks)
        ``sum v (z - o)(z - o)'`` over the rows of every cell; only lower triangles are filled.
    sums : ndarray of shape (n_groups, n_landmarks)
        ``sum v (z - o)`` over the rows of every group.
    origin : ndarray of shape (n_landmarks,)
        o, the mean of the features of the landmarks. Sums around it lose fewer digits than sums
        around 0, when the mean is taken out of them later.
    """

    products: FloatArray
    sums: FloatArray
    origin: FloatArray


@dataclass(frozen=True)
class Summing:
    """How features are summed; all blocks of rows share it.

    Parameters
    ----------
    landmarks : Landmarks
        The landmarks.
    dtype : dtype
        The precision of the features of a block; sums are in double precision.

    Notes
    -----
    If the factor L of the landmarks is well conditioned, the products of the kernel columns are
    summed, and only their sums are multiplied by ``L^-1`` from both sides. That halves the time.
    """

    landmarks: Landmarks
    dtype: np.dtype[Any]

    @cached_property
    def by_columns(self) -> bool:
        """Whether kernel columns are summed in place of features."""
        return self.landmarks.condition <= WELL_CONDITIONED[self.dtype]

    @cached_property
    def origin(self) -> FloatArray:
        """The mean of the features of the landmarks."""
        mean: FloatArray = self.landmarks.factor.mean(axis=0)
        return mean

    @cached_property
    def shift(self) -> NDArray[Any]:
        """The same for their kernel columns."""
        return (self.landmarks.factor @ self.origin).astype(self.dtype)

    def nothing(self, n_cells: int, n_groups: int) -> FeatureSums:
        """Return the sums of no rows."""
        m = len(self.landmarks)
        return FeatureSums(np.zeros((n_cells, m, m)), np.zeros((n_groups, m)), self.origin)

    def finish(self, totals: FeatureSums) -> None:
        """Turn the sums over all blocks into those of features, in place."""
        if self.by_columns:
            for cell in totals.products:
                cell[:] = _to_features(self.landmarks, cell)
            totals.sums[:] = self.landmarks.from_columns(totals.sums)

    def of_one_cell(
        self, X: Any, rows: IntArray, groups: IntArray, weights: FloatArray | None
    ) -> tuple[FloatArray, IntArray, FloatArray]:
        """Sum over rows of one cell.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_all, n_features)
            All rows.
        rows, groups : ndarray of int
            The rows to sum over, and their groups.
        weights : ndarray of shape (n_rows,) or None
            Their weights.

        Returns
        -------
        products, present, sums : ndarray
            The sum of the products, the groups that there are, and the sum of each.
        """
        landmarks, dtype = self.landmarks, self.dtype
        m, step = len(landmarks), landmarks.block_rows
        syrk = ssyrk if dtype == np.float32 else dsyrk
        products = np.zeros((m, m))
        present = np.unique(groups)
        sums = np.zeros((len(present), m))
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            values = landmarks.columns(X[rows[block]], dtype)
            values -= self.shift
            if not self.by_columns:
                values = landmarks.from_columns(values)
            if weights is not None:
                values *= np.sqrt(weights[block]).astype(dtype)[:, None]
            # LAPACK's columns are our rows: the upper triangle there is the lower one here.
            products += syrk(1.0, values.T, lower=0).T
            if weights is not None:
                values *= np.sqrt(weights[block]).astype(dtype)[:, None]
            # A product with indicators, because NumPy's sums over pieces were half of all time.
            place = np.searchsorted(present, groups[block])
            ones = np.ones(len(place), dtype=dtype)
            shape = len(present), len(place)
            indicators: Any = csr_array((ones, (place, np.arange(len(place)))), shape)
            if len(present) <= FEW_GROUPS:
                indicators = indicators.toarray()
            sums += indicators @ values
        return products, present, sums


@dataclass(frozen=True)
class _Chunk:
    """Rows of one cell, with their groups in ascending order."""

    cell: int
    start: int
    stop: int


def feature_sums(
    landmarks: Landmarks,
    X: Any,
    rows: IntArray,
    groups: IntArray,
    cells: IntArray,
    weights: FloatArray | None = None,
    n_threads: int = 1,
) -> FeatureSums:
    """Sum features and their products over rows, in one pass.

    Parameters
    ----------
    landmarks : Landmarks
        The landmarks.
    X : ndarray or sparse matrix of shape (n_all, n_features)
        All rows.
    rows : ndarray of int
        The rows to sum over, sorted by their group.
    groups : ndarray of int
        The group of every one of these rows, ascending.
    cells : ndarray of shape (n_groups,)
        The cell of every group, ascending.
    weights : ndarray of shape (n_all,), default=None
        The weight v of every row.
    n_threads : int, default=1
        The number of threads; it changes nothing but the time.

    Returns
    -------
    FeatureSums
    """
    summing = Summing(landmarks, landmarks.precision(X))
    totals = summing.nothing(int(cells.max()) + 1, len(cells))

    def work(chunk: _Chunk) -> tuple[_Chunk, FloatArray, IntArray, FloatArray]:
        places = slice(chunk.start, chunk.stop)
        own = None if weights is None else weights[rows[places]]
        return chunk, *summing.of_one_cell(X, rows[places], groups[places], own)

    with single_threaded_blas():
        chunks = _chunks(cells[groups], BLOCKS_A_CHUNK * landmarks.block_rows)
        for chunk, products, present, sums in in_order(work, chunks, n_threads):
            totals.products[chunk.cell] += products
            totals.sums[present] += sums
        summing.finish(totals)
    return totals


def _chunks(cells: IntArray, most: int) -> Iterator[_Chunk]:
    """Cut rows, sorted by cell, into chunks of one cell each."""
    edges = [0, *(np.flatnonzero(np.diff(cells)) + 1).tolist(), len(cells)]
    for first, last in pairwise(edges):
        for start in range(first, last, most):
            yield _Chunk(int(cells[first]), start, min(start + most, last))


def _to_features(landmarks: Landmarks, products: FloatArray) -> FloatArray:
    """Return ``L^-1 A L^-T`` of a symmetric matrix of which the lower triangle is given."""
    whole = np.tril(products) + np.tril(products, -1).T
    half: NDArray[Any] = solve_triangular(landmarks.factor, whole, lower=True, check_finite=False)
    result: FloatArray = solve_triangular(
        landmarks.factor, half.T, lower=True, check_finite=False, overwrite_b=True
    )
    return np.tril(result)
