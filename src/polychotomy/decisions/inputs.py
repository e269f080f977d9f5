"""Checked inputs of decisions: class probabilities, labels, shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.checks import listed, probability_array
from ..core.types import FloatArray, IntArray

# How far the probabilities of a row may be from a sum of 1.
SUM_TOLERANCE = 1e-3


def class_probabilities(p: ArrayLike, name: str = "p") -> FloatArray:
    """Return class probabilities after checking that every row sums to 1."""
    values = probability_array(p, name, (2,))
    off = np.flatnonzero(np.abs(values.sum(axis=1) - 1.0) > SUM_TOLERANCE)
    if len(off):
        total = values[off[0]].sum()
        raise ValueError(
            f"The probabilities of a row must sum to 1; row {off[0]} of {name}: {total:g}."
        )
    return values


def numbers_of(y: ArrayLike, classes: NDArray[Any], name: str = "y") -> IntArray:
    """Return the number of every row's class; a label that is not a class is refused by name."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"{name} must be one label a row; got an array of shape {labels.shape}.")
    known = {label: number for number, label in enumerate(classes.tolist())}
    unknown = [label for label in labels.tolist() if label not in known]
    if unknown:
        raise ValueError(
            f"{name} has the label {unknown[0]!r}, which is not a class; the classes are "
            f"{listed(classes.tolist(), 'and')}."
        )
    return np.array([known[label] for label in labels.tolist()], dtype=np.intp)


def label_array(labels: Sequence[Any]) -> NDArray[Any]:
    """Return labels as an array; of mixed types as objects, so that none of them changes."""
    given = list(labels)
    texts = [isinstance(label, str) for label in given]
    numbers = [
        isinstance(label, int | float | np.number) and not isinstance(label, bool)
        for label in given
    ]
    if all(texts) or all(numbers):
        return np.array(given)
    found = np.empty(len(given), dtype=object)
    found[:] = given
    return found


def share(value: Any, name: str, *, zero: bool = False) -> float:
    """Return a share of rows after checking that it is between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"{name} must be a number between 0 and 1, got {value!r}.")
    if not (0.0 <= value < 1.0 if zero else 0.0 < value < 1.0):
        raise ValueError(
            f"{name} must be {'at least' if zero else 'above'} 0 and below 1, got {value!r}."
        )
    return float(value)
