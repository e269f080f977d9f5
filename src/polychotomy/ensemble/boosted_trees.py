"""Gradient boosting of small trees, which model files and ONNX graphs can hold."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..blocks.as_blocks import labels_given
from ..core.answers import ProbabilityAnswers
from ..core.math import softmax
from ..core.registry import stored
from ..core.state import INPUTS, Array, Field, Indices, Labels, Sizes, Whole, require
from ..core.types import FloatArray, IntArray
from ..core.weights import class_numbers, refuse_mixed_labels, row_weights
from ..machines.parameters import Rule, check_parameters, number, whole
from ..native.trees import Tree, answer_trees, binned, grow_tree

_RULES: dict[str, Rule] = {
    "n_rounds": whole(1),
    "learning_rate": number(0.0),
    "max_leaf_nodes": whole(2),
    "min_samples_leaf": whole(1),
    "l2_regularization": number(0.0, from_low=True),
}


@stored("estimator.boosted_trees")
class BoostedTrees(ProbabilityAnswers, ClassifierMixin, BaseEstimator):
    """Gradient boosting of small trees on binned inputs.

    The method of scikit-learn's `HistGradientBoostingClassifier`, with nearly its answers.

    Note: written anew, because model files cannot hold that class, whose trees no public attribute
    shows. All rows take part in every round: rounds that end when some rows gain no more would
    leave these rows out.

    Parameters
    ----------
    n_rounds : int, default=60
        The number of rounds, with a tree for every class (one for two classes).
    learning_rate : float, default=0.1
        What each tree is multiplied by.
    max_leaf_nodes : int, default=15
        The most leaves of a tree.
    min_samples_leaf : int, default=5
        The fewest rows of a leaf.
    l2_regularization : float, default=1.0
        The penalty of the values of leaves.

    Attributes
    ----------
    roots_ : ndarray of shape (n_rounds, n_scores)
        The first node of every tree. There is a score for every class; one for two classes.
    inputs_ : ndarray of shape (n_nodes,)
        The input that every node asks for; 0 for a leaf.
    thresholds_ : ndarray of shape (n_nodes,)
        Up to it, a row goes on to `left_`; 0 for a leaf.
    left_, right_ : ndarray of shape (n_nodes,)
        The next node; a leaf is its own.
    values_ : ndarray of shape (n_nodes,)
        What every node adds to the score of its class; only those of leaves count.
    start_ : ndarray of shape (n_scores,)
        The scores without trees.
    depth_ : int
        The steps from the first node to the last leaf.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        The number of inputs.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the inputs, if X had any.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from polychotomy.ensemble.boosted_trees import BoostedTrees
    >>> X, y = load_wine(return_X_y=True)
    >>> round(BoostedTrees().fit(X[::2], y[::2]).score(X[1::2], y[1::2]), 2)
    0.96
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        **INPUTS,
        "classes_": Labels(),
        "start_": Array("s"),
        "values_": Array("t"),
        "thresholds_": Array("t"),
        "inputs_": Indices("t", below="d"),
        "left_": Indices("t", below="t"),
        "right_": Indices("t", below="t"),
        "roots_": Indices("rs", below="t"),
        "depth_": Whole(0),
    }

    def __init__(
        self,
        n_rounds: int = 60,
        *,
        learning_rate: float = 0.1,
        max_leaf_nodes: int = 15,
        min_samples_leaf: int = 5,
        l2_regularization: float = 1.0,
    ) -> None:
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows, of which only the proportions matter.

        Returns
        -------
        self : BoostedTrees
        """
        y = labels_given(self, X, y)
        check_parameters(self, _RULES)
        refuse_mixed_labels(y)
        X, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        classes, numbers = class_numbers(labels)
        weights = row_weights(sample_weight, None, X, numbers, classes)
        if weights is not None:
            used = weights > 0.0
            X, numbers, weights = X[used], numbers[used], weights[used]
            # The penalty and the least curvature of a leaf are for weights of about 1.
            weights = weights / weights.max()
            weights = weights / weights.mean()
        rows = binned(X, weights)
        members = np.arange(len(classes))[:, None] == numbers
        shares = np.average(members, axis=1, weights=weights)
        if len(classes) == 2:
            members, start = members[1:], np.log(shares[1:] / shares[0])
        else:
            start = np.log(shares) - np.log(shares).mean()
        scores = np.repeat(start[:, None], len(X), axis=1)
        trees: list[Tree] = []
        for _ in range(self.n_rounds):
            p = expit(scores) if len(scores) == 1 else softmax(scores.T).T
            slopes, curvatures = p - members, p * (1.0 - p)
            if weights is not None:
                slopes, curvatures = slopes * weights, curvatures * weights
            trees += [
                grow_tree(
                    *(rows, slopes[k], curvatures[k], scores[k]),
                    most_leaves=self.max_leaf_nodes,
                    least_rows=self.min_samples_leaf,
                    penalty=self.l2_regularization,
                    rate=self.learning_rate,
                )
                for k in range(len(scores))
            ]
        self._keep(trees, start)
        self.classes_ = classes
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        p : ndarray of shape (n_rows, n_classes)
            The probabilities, in the order of `classes_`.
        """
        check_is_fitted(self, "roots_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        z = np.repeat(self.start_[None, :], len(X), axis=0)
        answer_trees(
            X,
            z,
            roots=self.roots_,
            inputs=self.inputs_,
            thresholds=self.thresholds_,
            left=self.left_,
            right=self.right_,
            values=self.values_,
            depth=self.depth_,
        )
        if z.shape[1] == 1:
            return np.hstack([expit(-z), expit(z)])
        return softmax(z)

    def check_state(self, sizes: Sizes) -> None:
        """Check that there is a score for every class, or one for two, and that trees end."""
        n_classes = len(self.classes_)
        wanted = 1 if n_classes == 2 else n_classes
        require(len(self.start_) == wanted, self, "has scores of other classes")
        own = np.arange(len(self.left_))
        onwards = np.all((self.left_ >= own) & (self.right_ >= own))
        in_order = np.all(np.diff(self.roots_.ravel()) > 0)
        require(bool(onwards and in_order), self, "has trees whose nodes are not in their order")
        require(self.depth_ <= len(self.left_), self, "does not have the depth that it declares")

    def _keep(self, trees: list[Tree], start: FloatArray) -> None:
        """Put all trees into one list of nodes."""
        firsts = np.cumsum([0, *(len(tree.inputs) for tree in trees)], dtype=np.int64)
        self.roots_ = firsts[:-1].reshape(-1, len(start))
        self.inputs_ = np.concatenate([tree.inputs for tree in trees])
        self.thresholds_ = np.concatenate([tree.thresholds for tree in trees])
        self.values_ = np.concatenate([tree.values for tree in trees])
        moved = list(zip(trees, firsts[:-1].tolist(), strict=True))
        self.left_: IntArray = np.concatenate([tree.left + first for tree, first in moved])
        self.right_: IntArray = np.concatenate([tree.right + first for tree, first in moved])
        self.start_ = start
        self.depth_ = max(tree.depth for tree in trees)
