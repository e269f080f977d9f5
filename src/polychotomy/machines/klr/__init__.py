"""Kernel logistic regression."""

from .machine import KernelLogisticRegression

__all__ = ["KernelLogisticRegression"]
