"""Trees of the core against a plain one, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polychotomy.native import _core
from polychotomy.native.trees import answer_trees, binned, grow_tree


def plain_tree(X, g, h, most_leaves, least_rows, penalty, least_curvature=1e-3):
    """Return the answers of a tree that is grown by trying every split of every leaf."""

    def worth(rows):
        return g[rows].sum() ** 2 / (h[rows].sum() + penalty)

    def best_split(rows):
        found = 0.0, None, None
        for j in range(X.shape[1]):
            for threshold in np.unique(X[rows, j])[:-1]:
                left = rows[X[rows, j] <= threshold]
                right = rows[X[rows, j] > threshold]
                if min(len(left), len(right)) < least_rows:
                    continue
                if min(h[left].sum(), h[right].sum()) < least_curvature:
                    continue
                gain = worth(left) + worth(right) - worth(rows)
                if gain > found[0] + 1e-9:
                    found = gain, left, right
        return found

    leaves = [np.arange(len(X))]
    while len(leaves) < most_leaves:
        splits = [best_split(rows) for rows in leaves]
        place = int(np.argmax([gain for gain, _, _ in splits]))
        gain, left, right = splits[place]
        if gain <= 0.0:
            break
        leaves[place : place + 1] = [left, right]
    answers = np.zeros(len(X))
    for rows in leaves:
        answers[rows] = -g[rows].sum() / (h[rows].sum() + penalty)
    return answers


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(1, 40),
    n_inputs=st.integers(1, 3),
    most_leaves=st.integers(1, 8),
    least_rows=st.integers(1, 5),
)
def test_against_a_plain_tree(seed, n_rows, n_inputs, most_leaves, least_rows):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_rows, n_inputs)), 1)
    g, h = rng.normal(size=n_rows), rng.uniform(0.1, 1.0, n_rows)
    scores = np.zeros(n_rows)
    options = {"most_leaves": most_leaves, "least_rows": least_rows, "penalty": 0.5}
    tree = grow_tree(binned(X), g, h, scores, rate=1.0, **options)
    wanted = plain_tree(X, g, h, **options)
    # Of splits with equal gains either is right: what the loss falls by is the same.
    fall = np.sum(scores * g)
    np.testing.assert_allclose(fall, np.sum(wanted * g), rtol=1e-9, atol=1e-9)
    # The nodes say what was added to the scores.
    again = np.zeros((n_rows, 1))
    nodes = {name: getattr(tree, name) for name in ("inputs", "thresholds", "left", "right")}
    answer_trees(
        X, again, roots=np.zeros((1, 1), dtype=int), values=tree.values, depth=tree.depth, **nodes
    )
    np.testing.assert_array_equal(again.ravel(), scores)
    leaves = tree.left == np.arange(len(tree.left))
    assert leaves.sum() <= most_leaves


@pytest.mark.parametrize("weighted", [False, True])
def test_bins_of_many_values_have_about_equal_weights(weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 1))
    weights = rng.uniform(0.1, 3.0, 5000) if weighted else None
    rows = binned(X, weights)
    shares = np.bincount(rows.bins[:, 0], weights, minlength=255)
    assert len(shares) == 255 == rows.counts[0]
    np.testing.assert_allclose(shares / shares.sum(), 1 / 255, atol=7e-4)
    # A row is above all thresholds below its bin, and not above its own.
    ends = np.concatenate([[-np.inf], rows.thresholds[0], [np.inf]])
    bins = rows.bins[:, 0].astype(int)
    assert np.all((ends[bins] < X[:, 0]) & (X[:, 0] <= ends[bins + 1]))


def test_whole_weights_are_rows_that_are_there_several_times():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(400, 1)), rng.integers(1, 4, 400)
    once, often = binned(X, weights.astype(float)), binned(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(once.thresholds[0], often.thresholds[0])


def test_extreme_inputs_have_bins():
    X = np.array([[-1.7e308], [1.7e308], [1.6e308]])
    rows = binned(X)
    assert np.isfinite(rows.thresholds[0]).all()
    assert rows.bins[:, 0].tolist() == [0, 2, 1]


def given_tree(**changed):
    arrays = {
        "bins": np.zeros((3, 2), dtype=np.uint8),
        "bin_counts": np.ones(2, dtype=np.int64),
        "slopes": np.zeros(3),
        "curvatures": np.ones(3),
        **{"most_leaves": 2, "least_rows": 1, "least_curvature": 0.0, "penalty": 1.0, "rate": 1.0},
        **{name: np.zeros(3, dtype=np.int64) for name in ("inputs", "last_bins", "left", "right")},
        "values": np.zeros(3),
        "scores": np.zeros(3),
    }
    return arrays | changed


@pytest.mark.parametrize(
    "wrong",
    [
        {"bin_counts": np.ones(1, dtype=np.int64)},
        {"bin_counts": np.array([1, 257])},
        {"bins": np.array([[0, 0], [0, 1], [0, 0]], dtype=np.uint8)},
        {"slopes": np.zeros(2)},
        {"scores": np.zeros(2)},
        {"most_leaves": 0},
        {"most_leaves": 3},
        {"left": np.zeros(2, dtype=np.int64)},
    ],
)
def test_arrays_that_do_not_fit_are_refused(wrong):
    assert _core.grow_tree(**given_tree()) == 1
    with pytest.raises(ValueError, match=r"\.$"):
        _core.grow_tree(**given_tree(**wrong))


@pytest.mark.parametrize(
    "wrong",
    [
        {"roots": np.array([[3]])},
        {"inputs": np.array([0, 0, 1])},
        {"left": np.array([1, 1, 5])},
        {"right": np.array([-1, 1, 2])},
        {"values": np.zeros(2)},
        {"scores": np.zeros((1, 1))},
    ],
)
def test_trees_that_would_read_elsewhere_are_refused(wrong):
    right = {
        "roots": np.array([[0]]),
        "inputs": np.zeros(3, dtype=np.int64),
        "thresholds": np.zeros(3),
        "left": np.array([1, 1, 2]),
        "right": np.array([2, 1, 2]),
        "values": np.zeros(3),
        "depth": 1,
        "X": np.zeros((2, 1)),
        "scores": np.zeros((2, 1)),
    }
    _core.answer_trees(**right)
    with pytest.raises(ValueError, match=r"\.$"):
        _core.answer_trees(**(right | wrong))


def test_a_circle_of_nodes_ends():
    scores = np.zeros((1, 1))
    answer_trees(
        np.zeros((1, 1)),
        scores,
        roots=np.array([[0]]),
        inputs=np.zeros(2, dtype=np.int64),
        thresholds=np.zeros(2),
        left=np.array([1, 0]),
        right=np.array([1, 0]),
        values=np.array([1.0, 2.0]),
        depth=7,
    )
    assert scores[0, 0] == 2.0
