"""Class probabilities of rows that the classifier has not seen, for rules that are learned."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils import (
    _safe_indexing,
    assert_all_finite,
    column_or_1d,
    get_tags,
    indexable,
)
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.multiclass import check_classification_targets

from ..core.checks import for_all_classes
from ..core.rows import AnyRows
from ..core.types import FloatArray, IntArray
from ..core.weights import class_numbers, refuse_mixed_labels
from ..pipe.folds import FoldRows, Splits, split_rows
from ..pipe.inputs import refuse_several_outputs
from .inputs import class_probabilities, numbers_of

# The pipe's own out-of-fold probabilities come before these stages.
LATER_STAGES = ("tempering", "priors")


@dataclass(frozen=True)
class HeldOut:
    """Class probabilities of rows by a classifier that has not seen them, and their classes.

    Attributes
    ----------
    p : ndarray of shape (n_rows, n_classes)
        The probabilities.
    y : ndarray of int of shape (n_rows,)
        The class numbers.
    weights : ndarray of shape (n_rows,) or None
        The weights of the rows, if `fit` was given any.
    """

    p: FloatArray
    y: IntArray
    weights: FloatArray | None = None


@dataclass(frozen=True)
class Rows:
    """The training rows of a decision, and the classifier to be fitted to them.

    Attributes
    ----------
    estimator : classifier
        A copy of the user's classifier.
    X : array-like
        The inputs, as the user gave them: the classifier checks them.
    y : ndarray of shape (n_rows,)
        The labels.
    numbers : ndarray of int of shape (n_rows,)
        The class numbers.
    classes : ndarray of shape (n_classes,)
        The labels of the classes.
    fit_params, split_params : dict
        What goes to the classifier's `fit` and to the splitter.
    """

    estimator: Any
    X: Any
    y: NDArray[Any]
    numbers: IntArray
    classes: NDArray[Any]
    fit_params: dict[str, Any]
    split_params: dict[str, Any]

    @property
    def weights(self) -> FloatArray | None:
        """The weights of the rows, if there are any."""
        given = _of_last(self.estimator, self.fit_params).get("sample_weight")
        return None if given is None else np.asarray(given, dtype=np.float64)

    def fit(self, rows: IntArray | None = None) -> Any:
        """Fit the classifier to all rows, or to some."""
        if rows is None:
            return self.estimator.fit(self.X, self.y, **self.fit_params)
        params = {key: _cut(value, rows, len(self.y)) for key, value in self.fit_params.items()}
        return self.estimator.fit(self.inputs(rows, rows), self.y[rows], **params)

    @property
    def pairwise(self) -> bool:
        """Whether the inputs are a kernel matrix, whose columns are training rows."""
        return bool(get_tags(self.estimator).input_tags.pairwise)

    def inputs(self, rows: IntArray, trained: IntArray | None) -> Any:
        """Return the inputs of some rows, for a classifier that was trained on some rows."""
        X = _safe_indexing(self.X, rows)
        return X[:, trained] if self.pairwise and trained is not None else X

    def held_out(self, fitted: Any, rows: IntArray, trained: IntArray | None = None) -> HeldOut:
        """Return what a fitted classifier says of rows that it has not seen."""
        p = probabilities_of(fitted, self.inputs(rows, trained), self.classes)
        weights = None if self.weights is None else self.weights[rows]
        return HeldOut(p, self.numbers[rows], weights)

    def fit_held_out(self, cv: Any, n_jobs: int | None = None) -> tuple[Any, HeldOut]:
        """Fit the classifier to all rows, and return probabilities of rows it has not seen.

        Parameters
        ----------
        cv : int, splitter, iterable or None
            The folds. None: the out-of-fold probabilities that a classifier of this library has
            anyway, five folds for any other classifier.
        n_jobs : int, default=None
            How many folds are fitted at once.

        Returns
        -------
        fitted : classifier
            Fitted to all rows.
        held_out : HeldOut
            The rows of positive weight.
        """
        used = np.arange(len(self.y)) if self.weights is None else np.flatnonzero(self.weights)
        if is_frozen(self.estimator):
            return self.estimator, self.held_out(self.estimator, used)
        own = _of_last(self.estimator, self.fit_params)
        if cv is None and self._only_for_last(own) and gives_out_of_fold(self.estimator):
            p = _fit_own(self.estimator, self.X, self.y, own)
            _refuse_none(p is not None)
            assert p is not None
            weights = None if self.weights is None else self.weights[used]
            return self.estimator, HeldOut(p, self.numbers[used], weights)
        _refuse_none(np.bincount(self.numbers).max() >= 2)
        folds = 5 if cv is None else cv
        # First, so that the classifier refuses inputs that it does not take.
        fitted = self.fit()
        X = self.X if isinstance(self.X, np.ndarray) or issparse(self.X) else AnyRows(self.X)
        data = FoldRows(X, self.numbers, np.arange(len(self.y)), self.weights, self.pairwise)
        p = self._cross_fitted(split_rows(folds, data, self.classes, self.split_params), n_jobs)
        weights = None if self.weights is None else self.weights[used]
        return fitted, HeldOut(p[used], self.numbers[used], weights)

    def _only_for_last(self, own: dict[str, Any]) -> bool:
        """Whether no step of a pipeline before the last takes parameters."""
        if get_config()["enable_metadata_routing"] and _path_of_last(self.estimator):
            # The requests of the steps decide, and the pipeline follows them.
            return not own
        return len(own) == len(self.fit_params)

    def _cross_fitted(self, splits: Splits, n_jobs: int | None) -> FloatArray:
        from joblib import Parallel, delayed

        found = Parallel(n_jobs=n_jobs)(delayed(_fold)(self, train, test) for train, test in splits)
        p = np.zeros((len(self.y), len(self.classes)))
        for (_, test), answer in zip(splits, found, strict=True):
            p[test] = answer
        return p


def training_rows(owner: Any, X: Any, y: ArrayLike, params: dict[str, Any]) -> Rows:
    """Check the training rows of a decision, and where its parameters go.

    Note: inputs are not checked here. The classifier does that, and may accept texts, missing
    values and data frames, which a check here would refuse.
    """
    estimator = checked_estimator(owner.estimator)
    refuse_mixed_labels(y)
    refuse_several_outputs(y)
    if y is None:
        raise ValueError(
            f"{type(owner).__name__} requires y to be passed, but the target y is None."
        )
    X, y = indexable(X, y)
    labels = column_or_1d(y, warn=True)
    if not len(labels):
        raise ValueError("Found array with 0 sample(s): give rows to fit.")
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    if is_frozen(estimator):
        # The new rows may lack a class, which has its probability all the same.
        classes = np.asarray(estimator.classes_)
        numbers = numbers_of(labels, classes)
    else:
        classes, numbers = class_numbers(labels)
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(owner, "fit", **params)
        fit_params = dict(routed.estimator.fit)
        split_params = dict(routed.splitter.split) if "splitter" in routed else {}
    else:
        params = {key: value for key, value in params.items() if value is not None}
        split_params = {key: value for key, value in params.items() if key == "groups"}
        fit_params = {key: value for key, value in params.items() if key != "groups"}
    return Rows(estimator, X, labels, numbers, classes, fit_params, split_params)


def checked_estimator(estimator: Any) -> Any:
    """Return a copy of a classifier after checking that it has probabilities."""
    if isinstance(estimator, type):
        raise TypeError(
            f"estimator must be an instance, not a class: write {estimator.__name__}()."
        )
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"estimator must be a classifier with predict_proba, got {estimator!r}. Calibrate a "
            "classifier without it, for example with PolychotomyClassifier or "
            "CalibratedClassifierCV."
        )
    return clone(estimator)


def probabilities_of(fitted: Any, X: Any, classes: NDArray[Any]) -> FloatArray:
    """Return class probabilities, with a column for every class."""
    p = class_probabilities(fitted.predict_proba(X), f"predict_proba of {type(fitted).__name__}")
    return for_all_classes(p, fitted.classes_, classes, "The classifier")


def is_frozen(estimator: Any) -> bool:
    """Whether a classifier is fitted and stays as it is, so that all rows are new to it."""
    from sklearn.frozen import FrozenEstimator

    return isinstance(estimator, FrozenEstimator)


def gives_out_of_fold(estimator: Any) -> bool:
    """Whether fitting gives out-of-fold probabilities as well.

    Not if a later stage changes them afterwards, or if a step before it learns from the classes:
    such a step has to be fitted again for every fold.
    """
    steps, last = _steps_of(estimator)
    if not hasattr(last, "fit_out_of_fold"):
        return False
    if any(get_tags(step).target_tags.required for step in steps):
        return False
    params = last.get_params(deep=True)
    later = (key for key in params if key.rpartition("__")[2] in LATER_STAGES)
    return all(params[key] is None or params[key] is False for key in later)


def _steps_of(estimator: Any) -> tuple[list[Any], Any]:
    """Return the transformers of a pipeline, and what comes last."""
    from sklearn.pipeline import Pipeline

    if not isinstance(estimator, Pipeline):
        return [], estimator
    before, last = _steps_of(estimator.steps[-1][1])
    own = [step for _, step in estimator.steps[:-1] if step not in (None, "passthrough")]
    return [*own, *before], last


def _fit_own(
    estimator: Any, X: Any, y: NDArray[Any], fit_params: dict[str, Any]
) -> FloatArray | None:
    steps, last = _steps_of(estimator)
    for step in steps:
        X = step.fit(X, y).transform(X)
    p: FloatArray | None = last.fit_out_of_fold(X, y, **fit_params)
    return p


def _of_last(estimator: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of the last step of a pipeline, under its own names for them."""
    path = _path_of_last(estimator)
    # Those that are not addressed to a step are for the last one.
    return {
        key.removeprefix(path): value
        for key, value in fit_params.items()
        if key.startswith(path) or "__" not in key
    }


