"""Where the commands get their tables from: a file, standard input, or a built-in data set."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._console import tell

if TYPE_CHECKING:
    from ..tables import Table

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
BUILT_IN_TARGET = "class"
# How a large table is read is decided by each command.
NO_OPTIONS = ("most_rows", "until")

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV, Parquet, Feather, JSON lines or Excel file, a folder of Parquet files, - for "
        "standard input, or the name of a built-in data set.",
    ),
]
Target = Annotated[
    str | None, typer.Option("--target", "-t", metavar="COLUMN", help="The column of the classes.")
]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Skip a column; may be repeated.")
]
Keep = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Use a column that looks like an identifier."),
]
Category = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Treat the numbers of this column as categories."),
]
Text = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Use a column of free text, by its words."),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT",
        help="A text that means a missing value, in place of the usual ones (NA, ?, - ...); may be "
        "repeated. The empty field always does. The column of the classes has no others, but "
        "with --bins.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="COLUMN",
        help="Rows with the same value here (a patient, a customer) stay together: never one for "
        "training and another for testing.",
    ),
]
Order = Annotated[
    str | None,
    typer.Option(
        "--order", metavar="COLUMN", help="A number or date: train on the past, test on the future."
    ),
]
Weights = Annotated[
    str | None,
    typer.Option("--weights", metavar="COLUMN", help="How much each row counts: a number."),
]
Bins = Annotated[
    int | None,
    typer.Option(
        "--bins", metavar="N", help="Cut a target of numbers into N ranges with as many rows each."
    ),
]
MergeSpellings = Annotated[
    bool,
    typer.Option(
        "--merge-spellings",
        help="Classes that differ only in upper case, spaces, _, - and points are one.",
    ),
]
Unique = Annotated[
    bool, typer.Option("--unique", help="Use rows that occur several times only once.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Seed = Annotated[int, typer.Option(help="Seeds the splits and the methods.")]
Jobs = Annotated[
    int | None,
    typer.Option(help="Processes, in one thread each; -1 for all cores [default: all cores]."),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Run on a Dask cluster: its scheduler's address, such as tcp://10.0.0.1:8786.",
    ),
]


@dataclass(frozen=True)
class Loaded:
    """A table, with its name and how to read it: in Python, and by options of a command."""

    table: Table
    title: str
    code: str
    options: str = ""


def load_data(
    data: str,
    target: str | None,
    drop: Iterable[str] | None = None,
    keep: Iterable[str] | None = None,
    category: Iterable[str] | None = None,
    text: Iterable[str] | None = None,
    missing: Iterable[str] | None = None,
    rare: str = "keep",
    **more: Any,
) -> Loaded:
    """Read a table, and print notes and warnings about it.

    `rare` is what will be done with rare classes. `more` are further parameters of `read_table`:
    groups, order, weights, bins, merge_spellings and unique.
    """
    from ..compare._classes import settle_classes
    from ..tables import TableError, check_classes, read_table, table_warnings

    options: dict[str, Any] = {"drop": drop, "keep": keep, "category": category, "text": text}
    options = {name: list(value or ()) for name, value in options.items()}
    if missing is not None:
        options["missing"] = list(missing)
    options |= {
        name: value for name, value in more.items() if value is not None and value is not False
    }
    if "groups" in options and "order" in options:
        raise TableError("--groups and --order do not go together: give one of them.")
    if is_built_in(data):
        loaded = _built_in(data, target, options)
    else:
        _refuse_unknown(data)
        if target is None:
            raise TableError(
                f"Name the column of {data!r} that holds the classes: --target COLUMN."
            )
        table = read_table(data, target, **options)
        title = "standard input" if data == "-" else Path(data).name
        loaded = Loaded(table, title, _reading_code(data, target, options))
    table = loaded.table
    warned = () if is_built_in(data) else table_warnings(table)
    if rare != "keep":
        # Instead of the advice to do so, what is done with rare classes is said below.
        warned = tuple(warning for warning in warned if "--rare" not in warning)
    typed = shell_options({**options, "rare": None if rare == "keep" else rare})
    loaded = replace(loaded, table=replace(table, notes=(*table.notes, *warned)), options=typed)
    for note in table.notes:
        tell(note)
    for warning in warned:
        tell(f"warning: {warning}")
    # Classes with one row are learned, but not judged.
    check_classes(loaded.table.y, loaded.table.schema.target, least=1)
    if rare != "keep":
        try:
            settled = settle_classes(table.y, rare)
        except ValueError:
            raise TableError(
                f"With --rare {rare}, fewer than two classes of {table.schema.target!r} are left; "
                "use --rare keep, or name another column."
            ) from None
        for note in settled.notes:
            tell(note)
    return loaded


def is_built_in(data: str) -> bool:
    """Return whether a built-in data set is meant; a file of the same name takes precedence."""
    from .. import datasets

    return data in datasets.names() and not os.path.exists(data)


def built_in_frame(name: str) -> Any:
    """Return a built-in data set as a DataFrame with a column "class"."""
    import numpy as np

    from .. import datasets
    from ..tables._errors import pandas_module

    found = datasets.load(name, exact=False)
    frame = pandas_module().DataFrame(found.X, columns=[str(one) for one in found.feature_names])
    frame[BUILT_IN_TARGET] = np.asarray(found.y)
    return frame


def _built_in(name: str, target: str | None, options: dict[str, Any]) -> Loaded:
    from ..tables import TableError, table_of_frame

    if target not in (None, BUILT_IN_TARGET):
        raise TableError(f"The classes of the built-in data set {name!r} are in 'class'.")
    frame = built_in_frame(name)
    table = table_of_frame(frame, BUILT_IN_TARGET, **{**options, "keep": list(frame.columns)})
    code = f'data = datasets.load("{name}", exact=False)\nX, y = data.X, data.y\n'
    return Loaded(table, name, f"from polychotomy import datasets\n\n{code}")


def _refuse_unknown(data: str) -> None:
    from .. import datasets
    from ..core.checks import suggestion
    from ..tables import TableError, is_table_path

    if data != "-" and "://" not in data and not is_table_path(data):
        raise TableError(
            f"There is no file {data!r}, and no built-in data set with that name. "
            f"{suggestion(data, datasets.names())}"
        )


def _reading_code(data: str, target: str, options: dict[str, Any]) -> str:
    given = {name: value for name, value in options.items() if value and name != "until"}
    more = "".join(f", {name}={value!r}" for name, value in given.items())
    name = "table.csv" if data == "-" else Path(data).name
    return (
        "from polychotomy.tables import read_table\n\n"
        f"table = read_table({name!r}, {target!r}{more})\n"
    )


def shell_options(given: dict[str, Any]) -> str:
    """Return options as they are typed, each after a space; those without a value are left out."""
    from ..tables._errors import option

    typed = []
    for name, value in given.items():
        if value is None or value is False or name in NO_OPTIONS:
            continue
        words = name.replace("_", "-")
        values = value if isinstance(value, list) else [value]
        typed += [option(words)] if value is True else [option(words, one) for one in values]
    return "".join(f" {one}" for one in typed)


def seconds_of(text: str | None) -> float | None:
    """Return the seconds of a time like ``90``, ``30s``, ``5m`` or ``2h``; None for "none"."""
    if text is None or text.lower() == "none":
        return None
    found = re.fullmatch(r"(\d+\.?\d*)\s*([a-z]*)", text.strip().lower())
    if not found or found[2] not in UNITS or not float(found[1]) > 0:
        raise ValueError(f"--time must look like 90s, 5m or 2h, or be none; got {text!r}.")
    return float(found[1]) * UNITS[found[2]]
