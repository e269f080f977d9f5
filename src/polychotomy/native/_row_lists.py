"""Subsets of rows in the form that the core takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

IndexArray = NDArray[np.int64]


def joined(subsets: Sequence[ArrayLike]) -> tuple[IndexArray, IndexArray]:
    """Return the row numbers of all subsets one after the other, and where each ends."""
    rows = [np.asarray(subset, dtype=np.int64).ravel() for subset in subsets]
    ends = np.cumsum([len(subset) for subset in rows], dtype=np.int64)
    return np.concatenate([*rows, np.zeros(0, dtype=np.int64)]), ends
