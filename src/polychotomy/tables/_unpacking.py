"""Compressed files."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from ._errors import TableError

# How compressed files begin.
BEGINNINGS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip"}
EXCEL = "xl/workbook.xml"


def packing(start: bytes) -> str:
    """Return how a file is compressed, by its first bytes; empty if it is not."""
    found = (kind for begins, kind in BEGINNINGS.items() if start.startswith(begins))
    return next(found, "")


def unpacked(stream: BinaryIO, packed: str) -> BinaryIO:
    """Return the stream from its beginning, decompressed."""
    stream.seek(0)
    opened: Any = stream
    if packed == "gzip":
        opened = gzip.GzipFile(fileobj=stream)
    elif packed == "bz2":
        opened = bz2.BZ2File(stream)
    elif packed == "xz":
        opened = lzma.LZMAFile(stream)  # noqa: SIM115, the stream is closed by its owner
    elif packed == "zip":
        archive = zipfile.ZipFile(stream)
        opened = archive.open(members(archive)[0])
    return cast(BinaryIO, opened)


def members(archive: zipfile.ZipFile) -> list[str]:
    """Return the files in a zip archive, without those that only one system uses."""
    return [
        one.filename
        for one in archive.infolist()
        if not one.is_dir() and not one.filename.startswith("__MACOSX/")
    ]


@contextlib.contextmanager
def damage_of_packed_named(name: str) -> Iterator[None]:
    """Turn errors of damaged archives into one sentence."""
    try:
        yield
    except TableError:
        raise
    except (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise TableError(f"{name} is damaged: it cannot be decompressed ({error}).") from None
    except (NotImplementedError, RuntimeError) as error:  # an archive with a password
        raise TableError(f"{name} cannot be decompressed: {error}.") from None
