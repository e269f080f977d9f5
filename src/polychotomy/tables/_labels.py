"""The classes of a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from ..core.types import FloatArray, IntArray
from ._content import Content
from ._errors import TableError, option
from ._numbers import parse_numbers

# Numbers with more distinct values than this are a quantity, not classes: whole ones if they have
# few rows each, and others.
MOST_CLASSES, MOST_NUMBERS = 200, 20
FEWEST_ROWS = 10
FEW_WORDS = 0.1
SPACING = re.compile(r"[\s_.-]+")


@dataclass(frozen=True)
class Labels:
    """How the fields of the target become classes.

    Attributes
    ----------
    edges : tuple of float
        Where a target of numbers is cut into ranges; empty for classes.
    merge_spellings : bool
        Whether classes are one that differ only in upper case, spaces, ``_``, ``-`` and points.
    classes : bool
        Whether numbers are the names of classes, however many there are.
    """

    edges: tuple[float, ...] = ()
    merge_spellings: bool = False
    classes: bool = False


def class_labels(
    values: Content, decimal: str = ".", where: str = "The table", labels: Labels = Labels()
) -> NDArray[Any]:
    """Return class labels: whole numbers as int, everything else as strings.

    Parameters
    ----------
    values : Content
        The column with the classes; none missing.
    decimal : str
        The decimal point of numbers that are strings.
    where : str
        The name of the table, for messages.
    labels : Labels
        Whether they are cut into ranges or merged.

    Returns
    -------
    y : ndarray
    """
    if labels.edges:
        return range_labels(_quantity(values, decimal), labels.edges)
    content = values.as_texts()
    distinct = content.texts
    many = len(distinct) > MOST_CLASSES and not labels.classes
    if all(_is_whole(word) for word in distinct.tolist()):
        if many and len(distinct) * FEWEST_ROWS > content.n_rows:
            raise TableError(_no_classes(values.name, len(distinct), where))
        return content.spread(distinct.astype(np.int64), 0)
    is_word = np.isnan(parse_numbers(distinct, decimal).values)
    numbers = len(distinct) - int(is_word.sum())
    if not is_word.any() and numbers > MOST_NUMBERS and not labels.classes:
        raise TableError(_no_classes(values.name, numbers, where))
    if many and len(distinct) > content.n_rows / 2:
        if is_word.mean() < FEW_WORDS:  # such as n/a, which --bins reads as missing
            raise TableError(_no_classes(values.name, numbers, where))
        raise TableError(
            f"The target {values.name!r} of {where} has {len(distinct)} different values in "
            f"{content.n_rows} rows; these are not classes. Name another column."
        )
    if labels.merge_spellings:
        counts = np.bincount(content.fields[content.present], minlength=len(distinct))
        distinct = _merged(distinct, counts)
    return content.spread(distinct.astype(str), "")


def spelling(label: str) -> str:
    """Return what two spellings of a class have in common."""
    return SPACING.sub(" ", normalize("NFC", label).casefold()).strip()


def _merged(distinct: NDArray[Any], counts: IntArray) -> NDArray[Any]:
    """Return the most frequent spelling of each label."""
    best: dict[str, str] = {}
    for place in np.argsort(-counts, kind="stable"):
        best.setdefault(spelling(distinct[place]), distinct[place])
    return np.array([best[spelling(label)] for label in distinct.tolist()], dtype=object)


def _quantity(values: Content, decimal: str) -> FloatArray:
    if values.numbers is not None:
        return values.numbers
    numbers: FloatArray = values.spread(parse_numbers(values.texts, decimal).values)
    wrong = np.isnan(numbers) & values.present
    if wrong.any():
        text = str(values.texts[values.fields[np.argmax(wrong)]])[:40]
        raise TableError(
            f"The target {values.name!r} holds {text!r}, which is not a number: --bins is for "
            "numbers; correct it, or leave the field empty."
        )
    return numbers


def find_edges(values: Content, bins: int, decimal: str = ".") -> tuple[float, ...]:
    """Return where numbers are cut so that all ranges have about the same number of rows."""
    if bins < 2:
        raise TableError(f"--bins must be at least 2, got {bins}.")
    numbers = _quantity(values, decimal)
    numbers = numbers[~np.isnan(numbers)]
    at = np.quantile(numbers, np.arange(1, bins) / bins, method="lower")
    edges = np.unique(at[at < numbers.max()])
    if not len(edges):
        raise TableError(f"The target {values.name!r} cannot be cut into {bins} ranges.")
    return tuple(float(edge) for edge in edges)


def range_labels(numbers: FloatArray, edges: Sequence[float]) -> NDArray[Any]:
    """Return the name of the range of each number, in alphabetical order from low to high."""
    words = [f"{edge:.6g}" for edge in edges]
    width = len(str(len(words) + 1))
    names = [f"up to {words[0]}"]
    names += [f"{low} to {high}" for low, high in pairwise(words)]
    names += [f"over {words[-1]}"]
    labels = np.array([f"{k:0{width}}: {name}" for k, name in enumerate(names, 1)])
    return labels[np.searchsorted(np.asarray(edges), numbers, side="left")]


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
        f"quantity, not like classes; divide it into ranges with {option('bins', 4)}, or, if the "
        f"numbers are names of classes, use {option('category', name)}."
    )
