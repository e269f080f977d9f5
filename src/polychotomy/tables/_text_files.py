"""CSV files."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from ._dialect import dialect_note, find_dialect, mixed_encodings
from ._errors import TableError, pandas_module
from ._files import PIECE_ROWS, TableFile
from ._unpacking import damage_of_packed_named, unpacked


@dataclass(frozen=True)
class TextFile(TableFile):
    """A CSV file, as it is or compressed."""

    stream: Any = None

    def read(self, words: Collection[str] = ()) -> Any:
        """Return the whole table as a DataFrame; see `TableFile.read`."""
        (frame,) = self._pieces(None, self.typed.difference(words), None)
        return frame

    def pieces(
        self,
        columns: Sequence[str] | None = None,
        numbers: Collection[str] = (),
        rows: int = PIECE_ROWS,
    ) -> Iterator[Any]:
        """Read the table piece by piece; see `TableFile.pieces`."""
        return self._pieces(columns, numbers, rows)

    def _pieces(
        self, columns: Sequence[str] | None, numbers: Collection[str], rows: int | None
    ) -> Iterator[Any]:
        pandas, dialect = pandas_module(), self.dialect
        assert dialect is not None
        # Note: the type of these is left to pandas, which gives texts where it finds some. With a
        # type given, one word would end the reading, and it would have to begin again.
        types = {name: object for name in self.names if name not in numbers}
        with damage_of_packed_named(self.name), _damage_named(self), warnings.catch_warnings():
            # A row with more fields than the header, which pandas cuts with a warning.
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            found = pandas.read_csv(
                unpacked(self.stream, dialect.packed),
                sep=dialect.separator,
                decimal=dialect.decimal,
                encoding=dialect.encoding,
                names=list(self.names),
                header=0,
                skiprows=dialect.above,
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


def open_text(stream: BinaryIO, name: str, packed: str) -> TextFile:
    """Detect the format of a CSV file."""
    dialect = find_dialect(stream, name, packed)
    names = tuple(field or f"column {number}" for number, field in enumerate(dialect.header, 1))
    note = dialect_note(dialect)
    return TextFile(name, names, dialect, () if note is None else (note,), stream)


@contextlib.contextmanager
def _damage_named(file: TextFile) -> Iterator[None]:
    """Turn errors of the readers into one sentence."""
    pandas, name, dialect = pandas_module(), file.name, file.dialect
    try:
        yield
    except TableError:
        raise
    except (pandas.errors.ParserError, pandas.errors.ParserWarning) as error:
        raise TableError(_parser_sentence(name, str(error))) from None
    except UnicodeDecodeError:
        assert dialect is not None
        raise mixed_encodings(file.stream, name, dialect.packed, dialect.encoding) from None


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
