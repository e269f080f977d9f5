"""The support vector machine."""

from .machine import SVM

__all__ = ["SVM"]
