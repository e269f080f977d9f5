"""The mean of one copy of a classifier for every fold."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..blocks.as_blocks import labels_given
from ..core.answers import ProbabilityAnswers
from ..core.registry import refuse_class, stored
from ..core.state import INPUTS, Field, IsA, Labels, ListOf, Sizes, require
from ..core.types import FloatArray
from ..core.weights import class_numbers, refuse_mixed_labels, row_weights
from ..pipe.folds import FoldRows, n_folds, split_rows
from .member_seconds import seconds_of_a_fit
from .members import member_probabilities, weights_for_fit

NAME = "estimator"


@stored("estimator.fold_mean")
class FoldMean(ProbabilityAnswers, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Fit a copy of a classifier for every fold, to the other folds; answer with their mean.

    Note: a member of a pool needs out-of-fold probabilities, and so a fit for every fold. Where a
    classifier varies much with its rows, the mean of these fits is better than a sixth fit to all
    rows, and saves it.

    Parameters
    ----------
    estimator : classifier
        The classifier, with `predict_proba`. Copies get different seeds.
    cv : int, splitter or iterable, default=5
        The folds; every row must be tested exactly once.

    Attributes
    ----------
    models_ : list of classifier
        The fitted copies; a single one, fitted to all rows, if no row can be held out.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        The number of inputs.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the inputs, if X had any.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from polychotomy.ensemble.fold_mean import FoldMean
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = FoldMean(DecisionTreeClassifier(random_state=0)).fit(X[::2], y[::2])
    >>> len(clf.models_), round(clf.score(X[1::2], y[1::2]), 1)
    (5, 0.9)
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        **INPUTS,
        "classes_": Labels(),
        "models_": ListOf(IsA(BaseEstimator)),
    }

    def __init__(self, estimator: Any, *, cv: Any = 5) -> None:
        self.estimator = estimator
        self.cv = cv

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the copies.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows.

        Returns
        -------
        self : FoldMean
        """
        y = labels_given(self, X, y)
        self.fit_out_of_fold(X, y, sample_weight)
        return self

    def fit_out_of_fold(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> FloatArray | None:
        """Fit as `fit` does, and return class probabilities of rows that were held out.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        p : ndarray of shape (n_used_rows, n_classes) or None
            For the rows of positive weight, each by the copy that has not seen it. None if no row
            could be held out.
        """
        refuse_class(self.estimator, "estimator")
        refuse_mixed_labels(y)
        X, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self.classes_, numbers = class_numbers(labels)
        weights = row_weights(sample_weight, None, X, numbers, self.classes_)
        used = np.arange(len(labels)) if weights is None else np.flatnonzero(weights)
        splits = split_rows(self.cv, FoldRows(X, numbers, used, weights), self.classes_, {})
        if not splits or any(len(np.unique(numbers[train])) < 2 for train, _ in splits):
            splits = [(used, used[:0])]
        p = np.zeros((len(labels), len(self.classes_)))
        self.models_ = self._copies(len(splits))
        for model, (train, test) in zip(self.models_, splits, strict=True):
            own = None if weights is None else weights[train]
            model.fit(X[train], labels[train], **weights_for_fit(model, own, "The estimator"))
            if len(test):
                p[test] = member_probabilities(model, X[test], self.classes_, NAME)
        return p[used] if len(splits) > 1 else None

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the mean probability of every class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        p : ndarray of shape (n_rows, n_classes)
            The probabilities, in the order of `classes_`.
        """
        check_is_fitted(self, "models_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        total = np.zeros((len(X), len(self.classes_)))
        for model in self.models_:
            total += member_probabilities(model, X, self.classes_, NAME)
        total /= len(self.models_)
        return total

    def seconds_for(self, n_rows: int, n_features: int, n_classes: int) -> float:
        """Estimate how long fitting takes on one core: a fit for every fold.

        Parameters
        ----------
        n_rows, n_features, n_classes : int
            What it is fitted to.

        Returns
        -------
        seconds : float
        """
        return n_folds(self.cv) * seconds_of_a_fit(self.estimator, n_rows, n_features, n_classes)

    def check_state(self, sizes: Sizes) -> None:
        """Check that there are copies, with probabilities of these classes and inputs."""
        require(len(self.models_) > 0, self, "has no models")
        for model in self.models_:
            known = np.isin(getattr(model, "classes_", []), self.classes_)
            fine = len(known) > 0 and bool(known.all()) and hasattr(model, "predict_proba")
            same = getattr(model, "n_features_in_", None) == sizes["d"]
            require(fine and same, self, "has a model of other classes or inputs")

    def _copies(self, count: int) -> list[Any]:
        copies = [clone(self.estimator) for _ in range(count)]
        if getattr(self.estimator, "random_state", None) is not None:
            random = check_random_state(clone(self.estimator).random_state)
            for copy in copies:
                copy.set_params(random_state=int(random.randint(2**31 - 1)))
        return copies
