"""Tempering: from class probabilities to better class probabilities."""

from .structured import StructuredTempering
from .tempering import Tempering

__all__ = ["StructuredTempering", "Tempering"]
