"""Array members: their headers are compared with their contents before NumPy reads them.

Note: `np.load` allocates the shape that a header declares before it finds that the data are
shorter. A header of a few bytes could thus ask for all memory.
"""

from __future__ import annotations

import io
import math
import zipfile
from typing import Any

import numpy as np

from ..core.state import StateError
from ._container import read_member

MAX_DIMENSIONS = 4
MAX_LENGTH = 1 << 40
MAX_ITEMSIZE = 1 << 20
PLAIN_KINDS = "biufUS"
SPARSE_FORMATS = (b"csr", b"csc")
_SPARSE_MEMBERS = {"format.npy", "shape.npy", "data.npy", "indices.npy", "indptr.npy"}


def check_npy(content: bytes, where: str, records: bool = False) -> tuple[tuple[int, ...], Any]:
    """Check the header of an array in NumPy's format against its length.

    Parameters
    ----------
    content : bytes
        The member.
    where : str
        Its name, for messages.
    records : bool, default=False
        Whether it may hold records of plain numbers, such as the nodes of decision trees.

    Returns
    -------
    shape, dtype
    """
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise StateError(where, f"has the unknown array format {version}")
    _check_dtype(dtype, where, records)
    if len(shape) > MAX_DIMENSIONS or any(not 0 <= length <= MAX_LENGTH for length in shape):
        raise StateError(where, f"declares the shape {shape!r:.100}")
    if math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise StateError(where, f"declares the shape {shape!r:.100}, which its size does not match")
    return shape, dtype


def check_npz(content: bytes, where: str, budget: int) -> int:
    """Check the arrays of a sparse matrix in SciPy's format; return their unpacked size."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos = {info.filename: info for info in archive.infolist()}
        names = set(infos) - {"_is_array.npy"}
        if names != _SPARSE_MEMBERS or len(infos) != len(archive.infolist()):
            raise StateError(where, "is not a sparse matrix in CSR or CSC format")
        total = sum(info.file_size for info in infos.values())
        if total > budget:
            raise StateError(where, "unpacks to more than max_size bytes")
        shapes = {
            name: check_npy(read_member(archive, info), f"{where}/{name}")
            for name, info in infos.items()
        }
        shape, dtype = shapes["shape.npy"]
        if shape != (2,) or dtype.kind != "i" or shapes["data.npy"][1].kind not in "biuf":
            raise StateError(where, "is not a sparse matrix of numbers")
        if np.load(io.BytesIO(archive.read("format.npy"))).item() not in SPARSE_FORMATS:
            raise StateError(where, "is not a sparse matrix in CSR or CSC format")
    return total


def _check_dtype(dtype: Any, where: str, records: bool) -> None:
    if dtype.names is not None and records:
        for name in dtype.names:
            _check_dtype(dtype.fields[name][0], where, False)
        return
    plain = dtype.kind in PLAIN_KINDS and dtype.subdtype is None and not dtype.hasobject
    if not plain or not 0 < dtype.itemsize <= MAX_ITEMSIZE:
        raise StateError(where, f"has the type {dtype!r:.60}, which is not a plain type")
