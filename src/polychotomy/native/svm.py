"""Binary support vector machines on one shared Gram matrix."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._row_lists import joined
from .memory import recycled_empty

__all__ = ["SvmSolution", "SvmStatus", "solve_svm"]

FloatArray = NDArray[np.float64]

# Gram matrices from products of matrices are symmetric up to rounding.
_ASYMMETRY = 1e-5


class SvmStatus(IntEnum):
    """How the solution of one binary machine ended."""

    CONVERGED = _core.SVM_CONVERGED
    #: The iterations ran out, or rounding prevents further progress; `gaps` has the remaining gap.
    ITERATION_LIMIT = _core.SVM_ITERATION_LIMIT
    #: The rows of the subset lack one of the two signs; coefficients and bias are 0.
    UNTRAINED = _core.SVM_UNTRAINED
    #: Converged, but the kernel is not positive semidefinite: a stationary point only.
    INDEFINITE = _core.SVM_INDEFINITE


@dataclass(frozen=True)
class SvmSolution:
    r"""The machines of `solve_svm`, indexed by subset, value of C and label column.

    Attributes
    ----------
    coefficients : ndarray of shape (n_subsets, n_C, n_columns, n_rows)
        The :math:`a_i y_i`; 0 outside the subset and where the label is 0.
    biases : ndarray of shape (n_subsets, n_C, n_columns)
        The b of the decision value :math:`\sum_i a_i y_i K(x, x_i) + b`.
    status : ndarray of shape (n_subsets, n_C, n_columns)
        The `SvmStatus` of every machine.
    iterations : ndarray of shape (n_subsets, n_C, n_columns)
        The pairs moved, from the solution for the next smaller C.
    gaps : ndarray of shape (n_subsets, n_C, n_columns)
        The largest violation of the optimality conditions by a pair of rows.
    """

    coefficients: FloatArray
    biases: FloatArray
    status: NDArray[np.int8]
    iterations: NDArray[np.int64]
    gaps: FloatArray


def solve_svm(
    gram: ArrayLike,
    labels: ArrayLike,
    subsets: Sequence[ArrayLike],
    C_values: ArrayLike,
    weights: ArrayLike | None = None,
    tolerance: float = 1e-3,
    max_iterations: int | None = None,
    n_threads: int = 1,
) -> SvmSolution:
    r"""Train binary support vector machines for all subsets, columns and values of C.

    Each minimises :math:`\frac12 a'Qa - \sum_i a_i` with :math:`Q_{ij} = y_i y_j K_{ij}` subject
    to :math:`y'a = 0` and :math:`0 \le a_i \le C w_i`, by sequential minimal optimisation with
    second-order working set selection, warm-started from the next smaller C. The result is the
    same for any number of threads. Every thread keeps a copy of the part of `gram` that its
    machine trains on: in single precision for 128 rows or more and a tolerance of 1e-4 or more, as
    long as the estimated rounding error is well within the tolerance, and in double otherwise.

    Parameters
    ----------
    gram : array-like of shape (n_rows, n_rows)
        The kernel matrix, symmetric and finite, of type float64 or float32 (other types become
        float64).
    labels : array-like of shape (n_rows, n_columns)
        +1, -1, or 0 where the row takes no part in the column's problem.
    subsets : sequence of arrays of row numbers
        The rows to train on, for example the training part of every fold and all rows. A row
        that occurs twice counts twice.
    C_values : array-like of shape (n_C,)
        Positive, in any order.
    weights : array-like of shape (n_rows,), default=None
        Nonnegative weights of the rows, all 1 by default. Rows of weight 0 are skipped.
    tolerance : float, default=1e-3
        A machine has converged when no pair of rows violates the optimality conditions by more than
        this times ``min(1, s)``, where s is half the range of its decision values on its rows:
        with a small C the decision values are small, and so must be their errors. (s is at least
        a thousandth of the largest ``C w_i K_ii``, and the goal no smaller than rounding allows.)
    max_iterations : int, default=None
        The largest number of iterations for each machine and C; by default ten million, or 100
        per row if that is more.
    n_threads : int, default=1
        The number of threads.

    Returns
    -------
    solution : SvmSolution
        Coefficients, biases, status, iterations and gaps.

    Raises
    ------
    ValueError
        If an argument is not as described above.

    References
    ----------
    Fan, Chen and Lin (2005), Working set selection using second order information for training
    support vector machines.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.native.svm import solve_svm
    >>> x = np.array([-2.0, -1.0, 1.0, 3.0])
    >>> labels = np.array([[-1], [-1], [1], [1]])
    >>> solution = solve_svm(np.outer(x, x), labels, [np.arange(4)], [10.0])
    >>> np.abs(solution.coefficients[0, 0, 0]).round(6)
    array([0. , 0.5, 0.5, 0. ])
    """
    gram = _gram(gram)
    threads = _count(n_threads, "n_threads", 1)
    largest = _inspected(gram, threads)
    n_rows = len(gram)
    signs = _labels(labels, n_rows)
    rows, ends = joined(_checked_subsets(subsets, n_rows))
    path = _positive_vector(C_values, "C_values")
    row_weights = None if weights is None else _weights(weights, n_rows)
    if not (np.isfinite(tolerance) and tolerance > 0):
        raise ValueError("tolerance must be a finite positive number.")
    limit = max(10_000_000, 100 * n_rows)
    if max_iterations is not None:
        limit = _count(max_iterations, "max_iterations", 0)
    shape = (len(ends), len(path), signs.shape[1])
    solution = SvmSolution(
        coefficients=recycled_empty((*shape, n_rows)),
        biases=np.zeros(shape),
        status=np.zeros(shape, dtype=np.int8),
        iterations=np.zeros(shape, dtype=np.int64),
        gaps=np.zeros(shape),
    )
    _core.solve_svm(
        gram,
        largest,
        signs,
        rows,
        ends,
        path,
        row_weights,
        float(tolerance),
        limit,
        threads,
        solution.coefficients,
        solution.biases,
        solution.gaps,
        solution.iterations,
        solution.status,
    )
    return solution


def _gram(values: ArrayLike) -> NDArray[Any]:
    given = np.asarray(values)
    dtype = np.float32 if given.dtype == np.float32 else np.float64
    gram = np.ascontiguousarray(given, dtype=dtype)
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
        raise ValueError(f"gram must be a square matrix; got an array of shape {given.shape}.")
    if len(gram) > _core.SVM_MOST_ROWS:
        raise ValueError(f"gram must have at most {_core.SVM_MOST_ROWS} rows.")
    return gram


def _inspected(gram: NDArray[Any], n_threads: int) -> float:
    """Return the largest absolute entry after checking that `gram` is finite and symmetric."""
    finite, largest, asymmetry = _core.inspect_gram(gram, n_threads)
    if not finite:
        raise ValueError("The Gram matrix must be finite; it has a NaN or infinite entry.")
    if asymmetry > _ASYMMETRY * largest:
        raise ValueError(
            f"The Gram matrix must be symmetric; mirrored entries differ by {asymmetry:.2g}."
        )
    return largest


def _labels(values: ArrayLike, n_rows: int) -> NDArray[np.int8]:
    given = np.asarray(values)
    if given.ndim != 2 or len(given) != n_rows:
        raise ValueError(
            "labels must have two dimensions and one row for every row of gram; got an array of "
            f"shape {given.shape} for {n_rows} rows."
        )
    if not np.isin(given, (-1, 0, 1)).all():
        raise ValueError("labels must be -1, 0 or +1.")
    return np.ascontiguousarray(given, dtype=np.int8)


def _checked_subsets(subsets: Sequence[ArrayLike], n_rows: int) -> list[NDArray[np.int64]]:
    parts = []
    for number, subset in enumerate(subsets):
        part = np.asarray(subset)
        if part.ndim != 1 or (part.size and part.dtype.kind not in "iu"):
            raise ValueError(f"subset {number} must be a vector of row numbers (integers).")
        if part.size and not (0 <= part.min() and part.max() < n_rows):
            raise ValueError(f"subset {number} has a row number outside 0..{n_rows - 1}.")
        parts.append(part.astype(np.int64))
    return parts


def _positive_vector(values: ArrayLike, name: str) -> FloatArray:
    vector = np.array(values, dtype=np.float64, order="C")
    if vector.ndim != 1 or not (np.isfinite(vector) & (vector > 0)).all():
        raise ValueError(f"{name} must be a vector of finite positive numbers.")
    return vector


def _weights(values: ArrayLike, n_rows: int) -> FloatArray:
    weights = np.ascontiguousarray(values, dtype=np.float64)
    if weights.shape != (n_rows,) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(
            "weights must be a vector of finite nonnegative numbers, one for every row of gram."
        )
    return weights


def _count(value: int, name: str, least: int) -> int:
    try:
        count = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be an integer.") from None
    if not least <= count < 2**31:
        raise ValueError(f"{name} must be an integer from {least} to {2**31 - 1}.")
    return count
