"""Files that are there whole, or as they were before."""

from __future__ import annotations

import contextlib
import os
import secrets


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
    """Write a file by way of a temporary one in the same directory.

    The mode of an existing file is kept, a new one follows the umask; a symbolic link stays one.
    """
    refuse(path)
    target = os.path.realpath(os.fsdecode(path))
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(temporary, flags, 0o666), "wb") as stream:
            stream.write(data)
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
