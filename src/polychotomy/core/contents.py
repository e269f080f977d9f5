"""Keys of rows that depend on what the rows hold, not on where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from .rows import AnyRows
from .types import FloatArray, IntArray

Keys = NDArray[np.uint64]

# Values are rounded to this part of the largest one of their input.
STEPS = 2.0**20
# Any number that simple values do not have after the point, so that none is near a step.
_OFFSET = 0.3819660112501051
_BLOCK = 2**18


def content_keys(X: Any, pairwise: bool = False) -> tuple[Keys, ...] | None:
    """Return keys that sort rows in an arbitrary order, the same wherever the rows stand.

    Equal rows have equal keys. An array, a sparse matrix and a data frame with the same numbers
    have the same keys, on every platform.

    Note: the first key is computed from rounded values. A key of the exact bits alone would change
    with the last digit, and with it the folds of all rows: a `StandardScaler` before the
    classifier gives other last digits when the rows are permuted. The second key, of the exact
    values, separates rows that are rounded to the same numbers.

    Parameters
    ----------
    X : ndarray, CSR matrix, list, data frame or AnyRows
        The rows.
    pairwise : bool, default=False
        Whether X is a square kernel matrix. Its columns are permuted with its rows, so that the
        keys are made of the diagonal and of sums over the row.

    Returns
    -------
    keys : tuple of ndarray of shape (n_rows,) or None
        The most important one first. None for objects that do not show what they hold.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.core.contents import content_keys
    >>> X = np.array([[5.1, 3.5], [4.9, 3.0], [6.2, 3.4]])
    >>> first, _ = content_keys(X)
    >>> turned, _ = content_keys(X[::-1])
    >>> bool((turned[::-1] == first).all())
    True
    """
    if pairwise:
        return (_pairwise_keys(X),)
    if issparse(X):
        return _sparse_keys(_canonical(csr_array(X)))
    X = X.value if isinstance(X, AnyRows) else X
    if getattr(getattr(X, "dtype", None), "kind", "O") not in "biuf":
        return _keys_of_anything(X)
    X = np.asarray(X)
    return _dense_keys(X.reshape(len(X), -1))


def content_uniforms(X: NDArray[Any], seed: int) -> FloatArray:
    """Return a number from 0 to 1 for every row that depends on what it holds, and on a seed.

    Note: numbers drawn in the order of the rows would start again in every call, so that the sets
    of rows that are predicted one at a time would all rest on the first one.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The rows, of numbers.
    seed : int
        Other seeds give other numbers.

    Returns
    -------
    u : ndarray of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.core.contents import content_uniforms
    >>> X = np.array([[0.2, 0.8], [0.5, 0.5], [0.2, 0.8]])
    >>> content_uniforms(X, 0).round(2)
    array([0.6 , 0.36, 0.6 ])
    """
    _, exact = _dense_keys(np.asarray(X, dtype=np.float64))
    seeds = _mixed(np.array([seed], dtype=np.uint64))
    u: FloatArray = (_mixed(exact ^ seeds) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return u


def sample_by_content(
    X: Any,
    number: int,
    seed: int = 0,
    rows: IntArray | None = None,
    ties: NDArray[Any] | None = None,
) -> IntArray:
    """Draw rows without replacement, the same ones wherever the rows stand.

    Note: every row has a random number made of its content, and the smallest are drawn. Copies of
    a row have different numbers: with the same one, all copies would be drawn, or none.

    Parameters
    ----------
    X : ndarray, CSR matrix, list, data frame or AnyRows
        All rows.
    number : int
        How many to draw; all, if there are fewer.
    seed : int, default=0
        Other seeds draw other rows.
    rows : ndarray of int, default=None
        The rows to draw from; by default all.
    ties : ndarray of shape (n_all,) or (n_all, n_columns), default=None
        Numbers that tell copies apart, such as their classes.

    Returns
    -------
    drawn : ndarray of int
        Row numbers, in a random order that depends on the content.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.core.contents import sample_by_content
    >>> X = np.arange(100.0)[:, None]
    >>> first, second = sample_by_content(X, 5), sample_by_content(X[::-1], 5)
    >>> bool((X[first] == X[::-1][second]).all())
    True
    """
    n_all = X.shape[0] if hasattr(X, "shape") else len(X)
    rows = np.arange(n_all) if rows is None else rows
    keys = content_keys(X if len(rows) == n_all else X[rows])
    if keys is None:
        drawn: IntArray = np.random.default_rng(seed).permutation(rows)[:number]
        return drawn
    first = keys[0]
    order = np.argsort(first, kind="stable")
    same = first[order[1:]] == first[order[:-1]]
    numbers = first ^ _mixed(np.array([seed], dtype=np.uint64))
    if same.any():
        own = () if ties is None else (content_keys(ties[rows]) or ())
        order = np.lexsort((*own[::-1], *keys[::-1]))
        starts = np.maximum.accumulate(np.where(np.r_[True, ~same], np.arange(len(rows)), 0))
        numbers[order] += _mixed((np.arange(len(rows)) - starts).astype(np.uint64))
    numbers = _mixed(numbers)
    found: IntArray = rows[np.argsort(numbers, kind="stable")[:number]]
    return found


def _dense_keys(X: NDArray[Any]) -> tuple[Keys, Keys]:
    scales, factors = _scales(X), _factors(X.shape[1])
    rounded, exact = np.zeros((2, len(X)), dtype=np.uint64)
    for rows in _blocks(*X.shape):
        values = X[rows].astype(np.float64)
        rounded[rows] = (_steps(values, scales) * factors).sum(axis=1, dtype=np.uint64)
        exact[rows] = (_bits(values) * factors).sum(axis=1, dtype=np.uint64)
    return _mixed(rounded), _mixed(exact)


def _canonical(X: Any) -> Any:
    """Return a matrix with one entry in every place: two in the same place are one number."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _sparse_keys(X: Any) -> tuple[Keys, Keys]:
    scales, factors = np.zeros(X.shape[1]), _factors(X.shape[1])
    finite = np.isfinite(X.data)
    np.maximum.at(scales, X.indices[finite], np.abs(X.data[finite]))
    scales[scales == 0] = 1.0
    values, factors = X.data.astype(np.float64), factors[X.indices]
    return (
        _mixed(_sums(_steps(values, scales[X.indices]) * factors, X.indptr)),
        _mixed(_sums(_bits(values) * factors, X.indptr)),
    )


