"""Methods judged on rows they were not trained on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..core import scores
from ..core.checks import for_all_classes
from ..core.types import FloatArray, IntArray
from ..tuning.method_sweep import MethodSweep
from ._candidates import Candidate, choose, prepared
from ._encoding import fit_encoded
from ._notes import note_of
from ._peers import Conditions
from ._splits import periods, stratified_order

# Probabilities of larger test parts are kept in single precision, after the figures are computed.
EXACT_CELLS = 200_000
MOST_PAIR_CLASSES = 100
# Which columns matter is asked on the first splits. Pools that were fitted there to few rows are
# kept for it: to fit one again takes most of the time of the question.
ASKED_SPLITS, KEPT_ROWS = 3, 1_000


@dataclass(frozen=True)
class Level:
    """How much work a method may put into a training part: the rows, and whether it is tuned."""

    rows: int
    tuned: bool = True


@dataclass(frozen=True)
class Material:
    """What all judgements of a comparison share.

    Attributes
    ----------
    X : ndarray or DataFrame
        The inputs of all rows.
    y : ndarray of int
        The classes of all rows, by number.
    labels : ndarray
        The class labels.
    weights : ndarray or None
        The weights of all rows.
    rounds : list of (train, test)
        The splits.
    preprocessor : transformer or None
        For the inputs.
    seed : int
        Seeds the methods.
    ordered : bool
        Whether every beginning of a training part is stratified already.
    groups : ndarray of int or None
        The group of every row, for folds inside the methods.
    order : ndarray or None
        The time of every row, for these.
    n_train : int
        The rows that every training part has at least.
    """

    X: Any
    y: IntArray
    labels: NDArray[Any]
    weights: FloatArray | None
    rounds: Sequence[tuple[IntArray, IntArray]]
    preprocessor: Any
    seed: int
    ordered: bool = False
    groups: IntArray | None = None
    order: Any = None
    n_train: int = 0
    _latest: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    _pools: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def split(self, number: int, rows: int) -> Split:
        """Return a split with at most some training rows; the last one is kept."""
        key = (number, rows)
        if key not in self._latest:
            self._latest.clear()
            self._latest[key] = self._make(number, rows)
        found: Split = self._latest[key]
        return found

    def keep_pool(self, name: str, number: int, rows: int, pool: Any) -> None:
        """Keep a pool that was fitted to so many rows of a split, if it may be asked again."""
        if number < ASKED_SPLITS and rows <= KEPT_ROWS:
            self._pools[name, number, rows] = pool

    def kept_pool(self, name: str, number: int, rows: int) -> Any:
        """Return such a pool if this process has fitted it; otherwise None."""
        return self._pools.get((name, number, rows))

    def _make(self, number: int, rows: int) -> Split:
        train, test = self.rounds[number]
        if rows < len(train):
            if not self.ordered:
                train = stratified_order(self.y, train, self.seed + number)
            train = train[:rows]
        first, second = rows_of(self.X, train), rows_of(self.X, test)
        together = kept_together(train, self.groups, self.order)
        fitted = None
        if self.preprocessor is not None:
            # A preprocessor may encode categories by the classes, those of training rows only.
            conditions = Conditions(random_state=self.seed, y=self.y[train], together=together)
            labels = self.labels[self.y[train]]
            fitted, first = fit_encoded(self.preprocessor, first, labels, conditions)
            second = fitted.transform(second)
        weights = None if self.weights is None else self.weights[train]
        return Split(
            *(train, test, first, second, self.y[train], self.y[test], self.labels),
            *(weights, None if self.weights is None else self.weights[test], fitted),
            together=together,
        )


@dataclass(frozen=True)
class Split:
    """A training and a test part; inputs are numbers, classes are numbers and labels."""

    train: IntArray
    test: IntArray
    X_train: Any
    X_test: Any
    y_train: IntArray
    y_test: IntArray
    labels: NDArray[Any]
    weights: FloatArray | None = None
    test_weights: FloatArray | None = None
    preprocessor: Any = None
    together: IntArray | None = None

    def conditions(self, seed: int) -> Conditions:
        """Return what the methods are told."""
        counts = np.bincount(self.y_train)
        smallest = int(counts[counts > 0].min())
        return Conditions(smallest, seed, y=self.y_train, together=self.together)

    def beginning(self, rows: int) -> tuple[Any, NDArray[Any], FloatArray | None]:
        """Return inputs, labels and weights of the first training rows."""
        weights = None if self.weights is None else self.weights[:rows]
        return self.X_train[:rows], self.labels[self.y_train[:rows]], weights


@dataclass(frozen=True)
class HeldOut:
    """The predictions of a method for the test rows of a split.

    Attributes
    ----------
    rows : ndarray of int
        The test rows.
    predicted : ndarray of int
        The predicted classes, by number.
    p : ndarray of shape (n_test, n_classes) or None
        The class probabilities.
    seconds : float
        The time for tuning, training and predicting.
    parameters : dict
        The parameters that tuning chose.
    pairs : ndarray of shape (n_classes, n_classes) or None
        For one-vs-one methods, the error of the machine of each two classes on test rows of these
        classes; NaN where there are none.
    weights : ndarray of shape (n_test,) or None
        The weights of the test rows.
    train_rows : int
        The number of training rows.
    tuned : bool
        Whether its parameters were chosen for these rows.
    """

    rows: IntArray
    predicted: IntArray
    p: FloatArray | None
    seconds: float
    parameters: dict[str, Any]
    pairs: FloatArray | None = None
    weights: FloatArray | None = None
    train_rows: int = 0
    tuned: bool = True

    def figures(self, y: IntArray) -> dict[str, float]:
        """Return error, NLL and Brier score; the last two are NaN without probabilities."""
        error = float(scores.error(self.predicted, y, self.weights))
        if self.p is None:
            return {"error": error, "nll": np.nan, "brier": np.nan}
        p = np.asarray(self.p, dtype=np.float64)
        nll, brier = scores.nll(p, y, self.weights), scores.brier(p, y, self.weights)
        return {"error": error, "nll": float(nll), "brier": float(brier)}


@dataclass(frozen=True)
class Task:
    """Methods to judge together, on one split."""

    names: tuple[str, ...]
    level: Level
    split: int


@dataclass(frozen=True)
class Judged:
    """What the methods of a task predicted, and notes about them."""

    held_out: dict[str, HeldOut]
    notes: list[str]


def perform(material: Material, task: Task) -> Judged:
    """Tune, train and test methods that share their work, or one method."""
    group = choose(task.names)
    split = material.split(task.split, task.level.rows)
    conditions = split.conditions(material.seed)
    with warnings.catch_warnings(record=True) as caught:
        # No filter but this one: scikit-learn sets them all again for every tree of a forest.
        warnings.resetwarnings()
        warnings.simplefilter("always")
        if not task.level.tuned:
            found = {one.name: _judge_quick(one, split, conditions) for one in group}
        elif group[0].pipe is not None:
            found = _judge_sweep(group, split, conditions)
        elif group[0].is_pool:
            pools, found = _judge_pools(group, split, conditions)
            for name, pool in pools.items():
                material.keep_pool(name, task.split, len(split.train), pool)
        else:
            found = {group[0].name: _judge_alone(group[0], split, conditions)}
    named = ", ".join(task.names)
    notes = [note_of(str(warning.message), named) for warning in caught]
    return Judged(found, [note for note in dict.fromkeys(notes) if note])


def rows_of(X: Any, rows: IntArray) -> Any:
    """Return some rows of an array or a data frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def kept_together(rows: IntArray, groups: IntArray | None, order: Any) -> IntArray | None:
    """Return numbers for rows that folds inside a method keep together: groups, or periods."""
    if groups is not None:
        return groups[rows]
    return None if order is None else periods(order[rows])


