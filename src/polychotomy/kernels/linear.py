"""The linear kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..core.registry import register
from ..core.types import FloatArray
from .base import Kernel
from .distances import inner_products, squared_norms

if TYPE_CHECKING:
    from .gram import SharedRows


@register("linear")
@dataclass(frozen=True)
class Linear(Kernel):
    """The linear kernel, ``x.z``.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.kernels import Linear
    >>> Linear().between(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    is_linear = True

    def between(self, X: Any, Z: Any) -> FloatArray:
        """Return the kernel between every row of X and every row of Z."""
        return inner_products(X, Z)

    def gram(self, rows: SharedRows, n_threads: int = 1) -> FloatArray:
        """Return the Gram matrix of training rows: their products."""
        return rows.products

    def diagonal(self, X: Any) -> FloatArray:
        """Return the kernel of every row of X with itself."""
        return squared_norms(X)

    def is_semidefinite(self, X: Any) -> bool:
        """Whether the Gram matrix is known to be positive semidefinite: always."""
        return True
