"""Winner takes all, for one-vs-rest codes."""

from __future__ import annotations

from typing import Any

from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.math import favour, normalise
from ..core.registry import register
from ..core.types import FloatArray
from .base import Decoder, prior_of


@register("winner_takes_all")
class WinnerTakesAll(Decoder):
    """Choose the class whose one-vs-rest machine is most confident (WTA, MAX).

    GALAR (25), DUAN05 section 2.1. With binary probabilities the class probabilities are
    ``p_k / sum p`` (DUAN03 section 4), or equal if all p are 0. With scores there are no class
    probabilities.

    Examples
    --------
    >>> from polychotomy import WinnerTakesAll
    >>> WinnerTakesAll().decode([[0.6, 0.3, 0.3]])
    array([[0.5 , 0.25, 0.25]])
    """

    codes = frozenset({"one_vs_rest"})

    def yields_probabilities(self, calibrated: bool) -> bool:
        """Return whether `decode` returns class probabilities: only if it gets binary ones."""
        return calibrated

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        column = codebook.rest
        assert column is not None
        if margins.probability is not None:
            return normalise(margins.probability[:, column])
        assert margins.mean is not None
        scores = margins.mean[:, column]
        return favour(scores, scores, prior_of(self, codebook))
