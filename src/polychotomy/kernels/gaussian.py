"""The Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..core.registry import register
from ..core.types import FloatArray, IntArray
from ..native import _core
from ..native.memory import recycled_empty
from .base import Kernel, OnDemand, parameters, some_rows
from .distances import inner_products, squared_distances, squared_norms

if TYPE_CHECKING:
    from .gram import SharedRows

# If gamma times a squared norm is larger, rounding of squared distances affects the kernel.
FAR_FROM_ZERO = 1e6
# The same in single precision, with rows moved to the origin.
FAR_IN_SINGLE = 1e2
SINGLE_ROUNDING = float(np.finfo(np.float32).eps)
# The number of rows whose kernel is computed together in single precision.
ROWS_IN_CACHE = 256


def exponential_of(distances: FloatArray, gamma: float, n_threads: int = 1) -> FloatArray:
    """Return ``exp(-gamma distance)``. The native exponential is faster than NumPy's."""
    kernel = recycled_empty(distances.shape)
    _core.gaussian_of_distances(np.ascontiguousarray(distances), kernel, gamma, n_threads)
    return kernel


@register("rbf")
@dataclass(frozen=True)
class Gaussian(Kernel):
    """The Gaussian kernel, ``exp(-gamma |x - z|^2)``.

    Parameters
    ----------
    gamma : float, default=1.0
        Its width; DUAN03's and DUAN05's ``sigma2`` is ``1 / (2 gamma)``.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.kernels import Gaussian, SharedRows
    >>> rows = SharedRows(np.array([[0.0], [1.0], [3.0]]))
    >>> rows.gram(Gaussian(gamma=0.5)).round(3)
    array([[1.   , 0.607, 0.011],
           [0.607, 1.   , 0.135],
           [0.011, 0.135, 1.   ]])
    """

    gamma: float = 1.0

    fitted_state = parameters("gamma")
    takes_sigma2 = True
    tuned_parameters = ("sigma2",)

    @property
    def sigma2(self) -> float:
        """The width in the papers' form, ``exp(-|x - z|^2 / (2 sigma2))``."""
        return 1.0 / (2.0 * self.gamma)

    def between(self, X: Any, Z: Any) -> FloatArray:
        """Return the kernel between every row of X and every row of Z."""
        return exponential_of(squared_distances(X, Z), self.gamma)

    def between_single(self, X: Any, Z: Any) -> NDArray[np.float32]:
        """Return the kernel between rows in single precision, from products of small blocks."""
        # The kernel does not depend on the origin, and rounding is smallest near it.
        origin = Z.mean(axis=0)
        Z, gamma = Z - origin, np.float32(self.gamma)
        factors, terms = (2 * gamma * Z).T, gamma * np.einsum("ij,ij->i", Z, Z)
        kernel = np.empty((len(X), len(Z)), dtype=np.float32)
        # Blocks that stay in the processor's cache until their exponentials are there.
        for start in range(0, len(X), ROWS_IN_CACHE):
            block = kernel[start : start + ROWS_IN_CACHE]
            rows = X[start : start + ROWS_IN_CACHE] - origin
            np.matmul(rows, factors, out=block)
            own = gamma * np.einsum("ij,ij->i", rows, rows)
            _core.gaussian_of_single_products(block, own, terms)
        return kernel

    def single_is_safe(self, Z: Any) -> bool:
        """Whether squared distances keep enough digits in single precision."""
        spread = np.asarray(Z) - np.asarray(Z).mean(axis=0)
        return bool(self.gamma * squared_norms(spread).max(initial=0.0) <= FAR_IN_SINGLE)

    def gram(self, rows: SharedRows, n_threads: int = 1) -> FloatArray:
        """Return the Gram matrix of training rows, from their squared distances."""
        return exponential_of(rows.squared_distances, self.gamma, n_threads)

    def diagonal(self, X: Any) -> FloatArray:
        """Return the kernel of every row of X with itself."""
        return np.ones(X.shape[0])

    def is_semidefinite(self, X: Any) -> bool:
        """Whether the Gram matrix is known to be positive semidefinite, up to rounding.

        Squared distances lose digits if rows are far from 0, and then it need not be.
        """
        with np.errstate(over="ignore"):
            return bool(self.gamma * squared_norms(X).max() <= FAR_FROM_ZERO)

    def on_demand(self, X: Any, rows: IntArray) -> OnDemand:
        """Return the kernel of some rows of X (ascending numbers) without a Gram matrix."""
        part = some_rows(X, rows)
        # With gamma |x|^2 of every row, a tile takes one matrix product and one pass.
        terms = self.gamma * squared_norms(part)

        def tile(some: IntArray, all_: slice) -> FloatArray:
            products = np.ascontiguousarray(inner_products(part[some], part[all_]))
            _core.gaussian_of_products(products, terms[some], terms[all_], self.gamma)
            return products

        return OnDemand(self.diagonal(part), tile)

    def on_demand_single(self, X: Any, rows: IntArray) -> OnDemand | None:
        """Return the same in single precision; None if too few digits would remain."""
        part = some_rows(X, rows)
        error = self.single_error(part)
        if not np.isfinite(error):
            return None
        part = part - part.mean(axis=0)
        gamma = np.float32(self.gamma)
        terms, factors = gamma * np.einsum("ij,ij->i", part, part), 2 * gamma * part

        def tile(some: IntArray, all_: slice) -> NDArray[np.float32]:
            products: NDArray[np.float32] = np.matmul(part[some], factors[all_].T)
            _core.gaussian_of_single_products(products, terms[some], terms[all_])
            return products

        return OnDemand(self.diagonal(part), tile, error)

    def single_error(self, Z: Any) -> float:
        """Return the typical error of `between_single`, infinite for rows far from each other."""
        if Z.dtype != np.float32 or issparse(Z):
            return float(np.inf)
        spread = self.gamma * squared_norms(Z - Z.mean(axis=0)).max(initial=0.0)
        return SINGLE_ROUNDING * (1.0 + spread) if spread <= FAR_IN_SINGLE else float(np.inf)

    @classmethod
    def warns_of_scales(cls) -> bool:
        """Whether inputs of very different scales are worth a warning."""
        return True
