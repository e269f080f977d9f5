"""Rows of inputs: some of them, and those that are not an array of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from .types import FloatArray, IntArray


class AnyRows:
    """Texts, or a data frame with categories: rows that can be counted and picked, nothing else.

    Note: it looks like an array where the pipe picks rows, so that nothing between the estimator
    and a wrapped classifier has to know the difference.

    Parameters
    ----------
    value : list, array-like or data frame
        The rows.

    Examples
    --------
    >>> from polychotomy.core.rows import AnyRows
    >>> rows = AnyRows(["red wine", "white wine", "ale"])
    >>> rows.shape, rows[[0, 2]].value
    ((3, 1), ['red wine', 'ale'])
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns; texts are one column."""
        shape: Any = getattr(self.value, "shape", (len(self.value),))
        return int(shape[0]), int(shape[1]) if len(shape) > 1 else 1

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> AnyRows:
        if isinstance(rows, slice):
            rows = np.arange(len(self))[rows]
        elif np.asarray(rows).dtype == bool:
            rows = np.flatnonzero(rows)
        return AnyRows(_safe_indexing(self.value, np.asarray(rows)))


def plain_inputs(X: Any) -> Any:
    """Return what a classifier reads: the rows themselves."""
    return X.value if isinstance(X, AnyRows) else X


def chosen_rows(y: IntArray, weights: FloatArray, most: int) -> IntArray:
    """Return the rows of positive weight; if over `most`, each class's share and at least one."""
    used = np.flatnonzero(weights > 0.0)
    if len(used) <= most:
        return used
    # Sorted by class, every k-th row gives each class its share, up to rounding.
    ordered = used[np.argsort(y[used], kind="stable")]
    places = ((np.arange(most) + 0.5) * (len(used) / most)).astype(np.intp)
    labels, first = np.unique(y[ordered], return_index=True)
    lost = ~np.isin(labels, y[ordered[places]])
    return np.sort(np.concatenate([ordered[places], ordered[first[lost]]]))
