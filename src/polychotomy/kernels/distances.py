"""Distances between rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.utils.extmath import safe_sparse_dot

from ..core.types import FloatArray


def squared_distances(X: Any, Z: Any = None) -> FloatArray:
    """Return the squared Euclidean distance between every row of X and every row of Z."""
    # Imported here, because it is slow to import.
    from sklearn.metrics.pairwise import euclidean_distances

    distances: FloatArray = euclidean_distances(X, Z, squared=True)
    return distances


def city_block_distances(X: Any, Z: Any = None) -> FloatArray:
    """Return the sum of the absolute differences of every row of X and every row of Z."""
    from sklearn.metrics.pairwise import manhattan_distances

    Z = X if Z is None else Z
    if issparse(X) or issparse(Z):
        X, Z = _with_small_indices(X), _with_small_indices(Z)
    distances: FloatArray = manhattan_distances(X, Z)
    return distances


def inner_products(X: Any, Z: Any) -> FloatArray:
    """Return the inner product of every row of X and every row of Z."""
    return np.asarray(safe_sparse_dot(X, Z.T, dense_output=True), dtype=np.float64)


def dense(values: Any) -> FloatArray:
    """Return a kernel as a dense array, whatever form it has come in."""
    return np.asarray(values.toarray() if issparse(values) else values, dtype=np.float64)


def squared_norms(X: Any) -> FloatArray:
    """Return the inner product of every row with itself."""
    squares = X.multiply(X).sum(axis=1) if issparse(X) else np.einsum("ij,ij->i", X, X)
    return np.asarray(squares, dtype=np.float64).ravel()


def _with_small_indices(X: Any) -> Any:
    """Return a sparse matrix with 32-bit indices, which scikit-learn's distances require."""
    rows = csr_matrix(X)
    indices, starts = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return csr_matrix((rows.data, indices, starts), shape=rows.shape)
