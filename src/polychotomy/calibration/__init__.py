"""Calibrators: from the scores of binary machines to binary probabilities."""

from .base import Calibrator
from .isotonic import Isotonic
from .none import NoCalibration
from .platt import Platt

CALIBRATORS: dict[str, type[Calibrator]] = {
    calibrator.name: calibrator for calibrator in (Platt, Isotonic, NoCalibration)
}

__all__ = ["CALIBRATORS", "Calibrator", "Isotonic", "NoCalibration", "Platt"]
