"""The classes of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._content import Content
from ._errors import TableError
from ._numbers import parse_numbers

# Numbers with more distinct values than this are not classes: whole ones, and others.
MOST_CLASSES, MOST_NUMBERS = 200, 20


def class_labels(values: Content, decimal: str = ".", where: str = "The table") -> NDArray[Any]:
    """Return class labels: whole numbers as int, everything else as strings.

    Parameters
    ----------
    values : Content
        The column with the classes; none missing.
    decimal : str
        The decimal point of numbers that are strings.
    where : str
        The name of the table, for messages.

    Returns
    -------
    y : ndarray
    """
    content = values.as_texts()
    distinct = content.texts
    if all(_is_whole(word) for word in distinct.tolist()):
        if len(distinct) > MOST_CLASSES:
            raise TableError(_no_classes(values.name, len(distinct), where))
        return content.spread(distinct.astype(np.int64), 0)
    numbers = parse_numbers(distinct, decimal).values
    if not np.isnan(numbers).any() and len(distinct) > MOST_NUMBERS:
        raise TableError(_no_classes(values.name, len(distinct), where))
    if len(distinct) > MOST_CLASSES and len(distinct) > content.n_rows / 2:
        raise TableError(
            f"The target {values.name!r} of {where} has {len(distinct)} different values in "
            f"{content.n_rows} rows; these are not classes. Name another column."
        )
    return content.spread(distinct.astype(str), "")


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
