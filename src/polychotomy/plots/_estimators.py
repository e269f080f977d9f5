"""The pipe inside pipelines and searches."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..pipe.classifier import PolychotomyClassifier


def find_classifier(estimator: Any) -> tuple[PolychotomyClassifier, list[Any]]:
    """Return the fitted classifier inside an estimator, and the transformers before it."""
    steps: list[Any] = []
    found = estimator
    while not isinstance(found, PolychotomyClassifier):
        if isinstance(found, Pipeline):
            steps += [step for _, step in found.steps[:-1] if step not in (None, "passthrough")]
            found = found.steps[-1][1]
        elif hasattr(found, "best_estimator_"):
            found = found.best_estimator_
        elif hasattr(found, "classifier_"):
            found = found.classifier_
        else:
            raise TypeError(
                "This display needs a fitted PolychotomyClassifier, or a pipeline or search around "
                f"one; got {type(found).__name__}."
            )
    check_is_fitted(found, "codebook_")
    return found, steps