def fitted_tuned(candidate: Candidate, conditions: Conditions, X: Any, y: Any, weights: Any) -> Any:
    """Tune and fit a method. With many rows it is tuned on the first ones, and fitted on all."""
    most = candidate.tuned_rows(conditions.n_classes) or len(y)
    estimator = candidate.make(conditions.first(most))
    if estimator is None:
        raise ValueError("a class has too few rows for this method")
    if len(y) <= most:
        return fit_weighted(estimator, X, y, weights)
    few = slice(most)
    fit_weighted(estimator, X[few], y[few], None if weights is None else weights[few])
    best = getattr(estimator, "best_estimator_", estimator)
    return fit_weighted(with_folds(clone(best), conditions), X, y, weights)


def with_folds(estimator: Any, conditions: Conditions) -> Any:
    """Return a classifier with folds for other rows than those it was tuned on."""
    if conditions.together is not None and "cv" in estimator.get_params(deep=False):
        estimator.set_params(cv=conditions.splits(5) or 5)
    return estimator


def fit_weighted(estimator: Any, X: Any, y: Any, weights: Any) -> Any:
    """Fit a classifier, with weights if there are any and it takes them."""
    if weights is None or not has_fit_parameter(estimator, "sample_weight"):
        return estimator.fit(X, y)
    return estimator.fit(X, y, sample_weight=weights)


