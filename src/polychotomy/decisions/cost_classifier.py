"""The action of least expected cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..core.checks import one_of, weight_array
from ..core.registry import stored
from ..core.state import Array, DictOf, Distinct, Field, Number, Sizes, require
from ..core.types import FloatArray, IntArray
from .base import DecisionClassifier
from .costs import Costs, cost_table, least_expected
from .held_out import Rows, warn_few
from .inputs import numbers_of, share
from .thresholds import METRICS, tune_factors


@stored("decision.cost_classifier")
class CostClassifier(DecisionClassifier):
    """Choose the action of least expected cost.

    A row of class k for which action a is chosen costs ``costs[k, a]``. With the class
    probabilities p of a classifier, `predict` returns the action that minimises
    ``sum_k p_k costs[k, a]``. There may be more or fewer actions than classes.

    If costs are not known, they can be tuned to a metric: ``costs="macro_f1"``.

    Parameters
    ----------
    estimator : classifier
        Any classifier with `predict_proba`. One that is fitted already is given as
        ``FrozenEstimator(classifier)``.
    costs : array-like, data frame, dict of dicts, callable or str, default=None
        The cost of every action (column) for every true class (row).

        - A data frame has the classes as its index and the actions as its columns. A dict of
          dicts is ``{class: {action: cost}}``. In both, an entry that is a text names a column of
          the inputs, which are then a data frame: the value of the column in a row is the cost.
        - An array has its rows in the order of the sorted classes, its columns in that of
          `actions`.
        - A callable gets the inputs and returns an array of shape (n_rows, n_classes, n_actions),
          or (n_classes, n_actions).
        - "macro_f1", "balanced_accuracy" or "accuracy": the cost of missing each class is chosen
          so that this metric is largest on held-out training rows. The actions are the classes.
        - None: 0 for the true class, 1 for any other.
    actions : sequence, default=None
        The labels of the actions, if `costs` is an array or a callable; by default the classes.
    recall_floors : dict, default=None
        The least recall of some classes, ``{class: recall}``, for costs that are tuned. Meeting
        them comes before the metric. They hold for the held-out training rows; for new rows, up
        to the sampling error of a recall.
    cv : int, splitter, iterable or None, default=None
        The folds of held-out rows, for costs that are tuned. None: the out-of-fold probabilities
        that classifiers of this library have anyway, five folds for any other.
    n_jobs : int, default=None
        How many folds are fitted at once.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    actions_ : ndarray of shape (n_actions,)
        The labels of the actions, which `predict` returns.
    costs_ : ndarray of shape (n_classes, n_actions)
        The costs that are the same for all rows.
    column_costs_ : dict of str to ndarray of shape (n_classes, n_actions)
        Where the value of a column is the cost.
    tuned_score_, untuned_score_ : float
        The metric on the held-out rows, with the tuned costs and with equal ones. The first is
        a little too high, because the costs were chosen on these rows.
    recalls_ : ndarray of shape (n_classes,)
        The recalls of the classes on the held-out rows, with the tuned costs.
    n_features_in_ : int
        The number of inputs, if the classifier has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the inputs, if X had any.

    See Also
    --------
    cost_table : The same on arrays.

    References
    ----------
    Elkan (2001), The foundations of cost-sensitive learning, equation (1).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from polychotomy.decisions import CostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> costs = {
    ...     0: {"cellar": 0, "sell": 2, "taste": 0.5},
    ...     1: {"cellar": 9, "sell": 0, "taste": 0.5},
    ...     2: {"cellar": 9, "sell": 4, "taste": 0.5},
    ... }
    >>> logistic = make_pipeline(StandardScaler(), LogisticRegression())
    >>> clf = CostClassifier(logistic, costs).fit(X[::2], y[::2])
    >>> clf.predict(X[[1, 69, 141]])
    array(['cellar', 'sell', 'taste'], dtype='<U6')
    >>> clf.expected_costs(X[[69]]).round(1)
    array([[8.7, 0.1, 0.5]])
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        "actions_": Distinct("A"),
        "costs_": Array("MA", at_least=0.0),
        "column_costs_": DictOf(Array("MA", at_least=0.0)),
        "tuned_score_": Number(optional=True),
        "untuned_score_": Number(optional=True),
        "recalls_": Array("M", at_least=0.0, optional=True),
    }

    def __init__(
        self,
        estimator: Any,
        costs: Any = None,
        *,
        actions: Sequence[Any] | None = None,
        recall_floors: Mapping[Any, float] | None = None,
        cv: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.costs = costs
        self.actions = actions
        self.recall_floors = recall_floors
        self.cv = cv
        self.n_jobs = n_jobs

    def _fit_rows(self, rows: Rows) -> None:
        for name in ("tuned_score_", "untuned_score_", "recalls_"):
            self.__dict__.pop(name, None)
        if isinstance(self.costs, str) or self.recall_floors is not None:
            found = self._tuned(rows)
        else:
            # Before the fit, so that a mistake in the costs does not wait for it.
            found = cost_table(self.costs, rows.classes, self.actions)
            self.estimator_ = rows.fit()
        self.costs_, self.actions_, self.column_costs_ = found.fixed, found.actions, found.columns

    def _tuned(self, rows: Rows) -> Costs:
        metric = "accuracy" if self.costs is None else self.costs
        if not isinstance(metric, str):
            raise ValueError(
                "recall_floors is for costs that are tuned; use costs='macro_f1', "
                "'balanced_accuracy' or 'accuracy', or remove it."
            )
        one_of(metric, "costs", METRICS)
        if self.actions is not None:
            raise ValueError("With tuned costs the actions are the classes; remove actions.")
        floors = _floors(self.recall_floors, rows.classes)
        self.estimator_, held_out = rows.fit_held_out(self.cv, self.n_jobs)
        tuned = tune_factors(held_out.p, held_out.y, metric, floors, held_out.weights)
        missed = np.flatnonzero(tuned.recalls < floors - 1e-9)
        if len(missed):
            k = missed[0]
            warn_few(
                f"recall_floors cannot all be met: class {rows.classes.tolist()[k]!r} has a recall "
                f"of {tuned.recalls[k]:.3f} on the held-out rows, below {floors[k]:g}. Lower the "
                "floor of this or another class."
            )
        self.tuned_score_, self.untuned_score_ = tuned.score, tuned.before
        self.recalls_ = tuned.recalls
        off = 1.0 - np.eye(len(rows.classes))
        return Costs(tuned.factors[:, None] * off, rows.classes)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the action of least expected cost for every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        actions : ndarray of shape (n_rows,)
            Of equally cheap actions, the first.
        """
        chosen = least_expected(self.expected_costs(X))
        actions: NDArray[Any] = self.actions_[chosen]
        return actions

    def expected_costs(self, X: Any) -> FloatArray:
        """Return the expected cost of every action.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        expected : ndarray of shape (n_rows, n_actions)
            In the order of `actions_`.
        """
        p = self.predict_proba(X)
        return self._table().expected(p, X)

    def expected_cost(self, X: Any) -> FloatArray:
        """Return the expected cost of the chosen action.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        expected : ndarray of shape (n_rows,)
        """
        least: FloatArray = self.expected_costs(X).min(axis=1)
        return least

    def mean_cost(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return what the chosen actions cost on labelled rows, on average.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The true classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows.

        Returns
        -------
        cost : float
        """
        chosen = least_expected(self.expected_costs(X))
        numbers: IntArray = numbers_of(y, self.classes_)
        paid = self._table().of(numbers, chosen, X)
        weights = None if sample_weight is None else weight_array(sample_weight, len(paid))
        return float(np.average(paid, weights=weights))

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return minus the mean cost, so that searches look for the least cost.

        Parameters
        ----------
        X, y, sample_weight
            As for `mean_cost`.

        Returns
        -------
        score : float
        """
        return -self.mean_cost(X, y, sample_weight)

    def _table(self) -> Costs:
        check_is_fitted(self, "costs_")
        function = self.costs if callable(self.costs) else None
        return Costs(self.costs_, self.actions_, self.column_costs_, function)

    def check_state(self, sizes: Sizes) -> None:
        """Check the classifier, and that no cost is a function."""
        super().check_state(sizes)
        require(not callable(self.costs), self, "has a function of costs, which cannot be stored")


def _floors(given: Mapping[Any, float] | None, classes: NDArray[Any]) -> FloatArray:
    floors = np.zeros(len(classes))
    if given is None:
        return floors
    if not isinstance(given, Mapping):
        raise TypeError(f"recall_floors must be a dict of recalls by class, got {given!r}.")
    for label, value in given.items():
        if label not in classes.tolist():
            raise ValueError(
                f"recall_floors names {label!r}, which is not a class; the classes are "
                f"{classes.tolist()!r}."
            )
        floors[classes.tolist().index(label)] = share(value, f"recall_floors[{label!r}]", zero=True)
    return floors
