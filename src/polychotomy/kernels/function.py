"""A function given by the user as a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core.types import FloatArray
from .base import Kernel
from .distances import dense


@dataclass(frozen=True)
class Function(Kernel):
    """A function of two matrices as a kernel; it has no name and cannot be saved in a model file.

    Parameters
    ----------
    function : callable
        Returns the kernel between every row of its first and every row of its second argument.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.kernels import Function
    >>> Function(lambda X, Z: X @ Z.T).between(np.array([[2.0]]), np.array([[3.0]]))
    array([[6.]])
    """

    function: Callable[[Any, Any], Any]

    def between(self, X: Any, Z: Any) -> FloatArray:
        """Return the kernel between every row of X and every row of Z."""
        return dense(self.function(X, Z))

    @classmethod
    def magnitude(cls, X: Any) -> float | None:
        """Return None, because the function is unknown."""
        return None
