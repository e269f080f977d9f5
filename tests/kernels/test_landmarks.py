"""Landmarks and features against plain NumPy, and on rows that leave little to choose."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.kernel_approximation import Nystroem

from polychotomy.core.contents import sample_by_content
from polychotomy.kernels import (
    Function,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    choose_landmarks,
)
from polychotomy.kernels.landmark_choice import CHOICES, pivoted_cholesky

RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((120, 4))
KERNELS = [
    Gaussian(0.2),
    Laplacian(0.3),
    Linear(),
    Polynomial(gamma=0.5, degree=2, coef0=1.0),
    Function(lambda A, B: (A @ B.T + 1.0) ** 2),
]


def plain(gram, number, random):
    """Return the pivots and the factor of algorithm 1 of Chen and others, one row at a time."""
    left = gram.diagonal().copy()
    factor, pivots = np.zeros((len(gram), number)), []
    for step in range(number):
        if left.sum() <= 1e-13 * gram.trace():
            break
        pivot = int(random.choice(len(gram), size=1, p=left / left.sum())[0])
        random.random(1)  # what the test of acceptance draws
        column = gram[:, pivot] - factor[:, :step] @ factor[pivot, :step]
        factor[:, step] = column / np.sqrt(column[pivot])
        left = np.maximum(left - factor[:, step] ** 2, 0.0)
        left[pivot] = 0.0
        pivots.append(pivot)
    return np.array(pivots), factor[pivots, : len(pivots)]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_pivoted_cholesky_is_the_plain_algorithm(kernel):
    rows, factor = pivoted_cholesky(kernel, X, 12, np.random.default_rng(5), proposals=1)
    expected, plain_factor = plain(kernel.between(X, X), 12, np.random.default_rng(5))
    assert rows.tolist() == expected.tolist()
    np.testing.assert_allclose(factor, np.tril(plain_factor), atol=1e-9)


def test_blocks_choose_with_the_same_probabilities():
    # One far row, two copies of another: exact probabilities of the unordered pair of pivots.
    points = np.array([[0.0], [0.0], [0.5], [3.0]])
    gram = Gaussian(1.0).between(points, points)
    exact = np.zeros((4, 4))
    for first in range(4):
        left = gram.diagonal() - gram[:, first] ** 2
        exact[first] += left.clip(0) / left.clip(0).sum() / 4
    counts = np.zeros((4, 4))
    random, n_draws = np.random.default_rng(0), 1500
    for _ in range(n_draws):
        rows, _ = pivoted_cholesky(Gaussian(1.0), points, 2, random, proposals=8)
        counts[rows[0], rows[1]] += 1
    deviation = np.sqrt(exact * (1 - exact) / n_draws)
    assert (np.abs(counts / n_draws - exact) <= 4.5 * deviation + 1e-12).all()


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_features_reproduce_the_kernel_of_the_landmarks(kernel, choice):
    landmarks = choose_landmarks(kernel, X, 10, choice=choice, seed=1)
    z = landmarks.features(X)
    inside = landmarks.features(landmarks.inputs)
    exact = kernel.between(X, landmarks.inputs)
    np.testing.assert_allclose(z @ inside.T, exact, atol=1e-8 * np.abs(exact).max())
    gram = kernel.between(landmarks.inputs, landmarks.inputs)
    nystrom = exact @ np.linalg.pinv(gram, rcond=1e-12) @ exact.T
    np.testing.assert_allclose(z @ z.T, nystrom, atol=1e-6 * np.abs(nystrom).max())


def test_features_are_those_of_scikit_learn_up_to_a_rotation():
    landmarks = choose_landmarks(Gaussian(0.2), X, 15)
    theirs = Nystroem(gamma=0.2, n_components=15).fit(landmarks.inputs).transform(X)
    z = landmarks.features(X)
    np.testing.assert_allclose(z @ z.T, theirs @ theirs.T, atol=1e-9)


@pytest.mark.parametrize("choice", CHOICES)
def test_more_landmarks_than_rows_are_all_independent_rows(choice):
    landmarks = choose_landmarks(Gaussian(0.2), X, 500, choice=choice)
    assert len(landmarks) <= len(X)
    z = landmarks.features(X)
    np.testing.assert_allclose(z @ z.T, Gaussian(0.2).between(X, X), atol=1e-6)
    # A linear kernel of four inputs has four independent rows.
    assert len(choose_landmarks(Linear(), X, 500, choice=choice)) == 4


@pytest.mark.parametrize("choice", CHOICES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_copies_of_a_row_are_chosen_once(choice, data):
    distinct = data.draw(st.integers(1, 6))
    copies = data.draw(st.lists(st.integers(0, distinct - 1), min_size=1, max_size=20))
    rows = (X[:distinct] * 3.0)[copies]
    landmarks = choose_landmarks(Laplacian(1.0), rows, 50, choice=choice)
    assert len(landmarks) == len(set(copies))
    assert len(np.unique(landmarks.inputs, axis=0)) == len(landmarks)


def test_sparse_rows_have_the_same_features():
    thin = np.where(np.abs(X) > 1.0, X, 0.0)
    dense_ones = choose_landmarks(Gaussian(0.2), thin, 20, seed=4)
    sparse_ones = choose_landmarks(Gaussian(0.2), csr_matrix(thin), 20, seed=4)
    np.testing.assert_allclose(
        sparse_ones.features(csr_matrix(thin)), dense_ones.features(thin), atol=1e-9
    )


def test_landmarks_find_a_small_cluster_that_uniform_ones_miss():
    many = np.concatenate([0.01 * RANDOM.standard_normal((2000, 2)), [[5.0, 5.0], [-5.0, 5.0]]])
    found = choose_landmarks(Gaussian(1.0), many, 6).inputs
    assert (np.abs(found) > 4.0).any(axis=1).sum() == 2


def test_single_precision_is_used_only_where_it_is_safe():
    single = X.astype(np.float32)
    safe = choose_landmarks(Gaussian(0.5), single, 20)
    assert safe.precision(single) == np.float32
    k = safe.columns(single, np.float32)
    assert k.dtype == np.float32
    np.testing.assert_allclose(k, safe.columns(single), atol=2e-6)
    np.testing.assert_allclose(safe.from_columns(k), safe.features(single), atol=2e-4)
    assert safe.precision(X) == np.float64
    # A wide kernel has a factor of bad condition; rows far apart lose the digits of distances.
    assert choose_landmarks(Gaussian(1e-3), single, 100).precision(single) == np.float64
    far = 1e3 * single
    assert choose_landmarks(Gaussian(0.5), far, 20).precision(far) == np.float64
    # Far from the origin, but near each other, rows lose nothing more than their own rounding.
    moved = single + np.float32(100.0)
    there = choose_landmarks(Gaussian(0.5), moved, 20)
    np.testing.assert_allclose(there.columns(moved, np.float32), there.columns(moved), atol=2e-6)


def test_kernels_without_features_are_refused():
    with pytest.raises(ValueError, match="precomputed"):
        choose_landmarks(Precomputed(), X @ X.T, 5)
    with pytest.raises(ValueError, match="sigmoid"):
        choose_landmarks(Sigmoid(), X, 5)
    with pytest.raises(ValueError, match="semidefinite"):
        choose_landmarks(Function(lambda A, B: -A @ B.T), X, 5)
    with pytest.raises(ValueError, match="not 0 for all rows"):
        choose_landmarks(Linear(), np.zeros((5, 2)), 5)
    with pytest.raises(ValueError, match="landmark_choice"):
        choose_landmarks(Linear(), X, 5, choice="best")


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("make", [np.asarray, csr_matrix], ids=["dense", "sparse"])
def test_permuted_rows_have_the_same_landmarks(make, choice, monkeypatch):
    monkeypatch.setattr("polychotomy.kernels.landmarks.MOST_CANDIDATES", 70)
    order = np.random.default_rng(8).permutation(len(X))
    one = choose_landmarks(Gaussian(0.2), make(X), 10, choice=choice, seed=3)
    two = choose_landmarks(Gaussian(0.2), make(X[order]), 10, choice=choice, seed=3)
    assert one.rows.tolist() == order[two.rows].tolist()
    assert np.array_equal(one.factor, two.factor)
    other = choose_landmarks(Gaussian(0.2), make(X), 10, choice=choice, seed=4)
    assert set(other.rows) != set(one.rows)


@settings(max_examples=30, deadline=None)
@given(
    values=st.lists(st.integers(0, 4), min_size=1, max_size=40),
    number=st.integers(0, 45),
    seed=st.integers(0, 99),
)
def test_samples_by_content_do_not_depend_on_the_order(values, number, seed):
    rows, random = np.array(values, dtype=float)[:, None], np.random.default_rng(seed)
    classes = random.integers(0, 3, len(rows))
    order = random.permutation(len(rows))
    one = sample_by_content(rows, number, seed, ties=classes)
    two = sample_by_content(rows[order], number, seed, ties=classes[order])
    assert len(set(one)) == len(one) == min(number, len(rows))
    assert rows[one].tolist() == rows[order][two].tolist()
    assert classes[one].tolist() == classes[order][two].tolist()


def test_samples_by_content_are_of_some_rows_and_take_a_share_of_copies():
    rows = np.repeat(np.arange(4.0), 500)[:, None]
    drawn = sample_by_content(rows, 400, 1)
    counts = np.bincount(rows[drawn, 0].astype(int))
    assert (np.abs(counts - 100) < 40).all()
    some = np.arange(100, 900)
    assert set(sample_by_content(rows, 50, 1, some)) <= set(some)
    # Objects that show only their addresses are drawn as they stand.
    assert len(sample_by_content(np.array([object() for _ in range(9)]), 4)) == 4
