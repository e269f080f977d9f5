"""A kernel matrix computed by the caller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.registry import register
from ..core.types import FloatArray, IntArray
from .base import Kernel, OnDemand
from .distances import dense

if TYPE_CHECKING:
    from .gram import SharedRows


@register("precomputed")
@dataclass(frozen=True)
class Precomputed(Kernel):
    """A matrix given by the caller: X is the kernel between its rows and the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.kernels import Precomputed, SharedRows
    >>> SharedRows(np.array([[2.0, 1.0], [1.0, 2.0]])).gram(Precomputed())
    array([[2., 1.],
           [1., 2.]])
    """

    is_precomputed = True

    def gram(self, rows: SharedRows, n_threads: int = 1) -> FloatArray:
        """Return the Gram matrix of all rows: the matrix itself."""
        return dense(rows.X)

    def gram_of(self, X: Any, rows: IntArray) -> FloatArray:
        """Return the part of the matrix that belongs to some rows."""
        return dense(X[np.ix_(rows, rows)])

    def diagonal(self, X: Any) -> FloatArray:
        """Return the diagonal of the matrix."""
        return np.asarray(X.diagonal(), dtype=np.float64).ravel()

    def on_demand(self, X: Any, rows: IntArray) -> OnDemand:
        """Return tiles of the matrix; a part is copied only when a solver asks for it."""
        diagonal = np.asarray(X[rows, rows], dtype=np.float64).ravel()

        def tile(some: IntArray, all_: slice) -> FloatArray:
            return dense(X[np.ix_(rows[some], rows[all_])])

        return OnDemand(diagonal, tile)

    @classmethod
    def magnitude(cls, X: Any) -> float | None:
        """Return None, because the entries are not inputs."""
        return None
