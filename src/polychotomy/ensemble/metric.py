"""A learned metric: a weight for every input, for all kernel machines."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.checks import one_of, whole_number
from ..core.registry import stored
from ..core.rows import chosen_rows
from ..core.state import INPUTS, Array, Field, Holds, Instance, Labels, Number, OneOf, Whole
from ..core.threads import single_threaded_blas
from ..core.types import FloatArray, IntArray
from ..core.weights import class_numbers, refuse_mixed_labels, row_weights
from ..machines import LSSVM
from ..machines.lssvm.folds_out import Folds
from ..pipe.folds import FoldRows, split_rows
from .metric_rounds import (
    FIRST_GAMMA,
    FIRST_WIDTH,
    GAMMAS,
    NARROWER,
    WIDTHS,
    Found,
    Judge,
    Widths,
)
from .views import VIEWS, View, learn_view

# Kernels that depend on distances, and therefore on the weights of the inputs.
KERNELS = ("rbf", "laplacian")
# Views, and where to start the search for width and gamma, are chosen on at most this many rows.
ROWS_FOR_VIEWS = 800
# The weights of the inputs are learned on at most this many, and width and gamma on all.
ROWS_FOR_ROUNDS = 1000


@stored("estimator.learned_metric")
class LearnedMetric(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Inputs weighted by how much the classes depend on them, for any kernel machine.

    A one-vs-rest LS-SVM is fitted with the kernel ``exp(-D)``. D is half the squared Euclidean
    ("rbf") or the city-block distance ("laplacian") of the weighted inputs. Width and gamma
    minimise the negative log-likelihood of scores of rows that are left out, one by one or, with
    `cv`, by folds. The new weight of an input is the root of the mean square slope of the scores
    along it, ``w_j = sqrt(mean_i sum_k (df_k / dx_ij)^2)``. This is repeated for a few rounds, and
    the best round is kept. Two views of the inputs are tried: standardised inputs, and normal
    scores of their ranks.

    `transform` returns inputs on which the plain kernel, with ``sigma2=1.0`` ("rbf") or
    ``gamma=1.0`` ("laplacian"), equals the learned one.

    Parameters
    ----------
    kernel : {"rbf", "laplacian"}, default="rbf"
        The kernel that the metric is for.
    views : sequence of {"standardised", "ranks"}, default=("standardised", "ranks")
        The views to try. In "ranks", a column with more than 10 distinct values is replaced by
        the normal scores of its ranks.
    rounds : int, default=3
        How often the weights are updated, at most. With 0, all inputs have the same weight.
    max_rows : int, default=2000
        The metric is learned from at most this many rows, chosen evenly from every class, plus one
        row of each class that would otherwise be lost. The time grows with their cube. Views, and
        where the search for width and gamma starts, are chosen on 800 of them, and the weights on
        1,000, which then judge widths and gammas of fits on all.
    cv : "leave_one_out", int, splitter or iterable, default="leave_one_out"
        The folds by which rows are left out, where rows are alike in groups or change with time;
        every row must be tested exactly once. A number means stratified folds by content, as in
        `PolychotomyClassifier`.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features_in_,)
        The weights of the inputs, which have unit deviation in their view. The largest weight is
        1, and none is smaller than 0.001.
    view_ : str
        The better view of the inputs.
    scale_ : float
        The factor by which `transform` multiplies the weighted inputs.
    C_ : float
        The regularisation of the LS-SVM that was fitted with the metric.
    nll_ : float
        The mean negative log-likelihood of the scores of the judged rows, which are left out.
    history_ : list of dict
        The result of each round: "view", "round", "width", "C" and "nll".
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        The number of inputs.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the inputs, if X had any.

    Notes
    -----
    A method of this library. Weights by slopes are the diagonal of the outer product of gradients
    (Xia et al., 2002; Radhakrishnan et al., 2024). A row of weight v counts as v rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from polychotomy import SVM, LearnedMetric, PolychotomyClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = LearnedMetric().fit(X, y)
    >>> metric.feature_weights_.round(1)
    array([0.2, 0.1, 1. , 0.6])
    >>> clf = make_pipeline(LearnedMetric(), PolychotomyClassifier(SVM(sigma2=1.0)))
    >>> round(clf.fit(X[::2], y[::2]).score(X[1::2], y[1::2]), 2)
    0.97
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        **INPUTS,
        "classes_": Labels(),
        "view_": OneOf(*VIEWS),
        "_view": Holds(View, share="d"),
        "feature_weights_": Array("d"),
        "scale_": Number(),
        "C_": Number(above=0.0),
        "nll_": Number(),
        "history_": Instance(list),
        # Only in files of earlier versions.
        "_n_features_out": Whole(1, letter="d", optional=True),
    }

    later_parameters: ClassVar[dict[str, Any]] = {"cv": "leave_one_out"}

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        views: Any = VIEWS,
        rounds: int = 3,
        max_rows: int = 2000,
        cv: Any = "leave_one_out",
    ) -> None:
        self.kernel = kernel
        self.views = views
        self.rounds = rounds
        self.max_rows = max_rows
        self.cv = cv

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the weights of the inputs.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows; a row of weight 2 counts twice.

        Returns
        -------
        self : LearnedMetric
        """
        self._check_parameters()
        refuse_mixed_labels(y)
        X, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(labels)
        self.classes_, numbers = class_numbers(labels)
        weights = row_weights(sample_weight, None, X, numbers, self.classes_)
        if weights is None:
            weights = np.ones(len(numbers))
        used = chosen_rows(numbers, weights, self.max_rows)
        folds = self._folds(X, numbers, weights, used)
        X, numbers, weights = X[used], numbers[used], weights[used]
        self.history_: list[dict[str, Any]] = []
        with single_threaded_blas():
            found, self.view_, self._view = self._learn(X, numbers, weights, folds)
        self.feature_weights_, self.scale_ = found.weights, found.scale
        self.C_, self.nll_ = float(GAMMAS[found.gamma]), found.nll
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the weighted inputs, on which the plain kernel equals the learned one.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        Z : ndarray of shape (n_rows, n_features)
        """
        check_is_fitted(self, "feature_weights_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        Z: FloatArray = self._view.transform(X) * (self.scale_ * self.feature_weights_)
        return Z

    def parameters_for(self, machine: Any) -> dict[str, Any]:
        """Return the parameters that give a kernel machine the learned kernel.

        For an LS-SVM they include C, because the metric was learned with an LS-SVM.
        """
        check_is_fitted(self, "feature_weights_")
        found: dict[str, Any] = {"kernel": self.kernel, "sigma2": None, "gamma": 1.0}
        if self.kernel == "rbf":
            found = {"kernel": "rbf", "sigma2": 1.0}
        return {**found, "C": self.C_} if isinstance(machine, LSSVM) else found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _check_parameters(self) -> None:
        one_of(self.kernel, "kernel", KERNELS)
        views = [self.views] if isinstance(self.views, str) else list(self.views)
        if isinstance(self.views, str) or not views:
            raise ValueError(f"views must be a list of views such as {VIEWS}, got {self.views!r}.")
        for view in views:
            one_of(view, "view", VIEWS)
        whole_number(self.rounds, "rounds", 0)
        whole_number(self.max_rows, "max_rows", 2)
        if isinstance(self.cv, str):
            one_of(self.cv, "cv", ("leave_one_out",))

    def _folds(
        self, X: FloatArray, y: IntArray, weights: FloatArray, used: IntArray
    ) -> Folds | None:
        """Return the folds of all rows, as those that the metric is learned from have them."""
        if isinstance(self.cv, str):
            return None
        data = FoldRows(X, y, np.flatnonzero(weights), weights)
        splits = split_rows(self.cv, data, self.classes_, {})
        if not splits:
            return None
        trained = np.array([np.isin(used, train) for train, _ in splits])
        return Folds(trained, np.array([np.isin(used, test) for _, test in splits]))

    def _learn(
        self, X: FloatArray, y: IntArray, weights: FloatArray, folds: Folds | None
    ) -> tuple[Found, str, View]:
        """Return the best round of the better view.

        Note: the views are compared with equal weights, and only the better one gets further
        rounds. Learning weights in both views would take twice as long.
        """
        views = {name: learn_view(name, X, weights) for name in self.views}
        few = chosen_rows(y, weights, ROWS_FOR_VIEWS)
        best: tuple[Found, str, Judge] | None = None
        for name, view in views.items():
            own = None if folds is None else folds.of_rows(few)
            judge = Judge(self.kernel, view.transform(X[few]), y[few], weights[few], folds=own)
            near = (FIRST_WIDTH, FIRST_GAMMA) if best is None else (best[0].width, best[0].gamma)
            found = Widths(judge, np.ones(X.shape[1])).climb(*near)
            self._note(name, 0, found)
            if best is None or found.nll < best[0].nll:
                best = (found, name, judge)
        assert best is not None
        found, name, judge = best
        Z = views[name].transform(X)
        some = chosen_rows(y, weights, ROWS_FOR_ROUNDS)
        if len(few) < len(some):
            own = None if folds is None else folds.of_rows(some)
            judge = Judge(self.kernel, Z[some], y[some], weights[some], folds=own)
            found = Widths(judge, np.ones(X.shape[1])).climb(found.width, found.gamma)
            self._note(name, 0, found)
        n_rounds = 0
        for n_rounds, later in enumerate(judge.renew(found, self.rounds), start=1):
            self._note(name, n_rounds, later)
            found = min(found, later, key=lambda one: one.nll)
        if len(some) < len(X):
            # Trained on all rows, judged on some. With more rows, no kernel should be wider.
            order = np.concatenate([np.setdiff1d(np.arange(len(X)), some), some])
            own = None if folds is None else folds.of_rows(order)
            judge = Judge(self.kernel, Z[order], y[order], weights[order], len(some), own)
            found = Widths(judge, found.weights).climb(found.width, found.gamma, NARROWER)
            self._note(name, n_rounds, found)
        return found, name, views[name]

    def _note(self, view: str, number: int, found: Found) -> None:
        self.history_.append(
            {
                "view": view,
                "round": number,
                "width": float(WIDTHS[found.width]),
                "C": float(GAMMAS[found.gamma]),
                "nll": found.nll,
            }
        )
