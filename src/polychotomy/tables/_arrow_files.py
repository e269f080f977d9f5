"""Parquet and Feather files, and folders of Parquet files."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ..core.extras import needed
from ._errors import TableError
from ._files import PIECE_ROWS, TableFile, first_line

INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class ArrowFile(TableFile):
    """A file that pyarrow reads in batches.

    `batches` yields record batches of some columns, of at most so many rows each; `schema` is that
    of the file.
    """

    kind: str = ""
    schema: Any = None
    batches: Any = None

    def pieces(
        self,
        columns: Sequence[str] | None = None,
        numbers: Collection[str] = (),
        rows: int = PIECE_ROWS,
    ) -> Iterator[Any]:
        """Read the table piece by piece; see `TableFile.pieces`."""
        first = True
        wanted = list(self.names if columns is None else columns)
        with _damage_named(self.name, self.kind):
            for batch in self.batches(wanted, rows):
                first = False
                batch.validate(full=True)
                # What pandas has written about its own types and index is not needed, and may
                # give other names than those of the file.
                yield batch.to_pandas(ignore_metadata=True)
            if first:
                yield self.schema.empty_table().select(wanted).to_pandas(ignore_metadata=True)


def open_parquet(stream: BinaryIO, name: str) -> ArrowFile:
    """Open a Parquet file."""
    parquet = needed("pyarrow.parquet", "files", "Parquet files need pyarrow")

    def batches(columns: list[str], rows: int) -> Iterator[Any]:
        stream.seek(0)
        yield from parquet.ParquetFile(stream).iter_batches(rows, columns=columns)

    with _damage_named(name, "Parquet"):
        stream.seek(0)
        schema = parquet.ParquetFile(stream).schema_arrow
    return ArrowFile(name, _names(schema, name), kind="Parquet", schema=schema, batches=batches)


def open_feather(stream: BinaryIO, name: str) -> ArrowFile:
    """Open a Feather file, which is read whole."""
    feather = needed("pyarrow.feather", "files", "Feather files need pyarrow")
    with _damage_named(name, "Feather"):
        stream.seek(0)
        table = feather.read_table(stream)

    def batches(columns: list[str], rows: int) -> Iterator[Any]:
        yield from table.select(columns).to_batches(max_chunksize=rows)

    names = _names(table.schema, name)
    return ArrowFile(name, names, kind="Feather", schema=table.schema, batches=batches)


def open_parquet_files(paths: Sequence[Path], base: Path | None, name: str) -> ArrowFile:
    """Open Parquet files that are one table, in the order of their names.

    `base` is the folder below which folders such as ``year=2024`` stand for columns.
    """
    dataset = needed("pyarrow.dataset", "files", "Parquet files need pyarrow")
    with _damage_named(name, "Parquet"):
        whole = dataset.dataset(
            [str(path) for path in paths],
            format="parquet",
            partitioning="hive",
            partition_base_dir=None if base is None else str(base),
        )
        fragments = list(whole.get_fragments())
        first = set(fragments[0].physical_schema.names)
        others = [(one, first ^ set(one.physical_schema.names)) for one in fragments]
    for fragment, other in others:
        if other:
            raise TableError(
                f"The column {min(other)!r} is not in all Parquet files of {name}: compare "
                f"{fragments[0].path!r} and {fragment.path!r}."
            )

    def batches(columns: list[str], rows: int) -> Iterator[Any]:
        # One thread, so that the rows come in the same order every time.
        yield from whole.to_batches(columns=columns, batch_size=rows, use_threads=False)

    schema = whole.schema
    return ArrowFile(name, _names(schema, name), kind="Parquet", schema=schema, batches=batches)


def _names(schema: Any, name: str) -> tuple[str, ...]:
    twice = sorted(one for one, count in Counter(schema.names).items() if count > 1)
    if twice:
        raise TableError(f"{name} has two columns with the name {twice[0]!r}; rename one.")
    return tuple(one for one in schema.names if not INDEX_OF_PANDAS.fullmatch(one))


@contextlib.contextmanager
def _damage_named(name: str, kind: str) -> Iterator[None]:
    """Turn every error into one sentence: damaged files reach all parts of pyarrow and pandas."""
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise TableError(f"{name} cannot be read: {first_line(error)}.") from None
        raise TableError(f"{name} is a damaged {kind} file: {first_line(error)}.") from None
