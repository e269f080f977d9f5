"""Kernel logistic regression (KLR) on a shared Gram matrix, and its leave-one-out scores."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

from . import _core
from ._row_lists import joined
from .memory import recycled_zeros

__all__ = ["KlrLeaveOneOut", "KlrSolution", "KlrStatus", "klr_leave_one_out", "solve_klr"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
SignArray = NDArray[np.int8]
IndexArray = NDArray[np.int64]

# Half of the matrix is read, so it has to be symmetric up to rounding.
_SYMMETRY = 1e-8
# Divisions by p (1 - p) use at least this.
_SMALLEST_VARIANCE = 1e-200


class KlrStatus(IntEnum):
    """How the solution of a problem ended."""

    CONVERGED = _core.KLR_CONVERGED
    #: The column lacks a sign among the rows of the subset; its coefficients and bias are 0.
    UNTRAINED = _core.KLR_UNTRAINED
    #: The largest number of Newton steps was not enough.
    ITERATION_LIMIT = _core.KLR_ITERATION_LIMIT
    #: No step lowers the objective: the tolerance is too small for the arithmetic.
    STALLED = _core.KLR_STALLED
    #: The Gram matrix is not positive semidefinite.
    INDEFINITE = _core.KLR_INDEFINITE
    #: Numbers became too large; the coefficients and the bias are 0.
    NOT_FINITE = _core.KLR_NOT_FINITE


@dataclass(frozen=True)
class KlrSolution:
    """The solutions of all problems: subset by C value by column.

    Attributes
    ----------
    coefficients : ndarray of shape (n_subsets, n_C, n_columns, n_rows)
        c; 0 for rows that are not used.
    biases : ndarray of shape (n_subsets, n_C, n_columns)
        b.
    status : ndarray of int of the same shape
        Of `KlrStatus`.
    iterations : ndarray of int of the same shape
        The numbers of Newton steps.
    criterion : ndarray of the same shape
        What was compared with the tolerance at the end; see `solve_klr`.
    """

    coefficients: FloatArray
    biases: FloatArray
    status: IntArray
    iterations: IntArray
    criterion: FloatArray


def solve_klr(
    gram: ArrayLike,
    labels: ArrayLike,
    subsets: Iterable[ArrayLike],
    C_values: ArrayLike,
    weights: ArrayLike | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 200,
    n_threads: int = 1,
) -> KlrSolution:
    r"""Fit kernel logistic regression to every label column, on every subset of rows, for every C.

    Minimises :math:`\frac12 c'Kc + C \sum_i v_i \log(1 + \exp(-y_i f_i))` over
    :math:`f = K c + b` (DUAN03, the KLR machine; the bias is not penalised). At the optimum
    :math:`c_i = C v_i y_i / (1 + \exp(y_i f_i))`, which makes c unique for singular K too, and
    :math:`P(y = +1 | x) = 1 / (1 + \exp(-f(x)))`.

    Newton's method with a line search. Its linear systems are solved by conjugate gradients,
    preconditioned by the latest Cholesky factor, or by a new factor where that is cheaper. The C
    values may come in any order; they are solved in ascending order, each from the solution
    before.

    With :math:`r_i = C v_i y_i / (1 + \exp(y_i f_i)) - c_i` and
    :math:`W_i = C v_i p_i (1 - p_i)` a problem has converged when neither
    :math:`\max_i |r_i| / (C v_i)`, an error of a probability, nor
    :math:`\sqrt{\sum r_i^2 / W_i / \sum W_i}` is above `tolerance`. The latter bounds, to first
    order, the root mean square (weighted by W) of the error of f, whatever C and the kernel are.

    Parameters
    ----------
    gram : array-like of shape (n_rows, n_rows)
        K, symmetric and positive semidefinite. A float64 array in C order is not copied.
    labels : array-like of shape (n_rows, n_columns)
        +1, -1, or 0 where the row takes no part in the column's problem.
    subsets : iterable of array-likes of int
        The row numbers of every subset, none twice.
    C_values : array-like of shape (n_C,)
        Positive.
    weights : array-like of shape (n_rows,), default=None
        Nonnegative weights v of the rows, all 1 by default. Rows of weight 0 take no part.
    tolerance : float, default=1e-6
        See above.
    max_iterations : int, default=200
        The largest number of Newton steps for one C.
    n_threads : int, default=1
        The number of threads for the (subset, column) problems. The result does not depend on
        it.

    Returns
    -------
    solution : KlrSolution
        Coefficients, biases and how each problem has ended. Failures are reported there.

    Raises
    ------
    ValueError
        If shapes do not fit, or an entry is not as described above.
    KeyboardInterrupt
        On Ctrl-C, within about a second.

    References
    ----------
    Keerthi, Duan, Shevade and Poo (2005), A fast dual algorithm for kernel logistic regression.
    Rasmussen and Williams (2006), Gaussian processes for machine learning, section 3.4.3, for
    the systems with I + W^1/2 K W^1/2.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.native.klr import solve_klr
    >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> solution = solve_klr(x @ x.T, np.sign(x), [range(4)], [1.0])
    >>> slope = (x[:, 0] @ solution.coefficients[0, 0, 0]).round(3)
    >>> float(slope), solution.status.tolist()
    (1.007, [[[0]]])
    """
    kernel = _checked_gram(gram)
    n_rows = len(kernel)
    signs = _checked_labels(labels, n_rows)
    subset_rows = [_checked_subset(rows, k, n_rows) for k, rows in enumerate(subsets)]
    penalties = _checked_penalties(C_values)
    row_weights = _checked_weights(weights, n_rows)
    if not 0 < tolerance < np.inf:
        raise ValueError(f"tolerance must be a positive number, got {tolerance!r}.")
    iteration_limit = _at_least_one(max_iterations, "max_iterations")
    threads = _at_least_one(n_threads, "n_threads")

    shape = (len(subset_rows), len(penalties), signs.shape[1])
    solution = KlrSolution(
        coefficients=recycled_zeros((*shape, n_rows)),
        biases=np.zeros(shape),
        status=np.zeros(shape, dtype=np.int32),
        iterations=np.zeros(shape, dtype=np.int32),
        criterion=np.zeros(shape),
    )
    order = np.argsort(penalties, kind="stable")
    _core.solve_klr(
        kernel,
        signs,
        row_weights,
        *joined(subset_rows),
        penalties[order],
        float(tolerance),
        iteration_limit,
        threads,
        solution.coefficients,
        solution.biases,
        solution.status,
        solution.iterations,
        solution.criterion,
    )
    if (np.diff(order) > 0).all():
        return solution
    place = np.argsort(order)
    return KlrSolution(
        solution.coefficients[:, place],
        solution.biases[:, place],
        solution.status[:, place],
        solution.iterations[:, place],
        solution.criterion[:, place],
    )


@dataclass(frozen=True)
class KlrLeaveOneOut:
    """Leave-one-out scores of one binary problem.

    Attributes
    ----------
    scores : ndarray of shape (n_rows,)
        For a row of the problem, about what a fit without the row says of it; for any other
        row, what the fit says.
    error : ndarray of shape (n_rows,)
        An estimate of the error of each score, in logits: 0 for rows outside the problem,
        infinite where the problem has no fit without the row. Rows with at most 0.05 were
        within 0.07 of a true refit on all data sets tried, C up to 1e4 (on a few more the
        estimate was too large). A much larger value only means that the score is unreliable.
    """

    scores: FloatArray
    error: FloatArray


def klr_leave_one_out(
    gram: ArrayLike,
    coefficients: ArrayLike,
    bias: float,
    labels: ArrayLike,
    C: float,
    weights: ArrayLike | None = None,
) -> KlrLeaveOneOut:
    r"""Approximate the scores that each row would get from a fit without it.

    Without row i, the others' curvatures W are taken to stay as they are; then, with
    :math:`P` the inverse of :math:`K + W^{-1}`, bordered by the bias,
    :math:`f_{-i} = z_i - (P z)_i / P_{ii}`, :math:`z = f + W^{-1} c`. The error is estimated by
    the (absolute) terms of a second Newton step, after row j has moved by
    :math:`P_{ji} c_i / (P_{ii} W_j)` and its curvature has changed. Most rows are within 0.05
    logits up to C = 300, but the most influential ones may be off by 1 or more from C = 30 on:
    look at the error. Takes a few matrices of n_rows x n_rows, and their inversion.

    Parameters
    ----------
    gram : array-like of shape (n_rows, n_rows)
        K.
    coefficients : array-like of shape (n_rows,)
        c, converged, from `solve_klr`.
    bias : float
        b.
    labels : array-like of shape (n_rows,)
        The column: +1, -1, or 0 where the row takes no part (also: where it is not in the
        subset).
    C : float
        The C of the fit.
    weights : array-like of shape (n_rows,), default=None
        The weights of the fit.

    Returns
    -------
    result : KlrLeaveOneOut
        Scores and their estimated errors.

    Raises
    ------
    ValueError
        If shapes do not fit, or an entry is not as described above.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.native.klr import klr_leave_one_out, solve_klr
    >>> x = np.array([-2.0, -1.0, 0.5, -0.5, 1.0, 2.0])
    >>> y = np.array([-1, -1, -1, 1, 1, 1])
    >>> gram = np.exp(-0.5 * (x[:, None] - x) ** 2)
    >>> fit = solve_klr(gram, y[:, None], [range(6)], [1.0])
    >>> c, b = fit.coefficients[0, 0, 0], fit.biases[0, 0, 0]
    >>> klr_leave_one_out(gram, c, b, y, 1.0).scores.round(2)
    array([ 0.23,  0.29,  0.83, -0.83, -0.29, -0.23])
    """
    kernel = _checked_gram(gram)
    n_rows = len(kernel)
    signs = _checked_labels(np.asarray(labels)[:, None], n_rows)[:, 0]
    row_weights = _checked_weights(weights, n_rows)
    c = np.asarray(coefficients, dtype=np.float64)
    if c.shape != (n_rows,):
        raise ValueError("coefficients must have one entry for every row of gram.")
    penalty = float(_checked_penalties(np.atleast_1d(C))[0])

    scores: FloatArray = kernel @ c + bias
    error = np.zeros(n_rows)
    used = np.flatnonzero((signs != 0) & (row_weights > 0))
    y = signs[used].astype(np.float64)
    if (y > 0).all() or (y < 0).all():
        return KlrLeaveOneOut(scores, np.where(np.isin(np.arange(n_rows), used), np.inf, error))
    cost = penalty * row_weights[used]
    scores[used], error[used] = _leave_one_out(
        kernel[np.ix_(used, used)], c[used], scores[used], y, cost
    )
    for sign in (-1.0, 1.0):
        if np.count_nonzero(y == sign) == 1:
            error[used[y == sign]] = np.inf
    return KlrLeaveOneOut(scores, error)


def _leave_one_out(
    kernel: FloatArray, c: FloatArray, f: FloatArray, y: FloatArray, cost: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the scores and their estimated errors of a problem in which all rows take part.

    Where weights are so large that rounding leaves nothing of the formula, the scores are those
    of the fit, with infinite errors.
    """
    variance = np.maximum(expit(f) * expit(-f), _SMALLEST_VARIANCE)
    root = np.sqrt(cost * variance)
    # P = root * projected * root: no division by a small W, as in the solver.
    system = root[:, None] * kernel * root
    system[np.diag_indices_from(system)] += 1.0
    try:
        factor = cho_factor(system, lower=True, overwrite_a=True)
    except (LinAlgError, ValueError):
        # Not positive definite after rounding, or not finite.
        return f, np.full(len(f), np.inf)
    inverse = cho_solve(factor, np.eye(len(f)))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        border = inverse @ root
        projected = inverse - np.outer(border, border) / (root @ border)
        diagonal = np.diag(projected)
        left_out = f - c / root**2 * (1.0 / diagonal - 1.0)

        # reach[j, i]: how far f_j moves, for a unit of c_i, when row i is left out.
        reach = projected / (diagonal * root) / root[:, None]
        np.fill_diagonal(reach, 0.0)
        moved = reach * c
        dual = cost * y * expit(-y * f)
        moved_dual = (cost * y)[:, None] * expit(-y[:, None] * (f[:, None] + moved))
        # What the others' dual values are off the straight line that the scores assume.
        bent = moved_dual - dual[:, None] + (root**2)[:, None] * moved
        # Absolute terms: where several are large, their cancelling is luck.
        second_step = np.abs(reach * bent).sum(axis=0)
    known = np.isfinite(left_out) & np.isfinite(second_step)
    return np.where(np.isfinite(left_out), left_out, f), np.where(known, second_step, np.inf)


