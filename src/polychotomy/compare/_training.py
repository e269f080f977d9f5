"""Training for a model file within a time limit: whenever it is stopped, there is a model.

The method is trained on all rows. Beside that, or before it if there is one process only, it is
trained on growing parts of them, and then other methods that are faster. What has been finished
when the time is up, and is best, is kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.progress import work_progress
from ..execution.calls import Answer, Call
from ..execution.deadline import Clock
from ..execution.executors import Executor, InProcess, LocalProcesses
from ..execution.processes import COMPARISONS_NEED
from ._candidates import choose, fastest_first
from ._classes import settle_classes
from ._final import fit_method
from ._notes import note_of, without_rare_advice
from ._sizes import sizes
from ._where import START, has_time

TASK = "polychotomy.compare._training:trained_part"
# Methods that are expected to take a smaller share of the time left are trained in this process.
EASY = 0.1
# With one process: what the method and each faster one may take of the time left.
TURN = 0.6
# A method that has no other to fall back on, trained on few rows and not tuned, is one of these.
LAST_RESORT = ("LSL", "logistic")


@dataclass(frozen=True)
class Fit:
    """What to train, on how many rows: None for all."""

    name: str
    rows: int | None = None


@dataclass(frozen=True)
class Trained:
    """A model that was trained in time.

    Attributes
    ----------
    model : Pipeline
        The model.
    name : str
        The method.
    rows : int
        The number of rows it was trained on.
    said : str
        What is not as it was wanted, in a sentence; nothing otherwise.
    """

    model: Any
    name: str
    rows: int
    said: str = ""


Train = Callable[[Fit], Any]


class _EnoughError(Exception):
    """The wanted model is there: other work can end."""


def trained_part(train: Train, fit: Fit) -> tuple[Any, list[str]]:
    """Return a model and the warnings about it: what a process does."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = train(fit)
    return model, list(dict.fromkeys(str(one.message) for one in caught))


@dataclass(frozen=True)
class Trainer:
    """Trains a method on rows; it can be sent to another process.

    Attributes
    ----------
    X, y, preprocessor : object
        As in `fit_method`.
    options : dict
        Further parameters of `fit_method`.
    finish : callable or None
        Gets the method, X, y and the options, in place of `fit_method`.
    """

    X: Any
    y: Any
    preprocessor: Any
    options: dict[str, Any]
    finish: Callable[..., Any] | None = None

    def __call__(self, fit: Fit) -> Any:
        """Return the model."""
        train = fit_method if self.finish is None else self.finish
        return train(fit.name, self.X, self.y, self.preprocessor, n_rows=fit.rows, **self.options)


def fit_in_time(
    names: Sequence[str],
    trainer: Trainer,
    clock: Clock,
    n_workers: int = 1,
    show_progress: bool = True,
) -> Trained:
    """Train a method on all rows, or what there is time for.

    Parameters
    ----------
    names : sequence of str
        The method, and others to train if there is no time for it, the best first.
    trainer : Trainer
        The table, and how to train.
    clock : Clock
        The time that is left.
    n_workers : int, default=1
        The number of processes.
    show_progress : bool, default=True
        Whether to show how much time is left, on a terminal.

    Returns
    -------
    trained : Trained

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy.compare._training import Trainer, fit_in_time
    >>> from polychotomy.execution.deadline import Clock
    >>> X, y = load_iris(return_X_y=True)
    >>> trained = fit_in_time(["PWC_PSVM"], Trainer(X, y, "scale", {}), Clock(60.0))
    >>> trained.name, trained.rows
    ('PWC_PSVM', 150)
    """
    rare = trainer.options.get("rare", "keep")
    numbers = settle_classes(trainer.y, rare).numbers
    n_rows, n_classes = len(numbers), int(numbers.max()) + 1
    if clock.limit is None:
        return Trained(trainer(Fit(names[0])), names[0], n_rows)
    found: dict[Fit, tuple[Any, list[str]]] = {}
    errors: list[BaseException] = []
    wanted = Fit(names[0])

    def on_answer(call: Call, answer: Answer) -> None:
        if answer.failure is None:
            found[call.argument] = answer.value
        elif not answer.late:
            errors.append(answer.error or RuntimeError(answer.failure))
        if wanted in found:
            raise _EnoughError

    parts: list[Fit] = []
    where: Executor = InProcess()
    if not _is_easy(names[0], (n_rows, _width(trainer.X), n_classes), clock):
        parts = [Fit(names[0], rows) for rows in sizes(n_rows, n_classes)[:-1]]
        local = LocalProcesses(min(n_workers, 2), modules=COMPARISONS_NEED)
        if local.is_ready or has_time(clock, START):
            where = local
    plan = _plan(names, parts, clock, where)
    with work_progress(show_progress) as tick, suppress(_EnoughError):
        tick(f"training {names[0]} on {n_rows:,} rows", clock.spent, clock.left())
        where.call(TASK, trainer, lambda: next(plan, None), on_answer)
    if wanted in found:
        return Trained(_told(*found[wanted], rare), names[0], n_rows)
    if errors and len(names) == 1:
        raise errors[0]
    for fit in [*(Fit(name) for name in names[1:]), *reversed(parts)]:
        if fit in found:
            rows = n_rows if fit.rows is None else fit.rows
            said = _words(names[0], fit, n_rows)
            return Trained(_told(*found[fit], rare), fit.name, rows, said)
    return _last_resort(names, trainer, n_rows, n_classes)


