"""Scores of sparse coefficients: to the last bit those of SciPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, random_array

from polychotomy.native import _core


def ours(kernel, sparse, biases):
    scores = np.full((len(kernel), sparse.shape[1]), np.nan)
    _core.sparse_scores(
        kernel,
        sparse.indptr.astype(np.int32),
        sparse.indices.astype(np.int32),
        sparse.data,
        biases,
        scores,
    )
    return scores


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 40),
    st.integers(1, 30),
    st.integers(0, 30),
    st.sampled_from([0.0, 0.2, 1.0]),
    st.integers(0, 100),
)
def test_it_is_the_product_of_scipy(n_rows, n_support, n_columns, density, seed):
    rng = np.random.default_rng(seed)
    kernel, biases = rng.standard_normal((n_rows, n_support)), rng.standard_normal(n_columns)
    shape = n_support, n_columns
    sparse = csc_array(random_array(shape, density=density, rng=rng, data_sampler=rng.normal))
    expected = np.asarray(kernel @ sparse)
    expected += biases
    assert np.array_equal(ours(kernel, sparse, biases), expected)


@pytest.mark.parametrize(
    ("starts", "rows"),
    [([0, 1, 3], [0, 1]), ([1, 1, 2], [0, 1]), ([0, 2, 1], [0, 1]), ([0, 1, 2], [0, -1])],
    ids=["too many", "not from the first", "descending", "below 0"],
)
def test_entries_that_do_not_exist_are_refused(starts, rows):
    sparse = csc_array((2, 2))
    sparse.indptr, sparse.indices = np.array(starts), np.array(rows)
    sparse.data = np.ones(len(rows))
    with pytest.raises(ValueError, match="entry that does not exist"):
        ours(np.ones((1, 2)), sparse, np.zeros(2))


def test_shapes_that_do_not_fit_are_refused():
    sparse = csc_array(np.ones((2, 2)))
    with pytest.raises(ValueError, match="same columns"):
        ours(np.ones((1, 2)), sparse, np.zeros(3))
    sparse.indices = np.array([0, 1, 0, 2])
    with pytest.raises(ValueError, match="does not exist"):
        ours(np.ones((1, 2)), sparse, np.zeros(2))
