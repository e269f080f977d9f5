"""The minimal output code: binary counting."""

from __future__ import annotations

import numpy as np

from ..core.registry import register
from ..core.types import SignArray
from ._draws import counting_code
from .base import Code


@register("minimal")
class MinimalCode(Code):
    """The fewest columns that tell the classes apart (MOC, minimal output coding).

    The codeword of class m is the number m in ceil(log2 M) binary digits: +1 for the digit 1, -1
    for the digit 0, the most significant digit first. It corrects no errors: one wrong machine
    can give a wrong class.

    References
    ----------
    T. Van Gestel et al., "Multiclass LS-SVMs: moderated outputs and coding-decoding schemes",
    Neural Processing Letters 15, 2002.

    Examples
    --------
    >>> from polychotomy.codes import MinimalCode
    >>> MinimalCode().build(5)
    Codebook(minimal, 5 classes, 3 columns)
       0  1  2
    0  -  -  -
    1  -  -  +
    2  -  +  -
    3  -  +  +
    4  +  -  -
    """

    def _build(self, n_classes: int, rng: np.random.Generator) -> SignArray:
        return counting_code(n_classes)
