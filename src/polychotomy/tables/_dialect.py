"""The format of a text file: compression, encoding, separator, decimal point."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, BinaryIO

from ._errors import TableError
from ._numbers import has_decimal
from ._unpacking import damage_of_packed_named, unpacked

BINARY = (
    "{name} holds binary data, not a table; give a CSV, Parquet, Feather, JSON lines or Excel file."
)
SEPARATORS = ",;\t|"
BLOCK = 1 << 20
# How many characters are read to find the separator; more where they are not this many lines.
LOOKED_AT = 1 << 16
LINES_LOOKED_AT = 5
MOST_LOOKED_AT = 1 << 24
NUMBER_WITH_COMMA = re.compile(r"[-+]?\d+,\d+(e[-+]?\d+)?", re.IGNORECASE)
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
# What pandas would read as something else than the word that it is.
WORD_OF_PANDAS = re.compile(r"true|false|0\d+", re.IGNORECASE)
# The rows that are looked at to find out whether pandas may find the type of a column.
TYPED_ROWS = 500
# What programs write above the header to tell Excel the separator.
SEPARATOR_LINE = re.compile(rf'"?sep=([{SEPARATORS}])"?(\r\n|\n|\r)', re.IGNORECASE)
# The header may be so far down, below lines that are not part of the table.
ROWS_ABOVE_HEADER = 20
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True)
class Dialect:
    """The format of a text file with a table.

    Parameters
    ----------
    packed : str
        How it is compressed: "gzip", "bz2", "xz" or "zip"; empty if it is not.
    encoding : str
        The encoding of its characters.
    separator : str
        The character between fields.
    decimal : str
        The decimal point.
    sure : bool
        Whether the fields show that it is the decimal point: ``1.234`` does not, ``0.5`` does.
    header : tuple of str
        The names of the columns.
    typed : tuple of bool
        For each column, whether its first fields show its type: numbers, or words.
    first_rows : tuple of tuple of str
        Some lines after the header.
    above : int
        The number of lines above the header: one, if it tells the separator.
    """

    packed: str
    encoding: str
    separator: str
    decimal: str
    sure: bool
    header: tuple[str, ...]
    typed: tuple[bool, ...]
    first_rows: tuple[tuple[str, ...], ...] = ()
    above: int = 0


def find_dialect(stream: BinaryIO, name: str, packed: str = "") -> Dialect:
    """Detect the format of a text file; `name` is for messages."""
    with damage_of_packed_named(name):
        encoding = _encoding(unpacked(stream, packed), name)
    text = io.TextIOWrapper(unpacked(stream, packed), encoding=encoding, newline="")
    try:
        sample = _sample(text, name)
    except UnicodeDecodeError:
        raise mixed_encodings(stream, name, packed, encoding) from None
    text.detach()
    told = SEPARATOR_LINE.match(sample)
    sample = sample[told.end() :] if told else sample
    if not sample.strip():
        raise TableError(f"{name} is empty.")
    separator = told[1] if told else _separator(sample)
    rows = _fields(sample, separator)
    header = tuple(field.strip() for field in rows[0])
    _check_header(header, rows[1:], name)
    decimal = _decimal(rows[1:], separator)
    sure = _is_sure(rows[1:], separator, decimal)
    typed = _typed(rows[1:], len(header))
    first_rows = tuple(tuple(map(str.strip, row)) for row in rows[1:ROWS_ABOVE_HEADER])
    above = int(told is not None)
    return Dialect(packed, encoding, separator, decimal, sure, header, typed, first_rows, above)


def mixed_encodings(stream: BinaryIO, name: str, packed: str, encoding: str) -> TableError:
    """Return the error for a file that does not have one encoding, with the line that shows it."""
    decoder = codecs.getincrementaldecoder(encoding)()
    plain = encoding.removesuffix("-sig")
    begins = "begins as" if encoding in MARKS.values() else "looks like"
    for number, line in enumerate(unpacked(stream, packed), 1):
        try:
            decoder.decode(line)
        except UnicodeDecodeError as error:
            wrong = error.object[error.start : error.start + 1].hex()
            return TableError(
                f"{name} mixes several encodings: it {begins} {plain}, but line {number} has "
                f"the byte 0x{wrong}, which is none of its letters; save the file as UTF-8."
            )
    return TableError(f"{name} mixes several encodings; save it as UTF-8.")


def looks_like_data(header: tuple[str, ...]) -> bool:
    """Return whether a header looks like a row of data: at least half of it are numbers."""
    return sum(bool(NUMBER.fullmatch(field)) for field in header) * 2 >= len(header)


def _sample(text: io.TextIOWrapper, name: str) -> str:
    """Return the first lines of a file, none of them cut."""
    sample, size = text.read(LOOKED_AT), LOOKED_AT
    if "\n" not in sample and "\r" in sample:  # lines as on old Macs
        return sample.replace("\r", "\n")
    while len(sample) == size < MOST_LOOKED_AT and _n_lines(sample) < LINES_LOOKED_AT:
        sample += text.read(size)
        size *= 2
    if not sample.strip():
        raise TableError(f"{name} is empty.")
    if len(sample) < size:
        return sample
    if _n_lines(sample) < 2:
        raise TableError(
            f"{name} has no two lines in its first {size:,} characters; give a table with one row "
            "in each line."
        )
    return sample[: sample.rfind("\n") + 1]


def _n_lines(sample: str) -> int:
    """Return the number of lines that are whole and not blank."""
    return sum(bool(line.strip()) for line in sample.split("\n")[:-1])


def _encoding(stream: BinaryIO, name: str) -> str:
    try:
        start = stream.read(BLOCK)
        for mark, encoding in MARKS.items():
            if start.startswith(mark):
                return encoding
        if b"\0" in start:
            raise TableError(BINARY.format(name=name))
        decoder = codecs.getincrementaldecoder("utf-8")()
        block = start
        while block:
            decoder.decode(block)
            block = stream.read(BLOCK)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return _western(start, name)
    return "utf-8"


def _western(start: bytes, name: str) -> str:
    """Return the encoding of Western Windows, or of old web pages if that does not fit."""
    control = sum(byte < 32 and byte not in b"\t\n\r\f" for byte in start)
    if control:
        raise TableError(BINARY.format(name=name))
    return "cp1252" if not any(byte in b"\x81\x8d\x8f\x90\x9d" for byte in start) else "latin-1"


def _fields(sample: str, separator: str) -> list[list[str]]:
    lines = csv.reader(io.StringIO(sample), delimiter=separator, skipinitialspace=True)
    limit = csv.field_size_limit(max(len(sample), 1))  # what pandas reads has no limit either
    try:
        return [row for row in lines if row]
    except csv.Error:
        return [[]]
    finally:
        csv.field_size_limit(limit)


def _separator(sample: str) -> str:
    """Return the separator that gives most rows the header's number of fields, and the most."""

    def judged(separator: str) -> tuple[float, int]:
        rows = _fields(sample, separator)
        width = len(rows[0])
        agreeing = sum(len(row) == width for row in rows) / len(rows)
        return (agreeing > 0.9) * (width > 1), width

    return max(SEPARATORS, key=judged)


