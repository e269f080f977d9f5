"""The tree of a nested code, read from its matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .types import IntArray, SignArray


@dataclass(frozen=True)
class Branches:
    """A binary tree whose inner nodes are columns and whose leaves are classes.

    Parameters
    ----------
    children : ndarray of shape (n_columns, 2)
        What is on the positive and on the negative side of every column: the number of the column
        that splits this side further, or ``-1 - k`` if the side is class k alone.
    levels : tuple of ndarray of int
        The columns at depth 0 (the root), 1, 2, ...
    """

    children: IntArray
    levels: tuple[IntArray, ...]


def find_branches(matrix: SignArray) -> Branches | None:
    """Return the tree of a code matrix, or None if it is not a nested code.

    In a nested code one column has all classes, and each side of a column with several classes has
    its own column, in which exactly these classes take part.
    """
    n_classes, n_columns = matrix.shape
    if n_columns != n_classes - 1:
        return None
    taking_part = _keys(matrix != 0)
    column_of = {key: column for column, key in enumerate(taking_part)}
    root = column_of.get(_keys(np.ones((n_classes, 1), dtype=bool))[0])
    if root is None or len(column_of) < n_columns:
        return None
    children = np.empty((n_columns, 2), dtype=np.intp)
    for side, sign in enumerate((1, -1)):
        members = matrix == sign
        single = members.sum(axis=0) == 1
        found = [column_of.get(key, -1) for key in _keys(members)]
        children[:, side] = np.where(single, -1 - members.argmax(axis=0), found)
        # Every side of several classes must have found its column.
        if (children[~single, side] < 0).any():
            return None
    levels = [np.array([root])]
    while len(below := _inner(children, levels[-1])):
        levels.append(below)
    return Branches(children, tuple(levels))


def _inner(children: IntArray, columns: IntArray) -> IntArray:
    below = children[columns].ravel()
    return below[below >= 0]


def _keys(members: NDArray[np.bool_]) -> list[bytes]:
    """Return for every column a key of the set of its classes."""
    return [bits.tobytes() for bits in np.packbits(members, axis=0).T]
