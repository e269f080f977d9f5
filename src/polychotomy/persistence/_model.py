"""From a checked schema to a checked model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from .._types import Codebook
from ..classifier import PolychotomyClassifier
from ..machines.kernel_machine import KernelMachine
from ._errors import RefusedError
from ._sklearn_checks import check_sklearn
from ._values import integer
from .checks import CHECKS, check_own

# A model of more inputs is not tried out: the row alone could be larger than memory.
MAX_TRIED = 1 << 22
MAX_JOBS = 1024
# A model with one of these takes tables of words too, and so no row of numbers.
WORDS = frozenset({"ColumnTransformer", "OneHotEncoder", "OrdinalEncoder", "SimpleImputer"})


def check_model(model: Any) -> None:
    """Check a model, and everything in it, before any of it is used.

    Objects are checked after what is inside them. What the checks let pass is then tried out on
    one row, so that a parameter that makes no sense is found out here, and not in use.
    """
    if not isinstance(model, BaseEstimator):
        raise RefusedError("The file", f"holds a {type(model).__name__:.60} in place of a model")
    estimators: list[Any] = []
    seen: dict[int, Any] = {}
    _visit(model, seen, estimators)
    numeric = not any(type(part).__name__ in WORDS for part in seen.values())
    if numeric and not any(model is estimator for estimator in estimators):
        estimators.append(model)
    for estimator in estimators:
        _try_out(estimator)


def _visit(value: Any, seen: dict[int, Any], estimators: list[Any]) -> None:
    if id(value) in seen or value is None or isinstance(value, str | int | float):
        return
    seen[id(value)] = value
    if issparse(value):
        # SciPy's products do not check indices.
        value.check_format(full_check=True)
    elif isinstance(value, dict):
        for each in value.values():
            _visit(each, seen, estimators)
    elif isinstance(value, list | tuple | set):
        for each in value:
            _visit(each, seen, estimators)
    elif isinstance(value, np.ndarray):
        if value.dtype == object:
            for each in value.ravel().tolist():
                _visit(each, seen, estimators)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        _visit_object(value, seen, estimators)


def _visit_object(value: Any, seen: dict[int, Any], estimators: list[Any]) -> None:
    if isinstance(value, Codebook):
        return
    for each in vars(value).values():
        _visit(each, seen, estimators)
    if vars(value).get("n_jobs") is not None:
        integer(value, "n_jobs", -MAX_JOBS, MAX_JOBS)
    module = type(value).__module__
    if type(value) in CHECKS:
        check_own(value)
        if isinstance(value, PolychotomyClassifier | KernelMachine):
            estimators.append(value)
    elif module.startswith("sklearn."):
        check_sklearn(value)
    elif not module.startswith(("numpy", "builtins", "scipy.interpolate")):
        # Only a class on the list without a check comes here: others cannot be in a file.
        raise RefusedError(f"The type {module}.{type(value).__name__}", "has no check")


def _try_out(estimator: Any) -> None:
    ready = "decoder_" in vars(estimator) or not isinstance(estimator, PolychotomyClassifier)
    width = getattr(estimator, "n_features_in_", None)
    if not ready or width is None or width > MAX_TRIED or not hasattr(estimator, "predict"):
        return
    row = np.zeros((1, width))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        answer = estimator.predict(row)
        if hasattr(estimator, "predict_proba"):
            estimator.predict_proba(row)
        repr(estimator)
    if answer.shape != (1,) or answer[0] not in estimator.classes_:
        raise RefusedError("The model", "predicts something else than its classes")
