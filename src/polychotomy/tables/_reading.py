"""Opening tables, of whatever format they have."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ..core.words import counted
from ._arrow_files import open_feather, open_parquet, open_parquet_files
from ._errors import TableError
from ._files import TableFile
from ._frame_files import open_excel, open_json_lines
from ._text_files import open_text
from ._unpacking import EXCEL, damage_of_packed_named, members, packing, unpacked

PARQUET, FEATHER, OLD_EXCEL = b"PAR1", (b"ARROW1", b"FEA1"), b"\xd0\xcf\x11\xe0"
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
LOOKED_AT = 1 << 12


@contextlib.contextmanager
def open_table(source: str | os.PathLike[str] | BinaryIO) -> Iterator[TableFile]:
    r"""Open a table: CSV, Parquet, Feather, JSON lines or Excel; ``-`` for standard input.

    CSV and JSON lines may be compressed by gzip, bz2, xz, or as the only file in a zip archive. The
    format is found by what is in the file, not by its name.

    Parameters
    ----------
    source : str, path or binary file
        What to read. A folder of Parquet files, or a pattern such as ``parts/*.parquet``, is one
        table. Standard input, or anything that cannot be read twice, is first copied into a
        temporary file.

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
    ...     print(file.names, file.dialect.separator, file.decimal)
    ('a', 'b') ; ,
    """
    with contextlib.ExitStack() as stack:
        several = _several(source)
        if several is not None:
            yield open_parquet_files(*several, str(source))
            return
        stream, name = _stream(source, stack)
        yield _opened(stream, name)


def is_table_path(data: str) -> bool:
    """Return whether there is a file, a folder, or a pattern that fits some files."""
    return os.path.exists(data) or bool(glob.has_magic(data) and glob.glob(data, recursive=True))


def _opened(stream: BinaryIO, name: str) -> TableFile:
    stream.seek(0)
    start = stream.read(8)
    if start.startswith(PARQUET):
        return open_parquet(stream, name)
    if start.startswith(FEATHER):
        return open_feather(stream, name)
    if start.startswith(OLD_EXCEL):
        raise TableError(f"{name} is an old Excel file (.xls); save it as .xlsx or CSV.")
    packed = packing(start)
    if packed == "zip" and _is_excel(stream, name):
        return open_excel(stream, name)
    with damage_of_packed_named(name):
        text = unpacked(stream, packed).read(LOOKED_AT)
    if text.startswith((PARQUET, *FEATHER)):
        raise TableError(f"{name} is a compressed Parquet or Feather file; decompress it first.")
    first = text.removeprefix(b"\xef\xbb\xbf").lstrip()
    if first.startswith(b"{"):
        return open_json_lines(stream, name, packed)
    if first.startswith((b"[{", b"[\n", b"[\r", b"[ ")):
        raise TableError(f"{name} is a JSON list; write one object per line (JSON lines).")
    if first[:15].lower().startswith((b"<!doctype", b"<html", b"<?xml", b"<table")):
        raise TableError(f"{name} is a web page or XML, not a table; save the table as CSV.")
    return open_text(stream, name, packed)


def _is_excel(stream: BinaryIO, name: str) -> bool:
    """Return whether a zip archive is an Excel file; refuse all others but those of one file."""
    with damage_of_packed_named(name):
        stream.seek(0)
        inside = members(zipfile.ZipFile(stream))
    if EXCEL in inside:
        return True
    if len(inside) != 1:
        raise TableError(
            f"{name} is an archive of {len(inside)} files; give one with a single file, or unpack "
            "it."
        )
    return False


def _several(source: Any) -> tuple[list[Path], Path | None] | None:
    """Return the Parquet files of a folder or pattern, and the folder; None for a single file."""
    if hasattr(source, "read"):
        return None
    given = os.fspath(source)
    if URL.match(given):
        raise TableError(
            f"{given!r} is an address on the network; download the file and give its path."
        )
    folder = Path(given)
    if folder.is_dir():
        found = [path for path in folder.rglob("*.parquet") if _is_part(path.relative_to(folder))]
        if not found:
            raise TableError(
                f"{given!r} is a directory without Parquet files (*.parquet); give a file, or a "
                "directory with some."
            )
        return sorted(found), folder
    if folder.exists() or not glob.has_magic(given):
        return None
    found = sorted(Path(one) for one in glob.glob(given, recursive=True))
    if not found:
        return None
    other = next((path for path in found if path.suffix != ".parquet"), None)
    if other is not None:
        raise TableError(
            f"{given!r} fits {counted(len(found), 'file')}, and {str(other)!r} is not a Parquet "
            "file; give one file, or a pattern of Parquet files."
        )
    return found, None


def _is_part(path: Path) -> bool:
    """Return whether a path below the folder is data: names with a point or line first are not."""
    return not any(part.startswith((".", "_")) for part in path.parts)


def _stream(source: Any, stack: contextlib.ExitStack) -> tuple[BinaryIO, str]:
    if hasattr(source, "read"):
        stream, name = source, "The file"
    elif os.fspath(source) == "-":
        stream, name = sys.stdin.buffer, "Standard input"
    else:
        path = Path(source)
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
