"""The sigmoid kernel."""

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


@register("sigmoid")
@dataclass(frozen=True)
class Sigmoid(Kernel):
    """The sigmoid kernel, ``tanh(gamma x.z + coef0)``.

    It is not positive semidefinite as a rule: a support vector machine finds a stationary point of
    its dual, as LIBSVM does, and the other kernel machines refuse it.

    Parameters
    ----------
    gamma : float, default=1.0
        The scale of the products.
    coef0 : float, default=0.0
        The constant.

    References
    ----------
    Lin and Lin (2003), A study on sigmoid kernels for SVM and the training of non-PSD kernels by
    SMO-type methods.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.kernels import Sigmoid
    >>> Sigmoid(gamma=0.1, coef0=-1.0).between(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[0.09966799]])
    """

    gamma: float = 1.0
    coef0: float = 0.0

    fitted_state = parameters("gamma", "coef0")
    is_indefinite = True

    def between(self, X: Any, Z: Any) -> FloatArray:
        """Return the kernel between every row of X and every row of Z."""
        return self._of(inner_products(X, Z))

    def gram(self, rows: SharedRows, n_threads: int = 1) -> FloatArray:
        """Return the Gram matrix of training rows, from their products."""
        return self._of(rows.products)

    def diagonal(self, X: Any) -> FloatArray:
        """Return the kernel of every row of X with itself."""
        return self._of(squared_norms(X))

    def _of(self, products: FloatArray) -> FloatArray:
        return np.tanh(self.gamma * products + self.coef0)
