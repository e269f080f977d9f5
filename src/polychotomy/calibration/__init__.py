"""Calibrators: from the scores of binary machines to binary probabilities."""

from ..core.registry import parts
from .base import Calibrator
from .isotonic import Isotonic
from .none import NoCalibration
from .platt import Platt
from .pooled_platt import PooledPlatt

CALIBRATORS = parts("calibrator")

__all__ = ["CALIBRATORS", "Calibrator", "Isotonic", "NoCalibration", "Platt", "PooledPlatt"]
