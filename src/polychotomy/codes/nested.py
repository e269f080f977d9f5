"""Nested dichotomies: a binary tree over the classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from ..core.checks import listed, one_of
from ..core.registry import register
from ..core.types import FloatArray, IntArray, SignArray
from .base import Code, CodeContext

# From the classes of a node to those of its positive side.
Split = Callable[[IntArray], IntArray]
Pair = tuple[IntArray, IntArray]

TREES = ("random", "balanced", "random_pair", "centroid")
FROM_ROWS = ("random_pair", "centroid")


@register("nested")
class NestedCode(Code):
    """A binary tree over the classes (nested dichotomies).

    Every inner node of the tree is a binary problem: the classes of its left branch against those
    of its right branch. M classes have M - 1 problems, the smaller the deeper they are in the tree.
    The default decoder, `BranchProduct`, multiplies the probabilities along the path to a class.
    `NestedDichotomies` averages several trees.

    Parameters
    ----------
    tree : str or nested list, default="random"
        How the classes are split.

        - "random": every binary tree is equally likely (Frank and Kramer).
        - "balanced": random halves, so that the tree has the smallest depth (Dong, Frank and
          Kramer).
        - "random_pair": two classes are drawn, and every other class of the node joins the one
          that more of its rows are nearer to (after Leathart and others).
        - "centroid": the two classes with the most distant centroids, and every other class joins
          the nearer one (Duarte-Villaseñor and others). It is not random.
        - A nested list of class labels, such as ``[["cat", "dog"], ["car", "bus", "tram"]]``. A
          list of more than two entries is split into halves, in the given order.

    Notes
    -----
    "random_pair" and "centroid" are built from the inputs of all training rows, and so from rows
    that a fold holds out later. Machines, calibrators and decoders never see rows that are held
    out; the tree has seen which classes their rows are near to.

    References
    ----------
    E. Frank and S. Kramer, "Ensembles of nested dichotomies for multi-class problems", ICML 2004.
    L. Dong, E. Frank and S. Kramer, "Ensembles of balanced nested dichotomies for multi-class
    problems", PKDD 2005.
    T. Leathart, B. Pfahringer and E. Frank, "Building ensembles of adaptive nested dichotomies with
    random-pair selection", ECML PKDD 2016.
    M. Duarte-Villaseñor, J. A. Carrasco-Ochoa, J. F. Martínez-Trinidad and M. Flores-Garrido,
    "Nested dichotomies based on clustering", CIARP 2012.

    Examples
    --------
    >>> from polychotomy import NestedCode
    >>> NestedCode([[0, 1], [2, [3, 4]]]).build(5)
    Codebook(nested, 5 classes, 4 columns)
       0  1  2  3
    0  +  +  .  .
    1  +  -  .  .
    2  -  .  +  .
    3  -  .  -  +
    4  -  .  -  -
    """

    def __init__(self, tree: Any = "random") -> None:
        self.tree = tree

    @classmethod
    def examples(cls) -> list[Self]:
        """Return example configurations."""
        return [*(cls(tree) for tree in TREES), cls([[0, 2], 1])]

    @property
    def needs(self) -> frozenset[str]:
        """The inputs, for trees that depend on them."""
        from_rows = isinstance(self.tree, str) and self.tree in FROM_ROWS
        return frozenset({"inputs"}) if from_rows else frozenset()

    def default_decoder(self, probabilities: bool) -> str:
        """Return the name of the decoder that goes with the code."""
        return "branch_product" if probabilities else "loss"

    def _build_from(self, context: CodeContext, rng: np.random.Generator) -> SignArray:
        n_classes = len(context.labels)
        if not isinstance(self.tree, str):
            return _matrix(n_classes, _hierarchy(self.tree, context.labels.tolist()))
        one_of(self.tree, "tree", TREES)
        if self.tree == "random":
            return _matrix(n_classes, _random_tree(n_classes, rng))
        splits: dict[str, Callable[[], Split]] = {
            "balanced": lambda: lambda classes: rng.permutation(classes)[: len(classes) // 2],
            "random_pair": lambda: _random_pairs(context, rng),
            "centroid": lambda: _distant_centroids(context.centroids),
        }
        return _matrix(n_classes, _split_down(np.arange(n_classes), splits[self.tree]()))


def _matrix(n_classes: int, nodes: list[Pair]) -> SignArray:
    """Return the code matrix of the two sides of every node."""
    matrix = np.zeros((n_classes, len(nodes)), dtype=np.int8)
    for column, (positive, negative) in enumerate(nodes):
        matrix[positive, column] = 1
        matrix[negative, column] = -1
    return matrix


def _split_down(classes: IntArray, split: Split) -> list[Pair]:
    """Split the classes, and both sides again, until every side is one class.

    Note: a list of nodes to do, not recursion, which ends at a depth of a thousand classes.
    """
    nodes, waiting = [], [classes]
    while waiting:
        members = waiting.pop()
        if len(members) > 1:
            positive = np.sort(split(members))
            sides = positive, np.setdiff1d(members, positive)
            nodes.append(sides)
            waiting += sides[::-1]
    return nodes


def _random_tree(n_classes: int, rng: np.random.Generator) -> list[Pair]:
    """Draw a tree such that all (2M - 3)!! binary trees with M labelled leaves are equally likely.

    Class k is added next to one of the 2k - 1 nodes of the tree of the first k classes, each with
    equal probability: every tree can be made in exactly one way.
    """
    # Node 2k - 1 is the parent of the leaf of class k, node 2k; node 0 is the leaf of class 0.
    parent = np.full(2 * n_classes - 1, -1)
    for k in range(1, n_classes):
        beside = int(rng.integers(2 * k - 1))
        parent[2 * k - 1] = parent[beside]
        parent[beside] = parent[2 * k] = 2 * k - 1
    below: dict[int, list[int]] = {}
    for node, above in enumerate(parent.tolist()):
        below.setdefault(above, []).append(node)
    order = below.pop(-1)
    for node in order:
        order += below.get(node, [])
    members: dict[int, IntArray] = {}
    for node in reversed(order):
        sides = [members[each] for each in below.get(node, [])]
        members[node] = np.concatenate(sides) if sides else np.array([(node + 1) // 2])
    return [(members[below[node][0]], members[below[node][1]]) for node in order if node in below]


def _random_pairs(context: CodeContext, rng: np.random.Generator) -> Split:
    """Split by two random classes: the others join the one that more of their rows are nearer to.

    Note: the paper trains the binary classifier of the tree on the two classes to say what is
    nearer. Here it is the distance to their centroids, so that a code needs no classifier.
    """
    X, y, centroids = context.X, context.y, context.centroids
    assert y is not None
    weights = np.ones(len(y)) if context.weights is None else context.weights

    def split(classes: IntArray) -> IntArray:
        first, second = rng.choice(classes, size=2, replace=False)
        rows = np.flatnonzero(np.isin(y, classes))
        direction = _scaled(centroids[first] - centroids[second])
        middle = 0.5 * (centroids[first] + centroids[second]) @ direction
        side = np.sign(X[rows] @ direction - middle) * weights[rows]
        votes = np.bincount(y[rows], side, len(centroids))
        votes[first], votes[second] = np.inf, -np.inf
        return classes[votes[classes] > 0.0]

    return split


def _distant_centroids(centroids: FloatArray) -> Split:
    """Split by the two most distant centroids: the other classes join the nearer one."""
    place = _scaled(centroids)
    squares = np.einsum("ij,ij->i", place, place)
    distance = squares[:, None] + squares - 2.0 * place @ place.T
    # Rounding must not make a class nearer to another than to itself.
    np.fill_diagonal(distance, -np.inf)

    def split(classes: IntArray) -> IntArray:
        among = distance[np.ix_(classes, classes)]
        first, second = np.unravel_index(among.argmax(), among.shape)
        nearer: IntArray = classes[among[first] < among[second]]
        return nearer

    return split


def _scaled(values: FloatArray) -> FloatArray:
    """Divide by the largest absolute value, so that no square overflows."""
    largest = np.abs(values).max()
    return values / largest if largest > 0.0 else values


def _hierarchy(tree: Any, labels: list[Any]) -> list[Pair]:
    """Return the nodes of a nested list of class labels."""
    number = {label: k for k, label in enumerate(labels)}
    nodes: list[Pair] = []

    def leaves(entry: Any) -> list[int]:
        if not isinstance(entry, list | tuple):
            if entry not in number:
                raise ValueError(
                    f"tree names {entry!r}, which is not a class; the classes are "
                    f"{listed(labels, 'and')}."
                )
            return [number[entry]]
        if not entry:
            raise ValueError("tree has an empty list; a list contains classes or lists of them.")
        if len(entry) == 1:
            return leaves(entry[0])
        place, half = len(nodes), (len(entry) + 1) // 2
        nodes.append((np.array([]), np.array([])))  # its place: a node is before those below it
        left, right = leaves(entry[:half]), leaves(entry[half:])
        nodes[place] = np.array(left), np.array(right)
        return left + right

    if not isinstance(tree, list | tuple):
        raise TypeError(
            f"tree must be {listed(TREES)}, or a nested list of class labels; got {tree!r}."
        )
    there = leaves(tree)
    for k, label in enumerate(labels):
        if there.count(k) != 1:
            many = "is not in tree" if k not in there else "is in tree more than once"
            raise ValueError(f"The class {label!r} {many}; every class must be in it once.")
    return nodes
