"""Small checks of attributes of scikit-learn's estimators, each with its message."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from ..core.state import is_number as is_number
from ..core.state import require as require

INT = "iu"


def instance(owner: Any, name: str, kind: type | tuple[type, ...]) -> Any:
    """Return an attribute after checking its exact type (no subclass)."""
    value = vars(owner).get(name)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    require(type(value) in kinds, owner, f"has no valid {name}")
    return value


def array(owner: Any, name: str, shape: tuple[int | None, ...], kinds: str) -> Any:
    """Return a finite array after checking its shape (None: any length) and kind."""
    value = vars(owner).get(name)
    require(type(value) is np.ndarray and value.dtype.kind in kinds, owner, f"has no valid {name}")
    assert isinstance(value, np.ndarray)
    fits = value.ndim == len(shape) and all(
        wanted is None or wanted == there for wanted, there in zip(shape, value.shape, strict=True)
    )
    require(fits, owner, f"has {name} of shape {value.shape}, which does not fit")
    if value.dtype.kind == "f":
        require(np.isfinite(value).all(), owner, f"has a NaN or infinite value in {name}")
        require(value.dtype == np.float64, owner, f"has {name} of another precision")
    return value


def indices(owner: Any, name: str, length: int | None, below: int | None) -> Any:
    """Return an array of indices after checking that they are within range."""
    value = array(owner, name, (length,), INT)
    fine = not len(value) or (value.min() >= 0 and (below is None or value.max() < below))
    require(fine, owner, f"has {name} out of range")
    return value


def integer(owner: Any, name: str, low: int, high: int) -> int:
    """Return an attribute after checking that it is a whole number within bounds."""
    value = vars(owner).get(name)
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    require(whole and low <= int(value) <= high, owner, f"has a {name} out of range")
    return int(value)


def labels(owner: Any, at_least: int = 2) -> Any:
    """Return `classes_` after checking that they are distinct and in order."""
    value = vars(owner).get("classes_")
    require(type(value) is np.ndarray and value.ndim == 1, owner, "has no valid classes_")
    assert isinstance(value, np.ndarray)
    ordered = len(np.unique(value)) == len(value) and bool((value == np.unique(value)).all())
    require(len(value) >= at_least and ordered, owner, "has classes_ that are not in order")
    return value
