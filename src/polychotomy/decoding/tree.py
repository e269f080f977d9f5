"""The binary tree of one-vs-one machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from ..core.checks import one_of
from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.registry import register, stored
from ..core.state import Field, Holds, Plain, Sizes, require
from ..core.types import FloatArray, IntArray
from .base import Context, Decoder, pairwise_probabilities, prior_of
from .max_wins import MaxWins

SELECTIONS = ("centred", "random")


@stored("fitted.tree_node")
@dataclass
class Node:
    """A node: the pair of classes that it compares, and its children; None in a leaf."""

    classes: tuple[int, ...]
    pair: tuple[int, int] | None = None
    children: tuple[Node, Node] | None = None

    fitted_state: ClassVar[Mapping[str, Field]] = {
        "classes": Plain(),
        "pair": Plain(),
        "children": Plain(),
    }

    def check_state(self, sizes: Sizes) -> None:
        """Check that descending ends, and that a node compares two of its own classes."""
        require(_class_numbers(self.classes) and len(self.classes) > 0, self, "has no classes")
        require(list(self.classes) == sorted(set(self.classes)), self, "has classes out of order")
        if self.pair is None and self.children is None:
            return
        pair = _class_numbers(self.pair) and len(self.pair or ()) == 2
        two = type(self.children) is tuple and [type(c) for c in self.children] == [Node, Node]
        require(pair and two, self, "has no valid pair and children")
        assert self.pair is not None
        assert self.children is not None
        known = set(self.pair) <= set(self.classes) and self.pair[0] < self.pair[1]
        require(known, self, "asks about other classes than its own")
        # Children have fewer classes than their parent, so descending ends.
        smaller = all(set(child.classes) < set(self.classes) for child in self.children)
        require(smaller, self, "has a child with classes of its own")

    def depth(self) -> int:
        """Return the number of comparisons on the longest path."""
        return 0 if self.children is None else 1 + max(c.depth() for c in self.children)


def _class_numbers(values: Any) -> bool:
    return type(values) is tuple and all(type(value) is int for value in values)


@register("binary_tree")
class BinaryTree(Decoder):
    """Binary tree of one-vs-one machines (BTC): one comparison can rule out several classes.

    A node has some classes, and asks the machine of two of them. If all training rows of a class
    are clearly on one side, the class is ruled out on the other (GALAR section 2.7; Fei and Liu
    2006). If every pair leaves all other classes on both sides, the node is a leaf with several
    classes, and their machines vote.

    Parameters
    ----------
    selection : {"centred", "random"}, default="centred"
        How a node chooses its pair: the classes whose centres are nearest to the mean of the
        centres of the node's classes, which balances the tree, or at random.
    threshold : float, default=0.05
        A class with a training row whose probability is nearer than this to 1/2 stays on both
        sides.

    Attributes
    ----------
    root_ : Node
        The tree.

    Notes
    -----
    Pairs are tried in the order of the summed distance of their classes to the mean centre. The
    scores of `decode` are 0 for classes that are ruled out, and 1 plus the rank by votes among the
    classes of a leaf.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from polychotomy import BinaryTree, PolychotomyClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = PolychotomyClassifier(LogisticRegression(), decoder=BinaryTree()).fit(X, y)
    >>> round(clf.score(X, y), 2)
    0.97
    """

    fitted_state: ClassVar[Mapping[str, Field]] = {
        "root_": Holds(Node),
    }
    codes = frozenset({"one_vs_one"})
    needs = frozenset({"probabilities", "training_scores", "inputs"})
    yields = "decisions"

    def __init__(self, selection: str = "centred", threshold: float = 0.05) -> None:
        self.selection = selection
        self.threshold = threshold

    @classmethod
    def examples(cls) -> list[Self]:
        """Return example configurations."""
        return [cls(selection) for selection in SELECTIONS]

    def check_state(self, sizes: Sizes) -> None:
        """Check what the declared state cannot express."""
        super().check_state(sizes)
        same = sorted(self.root_.classes) == list(range(sizes["M"]))
        require(same, self, "is for other classes")

    def _fit(self, context: Context) -> None:
        one_of(self.selection, "selection", SELECTIONS)
        if not 0.0 <= self.threshold <= 0.5:
            raise ValueError(f"threshold must be in [0, 0.5], got {self.threshold!r}.")
        if context.training is None:
            raise ValueError("BinaryTree needs the machines' scores of the training rows.")
        r = pairwise_probabilities(context.training, context.codebook)
        reach = _sides(r, context.y, context.codebook.n_classes, self.threshold)
        if self.selection == "centred":
            if context.X is None:
                raise ValueError("BinaryTree(selection='centred') needs the inputs X.")
            centres = class_centres(context.X, context.y, context.codebook.n_classes)
            chooser: _Centred | _Random = _Centred(centres)
        else:
            chooser = _Random(context.random_state)
        self.root_ = grow(tuple(range(context.codebook.n_classes)), reach, chooser)

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        if not hasattr(self, "root_"):
            raise ValueError("BinaryTree must be fitted before it can decode.")
        r = pairwise_probabilities(margins, codebook)
        scores = np.zeros((len(r), codebook.n_classes))
        self._descend(self.root_, np.arange(len(r)), r, codebook, scores)
        return scores

    def _descend(
        self, node: Node, rows: IntArray, r: FloatArray, codebook: Codebook, scores: FloatArray
    ) -> None:
        if len(rows) == 0:
            return
        if node.pair is None or node.children is None:
            scores[np.ix_(rows, np.array(node.classes))] = self._leaf_scores(
                node, r[rows], codebook
            )
            return
        positive = r[rows, pair_number(*node.pair, codebook.n_classes)] > 0.5
        self._descend(node.children[0], rows[positive], r, codebook, scores)
        self._descend(node.children[1], rows[~positive], r, codebook, scores)

    def _leaf_scores(self, node: Node, r: FloatArray, codebook: Codebook) -> FloatArray:
        if len(node.classes) == 1:
            return np.ones((len(r), 1))
        columns = [pair_number(i, j, codebook.n_classes) for i, j in combinations(node.classes, 2)]
        voter = MaxWins()
        voter.class_sizes_ = prior_of(self, codebook)[list(node.classes)]
        votes = voter.decode(r[:, columns])
        return 1.0 + votes.argsort(axis=1, kind="stable").argsort(axis=1).astype(np.float64)


def pair_number(i: int, j: int, n_classes: int) -> int:
    """Return the canonical column of the pair of classes i < j."""
    return i * n_classes - i * (i + 1) // 2 + (j - i - 1)


def class_centres(X: Any, y: IntArray, n_classes: int) -> FloatArray:
    """Return the mean input of each class."""
    return np.stack([np.asarray(X[y == k].mean(axis=0)).ravel() for k in range(n_classes)])


def grow(classes: tuple[int, ...], reach: Any, chooser: Any) -> Node:
    """Build the subtree of a node: GALAR section 2.7, step 2."""
    if len(classes) == 1:
        return Node(classes)
    for i, j in chooser.pairs(classes):
        others = [k for k in classes if k not in (i, j)]
        left = tuple(k for k in classes if k == i or (k in others and reach[i, j, k, 0]))
        right = tuple(k for k in classes if k == j or (k in others and reach[i, j, k, 1]))
        # Accepted unless every other class is on both sides, step (h).
        if not others or len(left) + len(right) < 2 * len(others) + 2:
            children = (grow(left, reach, chooser), grow(right, reach, chooser))
            return Node(classes, (i, j), children)
    return Node(classes)


def _sides(r: FloatArray, y: IntArray, n_classes: int, threshold: float) -> Any:
    """Return for each pair (i, j) whether class k is kept on the side of i (0) and of j (1)."""
    reach = np.zeros((n_classes, n_classes, n_classes, 2), dtype=bool)
    for k in range(n_classes):
        answers = r[y == k]
        for i, j in combinations(range(n_classes), 2):
            column = answers[:, pair_number(i, j, n_classes)]
            near = (np.abs(column - 0.5) < threshold).any()
            reach[i, j, k] = near or (column > 0.5).any(), near or (column <= 0.5).any()
    return reach


class _Centred:
    def __init__(self, centres: FloatArray) -> None:
        self.centres = centres

    def pairs(self, classes: tuple[int, ...]) -> list[tuple[int, int]]:
        centres = self.centres[list(classes)]
        distance = np.linalg.norm(centres - centres.mean(axis=0), axis=1)
        of_class = dict(zip(classes, distance, strict=True))
        return sorted(combinations(classes, 2), key=lambda p: of_class[p[0]] + of_class[p[1]])


class _Random:
    def __init__(self, random_state: int | None) -> None:
        self.generator = check_random_state(random_state)

    def pairs(self, classes: tuple[int, ...]) -> list[tuple[int, int]]:
        pairs = list(combinations(classes, 2))
        return [pairs[k] for k in self.generator.permutation(len(pairs))]
