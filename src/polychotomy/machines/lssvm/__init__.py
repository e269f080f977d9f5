"""The least-squares support vector machine in the evidence framework."""

from .machine import LSSVM

__all__ = ["LSSVM"]
