"""Methods judged on rows they were not trained on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from ..core import scores
from ..core.types import FloatArray, IntArray
from ..tuning.method_sweep import MethodSweep
from ._candidates import Candidate, prepared
from ._peers import Conditions


@dataclass(frozen=True)
class Split:
    """A training and a test part; inputs and classes are numbers."""

    train: IntArray
    test: IntArray
    X_train: Any
    X_test: Any
    y_train: IntArray
    y_test: IntArray
    n_classes: int


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
    """

    rows: IntArray
    predicted: IntArray
    p: FloatArray | None
    seconds: float
    parameters: dict[str, Any]
    pairs: FloatArray | None = None

    def figures(self, y: IntArray) -> dict[str, float]:
        """Return error, NLL and Brier score; the last two are NaN without probabilities."""
        error = float(scores.error(self.predicted, y))
        if self.p is None:
            return {"error": error, "nll": np.nan, "brier": np.nan}
        nll, brier = scores.nll(self.p, y), scores.brier(self.p, y)
        return {"error": error, "nll": float(nll), "brier": float(brier)}


def make_split(
    X: Any, y: IntArray, n_classes: int, rows: tuple[IntArray, IntArray], preprocessor: Any
) -> Split:
    """Split a table in two; the preprocessor is fitted on the training part only."""
    train, test = rows
    first, second = _rows_of(X, train), _rows_of(X, test)
    if preprocessor is not None:
        fitted = clone(preprocessor).fit(first)
        first, second = fitted.transform(first), fitted.transform(second)
    return Split(train, test, first, second, y[train], y[test], n_classes)


def _rows_of(X: Any, rows: IntArray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def judge(
    group: Sequence[Candidate], split: Split, conditions: Conditions
) -> tuple[dict[str, HeldOut], list[str]]:
    """Tune, train and test methods that share a sweep, or one method; return warnings too."""
    # The same number of threads for every method, so that times can be compared.
    threads = effective_n_jobs(conditions.n_jobs)
    with threadpool_limits(threads), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if group[0].pipe is None:
            found = {group[0].name: _judge_alone(group[0], split, conditions)}
        else:
            found = _judge_sweep(group, split, conditions)
    return found, list(dict.fromkeys(str(warning.message) for warning in caught))


def _judge_alone(candidate: Candidate, split: Split, conditions: Conditions) -> HeldOut:
    start = perf_counter()
    estimator = candidate.make(conditions)
    if estimator is None:
        raise ValueError("a class has too few rows for this method")
    estimator.fit(split.X_train, split.y_train)
    return _asked(estimator, split, start, dict(getattr(estimator, "best_params_", {})))


def _judge_sweep(
    group: Sequence[Candidate], split: Split, conditions: Conditions
) -> dict[str, HeldOut]:
    sweep = MethodSweep(
        [(one.name, prepared(one.pipe, conditions)) for one in group if one.pipe is not None],
        ties={one.name: one.ties for one in group},
        show_progress=False,
    ).fit(split.X_train, split.y_train)
    found = {}
    shared = sweep.results_["seconds_shared"] + sweep.results_["seconds_own"]
    seconds = dict(zip(sweep.results_["method"].tolist(), shared.tolist(), strict=True))
    for name, classifier in sweep.classifiers_.items():
        # As if the method ran alone: the sweep it shares and its own part.
        start = perf_counter() - seconds[name]
        found[name] = _asked(classifier, split, start, sweep.best_params_[name])
    return found


def _asked(estimator: Any, split: Split, start: float, parameters: dict[str, Any]) -> HeldOut:
    p = None
    if hasattr(estimator, "predict_proba"):
        p = np.zeros((len(split.test), split.n_classes))
        p[:, estimator.classes_] = estimator.predict_proba(split.X_test)
        predicted = p.argmax(axis=1)
    else:
        predicted = estimator.predict(split.X_test)
    seconds = perf_counter() - start
    pairs = _pair_errors(estimator, split)
    return HeldOut(split.test, predicted, p, seconds, parameters, pairs)


def _pair_errors(estimator: Any, split: Split) -> FloatArray | None:
    """Return the error of the machine of each two classes on test rows of these classes."""
    book = getattr(estimator, "codebook_", None)
    if book is None or book.name != "one_vs_one" or len(estimator.classes_) != split.n_classes:
        return None
    answers = estimator.binary_scores(split.X_test)
    errors = np.full((split.n_classes, split.n_classes), np.nan)
    for column, word in enumerate(book.matrix.T):
        first, second = int(np.flatnonzero(word == 1)[0]), int(np.flatnonzero(word == -1)[0])
        ours: NDArray[np.bool_] = (split.y_test == first) | (split.y_test == second)
        if ours.any():
            wrong = (answers[ours, column] > 0) != (split.y_test[ours] == first)
            errors[first, second] = errors[second, first] = float(wrong.mean())
    return errors
