"""Forests of scikit-learn as graphs: all trees in one node.

Note: written here, because skl2onnx's forests take inputs in single precision only if the whole
graph does, or compare doubles that scikit-learn's trees have rounded to single precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from ..core.types import FloatArray, IntArray
from ..ensemble.boosted_trees import BoostedTrees
from ._graph import Tensor

LEAF = -1


def forest(model: Any, X: Tensor) -> Tensor:
    """Return the mean class probabilities of the trees of a fitted forest.

    Note: the operator sums in double precision, but returns single precision.
    """
    types, tensor = X.graph.onnx.TensorProto, X.graph.onnx.numpy_helper.from_array
    nodes: dict[str, list[Any]] = {name: [] for name in ("tree", "node", "input", "yes", "no")}
    leaves: dict[str, list[Any]] = {name: [] for name in ("tree", "node", "class", "weight")}
    thresholds, is_leaf = [], []
    for number, fitted in enumerate(model.estimators_):
        tree = fitted.tree_
        ends = tree.children_left == LEAF
        inner = (("input", tree.feature), ("yes", tree.children_left), ("no", tree.children_right))
        nodes["tree"].append(np.full(tree.node_count, number))
        nodes["node"].append(np.arange(tree.node_count))
        for name, values in inner:
            nodes[name].append(np.where(ends, 0, values))
        thresholds.append(np.where(ends, 0.0, tree.threshold))
        is_leaf.append(ends)
        for name, values in zip(leaves, _leaves(tree, ends, number), strict=True):
            leaves[name].append(values)
    whole = {name: np.concatenate(parts).tolist() for name, parts in nodes.items()}
    at = {name: np.concatenate(parts) for name, parts in leaves.items()}
    # Trees compare inputs in single precision with thresholds in double precision.
    rounded = X.apply("Cast", to=types.FLOAT).apply("Cast", to=types.DOUBLE)
    total = rounded.apply(
        "TreeEnsembleRegressor",
        domain="ai.onnx.ml",
        n_targets=len(model.classes_),
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=whole["tree"],
        nodes_nodeids=whole["node"],
        nodes_featureids=whole["input"],
        nodes_truenodeids=whole["yes"],
        nodes_falsenodeids=whole["no"],
        nodes_modes=np.where(np.concatenate(is_leaf), "LEAF", "BRANCH_LEQ").tolist(),
        nodes_values_as_tensor=tensor(np.concatenate(thresholds)),
        target_treeids=at["tree"].tolist(),
        target_nodeids=at["node"].tolist(),
        target_ids=at["class"].tolist(),
        target_weights_as_tensor=tensor(at["weight"] / len(model.estimators_)),
    )
    return total.apply("Cast", to=types.DOUBLE).normalised(len(model.classes_))


def boosted(model: BoostedTrees, X: Tensor) -> Tensor:
    """Return the class probabilities of boosted trees; scores are in single precision."""
    types, tensor = X.graph.onnx.TensorProto, X.graph.onnx.numpy_helper.from_array
    own, roots = np.arange(len(model.left_)), model.roots_.ravel()
    ends, tree = model.left_ == own, np.searchsorted(roots, own, side="right") - 1
    node = own - roots[tree]
    n_models, n_rounds, n_scores = model.roots_.shape
    # The trees of a model follow each other, and so do those of a round.
    targets = tree // (n_rounds * n_scores) * n_scores + tree % n_scores
    z = X.apply(
        "TreeEnsembleRegressor",
        domain="ai.onnx.ml",
        n_targets=n_models * n_scores,
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=tree.tolist(),
        nodes_nodeids=node.tolist(),
        nodes_featureids=model.inputs_.tolist(),
        nodes_truenodeids=np.where(ends, 0, model.left_ - roots[tree]).tolist(),
        nodes_falsenodeids=np.where(ends, 0, model.right_ - roots[tree]).tolist(),
        nodes_modes=np.where(ends, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_values_as_tensor=tensor(model.thresholds_),
        target_treeids=tree[ends].tolist(),
        target_nodeids=node[ends].tolist(),
        target_ids=targets[ends].tolist(),
        target_weights_as_tensor=tensor(model.values_[ends]),
    )
    z = z.apply("Cast", to=types.DOUBLE) + model.start_.ravel()
    parts = [z.columns(k * n_scores + np.arange(n_scores)) for k in range(n_models)]
    # Two classes have one score, that of the second.
    pair = np.array([0.0, 1.0])
    return mean([(part * pair if n_scores == 1 else part).softmax() for part in parts])


def mean(parts: Sequence[Tensor]) -> Tensor:
    """Return the mean of several answers."""
    return reduce(add, parts) * (1.0 / len(parts))


def _leaves(tree: Any, ends: Any, number: int) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return tree, node, class and probability of all classes that a leaf has rows of."""
    shares = tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)
    nodes, classes = np.nonzero(np.where(ends[:, None], shares, 0.0))
    return np.full(len(nodes), number), nodes, classes, shares[nodes, classes]
