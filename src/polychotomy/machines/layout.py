"""Training rows in groups, so that all subsets and columns are read off from sums over groups.

Rows that have the same labels and are in the same subsets are a group. Groups whose rows take part
in the same columns, and are in the same subsets, are a cell. A matrix of products is summed for
every cell, and a vector for every group. With 5 folds and one-vs-rest there are 5 cells, with
one-vs-one 5 for every class.

Note: the training rows of a fold are the sum of the other cells. Subtracting the fold from the
total takes fewer additions and was as exact in trials, but additions are a small part of the time,
and cannot cancel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.types import FloatArray, IntArray, SignArray

# So many numbers of a table are coded at once.
CODES_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Layout:
    """The rows of some subsets in groups.

    Parameters
    ----------
    rows : ndarray of shape (n_used,)
        The rows in use, sorted by group.
    groups : ndarray of shape (n_used,)
        The group of each.
    cells : ndarray of shape (n_groups,)
        The cell of every group, ascending.
    labels : ndarray of shape (n_groups, n_columns)
        The labels of the rows of every group.
    kinds : ndarray of shape (n_groups,)
        Groups with the same labels have the same number, below the number of distinct labels.
    counts : ndarray of shape (n_groups, n_subsets)
        How often each subset has the rows of a group.
    sizes, weights : ndarray of shape (n_groups,)
        The number of rows, and their total weight.
    """

    rows: IntArray
    groups: IntArray
    cells: IntArray
    labels: SignArray
    kinds: IntArray
    counts: IntArray
    sizes: FloatArray
    weights: FloatArray

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return int(self.cells.max(initial=-1)) + 1

    def problems(self, subset: int) -> list[IntArray]:
        """Return the columns that have both signs in a subset, grouped by the rows in them."""
        inside = self.labels[self.counts[:, subset] > 0]
        usable = (inside > 0).any(axis=0) & (inside < 0).any(axis=0)
        found: dict[bytes, list[int]] = {}
        for column in np.flatnonzero(usable).tolist():
            found.setdefault((inside[:, column] != 0).tobytes(), []).append(column)
        return [np.array(columns) for columns in found.values()]

    def taking_part(self, subset: int, column: int) -> IntArray:
        """Return how often every group counts in a column of a subset."""
        counts: IntArray = np.where(self.labels[:, column] != 0, self.counts[:, subset], 0)
        return counts


def lay_out(
    labels: SignArray, subsets: Sequence[IntArray], weights: FloatArray | None = None
) -> Layout:
    """Put rows in groups.

    Parameters
    ----------
    labels : ndarray of shape (n_rows, n_columns)
        The labels -1, 0 and +1.
    subsets : sequence of ndarray of int
        The rows of every subset.
    weights : ndarray of shape (n_rows,), default=None
        The weights of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.machines.layout import lay_out
    >>> labels = np.array([[1, 1], [1, 1], [-1, 0], [-1, 0]], dtype=np.int8)
    >>> layout = lay_out(labels, [np.arange(4), np.array([0, 2])])
    >>> layout.rows.tolist(), layout.n_cells, len(layout.sizes)
    ([0, 2, 1, 3], 4, 4)
    """
    n_rows = len(labels)
    counts = [np.bincount(subset, minlength=n_rows) for subset in subsets]
    used = np.flatnonzero(sum(counts))
    # Equal rows have equal codes, and other rows other ones, but for a chance of about 1e-16.
    patterns = _distinct(np.column_stack([count[used] for count in counts]))
    kinds = _distinct(labels[used])
    participants = _distinct(labels[used] != 0)
    order = np.lexsort((kinds, participants, patterns))
    rows = used[order]
    keys = np.column_stack([patterns, participants, kinds])[order]
    changes = np.any(np.diff(keys, axis=0) != 0, axis=1)
    groups = np.concatenate([[0], np.cumsum(changes)]).astype(np.intp)
    firsts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    new_cell = np.any(np.diff(keys[firsts, :2], axis=0) != 0, axis=1)
    return Layout(
        rows=rows,
        groups=groups,
        cells=np.concatenate([[0], np.cumsum(new_cell)]).astype(np.intp),
        labels=labels[rows[firsts]],
        kinds=keys[firsts, 2],
        counts=np.column_stack([count[rows[firsts]] for count in counts]),
        sizes=np.bincount(groups).astype(np.float64),
        weights=np.bincount(groups, None if weights is None else weights[rows]).astype(np.float64),
    )


def _distinct(table: NDArray[np.generic]) -> IntArray:
    """Return a number for every row of a table: the same for equal rows, in order of appearance."""
    random = np.random.default_rng(0)
    factors = random.integers(0, 2**63, size=table.shape[1], dtype=np.uint64)
    codes = np.empty(len(table), dtype=np.uint64)
    # Whole numbers modulo 2**64, so the order of the sums is nothing. Some rows at a time, because
    # one column after the other reads the table as often as it has columns.
    step = max(1, CODES_AT_ONCE // table.shape[1]) if table.shape[1] else max(1, len(table))
    for start in range(0, len(table), step):
        some = table[start : start + step].astype(np.int64).view(np.uint64)
        np.matmul(some, factors, out=codes[start : start + step])
    _, firsts, numbers = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.empty(len(firsts), dtype=np.intp)
    rank[np.argsort(firsts)] = np.arange(len(firsts))
    found: IntArray = rank[numbers.ravel()]
    return found
