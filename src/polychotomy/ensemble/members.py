"""The members of a pool: fitting, and class probabilities of rows that they have not seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from joblib import hash as hash_of
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ..core.checks import for_all_classes, probability_array
from ..core.threads import single_threaded_blas
from ..core.types import FloatArray, IntArray
from ..pipe.folds import Splits, folds_among, listed_once
from .metric import LearnedMetric
from .metric_classifier import MetricClassifier

# The largest number of single precision.
LARGEST_SINGLE = float(np.finfo(np.float32).max)


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
        The folds of the used rows.
    any_row : bool
        Whether any rows may be held out, and not only folds of the user's own.
    """

    X: FloatArray
    y: NDArray[Any]
    numbers: IntArray
    classes: NDArray[Any]
    weights: FloatArray | None
    used: IntArray
    splits: Splits
    any_row: bool = True


@dataclass(frozen=True)
class Member:
    """A fitted member, and its out-of-fold probabilities of the used rows.

    `left_out_alone` says whether these are by machines of all rows but one.
    """

    name: str
    estimator: Any
    out_of_fold: FloatArray
    seconds: float
    left_out_alone: bool = False


def fit_members(members: list[tuple[str, Any]], rows: Rows) -> list[Member]:
    """Fit members that may share a metric.

    Note: BLAS has one thread. With more, `n_jobs` would decide how many threads BLAS has in each
    job, and sums over another number of threads differ in their last bits. The pool runs members
    in parallel instead.
    """
    metrics: dict[str, tuple[LearnedMetric, float]] = {}
    with single_threaded_blas():
        return [_fit_member(name, estimator, rows, metrics) for name, estimator in members]


def metric_key(estimator: Any) -> str | None:
    """Return a key that is equal for members with equal metrics; None without a metric."""
    if not isinstance(estimator, MetricClassifier):
        return None
    metric = estimator.unfitted_metric()
    return f"{type(metric).__qualname__} {hash_of(metric.get_params())}"


def member_probabilities(estimator: Any, X: Any, classes: NDArray[Any], name: str) -> FloatArray:
    """Return a member's probabilities, with a column for every class of the pool."""
    p = probability_array(estimator.predict_proba(X), f"predict_proba of the member {name!r}", (2,))
    return for_all_classes(p, estimator.classes_, classes, f"The member {name!r}")


def _fit_member(
    name: str, unfitted: Any, rows: Rows, metrics: dict[str, tuple[LearnedMetric, float]]
) -> Member:
    start, estimator = perf_counter(), clone(unfitted)
    p: FloatArray | None = None
    alone = False
    with numbers_in_range(name, rows.X):
        if holds_rows_out(estimator):
            p = _fit_own(estimator, rows.X, rows, metrics)
            alone = p is not None and leaves_one_out(estimator)
            refitted = unfitted  # without folds of all rows
        else:
            _give_folds(estimator, rows)
            refitted = _fit(name, estimator, rows.X, rows.y, rows.weights)
            if rows.any_row and getattr(estimator, "oob_decision_function_", None) is not None:
                p = _out_of_bag(estimator, rows)
        if p is None and rows.splits:
            p = _cross_fitted(name, refitted, rows)
    if p is None:
        # No class has two rows, so no row can be held out.
        p = member_probabilities(estimator, rows.X[rows.used], rows.classes, name)
    return Member(name, estimator, p, perf_counter() - start, alone)


def holds_rows_out(estimator: Any) -> bool:
    """Whether a member returns out-of-fold probabilities that no step of it has seen the class of.

    Note: the last step of a pipeline holds out rows of inputs that the other steps have made. If
    one of these has learned from all classes, as scikit-learn's `TargetEncoder` does, the inputs of
    a row tell its class, and the pipeline is refitted for every fold instead.
    """
    steps = all_steps(estimator)
    own = hasattr(steps[-1], "fit_out_of_fold")
    return own and not any(learns_from_classes(step) for step in steps[:-1])


def learns_from_classes(step: Any) -> bool:
    """Whether a transformer, or an estimator inside it, learns from the classes.

    Note: plain regressors inside a transformer learn its columns, as those of `IterativeImputer`.
    """
    inner = step.get_params().values() if hasattr(step, "get_params") else ()
    for one in (step, *inner):
        if isinstance(one, type) or not hasattr(one, "__sklearn_tags__"):
            continue
        plain = one is not step and is_regressor(one) and not hasattr(one, "transform")
        if not plain and _reads_classes(one):
            return True
    return False


def _reads_classes(one: Any) -> bool:
    """Whether `fit` of an estimator reads the classes.

    Note: scikit-learn's tags do not say so for some selectors, nor for partial least squares.
    """
    # Imported here, because it would slow down importing this library.
    from sklearn.cross_decomposition import PLSSVD
    from sklearn.feature_selection import SelectorMixin, VarianceThreshold

    if isinstance(one, SelectorMixin):
        return not isinstance(one, VarianceThreshold)
    predicts = is_classifier(one) or is_regressor(one)
    return predicts or isinstance(one, PLSSVD) or bool(get_tags(one).target_tags.required)


def leaves_one_out(estimator: Any) -> bool:
    """Whether a fitted member's own out-of-fold probabilities come from leave-one-out formulas.

    Pipes mark the columns that do, and a pool says whether any member's do.
    """
    last = last_step(estimator)
    for name in ("estimator_", "best_estimator_"):
        if hasattr(last, name):
            return leaves_one_out(getattr(last, name))
    return bool(np.any(getattr(last, "leave_one_out_columns_", False)))


