"""The members of a pool: fitted, with class probabilities of rows that they have not seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ._checks import probability_array
from ._folds import Splits
from ._threads import single_threaded_blas
from ._types import FloatArray, IntArray
from .classifier import PolychotomyClassifier
from .metric import LearnedMetric
from .metric_classifier import MetricClassifier
from .search import TwoStepSearchCV
from .tempering import Tempering


@dataclass(frozen=True)
class Rows:
    """The training rows of a pool.

    Parameters
    ----------
    X, y : ndarray of shape (n_rows, n_features), (n_rows,)
        All rows and their labels.
    numbers : ndarray of shape (n_rows,)
        Their class numbers.
    classes : ndarray of shape (n_classes,)
        The labels.
    weights : ndarray of shape (n_rows,) or None
        Their weights.
    used : ndarray of int
        The rows of positive weight.
    splits : list of (train, test)
        The folds, of used rows.
    """

    X: FloatArray
    y: NDArray[Any]
    numbers: IntArray
    classes: NDArray[Any]
    weights: FloatArray | None
    used: IntArray
    splits: Splits


@dataclass(frozen=True)
class Member:
    """A fitted member, with its probabilities of the used rows by fits that did not see them."""

    name: str
    estimator: Any
    out_of_fold: FloatArray
    seconds: float


class Recorder(Tempering):
    """In the place of tempering: keeps the out-of-fold probabilities that it would be fitted on."""

    def fit(self, p: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> Recorder:
        """Keep the probabilities."""
        self.p_ = np.asarray(p, dtype=np.float64)
        return self


def fit_members(members: list[tuple[str, Any]], rows: Rows) -> list[Member]:
    """Fit members that may share a metric."""
    metrics: dict[str, tuple[LearnedMetric, float]] = {}
    # The number of jobs, which decides how many threads BLAS has in each, must change no bit.
    with single_threaded_blas():
        return [_fit_member(name, clone(estimator), rows, metrics) for name, estimator in members]


def metric_key(estimator: Any) -> str | None:
    """Return what members with the same metric have in common; None for those without one."""
    if not isinstance(estimator, MetricClassifier):
        return None
    metric = LearnedMetric() if estimator.metric is None else estimator.metric
    return f"{type(metric).__qualname__} {sorted(metric.get_params().items())}"


def member_probabilities(estimator: Any, X: Any, classes: NDArray[Any], name: str) -> FloatArray:
    """Return a member's probabilities, with a column for every class of the pool."""
    p = probability_array(estimator.predict_proba(X), f"predict_proba of the member {name!r}", (2,))
    if np.array_equal(estimator.classes_, classes):
        return p
    # A fold may lack a class.
    whole = np.zeros((len(p), len(classes)))
    whole[:, np.searchsorted(classes, estimator.classes_)] = p
    return whole


def _fit_member(
    name: str, estimator: Any, rows: Rows, metrics: dict[str, tuple[LearnedMetric, float]]
) -> Member:
    start = perf_counter()
    p: FloatArray | None
    pipe = pipe_of(estimator)
    if pipe is None or pipe.cv == "prefit":
        _fit(name, estimator, rows.X, rows.y, rows.weights)
        if getattr(estimator, "oob_decision_function_", None) is not None:
            p = _out_of_bag(estimator, rows)
        else:
            p = _cross_fitted(name, estimator, rows) if rows.splits else None
    else:
        given, pipe.tempering = pipe.tempering, Recorder()
        if isinstance(estimator, MetricClassifier):
            _fit_in_metric(estimator, rows, metrics)
        else:
            _fit(name, estimator, rows.X, rows.y, rows.weights)
        p = _recorded(estimator)
        pipe.tempering = given
    if p is None:
        # No class has two rows: nothing can be held out.
        p = member_probabilities(estimator, rows.X[rows.used], rows.classes, name)
    return Member(name, estimator, p, perf_counter() - start)


