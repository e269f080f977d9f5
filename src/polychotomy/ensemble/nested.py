"""An ensemble of nested dichotomies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, column_or_1d, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted, validate_data

from ..blocks.as_blocks import labels_given
from ..codes import NestedCode
from ..codes.base import positive_integer
from ..core.answers import ProbabilityAnswers
from ..core.diagram import Diagram, side_by_side
from ..core.registry import stored
from ..core.state import INPUTS, Field, Holds, Labels, ListOf, Sizes, require
from ..core.threads import single_threaded_blas
from ..core.types import FloatArray
from ..core.weights import class_numbers, row_weights
from ..pipe.classifier import PolychotomyClassifier
from ..pipe.inputs import refuse_several_outputs
from ..pipe.parts import resolve_tempering
from ..tempering.tempering import Tempering


@stored("estimator.nested_dichotomies")
class NestedDichotomies(ProbabilityAnswers, ClassifierMixin, BaseEstimator):
    """The mean of several nested dichotomies, each a random binary tree over the classes.

    For many classes: a tree has M - 1 binary problems, most of them small, where one-vs-one has
    M (M - 1) / 2. A single tree depends on how its classes happen to be split; the mean of the
    class probabilities of several trees depends on it less.

    Parameters
    ----------
    machine : classifier, default=None
        The binary machine, as in `PolychotomyClassifier`: `SVM()` by default.
    tree : {"random", "balanced", "random_pair"}, default="random"
        How the trees are drawn (see `NestedCode`). "centroid" and a given hierarchy always give the
        same tree; use them with `PolychotomyClassifier`.
    n_trees : int, default=10
        The number of trees.
    calibrator : Calibrator, str or None, default="auto"
        How the scores of the binary machines become probabilities.
    tempering : None, "auto", bool or Tempering, default="auto"
        A last stage that sharpens the mean probabilities, which are too flat if the trees disagree;
        None or False for none. It is fitted on the mean of the trees' out-of-fold probabilities, so
        the machines are trained on every fold, too.
    cv : int, splitter, iterable or "leave_one_out", default=5
        The folds of calibrators and tempering, as in `PolychotomyClassifier`.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    n_jobs : int, default=None
        How many trees are fitted at once.
    random_state : int, RandomState or None, default=None
        Seeds the trees and the machines.

    Attributes
    ----------
    trees_ : list of PolychotomyClassifier
        The fitted trees; the tree itself is the `codebook_` of each. Two classes have a single
        tree.
    tempering_ : Tempering or None
        The fitted tempering.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        The number of inputs.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the inputs, if X had any.

    Notes
    -----
    Every tree is a pipe of its own. One codebook with the columns of all trees was the alternative:
    equal problems of two trees would then share a machine. But beyond a few classes almost no
    problems are equal, and the scores of all columns of all trees would be in memory at once.

    References
    ----------
    E. Frank and S. Kramer, "Ensembles of nested dichotomies for multi-class problems", ICML 2004.
    T. Leathart, E. Frank, B. Pfahringer and G. Holmes, "On calibration of nested dichotomies",
    PAKDD 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from polychotomy import NestedDichotomies
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = NestedDichotomies(LogisticRegression(), n_trees=5, random_state=0)
    >>> print(f"{clf.fit(X[:500] / 16, y[:500]).score(X[500:] / 16, y[500:]):.2f}")
    0.89
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        **INPUTS,
        "classes_": Labels(),
        "trees_": ListOf(Holds(PolychotomyClassifier, share="Md")),
        "tempering_": Holds(Tempering, share="M", optional=True),
    }

    def __init__(
        self,
        machine: Any = None,
        tree: str = "random",
        n_trees: int = 10,
        *,
        calibrator: Any = "auto",
        tempering: Any = "auto",
        cv: Any = 5,
        class_weight: Mapping[Any, float] | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.machine = machine
        self.tree = tree
        self.n_trees = n_trees
        self.calibrator = calibrator
        self.tempering = tempering
        self.cv = cv
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit all trees.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows.
        **fit_params : dict
            As in `PolychotomyClassifier.fit`.

        Returns
        -------
        self : NestedDichotomies
        """
        y = labels_given(self, X, y)
        n_trees = positive_integer(self.n_trees, "n_trees")
        if not isinstance(self.tree, str) or self.tree not in ("random", "balanced", "random_pair"):
            raise ValueError(
                "tree must be 'random', 'balanced' or 'random_pair', which draw different trees; "
                f"got {self.tree!r}. For one given tree use PolychotomyClassifier with "
                "code=NestedCode(tree)."
            )
        tempering = resolve_tempering(self.tempering)
        refuse_several_outputs(y)
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=n_trees).tolist()
        # The first tree checks the inputs and finds the classes; two classes have no second tree.
        args = X, y, sample_weight, fit_params, tempering is not None
        first, p = _fit_tree(self._pipe(seeds[0]), *args)
        rest = seeds[1:] if len(first.classes_) > 2 else []
        found = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_tree)(self._pipe(seed), *args) for seed in rest
        )
        validate_data(self, X, skip_check_array=True)
        self.trees_ = [first, *(tree for tree, _ in found)]
        self.classes_ = first.classes_
        self.tempering_ = None
        if tempering is not None and p is not None:
            mean = np.mean([p, *(each for _, each in found)], axis=0)
            classes, numbers = class_numbers(column_or_1d(y))
            weights = row_weights(sample_weight, self.class_weight, numbers, numbers, classes)
            if weights is not None:
                numbers, weights = numbers[weights > 0], weights[weights > 0]
            self.tempering_ = tempering.fit(mean, numbers, weights)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every class: the mean over the trees, tempered.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        p : ndarray of shape (n_rows, n_classes)
            The probabilities, in the order of `classes_`.
        """
        check_is_fitted(self, "trees_")
        p: FloatArray = self.trees_[0].predict_proba(X)
        for tree in self.trees_[1:]:
            p += tree.predict_proba(X)
        p /= len(self.trees_)
        return p if self.tempering_ is None else self.tempering_.transform(p)

    def expected_seconds(self, n_rows: int) -> float:
        """Estimate how long fitting takes on one core; a tree takes about as long as one pipe."""
        return self.n_trees * self._pipe(None).expected_seconds(n_rows)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata goes where.

        Returns
        -------
        routing : MetadataRouter
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(
            trees=self._pipe(None), method_mapping=MethodMapping().add(caller="fit", callee="fit")
        )

    def check_state(self, sizes: Sizes) -> None:
        """Check that there are trees, and that they have the classes of the ensemble."""
        require(len(self.trees_) > 0, self, "has no trees")
        for tree in self.trees_:
            same = np.array_equal(tree.classes_, self.classes_)
            require(same and tree.is_ready, self, "has a tree of other classes")
            nested = tree.codebook_.branches is not None and tree.parts_.yields_probabilities
            require(nested, self, "has a tree that is not a nested dichotomy")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._pipe(None)).input_tags
        return tags

    def _sk_visual_block_(self) -> Diagram:
        return side_by_side([("tree", self._pipe(None))])

    def _pipe(self, seed: int | None) -> PolychotomyClassifier:
        return PolychotomyClassifier(
            self.machine,
            NestedCode(self.tree),
            self.calibrator,
            "branch_product",
            cv=self.cv,
            class_weight=self.class_weight,
            random_state=seed,
        )


def _fit_tree(
    tree: PolychotomyClassifier,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    fit_params: dict[str, Any],
    out_of_fold: bool,
) -> tuple[PolychotomyClassifier, FloatArray | None]:
    """Fit a tree, with its out-of-fold probabilities if they are wanted.

    Note: BLAS has one thread, so that `n_jobs` changes no bit (see `members.fit_members`).
    """
    with single_threaded_blas():
        if out_of_fold:
            return tree, tree.fit_out_of_fold(X, y, sample_weight, **fit_params)
        return tree.fit(X, y, sample_weight, **fit_params), None
