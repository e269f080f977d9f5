"""Any scikit-learn classifier as a binary machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed

from ..core.margins import Margins
from ..core.registry import stored
from ..core.rows import plain_inputs
from ..core.state import Field, IsA, ListOf, Plain, Sizes, require
from ..core.threads import single_threaded_blas as single_threaded_blas
from ..core.types import FloatArray, IntArray, SignArray
from .base import TrainingOptions


@stored("fitted.classifiers")
@dataclass(frozen=True)
class FittedColumns:
    """The trained classifiers of one subset of rows, None where a column lacks a sign."""

    estimators: list[Any]
    rows: list[IntArray] | None

    fitted_state: ClassVar[dict[str, Field]] = {
        "estimators": ListOf(IsA(BaseEstimator, optional=True), "T"),
        "rows": Plain(),
    }

    def check_state(self, sizes: Sizes) -> None:
        """Check that all classifiers are binary, and that rows are row numbers."""
        for estimator in self.estimators:
            if estimator is not None:
                classes = np.asarray(getattr(estimator, "classes_", None))
                binary = classes.dtype.kind in "iu" and classes.tolist() == [0, 1]
                require(binary, self, "is of other classes")
        if self.rows is not None:
            fine = type(self.rows) is list and len(self.rows) == len(self.estimators)
            require(fine, self, "has rows of another type")
            for each in self.rows:
                whole = type(each) is np.ndarray and each.ndim == 1 and each.dtype.kind in "iu"
                require(whole and (each >= 0).all(), self, "has rows out of range")

    def check_inputs(self, n_features: int) -> None:
        """Check that all classifiers can read rows of this many inputs."""
        for number, estimator in enumerate(self.estimators):
            if estimator is not None:
                wanted = n_features if self.rows is None else len(self.rows[number])
                same = getattr(estimator, "n_features_in_", None) == wanted
                require(same, self, "has a classifier of another number of inputs")
        for rows in self.rows or ():
            require(not len(rows) or rows.max() < n_features, self, "has rows out of range")


@stored("columns.classifier")
class AnyLearner:
    """Train a clone of a scikit-learn classifier for every column.

    Parameters
    ----------
    estimator : classifier
        The classifier; its labels are 0 and 1. The score is its `decision_function`. Without one it
        is ``2 p - 1`` from `predict_proba`, and without either -1 or +1 from `predict`.
    """

    fitted_type: ClassVar[type] = FittedColumns
    shares: ClassVar[str | None] = None
    checks_inputs: ClassVar[bool] = True
    fitted_state: ClassVar[dict[str, Field]] = {"estimator": IsA(BaseEstimator)}

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @property
    def template(self) -> Any:
        """The classifier."""
        return self.estimator

    @property
    def has_probability(self) -> bool:
        """Whether the classifier has a `predict_proba`."""
        return hasattr(self.estimator, "predict_proba")

    @property
    def has_likelihood(self) -> bool:
        """Whether it estimates the variance of its scores: it does not."""
        return False

    @property
    def pairwise(self) -> bool:
        """Whether X is a kernel or distance matrix between rows."""
        return bool(get_tags(self.estimator).input_tags.pairwise)

    def prepare(self, X: Any) -> Any:
        """Return X itself: nothing is shared."""
        return X

    def fit(
        self,
        state: Any,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> list[FittedColumns]:
        """Train a clone for every column on every subset of rows."""
        n_columns = labels.shape[1]
        tasks = [
            (rows[labels[rows, column] != 0], column)
            for rows in subsets
            for column in range(n_columns)
        ]
        pairwise = self.pairwise
        with single_threaded_blas():
            estimators = Parallel(n_jobs=options.n_jobs)(
                delayed(_fit_one)(
                    _seeded(clone(self.estimator), seed),
                    state,
                    labels[:, column],
                    rows,
                    weights,
                    options.fit_params,
                    pairwise,
                    options.describe(column),
                    os.getpid(),
                )
                for (rows, column), seed in zip(tasks, _seeds(options, len(tasks)), strict=True)
            )
        pieces = range(0, len(tasks), n_columns)
        return [
            FittedColumns(
                estimators[start : start + n_columns],
                [rows for rows, _ in tasks[start : start + n_columns]] if pairwise else None,
            )
            for start in pieces
        ]

    def training_margins(
        self,
        fitted: FittedColumns,
        state: Any,
        rows: IntArray,
        where: NDArray[np.bool_] | None = None,
        probability: bool = False,
        n_jobs: int | None = None,
    ) -> Margins:
        """Return the margins of training rows; entries outside `where` are 0."""
        return self._margins(fitted, state[rows], where, probability, n_jobs)

    def margins(
        self, fitted: FittedColumns, X: Any, probability: bool = False, n_jobs: int | None = None
    ) -> Margins:
        """Return the margins of new rows."""
        return self._margins(fitted, X, None, probability, n_jobs)

    def _margins(
        self,
        fitted: FittedColumns,
        X: Any,
        where: NDArray[np.bool_] | None,
        probability: bool,
        n_jobs: int | None,
    ) -> Margins:
        n_rows, n_columns = X.shape[0], len(fitted.estimators)
        selections = [
            None if where is None or where[:, column].all() else np.flatnonzero(where[:, column])
            for column in range(n_columns)
        ]
        with single_threaded_blas():
            answers = Parallel(n_jobs=n_jobs, prefer="threads")(
                delayed(_ask)(
                    estimator,
                    _inputs(X, selection, None if fitted.rows is None else fitted.rows[column]),
                    probability,
                )
                for column, (estimator, selection) in enumerate(
                    zip(fitted.estimators, selections, strict=True)
                )
                if estimator is not None and (selection is None or len(selection))
            )
        mean = np.zeros((n_rows, n_columns))
        own = np.full((n_rows, n_columns), 0.5) if probability else None
        answer = iter(answers)
        for column, (estimator, selection) in enumerate(
            zip(fitted.estimators, selections, strict=True)
        ):
            if estimator is None or (selection is not None and len(selection) == 0):
                continue
            score, p = next(answer)
            place = slice(None) if selection is None else selection
            mean[place, column] = score
            if own is not None:
                own[place, column] = p
        return Margins(mean=mean, probability=own)


def _fit_one(
    estimator: Any,
    X: Any,
    labels: SignArray,
    rows: IntArray,
    weights: FloatArray | None,
    fit_params: Mapping[str, Any],
    pairwise: bool,
    description: str,
    parent: int,
) -> Any:
    target = (labels[rows] > 0).astype(np.intp)
    if target.all() or not target.any():
        return None
    params = {name: _cut(value, rows, X.shape[0]) for name, value in fit_params.items()}
    if weights is not None:
        params["sample_weight"] = weights[rows]
    # Indexing copies, so no classifier keeps a reference to the caller's array.
    inputs = plain_inputs(X[rows][:, rows] if pairwise else X[rows])
    try:
        if os.getpid() == parent:
            return estimator.fit(inputs, target, **params)
        with single_threaded_blas():
            return estimator.fit(inputs, target, **params)
    except Exception as error:
        error.add_note(f"This happened while training the binary problem {description}.")
        raise


def _cut(value: Any, rows: IntArray, n_rows: int) -> Any:
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__len__"):
        return value
    if len(value) != n_rows:
        return value
    if hasattr(value, "iloc"):
        return value.iloc[rows]
    return np.asarray(value)[rows]


def _seeds(options: TrainingOptions, count: int) -> list[int | None]:
    # Note: every column of every subset gets its own seed, drawn before the work is distributed.
    # One generator shared by all fits would make results depend on n_jobs and on the order of the
    # work; one seed for all would give, for example, all forests the same bootstrap samples.
    if options.random_state is None:
        return [None] * count
    generator = np.random.RandomState(options.random_state)
    seeds: list[int | None] = generator.randint(np.iinfo(np.int32).max, size=count).tolist()
    return seeds


def _seeded(estimator: Any, seed: int | None) -> Any:
    if seed is None:
        return estimator
    names = [
        name
        for name in sorted(estimator.get_params(deep=True))
        if name == "random_state" or name.endswith("__random_state")
    ]
    generator = np.random.RandomState(seed)
    return estimator.set_params(
        **{name: generator.randint(np.iinfo(np.int32).max) for name in names}
    )


def _inputs(X: Any, selection: IntArray | None, columns: IntArray | None) -> Any:
    inputs = plain_inputs(X if selection is None else X[selection])
    return inputs if columns is None else inputs[:, columns]


def _ask(estimator: Any, X: Any, wants_probability: bool) -> tuple[FloatArray, FloatArray | None]:
    p = None
    if wants_probability or not hasattr(estimator, "decision_function"):
        p = _positive_probability(estimator, X)
    if hasattr(estimator, "decision_function"):
        return _positive_score(estimator.decision_function(X)), p
    if p is not None:
        return 2.0 * p - 1.0, p
    return np.where(np.asarray(estimator.predict(X)) == 1, 1.0, -1.0), None


def _positive_probability(estimator: Any, X: Any) -> FloatArray | None:
    if not hasattr(estimator, "predict_proba"):
        return None
    column = list(estimator.classes_).index(1)
    p: FloatArray = np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, column]
    return np.clip(p, 0.0, 1.0)


def _positive_score(scores: Any) -> FloatArray:
    values: FloatArray = np.asarray(scores, dtype=np.float64)
    if values.ndim == 2 and values.shape[1] == 2:
        return values[:, 1] - values[:, 0]
    return values.reshape(len(values))
