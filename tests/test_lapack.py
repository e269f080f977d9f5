"""Factorisations without the lock: SciPy's bits, and threads that do not wait."""

import signal
import threading
import time

import numpy as np
import pytest
from scipy.linalg import eigh, eigvalsh_tridiagonal
from scipy.linalg.lapack import dpotrf, dsytrd, dsytrd_lwork

from polychotomy.core import lapack

SIZES = [1, 2, 3, 5, 40, 130]


def matrix_of(n, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return np.asfortranarray(A @ A.T + np.eye(n))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_tridiagonal_form_has_the_bits_of_scipy(n, order):
    A = matrix_of(n)
    lwork = max(1, int(dsytrd_lwork(n, lower=1)[0]))
    expected = dsytrd(A, lower=1, lwork=lwork)
    found = lapack.tridiagonal_form(np.array(A, order=order))
    for one, other in zip(found, expected[:4], strict=True):
        np.testing.assert_array_equal(np.tril(one) if one.ndim == 2 else one,
                                      np.tril(other) if other.ndim == 2 else other)  # fmt: skip
    values = eigvalsh_tridiagonal(found[1], found[2])
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A), rtol=1e-10)


@pytest.mark.parametrize("n", SIZES)
def test_the_cholesky_factor_has_the_bits_of_scipy(n):
    A = matrix_of(n)
    expected, _ = dpotrf(A, lower=1, clean=1)
    found, failed = lapack.cholesky(A.copy(order="F"))
    assert not failed
    np.testing.assert_array_equal(found, expected)


def test_a_matrix_that_is_not_definite_fails():
    assert lapack.cholesky(np.diag([1.0, -1.0]))[1]


@pytest.mark.parametrize("n", SIZES)
def test_eigenvectors_have_the_bits_of_scipy(n):
    A = matrix_of(n)
    values, vectors = eigh(A, lower=True, driver="evd")
    found = lapack.eigenvectors(A.copy(order="F"))
    np.testing.assert_array_equal(found[0], values)
    np.testing.assert_array_equal(found[1], vectors)


@pytest.mark.parametrize("n", SIZES)
def test_eigenvectors_of_a_tridiagonal_matrix(n):
    random = np.random.default_rng(n)
    diagonal, beside = random.standard_normal(n), random.standard_normal(n - 1)
    T = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    values, vectors = lapack.tridiagonal_eigenvectors(diagonal, beside)
    np.testing.assert_allclose(vectors * values @ vectors.T, T, atol=1e-13)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=1e-13)
    # What was given is unchanged.
    np.testing.assert_array_equal(T.diagonal(), diagonal)


def test_only_the_lower_triangle_is_read():
    A = matrix_of(20)
    lower = np.asfortranarray(np.tril(A))
    np.testing.assert_array_equal(lapack.eigenvectors(lower.copy(order="F"))[0],
                                  lapack.eigenvectors(A.copy(order="F"))[0])  # fmt: skip
    np.testing.assert_array_equal(lapack.cholesky(lower)[0], lapack.cholesky(A)[0])


def test_a_large_matrix_in_the_main_thread_has_the_same_bits(monkeypatch):
    A = matrix_of(60)
    expected = lapack.cholesky(A.copy(order="F"))[0]
    monkeypatch.setattr(lapack, "LEAST_ROWS", 10)
    np.testing.assert_array_equal(lapack.cholesky(A.copy(order="F"))[0], expected)


def test_other_threads_run_during_a_factorisation():
    A = matrix_of(600)
    done, turns = threading.Event(), 0

    def work():
        lapack.eigenvectors(A)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        turns += 1
        time.sleep(0.001)
    thread.join()
    # With the lock held there would be a handful of turns, before and after.
    assert turns > 5


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer")
def test_an_interrupt_is_heard_before_the_work_is_done():
    released, finished = threading.Event(), threading.Event()

    def work():
        released.wait()
        finished.set()

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            lapack.run_interruptibly(work, lapack.LEAST_ROWS)
        assert not finished.is_set()
    finally:
        released.set()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
