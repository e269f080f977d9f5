"""What spoils a comparison: one function for each warning.

Each gets a table and returns sentences for the user. They name columns and classes as the table
does, and an option of the command line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.types import IntArray
from ..core.words import counted
from ._columns import missing_options
from ._errors import option, pandas_module
from ._labels import spelling
from ._notes import some
from ._table import Table

# A column that removes so much of the error of always guessing the largest class is a leak.
LEAK = 0.98
LEAK_ROWS, FEWEST_LEAK_ROWS = 2000, 40
# Rows that occur twice are a mistake if there are more than this share, and more than by chance.
FEW_COPIES, MOST_COPIES, MOST_BY_CHANCE = 4, 0.01, 3.0
# Numbers that stand for a missing value in many exports, if they are far from all others.
SENTINELS = (-9.0, -99.0, -999.0, -9999.0, -99999.0, 99.0, 999.0, 9999.0, 99999.0, 999999.0)
FEWEST_SENTINELS = 3
MANY_NUMBERS = 10
# Classes with fewer rows than FEW_ROWS are not judged well; --rare is for those below RARE_ROWS.
FEW_ROWS, RARE_ROWS = 10, 5


def leaks(table: Table) -> list[str]:
    """Warn of columns that nearly determine the class."""
    rows = np.random.default_rng(0).permutation(len(table.y))[:LEAK_ROWS]
    labels, y = np.unique(_classes(table.y[rows]), return_inverse=True)
    if len(rows) < FEWEST_LEAK_ROWS or len(labels) < 2 or len(labels) > len(rows) / 10:
        return []
    guessed = np.bincount(y).max() / len(y)
    found = []
    for column in table.schema.columns:
        if column.kind == "text":
            continue
        values = table.X[column.name].to_numpy()[rows]
        numbers = column.kind != "category"
        if numbers and not _few_changes(values, y, len(labels)):
            continue
        right = _accuracy_of_numbers(values, y) if numbers else _accuracy_of_words(values, y)
        if (right - guessed) / (1.0 - guessed) >= LEAK:
            together = "" if column.kind == "date" else _grouping(column.name, values, y)
            share = "in every row" if right == 1.0 else f"in {100 * right:.1f} % of the rows"
            found.append(
                f"Column {column.name!r} alone tells {table.schema.target!r} {share}; if it is "
                "known only when the class is, or was made from it, drop it: "
                f"{option('drop', column.name)}{together}."
            )
    return found


def _classes(y: NDArray[Any]) -> NDArray[Any]:
    """Return classes in one spelling: nothing tells Red from red, which would hide a leak."""
    if y.dtype.kind != "U":
        return y
    labels, codes = np.unique(y, return_inverse=True)
    return np.array([spelling(label) for label in labels.tolist()])[codes]


def _grouping(name: str, values: Any, y: IntArray) -> str:
    """Advise to keep rows together if values name what rows are of: many, each of one class."""
    codes, found = pandas_module().factorize(values)
    if found.dtype.kind == "f" and (found != np.floor(found)).any():
        return ""
    known = codes >= 0
    pairs = len(np.unique(codes[known] * (int(y.max()) + 1) + y[known]))
    if pairs > len(found) or not 2 * len(np.unique(y)) <= len(found) <= known.sum() / 2:
        return ""
    return (
        f"; if rows with the same value belong together, {option('groups', name)} never trains on "
        "some and tests on others"
    )


def _few_changes(values: Any, y: IntArray, n_classes: int) -> bool:
    """Return whether the classes of the rows in the order of the values change seldom; cheap."""
    in_order = y[np.argsort(values, kind="stable")]
    changes = np.count_nonzero(in_order[1:] != in_order[:-1])
    return bool(changes <= 4 * n_classes + 4 * (1.0 - LEAK) * len(y))


def _accuracy_of_numbers(values: Any, y: IntArray) -> float:
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_leaf_nodes=2 * (int(y.max()) + 1), random_state=0)
    X, half = values[:, None], np.arange(len(y)) % 2 == 0
    right = [tree.fit(X[a], y[a]).predict(X[~a]) == y[~a] for a in (half, ~half)]
    return float(np.mean(np.concatenate(right)))


def _accuracy_of_words(values: Any, y: IntArray) -> float:
    """Return how often the largest class of a word, among other rows, is the class of a row."""
    codes, words = pandas_module().factorize(values, use_na_sentinel=False)
    half, right = np.arange(len(y)) % 2 == 0, []
    for a in (half, ~half):
        counts = np.zeros((len(words), int(y.max()) + 1))
        np.add.at(counts, (codes[a], y[a]), 1)
        known = counts.sum(axis=1) > 0
        right.append(known[codes[~a]] & (counts.argmax(axis=1)[codes[~a]] == y[~a]))
    return float(np.mean(np.concatenate(right)))


def copies(table: Table) -> list[str]:
    """Warn of rows that occur twice, and of rows with the same inputs and another class."""
    if len(table.schema.columns) == 1:
        return []  # equal values of one column are no mistake
    n, n_inputs = len(table.y), len(np.unique(row_hashes(table)))
    if n - n_inputs <= FEW_COPIES:
        return []
    first = ~table.X.assign(**{"": table.y}).duplicated().to_numpy()
    again, other = int((~first).sum()), int(first.sum()) - n_inputs
    by_chance = _copies_by_chance(table.X[~table.X.duplicated()])
    most = max(FEW_COPIES, MOST_COPIES * n, MOST_BY_CHANCE * by_chance)
    found = []
    if again > most:
        found.append(
            f"{again} rows occur again, class and all: if they are copies, a method that was "
            "trained on one and tested on the other looks better than it is; "
            f"{option('unique')} uses each once."
        )
    if other > most:
        found.append(
            f"{other} rows have the same inputs as another row, and another class: no method can "
            "tell them apart. Is there a column that is missing here?"
        )
    return found


def _copies_by_chance(X: Any) -> float:
    """Return how many rows would be equal if the columns had nothing to do with each other."""
    n = len(X)
    pairs = 0.5 * n * (n - 1)
    for name in X:
        counts = X[name].value_counts(dropna=False).to_numpy()
        pairs *= float((counts * (counts - 1.0)).sum()) / max(n * (n - 1.0), 1.0)
        if not pairs:
            break
    return pairs


def row_hashes(table: Table) -> Any:
    """Return a number for each row that is the same where all inputs are."""
    hashing = pandas_module().util.hash_pandas_object
    return hashing(table.X, index=False).to_numpy(dtype=np.uint64)


def sentinels(table: Table) -> list[str]:
    """Warn of numbers such as -999 that are far from all others, and occur often."""
    found = []
    markers = [text for column in table.schema.columns for text in column.markers]
    for name in table.schema.of_kind("number"):
        values = table.X[name].to_numpy()
        values = values[~np.isnan(values)]
        for end in {values.min(), values.max()} & set(SENTINELS):
            others = values[values != end]
            count = len(values) - len(others)
            if count < FEWEST_SENTINELS or len(np.unique(others)) < MANY_NUMBERS:
                continue
            low, high = others.min(), others.max()
            gap = np.abs(others - end).min()
            if gap > 0.5 * (high - low) or (end < 0 <= low and gap > 0.05 * (high - low)):
                found.append(
                    f"The number {end:g} in column {name!r} ({count} rows) is far from all others; "
                    f"if it means missing, use {missing_options(markers, f'{end:g}')}."
                )
    return found


def spellings(table: Table) -> list[str]:
    """Warn of classes that differ only in upper case, spaces and the like."""
    if table.y.dtype.kind != "U":
        return []
    labels, counts = np.unique(table.y, return_counts=True)
    alike = defaultdict(list)
    for label, count in zip(labels.tolist(), counts.tolist(), strict=True):
        alike[spelling(label)].append(f"{label!r} ({counted(count, 'row')})")
    return [
        f"The classes {' and '.join(same)} differ only in spelling; "
        f"{option('merge-spellings')} makes them one."
        for same in alike.values()
        if len(same) > 1
    ]


def numbers_as_classes(table: Table) -> list[str]:
    """Warn of a target with many numbers, which may be a quantity."""
    count = len(np.unique(table.y))
    if table.y.dtype.kind != "i" or count <= MANY_NUMBERS or table.schema.labels.classes:
        return []
    name = table.schema.target
    return [
        f"The target {name!r} holds {count} different numbers, which are used as classes without "
        f"an order. If it is a quantity, {option('bins', 4)} divides it into ranges; if not, "
        f"{option('category', name)} says so."
    ]


def rare_classes(table: Table) -> list[str]:
    """Warn of classes with so few rows that no figure about them means much."""
    labels, counts = np.unique(table.y, return_counts=True)
    rare = [
        (label, count)
        for label, count in zip(labels.tolist(), counts.tolist(), strict=True)
        if count < FEW_ROWS
    ]
    if not rare:
        return []
    words = some(rare, lambda one: f"{one[0]!r} ({one[1]} row{'s'[: one[1] > 1]})", "classes")
    advice = ""
    if min(count for _, count in rare) < RARE_ROWS:
        advice = (
            f" --rare drop skips classes of fewer than {RARE_ROWS} rows, and --rare merge joins "
            "them."
        )
    return [f"Too few rows to judge how well these classes are recognised: {words}.{advice}"]


WARNINGS: tuple[Callable[[Table], list[str]], ...] = (
    leaks,
    copies,
    sentinels,
    spellings,
    numbers_as_classes,
    rare_classes,
)


def table_warnings(table: Table) -> tuple[str, ...]:
    r"""Return warnings about what spoils a comparison.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    warnings : tuple of str

    Examples
    --------
    >>> import io
    >>> from polychotomy.tables import read_table, table_warnings
    >>> lines = [f"{k * 37 % 101},{('red', 'Red', 'blue')[k % 3]}" for k in range(60)]
    >>> file = io.BytesIO("\n".join(["width,kind", *lines]).encode())
    >>> table_warnings(read_table(file, "kind"))[0].partition(";")[0]
    "The classes 'Red' (20 rows) and 'red' (20 rows) differ only in spelling"
    """
    return tuple(sentence for warning in WARNINGS for sentence in warning(table))
