"""Decoding nested codes: against walking down the tree, and against exact probabilities."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import polychotomy as pc

from .twins import any_probability, moderate


def walk(matrix, r, k):
    """Multiply the probabilities of the branches to class k, node by node."""
    p, here = 1.0, set(range(len(matrix)))
    while len(here) > 1:
        (column,) = (c for c in range(matrix.shape[1]) if set(np.flatnonzero(matrix[:, c])) == here)
        sign = matrix[k, column]
        p *= r[column] if sign > 0 else 1.0 - r[column]
        here = {c for c in here if matrix[c, column] == sign}
    return p


@st.composite
def nested(draw):
    n_classes = draw(st.integers(2, 12))
    book = pc.NestedCode().build(n_classes, draw(st.integers(0, 1000)))
    row = st.lists(any_probability, min_size=n_classes - 1, max_size=n_classes - 1)
    return book, np.array([draw(row) for _ in range(3)])


@moderate
@given(nested())
def test_it_is_the_product_along_the_path(case):
    book, r = case
    p = pc.BranchProduct().decode(r, book)
    wanted = [[walk(book.matrix, row, k) for k in range(book.n_classes)] for row in r]
    np.testing.assert_allclose(p, wanted, rtol=1e-12, atol=0)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    for row in range(3):
        np.testing.assert_array_equal(pc.BranchProduct().decode(r[[row]], book)[0], p[row])


@moderate
@given(st.integers(2, 30), st.integers(0, 1000))
def test_true_branch_probabilities_give_the_true_class_probabilities(n_classes, seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(n_classes, 0.5), size=4) + 1e-9
    p /= p.sum(axis=1, keepdims=True)
    book = pc.NestedCode().build(n_classes, seed)
    sides = p @ (book.matrix > 0), p @ (book.matrix < 0)
    r = sides[0] / (sides[0] + sides[1])
    np.testing.assert_allclose(pc.BranchProduct().decode(r, book), p, rtol=1e-9, atol=1e-14)


def test_chains_and_many_classes():
    n_classes = 1000
    matrix = np.tril(-np.ones((n_classes, n_classes - 1)), -1) + np.eye(n_classes, n_classes - 1)
    p = pc.BranchProduct().decode(np.full((2, n_classes - 1), 0.25), pc.Codebook(matrix))
    wanted = 0.25 * 0.75 ** np.arange(n_classes - 1)
    np.testing.assert_allclose(p[0, :-1], wanted, rtol=1e-10)
    np.testing.assert_allclose(p[0, -1], 0.75 ** (n_classes - 1), rtol=1e-10)
