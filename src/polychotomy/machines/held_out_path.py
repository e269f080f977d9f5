"""Kernel machines along a path of C, some columns at a time where coefficients are mostly zero.

One-vs-one of 100 classes has 4,950 columns. With 1,500 rows, five folds and seven values of C,
their coefficients would be 2.1 GB, of which all but 2 % are zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..core.stages import stage
from ..core.types import FloatArray, IntArray, SignArray
from ..native.held_out import held_out_scores
from .solved import Solved, SolvedPath, join_columns

# More coefficients than this are solved for in blocks of columns: 64 MiB.
BLOCK_COEFFICIENTS = 1 << 23
# If columns have labels for a larger share of the rows, lists of coefficients would not be smaller.
LARGEST_SHARE = 0.25


class PathSolver(Protocol):
    """What solves every column on every subset of rows, for every value of C."""

    def solve_path(
        self,
        gram: FloatArray,
        labels: SignArray,
        subsets: Sequence[IntArray],
        C_values: Sequence[float],
        weights: FloatArray | None,
        n_threads: int,
    ) -> SolvedPath:
        """Return the solutions."""
        ...


@dataclass(frozen=True)
class HeldOutPath:
    """Machines along a path of C, and their scores of rows that they were not trained on.

    Parameters
    ----------
    scores : list of list of ndarray of shape (n_test_rows, n_columns)
        For every fold and value.
    failed : ndarray of shape (n_values, n_columns)
        Whether some fold's solver did not converge.
    machines : PathMachines
        The machines.
    """

    scores: list[list[FloatArray]]
    failed: NDArray[np.bool_]
    machines: PathMachines


@dataclass(frozen=True)
class PathMachines:
    """The machines of all folds and values, some columns after the other."""

    blocks: list[SolvedPath | SparsePath]

    @property
    def is_large(self) -> bool:
        """Whether there were too many coefficients for one array."""
        return len(self.blocks) > 1

    def solved(self, fold: int, value: int) -> Solved:
        """Return the machines of a fold, as those of one subset."""
        parts = [block.of(fold, value) for block in self.blocks]
        return parts[0] if len(parts) == 1 else join_columns(parts)


@dataclass(frozen=True)
class SparsePath:
    """The solutions of some columns; of the coefficients, those that are not zero."""

    coefficients: list[list[Any]]
    path: SolvedPath

    @classmethod
    def of_path(cls, path: SolvedPath) -> SparsePath:
        """Return the same as a dense path, in less memory."""
        kept = [[csr_array(matrix) for matrix in fold] for fold in path.coefficients]
        empty = np.zeros((*path.biases.shape, 0))
        rest = (path.biases, path.trained, path.converged, path.iterations)
        return cls(kept, SolvedPath(empty, *rest))

    @property
    def failed(self) -> NDArray[np.bool_]:
        """As in `SolvedPath`."""
        return self.path.failed

    def of(self, fold: int, value: int) -> Solved:
        """Return the solutions of a fold, as those of one subset."""
        bare = self.path.of(fold, value)
        dense = self.coefficients[fold][value].toarray()[None]
        return Solved(dense, bare.biases, bare.trained, bare.converged, bare.iterations)


def solve_held_out(
    solver: PathSolver,
    gram: FloatArray,
    labels: SignArray,
    splits: Sequence[tuple[IntArray, IntArray]],
    values: Sequence[float],
    weights: FloatArray | None,
    n_threads: int,
) -> HeldOutPath:
    """Train all columns without each fold, and score its rows.

    Note: neither solutions nor scores of a column depend on other columns, so that blocks change
    no bit.
    """
    subsets, tests = ([split[part] for split in splits] for part in (0, 1))
    n_columns = labels.shape[1]
    scores: list[list[FloatArray]] = []
    blocks: list[SolvedPath | SparsePath] = []
    for columns in _blocks(labels, len(splits) * len(values)):
        whole = columns.stop - columns.start == n_columns
        with stage("solver"):
            path = solver.solve_path(gram, labels[:, columns], subsets, values, weights, n_threads)
        with stage("scores"):
            found = held_out_scores(gram, path.coefficients, path.biases, tests, n_threads)
        if whole:
            scores = [list(fold) for fold in found]
        else:
            # An array for each value, so that each can be given back on its own.
            scores = scores or [
                [np.empty((len(rows), n_columns)) for _ in values] for rows in tests
            ]
            for all_columns, some in zip(scores, found, strict=True):
                for matrix, part in zip(all_columns, some, strict=True):
                    matrix[:, columns] = part
        blocks.append(path if whole else SparsePath.of_path(path))
    failed = np.concatenate([block.failed for block in blocks], axis=1)
    return HeldOutPath(scores, failed, PathMachines(blocks))


def _blocks(labels: SignArray, n_times: int) -> Iterator[slice]:
    """Yield columns that are solved together."""
    n_rows, n_columns = labels.shape
    each = max(1, n_times * n_rows)
    if n_columns * each <= BLOCK_COEFFICIENTS or np.count_nonzero(labels) > (
        LARGEST_SHARE * labels.size
    ):
        yield slice(0, n_columns)
        return
    step = max(1, BLOCK_COEFFICIENTS // each)
    for start in range(0, n_columns, step):
        yield slice(start, min(start + step, n_columns))
