"""Gradient boosting of small trees, which model files and ONNX graphs can hold."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..blocks.as_blocks import labels_given
from ..core import scores
from ..core.answers import ProbabilityAnswers
from ..core.math import softmax
from ..core.registry import stored
from ..core.state import INPUTS, Array, Field, Indices, Labels, Sizes, Whole, require
from ..core.types import FloatArray, IntArray
from ..core.weights import class_numbers, refuse_mixed_labels, row_weights
from ..machines.parameters import Rule, check_parameters, number, whole
from ..native.trees import BinnedRows, Tree, answer_trees, binned, grow_tree
from ..pipe.folds import FoldRows, Splits, n_folds, split_rows

_RULES: dict[str, Rule] = {
    "n_rounds": whole(1),
    "learning_rate": number(0.0),
    "max_leaf_nodes": whole(2),
    "min_samples_leaf": whole(1),
    "l2_regularization": number(0.0, from_low=True),
}
# With folds, boosting ends when the held-out likelihood has not improved for so many rounds.
PATIENCE = 20
# With folds, there are fewer rounds where all would be expected to take more seconds than this.
MOST_SECONDS = 30.0
# For estimating times: the rounds that folds typically take, the bins of an input, and the seconds
# that a tree takes, each bin of a leaf, and each input of a row.
TYPICAL_ROUNDS, TYPICAL_BINS = 80, 250
SECONDS_OF_A_TREE, SECONDS_OF_A_BIN, SECONDS_OF_A_ROW = 1e-4, 1e-8, 2e-9
# A class that is missing in the training part of a fold counts as so many rows at the start.
PART_OF_A_ROW = 0.5


@stored("estimator.boosted_trees")
class BoostedTrees(ProbabilityAnswers, ClassifierMixin, BaseEstimator):
    """Gradient boosting of small trees on binned inputs.

    The method of scikit-learn's `HistGradientBoostingClassifier`, with nearly its answers. With
    `cv`, one model for every fold, fitted to the other folds; the held-out likelihood of all rows
    says after how many rounds all of them end, and the answer is their mean.

    Note: written anew, because model files cannot hold that class, whose trees no public attribute
    shows. Rounds that end when some rows gain no more leave these rows out; a model for every fold
    leaves none out. How many rounds are needed differs by far more than any other setting: with 60
    for all tables, the NLL was up to 0.3 higher (classes that depend on combinations of many
    values), or the rounds were too many (noise).

    Parameters
    ----------
    n_rounds : int, default=60
        The number of rounds, with a tree for every class (one for two classes); with `cv`, the
        most rounds.
    learning_rate : float, default=0.1
        What each tree is multiplied by.
    max_leaf_nodes : int, default=15
        The most leaves of a tree.
    min_samples_leaf : int, default=5
        The fewest rows of a leaf.
    l2_regularization : float, default=1.0
        The penalty of the values of leaves.
    cv : int, splitter or iterable, default=None
        The folds; every row must be tested exactly once. None for one model of all rows.

    Attributes
    ----------
    roots_ : ndarray of shape (n_models, n_rounds, n_scores)
        The first node of every tree. There is a score for every class; one for two classes.
    inputs_ : ndarray of shape (n_nodes,)
        The input that every node asks for; 0 for a leaf.
    thresholds_ : ndarray of shape (n_nodes,)
        Up to it, a row goes on to `left_`; 0 for a leaf.
    left_, right_ : ndarray of shape (n_nodes,)
        The next node; a leaf is its own.
    values_ : ndarray of shape (n_nodes,)
        What every node adds to the score of its class; only those of leaves count.
    start_ : ndarray of shape (n_models, n_scores)
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
    >>> models, rounds, _ = BoostedTrees(500, cv=3).fit(X[::2], y[::2]).roots_.shape
    >>> models, rounds < 500
    (3, True)
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        **INPUTS,
        "classes_": Labels(),
        "start_": Array("ks"),
        "values_": Array("t"),
        "thresholds_": Array("t"),
        "inputs_": Indices("t", below="d"),
        "left_": Indices("t", below="t"),
        "right_": Indices("t", below="t"),
        "roots_": Indices("krs", below="t"),
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
        cv: Any = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.cv = cv

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
        self._fit(X, y, sample_weight)
        return self

    def fit_out_of_fold(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> FloatArray | None:
        """Fit as `fit` does, and return class probabilities of rows that were held out.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        p : ndarray of shape (n_used_rows, n_classes) or None
            For the rows of positive weight, each by the model that has not seen it; the number of
            rounds has. None if no row could be held out.
        """
        return self._fit(X, y, sample_weight)

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
        p = np.zeros((len(X), len(self.classes_)))
        for roots, start in zip(self.roots_, self.start_, strict=True):
            z = np.repeat(start[None, :], len(X), axis=0)
            answer_trees(
                X,
                z,
                roots=roots,
                inputs=self.inputs_,
                thresholds=self.thresholds_,
                left=self.left_,
                right=self.right_,
                values=self.values_,
                depth=self.depth_,
            )
            p += _probabilities(z)
        p /= len(self.roots_)
        return p

    def seconds_for(self, n_rows: int, n_features: int, n_classes: int) -> float:
        """Estimate how long fitting takes on one core.

        Note: with a few thousand rows most of the time goes to the bins of the leaves, and not to
        the rows. How many rounds it takes is only known afterwards: 50 to 300 on most tables.

        Parameters
        ----------
        n_rows, n_features, n_classes : int
            What it is fitted to.

        Returns
        -------
        seconds : float
        """
        n_scores = 1 if n_classes == 2 else n_classes
        each = n_scores * self._seconds_of_a_tree(n_rows, n_features, TYPICAL_BINS * n_features)
        if self.cv is None:
            return 0.1 + self.n_rounds * each
        each *= n_folds(self.cv)
        return 0.1 + min(TYPICAL_ROUNDS, self._most_rounds(each)) * each

    def _seconds_of_a_tree(self, n_rows: int, n_features: int, n_bins: int) -> float:
        leaves = min(self.max_leaf_nodes, max(1, n_rows // self.min_samples_leaf))
        return (
            SECONDS_OF_A_TREE
            + SECONDS_OF_A_BIN * leaves * n_bins
            + SECONDS_OF_A_ROW * n_rows * n_features
        )

    def check_state(self, sizes: Sizes) -> None:
        """Check that there is a score for every class, or one for two, and that trees end."""
        n_classes = len(self.classes_)
        wanted = 1 if n_classes == 2 else n_classes
        require(self.start_.shape[1] == wanted, self, "has scores of other classes")
        require(len(self.start_) > 0, self, "has no model")
        own = np.arange(len(self.left_))
        onwards = np.all((self.left_ >= own) & (self.right_ >= own))
        in_order = np.all(np.diff(self.roots_.ravel()) > 0)
        require(bool(onwards and in_order), self, "has trees whose nodes are not in their order")
        require(self.depth_ <= len(self.left_), self, "does not have the depth that it declares")

    def _fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> FloatArray | None:
        check_parameters(self, _RULES)
        refuse_mixed_labels(y)
        X, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self.classes_, numbers = class_numbers(labels)
        weights = row_weights(sample_weight, None, X, numbers, self.classes_)
        used = np.arange(len(X)) if weights is None else np.flatnonzero(weights)
        splits = self._splits(FoldRows(X, numbers, used, weights))
        X, numbers = X[used], numbers[used]
        if weights is not None:
            # The penalty and the least curvature of a leaf are for weights of about 1.
            weights = weights[used] / weights.max()
            weights = weights / weights.mean()
        members = np.arange(len(self.classes_))[:, None] == numbers
        rows = binned(X, weights)
        if not splits:
            model = _Model(rows, members, weights)
            for _ in range(self.n_rounds):
                model.grow(self)
            self._keep([model], self.n_rounds)
            return None
        models = [
            _Model(
                rows._replace(bins=rows.bins[train]),
                members[:, train],
                None if weights is None else weights[train],
                X[test],
            )
            for train, test in splits
        ]
        tests = [test for _, test in splits]
        rounds, p = self._rounds(models, tests, numbers, weights)
        self._keep(models, rounds)
        return p

    def _splits(self, data: FoldRows) -> Splits:
        """Return the folds, as places among the rows in use; none if a class would be alone."""
        if self.cv is None:
            return []
        splits = split_rows(self.cv, data, self.classes_, {})
        if any(len(np.unique(data.y[train])) < 2 for train, _ in splits):
            return []
        place = np.full(len(data.y), -1)
        place[data.rows] = np.arange(len(data.rows))
        return [(place[train], place[test]) for train, test in splits]

    def _rounds(
        self,
        models: list[_Model],
        tests: list[IntArray],
        numbers: IntArray,
        weights: FloatArray | None,
    ) -> tuple[int, FloatArray]:
        """Grow all models, and return the best number of rounds and what is held out then.

        Note: with hundreds of classes the held-out likelihood may improve for hundreds of rounds,
        each of which grows hundreds of trees in every fold.
        """
        counts = np.ones(len(numbers)) if weights is None else weights
        bins = models[0].rows.counts
        tree = self._seconds_of_a_tree(len(numbers), len(bins), int(bins.sum()))
        most = self._most_rounds(tree * len(models) * len(models[0].start))
        p = np.zeros((len(numbers), len(self.classes_)))
        best, best_nll, best_p = 0, np.inf, p
        for rounds in range(1, 1 + most):
            for model, test in zip(models, tests, strict=True):
                model.grow(self)
                p[test] = model.held_out()
            nll = float(scores.nll(p, numbers, counts))
            if nll < best_nll:
                best, best_nll, best_p = rounds, nll, p.copy()
            elif rounds >= best + PATIENCE:
                break
        return best, best_p

    def _most_rounds(self, seconds: float) -> int:
        """Return how many rounds there may be, if each takes so many seconds."""
        return max(1, min(self.n_rounds, int(MOST_SECONDS / seconds)))

    def _keep(self, models: list[_Model], rounds: int) -> None:
        """Put the trees of these rounds of all models into one list of nodes."""
        n_scores = len(models[0].start)
        trees = [tree for model in models for tree in model.trees[: rounds * n_scores]]
        firsts = np.cumsum([0, *(len(tree.inputs) for tree in trees)], dtype=np.int64)
        self.roots_ = firsts[:-1].reshape(len(models), rounds, n_scores)
        self.inputs_ = np.concatenate([tree.inputs for tree in trees])
        self.thresholds_ = np.concatenate([tree.thresholds for tree in trees])
        self.values_ = np.concatenate([tree.values for tree in trees])
        moved = list(zip(trees, firsts[:-1].tolist(), strict=True))
        self.left_: IntArray = np.concatenate([tree.left + first for tree, first in moved])
        self.right_: IntArray = np.concatenate([tree.right + first for tree, first in moved])
        self.start_ = np.stack([model.start for model in models])
        self.depth_ = max(tree.depth for tree in trees)


class _Model:
    """A model while it grows: its rows, their scores, and the scores of rows held out."""

    def __init__(
        self,
        rows: BinnedRows,
        members: NDArray[np.bool_],
        weights: FloatArray | None,
        held: FloatArray | None = None,
    ) -> None:
        shares = np.average(members, axis=1, weights=weights)
        shares = np.maximum(shares, PART_OF_A_ROW / members.shape[1])
        if len(members) == 2:
            members, self.start = members[1:], np.log(shares[1:] / shares[0])
        else:
            self.start = np.log(shares) - np.log(shares).mean()
        self.rows, self.members, self.weights = rows, members, weights
        self.scores = np.repeat(self.start[:, None], members.shape[1], axis=1)
        self.held = held
        self.held_scores = np.repeat(self.start[None, :], 0 if held is None else len(held), axis=0)
        self.trees: list[Tree] = []

    def grow(self, limits: BoostedTrees) -> None:
        """Grow a tree for every score."""
        p = expit(self.scores) if len(self.scores) == 1 else softmax(self.scores.T).T
        slopes, curvatures = p - self.members, p * (1.0 - p)
        if self.weights is not None:
            slopes, curvatures = slopes * self.weights, curvatures * self.weights
        for k, own in enumerate(self.scores):
            tree = grow_tree(
                *(self.rows, slopes[k], curvatures[k], own),
                most_leaves=limits.max_leaf_nodes,
                least_rows=limits.min_samples_leaf,
                penalty=limits.l2_regularization,
                rate=limits.learning_rate,
            )
            self.trees.append(tree)
            if self.held is not None:
                added = np.zeros((len(self.held), 1))
                root, nodes = np.zeros((1, 1), dtype=np.int64), tree._asdict()
                answer_trees(self.held, added, roots=root, **nodes)
                self.held_scores[:, k] += added[:, 0]

    def held_out(self) -> FloatArray:
        """Return the probabilities of the rows held out."""
        return _probabilities(self.held_scores)


def _probabilities(z: FloatArray) -> FloatArray:
    """Return class probabilities; two classes have one score, that of the second."""
    return np.hstack([expit(-z), expit(z)]) if z.shape[1] == 1 else softmax(z)
