"""Comparing methods within a time limit.

Design note: all methods are judged on the same splits, so that differences are paired.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike

from ..core.checks import one_of, positive_number
from ..core.progress import work_progress
from ..core.types import FloatArray, IntArray
from ..execution.calls import Call
from ..execution.deadline import Clock
from ..execution.executors import Executor, InProcess, LocalProcesses, opened
from ..execution.processes import COMPARISONS_NEED, available_memory
from ._candidates import BASELINE, Candidate, choose, default_names, fastest_first
from ._classes import Classes, settle_classes
from ._comparison import MethodComparison
from ._importance import column_importance
from ._judging import HeldOut, Level, Material, Task, rows_of
from ._peers import Conditions
from ._schedule import Schedule, common_splits, sizes
from ._splits import Arranged, fewest_training_rows, most_test_rows, rounds

TASK = "polychotomy.compare._judging:perform"
# If all methods are expected to take more than this share of the time, quick fits come first.
PRESSED = 0.05
# What is kept of the time limit for the importance of columns.
IMPORTANCE_SHARE = 0.1
CURVE_SPLITS = 3
# With less time left than this multiple of the clock's pace, no processes are started; no further
# ones are; and there is no time for the importance of columns.
START, AGAIN, COMFORT = 2.0, 0.3, 4.0
# With less time, they come first in any case: to start other processes takes a second or two.
SHORT = 20.0
# Work of so many seconds is not worth other processes.
SMALL = 1.5
# What a process may use: so many bytes, or more for a large table, of which methods make copies;
# and of the memory that is free at the start not more than this share, of all processes together.
MOST_MEMORY, COPIES, MEMORY_SHARE = 2 << 30, 12, 0.8


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
    material = _material(
        *(X, classes, sample_weight, preprocessor, random_state),
        *(protocol, n_splits, test_size, groups, order),
    )
    n_train = material.n_train
    levels = sizes(n_train, len(classes.labels))
    chosen = choose(default_names(n_train, len(classes.labels)) if methods is None else methods)
    width = material.X.shape[1] if material.X.ndim > 1 else 1
    chosen = fastest_first(chosen, levels[0], width)
    importance = importance and has_time(clock, COMFORT)
    judging = clock.keeping(IMPORTANCE_SHARE if importance else 0.0)
    seconds = sum(one.expected_seconds(levels[0], width) for one in chosen)
    n_bytes = 8 * len(material.y) * width
    with (
        _where(executor, n_jobs, seconds * len(material.rounds), judging, n_bytes) as where,
        work_progress(show_progress) as tick,
    ):
        n_workers = where.size
        expected, left = seconds / n_workers, judging.left()
        schedule = Schedule(
            groups=_grouped(chosen),
            sizes=levels,
            n_splits=len(material.rounds),
            clock=judging,
            n_workers=n_workers,
            y=material.y,
            n_features=width,
            tick=tick,
            train_rows=len(material.y) if train_after else None,
        )
        if left is not None and (expected > PRESSED * left or left < SHORT):
            if where.is_ready:
                schedule.begin_quickly()
            else:
                # In this process: others are not there yet, and so few rows take no time.
                quick = schedule.quick_calls()
                InProcess().call(TASK, material, lambda: next(quick, None), schedule.on_answer)
        where.call(TASK, material, schedule.take, schedule.on_answer)
        last = iter([call for call in [schedule.last_call()] if call is not None])
        InProcess().call(TASK, material, lambda: next(last, None), schedule.on_answer)
        if train_after and clock.limit is not None:
            share = IMPORTANCE_SHARE if importance else 0.0
            kept = judging.reserve - share * clock.limit
            clock = Clock(clock.limit, clock.start, kept, clock.pace)
        found = _assembled(chosen, schedule, material, classes, clock, protocol, (groups, order))
        if not importance or found.recommended == BASELINE.name:
            return found
        columns = None
        if has_time(clock, AGAIN):
            columns = column_importance(material, found.recommended, found.runs(), where, clock)
        if len(levels) == 1 and has_time(clock, AGAIN):
            _fill_curve(schedule, found.recommended, where, material, clock)
        curve = _curve(schedule.found, material)
        return replace(found, importance=columns, curve=curve, seconds=clock.spent)


@contextmanager
def _where(
    executor: Any, n_jobs: int | None, seconds: float, clock: Clock, n_bytes: int
) -> Iterator[Executor]:
    """Give the executor for work of so many seconds on a table of so many bytes."""
    if executor is not None:
        if n_jobs is not None:
            raise ValueError("n_jobs is for this machine, and does not go with executor.")
        with opened(executor) as ready:
            yield ready
        return
    # None means 1, or the number that `joblib.parallel_config` sets.
    n_workers = effective_n_jobs(n_jobs)
    most = most_memory(n_bytes, n_workers)
    local = LocalProcesses(n_workers, memory=most, modules=COMPARISONS_NEED)
    alone = n_jobs is None and n_workers == 1
    worth_it = local.is_ready or (seconds >= SMALL and has_time(clock, START))
    if alone or not worth_it:
        yield InProcess()
        return
    with local.opened() as ready:
        yield ready


def most_memory(n_bytes: int, n_workers: int) -> int:
    """Return the bytes that each of some processes may use for a table of so many bytes."""
    wanted, free = max(MOST_MEMORY, COPIES * n_bytes), available_memory()
    return wanted if free is None else min(wanted, int(MEMORY_SHARE * free / n_workers))


def has_time(clock: Clock, paces: float) -> bool:
    """Whether so much time is left, in multiples of the clock's pace."""
    left = clock.left()
    return left is None or left > paces * clock.pace


