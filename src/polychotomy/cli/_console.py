"""Output that several commands share."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from ..core.words import printable

if TYPE_CHECKING:
    from ..execution.units import Unit
    from ..study.driver import OnProgress, Progress

# What a command has told so far: warnings do not repeat it.
told: list[str] = []


def json_text(value: Any, **options: Any) -> str:
    """Write JSON, with escapes for what a terminal might obey; it reads back the same."""
    text = json.dumps(value, ensure_ascii=False, **options)
    if text.isprintable():
        return text
    # What is not printable, apart from line breaks, stands inside strings.
    return re.sub(r"[^ -~\n]", lambda one: _json_escape(one[0]), text)


def _json_escape(character: str) -> str:
    return character if printable(character) == character else json.dumps(character)[1:-1]


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print(json_text(value, indent=1, allow_nan=False))


@contextmanager
def naming_the_file(path: str) -> Iterator[None]:
    """Put the name of a model file before the reason why it is refused."""
    from ..persistence import ModelFileError

    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{'standard input' if path == '-' else path}: {error}") from error


def show(text: object = "") -> None:
    """Print a result, which may hold names of the user's data."""
    print(printable(text, keep="\n\t"))


def tell(text: str) -> None:
    """Print a message, which is not a result, to standard error."""
    told.append(text)
    # One write: Ctrl-C between the text and its line break would join it with the next message.
    sys.stderr.write(f"polychotomy: {printable(text)}\n")
    sys.stderr.flush()


def tell_notes(notes: Iterable[str]) -> None:
    """Print notes that were not told yet; what to do about rare classes is said once."""
    from ..compare._notes import without_rare_advice

    for note in notes:
        advised = any("--rare" in one for one in told)
        text = without_rare_advice(note) if advised else note
        if text not in told:
            tell(text)


class _Shown:
    """A stream for a terminal: it gets tables with escapes for what it might obey."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def write(self, content: bytes) -> None:
        self.stream.write(printable(content.decode(errors="replace"), keep="\n\t").encode())


def shown_on_terminal(stream: BinaryIO) -> BinaryIO:
    """Return a stream that is safe to write a text to, if it goes to a terminal."""
    return cast(BinaryIO, _Shown(stream)) if stream.isatty() else stream


class StoppedError(Exception):
    """A command was stopped by Ctrl-C, and has said so."""


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
        TextColumn("{task.description}", markup=False),
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
                words = printable(words)
                bars.update(task, advance=cost[unit.key], description=words, units=shown)

        yield on_progress
