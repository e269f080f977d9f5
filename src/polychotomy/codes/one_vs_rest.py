"""One-vs-rest: a binary problem for every class."""

from __future__ import annotations

import numpy as np

from ..core.registry import register
from ..core.types import SignArray
from .base import Code


@register("one_vs_rest")
class OneVsRest(Code):
    """Every class against all others (1vsA, one-versus-all).

    Two classes have two columns too. Each is the negative of the other, and one machine serves both
    (see ``Codebook.trained``).

    References
    ----------
    R. Rifkin and A. Klautau, "In defense of one-vs-all classification", Journal of Machine
    Learning Research 5, 2004.

    Examples
    --------
    >>> from polychotomy.codes import OneVsRest
    >>> OneVsRest().build(3)
    Codebook(one_vs_rest, 3 classes, 3 columns)
       0  1  2
    0  +  -  -
    1  -  +  -
    2  -  -  +
    """

    def default_decoder(self, probabilities: bool) -> str:
        """Return the name of the decoder that goes with the code."""
        return "code_coupling" if probabilities else "winner_takes_all"

    def _build(self, n_classes: int, rng: np.random.Generator) -> SignArray:
        return 2 * np.eye(n_classes, dtype=np.int8) - np.int8(1)
