"""A small search by likelihood, for classifiers of other libraries."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..core import scores
from ..core.checks import for_all_classes, one_of
from ..core.registry import stored
from ..core.state import INPUTS, Field, Instance, IsA, Labels
from ..core.types import FloatArray, IntArray
from ..pipe.folds import FoldRows, Splits

WAYS = ("folds", "out of bag")


def _has_probabilities(search: SmallSearch) -> bool:
    return hasattr(getattr(search, "best_estimator_", search.estimator), "predict_proba")


@stored("estimator.small_search")
class SmallSearch(ClassifierMixin, BaseEstimator):
    """Try a few settings of a classifier, and keep the one with the least NLL on unseen rows.

    Note: scikit-learn's `GridSearchCV` scores by `log_loss`, which fails if a fold lacks a class,
    and it knows no out-of-bag rows. With those, a forest needs one fit for each setting; with
    three folds it needs four, and a last one.

    Parameters
    ----------
    estimator : classifier
        The classifier, with `predict_proba`.
    grid : mapping of str to list
        The values to try for every parameter, in all combinations.
    judged : {"folds", "out of bag"}, default="folds"
        How a setting is judged: by stratified folds, or by the rows that the trees of a forest
        have not seen.
    cv : int or list of (train, test), default=3
        The number of folds, of which there are fewer if no class has that many rows; or the folds
        themselves. A classifier that has a parameter `cv` then gets the other folds as its own.

    Attributes
    ----------
    best_estimator_ : classifier
        Fitted on all rows, with the best setting.
    best_params_ : dict
        The best setting.
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from polychotomy.tuning.small_search import SmallSearch
    >>> X, y = load_iris(return_X_y=True)
    >>> logistic = LogisticRegression(max_iter=1000)
    >>> SmallSearch(logistic, {"C": [0.001, 1.0]}).fit(X, y).best_params_
    {'C': 1.0}
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        **INPUTS,
        "classes_": Labels(),
        "best_estimator_": IsA(BaseEstimator),
        "best_params_": Instance(dict),
    }

    def __init__(
        self, estimator: Any, grid: Mapping[str, list[Any]], *, judged: str = "folds", cv: Any = 3
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.judged = judged
        self.cv = cv

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Try all settings, and fit the best one to all rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows, in training and in the scores.

        Returns
        -------
        self : SmallSearch
        """
        from sklearn.model_selection import ParameterGrid

        one_of(self.judged, "judged", WAYS)
        labels = np.asarray(y)
        classes, numbers = np.unique(labels, return_inverse=True)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        cells = list(ParameterGrid(self.grid))
        trained = _Rows(X, labels, numbers, classes, weights)
        judge = self._by_folds if self.judged == "folds" else self._out_of_bag
        self.best_params_, self.best_estimator_ = judge(cells, trained)
        self.classes_ = self.best_estimator_.classes_
        self.n_features_in_ = self.best_estimator_.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_
        return self

    def _by_folds(self, cells: list[dict[str, Any]], rows: _Rows) -> tuple[dict[str, Any], Any]:
        splits = self.cv
        if isinstance(splits, Integral):
            everything = FoldRows(rows.X, rows.numbers, np.arange(len(rows.y)), rows.weights)
            splits = everything.stratified(int(splits))
        best = 0
        if splits and len(cells) > 1:
            nll = np.array(
                [
                    np.sum(
                        [
                            rows.score(self._fitted(cell, rows, train), test)
                            for train, test in splits
                        ]
                    )
                    for cell in cells
                ]
            )
            best = int(nll.argmin())
        return cells[best], self._fitted(cells[best], rows, None)

    def _out_of_bag(self, cells: list[dict[str, Any]], rows: _Rows) -> tuple[dict[str, Any], Any]:
        found = [self._fitted({**cell, "oob_score": True}, rows, None) for cell in cells]
        nll = [rows.nll(out_of_bag(one), slice(None)) for one in found]
        best = int(np.argmin(nll))
        return cells[best], found[best]

    def _fitted(self, cell: dict[str, Any], rows: _Rows, train: IntArray | None) -> Any:
        classifier = clone(self.estimator).set_params(**cell)
        given = not isinstance(self.cv, Integral)
        if train is not None and given and "cv" in classifier.get_params(deep=False):
            classifier.set_params(cv=_inside(self.cv, train))
        X, y, weights = rows.X, rows.y, rows.weights
        if train is not None:
            X, y = X[train], y[train]
            weights = None if weights is None else weights[train]
        if weights is None or not has_fit_parameter(classifier, "sample_weight"):
            return classifier.fit(X, y)
        return classifier.fit(X, y, sample_weight=weights)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        check_is_fitted(self, "best_estimator_")
        labels: NDArray[Any] = self.best_estimator_.predict(X)
        return labels

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        p : ndarray of shape (n_rows, n_classes)
        """
        check_is_fitted(self, "best_estimator_")
        p: FloatArray = self.best_estimator_.predict_proba(X)
        return p


def _inside(splits: Splits, train: IntArray) -> Splits:
    """Return the other folds among the training rows of one, by their places in these."""
    found = []
    for _, test in splits:
        held = np.isin(train, test)
        if held.any():
            found.append((np.flatnonzero(~held), np.flatnonzero(held)))
    return found


class _Rows:
    """The training rows, and the likelihood of some of them."""

    def __init__(
        self,
        X: Any,
        y: NDArray[Any],
        numbers: IntArray,
        classes: NDArray[Any],
        weights: FloatArray | None,
    ) -> None:
        self.X, self.y, self.numbers, self.classes, self.weights = X, y, numbers, classes, weights

    def score(self, fitted: Any, test: IntArray) -> float:
        """Return the summed NLL of rows; classes that a fold has not seen have probability 0."""
        p = fitted.predict_proba(self.X[test])
        p = for_all_classes(p, fitted.classes_, self.classes, "The classifier")
        return self.nll(p, test) * len(test)

    def nll(self, p: FloatArray, rows: Any) -> float:
        weights = None if self.weights is None else self.weights[rows]
        return float(scores.nll(p, self.numbers[rows], weights))


def out_of_bag(forest: Any) -> FloatArray:
    """Return the probabilities of a forest by trees that have not seen the row.

    A row that all trees have seen has no such answer: all classes are equally likely.

    Parameters
    ----------
    forest : classifier
        Fitted with ``oob_score=True``.

    Returns
    -------
    p : ndarray of shape (n_rows, n_classes)
    """
    p: FloatArray = np.array(forest.oob_decision_function_, dtype=np.float64)
    p[~np.isfinite(p).all(axis=1) | ~(p.sum(axis=1) > 0.0)] = 1.0 / p.shape[1]
    return p
