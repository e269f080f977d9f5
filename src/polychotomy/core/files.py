"""Files that are written whole, or stay as they were.

Design note: the temporary file is in the folder of the target, not in that of the system, because
only a rename within one file system is atomic. It is written to the disk before the rename: without
that, a power failure can leave an empty file under the new name.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from typing import BinaryIO


def refuse(path: str | os.PathLike[str]) -> None:
    """Refuse a path that cannot be written to, before any work is done."""
    target = os.path.realpath(os.fsdecode(path))
    folder, name = os.path.split(target)
    if os.path.isdir(target):
        raise IsADirectoryError(f"{os.fsdecode(path)!r} is a directory; name a file in it.")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"There is no directory {folder!r} to write {name!r} into.")
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise PermissionError(f"{os.fsdecode(path)!r} is write-protected.")


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file at once; see `replacing`."""
    with replacing(path) as stream:
        stream.write(data)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    r"""Open a temporary file that replaces another when the block ends without an exception.

    The mode of an existing file is kept, a new one follows the umask; a symbolic link stays one.
    A device or a pipe cannot be replaced and is written to directly.

    Parameters
    ----------
    path : str or path-like
        The file to replace, or a new one.

    Yields
    ------
    stream : binary file
        It must be left open.

    Examples
    --------
    >>> import os, tempfile
    >>> from polychotomy.core.files import replacing
    >>> path = os.path.join(tempfile.mkdtemp(), "new.csv")
    >>> with replacing(path) as stream:
    ...     _ = stream.write(b"a,b\n")
    ...     os.path.exists(path)
    False
    >>> os.path.getsize(path)
    4
    """
    refuse(path)
    target = os.path.realpath(os.fsdecode(path))
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as stream:
            yield stream
        return
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.chmod(temporary, os.stat(target).st_mode & 0o7777)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    # So that the new name survives a power failure too; not every system can do it.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
