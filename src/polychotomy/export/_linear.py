"""Small linear systems, one for every row: ONNX has no operator that solves them."""

from __future__ import annotations

import numpy as np

from ._graph import Tensor


def solve(system: Tensor, right: Tensor, size: int) -> Tensor:
    """Solve positive definite systems by Gauss and Jordan's elimination, unrolled.

    No rows are exchanged, which positive definite systems do not need.

    Parameters
    ----------
    system : Tensor of shape (n_rows, size, size)
        The matrices.
    right : Tensor of shape (n_rows, size, 1)
        The right-hand sides.
    size : int
        The number of equations of each.

    Returns
    -------
    solution : Tensor of shape (n_rows, size, 1)
    """
    both = system.graph.concatenate([system, right], axis=2)
    for k in range(size):
        pivot_row = both.columns([k], axis=1)
        scaled = pivot_row / pivot_row.columns([k], axis=2)
        unit = np.zeros((1, size, 1))
        unit[0, k, 0] = 1.0
        # The pivot's own row becomes the scaled one, all others lose their entry of column k.
        both = both - (both.columns([k], axis=2) - unit) * scaled
    return both.columns([size], axis=2)
