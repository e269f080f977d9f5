"""What is made of a table before methods are compared on it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.checks import one_of
from ..core.types import FloatArray, IntArray
from ._classes import Classes
from ._judging import Material, rows_of
from ._sizes import sizes
from ._splits import Arranged, fewest_training_rows, most_test_rows, rounds


def material_of(
    X: Any,
    classes: Classes,
    sample_weight: ArrayLike | None,
    preprocessor: Any,
    seed: int,
    protocol: str,
    n_splits: int,
    test_size: float,
    groups: ArrayLike | None,
    order: ArrayLike | None,
) -> Material:
    """Return what all judgements of a comparison share."""
    X = X if hasattr(X, "iloc") else np.asarray(X)
    y, kept = classes.numbers, classes.rows
    whole = len(kept) == len(X)
    columns = [
        None if values is None else np.asarray(values)[kept]
        for values in (groups, order, sample_weight)
    ]
    weights = None if columns[2] is None else checked_weights(columns[2])
    found = rounds(y, protocol, n_splits, test_size, seed, columns[0], columns[1])
    n_train = fewest_training_rows(found)
    is_long = len(sizes(n_train, len(classes.labels))) > 1
    arranged = Arranged(found, y, seed, most_test_rows(len(classes.labels)), is_long)
    return Material(
        *(X if whole else rows_of(X, kept), y, classes.labels, weights, arranged),
        *(input_steps(preprocessor), seed, is_long),
        n_train=n_train,
        groups=numbered(columns[0]),
        order=columns[1],
    )


def numbered(groups: Any) -> IntArray | None:
    """Return groups as numbers."""
    if groups is None:
        return None
    found: IntArray = np.unique(np.asarray(groups), return_inverse=True)[1].reshape(-1)
    return found


def checked_weights(values: Any) -> FloatArray:
    """Return weights as numbers; refuse negative ones."""
    try:
        weights: FloatArray = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must be numbers.") from None
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError("sample_weight must be finite, not negative, and not all zero.")
    return weights


def input_steps(given: Any) -> Any:
    """Return the transformer of the inputs that `preprocessor` means, or None."""
    if isinstance(given, str):
        one_of(given, "preprocessor", ("scale",))
        from sklearn.preprocessing import StandardScaler

        return StandardScaler()
    return given
