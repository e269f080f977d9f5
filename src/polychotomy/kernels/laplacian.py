"""The Laplacian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.registry import register
from ..core.types import FloatArray
from .base import Kernel, parameters
from .distances import city_block_distances
from .gaussian import exponential_of

if TYPE_CHECKING:
    from .gram import SharedRows


@register("laplacian")
@dataclass(frozen=True)
class Laplacian(Kernel):
    """The Laplacian kernel, ``exp(-gamma sum_j |x_j - z_j|)``.

    Parameters
    ----------
    gamma : float, default=1.0
        Its width. "scale" divides by the standard deviation instead of the variance, so that the
        unit of the inputs does not matter.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.kernels import Laplacian
    >>> Laplacian(0.5).between(np.array([[0.0, 0.0]]), np.array([[1.0, 1.0]])).round(3)
    array([[0.368]])
    """

    gamma: float = 1.0

    fitted_state = parameters("gamma")
    scale_power = 0.5

    def between(self, X: Any, Z: Any) -> FloatArray:
        """Return the kernel between every row of X and every row of Z."""
        return exponential_of(city_block_distances(X, Z), self.gamma)

    def gram(self, rows: SharedRows, n_threads: int = 1) -> FloatArray:
        """Return the Gram matrix of training rows, from their city-block distances."""
        return exponential_of(rows.city_block_distances, self.gamma, n_threads)

    def diagonal(self, X: Any) -> FloatArray:
        """Return the kernel of every row of X with itself."""
        return np.ones(X.shape[0])

    def is_semidefinite(self, X: Any) -> bool:
        """Whether the Gram matrix is known to be positive semidefinite: always."""
        return True

    @classmethod
    def magnitude(cls, X: Any) -> float | None:
        """Return a bound of the distances of rows."""
        return float(2.0 * np.asarray(abs(X).sum(axis=1)).max(initial=0.0))
