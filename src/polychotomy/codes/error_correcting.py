"""The error-correcting output code of Van Gestel et al."""

from __future__ import annotations

from math import comb

import numpy as np

from ..core.registry import register
from ..core.types import SignArray
from ._draws import DenseColumns, all_dense_columns, best_draw, n_dense_columns
from .base import Code, checked_columns, fewest_columns, positive_integer


@register("error_correcting")
class ErrorCorrectingCode(Code):
    """Random columns with codewords far apart (ECOC, error-correcting output coding).

    Up to 10,000 codebooks of +1 and -1 are drawn, and the one with the largest minimal Hamming
    distance between codewords is kept (the first of equal ones). With a minimal distance d,
    Hamming decoding corrects up to (d - 1) // 2 wrong machines. The first class has +1 in
    every column: a column and its negative are the same binary problem.

    Parameters
    ----------
    n_columns : int, default=None
        The number of columns, 10 ceil(log2 M) by default, and at most the 2^(M-1) - 1 that
        exist (3 for three classes, 7 for four); if all are taken, the code is not random. Fewer
        than ceil(log2 M) are refused.
    n_draws : int, default=10_000
        The largest number of codebooks to draw; with the same seed, more are never worse.

    Notes
    -----
    Columns are drawn without repetition: none is constant, and no two are equal up to their
    sign (in the paper such columns are drawn and then dropped). The search ends early when a
    codebook meets Plotkin's bound [2]_, sharpened for distinct columns, because no other can be
    better. With many classes (more than about 80 at the default length) fewer codebooks than
    `n_draws` are drawn, so that M^2 L times the number of draws stays below 5e9: 7,142 for 100
    classes, 50 for 1,000. If no drawn codebook has distinct codewords, which happens only for a
    length close to ceil(log2 M), binary counting replaces some columns of a random one.

    References
    ----------
    .. [1] T. Van Gestel et al., "Multiclass LS-SVMs: moderated outputs and coding-decoding
       schemes", Neural Processing Letters 15, 2002, section 5.
    .. [2] M. Plotkin, "Binary codes with specified minimum distance", IRE Transactions on
       Information Theory 6, 1960.

    Examples
    --------
    >>> from polychotomy.codes import ErrorCorrectingCode
    >>> ErrorCorrectingCode().build(3)
    Codebook(error_correcting, 3 classes, 3 columns)
       0  1  2
    0  +  +  +
    1  -  -  +
    2  -  +  -
    >>> codebook = ErrorCorrectingCode().build(10, random_state=0)
    >>> codebook.n_columns
    40
    """

    def __init__(self, n_columns: int | None = None, n_draws: int = 10_000) -> None:
        self.n_columns = n_columns
        self.n_draws = n_draws

    def _build(self, n_classes: int, rng: np.random.Generator) -> SignArray:
        n_draws = positive_integer(self.n_draws, "n_draws")
        default = 10 * fewest_columns(n_classes)
        existing = n_dense_columns(n_classes)
        n_columns = checked_columns(self.n_columns, default, n_classes, existing)
        if n_columns == existing:
            return all_dense_columns(n_classes)
        draw = DenseColumns(n_classes, n_columns, rng)
        return best_draw(draw, n_draws, enough=plotkin_bound(n_classes, n_columns))


def plotkin_bound(n_classes: int, n_columns: int) -> int:
    """Return a minimal distance that no code of +1 and -1 with distinct columns exceeds.

    A column with k classes on its smaller side separates k (M - k) pairs of classes, and the
    closest pair is separated by at most as many columns as the average pair. The number of columns
    with each k is limited, and balanced columns separate the most pairs.
    """
    separated, remaining = 0, n_columns
    for smaller in range(n_classes // 2, 0, -1):
        existing = comb(n_classes, smaller) // (2 if 2 * smaller == n_classes else 1)
        taken = min(remaining, existing)
        separated += taken * smaller * (n_classes - smaller)
        remaining -= taken
    return separated // comb(n_classes, 2)
