"""Any classifier, with class probabilities that are tempered on rows it has not seen."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import assert_all_finite, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ..blocks.as_blocks import labels_given
from ..core.answers import ProbabilityAnswers
from ..core.registry import refuse_class, stored
from ..core.rows import AnyRows, plain_inputs
from ..core.state import INPUTS, Field, Holds, IsA, Labels, Sizes, require
from ..core.types import FloatArray, IntArray
from ..core.weights import class_numbers, refuse_mixed_labels, row_weights
from ..pipe.folds import FoldRows, Splits, split_rows
from ..pipe.parts import resolve_tempering
from ..tempering import StructuredTempering, Tempering
from .members import member_probabilities, weights_for_fit

# What errors call the probabilities that are tempered.
NAME = "estimator"


@stored("estimator.tempered_classifier")
class TemperedClassifier(ProbabilityAnswers, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Temper the class probabilities of any classifier.

    Out-of-fold probabilities show how far to trust the classifier, and for which classes. Then it
    is fitted to all rows, and its probabilities are corrected accordingly. With few rows, or if
    the probabilities are right already, they hardly change.

    Parameters
    ----------
    estimator : classifier, default=None
        Any classifier with `predict_proba`; ``LogisticRegression()`` by default.
    tempering : Tempering, default=None
        How probabilities are tempered; ``StructuredTempering()`` by default.
    cv : int, splitter, iterable or "prefit", default=5
        The folds for out-of-fold probabilities; every row must be tested exactly once. With
        "prefit", `estimator` must be fitted already, and `fit` takes rows that it has not seen.
    n_jobs : int, default=None
        How many folds are fitted at once.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, fitted to all rows, or the one given if ``cv="prefit"``.
    tempering_ : Tempering or None
        The fitted tempering; None if no class has two rows, so that no row could be held out.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        The number of inputs.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the inputs, if X had any.

    Notes
    -----
    It is what `sklearn.calibration.CalibratedClassifierCV` with ``ensemble=False`` is for one
    class at a time, but tempers all classes together; the more rows there are, the more may
    change (see `StructuredTempering`). Classifiers of this library need it less: most of them
    temper with ``tempering="auto"``, on out-of-fold probabilities that they have anyway.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.metrics import log_loss
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from polychotomy import TemperedClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> X, new_X, y, new_y = X[::2, :4], X[1::2, :4], y[::2], y[1::2]
    >>> plain = GaussianNB().fit(X, y)
    >>> tempered = TemperedClassifier(GaussianNB()).fit(X, y)
    >>> print(f"{log_loss(new_y, plain.predict_proba(new_X)):.3f}")
    0.962
    >>> print(f"{log_loss(new_y, tempered.predict_proba(new_X)):.3f}")
    0.562
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        **INPUTS,
        "classes_": Labels(),
        "estimator_": IsA(BaseEstimator),
        "tempering_": Holds(Tempering, share="M", optional=True),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        tempering: Tempering | None = None,
        cv: Any = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.tempering = tempering
        self.cv = cv
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Fit the classifier and its tempering.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The inputs, in any form that the classifier takes.
        y : array-like of shape (n_rows,)
            The classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows, for the classifier and for tempering.
        **params : dict
            `groups`, for a splitter `cv` that takes them; with scikit-learn's metadata routing
            also what `fit` of the classifier takes.

        Returns
        -------
        self : TemperedClassifier
        """
        y = labels_given(self, X, y)
        refuse_class(self.estimator, "estimator")
        tempering = self._unfitted_tempering()
        refuse_mixed_labels(y)
        validate_data(self, X, skip_check_array=True)
        rows = _rows_of(X)
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels)
        check_classification_targets(labels)
        if rows.shape[0] != len(labels):
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: X has "
                f"{rows.shape[0]} rows, y has {len(labels)}."
            )
        if not len(labels):
            raise ValueError("X has 0 rows, but TemperedClassifier needs rows of every class.")
        if self._is_prefit():
            return self._fit_prefit(tempering, rows, labels, sample_weight)
        self.classes_, numbers = class_numbers(labels)
        weights = row_weights(sample_weight, None, rows, numbers, self.classes_)
        fit_params, split_params = self._routed(weights, params)
        used = np.arange(len(labels)) if weights is None else np.flatnonzero(weights)
        fold_rows = FoldRows(rows, numbers, used, weights)
        splits = split_rows(self.cv, fold_rows, self.classes_, split_params)
        out_of_fold = self._out_of_fold(rows, labels, splits, fit_params)
        self.estimator_ = self._unfitted().fit(X, labels, **fit_params)
        self.tempering_ = None
        if out_of_fold is not None:
            own = None if weights is None else weights[used]
            self.tempering_ = tempering.fit(out_of_fold[used], numbers[used], own)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the tempered probability of every class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        p : ndarray of shape (n_rows, n_classes)
            The probabilities, in the order of `classes_`.
        """
        check_is_fitted(self, "estimator_")
        p = member_probabilities(self.estimator_, X, self.classes_, NAME)
        return p if self.tempering_ is None else self.tempering_.transform(p)

    def check_state(self, sizes: Sizes) -> None:
        """Check that the classifier has probabilities of the same classes and inputs."""
        same = np.array_equal(getattr(self.estimator_, "classes_", []), self.classes_)
        same = same and getattr(self.estimator_, "n_features_in_", sizes["d"]) == sizes["d"]
        same = same and hasattr(self.estimator_, "predict_proba")
        require(same, self, "has an estimator of other classes or inputs")

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where metadata goes: to the classifier's `fit`, and to the splitter.

        Returns
        -------
        routing : MetadataRouter
        """
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router.add(estimator=self._estimator(), method_mapping=mapping)
        if hasattr(self.cv, "get_metadata_routing"):
            router.add(
                splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split")
            )
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = get_tags(self._estimator()).input_tags
        tags.input_tags.sparse = own.sparse
        tags.input_tags.allow_nan = own.allow_nan
        return tags

    def _estimator(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        # Imported here, because it would slow down importing this library.
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression()

    def _unfitted(self) -> Any:
        estimator = clone(self._estimator())
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(
                f"estimator must be a classifier with predict_proba, got {self.estimator!r}. For "
                "scores without probabilities, use CalibratedClassifierCV or, in a "
                "PolychotomyClassifier, a calibrator."
            )
        return estimator

    def _unfitted_tempering(self) -> Tempering:
        if self.tempering is None:
            return StructuredTempering()
        tempering = resolve_tempering(self.tempering)
        if tempering is None:
            raise TypeError("tempering must be a Tempering(), or None for the default, got False.")
        return tempering

    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _fit_prefit(
        self, tempering: Tempering, rows: Any, labels: NDArray[Any], sample_weight: ArrayLike | None
    ) -> Self:
        check_is_fitted(self._estimator())
        self.estimator_ = self._estimator()
        self.classes_ = np.asarray(self.estimator_.classes_)
        unknown = np.flatnonzero(~np.isin(labels, self.classes_))
        if len(unknown):
            raise ValueError(
                f"y has the class {labels[unknown].tolist()[0]!r} in row {unknown[0]}, which the "
                f"fitted estimator does not know; its classes are {self.classes_.tolist()!r}."
            )
        numbers = np.searchsorted(self.classes_, labels)
        weights = row_weights(sample_weight, None, rows, numbers, self.classes_, all_classes=False)
        p = member_probabilities(self.estimator_, plain_inputs(rows), self.classes_, NAME)
        self.tempering_ = tempering.fit(p, numbers, weights)
        return self

    def _routed(
        self, weights: FloatArray | None, params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the parameters of the classifier's `fit` and of the splitter's `split`."""
        if get_config()["enable_metadata_routing"]:
            given = {} if weights is None else {"sample_weight": weights}
            routed = process_routing(self, "fit", **given, **params)
            splitter = routed.splitter.split if "splitter" in routed else {}
            return dict(routed.estimator.fit), dict(splitter)
        unknown = [name for name in params if name != "groups"]
        if unknown:
            raise TypeError(
                f"fit got {unknown[0]!r}. Without scikit-learn's metadata routing it takes "
                "sample_weight and groups only."
            )
        return weights_for_fit(self._estimator(), weights, "The estimator"), params

    def _out_of_fold(
        self,
        rows: Any,
        labels: NDArray[Any],
        splits: Splits,
        fit_params: dict[str, Any],
    ) -> FloatArray | None:
        """Return the probabilities of rows by classifiers that have not seen them."""
        found = Parallel(n_jobs=self.n_jobs)(
            delayed(_fold)(self._unfitted(), rows, labels, self.classes_, train, test, fit_params)
            for train, test in splits
        )
        if not splits:
            return None
        p = np.zeros((len(labels), len(self.classes_)))
        for (_, test), own in zip(splits, found, strict=True):
            p[test] = own
        return p


def _fold(
    estimator: Any,
    rows: Any,
    labels: NDArray[Any],
    classes: NDArray[Any],
    train: IntArray,
    test: IntArray,
    fit_params: dict[str, Any],
) -> FloatArray:
    """Fit the classifier without a fold, and return its probabilities there."""
    known = np.unique(labels[train])
    if len(known) == 1:
        return np.tile(np.asarray(classes == known[0], dtype=np.float64), (len(test), 1))
    params = {name: _part(value, train, len(labels)) for name, value in fit_params.items()}
    estimator.fit(plain_inputs(rows[train]), labels[train], **params)
    return member_probabilities(estimator, plain_inputs(rows[test]), classes, NAME)


def _rows_of(X: Any) -> Any:
    """Return inputs in a form whose rows can be chosen: some sparse formats cannot do that."""
    if issparse(X):
        return X.tocsr()
    is_frame = hasattr(X, "columns")
    return AnyRows(X) if is_frame or not hasattr(X, "__array__") else np.asarray(X)


def _part(value: Any, rows: IntArray, n_rows: int) -> Any:
    """Return the part of a parameter that belongs to some rows, if it has one entry for each."""
    if value is None or isinstance(value, str) or not hasattr(value, "__len__"):
        return value
    return np.asarray(value)[rows] if len(value) == n_rows else value
