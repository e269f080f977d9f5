"""Parts that are not fitted."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from ..._parts import Parts
from ..._types import Codebook
from ...calibration import CALIBRATORS
from ...codes import CODES, CustomCode
from ...decoding import DECODERS
from ...machines import LSSVM, SVM, AnyLearner, KernelLogisticRegression
from ...machines.kernel_columns import KernelColumns
from ...machines.klr_columns import LogisticColumns
from ...machines.lssvm_columns import LSSVMColumns
from ...tempering import Tempering
from .._values import instance, require
from .machines import FITTED_BY
from .registry import checks


@checks(*CODES.values(), CustomCode)
def _code(code: Any) -> None:
    pass


@checks(Codebook)
def _codebook(codebook: Codebook) -> None:
    """Its constructor has checked the matrix."""


@checks(AnyLearner, fitted="estimator")
def _any_learner(machine: AnyLearner) -> None:
    require(isinstance(machine.estimator, BaseEstimator), machine, "has no valid estimator")


@checks(KernelColumns, LogisticColumns, fitted="solver has_probability")
def _kernel_columns(machine: KernelColumns) -> None:
    instance(machine, "solver", (SVM, KernelLogisticRegression))
    instance(machine, "has_probability", bool)


@checks(LSSVMColumns, fitted="settings")
def _lssvm_columns(machine: LSSVMColumns) -> None:
    instance(machine, "settings", LSSVM)


@checks(Parts)
def _parts(parts: Parts) -> None:
    instance(parts, "machine", tuple(FITTED_BY))
    instance(parts, "machine_name", str)
    instance(parts, "code", (*CODES.values(), CustomCode))
    instance(parts, "calibrator", tuple(CALIBRATORS.values()))
    instance(parts, "decoder", tuple(DECODERS.values()))
    instance(parts, "tempering", (Tempering, type(None)))
