"""Voting among one-vs-one machines."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._math import favour, to_square
from .._types import Codebook, FloatArray, Margins
from ..native import max_wins
from .base import Decoder, pairwise_preferences, pairwise_probabilities, prior_of


class MaxWins(Decoder):
    """Max-wins voting: the class that wins the most pairs (VOTE, MWV).

    Each one-vs-one machine votes for one of its two classes (GALAR (2), DUAN03). Ties are
    common: they are broken by the summed confidence of the machines, then by the size of the
    class in the training rows, then by class order.

    The class scores are the votes plus the summed confidence squashed into (-1/3, 1/3).

    Examples
    --------
    >>> from polychotomy import MaxWins
    >>> MaxWins().decode([[0.9, 0.6, 0.8]]).argmax(axis=1)
    array([0])

    In this cycle every class has one vote, and the confidence decides:

    >>> MaxWins().decode([[0.9, 0.3, 0.6]]).round(2)
    array([[1.06, 0.92, 1.03]])
    """

    name = "max_wins"
    codes = frozenset({"one_vs_one"})

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        return max_wins(pairwise_preferences(margins, codebook), prior_of(self, codebook))


class WeightedVoting(Decoder):
    """Weighted voting: the class with the largest sum of pairwise probabilities (WV).

    GALAR (3). Ties are broken by the size of the class in the training rows.

    Examples
    --------
    >>> from polychotomy import WeightedVoting
    >>> WeightedVoting().decode([[0.9, 0.3, 0.6]])
    array([[1.2, 0.7, 1.1]])
    """

    name = "weighted_voting"
    codes = frozenset({"one_vs_one"})
    needs = frozenset({"probabilities"})

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        square = margins.probability
        if square is None or square.ndim == 2:
            r = pairwise_probabilities(margins, codebook)
            square = to_square(r, codebook.n_classes)
        scores = square.sum(axis=2) - np.diagonal(square, axis1=1, axis2=2)
        return favour(scores, scores, prior_of(self, codebook))
