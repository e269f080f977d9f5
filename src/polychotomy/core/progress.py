"""Progress bars, on a terminal only."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from .extras import needed


class Ticker(Protocol):
    """Called with the name of a task, the amount done and the total."""

    def __call__(self, name: str, done: int, total: int) -> None:
        """Show the progress of a task."""
        ...


def _silent(name: str, done: int, total: int) -> None:
    """Show nothing."""


@contextmanager
def progress(wanted: bool) -> Iterator[Ticker]:
    """Show a bar for every running task, if standard error is a terminal."""
    if not wanted or not sys.stderr.isatty():
        yield _silent
        return
    # Imported here, because most runs are short and show no bar.
    try:
        needed("rich", "tool", "Progress bars need rich")
    except ModuleNotFoundError as error:
        warnings.warn(f"{error} Going on without them.", stacklevel=3)
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
