"""What the solvers of kernel machines return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray


@dataclass(frozen=True)
class Solved:
    """Solutions of binary problems on one Gram matrix, as the solvers give them.

    Parameters
    ----------
    coefficients : ndarray of shape (n_subsets, n_columns, n_rows)
        The weights of the training rows; 0 for rows that take no part.
    biases : ndarray of shape (n_subsets, n_columns)
        The biases.
    trained : ndarray of shape (n_subsets, n_columns)
        Whether the column had rows of both signs.
    converged : ndarray of shape (n_subsets, n_columns)
        Whether the solver reached its tolerance.
    iterations : ndarray of shape (n_subsets, n_columns)
        How many iterations it took.
    """

    coefficients: FloatArray
    biases: FloatArray
    trained: NDArray[np.bool_]
    converged: NDArray[np.bool_]
    iterations: NDArray[np.integer[Any]]
