"""Choosing landmarks: a few rows whose kernel columns span those of all rows.

Randomly pivoted Cholesky draws every landmark with a probability proportional to what the kernel
columns of the landmarks so far leave unexplained, so rows of small clusters are found, and copies
of a landmark are never drawn again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from ..core.types import FloatArray, IntArray
from .base import Kernel

# Landmarks stop when this share of the trace of the Gram matrix is left: the rest is rounding.
SMALLEST_REST = 1e-13
# The number of rows that are drawn together.
PROPOSALS = 64


def pivoted_cholesky(
    kernel: Kernel,
    X: Any,
    number: int,
    random: np.random.Generator,
    proposals: int = PROPOSALS,
) -> tuple[IntArray, FloatArray]:
    """Choose landmarks by randomly pivoted Cholesky, in blocks.

    Rows are proposed in blocks, by the diagonal that is left before the block. Each is accepted
    with the probability that the diagonal left after the earlier ones of the block demands. The
    landmarks have thus the same distribution as if they were drawn one by one.

    Note: drawing one at a time computes one kernel column at a time, by slow vector products.
    Accepting whole blocks without the test would be faster still, but takes near copies of a row
    together, which adds nothing.

    Parameters
    ----------
    kernel : Kernel
        A positive semidefinite kernel.
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        The rows to choose from.
    number : int
        How many; fewer are chosen if they span all rows.
    random : Generator
        The source of random numbers.
    proposals : int, default=64
        The number of rows that are drawn together.

    Returns
    -------
    rows : ndarray of shape (n_landmarks,)
        The landmarks, in the order in which they were chosen.
    factor : ndarray of shape (n_landmarks, n_landmarks)
        The lower triangle L with ``K = L L'`` for the Gram matrix K of the landmarks.

    References
    ----------
    Chen, Epperly, Tropp and Webber (2025), Randomly pivoted Cholesky, algorithm 1. Epperly, Tropp
    and Webber (2024), Embrace rejection: kernel matrix approximation by accelerated randomly
    pivoted Cholesky, algorithm 2.
    """
    n_rows = X.shape[0]
    left = np.array(kernel.diagonal(X), dtype=np.float64)
    _check_diagonal(left)
    most = min(number, n_rows)
    columns = np.zeros((n_rows, most), order="F")
    enough, found = SMALLEST_REST * left.sum(), 0
    pivots = np.empty(most, dtype=np.intp)
    while found < most and left.sum() > enough:
        drawn = random.choice(n_rows, size=min(proposals, most), p=left / left.sum())
        inside = columns[drawn, :found]
        rest = kernel.between(X[drawn], X[drawn]) - inside @ inside.T
        accepted, triangle = _accept(rest, left[drawn], random, most - found)
        if not len(accepted):
            # Only rounding was left of these rows.
            left[drawn] = 0.0
            continue
        rows = drawn[accepted]
        new = slice(found, found + len(rows))
        part = kernel.between(X, X[rows])
        part -= columns[:, :found] @ columns[rows, :found].T
        columns[:, new] = solve_triangular(triangle, part.T, lower=True, check_finite=False).T
        left = np.maximum(left - np.einsum("ij,ij->i", columns[:, new], columns[:, new]), 0.0)
        left[rows] = 0.0
        pivots[new] = rows
        found += len(rows)
    chosen = pivots[:found]
    return chosen, np.tril(columns[chosen, :found])


def uniform(
    kernel: Kernel, X: Any, number: int, random: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Choose landmarks uniformly, without those that the others explain."""
    rows = random.choice(X.shape[0], size=min(number, X.shape[0]), replace=False)
    return _independent(kernel, X, rows)


def k_means_plus_plus(
    kernel: Kernel, X: Any, number: int, random: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Choose landmarks far from each other, by the first step of k-means++."""
    from sklearn.cluster import kmeans_plusplus

    most, seed = min(number, X.shape[0]), int(random.integers(2**31 - 1))
    _, rows = kmeans_plusplus(X, most, random_state=seed)
    return _independent(kernel, X, np.unique(rows))


CHOICES = {
    "pivoted_cholesky": pivoted_cholesky,
    "uniform": uniform,
    "k_means++": k_means_plus_plus,
}


def _accept(
    rest: FloatArray, proposed_by: FloatArray, random: np.random.Generator, most: int
) -> tuple[IntArray, FloatArray]:
    """Accept some proposed rows; return their places, and the factor of their unexplained part.

    The diagonal of `rest` is `proposed_by` up to rounding. It falls to 0 for the copies of a row
    that was accepted, so no row is taken twice.
    """
    rest = rest.copy()
    taken: list[int] = []
    columns: list[FloatArray] = []
    thresholds = np.maximum(random.random(len(rest)), SMALLEST_REST) * proposed_by
    for place, threshold in enumerate(thresholds.tolist()):
        if rest[place, place] > threshold and len(taken) < most:
            column = rest[:, place] / np.sqrt(rest[place, place])
            rest -= np.outer(column, column)
            taken.append(place)
            columns.append(column)
    accepted = np.array(taken, dtype=np.intp)
    triangle = np.tril(np.array(columns).T[accepted]) if taken else np.zeros((0, 0))
    return accepted, triangle


def _independent(kernel: Kernel, X: Any, rows: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the rows that are independent of each other, and the factor of their Gram matrix."""
    gram = np.asfortranarray(kernel.between(X[rows], X[rows]))
    _check_diagonal(gram.diagonal())
    tolerance = SMALLEST_REST * float(gram.diagonal().max())
    factor, order, rank, _ = dpstrf(gram, tol=tolerance, lower=1, overwrite_a=1)
    return rows[order[:rank] - 1], np.tril(factor[:rank, :rank])


def _check_diagonal(diagonal: FloatArray) -> None:
    if not np.isfinite(diagonal).all() or diagonal.min(initial=0.0) < 0.0:
        raise ValueError(
            "Landmarks need a positive semidefinite kernel; the kernel of some row with itself is "
            "negative or not finite. Choose another kernel."
        )
    if not diagonal.any():
        raise ValueError(
            "Landmarks need a kernel that is not 0 for all rows with themselves. Choose another "
            "kernel, or another parameter of it."
        )
