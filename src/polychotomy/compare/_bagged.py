"""Bagged classifiers with early stopping, and a stack of them: what strong rivals do.

Note: the rivals are trained as their users train them at their best: one model for every fold,
stopped early on the fold left out, and the mean of the models as the answer. The out-of-fold
probabilities come at no extra cost, and serve for tempering and for the weights of the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core import scores
from ..core.types import FloatArray, IntArray
from ..core.weights import class_numbers
from ..pipe.folds import FoldRows, Splits
from ..tempering import StructuredTempering, Tempering

# How `fit` of a library stops early: estimator, training rows and labels, rows and labels held out.
Stopping = Callable[[Any, FloatArray, IntArray, FloatArray, IntArray], Any]
# Rounds of greedy selection: weights are multiples of one over this.
SELECTION_ROUNDS = 50


def fit_plainly(
    model: Any, X: FloatArray, y: IntArray, held_X: FloatArray, held_y: IntArray
) -> Any:
    """Fit a classifier that does not stop early."""
    return model.fit(X, y)


class BaggedClassifier(ClassifierMixin, BaseEstimator):
    """One model for every fold, fitted to the other folds; the answer is their mean.

    Parameters
    ----------
    estimator : classifier
        The classifier, with `predict_proba`. It sees class numbers from 0.
    stopping : callable, default=None
        Fits a model and stops early on rows held out; None for a plain `fit`.
    tempered : bool, default=False
        Whether the answer is tempered, by the out-of-fold probabilities.
    folds : int or list of (train, test), default=5
        The number of folds, or the folds themselves.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from polychotomy.compare._bagged import BaggedClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> BaggedClassifier(GaussianNB(), tempered=True).fit(X, y).predict(X[[0, 60]])
    array([0, 1])
    """

    def __init__(
        self,
        estimator: Any,
        stopping: Stopping | None = None,
        *,
        tempered: bool = False,
        folds: int | Splits = 5,
    ) -> None:
        self.estimator = estimator
        self.stopping = stopping
        self.tempered = tempered
        self.folds = folds

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit a model for every fold, and the tempering."""
        X, labels = validate_data(self, X, y, dtype=np.float64, ensure_all_finite=False)
        check_classification_targets(labels)
        self.classes_, numbers = class_numbers(labels)
        splits = self.folds
        if isinstance(splits, int):
            splits = FoldRows(X, numbers, np.arange(len(numbers)), None).stratified(splits)
        everything = np.arange(len(numbers))
        # Without two rows of any class no row can be held out.
        pairs = splits or [(everything, everything)]
        self.models_: list[tuple[Any, IntArray]] = []
        self.out_of_fold_ = np.zeros((len(numbers), len(self.classes_)))
        for train, test in pairs:
            model, known = self._fit_one(X, numbers, train, test)
            self.models_.append((model, known))
            self.out_of_fold_[np.ix_(test, known)] = model.predict_proba(X[test])
        self.tempering_: Tempering | None = None
        if self.tempered and splits:
            self.tempering_ = StructuredTempering().fit(self.out_of_fold_, numbers)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the mean probability of every class, tempered if asked."""
        check_is_fitted(self, "models_")
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=False)
        p = np.zeros((len(X), len(self.classes_)))
        for model, known in self.models_:
            p[:, known] += model.predict_proba(X)
        p /= p.sum(axis=1, keepdims=True)
        return p if self.tempering_ is None else self.tempering_.transform(p)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of largest probability."""
        winners = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[winners]
        return labels

    def _fit_one(
        self, X: FloatArray, numbers: IntArray, train: IntArray, test: IntArray
    ) -> tuple[Any, IntArray]:
        """Fit a model to the classes that the training rows have; return it with their numbers."""
        known = np.unique(numbers[train])
        if len(known) == 1:
            return _OneClass(), known
        # Rows of classes that the model cannot know say nothing about when to stop.
        held = test[np.isin(numbers[test], known)]
        own = [np.searchsorted(known, numbers[rows]) for rows in (train, held)]
        fit = fit_plainly if self.stopping is None or not len(held) else self.stopping
        return fit(clone(self.estimator), X[train], own[0], X[held], own[1]), known


class _OneClass:
    """The answer of a model whose training rows have one class."""

    def predict_proba(self, X: FloatArray) -> FloatArray:
        return np.ones((len(X), 1))


class GreedyStack(ClassifierMixin, BaseEstimator):
    """Bagged and tempered classifiers, weighted by greedy selection (Caruana et al., 2004).

    In every round, the member is added that lowers the out-of-fold negative log-likelihood of the
    mean most, with repetition; the weights are how often each was added.

    Parameters
    ----------
    members : sequence of (str, BaggedClassifier)
        The members.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from polychotomy.compare._bagged import BaggedClassifier, GreedyStack
    >>> X, y = load_iris(return_X_y=True)
    >>> two = {"bayes": GaussianNB(), "neighbours": KNeighborsClassifier()}
    >>> members = [(name, BaggedClassifier(one)) for name, one in two.items()]
    >>> stack = GreedyStack(members).fit(X, y)
    >>> round(sum(stack.weights_.values()), 6)
    1.0
    """

    def __init__(self, members: Sequence[tuple[str, BaggedClassifier]]) -> None:
        self.members = members

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit the members and their weights."""
        X, labels = validate_data(self, X, y, dtype=np.float64)
        self.classes_, numbers = class_numbers(labels)
        self.members_ = {name: clone(one).fit(X, labels) for name, one in self.members}
        p = np.stack([_tempered_out_of_fold(one) for one in self.members_.values()])
        self.weights_ = dict(zip(self.members_, greedy_weights(p, numbers).tolist(), strict=True))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the weighted mean probability of every class."""
        check_is_fitted(self, "weights_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        p: FloatArray = sum(
            (
                weight * self.members_[name].predict_proba(X)
                for name, weight in self.weights_.items()
                if weight > 0.0
            ),
            np.zeros((len(X), len(self.classes_))),
        )
        return p

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of largest probability."""
        winners = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[winners]
        return labels


def _tempered_out_of_fold(member: BaggedClassifier) -> FloatArray:
    p: FloatArray = member.out_of_fold_
    return p if member.tempering_ is None else member.tempering_.transform(p)


def greedy_weights(p: FloatArray, y: IntArray, rounds: int = SELECTION_ROUNDS) -> FloatArray:
    """Return weights by greedy selection, for p of shape (n_members, n_rows, n_classes)."""
    truth = np.maximum(scores.of_truth(p, y), 1e-12)
    counts, total = np.zeros(len(p)), np.zeros(len(y))
    for number in range(1, rounds + 1):
        losses = -np.log((total + truth) / number).sum(axis=1)
        best = int(losses.argmin())
        counts[best] += 1.0
        total = total + truth[best]
    weights: FloatArray = counts / rounds
    return weights
