"""From a checked schema to a checked model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from ..core.checks import check_sparse
from ..core.codebook import Codebook
from ..core.state import StateError
from ..core.state_check import State
from ._names import Names
from ._sklearn_checks import check_sklearn
from ._values import integer

# A model with more inputs is not tried out, because one row could be larger than memory.
MAX_TRIED = 1 << 22
MAX_JOBS = 1024
# A model with one of these may need a table with words, so a row of numbers is no test.
WORDS = frozenset(
    {"ColumnTransformer", "HashingVectorizer", "OneHotEncoder", "OrdinalEncoder"}
    | {"SimpleImputer", "TargetEncoder"}
)


def check_model(model: Any, names: Names) -> None:
    """Check a model, and everything in it, before any of it is used.

    Objects inside an object are checked before it. Then every estimator predicts one row as a
    test, so that an invalid parameter is found here, and not when the model is used.

    Note: the trial comes after all checks. It runs native code, which trusts indices and shapes.
    """
    if not isinstance(model, BaseEstimator):
        raise StateError("The file", f"holds a {type(model).__name__:.60} instead of a model")
    visit = _Visit(names)
    visit.go(model)
    if not visit.n_words and not any(model is estimator for estimator in visit.estimators):
        visit.estimators.append(model)
    for estimator in visit.estimators:
        _try_out(estimator)


@contextmanager
def without_requests(model: Any) -> Iterator[None]:
    """Remove metadata requests and executors from a model inside the context.

    Requests refer back to their owners, and a model file cannot hold cycles. Where a search ran is
    no part of the model, and may be a connection.
    """
    found: list[tuple[Any, str, Any]] = []
    seen: dict[int, Any] = {}

    def go(value: Any) -> None:
        if id(value) in seen or value is None or isinstance(value, str | int | float | np.ndarray):
            return
        seen[id(value)] = value
        if isinstance(value, dict):
            for each in list(value.values()):
                go(each)
        elif isinstance(value, list | tuple | set):
            for each in value:
                go(each)
        elif hasattr(value, "__dict__") and not isinstance(value, type):
            if "_metadata_request" in vars(value):
                found.append((value, "_metadata_request", vars(value).pop("_metadata_request")))
            if vars(value).get("executor") is not None:
                found.append((value, "executor", value.executor))
                value.executor = None
            for each in list(vars(value).values()):
                go(each)

    try:
        go(model)
        yield
    finally:
        for owner, name, removed in found:
            vars(owner)[name] = removed


class _Visit:
    """One pass over all objects of a model, the inner ones first."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.state = State(names.knows)
        self.seen: dict[int, Any] = {}
        self.estimators: list[Any] = []
        self.n_words = 0

    def go(self, value: Any) -> None:
        if id(value) in self.seen or value is None or isinstance(value, str | int | float):
            return
        self.seen[id(value)] = value
        if issparse(value):
            # SciPy's products do not check indices, and could read outside of the arrays.
            check_sparse(value)
        elif isinstance(value, dict):
            for each in value.values():
                self.go(each)
        elif isinstance(value, list | tuple | set):
            for each in value:
                self.go(each)
        elif isinstance(value, np.ndarray):
            if value.dtype == object:
                for each in value.ravel().tolist():
                    self.go(each)
        elif hasattr(value, "__dict__") and not isinstance(value, type | Codebook):
            self._object(value)

    def _object(self, value: Any) -> None:
        self.n_words += type(value).__name__ in WORDS
        before = self.n_words
        for each in vars(value).values():
            self.go(each)
        if vars(value).get("n_jobs") is not None:
            integer(value, "n_jobs", -MAX_JOBS, MAX_JOBS)
        module = type(value).__module__
        if self.names.knows(type(value)):
            fitted = self.state.sizes_of(value) is not None
            if fitted and hasattr(value, "predict") and self.n_words == before:
                self.estimators.append(value)
        elif module.startswith("sklearn."):
            check_sklearn(value)
        elif not module.startswith(("numpy", "builtins", "scipy.interpolate")):
            # Only a listed class without a check gets here; other classes cannot be in a file.
            raise StateError(f"The type {module}.{type(value).__name__}", "has no check")


def _try_out(estimator: Any) -> None:
    width = getattr(estimator, "n_features_in_", None)
    ready = getattr(estimator, "is_ready", True)
    if not ready or width is None or width > MAX_TRIED or not hasattr(estimator, "predict"):
        return
    row = np.zeros((1, width))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        answer = estimator.predict(row)
        if hasattr(estimator, "predict_proba"):
            estimator.predict_proba(row)
        repr(estimator)
    if answer.shape != (1,) or answer[0] not in _possible_answers(estimator).tolist():
        raise StateError("The model", "predicts a value that is not one of its classes")


def _possible_answers(estimator: Any) -> Any:
    """Return what an estimator may predict: its classes, or the actions of a decision."""
    if hasattr(estimator, "steps"):
        return _possible_answers(estimator.steps[-1][1])
    if hasattr(estimator, "best_estimator_"):
        return _possible_answers(estimator.best_estimator_)
    return getattr(estimator, "actions_", estimator.classes_)
