"""Nested codes: the trees, what they are built from, and reading a tree from a matrix."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import polychotomy as pc
from polychotomy.codes import CodeContext
from polychotomy.codes.nested import TREES

seeds = st.integers(0, 2**32 - 1)


@st.composite
def contexts(draw):
    """Draw a few rows of each of 2 to 12 classes, some with equal centroids."""
    n_classes = draw(st.integers(2, 12))
    rng = np.random.default_rng(draw(seeds))
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=2 * n_classes)])
    X = rng.integers(-2, 3, size=(len(y), draw(st.integers(1, 3)))).astype(float)
    scale = draw(st.sampled_from([1.0, 1e-200, 1e150]))
    return CodeContext(np.arange(n_classes), X * scale, y)


def is_tree(matrix):
    """Say from the definition whether every node splits, until single classes are left."""

    def splits(classes):
        if len(classes) == 1:
            return 0
        node = {c for c in range(matrix.shape[1]) if set(np.flatnonzero(matrix[:, c])) == classes}
        assert len(node) == 1, classes
        word = matrix[:, node.pop()]
        return 1 + sum(splits({k for k in classes if word[k] == sign}) for sign in (1, -1))

    return splits(set(range(len(matrix)))) == matrix.shape[1]


@pytest.mark.parametrize("tree", TREES)
@settings(max_examples=25, deadline=None)
@given(context=contexts(), seed=seeds)
def test_every_tree_is_a_tree(tree, context, seed):
    n_classes = len(context.labels)
    book = pc.NestedCode(tree).build(n_classes, seed, context)
    assert is_tree(book.matrix)
    assert book == pc.NestedCode(tree).build(n_classes, seed, context)
    branches = book.branches
    assert sorted(np.concatenate(branches.levels)) == list(range(n_classes - 1))
    leaves = branches.children[branches.children < 0]
    assert sorted(-1 - leaves) == list(range(n_classes))


@settings(max_examples=25, deadline=None)
@given(n_classes=st.integers(2, 9), seed=seeds, data=st.data())
def test_a_tree_is_recognised_in_any_order_and_a_changed_one_is_not(n_classes, seed, data):
    matrix = pc.NestedCode().build(n_classes, seed).matrix
    rng = np.random.default_rng(seed)
    mixed = matrix[rng.permutation(n_classes)][:, rng.permutation(n_classes - 1)]
    mixed = mixed * rng.choice([-1, 1], size=n_classes - 1)
    assert pc.Codebook(mixed).branches is not None
    k, column = rng.integers(n_classes), rng.integers(n_classes - 1)
    mixed[k, column] = data.draw(st.sampled_from([-1, 0, 1]))
    try:
        changed = pc.Codebook(mixed)
        expected = is_tree(changed.matrix)
    except (AssertionError, ValueError):
        return
    assert (changed.branches is not None) == expected


@pytest.mark.parametrize("other", [pc.OneVsRest(), pc.OrdinalCode(), pc.MinimalCode()])
def test_other_codes_are_no_trees(other):
    assert other.build(4).branches is None
    # One-vs-one of two classes is the only tree that they have.
    assert pc.OneVsOne().build(2).branches is not None


def test_random_trees_are_equally_likely():
    def shape(seed):
        matrix = pc.NestedCode("random").build(4, seed).matrix
        sides = (frozenset(np.flatnonzero(word == s)) for word in matrix.T for s in (1, -1))
        return frozenset(side for side in sides if len(side) > 1)

    counts = Counter(shape(seed) for seed in range(3000))
    assert len(counts) == 15  # (2 * 4 - 3)!!
    # Chi-squared with 14 degrees of freedom: above 36.1 once in a thousand.
    assert sum((count - 200) ** 2 / 200 for count in counts.values()) < 36.1


@pytest.mark.parametrize("n_classes", [2, 3, 17, 64, 100])
def test_balanced_trees_have_the_smallest_depth(n_classes):
    book = pc.NestedCode("balanced").build(n_classes, 0)
    assert len(book.branches.levels) == int(np.ceil(np.log2(n_classes)))


def test_centroids_decide():
    # The farthest are 0 and 3; 1 is nearer to 0, and 2 to 3.
    X = np.array([[0.0, 0.0], [1.0, 2.0], [7.0, 0.0], [9.0, 1.0]])
    for inputs in (X, csr_array(X)):
        context = CodeContext(np.arange(4), inputs, np.arange(4))
        book = pc.NestedCode("centroid").build(4, context=context)
        assert book.matrix[:, 0].tolist() == [1, 1, -1, -1]
    doubled = CodeContext(np.arange(2), X, np.array([0, 0, 1, 1]), np.array([1.0, 3.0, 1.0, 0.0]))
    np.testing.assert_allclose(doubled.centroids, [[0.75, 1.5], [7.0, 0.0]])


@settings(max_examples=20, deadline=None)
@given(context=contexts(), seed=seeds)
def test_random_pairs_are_joined_by_the_classes_with_most_rows_on_their_side(context, seed):
    n_classes, X, y = len(context.labels), context.X, context.y
    book = pc.NestedCode("random_pair").build(n_classes, seed, context)
    means = np.array([X[y == k].mean(axis=0) for k in range(n_classes)])
    root = book.matrix[:, book.branches.levels[0][0]]

    def joins(k, a, b):
        """Say whether class k joins a, by most of its rows; None if rounding decides."""
        unit = np.abs(X).max() or 1.0
        to_a = (((X[y == k] - means[a]) / unit) ** 2).sum(axis=1)
        gap = (((X[y == k] - means[b]) / unit) ** 2).sum(axis=1) - to_a
        return None if (np.abs(gap) < 1e-9).any() else np.sign(gap).sum() > 0

    def explains(a, b):
        others = [k for k in range(n_classes) if k not in (a, b)]
        return all(joins(k, a, b) in (None, root[k] > 0) for k in others)

    positive, negative = np.flatnonzero(root > 0), np.flatnonzero(root < 0)
    assert any(explains(a, b) for a in positive for b in negative)


def test_a_hierarchy_of_labels():
    labels = np.array(["bus", "car", "cat", "dog", "tram"])
    code = pc.NestedCode([["cat", "dog"], [["bus"], "car", "tram"]])
    matrix = code.build(5, context=CodeContext(labels)).matrix
    wanted = [[-1, 0, 1, 1], [-1, 0, 1, -1], [1, 1, 0, 0], [1, -1, 0, 0], [-1, 0, -1, 0]]
    assert matrix.tolist() == wanted


def test_a_deep_hierarchy():
    matrix = pc.NestedCode(list(range(1500))).build(1500).matrix
    assert pc.Codebook(matrix).branches is not None
    tree = [0, 1]
    for k in range(2, 300):
        tree = [tree, k]
    assert len(pc.NestedCode(tree).build(300).branches.levels) == 299


@pytest.mark.parametrize(
    ("tree", "error", "sentence"),
    [
        ([0, [1, 3]], ValueError, "tree names 3, which is not a class"),
        ([0, 1], ValueError, "The class 2 is not in tree"),
        ([0, [1, 2], 1], ValueError, "The class 1 is in tree more than once"),
        ([[], [0, 1, 2]], ValueError, "tree has an empty list"),
        ("centre", ValueError, "Unknown tree 'centre'"),
        (7, TypeError, "tree must be 'random'"),
        ("centroid", ValueError, "built from training rows; pass build a CodeContext"),
    ],
)
def test_bad_trees_are_refused_in_a_sentence(tree, error, sentence):
    with pytest.raises(error, match=sentence):
        pc.NestedCode(tree).build(3)
