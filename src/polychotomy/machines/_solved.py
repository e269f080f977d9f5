"""What the solvers of kernel machines give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray, IntArray


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

    @classmethod
    def untrained(cls, n_subsets: int, n_columns: int, n_rows: int) -> Self:
        """Return columns that are all untrained, to be filled in."""
        shape = (n_subsets, n_columns)
        return cls(
            coefficients=np.zeros((*shape, n_rows)),
            biases=np.zeros(shape),
            trained=np.zeros(shape, dtype=bool),
            converged=np.ones(shape, dtype=bool),
            iterations=np.zeros(shape, dtype=np.int64),
        )


def scatter(part: Solved, rows: IntArray, n_rows: int) -> Solved:
    """Return the solutions of problems on some rows as solutions on all rows."""
    coefficients = np.zeros((*part.coefficients.shape[:2], n_rows))
    coefficients[:, :, rows] = part.coefficients
    return replace(part, coefficients=coefficients)


def join_columns(parts: Sequence[Solved]) -> Solved:
    """Put the solutions of columns side by side."""
    return Solved(
        *(
            np.concatenate([getattr(part, name) for part in parts], axis=1)
            for name in Solved.__dataclass_fields__
        )
    )
