"""Products that linear machines with many rows and few features share."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import diags_array, issparse

from ..core.types import FloatArray

# With more features, a Newton system of the size of the features takes too long.
MOST_FEATURES = 500
_ROWS_A_BLOCK = 8192


def weighted_products(V: Any, weights: FloatArray) -> FloatArray:
    """Return ``V' diag(weights) V`` without a weighted copy of V."""
    if issparse(V):
        return np.asarray((V.T @ (diags_array(weights) @ V)).toarray())
    total = np.zeros((V.shape[1], V.shape[1]))
    for start in range(0, len(V), _ROWS_A_BLOCK):
        block = slice(start, start + _ROWS_A_BLOCK)
        total += V[block].T @ (V[block] * weights[block, None])
    return total
