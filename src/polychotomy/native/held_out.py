"""Scores of rows that machines on one Gram matrix were not trained on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._row_lists import joined
from .memory import recycled_empty

__all__ = ["held_out_scores"]

FloatArray = NDArray[np.float64]


def held_out_scores(
    gram: ArrayLike,
    coefficients: ArrayLike,
    biases: ArrayLike,
    tests: Sequence[ArrayLike],
    n_threads: int = 1,
) -> list[FloatArray]:
    r"""Return the scores of every fold's test rows by all of the fold's machines.

    :math:`\sum_j c_j K(x, x_j) + b` for every value of C and column. Only rows that some
    machine of a column uses are read. A score does not depend on the other values, folds and
    columns, nor on the number of threads.

    Parameters
    ----------
    gram : array-like of shape (n_rows, n_rows)
        The kernel matrix, symmetric.
    coefficients : array-like of shape (n_folds, n_values, n_columns, n_rows)
        The coefficients of the machines.
    biases : array-like of shape (n_folds, n_values, n_columns)
        Their biases.
    tests : sequence of arrays of row numbers
        The test rows of every fold.
    n_threads : int, default=1
        The number of threads.

    Returns
    -------
    scores : list of ndarray of shape (n_values, n_test_rows, n_columns)
        One for every fold.

    Raises
    ------
    ValueError
        If shapes do not fit, or a row does not exist.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.native.held_out import held_out_scores
    >>> x = np.array([-1.0, 1.0, 3.0])
    >>> machine = np.array([-0.5, 0.5, 0.0]).reshape(1, 1, 1, 3)
    >>> (scores,) = held_out_scores(np.outer(x, x), machine, np.zeros((1, 1, 1)), [[2]])
    >>> scores
    array([[[3.]]])
    """
    gram = np.ascontiguousarray(gram, dtype=np.float64)
    coefficients = np.ascontiguousarray(coefficients, dtype=np.float64)
    biases = np.ascontiguousarray(biases, dtype=np.float64)
    if gram.ndim != 2 or coefficients.ndim != 4 or biases.ndim != 3:
        raise ValueError("gram must have 2 dimensions, coefficients 4 and biases 3.")
    rows, ends = joined(tests)
    scores = recycled_empty((coefficients.shape[1], len(rows), coefficients.shape[2]))
    _core.held_out_scores(gram, coefficients, biases, rows, ends, n_threads, scores)
    return np.split(scores, ends[:-1], axis=1) if len(tests) else []
