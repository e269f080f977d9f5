"""A method of a comparison, to be fitted to all rows, or fitted for a model file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ..core.types import IntArray
from ._candidates import choose
from ._classes import settle_classes
from ._encoding import fit_encoded
from ._judging import fit_weighted, fitted_tuned, kept_together, rows_of
from ._material import checked_weights, input_steps, numbered
from ._peers import Conditions
from ._splits import stratified_order


def tuned_pipeline(
    name: str,
    y: ArrayLike,
    preprocessor: Any = "scale",
    *,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Any:
    """Return a method of a comparison, not fitted: it tunes itself as it did there.

    Parameters
    ----------
    name : str
        One of `candidates`.
    y : array-like of shape (n_rows,)
        The classes it will be fitted to. A class with few rows means fewer folds.
    preprocessor : transformer, "scale" or None, default="scale"
        A transformer of the inputs, before the method.
    random_state, n_jobs
        As in `compare_methods`.

    Returns
    -------
    model : Pipeline or estimator

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy.compare import tuned_pipeline
    >>> X, y = load_iris(return_X_y=True)
    >>> model = tuned_pipeline("PWC_PSVM", y).fit(X, y)
    >>> model.predict_proba(X[:1]).shape
    (1, 3)
    """
    from sklearn.pipeline import Pipeline

    (candidate,) = choose([name])
    numbers = settle_classes(y).numbers
    conditions = Conditions(int(np.bincount(numbers).min()), random_state, n_jobs, numbers)
    estimator = candidate.make(conditions)
    before = input_steps(preprocessor)
    if before is None:
        return estimator
    return Pipeline([("inputs", before), ("classifier", estimator)])


def fit_method(
    name: str,
    X: Any,
    y: ArrayLike,
    preprocessor: Any = "scale",
    *,
    rare: str = "keep",
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    order: ArrayLike | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    n_rows: int | None = None,
    tuned: bool = True,
) -> Any:
    """Tune and fit a method as in a comparison; with many rows it is tuned on a part of them.

    Parameters
    ----------
    name : str
        One of `candidates`.
    X, y, preprocessor, rare, sample_weight, groups, order, random_state
        As in `compare_methods`.
    n_jobs : int, default=None
        The number of threads, for methods that can use several.
    n_rows : int, default=None
        The number of rows to use, a stratified part; all by default.
    tuned : bool, default=True
        Whether to tune it; not every method can be fitted without.

    Returns
    -------
    model : Pipeline
        Fitted: the inputs' transformer, and the classifier.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy.compare import fit_method
    >>> X, y = load_iris(return_X_y=True)
    >>> fit_method("PWC_PSVM", X, y).predict_proba(X[:1]).shape
    (1, 3)
    """
    from sklearn.pipeline import Pipeline

    (candidate,) = choose([name])
    classes = settle_classes(y, rare)
    X = X if hasattr(X, "iloc") else np.asarray(X)
    kept, numbers = classes.rows, classes.numbers
    most = len(numbers) if n_rows is None else n_rows
    if len(numbers) > min(most, candidate.tuned_rows(len(classes.labels)) or most):
        first = stratified_order(numbers, np.arange(len(numbers)), random_state)[:most]
        kept, numbers = kept[first], numbers[first]
    labels = classes.labels[numbers]
    inputs = X if np.array_equal(kept, np.arange(len(X))) else rows_of(X, kept)
    weights = None
    if sample_weight is not None:
        weights = checked_weights(np.asarray(sample_weight)[kept])
    times = None if order is None else np.asarray(order)
    together = kept_together(kept, numbered(groups), times)
    conditions = Conditions(_smallest(numbers), random_state, n_jobs, numbers, together)
    _refuse_inseparable(conditions, "groups" if times is None else "order")
    steps = []
    before = input_steps(preprocessor)
    if before is not None:
        before, inputs = fit_encoded(before, inputs, labels, conditions)
        steps.append(("inputs", before))
    if tuned:
        fitted = fitted_tuned(candidate, conditions, inputs, labels, weights)
    elif candidate.quick is None:
        raise ValueError(f"{name} cannot be trained without tuning.")
    else:
        fitted = fit_weighted(candidate.quick(conditions), inputs, labels, weights)
    model = Pipeline([*steps, ("classifier", fitted)])
    forget_folds(model)
    return model


def _refuse_inseparable(conditions: Conditions, name: str) -> None:
    """Refuse groups or times that no folds can keep apart."""
    together = conditions.together
    if together is None or conditions.splits(5) is not None:
        return
    what = f"{name} must leave two classes to learn from where rows are held out"
    if (together == together[0]).all():
        what = {
            "groups": "groups must have at least two groups",
            "order": "order must have at least two different values",
        }[name]
    raise ValueError(f"{what}. Use another column for {name}, or none.")


def forget_folds(fitted: Any) -> None:
    """Replace lists of folds by their number: a model file has no use for rows' numbers."""
    if isinstance(fitted, dict | list | tuple):
        for one in fitted.values() if isinstance(fitted, dict) else fitted:
            forget_folds(one)
    if not isinstance(fitted, BaseEstimator):
        return
    for key, value in vars(fitted).items():
        if key == "cv" and isinstance(value, list):
            fitted.set_params(cv=len(value))
        else:
            forget_folds(value)


def _smallest(numbers: IntArray) -> int:
    counts = np.bincount(numbers)
    return int(counts[counts > 0].min())
