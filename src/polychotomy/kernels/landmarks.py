"""Landmarks and features: a kernel machine that is linear in a few hundred or thousand numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.sparse import issparse

from ..core.checks import one_of
from ..core.contents import sample_by_content
from ..core.registry import stored
from ..core.state import Array, Field, Holds, Indices, Inputs, Sizes, require
from ..core.types import FloatArray, IntArray
from .base import Kernel
from .landmark_choice import CHOICES

# Landmarks are chosen among at most this many rows, or this many times their number.
MOST_CANDIDATES, CANDIDATES_A_LANDMARK = 10_000, 5
# Blocks of kernel columns have about this many numbers, so that they stay near the processor.
BLOCK_ENTRIES = 1 << 23
# Below these condition numbers of the factor, the products of kernel columns are as good as those
# of features. Measured with 30 inputs, 1,000 landmarks and C up to 1e4: scores differ by at most
# 4e-9 in double, and 2e-3 in single precision.
WELL_CONDITIONED = {np.dtype(np.float64): 1000.0, np.dtype(np.float32): 100.0}
# Above it, features in single precision have too few digits; below, scores differ by at most 4e-4.
MOST_CONDITION_OF_SINGLE = 1000.0
POWER_STEPS = 20


class FeatureBlock(NamedTuple):
    """A block of rows as landmarks see it.

    Attributes
    ----------
    columns : ndarray of shape (n_rows, n_landmarks)
        The kernel with the landmarks, in double or single precision.
    features : ndarray of shape (n_rows, n_landmarks)
        The features; empty unless asked for.
    rest : ndarray of shape (n_rows,)
        ``k(x, x) - |z|^2``: the part of the kernel that the landmarks do not see; likewise.
    """

    columns: NDArray[Any]
    features: FloatArray
    rest: FloatArray


@stored("fitted.landmarks")
@dataclass(frozen=True)
class Landmarks:
    """A few training rows, and with them the features ``z(x) = L^-1 k(x)`` of any row.

    ``k(x)`` is the kernel of x with the landmarks and ``L L'`` the Gram matrix of the landmarks.
    The inner product of features is the Nystrom approximation of the kernel. It is exact if one of
    the rows is a landmark, and for all rows if every training row is one.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    rows : ndarray of shape (n_landmarks,)
        The numbers of the training rows.
    inputs : ndarray or sparse matrix of shape (n_landmarks, n_features)
        Their inputs.
    factor : ndarray of shape (n_landmarks, n_landmarks)
        The lower triangle L.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.kernels import Gaussian, choose_landmarks
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> landmarks = choose_landmarks(Gaussian(0.1), X, 50)
    >>> z = landmarks.features(X)
    >>> bool(np.allclose(z @ z.T, Gaussian(0.1).between(X, X)))
    True
    """

    kernel: Kernel
    rows: IntArray
    inputs: Any
    factor: FloatArray

    fitted_state: ClassVar[dict[str, Field]] = {
        "kernel": Holds(Kernel),
        "rows": Indices("m"),
        "inputs": Inputs("md"),
        "factor": Array("mm"),
    }

    def check_state(self, sizes: Sizes) -> None:
        """Check that the factor is a lower triangle, and that the kernel reads inputs."""
        require(not self.kernel.is_precomputed, self, "has a precomputed kernel")
        require((self.factor.diagonal() > 0.0).all(), self, "has a diagonal that is not positive")
        require(not np.triu(self.factor, 1).any(), self, "has no triangle")

    def __len__(self) -> int:
        return len(self.factor)

    @cached_property
    def condition(self) -> float:
        """The condition number of the factor, by a few steps of the power method each way."""
        largest = smallest = np.ones(len(self)) / np.sqrt(len(self))
        for _ in range(POWER_STEPS):
            largest = self.factor.T @ (self.factor @ largest)
            largest /= np.linalg.norm(largest)
            smallest = self.of_columns(self.from_columns(smallest[None])[0])
            size = float(np.linalg.norm(smallest))
            smallest /= size
        return float(np.linalg.norm(self.factor @ largest) * np.sqrt(size))

    @property
    def block_rows(self) -> int:
        """How many rows to treat at once; it depends on nothing but the number of landmarks."""
        return int(np.clip(BLOCK_ENTRIES // max(len(self), 1), 256, 16384))

    def precision(self, X: Any) -> np.dtype[Any]:
        """Return the precision for rows: single if they are, and if enough digits remain."""
        fine = (
            X.dtype == np.float32
            and not issparse(X)
            and self.condition <= MOST_CONDITION_OF_SINGLE
            and self.kernel.single_is_safe(self.inputs)
        )
        return np.dtype(np.float32 if fine else np.float64)

    def columns(self, X: Any, dtype: Any = np.float64) -> NDArray[Any]:
        """Return ``k(x)`` of every row of X, of shape (n_rows, n_landmarks)."""
        if dtype == np.float32:
            return self.kernel.between_single(X, self._single)
        if X.dtype != np.float64:
            X = X.astype(np.float64)
        return self.kernel.between(X, self.inputs)

    def from_columns(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Return the features of rows with these kernel columns, in the same precision."""
        factor = self._single_factor if columns.dtype == np.float32 else self.factor
        solved = solve_triangular(factor, columns.T, lower=True, check_finite=False)
        features: NDArray[Any] = solved.T
        return features

    def features(self, X: Any) -> FloatArray:
        """Return the features of every row of X, of shape (n_rows, n_landmarks)."""
        return self.from_columns(self.columns(X))

    def of_columns(self, weights: FloatArray) -> FloatArray:
        """Return ``L^-T w``: a linear function of the features as one of the kernel columns."""
        result: FloatArray = solve_triangular(
            self.factor, weights, lower=True, trans="T", check_finite=False
        )
        return result

    def block(self, X: Any, with_features: bool, dtype: Any = np.float64) -> FeatureBlock:
        """Return the kernel columns of rows, and their features on request.

        Features are in double precision: `rest` is a small difference.
        """
        if not with_features:
            return FeatureBlock(self.columns(X, dtype), np.zeros((0, len(self))), np.zeros(0))
        columns = self.columns(X)
        features = self.from_columns(columns)
        rest = self.kernel.diagonal(X) - np.einsum("ij,ij->i", features, features)
        return FeatureBlock(columns.astype(dtype, copy=False), features, np.maximum(rest, 0.0))

    @property
    def _single(self) -> Any:
        return self._singles[0]

    @property
    def _single_factor(self) -> NDArray[np.float32]:
        return self._singles[1]

    @cached_property
    def _singles(self) -> tuple[Any, NDArray[np.float32]]:
        return self.inputs.astype(np.float32), self.factor.astype(np.float32)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("kernel", "rows", "inputs", "factor")}


