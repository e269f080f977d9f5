"""Comparing methods within a time limit.

Design note: all methods are judged on the same splits, so that differences are paired.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.checks import positive_number
from ..core.progress import work_progress
from ..execution.calls import Call
from ..execution.deadline import Clock
from ..execution.executors import Executor, InProcess
from ._assembling import CURVE_SPLITS, assembled, learning_curve
from ._candidates import BASELINE, Candidate, choose, default_names, fastest_first
from ._classes import FEW_ROWS, settle_classes
from ._comparison import MethodComparison
from ._importance import column_importance
from ._judging import Level, Material, Task
from ._material import material_of
from ._notes import without_rare_advice
from ._schedule import Schedule
from ._sizes import sizes
from ._where import has_time, place_for

TASK = "polychotomy.compare._judging:perform"
# If all methods are expected to take more than this share of the time, quick fits come first.
PRESSED = 0.05
# With less time, they come first in any case: to start other processes takes a second or two.
SHORT = 20.0
# What is kept of the time limit for the importance of columns.
IMPORTANCE_SHARE = 0.1
# With less time left than this multiple of the clock's pace, nothing further is begun; and no time
# is kept for the importance of columns.
AGAIN, COMFORT = 0.3, 4.0


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
    rare: str = "keep",
    groups: ArrayLike | None = None,
    order: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    executor: Any = None,
    show_progress: bool = True,
    importance: bool = False,
    train_after: bool = False,
    clock: Clock | None = None,
) -> MethodComparison:
    """Compare methods on rows they were not trained on, and recommend one.

    Every method is tuned inside each training part: ours by one sweep for all that share machine
    and code, others by a small grid. The test part is used only for the scores. A baseline, which
    always answers with the shares of the classes, is judged too.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_rows, n_features)
        The inputs.
    y : array-like of shape (n_rows,)
        The classes.
    methods : iterable of str or "all", default=None
        Names out of `candidates`; a good choice by default.
    time_limit : float, default=None
        The limit in seconds. All methods are tried on a part of the rows first; the best few go on
        to more rows, and to as many splits as the time allows. The result says how many rows and
        splits that were, and names skipped methods.
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
    rare : {"keep", "drop", "merge"}, default="keep"
        What to do with classes of fewer than 5 rows. A class that is kept and has one row is
        learned, but not judged.
    groups : array-like of shape (n_rows,), default=None
        Rows of the same group are never in training and test part of one split.
    order : array-like of shape (n_rows,), default=None
        The time of each row: training parts come before their test parts.
    sample_weight : array-like of shape (n_rows,), default=None
        The weights of the rows, in training and in the scores.
    random_state : int, default=0
        Seeds splits and methods.
    n_jobs : int, default=None
        The number of processes, -1 for one for each core. Methods run in one thread each. None is
        this process, in which the code of other libraries may not stop in time. The figures do
        not depend on it. A script that gives a number must do so under
        ``if __name__ == "__main__":``.
    executor : distributed.Client, str or Executor, default=None
        Where methods run, in place of `n_jobs`: on a Dask cluster, by a client or the address of
        its scheduler such as ``"tcp://10.0.0.1:8786"``, or by an executor of
        `polychotomy.execution`. Each worker has one split of one group of methods at a time. The
        figures do not depend on it.
    show_progress : bool, default=True
        Whether to show a bar, on a terminal.
    importance : bool, default=False
        Whether to compute, at the end, how much each column matters for the recommended method.
    train_after : bool, default=False
        Whether to leave time for training the recommended method on all rows afterwards.
    clock : Clock, default=None
        Counts the time in place of `time_limit`, if it began earlier.

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
    methods = methods if methods is None or isinstance(methods, str) else list(methods)
    choose(methods)  # unknown names are refused first
    limit = None if time_limit is None else positive_number(time_limit, "time_limit")
    clock = Clock(limit) if clock is None else clock
    classes = settle_classes(y, rare)
    material = material_of(
        *(X, classes, sample_weight, preprocessor, random_state),
        *(protocol, n_splits, test_size, groups, order),
    )
    n_train = material.n_train
    levels = sizes(n_train, len(classes.labels))
    chosen = choose(default_names(n_train, len(classes.labels)) if methods is None else methods)
    width = material.X.shape[1] if material.X.ndim > 1 else 1
    shape = levels[0], width, len(classes.labels)
    chosen = fastest_first(chosen, *shape)
    importance = importance and has_time(clock, COMFORT)
    judging = clock.keeping(IMPORTANCE_SHARE if importance else 0.0)
    seconds = sum(one.expected_seconds(*shape) for one in chosen)
    n_bytes = 8 * len(material.y) * width
    with (
        place_for(executor, n_jobs, seconds * len(material.rounds), judging, n_bytes) as where,
        work_progress(show_progress) as tick,
    ):
        schedule = Schedule(
            groups=_grouped(chosen),
            sizes=levels,
            n_splits=len(material.rounds),
            clock=judging,
            n_workers=where.size,
            y=material.y,
            n_features=width,
            tick=tick,
            train_rows=len(material.y) if train_after else None,
        )
        _judge(schedule, material, where, seconds)
        if train_after and clock.limit is not None:
            share = IMPORTANCE_SHARE if importance else 0.0
            kept = judging.reserve - share * clock.limit
            clock = Clock(clock.limit, clock.start, kept, clock.pace)
        found = assembled(chosen, schedule, material, classes, clock, protocol, (groups, order))
        # What was done already, or would change nothing, is not advised.
        if rare != "keep" or np.bincount(classes.numbers).min() >= FEW_ROWS:
            found = replace(found, notes=[without_rare_advice(note) for note in found.notes])
        if not importance or found.recommended == BASELINE.name:
            return found
        columns, name = None, found.recommended
        curve_calls = _curve_calls(schedule, name, material, clock) if len(levels) == 1 else ()
        if has_time(clock, AGAIN):
            columns = column_importance(
                *(material, name, found.runs(), where, clock, curve_calls, schedule.on_answer)
            )
        curve = learning_curve(schedule.found, material)
        return replace(found, importance=columns, curve=curve, seconds=clock.spent)


