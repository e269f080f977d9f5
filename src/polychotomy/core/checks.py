"""Input checks, and the messages that users read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from .types import FloatArray


def listed(names: Iterable[Any], last: str = "or") -> str:
    """Write names as a list in words: ``'a', 'b' or 'c'``."""
    quoted = [repr(name) for name in names]
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} {last} {quoted[-1]}"


def suggestion(name: str, known: Iterable[str]) -> str:
    """Suggest the known names closest to a misspelt one, or list all of them."""
    known = list(known)
    close = get_close_matches(name.lower().replace("-", "_").replace(" ", "_"), known, n=2)
    if close:
        return f"Did you mean {listed(close)}?"
    return f"Choose {listed(known)}."


def finite_array(values: ArrayLike, name: str, dimensions: tuple[int, ...]) -> FloatArray:
    """Return `values` as float64 after checking its dimensions and that it is finite."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim not in dimensions:
        wanted = " or ".join(str(d) for d in dimensions)
        raise ValueError(
            f"{name} must have {wanted} dimensions; got an array of shape {array.shape}."
        )
    if not np.isfinite(array).all():
        row = int(np.argwhere(~np.isfinite(array))[0, 0])
        raise ValueError(f"{name} has a NaN or infinite value in row {row}.")
    return array


def probability_array(values: ArrayLike, name: str, dimensions: tuple[int, ...]) -> FloatArray:
    """Return `values` as float64 after checking that they are in [0, 1]."""
    array = finite_array(values, name, dimensions)
    outside = (array < 0.0) | (array > 1.0)
    if outside.any():
        row = int(np.argwhere(outside)[0, 0])
        raise ValueError(
            f"{name} has a value outside [0, 1] in row {row}; these are probabilities of the "
            "positive side. Pass scores, whose boundary is 0, as Margins(mean=scores)."
        )
    return array


def for_all_classes(
    p: FloatArray, own: NDArray[Any], classes: NDArray[Any], name: str
) -> FloatArray:
    """Return class probabilities with a column for every class, 0 for those not known to them.

    The training rows of a fold may lack a class. A class beyond `classes` is refused: a classifier
    that is fitted already may know one that the rows lack.

    Parameters
    ----------
    p : ndarray of shape (n_rows, n_own)
        The probabilities.
    own, classes : ndarray of labels
        The classes of the columns of `p`, and those wanted, sorted.
    name : str
        What errors call the classifier.
    """
    if np.array_equal(own, classes):
        return p
    unknown = own[~np.isin(own, classes)]
    if len(unknown):
        raise ValueError(
            f"{name} knows the class {unknown.tolist()[0]!r}, of which y has no row. Give rows of "
            "every class that it knows, or a classifier that is not fitted yet."
        )
    whole = np.zeros((len(p), len(classes)))
    whole[:, np.searchsorted(classes, own)] = p
    return whole


def positive_number(value: Any, name: str) -> float:
    """Return `value` as a float after checking that it is a positive number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"{name} must be a positive number, got {value!r}.")
    if not value > 0:
        raise ValueError(f"{name} must be a positive number, got {value!r}.")
    return float(value)


def whole_number(value: Any, name: str, least: int) -> int:
    """Return a whole number of at least `least`; raise ValueError for anything else."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def one_of(value: Any, name: str, known: Iterable[str]) -> None:
    """Check that an option is one of the known ones."""
    known = list(known)
    if value not in known:
        hint = suggestion(value, known) if isinstance(value, str) else f"Choose {listed(known)}."
        raise ValueError(f"Unknown {name} {value!r}. {hint}")


def class_distribution(given: Any, labels: Any, name: str) -> FloatArray:
    """Return a distribution over classes given as an array or as a dict by label."""
    known = labels.tolist()
    if isinstance(given, Mapping):
        missing = [label for label in known if label not in given]
        unknown = [label for label in given if label not in known]
        if missing or unknown:
            problem = f"lacks class {missing[0]!r}" if missing else f"names {unknown[0]!r}"
            raise ValueError(f"{name} {problem}; the classes are {known!r}.")
        given = [given[label] for label in known]
    values = finite_array(given, name, (1,))
    if values.shape != (len(known),) or (values < 0).any() or not values.sum() > 0:
        raise ValueError(
            f"{name} must be {len(known)} nonnegative numbers, one for each class, not all 0."
        )
    distribution: FloatArray = values / values.sum()
    return distribution


def weight_array(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    """Return a checked copy of the row weights; all 1 if none are given."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = np.array(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}: one weight a row."
        )
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if len(bad):
        raise ValueError(
            f"sample_weight must be nonnegative and finite; row {bad[0]} has {weights[bad[0]]}."
        )
    return weights


def refuse_weightless_classes(
    weights: FloatArray, numbers: NDArray[np.intp], classes: NDArray[Any]
) -> None:
    """Raise ValueError if the weights leave a class without rows."""
    used = np.bincount(numbers[weights > 0], minlength=len(classes)) > 0
    if not used.all():
        raise ValueError(
            f"sample_weight is zero for every row of class {classes[~used].tolist()[0]!r}; give "
            "the class rows with a positive weight, or leave its rows out."
        )


def check_sparse(X: Any) -> None:
    """Refuse a sparse matrix whose indices do not fit: native code would follow them anywhere.

    To be called before anything else reads the matrix; SciPy's own conversions do not check
    either. It takes one pass over the indices.

    Note: SciPy's ``check_format(full_check=True)`` does not serve. It cuts the matrix first, and
    skips the check of the indices where the last start says that there are none.
    """
    if not issparse(X):
        return
    problem = ""
    if X.format in ("csr", "csc", "bsr"):
        blocks = X.blocksize if X.format == "bsr" else (1, 1)
        shape = X.shape[0] // blocks[0], X.shape[1] // blocks[1]
        n_major, n_minor = shape[::-1] if X.format == "csc" else shape
        starts, indices = X.indptr, X.indices
        if len(starts) != n_major + 1 or starts[0] != 0 or (np.diff(starts) < 0).any():
            problem = "its starts (indptr) do not ascend from 0"
        elif starts[-1] > min(len(indices), len(X.data)):
            problem = "it has fewer entries than its starts (indptr) say"
        else:
            problem = _outside(indices[: starts[-1]], n_minor)
    elif X.format == "coo":
        problem = _outside(X.row, X.shape[0]) or _outside(X.col, X.shape[1])
        if not len(X.row) == len(X.col) == len(X.data):
            problem = "its rows, columns and values differ in number"
    if problem:
        raise ValueError(
            f"X is a damaged sparse matrix in {X.format} format: {problem}. Build it again from "
            "its entries."
        )


def _outside(indices: NDArray[Any], length: int) -> str:
    if len(indices) and (indices.min() < 0 or indices.max() >= length):
        return f"it has an index below 0, or not below {length}"
    return ""
