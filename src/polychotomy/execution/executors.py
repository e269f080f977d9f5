"""All executors, and what users may give as one. `DaskCluster` is in `cluster`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from .calls import Backlog, OnAnswer, Take, answered, too_late
from .deadline import OutOfTime, deadline
from .interface import Executor, deliver
from .processes import LocalProcesses, usable_cores
from .work import load_function

__all__ = ["Backlog", "Executor", "InProcess", "LocalProcesses", "opened", "usable_cores"]


class InProcess(Executor):
    """Run everything in this process, one call after another, in one thread.

    A call that crashes ends this process too. One with a time limit ends, in time-consuming code
    of other libraries, only when that returns to Python.

    Examples
    --------
    >>> from polychotomy.execution.calls import Call
    >>> from polychotomy.execution.executors import InProcess
    >>> calls = iter([Call(1), Call(2)])
    >>> def on_answer(call, answer):
    ...     print(answer.value)
    >>> InProcess().call("operator:add", 40, lambda: next(calls, None), on_answer)
    41
    42

    The units of a study:

    >>> from polychotomy.execution.units import Unit
    >>> units = [Unit("demo", "iris", "0f3a", i, "svm", {"methods": ["a", "b"]}) for i in (0, 1)]
    >>> def on_done(unit, outcome):
    ...     print(unit.partition, [result.method for result in outcome.results])
    >>> InProcess().run(units, "polychotomy.execution.work:example", on_done)
    0 ['a', 'b']
    1 ['a', 'b']
    """

    @property
    def is_ready(self) -> bool:
        """Whether a first call begins at once."""
        return True

    def call(self, task: str, context: Any, take: Take, on_answer: OnAnswer) -> None:
        """Make calls; see `Executor.call`."""
        function = load_function(task)
        while (call := take()) is not None:
            start = perf_counter()
            try:
                with deadline(None if call.until is None else call.until - start):
                    answer = answered(function, context, call.argument)
            except OutOfTime:
                answer = too_late(perf_counter() - start)
            deliver(call, answer, on_answer)


@contextmanager
def opened(executor: Any) -> Iterator[Executor]:
    """Turn what users give as `executor` into an executor, connected if necessary.

    Parameters
    ----------
    executor : Executor, distributed.Client or str
        An executor; a client of a Dask cluster; or its scheduler's address.

    Examples
    --------
    >>> from polychotomy.execution.executors import InProcess, opened
    >>> with opened(InProcess()) as executor:
    ...     executor.size
    1
    """
    if not isinstance(executor, Executor):
        from .cluster import DaskCluster

        if isinstance(executor, str):
            executor = DaskCluster(executor)
        elif hasattr(executor, "submit") and hasattr(executor, "scatter"):
            executor = DaskCluster(client=executor)
        else:
            raise TypeError(
                "executor must be None, an executor such as LocalProcesses(4), a Dask client or "
                f"the address of a Dask scheduler, got {executor!r}."
            )
    with executor.opened() as ready:
        yield ready
