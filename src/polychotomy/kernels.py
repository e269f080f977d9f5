"""Kernels, and Gram matrices that many binary problems share.

Squared distances (or inner products) are computed once for a set of rows; every kernel of a
family then takes one pass over them.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.utils.extmath import safe_sparse_dot

from ._checks import one_of, positive_number
from ._stages import stage
from ._types import FloatArray, IntArray
from .native import _core
from .native.memory import recycled_empty

KERNELS = ("rbf", "laplacian", "linear", "poly", "precomputed")
# Kernels that are exp(-gamma distance).
OF_DISTANCES = ("rbf", "laplacian")
# Blocks of a kernel between new rows and training rows hold at most this many numbers.
BLOCK_ENTRIES = 1 << 23
# Beyond, gamma times squared norms, the rounding of squared distances shows in a Gaussian kernel.
FAR_FROM_ZERO = 1e6
# Deviations of inputs that differ by more than this are warned about.
SCALE_RATIO = 1e3


@dataclass(frozen=True)
class Kernel:
    """A kernel with all its parameters settled.

    Parameters
    ----------
    name : {"rbf", "laplacian", "linear", "poly", "precomputed"} or callable
        ``exp(-gamma |x - z|^2)``, ``exp(-gamma sum_j |x_j - z_j|)``, ``x.z``, ``(gamma x.z +
        coef0)^degree``, a matrix that the caller computes, or a function of two matrices.
    gamma : float, default=1.0
        The width of "rbf" and "laplacian", and the scale of "poly".
    degree : float, default=3
        The degree of "poly".
    coef0 : float, default=0.0
        The constant of "poly".

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.kernels import Kernel, SharedRows
    >>> rows = SharedRows(np.array([[0.0], [1.0], [3.0]]))
    >>> rows.gram(Kernel("rbf", gamma=0.5)).round(3)
    array([[1.   , 0.607, 0.011],
           [0.607, 1.   , 0.135],
           [0.011, 0.135, 1.   ]])
    """

    name: str | Callable[[Any, Any], Any]
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 0.0

    def is_semidefinite(self, X: Any) -> bool:
        """Whether the Gram matrix of rows is known to be positive semidefinite, but for rounding.

        Squared distances lose digits between rows that are far from 0, and there the Gaussian
        kernel need not be.
        """
        if self.name == "rbf":
            with np.errstate(over="ignore"):
                return bool(self.gamma * Kernel("linear").diagonal(X).max() <= FAR_FROM_ZERO)
        if self.name == "poly":
            return self.coef0 >= 0.0 and self.degree >= 0.0 and float(self.degree).is_integer()
        return self.name in ("laplacian", "linear")

    def of_distances(self, distances: FloatArray, n_threads: int = 1) -> FloatArray:
        """Return the Gaussian kernel of squared, or the Laplacian of city-block distances."""
        kernel = recycled_empty(distances.shape)
        # The core's exponential is faster than NumPy's.
        _core.gaussian_of_distances(np.ascontiguousarray(distances), kernel, self.gamma, n_threads)
        return kernel

    def of_products(self, products: FloatArray) -> FloatArray:
        """Return the linear or polynomial kernel of inner products."""
        if self.name == "linear":
            return products
        return np.power(self.gamma * products + self.coef0, self.degree)

    def between(self, X: Any, Z: Any) -> FloatArray:
        """Return the kernel between every row of X and every row of Z."""
        if self.name == "rbf":
            return self.of_distances(squared_distances(X, Z))
        if self.name == "laplacian":
            return self.of_distances(city_block_distances(X, Z))
        if callable(self.name):
            return np.asarray(self.name(X, Z), dtype=np.float64)
        products = safe_sparse_dot(X, Z.T, dense_output=True)
        return self.of_products(np.asarray(products, dtype=np.float64))

    def diagonal(self, X: Any) -> FloatArray:
        """Return the kernel of every row of X with itself."""
        if self.name in OF_DISTANCES:
            return np.ones(X.shape[0])
        if callable(self.name):
            rows = (X[i : i + 1] for i in range(X.shape[0]))
            return np.array([np.asarray(self.name(row, row)).item() for row in rows])
        squares = X.multiply(X).sum(axis=1) if issparse(X) else np.einsum("ij,ij->i", X, X)
        return self.of_products(np.asarray(squares, dtype=np.float64).ravel())


class SharedRows:
    """Training rows, with distances or products between them computed once.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        The inputs; for a precomputed kernel, the matrix itself.
    """

    def __init__(self, X: Any) -> None:
        # The solvers work in double precision; single would lose digits in the distances already.
        self.X = X if X.dtype == np.float64 else X.astype(np.float64)
        self._latest: tuple[Kernel, FloatArray] | None = None

    @cached_property
    def squared_distances(self) -> FloatArray:
        """The squared Euclidean distance between every two rows."""
        with stage("distances"):
            return squared_distances(self.X)

    @cached_property
    def city_block_distances(self) -> FloatArray:
        """The city-block distance between every two rows."""
        return city_block_distances(self.X)

    @cached_property
    def products(self) -> FloatArray:
        """The inner product of every two rows."""
        products = safe_sparse_dot(self.X, self.X.T, dense_output=True)
        return np.asarray(products, dtype=np.float64)

    def has_gram(self, kernel: Kernel) -> bool:
        """Whether the Gram matrix of all rows is there already."""
        return self._latest is not None and self._latest[0] == kernel

    def gram_of(self, kernel: Kernel, rows: IntArray) -> FloatArray:
        """Return the Gram matrix of some rows, without computing that of all."""
        if kernel.name == "precomputed":
            return np.ascontiguousarray(self.X[np.ix_(rows, rows)], dtype=np.float64)
        part = self.X[rows]
        return np.ascontiguousarray(kernel.between(part, part))

    def gram(self, kernel: Kernel, n_threads: int = 1) -> FloatArray:
        """Return the Gram matrix of all rows; the latest is kept."""
        if self._latest is None or self._latest[0] != kernel:
            self._latest = (kernel, np.ascontiguousarray(self._gram(kernel, n_threads)))
        return self._latest[1]

    def _gram(self, kernel: Kernel, n_threads: int) -> FloatArray:
        if kernel.name == "precomputed":
            return np.asarray(self.X, dtype=np.float64)
        if kernel.name == "rbf":
            return kernel.of_distances(self.squared_distances, n_threads)
        if kernel.name == "laplacian":
            return kernel.of_distances(self.city_block_distances, n_threads)
        if callable(kernel.name):
            return kernel.between(self.X, self.X)
        return kernel.of_products(self.products)


def squared_distances(X: Any, Z: Any = None) -> FloatArray:
    """Return the squared Euclidean distance between every row of X and every row of Z."""
    # Imported here, because it would add much to the time that importing the library takes.
    from sklearn.metrics.pairwise import euclidean_distances

    distances: FloatArray = euclidean_distances(X, Z, squared=True)
    return distances


def city_block_distances(X: Any, Z: Any = None) -> FloatArray:
    """Return the sum of the absolute differences of every row of X and every row of Z."""
    from sklearn.metrics.pairwise import manhattan_distances

    Z = X if Z is None else Z
    if issparse(X) or issparse(Z):
        X, Z = _with_small_indices(X), _with_small_indices(Z)
    distances: FloatArray = manhattan_distances(X, Z)
    return distances


def _with_small_indices(X: Any) -> Any:
    """Return a sparse matrix with indices of 32 bits, all that scikit-learn's distances take."""
    rows = csr_matrix(X)
    indices, starts = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return csr_matrix((rows.data, indices, starts), shape=rows.shape)


