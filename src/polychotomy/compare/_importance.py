"""Which inputs matter: how much worse a method gets if a column is shuffled.

Design note: columns are shuffled in held-out rows, before they are encoded. Importance in training
rows would praise columns that a method has only learned by heart, and importance of encoded columns
would divide a category among its words.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from time import perf_counter
from typing import Any

import numpy as np
from scipy import stats

from ..core import scores
from ..core.checks import for_all_classes
from ..core.types import FloatArray
from ..execution.calls import Answer, Call, OnAnswer
from ..execution.deadline import Clock
from ..execution.interface import Executor
from ._candidates import Candidate, choose, prepared
from ._judging import (
    ASKED_SPLITS,
    HeldOut,
    Level,
    Material,
    Task,
    fit_weighted,
    perform,
    rows_of,
)
from ._peers import Conditions

TASK = "polychotomy.compare._importance:asked"
# How often a column is shuffled, on all splits together: two times do not make an interval.
SHUFFLES = 6
MOST_ROWS = 1_000


@dataclass(frozen=True)
class Question:
    """What is asked: a method with its parameters, on a split, and how long it may take."""

    name: str
    parameters: dict[str, Any]
    level: Level
    split: int
    repeats: int
    seconds: float | None


def asked(material: Material, argument: Question | Task) -> Any:
    """Answer a question, or judge methods: both are at work together at the end."""
    if isinstance(argument, Question):
        return shuffled(material, argument)
    return perform(material, argument)


def shuffled(material: Material, question: Question) -> FloatArray:
    """Return how much the NLL grows for every column and repeat; NaN if the time was up."""
    start = perf_counter()
    split = material.split(question.split, question.level.rows)
    (candidate,) = choose([question.name])
    conditions = split.conditions(material.seed)
    estimator = material.kept_pool(question.name, question.split, len(split.train))
    if estimator is None:
        estimator = _with_parameters(candidate, question.parameters, conditions)
        with warnings.catch_warnings():
            warnings.resetwarnings()  # see `perform`
            warnings.simplefilter("ignore")  # notes say it since the method was judged
            fit_weighted(estimator, *split.beginning(len(split.train)))
    random = np.random.RandomState(material.seed + question.split)
    rows = np.sort(random.permutation(len(split.test))[:MOST_ROWS])
    X, y = rows_of(material.X, split.test[rows]), split.y_test[rows]
    weights = None if split.test_weights is None else split.test_weights[rows]

    def nll(inputs: Any) -> float:
        ready = inputs if split.preprocessor is None else split.preprocessor.transform(inputs)
        p = estimator.predict_proba(ready)
        p = for_all_classes(p, estimator.classes_, split.labels, "The classifier")
        return float(scores.nll(p, y, weights))

    whole = nll(X)
    found: FloatArray = np.full((X.shape[1], question.repeats), np.nan)
    for repeat in range(question.repeats):
        for column in range(X.shape[1]):
            order = random.permutation(len(rows))
            if question.seconds is not None and perf_counter() - start > question.seconds:
                return found
            found[column, repeat] = nll(_with_shuffled(X, column, order)) - whole
    return found


def _with_parameters(candidate: Candidate, parameters: dict[str, Any], on: Conditions) -> Any:
    """Return a method with parameters that were chosen before, so that it is not tuned again."""
    if candidate.pipe is not None and parameters:
        return prepared(candidate.pipe, on).set_params(**parameters)
    if candidate.quick is not None and parameters:
        return candidate.quick(on).set_params(**parameters)
    return candidate.make(on)


def _with_shuffled(X: Any, column: int, order: Any) -> Any:
    if hasattr(X, "iloc"):
        changed = X.copy()
        name = X.columns[column]
        changed[name] = X[name].to_numpy()[order]
        return changed
    changed = X.copy()
    changed[:, column] = X[order, column]
    return changed


def column_importance(
    material: Material,
    name: str,
    runs: Sequence[HeldOut],
    executor: Executor,
    clock: Clock,
    more: Iterable[Call] = (),
    on_more: OnAnswer | None = None,
) -> list[dict[str, Any]] | None:
    """Return how much worse a method gets without each column, on held-out rows.

    Parameters
    ----------
    material : Material
        The table and its splits.
    name : str
        The method.
    runs : sequence of HeldOut
        What it predicted on the splits, with its parameters.
    executor : Executor
        Where to do the work.
    clock : Clock
        The time that is left.
    more : iterable of Call, default=()
        Tasks of `perform` to begin after that, so that no process waits.
    on_more : callable, default=None
        Takes their answers.

    Returns
    -------
    columns : list of dict or None
        "column", "importance" (growth of the NLL), "lower" and "upper" (95 % interval, over
        splits and shuffles), the most important first; None if there was no time.
    """
    left = clock.left()
    questions = []
    used = runs[:ASKED_SPLITS]
    repeats = -(-SHUFFLES // max(len(used), 1))
    for one in used:
        # One after another: splits that were not judged need not be drawn.
        tests = (test for _, test in material.rounds)
        number = next((k for k, test in enumerate(tests) if np.array_equal(test, one.rows)), None)
        if number is not None and one.p is not None:
            level = Level(one.train_rows)
            seconds = None if left is None else 0.8 * left
            questions.append(Question(name, one.parameters, level, number, repeats, seconds))
    waiting = chain([Call(question, clock.until()) for question in questions], more)
    found: list[FloatArray] = []

    def on_answer(call: Call, answer: Answer) -> None:
        if not isinstance(call.argument, Question):
            if on_more is not None:
                on_more(call, answer)
        elif isinstance(answer.value, np.ndarray):
            found.append(answer.value)

    if left is not None and left <= 0:
        return None
    executor.call(TASK, material, lambda: next(waiting, None), on_answer)
    if not found or np.isnan(found[0]).all():
        return None
    return _summary(np.concatenate(found, axis=1), material.X)


def _summary(growth: FloatArray, X: Any) -> list[dict[str, Any]]:
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    rows = []
    for column, values in enumerate(growth):
        known = values[~np.isnan(values)]
        if not len(known):
            continue
        wide = 0.0
        if len(known) > 1:
            spread = known.std(ddof=1) / np.sqrt(len(known))
            wide = float(stats.t.ppf(0.975, len(known) - 1) * spread)
        mean = float(known.mean())
        rows.append(
            {
                "column": names[column] if names else f"column {column}",
                "importance": mean,
                "lower": mean - wide,
                "upper": mean + wide,
            }
        )
    return sorted(rows, key=lambda row: -float(row["importance"]))
