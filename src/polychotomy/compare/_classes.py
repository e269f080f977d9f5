"""The classes of a comparison, and what to do with rare ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.checks import listed, one_of
from ..core.types import IntArray

RARE = ("keep", "drop", "merge")
# Classes with fewer rows than this are rare.
FEW_ROWS = 5
MERGED = "(rare)"
MOST_NAMED = 5


@dataclass(frozen=True)
class Classes:
    """The classes of all rows.

    Attributes
    ----------
    labels : ndarray of shape (n_classes,)
        The class labels.
    numbers : ndarray of int of shape (n_kept,)
        The class of every row that is kept, by number.
    rows : ndarray of int of shape (n_kept,)
        The rows that are kept.
    notes : list of str
        What was done with rare classes.
    """

    labels: NDArray[Any]
    numbers: IntArray
    rows: IntArray
    notes: list[str] = field(default_factory=list)


def settle_classes(y: ArrayLike, rare: str = "keep") -> Classes:
    """Return the classes of a column, with rare ones kept, dropped or merged.

    A class with one row trains, but nothing can be said about it: its row is never tested.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The class of every row.
    rare : {"keep", "drop", "merge"}, default="keep"
        What to do with classes of fewer than 5 rows.

    Returns
    -------
    classes : Classes

    Examples
    --------
    >>> from polychotomy.compare._classes import settle_classes
    >>> y = ["a"] * 6 + ["b"] * 6 + ["c", "d"]
    >>> settle_classes(y).notes[0][:45]
    "The classes 'c' and 'd' have only one row eac"
    >>> settle_classes(y, "merge").labels.tolist()
    ['(rare)', 'a', 'b']
    >>> settle_classes(y, "drop").labels.tolist()
    ['a', 'b']
    """
    one_of(rare, "rare", RARE)
    given = np.asarray(y)
    if given.ndim != 1:
        raise ValueError(f"y must be a column of classes; got an array of shape {given.shape}.")
    labels, numbers = np.unique(given, return_inverse=True)
    counts = np.bincount(numbers, minlength=len(labels))
    few = np.flatnonzero(counts < FEW_ROWS)
    rows, notes = np.arange(len(given)), []
    if len(few) and rare == "drop":
        rows = np.flatnonzero(counts[numbers] >= FEW_ROWS)
        notes.append(f"{_named(labels, few)} {_have(few)} fewer than {FEW_ROWS} rows: dropped.")
        labels, numbers = np.unique(given[rows], return_inverse=True)
    elif len(few) and rare == "merge":
        notes.append(
            f"{_named(labels, few)} {_have(few)} fewer than {FEW_ROWS} rows: merged into "
            f"{MERGED!r}."
        )
        words = given.astype(object)
        words[np.isin(numbers, few)] = MERGED
        labels, numbers = np.unique(words.astype(str), return_inverse=True)
    if len(labels) < 2:
        raise ValueError(
            "y must have at least two classes."
            + ("" if rare == "keep" else f" Only {labels.tolist()} is left with rare={rare!r}.")
        )
    counts = np.bincount(numbers)
    if counts.max() < 2:
        raise ValueError(
            "Every row has a class of its own, so that no class can be learned and judged; name "
            "another column."
        )
    single = np.flatnonzero(counts == 1)
    if len(single):
        each = "" if len(single) == 1 else " each"
        notes.append(
            f"{_named(labels, single)} {_have(single)} only one row{each}: learned, but not "
            "judged. --rare drop skips such classes, --rare merge joins them."
        )
    return Classes(labels, numbers, rows, notes)


def merged_labels(y: ArrayLike, classes: ArrayLike) -> list[str]:
    """Return which labels a model of these classes was given as one class.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The class of every row of the table.
    classes : array-like
        The classes of the model.

    Returns
    -------
    labels : list of str

    Examples
    --------
    >>> from polychotomy.compare._classes import merged_labels
    >>> merged_labels(["a", "b", "c", "c"], ["(rare)", "c"])
    ['a', 'b']
    >>> merged_labels([1, 2, 3, 3], ["(rare)", "3"])
    ['1', '2']
    """
    # As texts: where classes are merged, those that were numbers become texts.
    known, given = ({str(one) for one in np.asarray(each).tolist()} for each in (classes, y))
    return sorted(given - known) if MERGED in known - given else []


def _named(labels: NDArray[Any], which: IntArray) -> str:
    some = labels[which[:MOST_NAMED]].tolist()
    if len(which) > MOST_NAMED:
        return f"{len(which)} classes ({', '.join(map(repr, some))}, ...)"
    return f"{'The class' if len(which) == 1 else 'The classes'} {listed(some, 'and')}"


def _have(which: IntArray) -> str:
    return "has" if len(which) == 1 else "have"
