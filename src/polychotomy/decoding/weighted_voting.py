"""Weighted voting."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.math import favour, to_square
from ..core.registry import register
from ..core.types import FloatArray
from .base import Decoder, pairwise_probabilities, prior_of


@register("weighted_voting")
class WeightedVoting(Decoder):
    """Weighted voting: choose the class with the largest sum of pairwise probabilities (WV).

    GALAR (3). Ties are broken by the size of the class in the training rows.

    Examples
    --------
    >>> from polychotomy import WeightedVoting
    >>> WeightedVoting().decode([[0.9, 0.3, 0.6]])
    array([[1.2, 0.7, 1.1]])
    """

    codes = frozenset({"one_vs_one"})
    needs = frozenset({"probabilities"})

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        square = margins.probability
        if square is None or square.ndim == 2:
            r = pairwise_probabilities(margins, codebook)
            square = to_square(r, codebook.n_classes)
        scores = square.sum(axis=2) - np.diagonal(square, axis1=1, axis2=2)
        return favour(scores, scores, prior_of(self, codebook))
