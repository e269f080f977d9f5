"""Checked inputs: arrays of numbers, or anything that a wrapped classifier accepts.

Note: texts and data frames go to a wrapped classifier unchanged, and it reports inputs that it
cannot use. Checking all inputs as arrays of numbers was simpler, but refused pipelines that
vectorise texts, encode categories or impute.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import check_consistent_length, column_or_1d, get_tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import validate_data

from ..core.checks import check_sparse
from ..core.rows import AnyRows
from .parts import Parts


def checked_inputs(classifier: Any, parts: Parts, X: Any) -> Any:
    """Check the inputs of rows to be predicted."""
    check_sparse(X)
    if _as_they_are(parts, X):
        validate_data(classifier, X, reset=False, skip_check_array=True)
        return AnyRows(X)
    return validate_data(classifier, X, reset=False, **_checks(classifier, parts))


def checked_rows(
    classifier: Any, parts: Parts, X: Any, y: ArrayLike, reset: bool = True
) -> tuple[Any, NDArray[Any]]:
    """Check inputs and labels of training rows."""
    refuse_several_outputs(y)
    check_sparse(X)
    if _as_they_are(parts, X):
        validate_data(classifier, X, reset=reset, skip_check_array=True)
        labels = column_or_1d(y, warn=True)
        check_consistent_length(X, labels)
        return AnyRows(X), labels
    checked: tuple[Any, NDArray[Any]]
    checked = validate_data(classifier, X, y, reset=reset, **_checks(classifier, parts))
    return checked


def refuse_several_outputs(y: Any) -> None:
    """Refuse labels with several columns, and name an estimator that accepts them."""
    shape: Any = np.shape(y) if isinstance(y, list | tuple) else getattr(y, "shape", ())
    if len(shape) != 2 or shape[1] < 2:
        return
    kind = type_of_target(y)
    if kind.startswith("multilabel") or kind.endswith("multioutput"):
        raise ValueError(
            f"y has {shape[1]} columns ({kind}), but this classifier predicts one class for "
            "every row. Wrap it in sklearn.multioutput.MultiOutputClassifier."
        )


def _checks(classifier: Any, parts: Parts) -> dict[str, Any]:
    """Return the checks that scikit-learn should apply to an array of numbers."""
    finite: bool | str = True
    if get_tags(classifier).input_tags.allow_nan:
        finite = "allow-nan"
    elif parts.machine.checks_inputs and not parts.reads_inputs:
        # A wrapped classifier may impute, and reports itself what it does not accept.
        finite = False
    return {"accept_sparse": "csr", "ensure_all_finite": finite}


def _as_they_are(parts: Parts, X: Any) -> bool:
    """Whether inputs go to the machine unchanged: words, categories, named columns."""
    if not parts.machine.checks_inputs or parts.reads_inputs:
        return False
    if issparse(X) or isinstance(X, AnyRows):
        return False
    if hasattr(X, "columns"):
        # A pipeline may select columns by name.
        return hasattr(parts.machine.template, "steps") or not _all_numbers(X)
    return _has_words(X)


def _all_numbers(frame: Any) -> bool:
    """Whether all columns of a pandas or polars data frame are numbers."""
    first = frame.head(1)
    columns = (np.asarray(first[name]) for name in frame.columns)
    kinds = [getattr(frame[name].dtype, "kind", None) for name in frame.columns]
    return all(
        (kind or values.dtype.kind) in "biuf" for kind, values in zip(kinds, columns, strict=True)
    )


def _has_words(X: Any) -> bool:
    if hasattr(X, "dtype") and getattr(X.dtype, "kind", "O") in "biufc":
        return False
    if isinstance(X, list | tuple | np.ndarray) or hasattr(X, "__array__"):
        values = np.asarray(X[:1] if hasattr(X, "__getitem__") else X, dtype=object).ravel()
        return any(isinstance(value, str | bytes) for value in values.tolist())
    return False