def _judge_quick(candidate: Candidate, split: Split, conditions: Conditions) -> HeldOut:
    start = perf_counter()
    estimator = None if candidate.quick is None else candidate.quick(conditions)
    if estimator is None:
        raise ValueError("it cannot be trained without tuning")
    fit_weighted(estimator, *split.beginning(len(split.train)))
    return replace(_asked(estimator, split, start, {}), tuned=False)


def _judge_alone(candidate: Candidate, split: Split, conditions: Conditions) -> HeldOut:
    start = perf_counter()
    estimator = fitted_tuned(candidate, conditions, *split.beginning(len(split.train)))
    return _asked(estimator, split, start, dict(getattr(estimator, "best_params_", {})))


def _judge_pools(
    group: Sequence[Candidate], split: Split, conditions: Conditions
) -> tuple[dict[str, Any], dict[str, HeldOut]]:
    """Fit the largest pool, and take the others from its members; return them, too."""
    start = perf_counter()
    pools = {one.name: one.make(conditions) for one in group}
    largest = max(pools, key=lambda name: len(pools[name].member_names()))
    X, y, weights = split.beginning(len(split.train))
    parts = {name: pool for name, pool in pools.items() if name != largest}
    fitted = pools[largest].fit_with_parts(X, y, weights, parts)
    found = {largest: _asked(pools[largest], split, start, {})}
    for name, pool in fitted.items():
        found[name] = _asked(pool, split, perf_counter() - sum(pool.seconds_.values()), {})
    return pools, found


def _judge_sweep(
    group: Sequence[Candidate], split: Split, conditions: Conditions
) -> dict[str, HeldOut]:
    rows = group[0].tuned_rows(conditions.n_classes) or len(split.train)
    X, y, weights = split.beginning(rows)
    sweep = MethodSweep(
        [
            (one.name, prepared(one.pipe, conditions.first(rows)))
            for one in group
            if one.pipe is not None
        ],
        ties={one.name: one.ties for one in group},
        show_progress=False,
    ).fit(X, y, weights)
    found = {}
    shared = sweep.results_["seconds_shared"] + sweep.results_["seconds_own"]
    seconds = dict(zip(sweep.results_["method"].tolist(), shared.tolist(), strict=True))
    for name, classifier in sweep.classifiers_.items():
        # As if the method ran alone: the sweep it shares and its own part.
        start = perf_counter() - seconds[name]
        if rows < len(split.train):
            classifier = with_folds(clone(classifier), conditions)
            classifier = fit_weighted(classifier, *split.beginning(len(split.train)))
        found[name] = _asked(classifier, split, start, sweep.best_params_[name])
    return found


def _asked(estimator: Any, split: Split, start: float, parameters: dict[str, Any]) -> HeldOut:
    p = None
    if hasattr(estimator, "predict_proba"):
        p = estimator.predict_proba(split.X_test)
        p = for_all_classes(p, estimator.classes_, split.labels, "The classifier")
        predicted = p.argmax(axis=1)
        p = p if p.size <= EXACT_CELLS else p.astype(np.float32)
    else:
        predicted = np.searchsorted(split.labels, estimator.predict(split.X_test))
    seconds = perf_counter() - start
    pairs = _pair_errors(estimator, split)
    return HeldOut(
        *(split.test, predicted, p, seconds, parameters, pairs, split.test_weights),
        train_rows=len(split.train),
    )


def _pair_errors(estimator: Any, split: Split) -> FloatArray | None:
    """Return the error of the machine of each two classes on test rows of these classes."""
    book, n = getattr(estimator, "codebook_", None), len(split.labels)
    if book is None or book.name != "one_vs_one" or n > MOST_PAIR_CLASSES:
        return None
    if len(estimator.classes_) != n:
        return None
    answers = estimator.binary_scores(split.X_test)
    errors = np.full((n, n), np.nan)
    for column, word in enumerate(book.matrix.T):
        first, second = int(np.flatnonzero(word == 1)[0]), int(np.flatnonzero(word == -1)[0])
        ours: NDArray[np.bool_] = (split.y_test == first) | (split.y_test == second)
        if ours.any():
            wrong = (answers[ours, column] > 0) != (split.y_test[ours] == first)
            errors[first, second] = errors[second, first] = float(wrong.mean())
    return errors
