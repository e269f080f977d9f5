"""Sources of rows in blocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from .block import (
    Block,
    check_finite,
    checked_inputs,
    checked_labels,
    checked_weights,
    rows_a_block,
)

_ONCE = (
    "The source can be read only once, but fit reads it twice. Pass a function that returns a new "
    "iterator, as in RowBlocks(lambda: read_blocks()), or a list of blocks."
)
# What estimators say that do not take blocks, after their names.
NEEDS_ALL = (
    "needs all rows at once, and cannot take blocks of them. Use "
    "PolychotomyClassifier(LSSVM(landmarks=1000)).fit(blocks), or read as many rows as fit into "
    "memory, as in [block.X for block in blocks.blocks()]."
)


class RowBlocks:
    """Rows that are read block by block, for data that do not fit into memory.

    Pass it to the `fit` of `PolychotomyClassifier`, with an `LSSVM` that has landmarks. The rows
    are read twice. Blocks of any size may come in; they are cut again into blocks of a fixed size,
    so how they come in changes no bit of the result. The order of the rows may change it.

    Parameters
    ----------
    read : callable or sequence
        A function without arguments that returns a new iterator over blocks each time, or a list
        of blocks. A block is a pair (X, y), or (X, y, weights). X may be an array or a data frame.

    Attributes
    ----------
    n_read : int
        How often the rows have been read.
    feature_names : list of str or None
        The names of the inputs, if the blocks are data frames; known after the first reading.

    See Also
    --------
    polychotomy.PolychotomyClassifier.fit : Takes it in place of X and y.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy import LSSVM, PolychotomyClassifier
    >>> from polychotomy.blocks import RowBlocks
    >>> def read():
    ...     for seed in range(4):
    ...         y = np.arange(50) % 3
    ...         yield 4.0 * np.eye(3)[y] + np.random.default_rng(seed).normal(size=(50, 3)), y
    >>> clf = PolychotomyClassifier(LSSVM(landmarks=20)).fit(RowBlocks(read))
    >>> clf.n_rows_, clf.predict(4.0 * np.eye(3)).tolist()
    (200, [0, 1, 2])
    """

    # Whether blocks are computed by the workers of a cluster.
    on_cluster = False

    def __init__(self, read: Callable[[], Iterable[Any]] | Sequence[Any]) -> None:
        if not callable(read):
            if not isinstance(read, Iterable):
                raise TypeError(
                    "RowBlocks takes a function that returns an iterator over blocks, or a list of "
                    f"blocks; got {type(read).__name__}."
                )
            once: Any = iter(read)
            if once is read:
                raise ValueError(_ONCE)
        self._read = read
        self._last: Any = None
        self.n_read = 0
        self.feature_names: list[str] | None = None

    @classmethod
    def from_arrays(cls, X: Any, y: Any, sample_weight: Any = None) -> RowBlocks:
        """Return the rows of arrays, such as memory-mapped ones, which are never copied whole.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
            The inputs.
        y : array of shape (n_rows,)
            The classes.
        sample_weight : array of shape (n_rows,), default=None
            The weights of the rows.

        Returns
        -------
        blocks : RowBlocks

        Examples
        --------
        >>> import numpy as np
        >>> from polychotomy.blocks import RowBlocks
        >>> source = RowBlocks.from_arrays(np.zeros((5, 2)), np.arange(5))
        >>> [len(block.y) for block in source.blocks()]
        [5]
        """
        if issparse(X):
            raise TypeError("X is a sparse matrix, but blocks of rows are dense: use X.toarray().")
        # Lists are no larger as arrays; memory-mapped arrays and data frames stay what they are.
        X, y, sample_weight = (
            np.asarray(each) if isinstance(each, list | tuple) else each
            for each in (X, y, sample_weight)
        )
        if len(getattr(X, "shape", ())) != 2:
            raise ValueError(
                "X must be an array or a data frame with rows and columns; got "
                f"{type(X).__name__} of shape {np.shape(X)}."
            )
        lengths = {len(each) for each in (X, y, sample_weight) if each is not None}
        if len(lengths) != 1:
            raise ValueError(f"X, y and weights must have the same length, got {sorted(lengths)}.")
        step = rows_a_block(X.shape[1])

        def read() -> Iterator[Any]:
            for start in range(0, len(y), step):
                part = slice(start, start + step)
                weights = None if sample_weight is None else sample_weight[part]
                yield _rows(X, part), _rows(y, part), weights

        return cls(read)

    @classmethod
    def from_parquet(
        cls,
        path: str | os.PathLike[str],
        target: str,
        *,
        columns: Sequence[str] | None = None,
        weights: str | None = None,
    ) -> RowBlocks:
        """Return the rows of a Parquet file, or of a folder of Parquet files, read by pyarrow.

        Parameters
        ----------
        path : str or path
            The file or folder.
        target : str
            The column with the classes.
        columns : sequence of str, default=None
            The columns of inputs, which must be numbers; by default all other columns.
        weights : str, default=None
            The column with the weights of the rows.

        Returns
        -------
        blocks : RowBlocks

        Examples
        --------
        >>> import os, tempfile
        >>> import pandas
        >>> from polychotomy.blocks import RowBlocks
        >>> frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [0.5, 0.5], "kind": ["x", "y"]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "rows.parquet")
        ...     frame.to_parquet(path)
        ...     [block.X.shape for block in RowBlocks.from_parquet(path, "kind").blocks()]
        [(2, 2)]
        """
        from .parquet import parquet_reader

        return cls(parquet_reader(path, target, columns, weights))

    def transformed(self, function: Callable[[Any], Any]) -> RowBlocks:
        """Return the rows with their inputs put through a function, block by block.

        The function has to treat every row alone, as the `transform` of a fitted scaler does.

        Parameters
        ----------
        function : callable
            Takes the inputs of a block and returns others.

        Returns
        -------
        blocks : RowBlocks

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.preprocessing import StandardScaler
        >>> from polychotomy.blocks import RowBlocks
        >>> source = RowBlocks([(np.arange(4.0)[:, None], [0, 0, 1, 1])])
        >>> scaler = StandardScaler()
        >>> for block in source.blocks():
        ...     _ = scaler.partial_fit(block.X)
        >>> [block.X.mean() for block in source.transformed(scaler.transform).blocks()]
        [np.float64(0.0)]
        """

        def read() -> Iterator[Any]:
            for X, *rest in self._incoming():
                yield (function(X), *rest)

        return RowBlocks(read)

    def blocks(self) -> Iterator[Block]:
        """Read the rows, in blocks of a fixed size.

        Yields
        ------
        block : Block
        """
        waiting: list[Any] = []
        n_waiting = number = start = size = 0
        for X, y, weights in self._checked():
            size = size or rows_a_block(X.shape[1])
            done = 0
            while done < len(y):
                part = slice(done, done + size - n_waiting)
                waiting.append((X[part], y[part], None if weights is None else weights[part]))
                taken = len(waiting[-1][1])
                n_waiting, done = n_waiting + taken, done + taken
                if n_waiting == size:
                    yield _joined(number, start, waiting)
                    waiting, n_waiting, number, start = [], 0, number + 1, start + size
        if waiting:
            yield _joined(number, start, waiting)

    def __array__(self, *args: Any, **kwargs: Any) -> NDArray[Any]:
        raise TypeError(
            "Blocks of rows are no array. Only the fit of "
            "PolychotomyClassifier(LSSVM(landmarks=1000)) takes all blocks; scale them on the way "
            "with blocks.transformed(scaler.transform). Predict block by block, as in "
            "[model.predict(block.X) for block in blocks.blocks()]."
        )

    def _incoming(self) -> Iterator[Any]:
        """Start a new reading of the blocks as they come in."""
        if not callable(self._read):
            return iter(self._read)
        given = self._read()
        if not isinstance(given, Iterable):
            raise TypeError(
                "The function of RowBlocks must return an iterator over blocks, or a list of them; "
                f"it returned {type(given).__name__}."
            )
        found = iter(given)
        if found is self._last:
            raise ValueError(_ONCE)
        self._last = found
        return found

    def _checked(self) -> Iterator[tuple[Any, Any, Any]]:
        """Read and check the blocks as they come in."""
        first: tuple[int, Any, bool, Any, str] | None = None
        self.n_read += 1
        for number, given in enumerate(self._incoming()):
            where = f"Block {number}"
            if not isinstance(given, tuple | list) or len(given) not in (2, 3):
                raise TypeError(
                    f"{where} must be a pair (X, y), or (X, y, weights); got "
                    f"{type(given).__name__}."
                )
            X = checked_inputs(given[0], where)

            def place(row: int, where: str = where) -> str:
                return f"{where}, row {row},"

            y = checked_labels(given[1], len(X), where, place)
            weights = checked_weights(given[2] if len(given) == 3 else None, len(X), where, place)
            if not len(X):
                continue
            own = X.shape[1], X.dtype, weights is not None, _names(given[0]), _kind(y)
            if first is None:
                first, self.feature_names = own, own[3]
            _check_alike(first, own, where)
            check_finite(X, place)
            yield X, y, weights


def _check_alike(first: tuple[Any, ...], own: tuple[Any, ...], where: str) -> None:
    """Refuse a block of another kind than the first one that has rows."""
    if own[0] != first[0]:
        raise ValueError(f"{where} has {own[0]} inputs, but the blocks before have {first[0]}.")
    if own[1] != first[1]:
        raise ValueError(
            f"{where} has inputs of type {own[1]}, but the blocks before have {first[1]}; use one "
            "type, for example by X.astype(float)."
        )
    if own[2] != first[2]:
        less = "no weights" if first[2] else "weights"
        raise ValueError(f"{where} has {less}, unlike the blocks before; give all of them or none.")
    if own[3] != first[3]:
        raise ValueError(
            f"{where} has inputs with other names or in another order than the blocks before: "
            f"{own[3]}, not {first[3]}."
        )
    if own[4] != first[4]:
        raise TypeError(
            f"{where} has labels that are {own[4]}, but the blocks before have {first[4]}; use one "
            "type, for example by y.astype(str)."
        )


def _kind(y: NDArray[Any]) -> str:
    """Return of which kind labels are; those of an array of objects by the first."""
    labels = np.asarray(y[:1].tolist()) if y.dtype.kind == "O" else y
    return {"U": "words", "T": "words", "S": "bytes", "b": "true or false"}.get(
        labels.dtype.kind, "numbers" if labels.dtype.kind in "iuf" else "of another kind"
    )


def _names(X: Any) -> list[str] | None:
    columns = getattr(X, "columns", None)
    names = None if columns is None else list(columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def _rows(values: Any, part: slice) -> Any:
    return values.iloc[part] if hasattr(values, "iloc") else values[part]


def _joined(number: int, start: int, parts: list[Any]) -> Block:
    if len(parts) == 1:
        return Block(number, start, *parts[0])
    inputs, labels, weights = zip(*parts, strict=True)
    joined = None if weights[0] is None else np.concatenate(weights)
    return Block(number, start, np.concatenate(inputs), np.concatenate(labels), joined)
