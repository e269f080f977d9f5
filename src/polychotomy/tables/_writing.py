"""Writing tables piece by piece, into a file that is written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

from ..core import files
from ..core.extras import needed
from ._dialect import NUMBER, NUMBER_WITH_COMMA
from ._errors import pandas_module

# How a text begins that a spreadsheet takes for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    r"""Open a file that replaces another only if nothing goes wrong; ``-`` for stdout.

    Parameters
    ----------
    path : str or path
        Where to.

    Yields
    ------
    stream : binary file

    Examples
    --------
    >>> import os, tempfile
    >>> from polychotomy.tables import whole_file
    >>> path = os.path.join(tempfile.mkdtemp(), "new.csv")
    >>> with whole_file(path) as stream:
    ...     _ = stream.write(b"a,b\n")
    >>> os.path.getsize(path)
    4
    """
    if os.fspath(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with files.replacing(path) as stream:
        yield stream


def spreadsheet_safe(frame: Any) -> Any:
    """Put a ``'`` before names and texts that a spreadsheet would take for formulas.

    These begin with ``=``, ``+``, ``-``, ``@``, a tab or a line break; numbers stay as they are.

    Parameters
    ----------
    frame : DataFrame
        The rows.

    Returns
    -------
    frame : DataFrame
        A copy.

    Examples
    --------
    >>> import pandas
    >>> from polychotomy.tables import spreadsheet_safe
    >>> spreadsheet_safe(pandas.DataFrame({"=x": ["-1.5", "-", "a"]})).to_dict("list")
    {"'=x": ['-1.5', "'-", 'a']}
    """
    types = pandas_module().api.types
    numbers = {name for name in frame if types.is_numeric_dtype(frame[name].dtype)}
    texts = {name: frame[name].astype(object).map(_no_formula) for name in set(frame) - numbers}
    return frame.assign(**texts).rename(columns=_no_formula)


def _no_formula(value: Any) -> Any:
    if not isinstance(value, str) or not value.startswith(FORMULA):
        return value
    number = NUMBER.fullmatch(value) or NUMBER_WITH_COMMA.fullmatch(value)
    return value if number else f"'{value}"


class TableWriter:
    r"""Writes DataFrames one after the other, as CSV or Parquet.

    Parameters
    ----------
    stream : binary file
        Where to.
    parquet : bool
        Parquet instead of CSV.

    Examples
    --------
    >>> import io, pandas
    >>> from polychotomy.tables import TableWriter
    >>> stream = io.BytesIO()
    >>> with TableWriter(stream) as writer:
    ...     writer.write(pandas.DataFrame({"a": [1, 2]}))
    ...     writer.write(pandas.DataFrame({"a": [3]}))
    >>> stream.getvalue()
    b'a\n1\n2\n3\n'
    """

    def __init__(self, stream: BinaryIO, parquet: bool = False) -> None:
        self.stream = stream
        self.parquet = parquet
        self._writer: Any = None
        self._schema: Any = None

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, frame: Any) -> None:
        """Write the next rows.

        Parameters
        ----------
        frame : DataFrame
            The rows; all pieces have the same columns.
        """
        pyarrow = needed("pyarrow", "files", "Writing tables needs pyarrow")
        table = pyarrow.Table.from_pandas(frame, schema=self._schema, preserve_index=False)
        first, self._schema = self._schema is None, table.schema
        if not self.parquet:
            if first:
                names = table.schema.names
                self.stream.write(_csv(pyarrow.table([[name] for name in names], names=names)))
            self.stream.write(_csv(table))
            return
        if first:
            from pyarrow import parquet

            self._writer = parquet.ParquetWriter(self.stream, table.schema)
        self._writer.write_table(table)


def _csv(table: Any) -> bytes:
    """Write rows as CSV, with quotes only where some field needs them."""
    import pyarrow
    import pyarrow.csv

    for style in ("none", "needed"):
        buffer = pyarrow.BufferOutputStream()
        options = pyarrow.csv.WriteOptions(include_header=False, quoting_style=style)
        try:
            pyarrow.csv.write_csv(table, buffer, options)
        except pyarrow.ArrowInvalid:
            if style == "needed":
                raise
        else:
            break
    return bytes(buffer.getvalue())
