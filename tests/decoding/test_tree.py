"""The binary tree against GALAR section 2.7, row by row."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from polychotomy import BinaryTree, Codebook, Context, Margins, OneVsOne

from . import twins
from .twins import moderate

SELECTIONS = ["centred", "random"]


@st.composite
def training_sets(draw):
    """Draw classes on a plane, with r of every pair: some pairs clear, some not, some at 1/2."""
    n_classes = draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = np.repeat(np.arange(n_classes), rng.integers(1, draw(st.sampled_from([2, 7])), n_classes))
    X = rng.normal(size=(n_classes, 2))[y] * draw(st.sampled_from([0.5, 2.0, 8.0]))
    X = X + rng.normal(size=X.shape)
    scorer = twins.toy_scorer(X, y, range(len(y)), OneVsOne().build(n_classes).matrix)
    r = expit(scorer(X) * draw(st.sampled_from([0.02, 0.3, 3.0])))
    if draw(st.booleans()):
        r = np.round(r * 8) / 8  # answers exactly at 1/2, and exactly delta away
    return n_classes, X, y, r


def column(i, j, n_classes):
    return list(itertools.combinations(range(n_classes), 2)).index((i, j))


def children_of(pair, classes, r, y, n_classes, delta):
    """Steps (c)-(g): where each class of the node goes."""
    i, j = pair
    sides = ([], [])
    for k in classes:
        if k == i:
            sides[0].append(k)
        elif k == j:
            sides[1].append(k)
        else:
            answers = [r[row, column(i, j, n_classes)] for row in range(len(y)) if y[row] == k]
            assigned = {0 if a > 1 - a else 1 for a in answers}  # (e)
            # Written as in the code: answers of 1e-17 are less than 1/2 away or not by rounding.
            if len(assigned) == 1 and any(abs(a - 0.5) < delta for a in answers):  # (g)
                assigned = {0, 1}
            for side in assigned:
                sides[side].append(k)
    return tuple(sides[0]), tuple(sides[1])


def accepted(pair, classes, sides):
    """Step (h): not if all the other classes are scattered into both children."""
    rest = [k for k in classes if k not in pair]
    return not rest or not all(k in sides[0] and k in sides[1] for k in rest)


def by_distance(classes, X, y):
    """Return the pairs of a node, the classes nearest to the mean of the centres first."""
    centres = {k: X[y == k].mean(axis=0) for k in classes}
    middle = sum(centres.values()) / len(classes)
    far = {k: float(np.sqrt(((c - middle) ** 2).sum())) for k, c in centres.items()}
    return sorted(itertools.combinations(classes, 2), key=lambda p: far[p[0]] + far[p[1]]), far


def check_node(node, r, X, y, n_classes, delta, selection):
    classes = node.classes
    split = {
        pair: children_of(pair, classes, r, y, n_classes, delta)
        for pair in itertools.combinations(classes, 2)
    }
    fine = {pair for pair, sides in split.items() if accepted(pair, classes, sides)}
    if node.children is None:
        assert node.pair is None
        assert not fine, "a leaf although a pair separates"
        return
    assert node.pair in fine
    assert tuple(child.classes for child in node.children) == split[node.pair]
    if selection == "centred":
        order, far = by_distance(classes, X, y)
        first = next(pair for pair in order if pair in fine)
        # Equal up to rounding, for two classes stand equally far from their mean.
        assert sum(far[k] for k in node.pair) == pytest.approx(
            sum(far[k] for k in first), rel=1e-12
        )
    for child in node.children:
        check_node(child, r, X, y, n_classes, delta, selection)


def fitted(drawn, selection, delta, seed=0):
    n_classes, X, y, r = drawn
    book = OneVsOne().build(n_classes)
    context = Context(book, y, X=X, training=Margins(probability=r), random_state=seed)
    return BinaryTree(selection, delta).fit(context)


def leaf_of(node, row, n_classes):
    while node.children is not None:
        answer = row[column(*node.pair, n_classes)]
        node = node.children[0 if answer > 1 - answer else 1]
    return node


@moderate
@given(training_sets(), st.sampled_from([0.0, 0.05, 0.125, 0.3, 0.5]), st.integers(0, 9))
@pytest.mark.parametrize("selection", SELECTIONS)
def test_the_tree_is_built_by_section_2_7(selection, drawn, delta, seed):
    n_classes, X, y, r = drawn
    root = fitted(drawn, selection, delta, seed).root_
    assert root.classes == tuple(range(n_classes))
    check_node(root, r, X, y, n_classes, delta, selection)


@moderate
@given(training_sets(), st.sampled_from([0.0, 0.05, 0.3]))
@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_training_row_is_lost_only_by_a_machine_of_its_own_class(selection, drawn, delta):
    n_classes, _, y, r = drawn
    root = fitted(drawn, selection, delta).root_
    for row, label in zip(r, y, strict=True):
        node = root
        while node.children is not None:
            answer = row[column(*node.pair, n_classes)]
            chosen = 0 if answer > 1 - answer else 1
            if label in node.pair and node.pair[chosen] != label:
                break  # misjudged by its own machine
            node = node.children[chosen]
            assert label in node.classes


@moderate
@given(training_sets(), st.sampled_from([0.0, 0.05, 0.5]), st.data())
@pytest.mark.parametrize("selection", SELECTIONS)
def test_rows_go_down_the_tree_and_leaves_vote(selection, drawn, delta, data):
    n_classes, _, y, _ = drawn
    decoder = fitted(drawn, selection, delta)
    sizes = np.bincount(y).tolist()
    rows = [
        data.draw(st.lists(twins.dyadic, min_size=drawn[3].shape[1], max_size=drawn[3].shape[1]))
        for _ in range(3)
    ]
    for row, scores in zip(rows, decoder.decode(rows), strict=True):
        leaf = leaf_of(decoder.root_, row, n_classes)
        assert {k for k in range(n_classes) if scores[k] > 0} == set(leaf.classes)
        full = twins.square(row, n_classes)
        small = [[full[i][j] for j in leaf.classes] for i in leaf.classes]
        winner = leaf.classes[
            twins.max_wins(small, [sizes[k] for k in leaf.classes]) if len(leaf.classes) > 1 else 0
        ]
        assert scores.argmax() == winner
        assert (scores == scores.max()).sum() == 1


def test_the_largest_threshold_makes_one_leaf_that_votes():
    # Nothing is farther than 1/2 from 1/2 unless its r is 0 or 1.
    n_classes, y = 4, np.repeat(np.arange(4), 3)
    r = np.random.default_rng(0).uniform(0.01, 0.99, size=(12, 6))
    X = np.random.default_rng(1).normal(size=(12, 2))
    decoder = fitted((n_classes, X, y, r), "centred", 0.5)
    assert decoder.root_.children is None
    assert decoder.root_.depth() == 0


def test_a_tied_leaf_goes_to_the_larger_class():
    y = np.repeat(np.arange(3), [1, 4, 2])
    r = np.full((7, 3), 0.5)
    decoder = fitted((3, np.arange(14.0).reshape(7, 2), y, r), "centred", 0.05)
    assert decoder.root_.classes == (0, 1, 2)
    assert decoder.root_.children is None
    assert decoder.decode([[0.5, 0.5, 0.5]]).argmax() == 1
    assert decoder.decode([twins.cycle(3, 0.75)]).argmax() == 1


def test_a_clear_class_is_ruled_out_on_one_side():
    # Class 2 lies clearly on the side of class 0 of the pair (0, 1), which is asked first.
    y = np.array([0, 1, 2])
    X = np.array([[-1.0], [1.0], [9.0]])  # the mean of the centres is 3: classes 1 and 0 first
    r = np.array([[0.9, 0.9, 0.5], [0.1, 0.5, 0.9], [0.9, 0.1, 0.1]])
    root = fitted((3, X, y, r), "centred", 0.05).root_
    assert root.pair == (0, 1)
    assert [child.classes for child in root.children] == [(0, 2), (1,)]
    # Near the boundary it is kept on both sides, and the next pairs are tried.
    r[2, 0] = 0.54
    again = fitted((3, X, y, r), "centred", 0.05).root_
    assert again.pair != (0, 1)
    assert fitted((3, X, y, r), "centred", 0.03).root_.pair == (0, 1)


def test_the_lot_of_random_selection_is_its_seed():
    rng = np.random.default_rng(5)
    y = np.repeat(np.arange(6), 4)
    X = 9 * rng.normal(size=(6, 2))[y] + rng.normal(size=(24, 2))
    r = expit(twins.toy_scorer(X, y, range(24), OneVsOne().build(6).matrix)(X))

    def shape(node):
        return node.pair if node.children is None else (node.pair, *map(shape, node.children))

    shapes = [shape(fitted((6, X, y, r), "random", 0.05, seed).root_) for seed in (0, 0, 1, 2, 3)]
    assert shapes[0] == shapes[1]
    assert len(set(shapes)) > 1


def test_shuffled_and_turned_columns_give_the_same_tree():
    rng = np.random.default_rng(7)
    y = np.repeat(np.arange(4), 5)
    X = 3 * rng.normal(size=(4, 2))[y] + rng.normal(size=(20, 2))
    book = OneVsOne().build(4)
    r = expit(twins.toy_scorer(X, y, range(20), book.matrix)(X))
    order, sign = rng.permutation(6), np.array([1, -1, -1, 1, -1, 1])
    other = Codebook(book.matrix[:, order] * sign)
    turned = np.where(sign > 0, r[:, order], 1 - r[:, order])
    plain = BinaryTree().fit(Context(book, y, X=X, training=Margins(probability=r)))
    moved = BinaryTree().fit(Context(other, y, X=X, training=Margins(probability=turned)))
    np.testing.assert_array_equal(plain.decode(r), moved.decode(turned))
