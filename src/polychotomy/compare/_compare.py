"""Comparing methods within a time limit.

Design note: all methods are judged on the same splits, split by split, so that differences are
paired. The alternative, all splits of one method and then the next, would use the time limit as
well, but leaves methods with different numbers of splits, which cannot be paired.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.checks import one_of, positive_number
from ..core.progress import Ticker, progress
from ..core.types import IntArray
from ..core.words import duration
from ._candidates import Candidate, choose, fastest_first
from ._comparison import MethodComparison
from ._deadline import Clock, OutOfTime, deadline
from ._judging import HeldOut, Split, judge, make_split
from ._peers import Conditions

# The first round, before any time has been measured, may take this share of the limit.
FIRST_ROUND = 0.4
# Fewer splits than this say too little. Methods too slow for them are skipped.
FEWEST_SPLITS = 3
PROTOCOLS = ("hold-out", "nested")


def compare_methods(
    X: Any,
    y: ArrayLike,
    methods: Iterable[str] | str | None = None,
    *,
    time_limit: float | None = None,
    n_splits: int = 10,
    protocol: str = "hold-out",
    test_size: float = 0.25,
    preprocessor: Any = "scale",
    random_state: int = 0,
    n_jobs: int | None = None,
    show_progress: bool = True,
) -> MethodComparison:
    """Compare methods on rows they were not trained on, and recommend one.

    Every method is tuned inside each training part: ours by one sweep for all that share machine
    and code, scikit-learn's by a small grid. The test part is used only for the scores.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_rows, n_features)
        The inputs.
    y : array-like of shape (n_rows,)
        The classes.
    methods : iterable of str or "all", default=None
        Names out of `candidates`; a good choice by default.
    time_limit : float, default=None
        The limit in seconds. All methods are tried once, the fast ones first. Methods too slow
        for 3 splits are skipped; the others are judged on as many splits as the time allows. The
        result names the skipped methods.
    n_splits : int, default=10
        The number of splits.
    protocol : {"hold-out", "nested"}, default="hold-out"
        Random stratified splits; or nested cross-validation: 5 folds, each of which is the test
        part once, then 5 others after a new shuffle, and so on.
    test_size : float, default=0.25
        The share of the rows in the test part of a "hold-out".
    preprocessor : transformer, "scale" or None, default="scale"
        A transformer of the inputs, fitted on the training part, for example that of
        `tables.TableSchema.preprocessor`. "scale" is a `StandardScaler`.
    random_state : int, default=0
        Seeds splits and methods.
    n_jobs : int, default=None
        The number of threads, for methods that can use several.
    show_progress : bool, default=True
        Whether to show a bar, on a terminal.

    Returns
    -------
    comparison : MethodComparison

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from polychotomy.compare import compare_methods
    >>> X, y = load_wine(return_X_y=True)
    >>> comparison = compare_methods(X, y, ["logistic", "PSVC"], n_splits=2)
    >>> comparison.recommended in ("logistic", "PSVC")
    True
    >>> comparison.protocol
    '2 random stratified splits, 75 % for training'
    """
    chosen = choose(methods)
    numbers, classes = _classes(y)
    rounds = _rounds(numbers, protocol, n_splits, test_size, random_state)
    smallest = min(int(np.bincount(numbers[train]).min()) for train, _ in rounds)
    limit = None if time_limit is None else positive_number(time_limit, "time_limit")
    X = X if hasattr(X, "iloc") else np.asarray(X)
    chosen = fastest_first(chosen, len(rounds[0][0]), X.shape[1] if X.ndim > 1 else 1)
    with progress(show_progress) as tick:
        work = _Work(
            groups=_grouped(chosen),
            X=X,
            y=numbers,
            n_classes=len(classes),
            preprocessor=_preprocessor(preprocessor),
            conditions=Conditions(smallest, random_state, n_jobs),
            clock=Clock(limit),
            tick=tick,
        )
        work.run(rounds)
    if not work.found:
        why = "; ".join(f"{name}: {reason}" for name, reason in work.left_out.items())
        raise ValueError(f"No method could be judged ({why}). Allow more time or other methods.")
    done = len(next(iter(work.found.values())))
    train, test = rounds[0]
    return MethodComparison(
        candidates={one.name: one for one in chosen if one.name in work.found},
        held_out=work.found,
        y=numbers,
        classes=classes,
        test_to_train=len(test) / len(train),
        protocol=_protocol_words(protocol, done, len(rounds), len(train) / len(numbers)),
        left_out=work.left_out,
        notes=work.notes,
        seconds=work.clock.spent,
    )


@dataclass
class _Work:
    """The rounds of a comparison: each judges all groups of methods on one split."""

    groups: list[list[Candidate]]
    X: Any
    y: IntArray
    n_classes: int
    preprocessor: Any
    conditions: Conditions
    clock: Clock
    tick: Ticker
    found: dict[str, list[HeldOut]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def run(self, rounds: Sequence[tuple[IntArray, IntArray]]) -> None:
        costs = self._first_round(rounds[0], len(rounds))
        self._drop_slow(costs, min(len(rounds), FEWEST_SPLITS))
        for number, rows in enumerate(rounds[1:], 1):
            if not self.groups or not self._round(rows, number, len(rounds)):
                break

    def _split(self, rows: tuple[IntArray, IntArray]) -> Split:
        return make_split(self.X, self.y, self.n_classes, rows, self.preprocessor)

    def _first_round(self, rows: tuple[IntArray, IntArray], n_rounds: int) -> list[float]:
        """Try every group once, the fast ones first; return the seconds of each."""
        split, costs, kept = self._split(rows), [], []
        for place, group in enumerate(self.groups):
            self.tick("methods tried", place, len(self.groups))
            start = self.clock.spent
            try:
                with deadline(self._first_time(n_rounds, last=place + 1 == len(self.groups))):
                    found, warned = judge(group, split, self.conditions)
            except OutOfTime:
                took = self.clock.spent - start
                why = "no time was left to try it"
                if took > 0.5:
                    why = f"one split was not finished after {duration(took)}"
                self.left_out.update(dict.fromkeys((one.name for one in group), why))
                continue
            except (ValueError, np.linalg.LinAlgError, MemoryError) as error:
                why = f"it failed: {str(error).splitlines()[0] if str(error) else 'no memory'}"
                self.left_out.update(dict.fromkeys((one.name for one in group), why.rstrip(".")))
                continue
            self._note(warned)
            self.found.update({name: [held] for name, held in found.items()})
            costs.append(self.clock.spent - start)
            kept.append(group)
        self.groups = kept
        return costs

    def _first_time(self, n_rounds: int, last: bool) -> float | None:
        """Return how long a group may take in the first round."""
        left = self.clock.left(FIRST_ROUND if n_rounds > 1 and self.found else 1.0)
        # A group slower than expected should not use up the time of those after it.
        return left if left is None or last else 0.5 * left

    def _drop_slow(self, costs: list[float], fewest: int) -> None:
        """Skip the slowest groups until the others have time for the fewest splits."""
        left = self.clock.left()
        while left is not None and len(costs) > 1 and sum(costs) * (fewest - 1) > left:
            slowest = int(np.argmax(costs))
            why = f"one split took {duration(costs.pop(slowest))}, too long for the time limit"
            for one in self.groups.pop(slowest):
                self.left_out[one.name] = why
                del self.found[one.name]

    def _round(self, rows: tuple[IntArray, IntArray], number: int, total: int) -> bool:
        """Judge all groups on one more split, which counts only if all of them finish."""
        split, results = self._split(rows), {}
        steps = len(self.groups)
        for place, group in enumerate(self.groups):
            self.tick("splits", number * steps + place, total * steps)
            try:
                with deadline(self.clock.left()):
                    found, warned = judge(group, split, self.conditions)
            except OutOfTime:
                return False
            self._note(warned)
            results.update(found)
        for name, held in results.items():
            self.found[name].append(held)
        return True

    def _note(self, warned: list[str]) -> None:
        self.notes += [text for text in warned if text not in self.notes]


def _classes(y: ArrayLike) -> tuple[IntArray, Any]:
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must be a column of classes; got an array of shape {labels.shape}.")
    classes, numbers = np.unique(labels, return_inverse=True)
    counts = np.bincount(numbers)
    if len(classes) < 2:
        raise ValueError("y must have at least two classes.")
    if counts.min() < 2:
        raise ValueError(
            f"Class {classes.tolist()[int(counts.argmin())]!r} has one row; at least 2 are needed "
            "to learn it and to judge it."
        )
    return numbers, classes


def _rounds(
    y: IntArray, protocol: str, n_splits: int, test_size: float, seed: int
) -> list[tuple[IntArray, IntArray]]:
    from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

    one_of(protocol, "protocol", PROTOCOLS)
    if isinstance(n_splits, bool) or not isinstance(n_splits, int) or n_splits < 1:
        raise ValueError(f"n_splits must be a whole number of at least 1, got {n_splits!r}.")
    if not 0.0 < test_size < 1.0:
        raise ValueError(f"test_size must be between 0 and 1, got {test_size!r}.")
    nothing = np.zeros(len(y))
    if protocol == "hold-out":
        # At least one test row for each class.
        n_test = max(round(test_size * len(y)), int(y.max()) + 1)
        splitter = StratifiedShuffleSplit(n_splits, test_size=n_test, random_state=seed)
        return list(splitter.split(nothing, y))
    folds = min(5, int(np.bincount(y).min()))
    rounds: list[tuple[IntArray, IntArray]] = []
    while len(rounds) < n_splits:
        splitter = StratifiedKFold(folds, shuffle=True, random_state=seed + len(rounds))
        rounds += splitter.split(nothing, y)
    return rounds[:n_splits]


def _protocol_words(protocol: str, done: int, wanted: int, train: float) -> str:
    of = "" if done == wanted else f" of the {wanted} planned"
    kind = "random stratified split" if protocol == "hold-out" else "fold"
    nested = "" if protocol == "hold-out" else " of nested cross-validation"
    return f"{done}{of} {kind}{'' if done == 1 else 's'}{nested}, {train:.0%} for training".replace(
        "%", " %"
    )


def _preprocessor(given: Any) -> Any:
    if isinstance(given, str):
        one_of(given, "preprocessor", ("scale",))
        from sklearn.preprocessing import StandardScaler

        return StandardScaler()
    return given


def _grouped(chosen: Sequence[Candidate]) -> list[list[Candidate]]:
    """Put methods that share a sweep together, in their order."""
    groups: dict[str, list[Candidate]] = {}
    for one in chosen:
        groups.setdefault(one.sweep, []).append(one)
    return list(groups.values())


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
    numbers, _ = _classes(y)
    conditions = Conditions(int(np.bincount(numbers).min()), random_state, n_jobs)
    estimator = candidate.make(conditions)
    before = _preprocessor(preprocessor)
    if before is None:
        return estimator
    return Pipeline([("inputs", before), ("classifier", estimator)])
