"""Tempering: from class probabilities to better class probabilities."""

from .tempering import Tempering

__all__ = ["Tempering"]
