"""The code matrix: codes build it, and everything after them reads it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .branches import Branches, find_branches
from .registry import stored
from .types import FloatArray, IntArray, SignArray, is_range

_COLUMNS_AT_ONCE = 4096
# The largest part of a codebook that `repr` shows.
_SHOWN_CLASSES = 30
_SHOWN_COLUMNS = 24


@stored("value.codebook")
class Codebook:
    """A validated code matrix: one row per class, one column per binary problem.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_columns)
        Entries -1, 0 and +1. A class with 0 takes no part in that column's problem (a
        "don't care").
    name : str, default="custom"
        The name of the code.

    Raises
    ------
    ValueError
        If two classes have the same codeword, or a column lacks one of the two signs.

    Examples
    --------
    >>> from polychotomy import OneVsOne
    >>> OneVsOne().build(3)
    Codebook(one_vs_one, 3 classes, 3 columns)
       0  1  2
    0  +  +  .
    1  -  .  +
    2  .  -  -
    """

    def __init__(self, matrix: ArrayLike, name: str = "custom") -> None:
        checked = _checked_matrix(matrix)
        checked.setflags(write=False)
        self.matrix: SignArray = checked
        self.name = name

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.matrix.shape[0])

    @property
    def n_columns(self) -> int:
        """The number of binary problems."""
        return int(self.matrix.shape[1])

    @property
    def has_dont_cares(self) -> bool:
        """Whether some class takes no part in some binary problem."""
        return bool((self.matrix == 0).any())

    @cached_property
    def pairs(self) -> IntArray | None:
        """The (positive, negative) class of each column of a one-vs-one code, else None."""
        n_classes, n_columns = self.matrix.shape
        if n_columns != n_classes * (n_classes - 1) // 2:
            return None
        pairs = np.empty((n_columns, 2), dtype=np.intp)
        # Some columns at a time: NumPy copies what it looks for the largest entry in.
        for start in range(0, n_columns, _COLUMNS_AT_ONCE):
            some = self.matrix[:, start : start + _COLUMNS_AT_ONCE]
            if (np.count_nonzero(some, axis=0) != 2).any():
                return None
            own = pairs[start : start + _COLUMNS_AT_ONCE]
            own[:, 0], own[:, 1] = some.argmax(axis=0), some.argmin(axis=0)
        return pairs if len(np.unique(np.sort(pairs, axis=1), axis=0)) == n_columns else None

    @cached_property
    def canonical(self) -> tuple[IntArray, SignArray]:
        """Source column and sign of the pairs (0, 1), (0, 2), ... of a one-vs-one code."""
        pairs = self.pairs
        if pairs is None:
            raise ValueError(f"{self.name} is not a one-vs-one code.")
        low, high = pairs.min(axis=1), pairs.max(axis=1)
        order = np.lexsort((high, low))
        sign = np.where(pairs[order, 0] == low[order], 1, -1).astype(np.int8)
        return order, sign

    @cached_property
    def rest(self) -> IntArray | None:
        """The column of each class of a one-vs-rest code, else None."""
        n_classes, n_columns = self.matrix.shape
        if n_columns != n_classes or self.has_dont_cares:
            return None
        if ((self.matrix > 0).sum(axis=0) != 1).any():
            return None
        column: IntArray = self.matrix.argmax(axis=1)
        return column if len(np.unique(column)) == n_classes else None

    @cached_property
    def branches(self) -> Branches | None:
        """The tree of a nested code, else None."""
        return find_branches(self.matrix)

    @cached_property
    def all_trained(self) -> bool:
        """Whether every column has its own machine, in column order."""
        _, source, sign = self.trained
        return bool((sign > 0).all()) and is_range(source)

    @cached_property
    def trained(self) -> tuple[IntArray, IntArray, SignArray]:
        """Which columns need their own machine.

        Columns that are equal up to their sign share one machine, such as the two columns of a
        two-class one-vs-rest code.

        Returns
        -------
        columns : ndarray of shape (n_trained,)
            The columns to train.
        source : ndarray of shape (n_columns,)
            For every column, the position in `columns` of its machine.
        sign : ndarray of shape (n_columns,)
            +1, or -1 where the machine's answer must be flipped.
        """
        # Note: the answer of a shared machine is flipped, not learned again. Training both columns
        # would double the work, and a machine that is not exactly symmetric in its labels (a tree,
        # or a seeded one) could contradict itself. To forbid such columns was the alternative, but
        # one-vs-rest decoders expect M columns for two classes too.
        if self.pairs is not None:
            # Sorting the columns of hundreds of classes takes long, and each is a pair of its own.
            every = np.arange(self.n_columns)
            return every, every, np.ones(self.n_columns, dtype=np.int8)
        first_sign = np.sign(_first_nonzero(self.matrix)).astype(np.int8)
        _, columns, source = np.unique(
            self.matrix * first_sign, axis=1, return_index=True, return_inverse=True
        )
        order = np.argsort(columns)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        columns, source = columns[order], rank[np.ravel(source)]
        return columns, source, first_sign * first_sign[columns[source]]

    @cached_property
    def row_separation(self) -> FloatArray:
        """Hamming distance between every two codewords; a don't-care counts 1/2."""
        return _hamming(self.matrix)

    @cached_property
    def column_separation(self) -> FloatArray:
        """Distance between every two columns, up to their sign; a don't-care counts 1/2."""
        distance = _hamming(self.matrix.T)
        return np.minimum(distance, self.n_classes - distance)

    def labels(self, y: IntArray) -> SignArray:
        """Return the binary label (-1, 0 or +1) of every row in every column."""
        return self.matrix[y]

    def describe(self, column: int, classes: Sequence[Any] | NDArray[Any] | None = None) -> str:
        """Name a binary problem by the classes on its two sides."""
        names = np.arange(self.n_classes) if classes is None else np.asarray(classes)
        word = self.matrix[:, column]

        def side(sign: int) -> str:
            return ", ".join(repr(name) for name in names[word == sign].tolist())

        negative = side(-1)
        if (word < 0).sum() > 3 and not (word == 0).any():
            negative = "the rest"
        return f"{side(1)} against {negative}"

    def plot(self, ax: Any = None, classes: Sequence[Any] | None = None) -> Any:
        """Draw the codebook as a heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        classes : sequence, default=None
            The names of the classes.

        Returns
        -------
        ax : matplotlib Axes
        """
        # Imported by name on demand: plots are in a layer above core, and need matplotlib.
        draw = import_module("polychotomy.plots.codebook").draw_codebook
        return draw(self, ax, classes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Codebook) and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash((self.matrix.shape, self.matrix.tobytes()))

    def __repr__(self) -> str:
        shown = self.matrix[:_SHOWN_CLASSES, :_SHOWN_COLUMNS]
        n_rows, n_columns = shown.shape
        left, width = len(str(n_rows - 1)), len(str(n_columns - 1))
        more = " ..." if n_columns < self.n_columns else ""

        def line(start: object, cells: Iterable[object]) -> str:
            return f"{start:>{left}}" + "".join(f"  {cell:>{width}}" for cell in cells) + more

        lines = [
            f"Codebook({self.name}, {self.n_classes} classes, {self.n_columns} columns)",
            line("", range(n_columns)),
            *(line(m, ("-.+"[entry + 1] for entry in word)) for m, word in enumerate(shown)),
        ]
        if n_rows < self.n_classes:
            lines.append("...")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[type[Codebook], tuple[SignArray, str]]:
        return Codebook, (self.matrix, self.name)


