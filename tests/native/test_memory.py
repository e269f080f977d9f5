"""Arrays whose memory is used again."""

import gc
import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from polychotomy.native.memory import recycled_empty, recycled_zeros, released_at_end

SHAPE = (300, 401)


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again_when_the_array_is_gone():
    first = recycled_empty(SHAPE)
    place = address(first)
    del first
    gc.collect()
    assert address(recycled_empty(SHAPE)) == place


def test_large_memory_is_given_back_at_the_end():
    with released_at_end():
        kept = recycled_zeros(SHAPE)
        for n_megabytes in (1, 40, 30, 20):
            recycled_empty((n_megabytes, 2**17)).fill(1.0)
    assert not kept.any()
    for n_megabytes in (1, 40, 30, 20):
        assert not recycled_zeros((n_megabytes, 2**17)).any()


def test_memory_is_not_used_again_while_a_view_is_left():
    first = recycled_zeros(SHAPE)
    view = first[3:5].T[::2]
    del first
    gc.collect()
    others = [recycled_empty(SHAPE) for _ in range(5)]
    for other in others:
        other.fill(1.0)
    assert not view.any()


def test_zeros_are_zero_whatever_was_there():
    recycled_empty(SHAPE).fill(np.nan)
    array = recycled_zeros(SHAPE)
    assert array.shape == SHAPE
    assert array.dtype == np.float64
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert not array.any()


@pytest.mark.parametrize("shape", [(0,), (0, 5), (3,), (2**13,), (2**13 + 1,), (2**24,)])
def test_any_size(shape):
    array = recycled_zeros(shape)
    assert array.shape == shape
    assert not array.any()


def test_arrays_of_several_threads_are_apart():
    def fill(number):
        arrays = [recycled_empty((n, 100)) for n in (100, 400, 900)]
        for array in arrays:
            array.fill(number)
        return all((array == number).all() for array in arrays)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(fill, range(400)))


def test_pickled_and_copied():
    array = recycled_zeros(SHAPE)
    array[:] = np.arange(SHAPE[1])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array)), array)
    assert address(array.copy()) != address(array)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_after_a_fork():
    recycled_empty(SHAPE)
    child = os.fork()
    if child == 0:
        os._exit(0 if not recycled_zeros(SHAPE).any() else 1)
    assert os.waitpid(child, 0)[1] == 0
