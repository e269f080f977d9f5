"""Platt's sigmoids, for many columns of scores and many subsets of rows at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._row_lists import joined

__all__ = ["fit_platt", "fit_platt_on"]

FloatArray = NDArray[np.float64]
Sigmoids = tuple[FloatArray, FloatArray, NDArray[np.bool_]]


def fit_platt(
    scores: ArrayLike,
    labels: ArrayLike,
    weights: ArrayLike | None = None,
    max_iterations: int = 100,
) -> Sigmoids:
    r"""Fit Platt's sigmoid to every column of scores.

    :math:`P(+1 | f) = 1 / (1 + \exp(A f + B))`. Note the sign: A is negative where larger
    scores mean the positive class. Targets are smoothed, :math:`(N_+ + 1) / (N_+ + 2)` and
    :math:`1 / (N_- + 2)`, with the sums of the weights for counts.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_columns)
        The scores, finite.
    labels : array-like of shape (n_rows, n_columns)
        +1, -1, or 0 where the row does not belong to the column's problem.
    weights : array-like of shape (n_rows,), default=None
        Nonnegative weights of the rows, all 1 by default.
    max_iterations : int, default=100
        The largest number of Newton steps a column.

    Returns
    -------
    slopes : ndarray of shape (n_columns,)
        A; 0 if a column has one sign only, equal scores only, or no row.
    intercepts : ndarray of shape (n_columns,)
        B.
    converged : ndarray of shape (n_columns,)
        Whether the column's fit has converged.

    Raises
    ------
    ValueError
        If shapes do not fit, a score is not finite, a label is none of -1, 0 and +1, or a weight
        is negative.

    References
    ----------
    Lin, Lin and Weng (2007), A note on Platt's probabilistic outputs for support vector
    machines.

    Examples
    --------
    >>> from polychotomy.native.platt import fit_platt
    >>> slopes, intercepts, _ = fit_platt([[-2.0], [-1.0], [1.0], [2.0]], [[-1], [1], [-1], [1]])
    >>> slopes.round(2)
    array([-0.2])
    """
    values = np.ascontiguousarray(scores, dtype=np.float64)
    if values.ndim != 2 or values.shape != np.shape(labels):
        raise ValueError("scores and labels must have the same shape, with two dimensions.")
    everything = [np.arange(len(values))]
    found = fit_platt_on(everything, values[None], labels, weights, max_iterations)
    slopes, intercepts, converged = (array[0, 0] for array in found)
    return slopes, intercepts, converged


def fit_platt_on(
    subsets: Sequence[ArrayLike],
    scores: ArrayLike,
    labels: ArrayLike,
    weights: ArrayLike | None = None,
    max_iterations: int = 100,
    n_threads: int = 1,
) -> Sigmoids:
    """Fit Platt's sigmoid to every column of several sets of scores, on subsets of the rows.

    Parameters
    ----------
    subsets : sequence of array-like of int
        The rows of every subset.
    scores : array-like of shape (n_sets, n_rows, n_columns)
        Several sets of scores of the same rows, finite.
    labels : array-like of shape (n_rows, n_columns)
        +1, -1, or 0 where the row does not belong to the column's problem.
    weights : array-like of shape (n_rows,), default=None
        Nonnegative weights of the rows, all 1 by default.
    max_iterations : int, default=100
        The largest number of Newton steps a column.
    n_threads : int, default=1
        The number of threads. The result does not depend on it.

    Returns
    -------
    slopes, intercepts, converged : ndarray of shape (n_subsets, n_sets, n_columns)
        To the last bit what `fit_platt` would find for each alone.

    Raises
    ------
    ValueError
        As `fit_platt`, or if a row does not exist.

    Examples
    --------
    >>> from polychotomy.native.platt import fit_platt_on
    >>> scores, labels = [[[-2.0], [-1.0], [1.0], [2.0]]], [[-1], [1], [-1], [1]]
    >>> slopes, intercepts, _ = fit_platt_on([[0, 1, 2, 3], [0, 1, 3]], scores, labels)
    >>> slopes.ravel().round(2)
    array([-0.2 , -0.37])
    """
    values = np.ascontiguousarray(scores, dtype=np.float64)
    signs = np.ascontiguousarray(labels, dtype=np.int8)
    if (signs is not labels and not np.array_equal(signs, labels)) or (np.abs(signs) > 1).any():
        raise ValueError("labels must be -1, 0 or +1.")
    if values.ndim != 3 or values.shape[1:] != signs.shape:
        raise ValueError("scores must have the rows and columns of labels, for every set.")
    if not np.isfinite(values).all():
        raise ValueError("scores must be finite.")
    if weights is not None:
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        if weights.ndim != 1 or not (np.isfinite(weights) & (weights >= 0)).all():
            raise ValueError("weights must be a vector of finite nonnegative numbers.")
    if n_threads < 1:
        raise ValueError(f"n_threads must be at least 1, got {n_threads}.")
    rows, ends = joined(subsets)
    found = np.zeros((len(subsets), values.shape[0], values.shape[2], 3))
    _core.fit_platt(values, signs, weights, rows, ends, max_iterations, n_threads, found)
    return found[..., 0].copy(), found[..., 1].copy(), found[..., 2] > 0