def _checked_matrix(matrix: ArrayLike) -> SignArray:
    values = _as_numbers(matrix)
    if values.ndim != 2 or values.shape[0] < 2 or values.shape[1] < 1:
        raise ValueError(
            "A code matrix has one row per class (at least two) and one column per binary "
            f"problem (at least one); got an array of shape {values.shape}."
        )
    # A read-only array that has its own memory is taken as it is: own codes make such arrays.
    own = values.flags.writeable or not values.flags.owndata
    with np.errstate(invalid="ignore"):
        matrix_ = values.astype(np.int8, order="C", copy=own)
    whole = values.dtype.kind in "iu" or np.array_equal(matrix_, values)
    if values.min() < -1 or values.max() > 1 or not whole:
        raise ValueError("A code matrix has entries -1, 0 and +1 only.")
    # By extremes, which need no array of the size of the matrix.
    one_signed = (matrix_.max(axis=0) < 1) | (matrix_.min(axis=0) > -1)
    if one_signed.any():
        raise ValueError(
            f"Column {int(np.flatnonzero(one_signed)[0])} of the code matrix needs at least one "
            "class with +1 and one with -1."
        )
    idle = ~matrix_.any(axis=1)
    if idle.any():
        raise ValueError(
            f"Class {int(np.flatnonzero(idle)[0])} takes part in no column of the code matrix; "
            "give it at least one +1 or -1."
        )
    first: dict[bytes, int] = {}
    for number, word in enumerate(matrix_):
        # By checksum: the words of 300 classes take 13 MB.
        original = first.setdefault(sha256(word.tobytes()).digest(), number)
        if original != number:
            raise ValueError(
                f"Classes {original} and {number} have the same codeword in the code matrix; "
                "every class needs its own."
            )
    return matrix_


def _as_numbers(matrix: ArrayLike) -> NDArray[Any]:
    """Return the entries as an array of numbers, keeping integers (a code can be large)."""
    try:
        values = np.asarray(matrix)
        return values if values.dtype.kind in "iuf" else values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "A code matrix is a rectangular table of the numbers -1, 0 and +1; "
            f"got {type(matrix).__name__} that cannot be read as one."
        ) from None


def _first_nonzero(matrix: SignArray) -> SignArray:
    position = (matrix != 0).argmax(axis=0)
    first: SignArray = matrix[position, np.arange(matrix.shape[1])]
    return first


def _hamming(words: SignArray) -> FloatArray:
    signed = words.astype(float)
    distance: FloatArray = (words.shape[1] - signed @ signed.T) / 2.0
    np.fill_diagonal(distance, 0.0)
    return distance
