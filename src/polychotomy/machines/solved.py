"""The results of the solvers of kernel machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..core.types import FloatArray, IntArray, SignArray


@dataclass(frozen=True)
class Solved:
    """Solutions of binary problems on one Gram matrix, as the solvers return them.

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
        The number of iterations.
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


@dataclass(frozen=True)
class SolvedPath:
    """Solutions along a path of C values: `Solved` with an additional axis after the subsets."""

    coefficients: FloatArray
    biases: FloatArray
    trained: NDArray[np.bool_]
    converged: NDArray[np.bool_]
    iterations: NDArray[np.integer[Any]]

    def __getitem__(self, value: int) -> Solved:
        return Solved(*(getattr(self, name)[:, value] for name in Solved.__dataclass_fields__))

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Whether some subset's solver did not converge, for every value and column."""
        found: NDArray[np.bool_] = np.any(self.trained & ~self.converged, axis=0)
        return found

    def of(self, subset: int, value: int) -> Solved:
        """Return the solutions of one subset, for one value."""
        one = slice(subset, subset + 1)
        return Solved(*(getattr(self, name)[one, value] for name in Solved.__dataclass_fields__))

    def __len__(self) -> int:
        return int(self.biases.shape[1])


@dataclass(frozen=True)
class Solution:
    """The solution of one binary problem; `Solved` has many."""

    coefficients: FloatArray
    bias: float
    converged: bool
    iterations: int


def solve_each(
    solve: Callable[[FloatArray, FloatArray], Solution],
    labels: SignArray,
    subsets: Sequence[IntArray],
    weights: FloatArray | None,
) -> Solved:
    """Solve every column on every subset, if both signs are present.

    `solve` takes the signs and the weights of all rows; rows that take no part have weight 0.
    """
    n_rows, n_columns = labels.shape
    solved = Solved.untrained(len(subsets), n_columns, n_rows)
    for place in np.ndindex(len(subsets), n_columns):
        signs = labels[:, place[1]].astype(np.float64)
        # A row that occurs twice counts twice.
        counts = np.bincount(subsets[place[0]], minlength=n_rows).astype(np.float64)
        sizes = np.abs(signs) * (counts if weights is None else counts * weights)
        if not ((signs > 0) & (sizes > 0)).any() or not ((signs < 0) & (sizes > 0)).any():
            continue
        solution = solve(signs, sizes)
        solved.coefficients[place] = solution.coefficients
        solved.biases[place] = solution.bias
        solved.trained[place] = True
        solved.converged[place] = solution.converged
        solved.iterations[place] = solution.iterations
    return solved


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
