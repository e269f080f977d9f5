"""SVMs of all classes together, as rivals: the methods from which DUAN03 sets itself apart.

They have scores and no probabilities. Here they get them as our methods do: the soft-max of the
scores, tempered on rows that the machine has not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from ..all_together import AllTogetherSVC
from ..core.math import softmax
from ..core.types import FloatArray
from ..ensemble.tempered_classifier import TemperedClassifier
from ._peers import Conditions, Peer, searched

LANDMARKS = 500
LOSSES = {
    "weston_watkins": (
        *("SVM of all classes together (Weston-Watkins), tempered", 8.0),
        "Weston and Watkins (1999)",
    ),
    "crammer_singer": (
        *("SVM of all classes together (Crammer-Singer), tempered", 40.0),
        "Crammer and Singer (2001)",
    ),
}


class SoftMaxScores(ClassifierMixin, BaseEstimator):
    """The soft-max of a classifier's scores; probabilities only once they are tempered.

    Parameters
    ----------
    estimator : classifier
        A classifier with `class_scores`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import AllTogetherSVC
    >>> from polychotomy.compare._together import SoftMaxScores
    >>> X, y = load_iris(return_X_y=True)
    >>> SoftMaxScores(AllTogetherSVC()).fit(X, y).predict_proba(X[:1]).round(1)
    array([[0.9, 0.1, 0. ]])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier."""
        validate_data(self, X, skip_check_array=True)
        self.estimator_ = clone(self.estimator).fit(X, y, sample_weight=sample_weight)
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the soft-max of the scores."""
        check_is_fitted(self, "estimator_")
        return softmax(self.estimator_.class_scores(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of largest score."""
        labels: NDArray[Any] = self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return labels


def together() -> tuple[Peer, ...]:
    """Return the SVMs of all classes together."""
    return tuple(
        Peer(name, words, False, times, _tuned(name), partial(_plain, name), source)
        for name, (words, times, source) in LOSSES.items()
    )


def _plain(loss: str, conditions: Conditions) -> Any:
    svc = AllTogetherSVC(
        loss, 10.0, landmarks=LANDMARKS, tol=0.1, random_state=conditions.random_state
    )
    return TemperedClassifier(
        SoftMaxScores(svc), cv=conditions.splits(3) or conditions.folds(3) or 3
    )


def _tuned(loss: str) -> Callable[[Conditions], Any]:
    def make(conditions: Conditions) -> Any:
        grid: dict[str, list[Any]] = {
            "estimator__estimator__C": [0.1, 1.0, 10.0],
            "estimator__estimator__gamma": ["scale", 0.03],
        }
        return searched(_plain(loss, conditions), grid, conditions)

    return make
