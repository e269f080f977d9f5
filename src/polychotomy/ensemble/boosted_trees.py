"""Gradient boosting of small trees, which model files and ONNX graphs can hold."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from ..blocks.as_blocks import labels_given
from ..core.answers import ProbabilityAnswers
from ..core.math import softmax
from ..core.registry import stored
from ..core.state import INPUTS, Array, Field, Indices, Labels, Sizes, Whole, require
from ..core.types import FloatArray, IntArray
from ..core.weights import class_numbers, refuse_mixed_labels, row_weights

# Rows are answered in blocks: a block has this many places in trees at a time.
PLACES = 1 << 20


@stored("estimator.boosted_trees")
class BoostedTrees(ProbabilityAnswers, ClassifierMixin, BaseEstimator):
    """Gradient boosting of small trees, by scikit-learn's `HistGradientBoostingClassifier`.

    Note: a class of its own, because model files cannot hold that of scikit-learn. It takes the
    trees over as arrays, and answers with them. All rows take part in every round: rounds that end
    when some rows gain no more would leave these rows out.

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
    random_state : int, RandomState or None, default=0
        Seeds the sample from which the bins of the inputs are found, beyond 200,000 rows.

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
        random_state: Any = 0,
    ) -> None:
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.random_state = random_state

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
            The weights of the rows.

        Returns
        -------
        self : BoostedTrees
        """
        # Imported here, because it would slow down importing this library.
        from sklearn.ensemble import HistGradientBoostingClassifier

        y = labels_given(self, X, y)
        refuse_mixed_labels(y)
        X, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        classes, numbers = class_numbers(labels)
        weights = row_weights(sample_weight, None, X, numbers, classes)
        if weights is not None:
            used = weights > 0.0
            X, numbers, weights = X[used], numbers[used], weights[used]
        model = HistGradientBoostingClassifier(
            max_iter=self.n_rounds,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
            l2_regularization=self.l2_regularization,
            early_stopping=False,
            random_state=self.random_state,
        )
        # Sums over rows are split by threads, so their last digits would depend on the computer.
        with threadpool_limits(1, user_api="openmp"):
            model.fit(X, numbers, sample_weight=weights)
        self._take_over(model)
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
        step = max(1, PLACES // self.roots_.size)
        z = np.vstack([self._scores(X[start : start + step]) for start in range(0, len(X), step)])
        if z.shape[1] == 1:
            return np.hstack([expit(-z), expit(z)])
        return softmax(z)

    def check_state(self, sizes: Sizes) -> None:
        """Check that there is a score for every class, or one for two, and that trees end."""
        n_classes = len(self.classes_)
        wanted = 1 if n_classes == 2 else n_classes
        require(len(self.start_) == wanted, self, "has scores of other classes")
        require(self.depth_ <= len(self.left_), self, "does not have the depth that it declares")

    def _take_over(self, model: Any) -> None:
        trees = [[each.nodes for each in one] for one in model._predictors]
        flat = [nodes for one in trees for nodes in one]
        starts = np.cumsum([0, *(len(nodes) for nodes in flat)])
        whole, own = np.concatenate(flat), np.arange(starts[-1])
        first = np.repeat(starts[:-1], np.diff(starts))
        leaf = whole["is_leaf"].astype(bool)
        self.roots_ = starts[:-1].reshape(len(trees), -1)
        self.inputs_ = np.where(leaf, 0, whole["feature_idx"]).astype(np.int64)
        self.thresholds_ = np.where(leaf, 0.0, whole["num_threshold"])
        self.left_ = np.where(leaf, own, first + whole["left"])
        self.right_ = np.where(leaf, own, first + whole["right"])
        self.values_ = whole["value"].astype(np.float64)
        self.start_ = np.ravel(model._baseline_prediction).astype(np.float64)
        self.depth_ = int(whole["depth"].max())

    def _scores(self, X: FloatArray) -> FloatArray:
        rows = np.arange(len(X))[:, None]
        places: IntArray = np.broadcast_to(self.roots_.ravel(), (len(X), self.roots_.size))
        for _ in range(self.depth_):
            goes_left = X[rows, self.inputs_[places]] <= self.thresholds_[places]
            places = np.where(goes_left, self.left_[places], self.right_[places])
        shape = len(X), *self.roots_.shape
        scores: FloatArray = self.start_ + self.values_[places].reshape(shape).sum(axis=1)
        return scores
