"""Binary machines: from inputs and label columns to margins."""

from .any_learner import AnyLearner, FittedColumns
from .base import (
    ColumnMachine,
    FoldMargins,
    FollowsPath,
    LeavesOneOut,
    LeftOut,
    Machine,
    TrainingOptions,
    TrainsOnSums,
    fitted_types,
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
    "FoldMargins",
    "FollowsPath",
    "KernelLogisticRegression",
    "LeavesOneOut",
    "LeftOut",
    "Machine",
    "TrainingOptions",
    "TrainsOnSums",
    "fitted_types",
    "guessed_seconds",
]
