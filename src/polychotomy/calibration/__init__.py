"""Calibrators: from the scores of binary machines to binary probabilities."""

from .base import Calibrator
from .isotonic import Isotonic
from .none import NoCalibration
from .platt import Platt
from .pooled_platt import PooledPlatt

CALIBRATORS: dict[str, type[Calibrator]] = {
    calibrator.name: calibrator for calibrator in (Platt, PooledPlatt, Isotonic, NoCalibration)
}

__all__ = ["CALIBRATORS", "Calibrator", "Isotonic", "NoCalibration", "Platt", "PooledPlatt"]