def _fit_own(
    estimator: Any, X: Any, rows: Rows, metrics: dict[str, tuple[LearnedMetric, float]]
) -> FloatArray | None:
    """Fit a classifier of this library, which returns its out-of-fold probabilities itself.

    It holds out the folds of the pool, unless any rows may be held out: then it has folds of its
    own, or a formula for leaving out one row after another.

    Note: the steps of a pipeline are fitted one by one. `Pipeline.fit` does not return the result
    of the last step, and with metadata routing it refuses weights that its steps accept.
    """
    if is_pipeline(estimator):
        for _, step in estimator.steps[:-1]:
            if step is not None and step != "passthrough":
                X = step.fit(X, rows.y, **_weights_for(step, rows.weights)).transform(X)
        return _fit_own(estimator.steps[-1][1], X, rows, metrics)
    if not rows.any_row and takes_folds(estimator):
        estimator.set_params(cv=rows.splits)
    shared = {}
    if isinstance(estimator, MetricClassifier):
        estimator.set_params(cv=listed_once(estimator.cv, X, rows.y))
        shared["metric"] = _metric_of(estimator, X, rows, metrics)
    p: FloatArray | None = estimator.fit_out_of_fold(X, rows.y, rows.weights, **shared)
    return p


def _give_folds(estimator: Any, rows: Rows, some: IntArray | None = None) -> None:
    """Give the user's own folds, of all or of some rows, to the steps that would choose others."""
    if rows.any_row:
        return
    splits = rows.splits if some is None else folds_among(rows.splits, some)
    if not splits:
        return
    for step in all_steps(estimator):
        own = isinstance(step, LearnedMetric) or hasattr(step, "fit_out_of_fold")
        if own and takes_folds(step):
            step.set_params(cv=splits)


def _metric_of(
    estimator: MetricClassifier,
    X: Any,
    rows: Rows,
    metrics: dict[str, tuple[LearnedMetric, float]],
) -> LearnedMetric:
    """Return the metric of a member, for inputs as it reads them; equal ones are learned once."""
    estimator.unfitted()
    key = metric_key(estimator)
    assert key is not None
    if key not in metrics:
        start = perf_counter()
        metric = estimator.unfitted_metric().fit(X, rows.y, rows.weights)
        metrics[key] = metric, perf_counter() - start
    return metrics[key][0]


@contextmanager
def numbers_in_range(name: str, X: Any) -> Iterator[None]:
    """Name the column if a member fails at numbers that single precision does not have.

    Note: such numbers are not refused beforehand, because most members take them. Trees of
    scikit-learn do not, and their message names neither the member nor the column. Other messages
    are about something else, also with such numbers.
    """
    try:
        yield
    except ValueError as error:
        large = np.flatnonzero(np.abs(X).max(axis=0, initial=0.0) > LARGEST_SINGLE)
        if not len(large) or "dtype('float32')" not in str(error):
            raise
        raise ValueError(
            f"The member {name!r} failed, and column {large[0]} of X (the first is 0) has numbers "
            f"above {LARGEST_SINGLE:.1e}, which trees of scikit-learn do not take. Divide the "
            "column by a constant, or give members without such trees."
        ) from error


def takes_folds(estimator: Any) -> bool:
    """Whether a classifier has folds, and no fitted machines instead."""
    params = estimator.get_params(deep=False)
    return "cv" in params and not (isinstance(params["cv"], str) and params["cv"] == "prefit")


def is_pipeline(estimator: Any) -> bool:
    """Whether an estimator is a pipeline of scikit-learn."""
    # Imported here, because it would slow down importing this library.
    from sklearn.pipeline import Pipeline

    return isinstance(estimator, Pipeline)


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself."""
    return last_step(estimator[-1]) if is_pipeline(estimator) else estimator


def all_steps(estimator: Any) -> list[Any]:
    """Return the steps of a pipeline and of pipelines in it; the estimator itself otherwise."""
    if not is_pipeline(estimator):
        return [estimator]
    return [one for _, step in estimator.steps for one in all_steps(step)]


def _out_of_bag(estimator: Any, rows: Rows) -> FloatArray:
    """Return out-of-bag probabilities, by trees that have not seen the row; no refits by fold."""
    p = np.asarray(estimator.oob_decision_function_, dtype=np.float64)[rows.used]
    # A row that all trees have seen has no out-of-bag answer: all classes are equally likely.
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
        one = clone(estimator)
        _give_folds(one, rows, train)
        fitted = _fit(name, one, rows.X[train], rows.y[train], weights)
        p[test] = member_probabilities(fitted, rows.X[test], rows.classes, name)
    return p[rows.used]


def _fit(
    name: str, estimator: Any, X: FloatArray, y: NDArray[Any], weights: FloatArray | None
) -> Any:
    return estimator.fit(X, y, **weights_for_fit(estimator, weights, f"The member {name!r}"))


def weights_for_fit(estimator: Any, weights: FloatArray | None, name: str) -> dict[str, FloatArray]:
    """Return weights as keyword arguments of `fit`; for a pipeline, of the steps that take them."""
    if weights is None:
        return {}
    if not has_fit_parameter(last_step(estimator), "sample_weight"):
        raise ValueError(
            f"{name} does not take sample_weight in fit. Replace it, or omit sample_weight."
        )
    if is_pipeline(estimator) and not get_config()["enable_metadata_routing"]:
        steps = [key for key, step in estimator.steps if _weights_for(step, weights)]
        return {f"{key}__sample_weight": weights for key in steps}
    return {"sample_weight": weights}


def _weights_for(step: Any, weights: FloatArray | None) -> dict[str, FloatArray]:
    """Return the weights as keyword arguments of a step's `fit`; none if it takes no weights."""
    takes = weights is not None and has_fit_parameter(step, "sample_weight")
    return {"sample_weight": weights} if takes and weights is not None else {}
