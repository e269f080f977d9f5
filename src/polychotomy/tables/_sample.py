"""Some rows of a table that is not read whole."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks.first_reading import hashed
from ._errors import pandas_module
from ._files import TableFile

ALL = np.uint64(2**64 - 1)


class Sample:
    """Rows drawn by a hash of their positions, in their order.

    Parameters
    ----------
    most : int
        The number of rows, at most.
    """

    def __init__(self, most: int) -> None:
        self.most, self.n_rows = most, 0
        self._frames: list[Any] = []
        self._keys: list[NDArray[np.uint64]] = []
        self._places: list[NDArray[np.intp]] = []
        self._limit, self._n_kept = ALL, 0

    def add(self, piece: Any) -> None:
        """Add the next rows of the table."""
        places = self.n_rows + np.arange(len(piece))
        keys = hashed(places)
        near = keys <= self._limit
        self._frames.append(piece[near])
        self._keys.append(keys[near])
        self._places.append(places[near])
        self.n_rows += len(piece)
        self._n_kept += int(near.sum())
        if self._n_kept > 2 * self.most:
            self._reduce()

    def drawn(self) -> tuple[Any, NDArray[np.intp]]:
        """Return the rows, and their positions in the table."""
        self._reduce()
        return self._frames[0].reset_index(drop=True), self._places[0]

    def _reduce(self) -> None:
        frame = pandas_module().concat(self._frames, ignore_index=True)
        keys, places = np.concatenate(self._keys), np.concatenate(self._places)
        if len(keys) > self.most:
            self._limit = np.partition(keys, self.most - 1)[self.most - 1]
            near = keys <= self._limit
            frame, keys, places = frame[near].reset_index(drop=True), keys[near], places[near]
        self._frames, self._keys, self._places = [frame], [keys], [places]
        self._n_kept = len(keys)


@dataclass(frozen=True)
class Drawn:
    """Rows of a file, their positions in it, how many were read, and whether these were all."""

    frame: Any
    places: NDArray[np.intp]
    n_rows: int
    is_all: bool

    @property
    def words(self) -> str:
        """Which rows they are."""
        first = "" if self.is_all else "first "
        words = f"{len(self.places):,} of its {first}{self.n_rows:,} rows, drawn at random."
        if not self.is_all:
            words += " There was no time to read more: allow more with --time."
        return words


def sampled(
    file: TableFile,
    most: int,
    words: Collection[str],
    rows: int,
    until: float | None = None,
) -> Drawn:
    """Return rows of a file.

    Parameters
    ----------
    file : TableFile
        The file; it is read once, or again if a column is not what its first fields were.
    most : int
        The number of rows, at most.
    words : collection of str
        Columns to read as words even if they look like numbers.
    rows : int
        The number of rows of a piece.
    until : float, default=None
        When to stop reading, by `time.perf_counter`; at the end of the file by default.
    """
    known = set(words)
    while True:
        sample, numbers = Sample(most), file.typed.difference(known)
        mixed: set[str] = set()
        is_all = True
        for piece in file.pieces(numbers=numbers, rows=rows):
            mixed = {name for name in numbers if piece[name].dtype.kind not in "fiu"}
            is_all = not sample.n_rows or until is None or perf_counter() <= until
            if mixed or not is_all:
                break
            sample.add(piece)
        if not mixed:
            return Drawn(*sample.drawn(), sample.n_rows, is_all)
        known |= mixed
