"""Progress bars, on a terminal only."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Protocol

from .extras import needed
from .words import duration, printable


class Ticker(Protocol):
    """Called with the name of a task, the amount done and the total."""

    def __call__(self, name: str, done: int, total: int) -> None:
        """Show the progress of a task."""
        ...


class WorkTicker(Protocol):
    """Called with what is being done, the seconds since the start, and those that remain."""

    def __call__(self, doing: str, spent: float, remaining: float | None) -> None:
        """Show what is being done, and how long it will take; None if that is unknown."""
        ...


def _quiet(doing: str, spent: float, remaining: float | None) -> None:
    """Show nothing."""


def _silent(name: str, done: int, total: int) -> None:
    """Show nothing."""


@contextmanager
def progress(wanted: bool) -> Iterator[Ticker]:
    """Show a bar for every running task, if standard error is a terminal."""
    if not _can_show(wanted):
        yield _silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeLeft())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def tick(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=done, total=total)

        yield tick


@contextmanager
def work_progress(wanted: bool) -> Iterator[WorkTicker]:
    """Show what is being done and how long it will take, if standard error is a terminal.

    Parameters
    ----------
    wanted : bool
        Whether to show it at all.
    """
    if not _can_show(wanted):
        yield _quiet
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.text import Text

    class Left(ProgressColumn):
        """The time until the expected end, which goes on between two answers."""

        def render(self, task: Task) -> Text:
            end = task.fields["end"]
            if end is None:
                return Text(duration(perf_counter() - task.fields["begun"]))
            left = max(0.0, end - perf_counter())
            return Text(f"about {duration(left)} left" if left else "nearly done")

    columns = (BarColumn(bar_width=20), Left(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        now = perf_counter()
        bar = bars.add_task("", total=None, begun=now, end=None)

        def tick(doing: str, spent: float, remaining: float | None) -> None:
            now = perf_counter()
            bars.update(
                bar,
                description=printable(doing),
                completed=spent,
                total=None if remaining is None else spent + remaining,
                begun=now - spent,
                end=None if remaining is None else now + remaining,
            )

        yield tick


def _can_show(wanted: bool) -> bool:
    if not wanted or not sys.stderr.isatty():
        return False
    # Looked for here, because most runs are short and show no bar.
    try:
        needed("rich", "tool", "Progress bars need rich")
    except ModuleNotFoundError as error:
        warnings.warn(f"{error} Going on without them.", stacklevel=5)
        return False
    return True
