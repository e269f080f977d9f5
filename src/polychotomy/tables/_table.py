"""A table with a target: inputs, classes, and notes about them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..core.checks import suggestion
from ._columns import Column, as_numbers, as_words, infer_column
from ._dialect import dialect_note, looks_like_data
from ._errors import TableError, pandas_module
from ._reading import TableFile, open_table
from ._schema import TableSchema

# Numbers with more distinct values than this are not classes.
MOST_CLASSES = 200


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


def read_table(
    source: str | os.PathLike[str] | BinaryIO,
    target: str,
    *,
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
    category: Iterable[str] = (),
) -> Table:
    r"""Read a table and infer what its columns hold.

    Parameters
    ----------
    source : str, path or binary file
        A CSV or Parquet file, compressed by gzip or not; ``-`` for standard input. Separator,
        encoding and decimal point of a CSV file are detected.
    target : str
        The column with the classes.
    drop : iterable of str
        Columns to skip.
    keep : iterable of str
        Columns to use although they look like identifiers.
    category : iterable of str
        Columns of numbers that stand for categories.

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
    with open_table(source) as file:
        _check_target(file, target)
        _check_known(file, drop=drop, keep=keep, category=category)
        frame = file.read()
        decimal = "." if file.dialect is None else file.dialect.decimal
        note = None if file.dialect is None else dialect_note(file.dialect)
        name = file.name
    table = table_of_frame(
        frame, target, drop=drop, keep=keep, category=category, decimal=decimal, where=name
    )
    if note is None:
        return table
    return Table(table.X, table.y, table.rows, table.schema, (note, *table.notes))


def table_of_frame(
    frame: Any,
    target: str,
    *,
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
    category: Iterable[str] = (),
    decimal: str = ".",
    where: str = "The table",
) -> Table:
    """Find out what the columns of a DataFrame hold; see `read_table`.

    Parameters
    ----------
    frame : DataFrame
        The table.
    target, drop, keep, category
        As in `read_table`.
    decimal : str
        The decimal point of numbers that are strings.
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
    labelled = frame[target].notna().to_numpy()
    notes = []
    if not labelled.all():
        count = int((~labelled).sum())
        notes.append(f"{count} {'row has' if count == 1 else 'rows have'} no {target!r}: skipped.")
    if not labelled.any():
        raise TableError(f"No row of {where} has a class in {target!r}.")
    frame = frame[labelled]
    y = class_labels(frame[target], decimal, where)
    dropped, kept, categories = {target, *drop}, set(keep), set(category)
    columns = [
        infer_column(frame[name], decimal=decimal, keep=name in kept, category=name in categories)
        for name in frame.columns
        if name not in dropped
    ]
    notes += _notes(columns)
    used = tuple(column for column in columns if column.kind != "left out")
    if not used:
        raise TableError(
            f"{where} has no column to learn from except {target!r}. {' '.join(notes)}".strip()
        )
    X = {one.name: _values(frame[one.name], one, decimal) for one in used}
    rows = np.flatnonzero(labelled) + 1
    data = pandas_module().DataFrame(X, index=range(len(rows)))
    return Table(data, y, rows, TableSchema(target, used), tuple(notes))


def class_labels(values: Any, decimal: str = ".", where: str = "The table") -> NDArray[Any]:
    """Return class labels: whole numbers as int, everything else as strings.

    Parameters
    ----------
    values : Series
        The column with the classes; none missing.
    decimal : str
        The decimal point of numbers that are strings.
    where : str
        The name of the table, for messages.

    Returns
    -------
    y : ndarray
    """
    words = as_words(values)
    distinct = set(words.tolist())
    if all(_is_whole(word) for word in distinct):
        if len(distinct) > MOST_CLASSES:
            raise TableError(_no_classes(values.name, len(distinct), where))
        return words.astype(np.int64)
    numbers = as_numbers(values, decimal)
    if not np.isnan(numbers).any() and len(distinct) > 20:
        raise TableError(_no_classes(values.name, len(distinct), where))
    if len(distinct) > MOST_CLASSES and len(distinct) > len(words) / 2:
        raise TableError(
            f"The target {values.name!r} of {where} has {len(distinct)} different values in "
            f"{len(words)} rows; these are not classes. Name another column."
        )
    return words.astype(str)


def check_classes(y: NDArray[Any], target: str, least: int = 2) -> None:
    """Refuse a single class, and classes with too few rows to learn and to test.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        The classes.
    target : str
        The name of the column.
    least : int
        The fewest rows that a class may have.
    """
    labels, counts = np.unique(y, return_counts=True)
    if len(labels) < 2:
        raise TableError(
            f"The target {target!r} has only one class, {labels.tolist()[0]!r}; "
            "at least two are needed."
        )
    if counts.min() < least:
        label, count = labels.tolist()[int(counts.argmin())], int(counts.min())
        raise TableError(
            f"Class {label!r} has {count} {'row' if count == 1 else 'rows'}; at least {least} are "
            "needed to learn it and to test it. Add rows, remove the class, or merge it with "
            "another."
        )


def _is_whole(word: str) -> bool:
    return word.lstrip("-").isdecimal() and word == str(int(word)) and len(word) < 19


def _no_classes(name: Any, count: int, where: str) -> str:
    return (
        f"The target {name!r} of {where} has {count} different numbers, so it looks like a "
        "quantity, not like classes; divide it into ranges first."
    )


def _values(values: Any, column: Column, decimal: str) -> Any:
    return as_numbers(values, decimal) if column.kind == "number" else as_words(values)


def _notes(columns: list[Column]) -> list[str]:
    notes = [column.note for column in columns if column.note]
    gaps = [column for column in columns if column.missing and column.kind != "left out"]
    if gaps:
        words = ", ".join(f"{column.name!r} {column.missing}" for column in gaps[:6])
        more = "" if len(gaps) <= 6 else f" and {len(gaps) - 6} more columns"
        notes.append(
            f"Missing values ({words}{more}): numbers become the median, categories a "
            "separate category."
        )
    return notes


def _check_target(file: TableFile, target: str) -> None:
    if target in file.names:
        if len(file.names) == 1:
            raise TableError(f"{file.name} has only one column, {target!r}; nothing to learn from.")
        return
    if len(file.names) == 1:
        raise TableError(f"{file.name} has only one column, {file.names[0]!r}, and no {target!r}.")
    if file.dialect is not None and looks_like_data(file.dialect.header):
        raise TableError(
            f"{file.name} has no column {target!r}: its first line looks like data, not like a "
            "header; add a line with the column names."
        )
    raise TableError(f"{file.name} has no column {target!r}. {suggestion(target, file.names)}")


def _check_known(file: TableFile, **options: Iterable[str]) -> None:
    known = set(file.names)
    for option, names in options.items():
        for name in names:
            if name not in known:
                raise TableError(
                    f"{option} names {name!r}, which is not a column of {file.name}. "
                    f"{suggestion(name, file.names)}"
                )
