"""Class labels and row weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import listed, refuse_weightless_classes, weight_array
from .types import FloatArray, IntArray


def refuse_mixed_labels(y: Any) -> None:
    """Raise TypeError for labels of mixed types, which NumPy turns into strings or cannot sort."""
    if not isinstance(y, list | tuple) and getattr(y, "dtype", None) != np.dtype(object):
        return
    labels = y if isinstance(y, list | tuple) else np.asarray(y).ravel().tolist()
    kinds = {type(label) for label in labels if np.ndim(label) == 0}
    if any(issubclass(kind, str) for kind in kinds) and not all(
        issubclass(kind, str) for kind in kinds
    ):
        names = sorted(kind.__name__ for kind in kinds)
        raise TypeError(
            f"y mixes class labels of the types {listed(names, 'and')}; use one type, for example "
            "by y.astype(str)."
        )


def class_numbers(y: NDArray[Any]) -> tuple[NDArray[Any], IntArray]:
    """Return the sorted class labels, and the number of every row's class."""
    classes, numbers = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            "A classifier needs rows of at least two classes; y has one class, "
            f"{classes.tolist()[0]!r}."
        )
    return classes, np.ravel(numbers)


def row_weights(
    sample_weight: ArrayLike | None,
    class_weight: Mapping[Any, float] | str | None,
    X: Any,
    y: IntArray,
    classes: NDArray[Any],
    all_classes: bool = True,
) -> FloatArray | None:
    """Combine the weights of rows and classes; None if neither is given."""
    if sample_weight is None and class_weight is None:
        return None
    weights = weight_array(sample_weight, X.shape[0])
    if all_classes:
        refuse_weightless_classes(weights, y, classes)
    if class_weight is None:
        return weights
    return weights * class_factors(class_weight, weights, y, classes)[y]


def class_factors(
    class_weight: Mapping[Any, float] | str,
    weights: FloatArray,
    y: IntArray,
    classes: NDArray[Any],
) -> FloatArray:
    """Return the factor of every class behind a `class_weight`."""
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}."
            )
        sizes = np.bincount(y, weights, len(classes))
        # In `calibrate` a class may have no rows; its factor is then never used.
        balanced: FloatArray = sizes.sum() / (len(classes) * np.where(sizes > 0, sizes, 1.0))
        return balanced
    if not isinstance(class_weight, Mapping):
        raise TypeError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}.")
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ValueError(
            f"class_weight names {unknown[0]!r}, which is not a class; the classes are {labels!r}."
        )
    factors = np.array([float(class_weight.get(label, 1.0)) for label in labels])
    bad = np.flatnonzero(~np.isfinite(factors) | (factors <= 0))
    if len(bad):
        raise ValueError(
            f"class_weight of class {labels[bad[0]]!r} must be positive, got {factors[bad[0]]}."
        )
    return factors
