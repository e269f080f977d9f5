"""A table with a target: inputs, classes, and notes about them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..core.checks import suggestion, whole_number
from ..core.types import FloatArray, IntArray
from ._aside import SetAside
from ._columns import interpreted
from ._content import MISSING, content_of, rows_of
from ._dialect import looks_like_data
from ._errors import TableError, frame_of
from ._files import PIECE_ROWS, TableFile
from ._labels import Labels, class_labels, find_edges
from ._notes import column_notes, no_class
from ._reading import open_table
from ._sample import sampled
from ._schema import TableSchema


@dataclass(frozen=True)
class Table:
    r"""A table that is ready for training.

    Attributes
    ----------
    X : DataFrame
        The columns that are used: numbers as float64, categories as strings, NaN for missing.
    y : ndarray of shape (n_rows,)
        The classes.
    rows : ndarray of shape (n_rows,)
        The numbers of the rows in the file, from 1; rows without a class are skipped.
    schema : TableSchema
        The columns and their types.
    notes : tuple of str
        Notes for the user: skipped columns, missing values, an unusual file format.
    groups : ndarray of int of shape (n_rows,) or None
        The number of each row's group, if a column says so.
    order : ndarray of shape (n_rows,) or None
        When each row was, if a column says so: a number, or the seconds since 1970.
    weights : ndarray of shape (n_rows,) or None
        How much each row counts, if a column says so.

    Examples
    --------
    >>> import io
    >>> from polychotomy.tables import read_table
    >>> lines = ["id,width,colour,kind"]
    >>> lines += [f"{i},{i % 7 / 2},{['red', 'blue'][i % 2]},{'AB'[i % 2]}" for i in range(20)]
    >>> table = read_table(io.BytesIO("\n".join(lines).encode()), "kind")
    >>> table.schema.names, table.notes[0][:39]
    (['width', 'colour'], "Column 'id' looks like an identifier (a")
    """

    X: Any
    y: NDArray[Any]
    rows: NDArray[np.intp]
    schema: TableSchema
    notes: tuple[str, ...]
    groups: IntArray | None = None
    order: FloatArray | None = None
    weights: FloatArray | None = None


def read_table(
    source: str | os.PathLike[str] | BinaryIO,
    target: str,
    *,
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
    category: Iterable[str] = (),
    text: Iterable[str] = (),
    missing: Iterable[str] = MISSING,
    groups: str | None = None,
    order: str | None = None,
    weights: str | None = None,
    bins: int | None = None,
    merge_spellings: bool = False,
    unique: bool = False,
    most_rows: int | None = None,
    until: float | None = None,
) -> Table:
    r"""Read a table and infer what its columns hold.

    Parameters
    ----------
    source : str, path or binary file
        A CSV, Parquet, Feather, JSON lines or Excel file, a folder of Parquet files, or ``-``
        for standard input; see `open_table`. Separator, encoding and decimal point of a CSV file
        are detected.
    target : str
        The column with the classes.
    drop : iterable of str
        Columns to skip.
    keep : iterable of str
        Columns to use although they look like identifiers.
    category : iterable of str
        Columns of numbers that stand for categories.
    text : iterable of str
        Columns of free text, to be used by their words.
    missing : iterable of str
        Texts that mean a missing value, in all columns but the target. The empty field always
        does, also there. With `bins` they hold for the target, too.
    groups, order, weights : str, default=None
        Columns that are no inputs: rows with the same value belong together; when a row was, a
        number or a date; how much a row counts.
    bins : int, default=None
        Cut a target of numbers into so many ranges, with about the same number of rows each.
    merge_spellings : bool, default=False
        Whether classes that differ only in upper case, spaces, ``_``, ``-`` and points are one.
    unique : bool, default=False
        Use rows that occur several times, class and all, only once.
    most_rows : int, default=None
        Draw so many rows at random, the same ones every time; all rows by default. The table is
        read piece by piece, and only these rows are kept in memory. A class that has fewer than 20
        rows among them keeps more, up to 20, unless there are very many classes; a note says so.
    until : float, default=None
        With `most_rows`: draw them from what has been read at this moment, by `time.perf_counter`.

    Returns
    -------
    table : Table

    Raises
    ------
    TableError
        If the file cannot be used; the message says why, and what to do.

    Examples
    --------
    >>> import io
    >>> from polychotomy.tables import read_table
    >>> file = io.BytesIO(b"width,colour,kind\n1.5,red,a\n2.5,blue,b\n2.0,red,a\n,blue,b\n")
    >>> table = read_table(file, "kind")
    >>> [(column.name, column.kind) for column in table.schema.columns]
    [('width', 'number'), ('colour', 'category')]
    >>> table.y
    array(['a', 'b', 'a', 'b'], dtype='<U1')
    """
    if most_rows is not None:
        most_rows = whole_number(most_rows, "most_rows", 1)
    options: dict[str, Any] = {"drop": drop, "keep": keep, "category": category, "text": text}
    with open_table(source) as file:
        check_target(file, target)
        aside: dict[str, Any] = {"groups": groups, "order": order, "weights": weights}
        check_known(file, **options, **{role: [name] for role, name in aside.items() if name})
        words = {*([target] if bins is None else []), *category, *text}
        drawn = None
        if most_rows is None:
            frame = file.read(words)
        else:
            classes = target if bins is None else None
            drawn = sampled(file, most_rows, words, PIECE_ROWS, until, classes)
            frame = drawn.frame
    table = table_of_frame(
        frame,
        target,
        missing=missing,
        decimal=file.own_decimal,
        where=file.name,
        bins=bins,
        merge_spellings=merge_spellings,
        unique=unique,
        **options,
        **aside,
    )
    notes = file.notes
    if drawn is not None:
        table = replace(table, rows=drawn.places[table.rows - 1] + 1)
        if len(drawn.places) < drawn.n_rows or not drawn.is_all:
            more = f"{file.name} is large: {drawn.words}"
            notes = (*notes, f"{more} What is said below is about these rows.")
    return replace(table, notes=(*notes, *table.notes)) if notes else table


def table_of_frame(
    frame: Any,
    target: str,
    *,
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
    category: Iterable[str] = (),
    text: Iterable[str] = (),
    missing: Iterable[str] = MISSING,
    groups: str | None = None,
    order: str | None = None,
    weights: str | None = None,
    bins: int | None = None,
    merge_spellings: bool = False,
    unique: bool = False,
    decimal: str = "",
    where: str = "The table",
) -> Table:
    """Find out what the columns of a DataFrame hold; see `read_table`.

    Parameters
    ----------
    frame : DataFrame
        The table.
    target, drop, keep, category, text, missing, groups, order, weights, bins
        As in `read_table`.
    decimal : str
        The decimal point of numbers that are strings; points by default, which the schema does
        not keep.
    where : str
        The name of the table, for messages.

    Returns
    -------
    table : Table

    Examples
    --------
    >>> import pandas
    >>> from polychotomy.tables import table_of_frame
    >>> table_of_frame(pandas.DataFrame({"x": [1.0, 2.0, 4.0], "y": ["a", "b", "a"]}), "y").X.shape
    (3, 1)
    """
    if not len(frame):
        raise TableError(f"{where} has no rows.")
    markers = tuple(dict.fromkeys(one.strip() for one in missing))
    # A class may be called "None" or "NA": here only an empty field is missing.
    classes = content_of(frame[target], () if bins is None else markers)
    labelled = classes.present
    notes = []
    if classes.merged:
        notes.append(
            f"Spaces around the classes in {target!r} were removed: some differed only in these."
        )
    point = decimal or "."
    roles = {"groups": groups, "order": order, "weights": weights}
    aside = SetAside({role: name for role, name in roles.items() if name}, point)
    aside.add(frame, labelled)
    if not labelled.all():
        notes.append(no_class(int((~labelled).sum()), target))
        frame, classes = frame[labelled], rows_of(classes, labelled)
    if not labelled.any():
        raise TableError(f"No row of {where} has a class in {target!r}.")
    edges = () if bins is None else find_edges(classes, bins, point)
    labels = Labels(edges, merge_spellings, classes=target in {*category})
    y = class_labels(classes, point, where, labels)
    rows = np.flatnonzero(labelled) + 1
    dropped = {target, *drop, groups, order, weights}
    kept, categories, texts = set(keep), set(category), set(text)
    used_names = [name for name in frame.columns if name not in dropped]

    def found_missing() -> Iterator[str]:
        for name in used_names:
            yield from content_of(frame[name], markers).markers

    columns, X = [], {}
    for name in used_names:
        column, values = interpreted(
            content_of(frame[name], markers),
            frame.index,
            decimal=point,
            keep=name in kept,
            category=name in categories,
            text=name in texts,
            markers=found_missing,
        )
        columns.append(column)
        if column.kind != "left out":
            X[name] = values
    n_classes = len(np.unique(y))
    notes += column_notes(columns, n_classes)
    used = tuple(column for column in columns if column.kind != "left out")
    if not used:
        raise TableError(
            f"{where} has no column to learn from except {target!r}. {' '.join(notes)}".strip()
        )
    schema = TableSchema(target, used, markers, n_classes, labels, decimal)
    table = Table(frame_of(X, len(rows)), y, rows, schema, tuple(notes), **aside.arrays())
    return without_copies(table) if unique else table


def without_copies(table: Table) -> Table:
    """Return the table with rows that occur several times, class and all, only once."""
    with_class = table.X.assign(**{"": table.y})
    first = ~with_class.duplicated().to_numpy()
    count = int((~first).sum())
    if not count:
        return table
    note = f"{count} {'row occurs' if count == 1 else 'rows occur'} again, class and all: skipped."
    aside: dict[str, Any] = {
        role: None if values is None else values[first]
        for role, values in (
            ("groups", table.groups),
            ("order", table.order),
            ("weights", table.weights),
        )
    }
    X = table.X[first].reset_index(drop=True)
    notes = (*table.notes, note)
    return replace(table, X=X, y=table.y[first], rows=table.rows[first], notes=notes, **aside)


def check_target(file: TableFile, target: str) -> None:
    """Refuse a target that is not a column, and say what may be wrong."""
    if target in file.names:
        if len(file.names) == 1:
            raise TableError(f"{file.name} has only one column, {target!r}; nothing to learn from.")
        return
    if any(target in row for row in file.first_rows):
        raise TableError(
            f"{file.name} has {target!r} in a line further down, which seems to be the header; "
            "remove the lines above it."
        )
    if len(file.names) == 1:
        raise TableError(
            f"{file.name} has only one column, {file.names[0]!r}, and no {target!r}; separate "
            "columns by commas, semicolons, tabs or |."
        )
    if file.dialect is not None and looks_like_data(file.dialect.header):
        raise TableError(
            f"{file.name} has no column {target!r}: its first line looks like data, not like a "
            "header; add a line with the column names."
        )
    raise TableError(f"{file.name} has no column {target!r}. {suggestion(target, file.names)}")


def check_known(file: TableFile, **options: Iterable[str]) -> None:
    """Refuse options that name columns which the file does not have."""
    known = set(file.names)
    for option, names in options.items():
        for name in names:
            if name not in known:
                raise TableError(
                    f"--{option} names {name!r}, which is not a column of {file.name}. "
                    f"{suggestion(name, file.names)}"
                )
