"""Max-wins voting."""

from __future__ import annotations

from typing import Any

from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.registry import register
from ..core.types import FloatArray
from ..native import max_wins
from .base import Decoder, pairwise_preferences, prior_of


@register("max_wins")
class MaxWins(Decoder):
    """Max-wins voting: the class that wins the most pairs (VOTE, MWV).

    Each one-vs-one machine votes for one of its two classes (GALAR (2), DUAN03). Ties are
    common: they are broken by the summed confidence of the machines, then by the size of the
    class in the training rows, then by class order.

    The class scores are the votes plus the summed confidence mapped into (-1/3, 1/3).

    Examples
    --------
    >>> from polychotomy import MaxWins
    >>> MaxWins().decode([[0.9, 0.6, 0.8]]).argmax(axis=1)
    array([0])

    In this cycle every class has one vote, so the confidence decides:

    >>> MaxWins().decode([[0.9, 0.3, 0.6]]).round(2)
    array([[1.06, 0.92, 1.03]])
    """

    codes = frozenset({"one_vs_one"})

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        return max_wins(pairwise_preferences(margins, codebook), prior_of(self, codebook))
