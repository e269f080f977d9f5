"""A code matrix given by the user."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from ..core.codebook import Codebook
from ..core.registry import stored
from ..core.types import SignArray
from .base import Code


@stored("code.custom")
class CustomCode(Code):
    """A code matrix of your own.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_columns), or Codebook
        Entries -1, 0 and +1, one row per class in the sorted order of the class labels. Rows
        must differ, and every column must have both signs. Columns may repeat; equal columns share
        a machine.

    Examples
    --------
    >>> from polychotomy.codes import CustomCode
    >>> CustomCode([[1, 1], [1, -1], [-1, 0]]).build(3)
    Codebook(custom, 3 classes, 2 columns)
       0  1
    0  +  +
    1  +  -
    2  -  .
    """

    name = "custom"

    def __init__(self, matrix: ArrayLike | Codebook) -> None:
        self.matrix = matrix

    def _build(self, n_classes: int, rng: np.random.Generator) -> SignArray:
        codebook = self.matrix if isinstance(self.matrix, Codebook) else Codebook(self.matrix)
        if codebook.n_classes != n_classes:
            raise ValueError(
                f"The matrix of CustomCode has {codebook.n_classes} rows, one per class, but "
                f"there are {n_classes} classes."
            )
        return codebook.matrix

    @classmethod
    def examples(cls) -> list[Self]:
        """Return example configurations."""
        return [cls([[1, 1], [1, -1], [-1, 0]])]
