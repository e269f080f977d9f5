"""The arrays that flow through the pipe."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
SignArray = NDArray[np.int8]


def is_range(index: IntArray) -> bool:
    """Return whether an index is 0, 1, 2, ..."""
    return bool((index == np.arange(len(index))).all())