def prepare_rows(kernel: Any, X: Any) -> SharedRows:
    """Return training rows, after checking that the kernel of an estimator can take them."""
    warn_of_scales(kernel, X)
    rows = SharedRows(X)
    if isinstance(kernel, str) and kernel != "precomputed":
        _check_sizes(kernel, rows.X)
    return rows


def check_square(kernel: Any, X: Any) -> None:
    """Check that a precomputed kernel has a row and a column for every training row."""
    if isinstance(kernel, str) and kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            "With kernel='precomputed', X must be the square matrix of the kernel of every two "
            f"training rows; it has {X.shape[0]} rows and {X.shape[1]} columns."
        )


def _check_sizes(kernel: str, X: Any) -> None:
    """Check that no distance or product of rows overflows, and say so if all of them vanish."""
    with np.errstate(over="ignore"):
        if kernel == "laplacian":
            largest = 2.0 * np.max(abs(X).sum(axis=1), initial=0.0)
        else:
            largest = 4.0 * Kernel("linear").diagonal(X).max(initial=0.0)
    if not np.isfinite(largest):
        raise ValueError(
            f"X has entries as large as {abs(X).max():.0e}, for which kernel={kernel!r} overflows. "
            "Scale the inputs, for example with make_pipeline(MaxAbsScaler(), ...)."
        )
    if kernel != "laplacian" and largest < np.finfo(np.float64).tiny and abs(X).max() > 0.0:
        warnings.warn(
            f"X has no entry larger than {abs(X).max():.0e}, the square of which is 0 but for "
            f"rounding, so that kernel={kernel!r} cannot tell rows apart. Scale the inputs, for "
            "example with make_pipeline(MaxAbsScaler(), ...).",
            UserWarning,
            stacklevel=2,
        )


