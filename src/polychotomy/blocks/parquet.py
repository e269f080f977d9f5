"""Parquet files, read in batches of rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.checks import suggestion
from ..core.extras import needed

BATCH_ROWS = 1 << 14


def parquet_reader(
    path: str | os.PathLike[str],
    target: str,
    columns: Sequence[str] | None,
    weights: str | None,
) -> Callable[[], Iterator[Any]]:
    """Return a function that reads a file, or the files of a folder in the order of their names."""
    parquet = needed("pyarrow.parquet", "files", "Parquet files need pyarrow")
    pandas = needed("pandas", "files", "Parquet files need pandas")
    files = _files(path)
    schema = _schema(parquet, files[0])
    known = list(schema.names)
    for name in [target, *(columns or ()), *([] if weights is None else [weights])]:
        if name not in known:
            raise ValueError(f"{path} has no column {name!r}. {suggestion(name, known)}")
    given = [name for name in known if name not in (target, weights)]
    inputs = list(given if columns is None else columns)
    types = needed("pyarrow", "files", "Parquet files need pyarrow").types
    for name in inputs:
        kind = schema.field(name).type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise ValueError(
                f"The column {name!r} of {path} holds values of type {kind}, not numbers. Choose "
                "other columns, or encode it first (`polychotomy fit` does)."
            )
    single = all(str(schema.field(name).type) == "float" for name in inputs)
    dtype = np.float32 if single else np.float64
    wanted = list(dict.fromkeys([*inputs, target, *([] if weights is None else [weights])]))

    def read() -> Iterator[Any]:
        for file in files:
            with parquet.ParquetFile(file) as opened:
                for batch in opened.iter_batches(BATCH_ROWS, columns=wanted, use_threads=False):
                    X = np.empty((batch.num_rows, len(inputs)), dtype=dtype)
                    for place, name in enumerate(inputs):
                        # Missing values become NaN.
                        X[:, place] = _plain(batch.column(name))
                    own = None if weights is None else _plain(batch.column(weights))
                    frame = pandas.DataFrame(X, columns=inputs, copy=False)
                    yield frame, _plain(batch.column(target)), own

    return read


def _schema(parquet: Any, file: Path) -> Any:
    from pyarrow import ArrowInvalid

    try:
        return parquet.read_schema(file)
    except ArrowInvalid as error:
        raise ValueError(
            f"{str(file)!r} is not a Parquet file, or damaged ({str(error).split('.')[0]}). Other "
            "files are read by `polychotomy fit`, or by RowBlocks(function)."
        ) from None


def _plain(column: Any) -> NDArray[Any]:
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values


def _files(path: str | os.PathLike[str]) -> list[Path]:
    folder = Path(path)
    if not folder.exists():
        raise FileNotFoundError(f"There is no file or folder {str(path)!r}.")
    files = sorted(folder.rglob("*.parquet")) if folder.is_dir() else [folder]
    if not files:
        raise ValueError(f"{str(path)!r} is a folder without Parquet files (*.parquet).")
    return files
