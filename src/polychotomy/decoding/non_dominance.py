"""The non-dominance criterion."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.math import favour
from ..core.registry import register
from ..core.types import FloatArray
from .base import (
    Decoder,
    normalised_pair,
    preference_square,
    prior_of,
)


@register("non_dominance")
class NonDominance(Decoder):
    """Non-dominance criterion (ND): the class that is dominated the least.

    GALAR (13)-(16): answers are normalised, the strict preference of j over i is
    ``max(r_ji - r_ij, 0)``, and a class scores 1 minus the strongest preference over it. Ties are
    broken by the size of the class in the training rows.

    Examples
    --------
    >>> from polychotomy import NonDominance
    >>> NonDominance().decode([[0.9, 0.3, 0.6]])
    array([[0.6, 0.2, 0.8]])
    """

    codes = frozenset({"one_vs_one"})
    needs = frozenset({"probabilities"})

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        r = preference_square(margins, codebook)
        forward = normalised_pair(r, r.swapaxes(1, 2))  # (13)
        strict = np.maximum(forward - forward.swapaxes(1, 2), 0.0)  # (14)
        degree = 1.0 - strict.max(axis=1)  # (15)
        return favour(degree, degree, prior_of(self, codebook))