def _path_of_last(estimator: Any) -> str:
    """Return what stands before the parameters of the last step; nothing without a pipeline."""
    from sklearn.pipeline import Pipeline

    if not isinstance(estimator, Pipeline):
        return ""
    name, last = estimator.steps[-1]
    return f"{name}__{_path_of_last(last)}"


def _fold(rows: Rows, train: IntArray, test: IntArray) -> FloatArray:
    known = np.unique(rows.numbers[train])
    if len(known) == 1:
        p = np.zeros((len(test), len(rows.classes)))
        p[:, known] = 1.0
        return p
    one = Rows(
        clone(rows.estimator),
        rows.X,
        rows.y,
        rows.numbers,
        rows.classes,
        rows.fit_params,
        rows.split_params,
    )
    return one.held_out(one.fit(train), test, train).p


def _cut(value: Any, rows: IntArray, n_rows: int) -> Any:
    if value is None or not hasattr(value, "__len__") or len(value) != n_rows:
        return value
    return _safe_indexing(value, rows)


def _refuse_none(there: bool) -> None:
    if not there:
        raise ValueError(
            "There are no held-out rows: no class has two rows, so that none can be held out. "
            "Give more rows, or a fitted classifier as FrozenEstimator(classifier) and new rows."
        )


def warn_few(sentence: str) -> None:
    """Warn that a rule rests on few rows."""
    warnings.warn(sentence, UserWarning, stacklevel=4)
