"""Notes about what was read: skipped columns, missing values, how numbers and dates were read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ._columns import Column
from ._dates import has_day
from ._encoding import MOST_CLASS_SHARES, MOST_ONE_HOT
from ._errors import option

MOST_NAMED = 6
Item = TypeVar("Item")


def column_notes(columns: Sequence[Column], n_classes: int) -> list[str]:
    """Return notes about the columns of a table."""
    notes = [column.note for column in columns if column.note]
    used = [column for column in columns if column.kind != "left out"]
    notes += [note for one in (_markers, _gaps, _dates) for note in one(used)]
    return notes + _many(used, n_classes)


def no_class(count: int, target: str) -> str:
    """Return the note about rows without a class."""
    return f"{count} {'row has' if count == 1 else 'rows have'} no {target!r}: skipped."


def some(items: Sequence[Item], words: Callable[[Item], str], more: str = "columns") -> str:
    """Name the first few of a list, and how many there are besides."""
    named = ", ".join(words(item) for item in items[:MOST_NAMED])
    left = len(items) - MOST_NAMED
    return named if left <= 0 else f"{named} and {left} more {more}"


def _markers(columns: Sequence[Column]) -> list[str]:
    found = [(text, one.name, n) for one in columns for text, n in one.markers.items()]
    if not found:
        return []
    words = some(
        found, lambda one: f"{one[0]!r} in {one[1]!r} ({one[2]} row{'s' * (one[2] != 1)})", "cases"
    )
    example = option("missing", found[0][0])
    return [
        f"Read as missing: {words}. To choose the texts that mean missing, name each: {example}; "
        f"{option('missing', '')} is for none but the empty field."
    ]


def _gaps(columns: Sequence[Column]) -> list[str]:
    gaps = [column for column in columns if column.missing]
    if not gaps:
        return []
    words = some(gaps, lambda column: f"{column.name!r} {column.missing}")
    return [
        f"Missing values ({words}): numbers and dates become the median, categories a separate "
        "category."
    ]


def _dates(columns: Sequence[Column]) -> list[str]:
    dates = [column for column in columns if column.kind == "date"]
    days = [column for column in dates if has_day(column.format)]
    times = [column for column in dates if not has_day(column.format)]
    found = []
    for what, which, use in (
        ("Dates", days, "year, month, weekday, hour and seconds since the first"),
        ("Times of day", times, "hours"),
    ):
        if which:
            words = some(which, lambda column: repr(column.name))
            found.append(f"{what} ({words}): used as {use}.")
    return found


def _many(columns: Sequence[Column], n_classes: int) -> list[str]:
    many = [column for column in columns if len(column.categories) > MOST_ONE_HOT]
    if not many:
        return []
    words = some(many, lambda column: f"{column.name!r} {len(column.categories)}")
    what = "each becomes the shares of the classes in its rows"
    if n_classes > MOST_CLASS_SHARES:
        what = f"all but the {MOST_ONE_HOT - 1} most frequent become one"
    return [f"Many categories ({words}): {what}; {option('drop', many[0].name)} skips a column."]
