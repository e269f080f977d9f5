"""Factorisations of large symmetric matrices that other threads and Ctrl-C need not wait for.

Note: SciPy's own wrappers of LAPACK keep Python's global lock until LAPACK is done. A second thread
then waits instead of factorising another matrix, and Ctrl-C is heard ten seconds late at 5,000
rows. The same routines of the same library, called through the pointers that SciPy publishes for
Cython (`scipy.linalg.cython_lapack`), give the same bits without the lock. NumPy's functions
release it, too, but there is no tridiagonal form among them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from threading import Thread, current_thread, main_thread
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack

from .types import FloatArray

# Smaller matrices take a fraction of a second, and no thread of their own.
LEAST_ROWS = 800
# How often the main thread looks, in seconds. (Where signals interrupt waiting it need not look.)
PATIENCE = 0.05


def tridiagonal_form(
    matrix: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return ``Q T Q'`` of a symmetric matrix whose lower triangle is given (``dsytrd``).

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Overwritten if it is in Fortran order.

    Returns
    -------
    packed : ndarray of shape (n, n)
        The Householder vectors, below the first subdiagonal.
    diagonal, off_diagonal, factors : ndarray of shape (n,), (n - 1,), (n - 1,)
        T, and the factors of the Householder vectors.
    """
    packed = np.asfortranarray(matrix)
    n = len(packed)
    diagonal = np.empty(n)
    off_diagonal, factors = np.empty(max(n - 1, 0)), np.empty(max(n - 1, 0))
    given = (b"L", n, packed, max(n, 1), diagonal, off_diagonal, factors)
    _call("dsytrd", n, *given, *_work(_asked("dsytrd", *given, np.empty(1), -1)))
    return packed, diagonal, off_diagonal, factors


def cholesky(matrix: FloatArray) -> tuple[FloatArray, bool]:
    """Return the lower factor of a matrix whose lower triangle is given (``dpotrf``).

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Overwritten if it is in Fortran order.

    Returns
    -------
    triangle : ndarray of shape (n, n)
        The factor, with zeros above the diagonal.
    failed : bool
        Whether the matrix is not positive definite.
    """
    triangle = np.asfortranarray(matrix)
    n = len(triangle)
    failed = _call("dpotrf", n, b"L", n, triangle, max(n, 1))
    for column in range(1, n):
        triangle[:column, column] = 0.0
    return triangle, failed != 0


def eigenvectors(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues and eigenvectors of a matrix whose lower triangle is given (``dsyevd``).

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Overwritten if it is in Fortran order.

    Returns
    -------
    values : ndarray of shape (n,)
        Ascending.
    vectors : ndarray of shape (n, n)
        One eigenvector in each column.
    """
    vectors = np.asfortranarray(matrix)
    n = len(vectors)
    values = np.empty(n)
    given = (b"V", b"L", n, vectors, max(n, 1), values)
    whole = np.empty(1, dtype=np.intc)
    work, size = _work(_asked("dsyevd", *given, np.empty(1), -1, whole, -1))
    integers = np.empty(max(int(whole[0]), 1), dtype=np.intc)
    if _call("dsyevd", n, *given, work, size, integers, len(integers)):
        raise np.linalg.LinAlgError("The eigenvalues did not converge.")
    return values, vectors


def tridiagonal_eigenvectors(
    diagonal: FloatArray, off_diagonal: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues and eigenvectors of a symmetric tridiagonal matrix (``dstevd``).

    Parameters
    ----------
    diagonal, off_diagonal : ndarray of shape (n,), (n - 1,)
        The matrix.

    Returns
    -------
    values : ndarray of shape (n,)
        Ascending.
    vectors : ndarray of shape (n, n)
        One eigenvector in each column.
    """
    n = len(diagonal)
    values, vectors = np.array(diagonal), np.empty((n, n), order="F")
    # LAPACK overwrites both, and wants an address even where there is no number.
    given = (b"V", n, values, np.append(off_diagonal, 0.0), vectors, max(n, 1))
    whole = np.empty(1, dtype=np.intc)
    work, size = _work(_asked("dstevd", *given, np.empty(1), -1, whole, -1))
    integers = np.empty(max(int(whole[0]), 1), dtype=np.intc)
    if _call("dstevd", n, *given, work, size, integers, len(integers)):
        raise np.linalg.LinAlgError("The eigenvalues did not converge.")
    return values, vectors


def _asked(name: str, *arguments: Any) -> int:
    """Return the size of the work space that a routine would like to have."""
    _call(name, 0, *arguments)
    sizes = [one for one in arguments if isinstance(one, np.ndarray) and one.dtype == np.float64]
    return int(sizes[-1][0])


def _work(size: int) -> tuple[FloatArray, int]:
    return np.empty(max(size, 1)), max(size, 1)


def _call(name: str, n_rows: int, *arguments: Any) -> int:
    """Call a routine of LAPACK and return its `info`."""
    info = ctypes.c_int(0)
    kept = [_argument(one) for one in (*arguments, info)]
    routine = _routine(name)
    run_interruptibly(lambda: routine(*(pointer for _, pointer in kept)), n_rows)
    if info.value < 0:
        raise ValueError(f"{name}: argument {-info.value} is wrong.")
    return info.value


def _argument(value: Any) -> tuple[Any, int]:
    """Return a value that must be kept while its address, the second, is in use."""
    if isinstance(value, np.ndarray):
        return value, value.ctypes.data
    if isinstance(value, bytes):
        value = ctypes.c_char(value)
    elif isinstance(value, int):
        value = ctypes.c_int(value)
    return value, ctypes.addressof(value)


@lru_cache
def _routine(name: str) -> Callable[..., None]:
    capsule = cython_lapack.__pyx_capi__[name]
    get_name, get_pointer = (
        ctypes.pythonapi.PyCapsule_GetName,
        ctypes.pythonapi.PyCapsule_GetPointer,
    )
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    signature: bytes = get_name(capsule)
    pointers = [ctypes.c_void_p] * (signature.count(b",") + 1)
    # CFUNCTYPE releases the lock during the call.
    return ctypes.CFUNCTYPE(None, *pointers)(get_pointer(capsule, signature))


def run_interruptibly(work: Callable[[], None], n_rows: int) -> None:
    """Run long work that holds no lock, so that Ctrl-C is heard at once.

    In the main thread, large work is done by another one. After an interrupt that one goes on until
    LAPACK is done, unheeded: there is no way to stop it. Other threads are not interrupted.
    """
    if n_rows < LEAST_ROWS or current_thread() is not main_thread():
        work()
        return
    thread = Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(PATIENCE)
