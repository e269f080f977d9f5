"""Scores of test rows by machines on one Gram matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polychotomy.native import _core
from polychotomy.native.held_out import held_out_scores


def path(n_rows, n_folds, n_values, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(n_rows, 3))
    coefficients = rng.normal(size=(n_folds, n_values, n_columns, n_rows))
    coefficients[rng.random(coefficients.shape) < 0.6] = 0.0
    biases = rng.normal(size=(n_folds, n_values, n_columns))
    folds = rng.integers(0, n_folds, n_rows)
    return (
        inputs @ inputs.T,
        coefficients,
        biases,
        [np.flatnonzero(folds == f) for f in range(n_folds)],
    )


def twin(gram, coefficients, biases, tests):
    return [
        np.einsum("vcj,tj->vtc", coefficients[fold], gram[rows]) + biases[fold][:, None, :]
        for fold, rows in enumerate(tests)
    ]


@given(
    st.integers(1, 40), st.integers(1, 4), st.integers(1, 9), st.integers(1, 5), st.integers(0, 99)
)
@settings(max_examples=40, deadline=None)
def test_scores_are_the_product_with_the_gram_matrix(n_rows, n_folds, n_values, n_columns, seed):
    given_ = path(n_rows, n_folds, n_values, n_columns, seed)
    found, expected = held_out_scores(*given_), twin(*given_)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_threads_and_other_values_change_no_bit():
    gram, coefficients, biases, tests = path(90, 3, 7, 6)
    whole = held_out_scores(gram, coefficients, biases, tests, 3)
    for fold, scores in enumerate(held_out_scores(gram, coefficients, biases, tests, 1)):
        np.testing.assert_array_equal(scores, whole[fold])
    for n_values in (1, 2, 3, 5):
        some = held_out_scores(gram, coefficients[:, :n_values], biases[:, :n_values], tests, 2)
        for fold, scores in enumerate(some):
            np.testing.assert_array_equal(scores, whole[fold][:n_values])


def test_loops_for_any_processor():
    given_ = path(50, 2, 7, 4)
    _core.use_baseline_lanes(True)
    try:
        found = held_out_scores(*given_)
    finally:
        _core.use_baseline_lanes(False)
    for one, other in zip(found, twin(*given_), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"gram": np.zeros((4, 5))}, "gram must be square"),
        ({"gram": np.zeros(4)}, "gram must have 2 dimensions"),
        ({"biases": np.zeros((1, 1, 1))}, "a bias for every machine"),
        ({"tests": [[0], [50]]}, "a row that does not exist"),
        ({"tests": [[0], [-1]]}, "a row that does not exist"),
        ({"tests": [[0]]}, "an end for every fold"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(change, sentence):
    gram, coefficients, biases, tests = path(20, 2, 3, 2)
    arguments = {"gram": gram, "coefficients": coefficients, "biases": biases, "tests": tests}
    with pytest.raises(ValueError, match=sentence):
        held_out_scores(**{**arguments, **change})
