"""Tables too large to be read whole: typed on a sample of their rows, and read piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlocks
from ..core.extras import needed
from ._aside import weight_values
from ._content import MISSING, content_of
from ._errors import TableError
from ._files import PIECE_ROWS, TableFile
from ._reading import PARQUET, open_table
from ._sample import Sample
from ._schema import TableSchema
from ._table import Table, check_known, check_target, table_of_frame

# A table is large if it has more fields than this; a field of a text file has about 8 bytes.
LARGE, BYTES_A_FIELD = 10_000_000, 8
# The columns are typed, and the encoder learns, on this many rows.
TYPED_ROWS = 20_000


def n_fields(path: str) -> int:
    """Return about how many fields a file, or a folder of Parquet files, has; 0 if unknown.

    Parameters
    ----------
    path : str
        The file or folder.

    Returns
    -------
    n_fields : int
    """
    found = Path(path)
    files = sorted(found.rglob("*.parquet")) if found.is_dir() else [found]
    total = 0
    for file in files:
        if not file.is_file():
            return 0
        with file.open("rb") as stream:
            is_parquet = stream.read(4) == PARQUET
        if is_parquet:
            parquet = needed("pyarrow.parquet", "files", "Parquet files need pyarrow")
            about = parquet.read_metadata(file)
            total += about.num_rows * about.num_columns
        else:
            total += file.stat().st_size // BYTES_A_FIELD
    return total


@dataclass(frozen=True)
class StreamedTable:
    """A table that is read piece by piece.

    Attributes
    ----------
    path : str
        The file or folder.
    sample : Table
        Some of its rows, as a table; its schema is that of the whole.
    weights : str or None
        The column with the weights of the rows.
    encoder : transformer
        Turns columns into numbers; it has learned on the sample.
    n_rows : int
        The number of rows, those without a class among them.
    """

    path: str
    sample: Table
    weights: str | None
    encoder: Any
    n_rows: int

    @property
    def schema(self) -> TableSchema:
        """The columns and their types."""
        return self.sample.schema

    def rows(self) -> RowBlocks:
        """Return the rows as blocks of numbers in single precision, with their classes."""
        return RowBlocks(self._read)

    def _read(self) -> Iterator[tuple[Any, Any, Any]]:
        schema = self.schema
        columns = [*schema.names, schema.target, *([] if self.weights is None else [self.weights])]
        columns = list(dict.fromkeys(columns))
        done = 0
        with open_table(self.path) as file:
            for piece in file.pieces(columns, schema.of_kind("number"), PIECE_ROWS):
                matched, _ = schema.matched(piece, file.decimal, done, file.name)
                here = content_of(piece[schema.target], ()).present
                places = done + np.flatnonzero(here) + 1
                labels = self._labels(piece[schema.target][here], file, places)
                weights = None
                if self.weights is not None:
                    own = content_of(piece[self.weights][here])
                    weights = weight_values(own, places, file.decimal)
                done += len(piece)
                if here.any():
                    numbers = self.encoder.transform(matched[here])
                    yield np.asarray(numbers, dtype=np.float32), labels, weights

    def _labels(self, values: Any, file: TableFile, rows: NDArray[np.intp]) -> NDArray[Any]:
        """Return the classes, of the same type as those of the sample."""
        known = np.unique(self.sample.y)
        words: NDArray[Any] = self.schema.true_labels(values, known, file.decimal).to_numpy()
        kind = np.int64 if known.dtype.kind == "i" else str
        try:
            labels: NDArray[Any] = words.astype(kind)
            return labels
        except ValueError:
            wrong = next(k for k, word in enumerate(words) if not str(word).lstrip("-").isdecimal())
            raise TableError(
                f"{file.name} has the class {words[wrong]!r} in row {rows[wrong]}, but the "
                f"classes of the rows that were looked at first are whole numbers; use "
                "one kind of names for the classes."
            ) from None


def stream_table(
    path: str,
    target: str,
    *,
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
    category: Iterable[str] = (),
    text: Iterable[str] = (),
    missing: Iterable[str] = MISSING,
    weights: str | None = None,
) -> StreamedTable:
    r"""Look at a sample of the rows of a large table.

    Parameters
    ----------
    path : str
        A CSV or Parquet file, or a folder of Parquet files. It is read once here.
    target, drop, keep, category, text, missing, weights
        As in `read_table`.

    Returns
    -------
    table : StreamedTable

    Examples
    --------
    >>> import tempfile
    >>> from polychotomy.tables import stream_table
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     lines = [f"{i % 7},{'AB'[i % 2]}" for i in range(40)]
    ...     _ = file.write("\n".join(["width,kind", *lines]))
    ...     file.flush()
    ...     table = stream_table(file.name, "kind")
    ...     [block.X.shape for block in table.rows().blocks()]
    [(40, 1)]
    """
    options: dict[str, Any] = {"drop": drop, "keep": keep, "category": category, "text": text}
    with open_table(path) as file:
        check_target(file, target)
        check_known(file, **options, weights=[] if weights is None else [weights])
        sample_rows = Sample(TYPED_ROWS)
        for piece in file.pieces(rows=PIECE_ROWS):
            sample_rows.add(piece)
        frame, _ = sample_rows.drawn()
        sample = table_of_frame(
            frame,
            target,
            missing=missing,
            weights=weights,
            decimal=file.own_decimal,
            where=file.name,
            **options,
        )
        sample = replace(sample, notes=(*file.notes, *sample.notes))
    encoder = sample.schema.preprocessor().fit(sample.X, sample.y)
    return StreamedTable(path, sample, weights, encoder, sample_rows.n_rows)
