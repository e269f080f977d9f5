"""Output that several commands share."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..execution.units import Unit
    from ..study.driver import OnProgress, Progress


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))


def tell(text: str) -> None:
    """Print a message, which is not a result, to standard error."""
    print(f"polychotomy: {text}", file=sys.stderr, flush=True)


def names(given: Sequence[str] | None) -> list[str] | None:
    """Return the names given to a repeatable option, each a name or several with commas."""
    if not given:
        return None
    return [name.strip() for text in given for name in text.split(",") if name.strip()]


@contextmanager
def study_progress(units: Sequence[Unit], finished: set[str]) -> Iterator[OnProgress | None]:
    """Show how far a study is and the time left, if standard error is a terminal.

    The time left is estimated from the units' costs, not from their number, because the slow ones
    run first.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[units]} units"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Bars(*columns, console=console, transient=True, speed_estimate_period=1e6) as bars:
        cost = {unit.key: max(unit.cost, 1e-9) for unit in units}
        done: Any = sum(cost[key] for key in finished)
        task = bars.add_task("starting", total=sum(cost.values()), completed=done, units="")

        def on_progress(progress: Progress) -> None:
            failed = f", {progress.failed} failed" if progress.failed else ""
            shown = f"{progress.finished}/{progress.total}{failed}"
            if progress.unit is None:
                bars.update(task, units=shown)
            else:
                unit = progress.unit
                words = f"{unit.dataset}, partition {unit.partition}, {unit.sweep}"
                bars.update(task, advance=cost[unit.key], description=words, units=shown)

        yield on_progress
