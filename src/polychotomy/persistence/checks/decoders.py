"""Decoders."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..._training import NestedScorer
from ..._types import Codebook
from ...decoding import (
    DECODERS,
    BayesianDecoding,
    BinaryTree,
    CodeCoupling,
    DecisionGraph,
    Decoder,
    DynamicallyOrdered,
    LossDecoding,
    Nesting,
    PairwiseCoupling,
    ShrunkSoftMax,
    SoftMax,
    ValuedPreference,
)
from ...decoding.nesting import Level
from ...decoding.tree import Node
from .._values import FLOAT, array, indices, instance, number, require
from .registry import checks

_DECODER = "codebook_ class_sizes_"


def _check_decoder(decoder: Decoder) -> Codebook:
    book: Codebook = instance(decoder, "codebook_", Codebook)
    require(decoder.fits(book), decoder, f"is not for the code {book.name!r:.60}")
    sizes = array(decoder, "class_sizes_", (book.n_classes,), FLOAT)
    require((sizes >= 0.0).all() and sizes.any(), decoder, "has negative class sizes")
    return book


@checks(*DECODERS.values(), fitted=_DECODER)
def _decoder(decoder: Decoder) -> None:
    _check_decoder(decoder)


@checks(CodeCoupling, fitted=_DECODER)
def _code_coupling(decoder: CodeCoupling) -> None:
    _check_decoder(decoder)
    require(number(decoder, "pull") >= 0.0, decoder, "has a negative pull")


@checks(PairwiseCoupling, LossDecoding, ValuedPreference, fitted=_DECODER)
def _with_options(decoder: Any) -> None:
    _check_decoder(decoder)


@checks(BayesianDecoding, fitted=f"{_DECODER} side_log_odds_ priors_")
def _bayesian(decoder: BayesianDecoding) -> None:
    book = _check_decoder(decoder)
    array(decoder, "side_log_odds_", (book.n_columns,), FLOAT)
    priors = array(decoder, "priors_", (book.n_classes,), FLOAT)
    require((priors >= 0.0).all() and priors.any(), decoder, "has negative priors")


@checks(DecisionGraph, fitted=f"{_DECODER} order_")
def _decision_graph(decoder: DecisionGraph) -> None:
    n_classes = _check_decoder(decoder).n_classes
    order = indices(decoder, "order_", n_classes, n_classes)
    require(len(np.unique(order)) == n_classes, decoder, "has an order_ with a class twice")


@checks(DynamicallyOrdered, fitted=f"{_DECODER} orderer_")
def _dynamically_ordered(decoder: DynamicallyOrdered) -> None:
    n_classes = _check_decoder(decoder).n_classes
    orderer = decoder.orderer_
    classes = np.asarray(getattr(orderer, "classes_", None)).tolist()
    known = isinstance(orderer, BaseEstimator) and classes == list(range(n_classes))
    require(known, decoder, "has no valid orderer_")


@checks(SoftMax, fitted=f"{_DECODER} C_ weights_")
def _soft_max(decoder: SoftMax) -> None:
    book = _check_decoder(decoder)
    width = 2 if book.rest is not None else book.n_classes
    array(decoder, "weights_", (book.n_classes, width), FLOAT)


@checks(ShrunkSoftMax, fitted=f"{_DECODER} weights_ strengths_")
def _shrunk_soft_max(decoder: ShrunkSoftMax) -> None:
    book = _check_decoder(decoder)
    width = 2 if book.rest is not None else 3
    array(decoder, "weights_", (book.n_classes, width), FLOAT)
    array(decoder, "strengths_", (None,), FLOAT)


@checks(Node)
def _node(node: Node) -> None:
    def class_numbers(values: Any) -> bool:
        return type(values) is tuple and all(type(value) is int for value in values)

    require(class_numbers(node.classes) and len(node.classes) > 0, node, "has no classes")
    require(len(set(node.classes)) == len(node.classes), node, "has a class twice")
    if node.pair is None and node.children is None:
        return
    pair = class_numbers(node.pair) and len(node.pair or ()) == 2
    children = type(node.children) is tuple and [type(c) for c in node.children] == [Node, Node]
    require(pair and children, node, "has no valid pair and children")
    assert node.pair is not None
    assert node.children is not None
    require(set(node.pair) <= set(node.classes), node, "asks about other classes than its own")
    # A node is checked after its children; fewer classes below mean that descending ends.
    for child in node.children:
        smaller = set(child.classes) < set(node.classes)
        require(smaller, node, "has a child with classes of its own")


@checks(BinaryTree, fitted=f"{_DECODER} root_")
def _binary_tree(decoder: BinaryTree) -> None:
    n_classes = _check_decoder(decoder).n_classes
    root = instance(decoder, "root_", Node)
    require(sorted(root.classes) == list(range(n_classes)), decoder, "is for other classes")
    stack = [root]
    while stack:
        node = stack.pop()
        if node.pair is not None:
            require(node.pair[0] < node.pair[1], decoder, "has a pair in the wrong order")
            stack.extend(node.children)
        require(list(node.classes) == sorted(node.classes), decoder, "has classes out of order")


@checks(Level)
def _level(level: Level) -> None:
    indices(level, "classes", None, None)
    indices(level, "columns", None, None)
    require(level.scorer is None or type(level.scorer) is NestedScorer, level, "has no scorer")


@checks(Nesting, fitted=f"{_DECODER} levels_")
def _nesting(decoder: Nesting) -> None:
    book = _check_decoder(decoder)
    levels = instance(decoder, "levels_", list)
    for number_, level in enumerate(levels):
        require(type(level) is Level, decoder, "has levels of another type")
        last = number_ == len(levels) - 1
        require(level.scorer is not None or last, decoder, "has a level without machines")
        classes = indices(level, "classes", None, book.n_classes)
        in_order = len(classes) > 0 and np.array_equal(classes, np.unique(classes))
        require(in_order, decoder, "has a level whose classes are not in order")
        inside = np.isin(np.arange(book.n_classes), classes)
        wanted = np.flatnonzero(~(book.matrix[~inside] != 0).any(axis=0))
        columns = indices(level, "columns", None, book.n_columns)
        require(np.array_equal(columns, wanted), decoder, "has a level of other pairs")