def _decimal(rows: list[list[str]], separator: str) -> str:
    if separator == ",":
        return "."
    fields = [field.strip() for row in rows for field in row]
    commas = sum(bool(NUMBER_WITH_COMMA.fullmatch(field)) for field in fields)
    points = sum("." in field and bool(NUMBER.fullmatch(field)) for field in fields)
    return "," if commas > points else "."


def _is_sure(rows: list[list[str]], separator: str, decimal: str) -> bool:
    """Return whether no field shows another decimal point, and some show this one.

    Between commas, a number with a decimal comma is the exception, which needs quotes.
    """
    other = "," if decimal == "." else "."
    fields = [field for row in rows for field in row]
    if any(has_decimal(field, other) for field in fields):
        return False
    return separator == "," or any(has_decimal(field, decimal) for field in fields)


def _typed(rows: list[list[str]], width: int) -> tuple[bool, ...]:
    """Return for which columns pandas can be trusted to find the type, by their first rows.

    It turns TRUE into True and 007 into 7, so that a word is not what it was in the file, and for a
    column that begins with many empty fields nobody knows.
    """
    columns = zip(*([*row, *[""] * width][:width] for row in rows[:TYPED_ROWS]), strict=True)
    kinds = []
    for column in columns:
        fields = {field for field in map(str.strip, column) if field}
        odd = any(WORD_OF_PANDAS.fullmatch(field) for field in fields)
        kinds.append(bool(fields) and not odd)
    return tuple(kinds)


def _check_header(header: tuple[str, ...], rows: list[list[str]], name: str) -> None:
    twice = {field for field, count in Counter(header).items() if field and count > 1}
    if twice and not looks_like_data(header):
        raise TableError(f"The header of {name} has the name {min(twice)!r} twice; rename one.")
    if not rows:
        raise TableError(f"{name} has a header but no rows.")
    if len(header) == 1 and max(map(len, rows)) > 1:
        raise TableError(
            f"The first line of {name} ({header[0][:40]!r}) has one field, but others have more; "
            "remove lines above the header."
        )
    for number, row in enumerate(rows, 1):
        if len(row) > len(header):
            raise TableError(
                f"Row {number} of {name} has {len(row)} fields, the header {len(header)}; quote "
                "fields that contain the separator."
            )


def dialect_note(dialect: Dialect) -> str | None:
    """Return what is unusual about the format, for the user to check; None if nothing is."""
    words: list[Any] = []
    if dialect.encoding not in ("utf-8", "utf-8-sig"):
        words.append(f"the encoding {dialect.encoding}")
    if dialect.separator != ",":
        words.append(f"the separator {dialect.separator!r}")
    if dialect.decimal != ".":
        words.append("decimal commas")
    return f"Read with {' and '.join(words)}." if words else None