def _fit_in_metric(
    estimator: MetricClassifier, rows: Rows, metrics: dict[str, tuple[LearnedMetric, float]]
) -> None:
    key = metric_key(estimator)
    assert key is not None
    inner = estimator.unfitted()
    if key not in metrics:
        start = perf_counter()
        metric = LearnedMetric() if estimator.metric is None else clone(estimator.metric)
        metric.fit(rows.X, rows.y, rows.weights)
        metrics[key] = metric, perf_counter() - start
    estimator.fit_in(metrics[key][0], inner, rows.X, rows.y, rows.weights)


def pipe_of(estimator: Any) -> PolychotomyClassifier | None:
    """Return the pipe inside an estimator that is not fitted yet, if there is one.

    Estimators without one that would make one by default are given it.
    """
    if _is_pipeline(estimator):
        return pipe_of(estimator[-1])
    if isinstance(estimator, MetricClassifier):
        if estimator.estimator is None:
            estimator.estimator = estimator.unfitted()
        return pipe_of(estimator.estimator)
    if isinstance(estimator, TwoStepSearchCV):
        if estimator.estimator is None:
            estimator.estimator = PolychotomyClassifier()
        return estimator.estimator
    return estimator if isinstance(estimator, PolychotomyClassifier) else None


def _is_pipeline(estimator: Any) -> bool:
    # By its name, because importing the class would make importing this library slow.
    return any(cls.__module__ == "sklearn.pipeline" for cls in type(estimator).__mro__) and hasattr(
        estimator, "steps"
    )


def _fitted_pipes(estimator: Any) -> list[PolychotomyClassifier]:
    """Return the pipes inside a fitted estimator, the one that answers first."""
    if _is_pipeline(estimator):
        return _fitted_pipes(estimator[-1])
    if isinstance(estimator, MetricClassifier):
        return _fitted_pipes(estimator.estimator_)
    if isinstance(estimator, TwoStepSearchCV):
        given = estimator.estimator
        return [estimator.best_estimator_, *([] if given is None else [given])]
    return [estimator]


def _recorded(estimator: Any) -> FloatArray | None:
    """Return what the recorder kept, and take it out."""
    fitted, *others = _fitted_pipes(estimator)
    recorder = fitted.tempering_
    fitted.tempering_ = None
    fitted.parts_ = replace(fitted.parts_, tempering=None)
    for pipe in (fitted, *others):
        pipe.tempering = None
    return None if recorder is None else recorder.p_


def _out_of_bag(estimator: Any, rows: Rows) -> FloatArray:
    """Return the answers of the trees that have not seen a row: no refits by fold."""
    p = np.asarray(estimator.oob_decision_function_, dtype=np.float64)[rows.used]
    # What all trees have seen is not known.
    p[~np.isfinite(p).all(axis=1) | ~(p.sum(axis=1) > 0.0)] = 1.0 / p.shape[1]
    return p


def _cross_fitted(name: str, estimator: Any, rows: Rows) -> FloatArray:
    p = np.zeros((len(rows.y), len(rows.classes)))
    for train, test in rows.splits:
        known = np.unique(rows.numbers[train])
        if len(known) == 1:
            p[np.ix_(test, known)] = 1.0
            continue
        weights = None if rows.weights is None else rows.weights[train]
        fitted = _fit(name, clone(estimator), rows.X[train], rows.y[train], weights)
        p[test] = member_probabilities(fitted, rows.X[test], rows.classes, name)
    return p[rows.used]


def _fit(
    name: str, estimator: Any, X: FloatArray, y: NDArray[Any], weights: FloatArray | None
) -> Any:
    if weights is None:
        return estimator.fit(X, y)
    last = estimator[-1] if _is_pipeline(estimator) else estimator
    if not has_fit_parameter(last, "sample_weight"):
        raise ValueError(
            f"The member {name!r} does not take sample_weight in fit; leave the member out, or the "
            "weights."
        )
    if _is_pipeline(estimator):
        steps = [key for key, step in estimator.steps if has_fit_parameter(step, "sample_weight")]
        return estimator.fit(X, y, **{f"{key}__sample_weight": weights for key in steps})
    return estimator.fit(X, y, sample_weight=weights)
