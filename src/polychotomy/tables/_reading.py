"""Reading tables, whole or in pieces."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ..core.extras import needed
from ._dialect import Dialect, find_dialect, unpacked
from ._errors import TableError, pandas_module

PARQUET = b"PAR1"
INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")
PIECE_ROWS = 20_000


@dataclass(frozen=True)
class TableFile:
    """An open file with a table.

    Parameters
    ----------
    stream : binary file
        The file.
    name : str
        The name, for messages.
    dialect : Dialect or None
        The format of the text; None for a Parquet file.
    names : tuple of str
        The columns.
    """

    stream: BinaryIO
    name: str
    dialect: Dialect | None
    names: tuple[str, ...]

    def read(self, words: Collection[str] = ()) -> Any:
        """Return the whole table as a DataFrame.

        Columns of a CSV file are numbers, if all fields are, or else the texts as they are in the
        file. The empty field is missing; no other text is.

        Parameters
        ----------
        words : collection of str
            Columns to read as words even if they look like numbers.
        """
        if self.dialect is not None:
            typed = {name for name, one in zip(self.names, self.dialect.typed, strict=True) if one}
            (frame,) = self._text_pieces(None, typed.difference(words), None)
            return frame
        frames = list(self.pieces())
        return pandas_module().concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]

    def pieces(
        self,
        columns: Sequence[str] | None = None,
        numbers: Collection[str] = (),
        rows: int = PIECE_ROWS,
    ) -> Iterator[Any]:
        """Read the table piece by piece.

        Parameters
        ----------
        columns : sequence of str, default=None
            The columns to read; all by default.
        numbers : collection of str
            Columns that are probably numbers; those of a CSV file are strings otherwise.
        rows : int
            The number of rows in a piece.
        """
        if self.dialect is None:
            return self._parquet_pieces(columns, rows)
        return self._text_pieces(columns, numbers, rows)

    def _parquet_pieces(self, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        import pyarrow.parquet

        first = True
        wanted = list(self.names if columns is None else columns)
        with _damaged_parquet_named(self.name):
            self.stream.seek(0)
            file = pyarrow.parquet.ParquetFile(self.stream)
            for batch in file.iter_batches(rows, columns=wanted):
                first = False
                batch.validate(full=True)
                # What pandas has written about its own types and index is not needed, and may
                # give other names than those of the file.
                yield batch.to_pandas(ignore_metadata=True)
            if first:
                yield file.schema_arrow.empty_table().select(wanted).to_pandas(ignore_metadata=True)

    def _text_pieces(
        self, columns: Sequence[str] | None, numbers: Collection[str], rows: int | None
    ) -> Iterator[Any]:
        pandas, dialect = pandas_module(), self.dialect
        assert dialect is not None
        # Note: the type of these is left to pandas, which gives texts where it finds some. With a
        # type given, one word would end the reading, and it would have to begin again.
        types = {name: object for name in self.names if name not in numbers}
        with _damage_named(self.name), warnings.catch_warnings():
            # A row with more fields than the header, which pandas cuts with a warning.
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            found = pandas.read_csv(
                unpacked(self.stream, dialect.packed),
                sep=dialect.separator,
                decimal=dialect.decimal,
                encoding=dialect.encoding,
                names=list(self.names),
                header=0,
                index_col=False,
                usecols=None if columns is None else list(dict.fromkeys(columns)),
                dtype=types,
                keep_default_na=False,
                na_values=[""],
                skipinitialspace=True,
                chunksize=rows,
                low_memory=rows is not None,
            )
            if rows is None:
                yield found
            else:
                yield from found


@contextlib.contextmanager
def open_table(source: str | os.PathLike[str] | BinaryIO) -> Iterator[TableFile]:
    r"""Open a CSV or Parquet file, compressed by gzip or not; ``-`` for standard input.

    Parameters
    ----------
    source : str, path or binary file
        What to read. Standard input, or anything that cannot be read twice, is first copied into
        a temporary file.

    Yields
    ------
    file : TableFile

    Raises
    ------
    TableError
        If it does not hold a table.

    Examples
    --------
    >>> import io
    >>> from polychotomy.tables import open_table
    >>> with open_table(io.BytesIO(b"a;b\n1,5;x\n2,5;y\n")) as file:
    ...     print(file.names, file.dialect.separator, file.dialect.decimal)
    ('a', 'b') ; ,
    """
    with contextlib.ExitStack() as stack:
        stream, name = _stream(source, stack)
        stream.seek(0)
        start = stream.read(4)
        if start == PARQUET:
            yield TableFile(stream, name, None, _parquet_names(stream, name))
            return
        if start[:2] == b"PK":
            raise TableError(
                f"{name} is an archive or an Excel file; save the sheet as CSV and use that."
            )
        dialect = find_dialect(stream, name)
        names = tuple(field or f"column {number}" for number, field in enumerate(dialect.header, 1))
        yield TableFile(stream, name, dialect, names)


def _stream(source: Any, stack: contextlib.ExitStack) -> tuple[BinaryIO, str]:
    if hasattr(source, "read"):
        stream, name = source, "The file"
    elif os.fspath(source) == "-":
        stream, name = sys.stdin.buffer, "Standard input"
    else:
        path = Path(source)
        if path.is_dir():
            raise TableError(f"{str(path)!r} is a directory; give a CSV or Parquet file in it.")
        try:
            stream, name = stack.enter_context(path.open("rb")), str(path)
        except FileNotFoundError:
            raise TableError(f"There is no file {str(path)!r}.") from None
        except PermissionError:
            raise TableError(f"{str(path)!r} cannot be read: permission denied.") from None
    if not stream.seekable():
        stream = stack.enter_context(_copied(stream))
    return stream, name


@contextlib.contextmanager
def _copied(stream: BinaryIO) -> Iterator[BinaryIO]:
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(stream, copy)
        yield copy


def _parquet_names(stream: BinaryIO, name: str) -> tuple[str, ...]:
    parquet = needed("pyarrow.parquet", "files", "Parquet files need pyarrow")
    with _damaged_parquet_named(name):
        stream.seek(0)
        found = parquet.ParquetFile(stream).schema_arrow.names
    twice = sorted(one for one, count in Counter(found).items() if count > 1)
    if twice:
        raise TableError(f"{name} has two columns with the name {twice[0]!r}; rename one.")
    return tuple(one for one in found if not INDEX_OF_PANDAS.fullmatch(one))


@contextlib.contextmanager
def _damaged_parquet_named(name: str) -> Iterator[None]:
    """Turn every error into one sentence: damaged files reach all parts of pyarrow and pandas."""
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise TableError(f"{name} cannot be read: {_first_line(error)}.") from None
        raise TableError(f"{name} is a damaged Parquet file: {_first_line(error)}.") from None


@contextlib.contextmanager
def _damage_named(name: str) -> Iterator[None]:
    """Turn errors of the readers into one sentence."""
    pandas = pandas_module()
    try:
        yield
    except TableError:
        raise
    except (pandas.errors.ParserError, pandas.errors.ParserWarning) as error:
        raise TableError(_parser_sentence(name, str(error))) from None
    except UnicodeDecodeError:
        raise TableError(f"{name} mixes several encodings; save it as UTF-8.") from None
    except (EOFError, OSError) as error:
        raise TableError(f"{name} cannot be read: {_first_line(error)}.") from None


def _parser_sentence(name: str, message: str) -> str:
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message)
    if found:
        wanted, line, seen = found.groups()
        return (
            f"Line {line} of {name} has {seen} fields, the header {wanted}; quote fields that "
            "contain the separator."
        )
    if "Length of header" in message:
        return f"{name} has rows with more fields than the header; quote fields with separators."
    return f"{name} cannot be read as CSV: {message.splitlines()[0].strip().rstrip('.')}."


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")
