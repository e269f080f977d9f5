"""The dense random code of Allwein, Schapire and Singer."""

from __future__ import annotations

import math

import numpy as np

from ..core.registry import register
from ..core.types import SignArray
from ._draws import DenseColumns, all_dense_columns, best_draw, n_dense_columns
from .base import Code, checked_columns

# Draws with two equal codewords are discarded; after this many, a valid code is constructed.
_N_ATTEMPTS = 100


@register("dense_random")
class DenseRandomCode(Code):
    """Random columns of +1 and -1.

    Entries are +1 or -1 with equal probability; columns are not constant and differ in more than
    their sign. It is a single draw (the first in which all codewords differ), so it is cheap for
    any number of classes. :class:`ErrorCorrectingCode` searches thousands of such draws for the
    one whose codewords are farthest apart, as Allwein et al. did in their experiments:
    ``ErrorCorrectingCode(n_columns=math.ceil(10 * math.log2(M)))``.

    Parameters
    ----------
    n_columns : int, default=None
        The number of columns, ceil(10 log2 M) by default, and at most the 2^(M-1) - 1 that
        exist. Fewer than ceil(log2 M) are refused.

    References
    ----------
    E. L. Allwein, R. E. Schapire and Y. Singer, "Reducing multiclass to binary: a unifying
    approach for margin classifiers", Journal of Machine Learning Research 1, 2000.

    Examples
    --------
    >>> from polychotomy.codes import DenseRandomCode
    >>> codebook = DenseRandomCode().build(10, random_state=0)
    >>> codebook.n_columns
    34
    """

    def __init__(self, n_columns: int | None = None) -> None:
        self.n_columns = n_columns

    def _build(self, n_classes: int, rng: np.random.Generator) -> SignArray:
        default = math.ceil(10 * math.log2(n_classes))
        existing = n_dense_columns(n_classes)
        n_columns = checked_columns(self.n_columns, default, n_classes, existing)
        if n_columns == existing:
            matrix = rng.permutation(all_dense_columns(n_classes), axis=1)
        else:
            draw = DenseColumns(n_classes, n_columns, rng)
            matrix = best_draw(draw, _N_ATTEMPTS, enough=1.0)
        # In the draws the first class always has +1.
        sign = rng.choice(np.array([-1, 1], dtype=np.int8), size=n_columns)
        signed: SignArray = matrix * sign
        return signed
