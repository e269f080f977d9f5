"""Binary machines: from inputs and label columns to margins."""

from .any_learner import AnyLearner, FittedColumns
from .base import (
    ColumnMachine,
    FollowsPath,
    HeldOut,
    LeavesOneOut,
    LeftOut,
    Machine,
    TrainingOptions,
    guessed_seconds,
)
from .klr.machine import KernelLogisticRegression
from .lssvm.machine import LSSVM
from .svm.machine import SVM

__all__ = [
    "LSSVM",
    "SVM",
    "AnyLearner",
    "ColumnMachine",
    "FittedColumns",
    "FollowsPath",
    "HeldOut",
    "KernelLogisticRegression",
    "LeavesOneOut",
    "LeftOut",
    "Machine",
    "TrainingOptions",
    "guessed_seconds",
]
