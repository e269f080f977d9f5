"""Some rows of a table that is not read whole."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks.first_reading import ROWS_A_CLASS, hashed, ranks_in_classes
from ._content import content_of, word_of
from ._errors import pandas_module
from ._files import TableFile

ALL = np.uint64(2**64 - 1)


class Sample:
    """Rows drawn by a hash of their positions, in their order.

    Parameters
    ----------
    most : int
        The number of rows, at most.
    target : str, default=None
        The column with the classes. Each class keeps the first rows of its own by the same hash,
        beyond `most` if it has few, unless these could be more than half as many again.
    """

    def __init__(self, most: int, target: str | None = None) -> None:
        self.most, self.target, self.n_rows = most, target, 0
        self.has_too_many_classes = False
        self._frames: list[Any] = []
        self._keys: list[NDArray[np.uint64]] = []
        self._places: list[NDArray[np.intp]] = []
        self._limit, self._n_kept = ALL, 0

    @property
    def n_more(self) -> int:
        """How many rows are kept for their classes alone, when drawn."""
        return int((self._keys[0] > self._limit).sum())

    def add(self, piece: Any) -> None:
        """Add the next rows of the table."""
        places = self.n_rows + np.arange(len(piece))
        keys = hashed(places)
        near = keys <= self._limit
        if not near.all():
            near |= self._first_of_classes(piece, keys)
        self._frames.append(piece[near])
        self._keys.append(keys[near])
        self._places.append(places[near])
        self.n_rows += len(piece)
        self._n_kept += int(near.sum())
        if self._n_kept > 2 * self.most:
            self._reduce()

    def change(self, names: Collection[str], changed: Callable[[Any], Any]) -> None:
        """Change columns of the rows that are kept."""
        self._frames = [_changed(frame, names, changed) for frame in self._frames]

    def drawn(self) -> tuple[Any, NDArray[np.intp]]:
        """Return the rows, and their positions in the table."""
        self._reduce()
        return self._frames[0].reset_index(drop=True), self._places[0]

    def _reduce(self) -> None:
        frame = pandas_module().concat(self._frames, ignore_index=True)
        keys, places = np.concatenate(self._keys), np.concatenate(self._places)
        if len(keys) > self.most:
            self._limit = np.partition(keys, self.most - 1)[self.most - 1]
            near = (keys <= self._limit) | self._first_of_classes(frame, keys, count=True)
            frame, keys, places = frame[near].reset_index(drop=True), keys[near], places[near]
        self._frames, self._keys, self._places = [frame], [keys], [places]
        self._n_kept = len(keys)

    def _first_of_classes(
        self, frame: Any, keys: NDArray[np.uint64], count: bool = False
    ) -> NDArray[np.bool_]:
        """Whether each row is among the first of its class; `count` if there are rows of all."""
        first = np.zeros(len(keys), dtype=bool)
        if self.target is None or self.has_too_many_classes:
            return first
        content = content_of(frame[self.target], ())
        here = np.flatnonzero(content.present)
        numbers, classes = pandas_module().factorize(content.fields[here])
        if count and 2 * ROWS_A_CLASS * len(classes) > self.most:
            self.has_too_many_classes = True
            return first
        first[here] = ranks_in_classes(numbers, np.argsort(keys[here])) < ROWS_A_CLASS
        return first


@dataclass(frozen=True)
class Drawn:
    """Rows of a file.

    Attributes
    ----------
    frame : DataFrame
        The rows.
    places : ndarray of shape (n_drawn,)
        Their positions in the file.
    n_rows : int
        How many rows were read.
    is_all : bool
        Whether these were certainly all.
    n_more : int
        How many of those drawn are there because their classes have few rows.
    has_too_many_classes : bool
        Whether there were too many classes to keep rows of each.
    """

    frame: Any
    places: NDArray[np.intp]
    n_rows: int
    is_all: bool
    n_more: int
    has_too_many_classes: bool

    @property
    def words(self) -> str:
        """Which rows they are."""
        first = "" if self.is_all else "first "
        n_random = len(self.places) - self.n_more
        words = f"{n_random:,} of its {first}{self.n_rows:,} rows, drawn at random"
        if self.n_more:
            words += (
                f", and {self.n_more:,} more so that each class has {ROWS_A_CLASS} rows or all of "
                "its own: rare classes are more frequent here than in the table"
            )
        words += "."
        if self.has_too_many_classes:
            words += " It has many classes: rare ones have few rows here, or none."
        if not self.is_all:
            words += " There was no time to read on: allow more with --time."
        return words


def sampled(
    file: TableFile,
    most: int,
    words: Collection[str],
    rows: int,
    until: float | None = None,
    target: str | None = None,
) -> Drawn:
    """Return rows of a file.

    Parameters
    ----------
    file : TableFile
        The file; it is read once, or again if a column is not what its first fields were and there
        is time to get as far again.
    most : int
        The number of rows, at most; see `Sample`.
    words : collection of str
        Columns to read as words even if they look like numbers.
    rows : int
        The number of rows of a piece.
    until : float, default=None
        When to stop reading, by `time.perf_counter`; at the end of the file by default.
    target : str, default=None
        The column with the classes, if each is to keep some rows.
    """
    known, as_words = set(words), partial(_as_words, decimal=file.decimal)
    while True:
        start = perf_counter()
        sample, numbers = Sample(most, target), file.typed.difference(known)
        late: set[str] = set()
        is_all, again = True, False
        for piece in file.pieces(numbers=numbers, rows=rows):
            now = perf_counter()
            mixed = {name for name in numbers - late if piece[name].dtype.kind not in "fiu"}
            again = bool(mixed) and (until is None or now + (now - start) <= until)
            if again:
                known |= mixed
                break
            sample.change(mixed, as_words)
            late |= mixed
            sample.add(_changed(piece, late, as_words))
            if until is not None and now > until:
                is_all = False
                break
        if not again:
            found = sample.drawn()
            return Drawn(*found, sample.n_rows, is_all, sample.n_more, sample.has_too_many_classes)


def _changed(frame: Any, names: Collection[str], changed: Callable[[Any], Any]) -> Any:
    return frame.assign(**{name: changed(frame[name]) for name in names}) if names else frame


def _as_words(values: Any, decimal: str) -> Any:
    """Return a column, some of whose fields were read as numbers, as texts.

    Zeros that a number does without are gone ("007"): reading again would keep them.
    """

    def word(value: Any) -> str:
        return value if isinstance(value, str) else word_of(value).replace(".", decimal)

    return values.map(word, na_action="ignore").astype(object)
