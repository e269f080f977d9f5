"""Large arrays whose memory is used again."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from . import _core

__all__ = ["recycled_empty", "recycled_zeros"]

FloatArray = NDArray[np.float64]

# Smaller ones are left to NumPy.
LEAST_SIZE = 8192


def recycled_empty(shape: tuple[int, ...]) -> FloatArray:
    """Return an array that is not initialised, of memory that was perhaps used before.

    A search fills arrays of the same size for every kernel. To fetch their pages from the system
    each time can take as long as what is done with them, so that up to 64 MiB are kept.

    Parameters
    ----------
    shape : tuple of int
        The shape.

    Returns
    -------
    array : ndarray
        Its memory is free for another one when it and all views of it are gone.

    Examples
    --------
    >>> from polychotomy._native.memory import recycled_empty
    >>> recycled_empty((100, 200)).shape
    (100, 200)
    """
    count = math.prod(shape)
    return np.empty(shape) if count < LEAST_SIZE else _core.recycled(count).reshape(shape)


def recycled_zeros(shape: tuple[int, ...]) -> FloatArray:
    """Return an array of zeros, of memory that was perhaps used before.

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
    >>> from polychotomy._native.memory import recycled_zeros
    >>> recycled_zeros((100, 200)).any()
    np.False_
    """
    array = recycled_empty(shape)
    array.fill(0.0)
    return array
