"""Random codebooks, many at a time, and the search for the best among them.

Draws are arrays of shape (n_draws, n_columns, n_classes). A binary problem is contiguous, so an
unwanted one can be drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..core.codebook import Codebook
from ..core.types import SignArray
from .base import fewest_columns

# Limits of the multiplications that a search spends on distances, and of the entries of a batch.
_MOST_WORK = 5_000_000_000
_BATCH_ENTRIES = 1 << 18
# The number of a column has this many bits; the signs of further classes are drawn freely.
_NUMBER_BITS = 62


class Draw(Protocol):
    """Draws codebooks with distinct columns that all have both signs."""

    n_classes: int
    n_columns: int
    rng: np.random.Generator

    def __call__(self, n_draws: int) -> SignArray:
        """Return draws of shape (n_draws, n_columns, n_classes)."""
        ...


def best_draw(draw: Draw, n_draws: int, enough: float = np.inf) -> SignArray:
    """Return, out of `n_draws` draws, the code matrix whose codewords are farthest apart.

    The first of equal ones is kept. The search stops at the first separation of at least `enough`.
    """
    best, best_separation = None, 0.0
    work = draw.n_classes**2 * draw.n_columns
    for drawn in _batches(draw, min(n_draws, max(1, _MOST_WORK // work))):
        separations = minimal_separation(drawn)
        while separations.max() > best_separation:
            first = int(np.argmax(separations >= min(separations.max(), enough)))
            if _distinct_codewords(drawn[first]):
                best, best_separation = drawn[first].T, float(separations[first])
                break
            separations[first] = 0.0
        if best_separation >= enough:
            break
    return best if best is not None else _with_counting_columns(draw)


def _batches(draw: Draw, n_draws: int) -> Iterator[SignArray]:
    """Draw in batches, starting with small ones because the search may end early.

    A batch is drawn completely and then cut, so that a larger `n_draws` starts with the same draws.
    """
    entries = draw.n_classes * max(draw.n_columns, draw.n_classes)
    largest, size = max(1, _BATCH_ENTRIES // entries), 1
    while n_draws > 0:
        yield draw(size)[:n_draws]
        n_draws -= size
        size = min(2 * size, largest)


def minimal_separation(drawn: SignArray) -> NDArray[np.float32]:
    """Return the smallest Hamming distance between codewords of each draw (don't-care: 1/2)."""
    signed = drawn.astype(np.float32)
    products = signed.transpose(0, 2, 1) @ signed
    diagonal = np.arange(drawn.shape[2])
    products[:, diagonal, diagonal] = -np.inf
    largest: NDArray[np.float32] = products.max(axis=(1, 2))
    return (np.float32(drawn.shape[1]) - largest) / np.float32(2.0)


def _distinct_codewords(columns: SignArray) -> bool:
    """Return whether codewords differ and none is zero; with don't-cares, distances cannot tell."""
    n_classes = columns.shape[1]
    return bool(columns.any(axis=0).all()) and len(np.unique(columns, axis=1).T) == n_classes


def _with_counting_columns(draw: Draw) -> SignArray:
    """Return a random code in which binary counting of shuffled classes replaces some columns."""
    counting = draw.rng.permutation(counting_code(draw.n_classes)).T
    counting *= counting[:, :1]
    while True:
        columns: SignArray = draw(1)[0]
        columns[: len(counting)] = counting
        if len(Codebook(columns.T).trained[0]) == draw.n_columns:
            return columns.T


def counting_code(n_classes: int) -> SignArray:
    """Return binary counting: -1 for the digit 0, most significant digit first."""
    shifts = np.arange(fewest_columns(n_classes))[::-1]
    digits = np.arange(n_classes)[:, None] >> shifts & 1
    return (2 * digits - 1).astype(np.int8)


def n_dense_columns(n_classes: int) -> int:
    """Return how many columns of +1 and -1 exist, up to their sign and without constants."""
    return (1 << (n_classes - 1)) - 1


def all_dense_columns(n_classes: int) -> SignArray:
    """Return all columns of +1 and -1 as a code matrix, with +1 for the first class."""
    numbers = np.arange(n_dense_columns(n_classes))
    return _signs(numbers, n_classes).T


def _signs(numbers: NDArray[np.int64], n_classes: int) -> SignArray:
    """Return numbered columns: +1 for the first class, then the binary digits of the number."""
    digits = np.unpackbits(numbers.astype(">i8")[..., None].view(np.uint8), axis=-1)
    signs = np.ones((*numbers.shape, n_classes), dtype=np.int8)
    signs[..., 1:] = digits[..., 65 - n_classes :]
    signs[..., 1:] *= 2
    signs[..., 1:] -= 1
    return signs


class DenseColumns:
    """Draw codebooks of +1 and -1, with +1 for the first class.

    A column is a number below 2^(M-1) - 1 whose binary digits are the signs of the classes after
    the first. Distinct numbers are distinct columns, and the excluded number is the constant
    column. With more than 63 classes, the number covers the first 63.

    Note: VANGESTEL draws columns with repetition and drops repeated ones, which makes the code
    shorter than asked for. Distinct numbers keep its length.
    """

    def __init__(self, n_classes: int, n_columns: int, rng: np.random.Generator) -> None:
        self.n_classes, self.n_columns, self.rng = n_classes, n_columns, rng

    def __call__(self, n_draws: int) -> SignArray:
        """Return draws of shape (n_draws, n_columns, n_classes)."""
        numbered = min(self.n_classes, _NUMBER_BITS + 1)
        numbers = self._distinct_numbers(n_draws, n_dense_columns(numbered))
        signs = _signs(numbers, numbered)
        if numbered == self.n_classes:
            return signs
        shape = (n_draws, self.n_columns, self.n_classes - numbered)
        free = 2 * self.rng.integers(2, size=shape, dtype=np.int8) - np.int8(1)
        return np.concatenate([signs, free], axis=2)

    def _distinct_numbers(self, n_draws: int, existing: int) -> NDArray[np.int64]:
        if 4 * self.n_columns > existing:
            return _smallest(self.rng.random((n_draws, existing)), self.n_columns)
        numbers = self.rng.integers(existing, size=(n_draws, self.n_columns))
        return _redrawn(numbers, lambda n: self.rng.integers(existing, size=n), _repeated)


def n_sparse_columns(n_classes: int) -> int:
    """Return how many columns of +1, -1 and 0 with both signs exist, up to their sign."""
    return (int(3**n_classes) + 1) // 2 - (1 << n_classes)


def all_sparse_columns(n_classes: int) -> SignArray:
    """Return all columns of +1, -1 and 0 with both signs, the first sign being +1."""
    powers = 3 ** np.arange(n_classes)[::-1]
    # Digits 0, 1, 2 are the entries 0, +1, -1.
    digits = np.arange(3**n_classes)[:, None] // powers % 3
    first = digits[np.arange(len(digits)), (digits != 0).argmax(axis=1)]
    kept = digits[(first == 1) & (digits == 2).any(axis=1)]
    matrix: SignArray = np.array([0, 1, -1], dtype=np.int8)[kept].T
    return matrix


class SparseColumns:
    """Draw codebooks with entries 0, +1 and -1, with probabilities 1/2, 1/4 and 1/4."""

    def __init__(self, n_classes: int, n_columns: int, rng: np.random.Generator) -> None:
        self.n_classes, self.n_columns, self.rng = n_classes, n_columns, rng
        # If a large share of the existing columns is wanted, all are listed and drawn without
        # replacement: those with the smallest exponential times, at the columns' rates. Drawing
        # again until all columns differ would take long.
        self._listed: SignArray | None = None
        if 16 * n_columns > n_sparse_columns(n_classes):
            self._listed = all_sparse_columns(n_classes).T
            self._mean_time = np.exp2(np.count_nonzero(self._listed, axis=1))
        # Whole numbers, small enough that sums are exact: equal columns have equal sums.
        self._weights = rng.integers(1 << 40, size=n_classes).astype(np.float64)

    def __call__(self, n_draws: int) -> SignArray:
        """Return draws of shape (n_draws, n_columns, n_classes)."""
        if self._listed is None:
            columns = self._entries(n_draws * self.n_columns)
            shape = (n_draws, self.n_columns, self.n_classes)
            return _redrawn(columns.reshape(shape), self._entries, self._unwanted)
        times = self._mean_time * self.rng.standard_exponential((n_draws, len(self._mean_time)))
        return self._listed[_smallest(times, self.n_columns)]

    def _entries(self, n_columns: int) -> SignArray:
        quarter = self.rng.integers(4, size=(n_columns, self.n_classes), dtype=np.uint8)
        entries: SignArray = np.array([0, 0, 1, -1], dtype=np.int8)[quarter]
        return entries

    def _unwanted(self, drawn: SignArray) -> NDArray[np.bool_]:
        one_signed = (drawn.max(axis=2) < 1) | (drawn.min(axis=2) > -1)
        unwanted: NDArray[np.bool_] = one_signed | _repeated(np.abs(drawn @ self._weights))
        return unwanted


def _smallest(keys: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the positions of the smallest values of every row, from left to right."""
    # The order within a partition differs between processors; sorting ties the code to its seed.
    return np.sort(keys.argpartition(count, axis=1)[:, :count], axis=1)


def _redrawn(
    values: NDArray[Any],
    fresh: Callable[[int], NDArray[Any]],
    unwanted: Callable[[NDArray[Any]], NDArray[np.bool_]],
) -> NDArray[Any]:
    """Redraw the unwanted columns of every draw until none are left."""
    pending = np.arange(len(values))
    while len(pending):
        part = values[pending]
        wrong = unwanted(part)
        part[wrong] = fresh(int(np.count_nonzero(wrong)))
        values[pending] = part
        pending = pending[wrong.any(axis=1)]
    return values


def _repeated(keys: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark, in every row, the values that also occur further left."""
    order = keys.argsort(axis=1, kind="stable")
    ordered = np.take_along_axis(keys, order, axis=1)
    marked = np.zeros(keys.shape, dtype=np.bool_)
    np.put_along_axis(marked, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return marked
