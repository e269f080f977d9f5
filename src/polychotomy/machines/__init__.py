"""Binary machines: from inputs and label columns to margins."""

from .any_learner import AnyLearner, FittedColumns
from .base import ColumnMachine, FollowsPath, HeldOut, LeavesOneOut, LeftOut, TrainingOptions
from .klr import KernelLogisticRegression
from .lssvm import LSSVM
from .svm import SVM

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
    "TrainingOptions",
]
