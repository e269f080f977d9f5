"""The polynomial kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.registry import register
from ..core.types import FloatArray
from .base import Kernel, parameters
from .distances import inner_products, squared_norms

if TYPE_CHECKING:
    from .gram import SharedRows


@register("poly")
@dataclass(frozen=True)
class Polynomial(Kernel):
    """The polynomial kernel, ``(gamma x.z + coef0)^degree``.

    Parameters
    ----------
    gamma : float, default=1.0
        The scale of the products.
    degree : float, default=3
        The degree.
    coef0 : float, default=0.0
        The constant.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.kernels import Polynomial
    >>> Polynomial(degree=2, coef0=1).between(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[144.]])
    """

    gamma: float = 1.0
    degree: float = 3
    coef0: float = 0.0

    fitted_state = parameters("gamma", "degree", "coef0")
    takes_sigma2 = True

    def between(self, X: Any, Z: Any) -> FloatArray:
        """Return the kernel between every row of X and every row of Z."""
        return self._of(inner_products(X, Z))

    def gram(self, rows: SharedRows, n_threads: int = 1) -> FloatArray:
        """Return the Gram matrix of training rows, from their products."""
        return self._of(rows.products)

    def diagonal(self, X: Any) -> FloatArray:
        """Return the kernel of every row of X with itself."""
        return self._of(squared_norms(X))

    def is_semidefinite(self, X: Any) -> bool:
        """Whether the Gram matrix is known to be positive semidefinite, up to rounding."""
        return self.coef0 >= 0.0 and self.degree >= 0.0 and float(self.degree).is_integer()

    def _of(self, products: FloatArray) -> FloatArray:
        return np.power(self.gamma * products + self.coef0, self.degree)