def _checked_gram(gram: ArrayLike) -> FloatArray:
    kernel: FloatArray = np.ascontiguousarray(gram, dtype=np.float64)
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1]:
        raise ValueError(f"gram must be a square matrix; got an array of shape {kernel.shape}.")
    if len(kernel) == 0:
        raise ValueError("gram must have at least one row.")
    finite, largest, asymmetry = _core.inspect_gram(kernel, 1)
    if not finite:
        raise ValueError("The Gram matrix must be finite; it has a NaN or infinite entry.")
    if asymmetry > _SYMMETRY * largest:
        raise ValueError("The Gram matrix must be symmetric.")
    return kernel


def _checked_labels(labels: ArrayLike, n_rows: int) -> SignArray:
    given = np.asarray(labels)
    if given.ndim != 2 or len(given) != n_rows:
        raise ValueError(
            f"labels must have two dimensions and one row for every row of gram ({n_rows}); "
            f"got an array of shape {given.shape}."
        )
    if not np.isin(given, (-1, 0, 1)).all():
        raise ValueError("labels must be -1, 0 or +1.")
    return np.ascontiguousarray(given, dtype=np.int8)


def _checked_subset(rows: ArrayLike, number: int, n_rows: int) -> IndexArray:
    given = np.asarray(rows)
    if given.size == 0:
        given = given.astype(np.int64)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"Subset {number} must be a vector of row numbers.")
    if ((given < 0) | (given >= n_rows)).any():
        raise ValueError(f"Subset {number} has a row number outside 0..{n_rows - 1}.")
    if len(np.unique(given)) != len(given):
        raise ValueError(f"Subset {number} has a row twice; use weights for that.")
    return given.astype(np.int64)


def _checked_penalties(C_values: ArrayLike) -> FloatArray:
    values: FloatArray = np.array(C_values, dtype=np.float64)
    if values.ndim != 1 or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError("C must be positive and finite, and C_values a vector.")
    return values


def _checked_weights(weights: ArrayLike | None, n_rows: int) -> FloatArray:
    if weights is None:
        return np.ones(n_rows)
    values: FloatArray = np.ascontiguousarray(weights, dtype=np.float64)
    if values.shape != (n_rows,) or not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(
            "weights must be a vector of finite nonnegative numbers, one for every row of gram."
        )
    return values


def _at_least_one(value: int, name: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number, got {value!r}.") from None
    if number < 1:
        raise ValueError(f"{name} must be at least 1, got {value!r}.")
    return min(number, 2**31 - 1)
