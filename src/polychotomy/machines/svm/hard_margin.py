"""The hard margin, C = infinity: rows on the wrong side are not allowed."""

from __future__ import annotations

import numpy as np

from ...core.types import FloatArray
from ..solved import Solved, SolvedPath

# Where no coefficient is at its bound, a larger C changes nothing, and so the solution is that of
# C = infinity. Each C begins where the last one ended, so that those after it cost next to nothing.
#
# Note: one very large C would be simpler. But bounds are met up to a share of C, and of a C of
# 1e10 that is more than most coefficients.
PATH = (1.0, 1e2, 1e4, 1e6, 1e8)
_NEAR = 1.0 - 1e-9


def is_inside(coefficients: FloatArray, bounds: FloatArray) -> bool:
    """Say whether no row that takes part is at its bound."""
    return not bool((np.abs(coefficients) >= _NEAR * bounds)[bounds > 0.0].any())


def first_inside(path: SolvedPath, weights: FloatArray | None) -> Solved:
    """Return the first solution along `PATH` without a row at its bound, for every problem.

    The last one where there is none, which means that the rows cannot be separated; it counts as
    not converged.
    """
    n_subsets, n_values, n_columns, n_rows = path.coefficients.shape
    sizes = np.ones(n_rows) if weights is None else weights
    chosen = np.full((n_subsets, n_columns), n_values - 1)
    found = ~path.trained[:, 0]
    for value, C in reversed(list(enumerate(PATH[:n_values]))):
        size = np.abs(path.coefficients[:, value])
        inside = ~((size >= _NEAR * C * sizes) & (size > 0.0)).any(axis=2)
        chosen[inside], found = value, found | inside
    rows, columns = np.indices(chosen.shape)
    picked = Solved(
        *(getattr(path, name)[rows, chosen, columns] for name in Solved.__dataclass_fields__)
    )
    iterations = path.iterations.cumsum(axis=1)[rows, chosen, columns]
    return Solved(
        picked.coefficients,
        picked.biases,
        picked.trained,
        picked.converged & found,
        iterations,
    )