def _keys_of_anything(value: Any) -> tuple[Keys, ...] | None:
    columns = list(_columns(value))
    rounded, exact = np.zeros((2, len(value)), dtype=np.uint64)
    for column, factor in zip(columns, _factors(len(columns)), strict=True):
        if column.dtype.kind in "biuf":
            numbers = column.astype(np.float64)
            rounded += _steps(numbers, _scales(numbers[:, None])) * factor
            exact += _bits(numbers) * factor
        else:
            words = _word_keys(column)
            if words is None:
                return None
            rounded += words * factor
    return _mixed(rounded), _mixed(exact)


def _pairwise_keys(K: Any) -> Keys:
    """Combine the diagonal with the sums of the first three powers over the row."""
    K = K.toarray() if issparse(K) else np.asarray(K)
    scale, factors = _scales(K.reshape(-1, 1)), _factors(4)
    diagonal = np.array(K.diagonal(), dtype=np.float64)
    keys = _steps(diagonal, scale) * factors[0]
    for rows in _blocks(*K.shape):
        steps = _steps(K[rows].astype(np.float64), scale)
        power = steps.copy()
        for factor in factors[1:]:
            keys[rows] += power.sum(axis=1, dtype=np.uint64) * factor
            power *= steps
    return _mixed(keys)


def _blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    size = max(1, _BLOCK // max(1, n_columns))
    return (slice(start, start + size) for start in range(0, n_rows, size))


def _columns(value: Any) -> Iterator[NDArray[Any]]:
    if hasattr(value, "columns"):
        for place, name in enumerate(value.columns):
            column = value.iloc[:, place] if hasattr(value, "iloc") else value[name]
            yield np.asarray(column)
        return
    table = np.asarray(value, dtype=object)
    if table.ndim == 1:
        yield table
    else:
        yield from table.reshape(len(table), -1).T


def _scales(X: NDArray[Any]) -> FloatArray:
    """Return the largest finite size of a value in every column; 1 if all are 0."""
    scales = np.zeros(X.shape[1])
    for rows in _blocks(*X.shape):
        sizes = np.abs(X[rows].astype(np.float64))
        sizes[~np.isfinite(sizes)] = 0.0
        np.maximum(scales, sizes.max(axis=0, initial=0.0), out=scales)
    scales[scales == 0] = 1.0
    return scales


def _steps(values: FloatArray, scales: FloatArray) -> Keys:
    """Return values as whole numbers of steps; missing ones as a number that no other has."""
    scaled = np.clip(values / scales, -2.0, 2.0)
    scaled[np.isnan(scaled)] = 3.0
    return np.floor(scaled * STEPS + _OFFSET).astype(np.int64).view(np.uint64)


def _bits(values: FloatArray) -> Keys:
    values = values + 0.0  # -0.0 becomes 0.0
    values[np.isnan(values)] = np.nan
    return values.view(np.uint64)


def _sums(parts: Keys, starts: NDArray[Any]) -> Keys:
    totals = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(parts, dtype=np.uint64)])
    sums: Keys = totals[starts[1:]] - totals[starts[:-1]]
    return sums


def _word_keys(column: NDArray[Any]) -> Keys | None:
    known: dict[str, int] = {}
    keys = np.empty(len(column), dtype=np.uint64)
    for place, value in enumerate(column.tolist()):
        text = _text(value)
        if text is None:
            return None
        if text not in known:
            digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            known[text] = int.from_bytes(digest, "little")
        keys[place] = known[text]
    return keys


def _text(value: Any) -> str | None:
    """Return what an object holds as text; None if it shows only its address."""
    if isinstance(value, str):
        return "s" + value
    if isinstance(value, np.ndarray):
        value = value.tolist()
    text = repr(value)
    return None if " at 0x" in text else "r" + text


def _factors(n: int) -> Keys:
    """Return odd numbers that look random, one for each column."""
    return _mixed(np.arange(1, n + 1, dtype=np.uint64)) | np.uint64(1)


def _mixed(keys: Keys) -> Keys:
    """Mix the bits, as the generator SplitMix64 does (Steele, Lea and Flood 2014, figure 15)."""
    keys = keys * np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Keys = keys ^ (keys >> np.uint64(31))
    return mixed
