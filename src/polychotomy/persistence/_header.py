"""The header of a model file: a summary of the model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..all_together import AllTogetherSVC
from ..machines.kernel_machine import KernelMachine
from ..multinomial import KernelMultinomialRegression
from ..pipe.classifier import PolychotomyClassifier
from ..probabilistic_svc import ProbabilisticSVC
from ..tuning.search import TwoStepSearchCV
from ._container import FORMAT
from ._errors import ModelFileError

OWN = (
    AllTogetherSVC,
    PolychotomyClassifier,
    ProbabilisticSVC,
    KernelMachine,
    KernelMultinomialRegression,
    TwoStepSearchCV,
)


def header_of(
    model: Any, feature_types: Mapping[str, str] | None, metadata: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the header of a fitted model."""
    from .. import __version__

    if not isinstance(model, BaseEstimator):
        raise ModelFileError(
            "save takes a fitted classifier, or a pipeline that contains one; got "
            f"{type(model).__name__}."
        )
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise ModelFileError(
            f"This {type(model).__name__} is not fitted; call fit before save."
        ) from None
    header = {
        "format": FORMAT,
        "polychotomy": __version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        "model": " ".join(repr(model).split()),
        "classes": _listed(getattr(model, "classes_", None)),
        "features": _features(model, feature_types),
        "training": _training(model),
        "metadata": dict(metadata or {}),
    }
    try:
        json.dumps(header)
    except (TypeError, ValueError) as error:
        raise ModelFileError(
            f"metadata and feature_types must hold only values that JSON can represent: {error}."
        ) from None
    return header


def _features(model: Any, types: Mapping[str, str] | None) -> list[dict[str, Any]] | None:
    n_features = getattr(model, "n_features_in_", None)
    if n_features is None:
        return None
    names = _listed(getattr(model, "feature_names_in_", None)) or [None] * n_features
    default = "number" if isinstance(model, OWN) else None
    known = dict(types or {})
    unknown = set(known) - set(names)
    if unknown:
        raise ModelFileError(
            f"feature_types names {min(map(str, unknown))!r}, which is not an input of the model."
        )
    return [{"name": name, "type": known.get(name, default)} for name in names]


def _training(model: Any) -> dict[str, Any] | None:
    for estimator in _parts(model):
        if isinstance(estimator, PolychotomyClassifier) and hasattr(estimator, "machines_"):
            parts, book = estimator.parts_, estimator.codebook_
            return {
                "rows": getattr(estimator, "n_rows_", None),
                "class_sizes": estimator.class_sizes_.tolist(),
                "machine": parts.machine_name,
                "code": book.name,
                "binary_problems": book.n_columns,
                "calibrator": type(parts.calibrator).__name__,
                "decoder": type(parts.decoder).__name__,
            }
    return None


def _parts(model: Any) -> Iterator[Any]:
    """Yield a model, and then the last step or the best estimator inside it, and so on."""
    while model is not None:
        yield model
        steps = getattr(model, "steps", None)
        inner = steps[-1][1] if isinstance(steps, list) and steps else None
        model = inner or getattr(model, "best_estimator_", getattr(model, "classifier_", None))


def _listed(values: Any) -> list[Any] | None:
    if values is None:
        return None
    listed = np.asarray(values).tolist()
    return [each if isinstance(each, str | int | float) else str(each) for each in listed]