def _fill_curve(
    schedule: Schedule, name: str, where: Executor, material: Material, clock: Clock
) -> None:
    """Judge a method on fewer rows of a small table, for its learning curve."""
    least = max(4 * len(material.labels), 20)
    parts = [rows for rows in (schedule.sizes[0] // 4, schedule.sizes[0] // 2) if rows >= least]
    tasks = iter(
        Call(Task((name,), Level(rows), split), clock.until())
        for rows in parts
        for split in range(min(CURVE_SPLITS, len(material.rounds)))
    )
    where.call(TASK, material, lambda: next(tasks, None), schedule.on_answer)


def _material(
    X: Any,
    classes: Classes,
    sample_weight: ArrayLike | None,
    preprocessor: Any,
    seed: int,
    protocol: str,
    n_splits: int,
    test_size: float,
    groups: ArrayLike | None,
    order: ArrayLike | None,
) -> Material:
    X = X if hasattr(X, "iloc") else np.asarray(X)
    y, kept = classes.numbers, classes.rows
    whole = len(kept) == len(X)
    columns = [
        None if values is None else np.asarray(values)[kept]
        for values in (groups, order, sample_weight)
    ]
    weights = None if columns[2] is None else checked_weights(columns[2])
    found = rounds(y, protocol, n_splits, test_size, seed, columns[0], columns[1])
    n_train = fewest_training_rows(found)
    is_long = len(sizes(n_train, len(classes.labels))) > 1
    arranged = Arranged(found, y, seed, most_test_rows(len(classes.labels)), is_long)
    return Material(
        *(X if whole else rows_of(X, kept), y, classes.labels, weights, arranged),
        *(input_steps(preprocessor), seed, is_long),
        n_train=n_train,
        groups=numbered(columns[0]),
        order=columns[1],
    )


def numbered(groups: Any) -> IntArray | None:
    """Return groups as numbers."""
    if groups is None:
        return None
    found: IntArray = np.unique(np.asarray(groups), return_inverse=True)[1].reshape(-1)
    return found


def checked_weights(values: Any) -> FloatArray:
    """Return weights as numbers; refuse negative ones."""
    try:
        weights: FloatArray = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must be numbers.") from None
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError("sample_weight must be finite, not negative, and not all zero.")
    return weights


def _assembled(
    chosen: Sequence[Candidate],
    schedule: Schedule,
    material: Material,
    classes: Classes,
    clock: Clock,
    protocol: str,
    columns: tuple[Any, Any],
) -> MethodComparison:
    """Put together what was found: the ranking of one size, and what other sizes say."""
    found = {
        level: {name: splits for name, splits in runs.items() if splits}
        for level, runs in schedule.found.items()
    }
    found = {level: runs for level, runs in found.items() if runs}
    order = sorted(found, key=lambda level: (level.tuned, level.rows))
    wanted = min(2, max((len(runs) for runs in found.values()), default=0))
    ranked = [level for level in order if len(found[level]) >= wanted]
    known = {one.name: one for one in chosen}
    level = ranked[-1] if ranked else Level(schedule.sizes[0])
    if ranked and schedule.best_nll(order[-1]) < schedule.best_nll(level):
        level = order[-1]  # one method on more rows is better than all others on fewer
    names, splits = common_splits(found.get(level, {}))
    main = {name: [found[level][name][split] for split in splits] for name in names}
    splits = splits or [0]
    main[BASELINE.name] = [baseline(material, split, level.rows) for split in splits]
    others: dict[str, list[HeldOut]] = {}
    for lower in reversed(order):
        for name, runs in found[lower].items():
            if name not in main and name not in others and lower.rows <= level.rows:
                others[name] = [runs[split] for split in sorted(runs)]
    train, test = material.rounds[0]
    judged = {**{name: known[name] for name in (*names, *others)}, BASELINE.name: BASELINE}
    left_out = {
        one.name: schedule.failures.get(one.name, "no time was left to try it")
        for one in chosen
        if one.name not in judged
    }
    share = len(train) / len(material.y)
    return MethodComparison(
        candidates=judged,
        held_out=main,
        y=material.y,
        classes=classes.labels,
        test_to_train=len(test) / min(len(train), level.rows),
        protocol=_protocol_words(protocol, len(splits), len(material.rounds), share, columns),
        left_out=left_out,
        notes=[*classes.notes, *schedule.notes],
        seconds=clock.spent,
        others=others,
        level=level,
        most_rows=schedule.sizes[-1],
        curve=_curve(found, material),
        kept=classes.rows,
        why={name: schedule.failures[name] for name in others if name in schedule.failures},
    )


def _curve(
    found: dict[Level, dict[str, dict[int, HeldOut]]], material: Material
) -> list[dict[str, Any]]:
    """Return the figures of all methods for every number of training rows.

    They are means over the first splits, as many as every number of rows has.
    """
    names = {name for runs in found.values() for name, splits in runs.items() if splits}
    points = []
    for name in sorted(names):
        levels = [level for level in found if found[level].get(name)]
        shared = set.intersection(*(set(found[level][name]) for level in levels))
        for level in sorted(levels, key=lambda level: (level.rows, level.tuned)):
            runs = [found[level][name][split] for split in sorted(shared)[:CURVE_SPLITS]]
            figures = [one.figures(material.y[one.rows]) for one in runs]
            if figures:
                means = {key: float(np.mean([one[key] for one in figures])) for key in figures[0]}
                rows, splits = runs[0].train_rows, len(runs)
                point = {"method": name, "rows": rows, "tuned": level.tuned, "splits": splits}
                points.append({**point, **means})
    return points


def baseline(material: Material, split: int, rows: int) -> HeldOut:
    """Answer every test row with the shares of the classes in the training part."""
    train, test = material.rounds[split]
    train = train[:rows]
    weights = None if material.weights is None else material.weights[train]
    counts = np.bincount(material.y[train], weights, len(material.labels))
    p = np.tile(counts / counts.sum(), (len(test), 1))
    own = None if material.weights is None else material.weights[test]
    return HeldOut(test, p.argmax(axis=1), p, 0.0, {}, weights=own, train_rows=len(train))


def _protocol_words(
    protocol: str, done: int, wanted: int, train: float, columns: tuple[Any, Any]
) -> str:
    of = "" if done == wanted else f" of the {wanted} planned"
    plural = "" if done == 1 and not of else "s"  # "1 of the 10 planned splits"
    groups, order = columns
    if order is not None:
        return f"{done}{of} window{plural} in time, each trained on all rows before it"
    kind = "random stratified split" if protocol == "hold-out" else "fold"
    nested = "" if protocol == "hold-out" else " of nested cross-validation"
    kind = kind if groups is None else "split by group"
    text = f"{done}{of} {kind}{plural}{nested}, {train:.0%} for training"
    return text.replace("%", " %").replace("split by groups", "splits by group")


def input_steps(given: Any) -> Any:
    """Return the transformer of the inputs that `preprocessor` means, or None."""
    if isinstance(given, str):
        one_of(given, "preprocessor", ("scale",))
        from sklearn.preprocessing import StandardScaler

        return StandardScaler()
    return given


def _grouped(chosen: Sequence[Candidate]) -> list[list[Candidate]]:
    """Put methods that share a sweep or members together, in their order."""
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
    numbers = settle_classes(y).numbers
    conditions = Conditions(int(np.bincount(numbers).min()), random_state, n_jobs, numbers)
    estimator = candidate.make(conditions)
    before = input_steps(preprocessor)
    if before is None:
        return estimator
    return Pipeline([("inputs", before), ("classifier", estimator)])
