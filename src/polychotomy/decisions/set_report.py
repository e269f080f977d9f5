"""How large sets of classes are, and how often they have the true class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.types import FloatArray, IntArray
from ..core.words import printable
from .inputs import numbers_of


@dataclass(frozen=True)
class SetReport:
    """Coverage and sizes of sets of classes on labelled rows; it prints as a table.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The class labels.
    counts : ndarray of int of shape (n_classes,)
        The number of rows of each class.
    coverage : float
        The share of rows whose set has the true class.
    class_coverage : ndarray of shape (n_classes,)
        The same for the rows of each class; NaN without rows.
    mean_size : float
        The mean number of classes in a set.
    class_sizes : ndarray of shape (n_classes,)
        The mean size of the sets of the rows of each class; NaN without rows.
    sizes : ndarray of int of shape (n_classes + 1,)
        How many sets have 0, 1, 2, ... classes.
    """

    classes: NDArray[Any]
    counts: IntArray
    coverage: float
    class_coverage: FloatArray
    mean_size: float
    class_sizes: FloatArray
    sizes: IntArray

    def __str__(self) -> str:
        names = [printable(label) for label in self.classes.tolist()]
        width = max(len(name) for name in [*names, "class", "all"])
        lines = [f"{'class':<{width}}    rows  coverage  mean size"]
        entries = zip(names, self.counts, self.class_coverage, self.class_sizes, strict=True)
        for name, count, coverage, size in entries:
            lines.append(f"{name:<{width}}{count:>8}{coverage:>10.3f}{size:>11.2f}")
        total = int(self.counts.sum())
        lines.append(f"{'all':<{width}}{total:>8}{self.coverage:>10.3f}{self.mean_size:>11.2f}")
        shares = [
            f"{count / total:.0%} have {size}" for size, count in enumerate(self.sizes) if count
        ]
        return "\n".join([*lines, f"Sizes of the sets: {', '.join(shares)}."])

    def to_dict(self) -> dict[str, Any]:
        """Return the report as values that JSON can hold."""

        def plain(values: FloatArray) -> list[float | None]:
            return [None if np.isnan(value) else float(value) for value in values]

        return {
            "coverage": self.coverage,
            "mean_size": self.mean_size,
            "class_coverage": plain(self.class_coverage),
            "class_sizes": plain(self.class_sizes),
            "sizes": self.sizes.tolist(),
        }


def set_report(
    sets: ArrayLike, y: ArrayLike, classes: ArrayLike, weights: FloatArray | None = None
) -> SetReport:
    """Report coverage and sizes of sets of classes on labelled rows.

    Parameters
    ----------
    sets : array-like of bool of shape (n_rows, n_classes)
        Which classes are in the set of each row.
    y : array-like of shape (n_rows,)
        The true classes.
    classes : array-like of shape (n_classes,)
        The labels of the columns of `sets`.

    Returns
    -------
    report : SetReport

    Examples
    --------
    >>> from polychotomy.decisions import set_report
    >>> sets = [[True, False], [True, True], [False, True], [True, False]]
    >>> print(set_report(sets, ["a", "a", "b", "b"], ["a", "b"]))
    class    rows  coverage  mean size
    a           2     1.000       1.50
    b           2     0.500       1.00
    all         4     0.750       1.25
    Sizes of the sets: 75% have 1, 25% have 2.
    """
    labels = np.asarray(classes)
    inside = np.asarray(sets, dtype=bool)
    numbers = numbers_of(y, labels)
    if inside.shape != (len(numbers), len(labels)) or not len(numbers):
        raise ValueError(
            f"sets must have a row for each of the {len(numbers)} labels in y and a column for "
            f"each of the {len(labels)} classes; got shape {inside.shape}."
        )
    covered = inside[np.arange(len(numbers)), numbers].astype(float)
    size = inside.sum(axis=1)
    counts = np.bincount(numbers, minlength=len(labels))
    own = np.ones(len(numbers)) if weights is None else weights
    total = np.bincount(numbers, own, len(labels))
    rows = np.where(total > 0, total, np.nan)
    return SetReport(
        classes=labels,
        counts=counts,
        coverage=float(np.average(covered, weights=own)),
        class_coverage=np.bincount(numbers, covered * own, len(labels)) / rows,
        mean_size=float(np.average(size, weights=own)),
        class_sizes=np.bincount(numbers, size * own, len(labels)) / rows,
        sizes=np.bincount(size, minlength=len(labels) + 1),
    )
