"""The sparse random code of Allwein, Schapire and Singer."""

from __future__ import annotations

import math

import numpy as np

from ..core.registry import register
from ..core.types import SignArray
from ._draws import SparseColumns, all_sparse_columns, best_draw, n_sparse_columns
from .base import Code, checked_columns, positive_integer


@register("sparse_random")
class SparseRandomCode(Code):
    """Random columns of +1, -1 and don't-cares.

    Entries are 0 with probability 1/2 and +1 or -1 with probability 1/4 each, given that every
    column has both signs and that no two columns are equal up to their sign. Of several drawn
    codebooks, the one whose closest codewords are farthest apart is kept (the first of equal
    ones); a don't-care counts 1/2. No two codewords are equal, and none is all zeros.

    Parameters
    ----------
    n_columns : int, default=None
        The number of columns, ceil(15 log2 M) by default, and at most the (3^M + 1)/2 - 2^M that
        exist (1 for two classes, 6 for three, 25 for four); if all are taken, the code is not
        random. Fewer than ceil(log2 M) are refused.
    n_draws : int, default=10_000
        The largest number of codebooks to draw; with the same seed, more are never worse. With
        many classes fewer are drawn, so that M^2 L times the number of draws stays below 5e9.

    References
    ----------
    E. L. Allwein, R. E. Schapire and Y. Singer, "Reducing multiclass to binary: a unifying
    approach for margin classifiers", Journal of Machine Learning Research 1, 2000.

    Examples
    --------
    >>> from polychotomy.codes import SparseRandomCode
    >>> SparseRandomCode().build(3)
    Codebook(sparse_random, 3 classes, 6 columns)
       0  1  2  3  4  5
    0  .  +  +  +  +  +
    1  +  .  +  -  -  -
    2  -  -  -  .  +  -
    >>> codebook = SparseRandomCode().build(10, random_state=0)
    >>> codebook.n_columns
    50
    """

    def __init__(self, n_columns: int | None = None, n_draws: int = 10_000) -> None:
        self.n_columns = n_columns
        self.n_draws = n_draws

    def _build(self, n_classes: int, rng: np.random.Generator) -> SignArray:
        n_draws = positive_integer(self.n_draws, "n_draws")
        default = math.ceil(15 * math.log2(n_classes))
        existing = n_sparse_columns(n_classes)
        n_columns = checked_columns(self.n_columns, default, n_classes, existing)
        if n_columns == existing:
            return all_sparse_columns(n_classes)
        return best_draw(SparseColumns(n_classes, n_columns, rng), n_draws)
