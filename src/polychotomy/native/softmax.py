"""The soft-max combination of binary scores, on many subsets of rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._row_lists import joined
from .klr import _at_least_one

__all__ = ["SoftMaxSolution", "solve_softmax"]

FloatArray = NDArray[np.float64]

TOLERANCE = 1e-9
MAX_ITERATIONS = 200


@dataclass(frozen=True)
class SoftMaxSolution:
    """The solutions of `solve_softmax`, indexed by subset and value of C.

    Attributes
    ----------
    weights : ndarray of shape (n_subsets, n_C, n_classes, n_features + 1)
        The weights of every class, its bias last.
    converged : ndarray of shape (n_subsets, n_C)
        Whether the gradient reached the tolerance.
    iterations : ndarray of shape (n_subsets, n_C)
        The Newton steps, from the solution for the next smaller C.
    errors : ndarray of shape (n_subsets, n_C)
        The weight of the test rows whose class is not the most probable one.
    losses : ndarray of shape (n_subsets, n_C)
        The weighted sum of -log p of the true class over the test rows, p at least 1e-300.
    """

    weights: FloatArray
    converged: NDArray[np.bool_]
    iterations: NDArray[np.int32]
    errors: FloatArray
    losses: FloatArray


def solve_softmax(
    scores: ArrayLike,
    y: ArrayLike,
    n_classes: int,
    one_vs_rest: bool,
    train: Sequence[ArrayLike],
    C_values: ArrayLike,
    test: Sequence[ArrayLike] | None = None,
    weights: ArrayLike | None = None,
    tolerance: float | None = None,
    max_iterations: int | None = None,
    extra_steps: int = 2,
    n_threads: int = 1,
) -> SoftMaxSolution:
    r"""Fit the soft-max combination on subsets of rows, along values of C.

    Class k has a probability proportional to :math:`\exp(w_k \cdot x_k)`, where the features
    :math:`x_k` are its score (one-vs-rest) or its scores against the other classes in class order
    (one-vs-one), and 1. Minimises :math:`|w|^2 / 2 + C\,NLL` over :math:`w \ge 0` by a projected
    Newton method, from the solution for the next smaller C. For an infinite C, a penalty is
    lowered step by step until the mean NLL is below n_classes / n_rows.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_columns)
        Finite scores of the pairs (0, 1), (0, 2), ..., (1, 2), ..., or of every class.
    y : array-like of shape (n_rows,)
        The class numbers.
    n_classes : int
        The number of classes.
    one_vs_rest : bool
        Whether there is a column a class, or a column a pair.
    train : sequence of array-like of int
        The training rows of every subset.
    C_values : array-like of shape (n_subsets, n_C) or (n_C,)
        Positive values of C, ascending; for every subset, or the same for all.
    test : sequence of array-like of int, default=None
        The test rows of every subset; none by default.
    weights : array-like of shape (n_rows,), default=None
        Nonnegative weights of the rows, all 1 by default.
    tolerance : float, default=None
        The largest projected gradient of the mean NLL for scores of size 1; 1e-9 by default.
    max_iterations : int, default=None
        The largest number of Newton steps; 200 by default.
    extra_steps : int, default=2
        The most steps beyond the tolerance. Where the penalty is weak, probabilities may still be
        off by 1e-5 when the tolerance is reached; two more steps take them to 1e-8.
    n_threads : int, default=1
        The number of threads. The result does not depend on it.

    Returns
    -------
    solution : SoftMaxSolution
        The weights, and their errors and losses on the test rows.

    Raises
    ------
    ValueError
        If shapes do not fit, or an entry is not as described above.

    References
    ----------
    Duan, Keerthi, Chu, Shevade and Poo (2003), Multi-category classification by soft-max
    combination of binary classifiers.

    Examples
    --------
    >>> from polychotomy.native.softmax import solve_softmax
    >>> scores, y = [[1.0], [2.0], [-1.0], [-2.0], [0.5], [-0.5]], [0, 0, 1, 1, 1, 0]
    >>> solution = solve_softmax(scores, y, 2, False, [[0, 1, 2, 3, 4, 5]], [0.1, 1.0])
    >>> solution.weights.round(2)[0, :, :, 0]
    array([[0.17, 0.17],
           [0.47, 0.47]])
    """
    values = np.ascontiguousarray(scores, dtype=np.float64)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise ValueError("scores must be finite, and have two dimensions.")
    n_rows = len(values)
    train_rows, train_ends = joined(train)
    test_rows, test_ends = joined([()] * len(train) if test is None else test)
    strengths = np.array(C_values, dtype=np.float64)
    if strengths.ndim == 1:
        strengths = np.tile(strengths, (len(train), 1))
    if strengths.ndim != 2 or not (strengths > 0).all() or (np.diff(strengths) < 0).any():
        raise ValueError("C_values must be positive and ascending, one row for every subset.")
    tolerance = TOLERANCE if tolerance is None else float(tolerance)
    if not 0 < tolerance < np.inf:
        raise ValueError(f"tolerance must be a positive number, got {tolerance!r}.")

    shape = strengths.shape
    n_features = 2 if one_vs_rest else n_classes
    converged = np.zeros(shape, dtype=np.int32)
    found = np.zeros((*shape, n_classes, n_features))
    iterations = np.zeros(shape, dtype=np.int32)
    errors, losses = np.zeros(shape), np.zeros(shape)
    _core.solve_softmax(
        values,
        np.ascontiguousarray(y, dtype=np.int64),
        _checked_weights(weights, n_rows),
        n_classes,
        one_vs_rest,
        train_rows,
        train_ends,
        test_rows,
        test_ends,
        strengths,
        tolerance,
        _at_least_one(
            MAX_ITERATIONS if max_iterations is None else max_iterations, "max_iterations"
        ),
        extra_steps,
        _at_least_one(n_threads, "n_threads"),
        found,
        converged,
        iterations,
        errors,
        losses,
    )
    return SoftMaxSolution(found, converged > 0, iterations, errors, losses)


def _checked_weights(weights: ArrayLike | None, n_rows: int) -> FloatArray:
    if weights is None:
        return np.ones(n_rows)
    values: FloatArray = np.ascontiguousarray(weights, dtype=np.float64)
    if values.shape != (n_rows,) or not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(
            "weights must be a vector of finite nonnegative numbers, one for every row of scores."
        )
    return values
