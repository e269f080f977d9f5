"""Hamming decoding, for any code."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.math import column_sums, favour, squash
from ..core.registry import register
from ..core.types import FloatArray
from .base import Decoder, preferences, prior_of


@register("hamming")
class HammingDecoding(Decoder):
    """Choose the class whose codeword is nearest to the signs of the answers.

    A don't-care, and an answer exactly on the boundary, cost 1/2 (VANGESTEL section 5). Ties are
    common. A one-vs-rest code then takes the class of the largest answer (as the paper does), any
    other code the class of the smaller linear loss. Remaining ties go to the class with more
    training rows.

    The class scores are minus the distance, plus the tie-breaker mapped into (-1/6, 1/6).

    Examples
    --------
    >>> from polychotomy import HammingDecoding, Margins, OneVsRest
    >>> codebook = OneVsRest().build(3)
    >>> scores = Margins(mean=[[0.5, -0.2, 0.1]])
    >>> HammingDecoding().decode(scores, codebook).round(2)
    array([[-0.94, -3.03, -0.98]])
    """

    _bare = "mean"

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        answers = np.asarray(preferences(margins))
        matrix, rest = codebook.matrix, codebook.rest
        distance = (codebook.n_columns - np.sign(answers) @ matrix.T) / 2.0
        if rest is not None:
            confidence = answers[:, rest]
        else:
            confidence = column_sums(answers, -answers, matrix)
        return favour(
            squash(confidence) / 2.0 - distance, -distance, confidence, prior_of(self, codebook)
        )
