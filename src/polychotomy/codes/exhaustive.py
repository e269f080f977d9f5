"""The exhaustive code: every way to split the classes in two."""

from __future__ import annotations

import numpy as np

from ..core.registry import register
from ..core.types import SignArray
from ._draws import all_dense_columns, n_dense_columns
from .base import Code

_MOST_CLASSES = 15


@register("exhaustive")
class ExhaustiveCode(Code):
    """Every way to split the classes in two.

    It has all 2^(M-1) - 1 columns of +1 and -1 that differ in more than their sign, in the order of
    Dietterich and Bakiri: the first class is always +1, and the signs of the others count in
    binary from column to column. Every two codewords differ in 2^(M-2) columns.

    More than 15 classes (16,383 columns) are refused.

    References
    ----------
    T. G. Dietterich and G. Bakiri, "Solving multiclass learning problems via error-correcting
    output codes", Journal of Artificial Intelligence Research 2, 1995, section 2.3.1.

    Examples
    --------
    >>> from polychotomy.codes import ExhaustiveCode
    >>> ExhaustiveCode().build(4)
    Codebook(exhaustive, 4 classes, 7 columns)
       0  1  2  3  4  5  6
    0  +  +  +  +  +  +  +
    1  -  -  -  -  +  +  +
    2  -  -  +  +  -  -  +
    3  -  +  -  +  -  +  -
    """

    def _build(self, n_classes: int, rng: np.random.Generator) -> SignArray:
        if n_classes > _MOST_CLASSES:
            raise ValueError(
                f"ExhaustiveCode would have {n_dense_columns(n_classes)} columns for {n_classes} "
                f"classes; it allows at most {_MOST_CLASSES} classes. Use ErrorCorrectingCode, "
                "DenseRandomCode or SparseRandomCode, which pick some of these columns."
            )
        return all_dense_columns(n_classes)