def choose_landmarks(
    kernel: Kernel,
    X: Any,
    number: int,
    rows: IntArray | None = None,
    choice: str = "pivoted_cholesky",
    seed: int = 0,
) -> Landmarks:
    """Choose landmarks among some rows.

    Note: they are chosen among at most 10,000 rows, or five times their number, drawn at random by
    their content, so that permuted rows have the same landmarks. Randomly pivoted Cholesky on a
    million rows would take as long as everything else together.

    Parameters
    ----------
    kernel : Kernel
        A positive semidefinite kernel of inputs.
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        The inputs.
    number : int
        How many landmarks. There are fewer if these span the features of all rows.
    rows : ndarray of int, default=None
        The rows to choose from; by default all.
    choice : {"pivoted_cholesky", "uniform", "k_means++"}, default="pivoted_cholesky"
        How: by randomly pivoted Cholesky, uniformly, or far from each other in the inputs.
    seed : int, default=0
        The seed of the random numbers.

    Returns
    -------
    Landmarks

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.kernels import Linear, choose_landmarks
    >>> X = np.random.default_rng(0).standard_normal((1000, 3))
    >>> len(choose_landmarks(Linear(), X, 100))
    3
    """
    one_of(choice, "landmark_choice", CHOICES)
    refuse_without_landmarks(kernel)
    random = np.random.default_rng(seed)
    most = max(MOST_CANDIDATES, CANDIDATES_A_LANDMARK * number)
    rows = sample_by_content(X, most, seed, rows)
    candidates = X[rows]
    if candidates.dtype != np.float64:
        candidates = candidates.astype(np.float64)
    chosen, factor = CHOICES[choice](kernel, candidates, number, random)
    return Landmarks(kernel, rows[chosen], candidates[chosen], np.asfortranarray(factor))


def refuse_without_landmarks(kernel: Kernel) -> None:
    """Raise ValueError for a kernel that has no features."""
    if kernel.is_precomputed:
        raise ValueError(
            "landmarks need the inputs of rows, which kernel='precomputed' does not have. Set "
            "landmarks=None, or pass the kernel as a function of two matrices."
        )
    if kernel.is_indefinite:
        raise ValueError(
            f"landmarks need a positive semidefinite kernel, which kernel={kernel.name!r} is not. "
            "Set landmarks=None, or choose another kernel."
        )
