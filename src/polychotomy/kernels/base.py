"""The base class of all kernels. A kernel is one registered class in one file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.registry import Part
from ..core.state import Number
from ..core.types import FloatArray, IntArray
from .distances import squared_norms

if TYPE_CHECKING:
    from .gram import SharedRows


class OnDemand(NamedTuple):
    """The kernel of some rows, computed when a solver asks for it.

    Attributes
    ----------
    diagonal : ndarray of shape (n_rows,)
        The kernel of every row with itself.
    tile : callable
        Returns the kernel between a few rows and a slice of all rows.
    """

    diagonal: FloatArray
    tile: Callable[[IntArray, slice], NDArray[Any]]
    error: float = 0.0


@dataclass(frozen=True)
class Kernel(Part):
    """Base of all kernels: a value with fixed parameters.

    Your own kernel is a frozen dataclass with a method `between`. Its fields may be `gamma`,
    `degree` and `coef0`, which are set from the machine's parameters of these names.

    Note: a kernel is a class, not a function with a name. So each kernel brings what it can do
    faster (a Gram matrix from shared distances, tiles, a diagonal) and what it allows (`sigma2`,
    on-demand rows). Before, files asked for the kernel's name, and a new kernel touched eight.

    Attributes
    ----------
    name : str
        The name under which `register` registered it.
    is_linear : bool
        Whether it is the inner product of the inputs themselves.
    is_precomputed : bool
        Whether the rows of X are those of the Gram matrix.
    is_indefinite : bool
        Whether the Gram matrix is not positive semidefinite as a rule.
    takes_sigma2 : bool
        Whether its width may be given as `sigma2`.
    scale_power : float
        ``gamma="scale"`` is ``1 / (n_features * variance^scale_power)``.
    tuned_parameters : tuple of str
        The machine's parameters that a search tries besides C.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from polychotomy.kernels import Kernel, SharedRows, squared_distances
    >>> @dataclass(frozen=True)
    ... class Cauchy(Kernel):
    ...     gamma: float = 1.0
    ...     def between(self, X, Z):
    ...         return 1 / (1 + self.gamma * squared_distances(X, Z))
    >>> rows = SharedRows(np.array([[0.0], [1.0], [3.0]]))
    >>> rows.gram(Cauchy(gamma=0.5)).round(3)
    array([[1.   , 0.667, 0.182],
           [0.667, 1.   , 0.333],
           [0.182, 0.333, 1.   ]])
    """

    part_kind: ClassVar[str] = "kernel"
    is_linear: ClassVar[bool] = False
    is_precomputed: ClassVar[bool] = False
    is_indefinite: ClassVar[bool] = False
    takes_sigma2: ClassVar[bool] = False
    scale_power: ClassVar[float] = 1.0
    tuned_parameters: ClassVar[tuple[str, ...]] = ()

    def between(self, X: Any, Z: Any) -> FloatArray:
        """Return the kernel between every row of X and every row of Z."""
        raise NotImplementedError

    def between_single(self, X: Any, Z: Any) -> NDArray[np.float32]:
        """Return the kernel between rows in single precision; kernels may do this faster."""
        return self.between(X.astype(np.float64), Z.astype(np.float64)).astype(np.float32)

    def single_is_safe(self, Z: Any) -> bool:
        """Whether `between_single` with the rows of Z has nearly all digits of its precision."""
        return True

    def gram(self, rows: SharedRows, n_threads: int = 1) -> FloatArray:
        """Return the Gram matrix of training rows, from shared distances or products if any."""
        return self.between(rows.X, rows.X)

    def gram_of(self, X: Any, rows: IntArray) -> FloatArray:
        """Return the Gram matrix of some rows of X."""
        part = X[rows]
        return self.between(part, part)

    def diagonal(self, X: Any) -> FloatArray:
        """Return the kernel of every row of X with itself."""
        rows = (X[i : i + 1] for i in range(X.shape[0]))
        return np.array([np.asarray(self.between(row, row)).item() for row in rows])

    def is_semidefinite(self, X: Any) -> bool:
        """Whether the Gram matrix is known to be positive semidefinite, up to rounding."""
        return False

    def on_demand(self, X: Any, rows: IntArray) -> OnDemand:
        """Return the kernel of some rows of X (ascending numbers) without a Gram matrix."""
        part = some_rows(X, rows)
        return OnDemand(
            self.diagonal(part), lambda some, all_: self.between(part[some], part[all_])
        )

    def on_demand_single(self, X: Any, rows: IntArray) -> OnDemand | None:
        """Return the same in single precision; None if that is not faster, or too few digits."""
        return None

    def single_error(self, Z: Any) -> float:
        """Return the typical error of `between_single` with rows like those of Z.

        Infinite if it is not faster than double precision, or if too few digits would remain.
        """
        return float(np.inf)

    @classmethod
    def magnitude(cls, X: Any) -> float | None:
        """Return a bound of the distances or products of rows; None if unknown."""
        return float(4.0 * squared_norms(X).max(initial=0.0))

    @classmethod
    def warns_of_scales(cls) -> bool:
        """Whether inputs of very different scales are worth a warning."""
        return False


def some_rows(X: Any, rows: IntArray) -> Any:
    """Return some rows of X; X itself if all are wanted, because row numbers ascend."""
    return X if len(rows) == X.shape[0] else X[rows]


def parameters(*names: str) -> dict[str, Number]:
    """Return the declared state of a kernel with parameters of these names."""
    return {name: Number() for name in names}
