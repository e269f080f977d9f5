"""No calibration."""

from __future__ import annotations

from ..core.margins import Margins
from ..core.registry import register
from ..core.types import FloatArray, SignArray
from .base import Calibrator


@register("none")
class NoCalibration(Calibrator):
    """Return the machines' own probabilities, if they have any, unchanged.

    Examples
    --------
    >>> from polychotomy import Margins, NoCalibration
    >>> NoCalibration().transform(Margins(mean=[[1.0]], probability=[[0.7]]))
    array([[0.7]])
    """

    learns = False

    def _fit(self, scores: FloatArray, labels: SignArray, weights: FloatArray | None) -> None:
        pass

    def transform(self, margins: Margins) -> FloatArray | None:
        """Return the machines' own probabilities, or None."""
        return margins.probability