def _told(model: Any, messages: list[str], rare: str) -> Any:
    """Return a model, after the warnings about it, which another process could not show."""
    for message in messages:
        if rare != "keep":
            message = without_rare_advice(note_of(message, ""))
        warnings.warn(message, UserWarning, stacklevel=3)
    return model


def _is_easy(name: str, shape: tuple[int, int, int], clock: Clock) -> bool:
    (candidate,) = choose([name])
    return candidate.expected_seconds(*shape) < EASY * (clock.left() or 0.0)


def _width(X: Any) -> int:
    return int(np.shape(X)[1]) if np.ndim(X) > 1 else 1


def _plan(
    names: Sequence[str], parts: Sequence[Fit], clock: Clock, where: Executor
) -> Iterator[Call]:
    """Yield what to train: on all rows first if something else can run beside it."""
    wanted, others = Fit(names[0]), [Fit(name) for name in names[1:]]
    if where.size > 1:
        yield Call(wanted, clock.until())
        for fit in [*parts[:1], *others[:1], *parts[1:], *others[1:]]:
            yield Call(fit, clock.until())
        return
    for fit in parts:
        yield Call(fit, clock.until(TURN))
    yield Call(wanted, clock.until(TURN if others else 1.0))
    for fit in others:
        yield Call(fit, clock.until(TURN))


def _words(name: str, fit: Fit, n_rows: int) -> str:
    """Say what was trained in place of what was wanted."""
    start = f"There was no time to train {name} on all {n_rows:,} rows: "
    if fit.rows is None:
        return f"{start}{fit.name}, which is faster, was trained on them."
    return f"{start}it was trained on {fit.rows:,} of them. Allow more with --time."


def _last_resort(names: Sequence[str], trainer: Trainer, n_rows: int, n_classes: int) -> Trained:
    """Train something on few rows, without tuning, in this process."""
    rows = min(n_rows, sizes(n_rows, n_classes)[0])
    able = [one for one in choose([*names, *LAST_RESORT]) if one.quick is not None]
    name = fastest_first(able, rows, _width(trainer.X), n_classes)[0].name
    options = {key: value for key, value in trainer.options.items() if key != "n_jobs"}
    model = fit_method(
        *(name, trainer.X, trainer.y, trainer.preprocessor), n_rows=rows, tuned=False, **options
    )
    start = f"tune {name}: it" if name == names[0] else f"train {names[0]}: {name}"
    part = f"all {rows:,}" if rows == n_rows else f"{rows:,} of {n_rows:,}"
    said = (
        f"There was no time to {start} was trained, without tuning, on {part} rows. Allow more "
        "with --time."
    )
    return Trained(model, name, rows, said)
