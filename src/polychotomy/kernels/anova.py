"""The ANOVA kernel: functions of single inputs, and of few inputs together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..core.registry import register
from ..core.types import FloatArray
from .base import Kernel, parameters


@register("anova")
@dataclass(frozen=True)
class Anova(Kernel):
    """The ANOVA kernel, ``prod_j (1 + exp(-gamma |x_j - z_j|)) / 2``.

    The product is a sum over all sets of inputs, each with a Laplacian kernel of the inputs in the
    set: a machine with it adds functions of single inputs, of pairs and so on. That suits classes
    that depend on thresholds of single inputs, as trees find them. For inputs that are categories
    coded as numbers far apart, or one-hot, it is a kernel of overlaps: every input that differs
    halves it.

    Parameters
    ----------
    gamma : float, default=0.5
        How fast two values of an input become different. Inputs should have unit deviation. The
        more inputs, the smaller it should be; "scale" of the machines is a good start.

    Notes
    -----
    Products and sums of positive semidefinite kernels are positive semidefinite (Stitson et al.,
    1999; here with a Laplacian kernel for each input).

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.kernels import Anova
    >>> Anova(0.5).between(np.array([[0.0, 0.0]]), np.array([[0.0, 2.0], [99.0, 99.0]])).round(3)
    array([[0.684, 0.25 ]])
    """

    gamma: float = 0.5

    fitted_state = parameters("gamma")
    scale_power = 0.5

    def between(self, X: Any, Z: Any) -> FloatArray:
        """Return the kernel between every row of X and every row of Z.

        Note: input by input, so that memory is that of the result. Sparse inputs are made dense:
        where both rows are 0 the factor is 1, but rows seldom agree in that for all inputs.
        """
        X, Z = (rows.toarray() if issparse(rows) else np.asarray(rows) for rows in (X, Z))
        product = np.ones((len(X), len(Z)))
        factor = np.empty_like(product)
        for x, z in zip(X.T, Z.T, strict=True):
            np.subtract.outer(x, z, out=factor)
            np.abs(factor, out=factor)
            factor *= -self.gamma
            np.exp(factor, out=factor)
            factor += 1.0
            factor *= 0.5
            product *= factor
        return product

    def diagonal(self, X: Any) -> FloatArray:
        """Return the kernel of every row of X with itself."""
        return np.ones(X.shape[0])

    def is_semidefinite(self, X: Any) -> bool:
        """Whether the Gram matrix is known to be positive semidefinite: always."""
        return True

    @classmethod
    def magnitude(cls, X: Any) -> float | None:
        """Return a bound of the distances of rows."""
        return float(2.0 * np.max(abs(X).sum(axis=1), initial=0.0))
