"""Which methods the estimator has, by its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .parts import Parts, resolve

if TYPE_CHECKING:
    from .classifier import PolychotomyClassifier


def parts_of(classifier: PolychotomyClassifier) -> Parts | None:
    """Return the parts of the pipe, or None if a parameter is invalid."""
    fitted: Parts | None = getattr(classifier, "parts_", None)
    if fitted is not None:
        return fitted
    try:
        return resolve(
            classifier.machine, classifier.code, classifier.calibrator, classifier.decoder
        )
    except (TypeError, ValueError):
        # `fit` raises the error and explains it.
        return None


def has_probabilities(classifier: PolychotomyClassifier) -> bool:
    """Whether there is a `predict_proba`; if a parameter is invalid, `fit` will say so."""
    parts = parts_of(classifier)
    return parts is None or parts.yields_probabilities


def has_folds(classifier: PolychotomyClassifier) -> bool:
    """Whether there are out-of-fold probabilities."""
    prefit = isinstance(classifier.cv, str) and classifier.cv == "prefit"
    return has_probabilities(classifier) and not prefit


def has_scores(classifier: PolychotomyClassifier) -> bool:
    """Whether there is a `decision_function`."""
    parts = parts_of(classifier)
    return parts is None or parts.decoder.yields != "decisions"
