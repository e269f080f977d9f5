"""Binary machines: from inputs and label columns to margins."""

from .any_learner import AnyLearner, FittedColumns
from .base import ColumnMachine, TrainingOptions

__all__ = ["AnyLearner", "ColumnMachine", "FittedColumns", "TrainingOptions"]