def _judge(schedule: Schedule, material: Material, where: Executor, seconds: float) -> None:
    """Judge what there is time for, of work that is expected to take so many seconds."""
    left = schedule.clock.left()
    if left is not None and (seconds / where.size > PRESSED * left or left < SHORT):
        if where.is_ready:
            schedule.begin_quickly()
        else:
            # In this process: others are not there yet, and so few rows take no time.
            quick = schedule.quick_calls()
            InProcess().call(TASK, material, lambda: next(quick, None), schedule.on_answer)
    where.call(TASK, material, schedule.take, schedule.on_answer)
    last = iter([call for call in [schedule.last_call()] if call is not None])
    InProcess().call(TASK, material, lambda: next(last, None), schedule.on_answer)


def _curve_calls(schedule: Schedule, name: str, material: Material, clock: Clock) -> Iterator[Call]:
    """Yield what judges a method on fewer rows of a small table, while there is time."""
    for rows in curve_rows(schedule.sizes[0], len(material.labels)):
        for split in range(min(CURVE_SPLITS, len(material.rounds))):
            if has_time(clock, AGAIN):
                yield Call(Task((name,), Level(rows), split), clock.until())


def curve_rows(n_train: int, n_classes: int) -> list[int]:
    """Return the smaller numbers of training rows for the learning curve of a small table."""
    least = max(4 * n_classes, 20)
    return [rows for rows in (n_train // 4, n_train // 2) if rows >= least]


def _grouped(chosen: Sequence[Candidate]) -> list[list[Candidate]]:
    """Put methods that share a sweep or members together, in their order."""
    groups: dict[str, list[Candidate]] = {}
    for one in chosen:
        groups.setdefault(one.sweep, []).append(one)
    return list(groups.values())
