"""Gram matrices from distances, and the look at them before they are used."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polychotomy.kernels.gaussian import exponential_of
from polychotomy.native import _core


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (3, 7), (300, 411)])
def test_the_kernel_of_distances_is_its_exponential(shape, n_threads):
    distances = np.random.default_rng(0).exponential(3.0, shape)
    found = exponential_of(distances, 0.7, n_threads)
    np.testing.assert_allclose(found, np.exp(-0.7 * distances), rtol=1e-15)


def test_distances_at_the_ends():
    distances = np.array([[0.0, -1e-12, 1e300, np.inf, np.nan]])
    found = exponential_of(distances, 1.0)[0]
    assert found[:2].tolist() == [1.0, 1.0]
    assert (found[2:4] < 1e-300).all()
    assert np.isnan(found[4])


@given(
    n=st.integers(1, 100),
    seed=st.integers(0, 1000),
    dtype=st.sampled_from([np.float64, np.float32]),
    n_threads=st.integers(1, 3),
)
def test_facts_are_those_of_numpy(n, seed, dtype, n_threads):
    gram = np.random.default_rng(seed).normal(size=(n, n)).astype(dtype)
    finite, largest, asymmetry = _core.inspect_gram(gram, n_threads)
    wide = gram.astype(float)
    assert finite
    assert largest == np.abs(wide).max()
    assert asymmetry == np.abs(wide - wide.T).max()


@given(n=st.integers(1, 100), data=st.data(), value=st.sampled_from([np.nan, np.inf, -np.inf]))
def test_one_entry_that_is_not_finite_is_found(n, data, value):
    gram = np.ones((n, n))
    i, j = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    gram[i, j] = value
    assert not _core.inspect_gram(gram, 1)[0]


def test_shapes_are_checked():
    square = np.ones((2, 2))
    with pytest.raises(ValueError, match="square"):
        _core.inspect_gram(np.ones((2, 3)), 1)
    with pytest.raises(ValueError, match="n_threads"):
        _core.inspect_gram(square, 0)
    with pytest.raises(ValueError, match="shape of distances"):
        _core.gaussian_of_distances(square, np.ones((2, 3)), 1.0, 1)
    with pytest.raises(ValueError, match="n_threads"):
        _core.gaussian_of_distances(square, square.copy(), 1.0, 0)


@pytest.mark.parametrize("baseline", [False, True])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (5, 7), (40, 123)])
def test_single_precision_kernels_of_products(shape, baseline):
    random = np.random.default_rng(1)
    products = random.uniform(-60.0, 3.0, shape).astype(np.float32)
    rows, columns = (random.uniform(0.0, 20.0, n).astype(np.float32) for n in shape)
    exact = np.exp(np.minimum((products - rows[:, None]) - columns, 0.0).astype(np.float64))
    _core.use_baseline_lanes(baseline)
    try:
        _core.gaussian_of_single_products(products, rows, columns)
    finally:
        _core.use_baseline_lanes(False)
    np.testing.assert_allclose(products, exact, rtol=2e-7, atol=2e-38)


def test_single_precision_kernels_at_the_ends():
    products = np.array([[0.0, 1e-6, 5.0, -86.9, -87.1, -1e30, -np.inf, np.nan]], dtype=np.float32)
    zeros = np.zeros(8, dtype=np.float32)
    _core.gaussian_of_single_products(products, zeros[:1], zeros)
    assert products[0, :3].tolist() == [1.0, 1.0, 1.0]
    assert 0.0 < products[0, 3] < 1e-37
    assert products[0, 4:7].tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(products[0, 7])
    with pytest.raises(ValueError, match="column term"):
        _core.gaussian_of_single_products(products, zeros, zeros[:1])