def warn_of_scales(kernel: Any, X: Any) -> None:
    """Say so if one input of a Gaussian kernel drowns the others, which scaling would prevent."""
    if not (isinstance(kernel, str) and kernel == "rbf") or issparse(X) or X.shape[0] < 2:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        deviations = np.std(X, axis=0, dtype=np.float64)
        # An input that is constant but for rounding does not count.
        varies = deviations > 1e-12 * np.abs(X).max(axis=0)
    deviations = deviations[np.isfinite(deviations) & varies]
    if len(deviations) < 2:
        return
    ratio = deviations.max() / deviations.min()
    if ratio > SCALE_RATIO:
        warnings.warn(
            f"The scales of the inputs differ by a factor of {ratio:.0e}, so that a Gaussian "
            "kernel sees hardly any but the largest. Scale them, for example with "
            "make_pipeline(StandardScaler(), ...).",
            UserWarning,
            stacklevel=2,
        )


def settle_kernel(
    kernel: Any,
    X: Any,
    sigma2: Any,
    gamma: Any,
    degree: Any,
    coef0: Any,
    counts: FloatArray | None = None,
) -> Kernel:
    """Turn the parameters of an estimator into a kernel, as scikit-learn does.

    `sigma2` is the width of ``exp(-|x - z|^2 / (2 sigma2))`` and takes precedence over `gamma`,
    which may be "scale" (1 / (n_features * variance of X), rows counting as often as `counts`
    says; for the Laplacian kernel the deviation in place of the variance, so that the unit of the
    inputs does not matter), "auto" (1 / n_features) or a number.
    """
    if callable(kernel):
        return Kernel(kernel)
    one_of(kernel, "kernel", KERNELS)
    if kernel in ("linear", "precomputed"):
        return Kernel(kernel)
    if kernel == "laplacian" and sigma2 is not None:
        raise ValueError(
            f"sigma2 is the width of the Gaussian kernel; give kernel='laplacian' its width as "
            f"gamma, and sigma2=None (got {sigma2!r})."
        )
    width = _settle_gamma(X, sigma2, gamma, counts, 0.5 if kernel == "laplacian" else 1.0)
    return Kernel(kernel, width, float(degree), float(coef0))


def _settle_gamma(
    X: Any, sigma2: Any, gamma: Any, counts: FloatArray | None, power: float
) -> float:
    if sigma2 is not None:
        return 1.0 / (2.0 * positive_number(sigma2, "sigma2"))
    if isinstance(gamma, str):
        one_of(gamma, "gamma", ("scale", "auto"))
        if gamma == "auto":
            return 1.0 / float(X.shape[1])
        variance = _variance(X, counts)
        return float(1.0 / (X.shape[1] * variance**power)) if variance > 0.0 else 1.0
    return positive_number(gamma, "gamma")


def _variance(X: Any, counts: FloatArray | None) -> float:
    """Return the variance of all entries of X, rows counting by their counts."""
    if counts is None and not issparse(X):
        return float(X.var())
    share = np.full(X.shape[0], 1.0 / X.shape[0]) if counts is None else counts / counts.sum()
    mean = (share @ X).mean()
    squares = X.multiply(X) if issparse(X) else (X - mean) ** 2
    return float((share @ squares).mean() - (mean**2 if issparse(X) else 0.0))


def settle_memory_limit(memory_limit: Any) -> float:
    """Return a memory limit in bytes; by default half of what is free."""
    if memory_limit is None:
        return 0.5 * _free_memory()
    return positive_number(memory_limit, "memory_limit")


def _free_memory() -> int:
    try:
        return int(os.sysconf("SC_AVPHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        # Not known on this system: a cautious guess.
        return 4 << 30
