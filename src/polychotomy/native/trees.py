"""Small regression trees on binned inputs, for gradient boosting, and the answers of many trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core

__all__ = ["BinnedRows", "Tree", "answer_trees", "binned", "grow_tree"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# The most bins of an input, whose numbers are bytes.
MOST_BINS = 255
PERCENT = np.linspace(0.0, 100.0, MOST_BINS + 1)[1:-1]
# The least sum of curvatures of a leaf: rows that are certain already are not split further.
LEAST_CURVATURE = 1e-3


class BinnedRows(NamedTuple):
    """Inputs as the numbers of their bins.

    Attributes
    ----------
    bins : ndarray of shape (n_rows, n_inputs), uint8
        The bin of every input of every row.
    counts : ndarray of shape (n_inputs,)
        The number of bins of every input.
    thresholds : list of ndarray
        For every input, the upper ends of its bins but the last.
    """

    bins: NDArray[np.uint8]
    counts: IntArray
    thresholds: list[FloatArray]


class Tree(NamedTuple):
    """A tree: its first node is its root, and a leaf is its own next node.

    Attributes
    ----------
    inputs : ndarray of shape (n_nodes,)
        The input that a node asks for; 0 for a leaf.
    thresholds : ndarray of shape (n_nodes,)
        Up to it, a row goes on to the left; 0 for a leaf.
    left, right : ndarray of shape (n_nodes,)
        The next nodes.
    values : ndarray of shape (n_nodes,)
        What a leaf answers.
    depth : int
        The steps from the root to the last leaf.
    """

    inputs: IntArray
    thresholds: FloatArray
    left: IntArray
    right: IntArray
    values: FloatArray
    depth: int


def binned(X: ArrayLike, weights: FloatArray | None = None) -> BinnedRows:
    """Return inputs in at most 255 bins each, of about equal weights.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_inputs)
        Finite numbers.
    weights : ndarray of shape (n_rows,), default=None
        The weights of the rows, positive.

    Returns
    -------
    BinnedRows
        An input with few values has a bin for each of them, but for neighbouring numbers.

    Examples
    --------
    >>> from polychotomy.native.trees import binned
    >>> rows = binned([[1.0, 0.0], [3.0, 0.0], [1.0, 0.0]])
    >>> rows.bins.tolist(), rows.counts.tolist(), rows.thresholds[0].tolist()
    ([[0, 0], [1, 0], [0, 0]], [2, 1], [2.0])
    """
    X = np.asarray(X, dtype=np.float64)
    bins = np.empty(X.shape, dtype=np.uint8)
    thresholds = []
    for j, column in enumerate(X.T):
        values = np.unique(column)
        if len(values) <= MOST_BINS:
            # Halves before the sum, which could overflow.
            ends = 0.5 * values[:-1] + 0.5 * values[1:]
        else:
            ends = np.unique(_percentiles(column, weights, PERCENT))
        bins[:, j] = np.searchsorted(ends, column)
        thresholds.append(ends)
    counts = np.array([len(ends) + 1 for ends in thresholds], dtype=np.int64)
    return BinnedRows(bins, counts, thresholds)


def _percentiles(values: FloatArray, weights: FloatArray | None, percent: FloatArray) -> FloatArray:
    """Return where the weights below reach so many per cent; the middle, if it is a stretch."""
    if weights is None:
        found: FloatArray = np.percentile(values, percent, method="averaged_inverted_cdf")
        return found
    order = np.argsort(values)
    below, ordered = np.cumsum(weights[order]), values[order]
    wanted = percent / 100.0 * below[-1]
    first = np.searchsorted(below, wanted)
    last = np.minimum(np.searchsorted(below, wanted, side="right"), len(values) - 1)
    middle: FloatArray = 0.5 * ordered[first] + 0.5 * ordered[last]
    return middle


def grow_tree(
    rows: BinnedRows,
    slopes: FloatArray,
    curvatures: FloatArray,
    scores: FloatArray,
    *,
    most_leaves: int,
    least_rows: int,
    penalty: float,
    rate: float,
) -> Tree:
    """Grow a tree for a loss, and add its answers to the scores of the rows.

    Parameters
    ----------
    rows : BinnedRows
        The inputs.
    slopes, curvatures : ndarray of shape (n_rows,)
        The derivatives of the loss of every row by its score.
    scores : ndarray of shape (n_rows,)
        To which the value of every row's leaf is added.
    most_leaves, least_rows : int
        The most leaves, and the fewest rows of one.
    penalty : float
        The penalty of squares of values.
    rate : float
        What values are multiplied by.

    Returns
    -------
    Tree

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.native.trees import binned, grow_tree
    >>> rows, scores = binned([[1.0], [2.0], [3.0], [4.0]]), np.zeros(4)
    >>> slopes = np.array([1.0, 1.0, -1.0, -1.0])
    >>> tree = grow_tree(rows, slopes, np.ones(4), scores, most_leaves=2, least_rows=1,
    ...                  penalty=0.0, rate=1.0)
    >>> float(tree.thresholds[0]), scores.round(6).tolist()
    (2.5, [-1.0, -1.0, 1.0, 1.0])
    """
    n_rows = len(rows.bins)
    most_leaves, least_rows = min(most_leaves, max(1, n_rows)), min(least_rows, n_rows + 1)
    room = 2 * most_leaves - 1
    inputs, last_bins, left, right = (np.empty(room, dtype=np.int64) for _ in range(4))
    values = np.empty(room)
    n_nodes = _core.grow_tree(
        rows.bins,
        rows.counts,
        slopes,
        curvatures,
        most_leaves,
        least_rows,
        LEAST_CURVATURE,
        penalty,
        rate,
        inputs,
        last_bins,
        left,
        right,
        values,
        scores,
    )
    inputs, left, right = inputs[:n_nodes], left[:n_nodes], right[:n_nodes]
    thresholds, depths = np.zeros(n_nodes), np.zeros(n_nodes, dtype=int)
    # Children come after their parents.
    for node in np.flatnonzero(left != np.arange(n_nodes)):
        thresholds[node] = rows.thresholds[inputs[node]][last_bins[node]]
        depths[[left[node], right[node]]] = depths[node] + 1
    return Tree(inputs, thresholds, left, right, values[:n_nodes], int(depths.max()))


def answer_trees(
    X: FloatArray,
    scores: FloatArray,
    *,
    roots: IntArray,
    inputs: IntArray,
    thresholds: FloatArray,
    left: IntArray,
    right: IntArray,
    values: FloatArray,
    depth: int,
) -> None:
    """Add the answers of many trees to scores.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_inputs)
        The inputs.
    scores : ndarray of shape (n_rows, n_scores)
        To which answers are added.
    roots : ndarray of shape (n_rounds, n_scores)
        The first node of every tree.
    inputs, thresholds, left, right, values : ndarray of shape (n_nodes,)
        As in `Tree`, for all nodes of all trees.
    depth : int
        No path is followed for more steps.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.native.trees import answer_trees
    >>> scores = np.zeros((2, 1))
    >>> answer_trees(
    ...     np.array([[0.0], [5.0]]), scores, roots=np.array([[0]]), inputs=np.array([0, 0, 0]),
    ...     thresholds=np.array([2.0, 0.0, 0.0]), left=np.array([1, 1, 2]),
    ...     right=np.array([2, 1, 2]), values=np.array([0.0, -1.0, 1.0]), depth=1)
    >>> scores.ravel().tolist()
    [-1.0, 1.0]
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    _core.answer_trees(roots, inputs, thresholds, left, right, values, depth, X, scores)
