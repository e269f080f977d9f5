"""No calibration."""

from __future__ import annotations

from .._types import FloatArray, Margins, SignArray
from .base import Calibrator


class NoCalibration(Calibrator):
    """Leave the machines' outputs as they are: their own probabilities, if they have any.

    Examples
    --------
    >>> from polychotomy import Margins, NoCalibration
    >>> NoCalibration().transform(Margins(mean=[[1.0]], probability=[[0.7]]))
    array([[0.7]])
    """

    name = "none"
    learns = False

    def _fit(self, scores: FloatArray, labels: SignArray, weights: FloatArray | None) -> None:
        pass

    def transform(self, margins: Margins) -> FloatArray | None:
        """Return the machines' own probabilities, or None."""
        return margins.probability
