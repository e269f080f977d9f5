"""A block of rows, checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..core.types import FloatArray

# A block has at most this many rows, and about this many numbers (16 MB in double precision).
MOST_ROWS, LEAST_ROWS, ENTRIES = 1 << 16, 256, 1 << 21


@dataclass(frozen=True)
class Block:
    """Some consecutive rows of a source.

    Attributes
    ----------
    number : int
        The number of the block.
    start : int
        The number of its first row in the source.
    X : ndarray of shape (n_rows, n_features)
        The inputs, in single or double precision.
    y : ndarray of shape (n_rows,)
        The class labels.
    weights : ndarray of shape (n_rows,) or None
        The weights of the rows.
    """

    number: int
    start: int
    X: NDArray[Any]
    y: NDArray[Any]
    weights: FloatArray | None = None

    def used(self) -> NDArray[np.intp]:
        """Return the places of the rows of positive weight."""
        if self.weights is None:
            return np.arange(len(self.y))
        return np.flatnonzero(self.weights)


def rows_a_block(n_features: int) -> int:
    """Return the fixed number of rows in a block; it depends on the number of inputs only."""
    return int(np.clip(ENTRIES // max(n_features, 1), LEAST_ROWS, MOST_ROWS))


def checked_inputs(X: Any, where: str) -> NDArray[Any]:
    """Return inputs as a matrix in single or double precision."""
    if issparse(X):
        raise TypeError(f"{where} is a sparse matrix; blocks of rows are dense: use X.toarray().")
    values = np.asarray(X)
    if values.ndim != 2:
        raise ValueError(
            f"{where} has inputs of shape {values.shape}; they must have rows and columns."
        )
    if values.dtype.kind not in "biuf":
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"{where} has inputs that are not numbers; encode them first, or choose other "
                "columns."
            ) from None
    return values if values.dtype == np.float32 else values.astype(np.float64, copy=False)


def check_finite(X: NDArray[Any], place: Callable[[int], str]) -> None:
    """Refuse rows with missing or infinite inputs; `place` says where a row is."""
    # The sum of finite numbers is finite, unless it overflows; it is faster than all comparisons.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum(dtype=np.float64)):
            return
    wrong = ~np.isfinite(X)
    if wrong.any():
        row, column = (int(each) for each in np.argwhere(wrong)[0])
        raise ValueError(
            f"{place(row)} has a missing or infinite value in input {column} (all counted from 0). "
            "Remove the row, or fill in a value."
        )


def checked_labels(y: Any, n_rows: int, where: str, place: Callable[[int], str]) -> NDArray[Any]:
    """Return the labels of a block, one for each row, none missing."""
    if y is None:
        raise ValueError(f"{where} has no labels: a block is a pair (X, y), or (X, y, weights).")
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n_rows,):
        raise ValueError(f"{where} has {n_rows} rows, but labels of shape {labels.shape}.")
    # Only NaN differs from itself.
    missing = labels != labels
    if labels.dtype.kind == "O":
        missing = np.array([label is None for label in labels.tolist()], dtype=bool) | missing
    if np.any(missing):
        raise ValueError(f"{place(int(np.argmax(missing)))} has no label.")
    return labels


def checked_weights(
    weights: Any, n_rows: int, where: str, place: Callable[[int], str]
) -> FloatArray | None:
    """Return the weights of a block: finite, and not negative."""
    if weights is None:
        return None
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (n_rows,):
        raise ValueError(f"{where} has {n_rows} rows, but weights of shape {values.shape}.")
    wrong = ~(np.isfinite(values) & (values >= 0.0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{place(row)} has the weight {values[row]}; weights are finite and not negative."
        )
    return values
