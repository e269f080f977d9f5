"""The ordinal code: thresholds between ordered classes."""

from __future__ import annotations

import numpy as np

from ..core.registry import register
from ..core.types import SignArray
from .base import Code


@register("ordinal")
class OrdinalCode(Code):
    """Thresholds between ordered classes: "is the class after k?".

    Column k has +1 for the classes after class k and -1 for class k and those before it, so
    there are M - 1 columns. The order is that of the sorted class labels: choose labels that sort
    in the order of the classes, such as numbers.

    References
    ----------
    E. Frank and M. Hall, "A simple approach to ordinal classification", European Conference on
    Machine Learning, 2001.

    Examples
    --------
    >>> from polychotomy.codes import OrdinalCode
    >>> OrdinalCode().build(4)
    Codebook(ordinal, 4 classes, 3 columns)
       0  1  2
    0  -  -  -
    1  +  -  -
    2  +  +  -
    3  +  +  +
    """

    def _build(self, n_classes: int, rng: np.random.Generator) -> SignArray:
        after = np.arange(n_classes)[:, None] > np.arange(n_classes - 1)
        return np.where(after, 1, -1).astype(np.int8)
