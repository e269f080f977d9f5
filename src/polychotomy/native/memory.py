"""Large arrays whose memory is reused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from . import _core

__all__ = ["recycled_empty", "recycled_zeros", "released_at_end"]

FloatArray = NDArray[np.float64]

# NumPy allocates smaller ones, which would waste most of a block.
LEAST_SIZE = _core.RECYCLED_STEP


def recycled_empty(shape: tuple[int, ...]) -> FloatArray:
    """Return an uninitialised array, which may reuse memory of earlier arrays.

    A search fills arrays of the same size for every kernel. To fetch their pages from the system
    each time can take as long as the work on them. So up to 256 MiB are kept during a search, and
    32 MiB after it.

    Parameters
    ----------
    shape : tuple of int
        The shape.

    Returns
    -------
    array : ndarray
        Its memory is reused when it and all views of it are gone.

    Examples
    --------
    >>> from polychotomy.native.memory import recycled_empty
    >>> recycled_empty((100, 200)).shape
    (100, 200)
    """
    count = math.prod(shape)
    return np.empty(shape) if count < LEAST_SIZE else _core.recycled(count).reshape(shape)


def recycled_zeros(shape: tuple[int, ...]) -> FloatArray:
    """Return an array of zeros, which may reuse memory of earlier arrays.

    Parameters
    ----------
    shape : tuple of int
        The shape.

    Returns
    -------
    array : ndarray
        As of `recycled_empty`.

    Examples
    --------
    >>> from polychotomy.native.memory import recycled_zeros
    >>> recycled_zeros((100, 200)).any()
    np.False_
    """
    array = recycled_empty(shape)
    array.fill(0.0)
    return array


@contextmanager
def released_at_end() -> Iterator[None]:
    """Return the kept memory to the system, except for 32 MiB, at the end of the block.

    Examples
    --------
    >>> from polychotomy.native.memory import recycled_zeros, released_at_end
    >>> with released_at_end():
    ...     total = sum(recycled_zeros((100, 200)).sum() for _ in range(3))
    """
    try:
        yield
    finally:
        _core.release_recycled()
