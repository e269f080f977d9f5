"""Figures of runs, checked: NaN is a failed run, infinite values are refused."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..core.types import FloatArray


def run_array(values: ArrayLike, name: str) -> FloatArray:
    """Return one-dimensional figures, NaN allowed, after checking them."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension; got an array of shape {array.shape}.")
    refuse_infinite(array, name, "run")
    return array


def refuse_infinite(array: FloatArray, name: str, row: str) -> None:
    if np.isinf(array).any():
        at = int(np.argwhere(np.isinf(array))[0, 0])
        raise ValueError(f"{name} has an infinite value in {row} {at}; use NaN for a failed run.")
