"""The interface of executors: where calls run.

Design note: studies, comparisons and searches differ in what they run, not in where. All of them
make calls of one function with a shared context. The units of a study are calls whose answers
are kept in a store.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .calls import Answer, Call, OnAnswer, Take
from .units import Outcome, Unit
from .work import WorkerError, versions

OnDone = Callable[[Unit, Outcome], None]

PERFORM = "polychotomy.execution.work:perform"


class Executor(ABC):
    """The interface of an executor.

    Examples
    --------
    >>> from polychotomy.execution.executors import Executor, InProcess, LocalProcesses
    >>> where: list[Executor] = [InProcess(), LocalProcesses(2)]
    >>> [executor.size for executor in where]
    [1, 2]
    """

    @property
    def size(self) -> int:
        """How many calls run at the same time."""
        return 1

    @property
    def is_ready(self) -> bool:
        """Whether a first call begins at once, and not only after processes have started."""
        return False

    @contextmanager
    def opened(self) -> Iterator[Executor]:
        """Give an executor for several rounds of calls, which connects only once."""
        yield self

    @abstractmethod
    def call(self, task: str, context: Any, take: Take, on_answer: OnAnswer) -> None:
        """Make calls until there are no more.

        Parameters
        ----------
        task : str
            The function as ``"package.module:function"``; it gets the context and an argument.
        context : object
            What all calls share.
        take : callable
            Returns the next call, or None. After None it is asked again when another call has
            ended; the work is done when it returns None and no call is running.
        on_answer : callable
            Called in this thread with each call and its answer, in the order in which they end.
            If it raises, all work stops.
        """

    def run(self, units: Iterable[Unit], task: str, on_done: OnDone) -> None:
        """Run a task on units, and hand over each outcome when it is ready.

        Parameters
        ----------
        units : iterable of Unit
            They are taken one at a time, when a worker is free.
        task : str
            The task as ``"package.module:function"``.
        on_done : callable
            Called in this thread with each unit and its outcome, in the order in which they end.
            If it raises, all work stops.
        """
        waiting = iter(units)

        def take() -> Call | None:
            unit = next(waiting, None)
            return None if unit is None else Call(unit)

        def on_answer(call: Call, answer: Answer) -> None:
            outcome = answer.value
            if answer.failure is not None:
                outcome = Outcome(failure=answer.failure, versions=versions())
            on_done(call.argument, outcome)

        self.call(PERFORM, task, take, on_answer)


def deliver(call: Call, answer: Answer, on_answer: OnAnswer) -> None:
    """Hand over an answer. If the worker is set up wrongly, stop the work instead."""
    if isinstance(answer.error, WorkerError):
        raise answer.error
    on_answer(call, answer)
