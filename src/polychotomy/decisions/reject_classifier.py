"""Answer only where the class is sure enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..core.registry import stored
from ..core.state import Array, Distinct, Field
from ..core.types import FloatArray
from .base import DecisionClassifier
from .costs import nonnegative
from .held_out import HeldOut, Rows, warn_few
from .inputs import label_array, share
from .rejection import NEVER, coverage_threshold, error_threshold
from .risk_coverage import RiskCoverage, risk_coverage

DEFAULT_COST = 0.5


@stored("decision.reject_classifier")
class RejectClassifier(DecisionClassifier):
    """Predict the most likely class, or reject the row if that is too doubtful.

    A row is answered if its largest class probability reaches a threshold. The threshold follows
    from a cost (Chow's rule), or is chosen on held-out training rows, so that the answered rows
    have a wanted error, or so that a wanted share of the rows is answered.

    Parameters
    ----------
    estimator : classifier
        Any classifier with `predict_proba`. One that is fitted already is given as
        ``FrozenEstimator(classifier)``; the rows given to `fit` are then the held-out rows.
    reject_cost : float or dict, default=None
        What a rejected row costs, if a wrong answer costs 1: a row is rejected if ``1 - max_k p_k``
        is larger. A dict gives a cost for every class that would have been the answer. If
        `error` and `coverage` are not given either, it is 0.5: answered is a class that is more
        likely than all others together.
    error : float, default=None
        The wanted error among the answered rows.
    coverage : float, default=None
        The wanted share of answered rows.
    class_wise : bool, default=False
        Whether every predicted class has a threshold of its own, so that it has the wanted error
        or coverage itself.
    reject_label : object, default=None
        What `predict` returns for rejected rows; by default -1 (or less, if -1 is a class) for
        numbers, "rejected" for texts, None for others.
    cv : int, splitter, iterable or None, default=None
        The folds of held-out rows, for `error` and `coverage`. None: the out-of-fold probabilities
        that classifiers of this library have anyway, five folds for any other.
    n_jobs : int, default=None
        How many folds are fitted at once.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    actions_ : ndarray of shape (n_classes + 1,)
        What `predict` may return: the classes, and the label of rejected rows.
    thresholds_ : ndarray of shape (n_classes,)
        The least probability with which each class is answered; 2 if never.
    n_features_in_ : int
        The number of inputs, if the classifier has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the inputs, if X had any.

    Notes
    -----
    The wanted error and coverage hold on average for new rows like the training rows, up to
    sampling error. They are not guaranteed for a single model. Disagreement between the binary
    machines of a pipe was tried as a second reason to reject. It added nothing to the
    probability (see `docs/benchmarks.md`), so that it is not offered.

    References
    ----------
    Chow (1970), On optimum recognition error and reject tradeoff.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import PolychotomyClassifier
    >>> from polychotomy.decisions import RejectClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = RejectClassifier(PolychotomyClassifier(), coverage=0.8).fit(X[::2], y[::2])
    >>> clf.predict(X[[1, 69, 83]])
    array([ 0,  1, -1])
    >>> answered = clf.answers(X[1::2])
    >>> right = clf.predict(X[1::2])[answered] == y[1::2][answered]
    >>> f"{answered.mean():.2f} answered, {right.mean():.2f} of them right"
    '0.89 answered, 1.00 of them right'
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        "actions_": Distinct("A"),
        "thresholds_": Array("M", at_least=-1.0, at_most=NEVER),
    }

    def __init__(
        self,
        estimator: Any,
        *,
        reject_cost: float | Mapping[Any, float] | None = None,
        error: float | None = None,
        coverage: float | None = None,
        class_wise: bool = False,
        reject_label: Any = None,
        cv: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.reject_cost = reject_cost
        self.error = error
        self.coverage = coverage
        self.class_wise = class_wise
        self.reject_label = reject_label
        self.cv = cv
        self.n_jobs = n_jobs

    def _fit_rows(self, rows: Rows) -> None:
        given = [
            name for name in ("reject_cost", "error", "coverage") if getattr(self, name) is not None
        ]
        if len(given) > 1:
            raise ValueError(f"Give {given[0]} or {given[1]}, not both: each sets the threshold.")
        actions = actions_with_reject(rows.classes, self.reject_label)
        if self.error is None and self.coverage is None:
            cost = DEFAULT_COST if self.reject_cost is None else self.reject_cost
            thresholds = chow_thresholds(cost, rows.classes)
            self.estimator_ = rows.fit()
        else:
            wanted = share(self.error if self.coverage is None else self.coverage, given[0])
            self.estimator_, held_out = rows.fit_held_out(self.cv, self.n_jobs)
            thresholds = self._chosen(held_out, wanted, rows.classes)
        self.thresholds_, self.actions_ = thresholds, actions

    def _chosen(self, held_out: HeldOut, wanted: float, classes: NDArray[Any]) -> FloatArray:
        confidence, answer = held_out.p.max(axis=1), held_out.p.argmax(axis=1)
        wrong = (answer != held_out.y).astype(float)

        def one(rows: NDArray[np.bool_]) -> float:
            if self.error is not None:
                return error_threshold(confidence[rows], wrong[rows], wanted)
            return coverage_threshold(confidence[rows], wanted)

        everyone = np.ones(len(wrong), dtype=bool)
        thresholds = np.full(len(classes), one(everyone))
        if self.class_wise:
            for k in np.unique(answer):
                thresholds[k] = one(answer == k)
        if (thresholds >= NEVER).any():
            k = int(np.argmax(thresholds >= NEVER))
            which = f"class {classes.tolist()[k]!r}" if self.class_wise else "any class"
            warn_few(
                f"No threshold has an error of at most {wanted:g} among the answered held-out "
                f"rows of {which}: such rows are all rejected. Allow a larger error, or give "
                "more rows."
            )
        return thresholds

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most likely class of every row, or the reject label.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        p = self.predict_proba(X)
        answer = p.argmax(axis=1)
        answer[~self._answered(p)] = len(self.classes_)
        found: NDArray[Any] = self.actions_[answer]
        return found

    def answers(self, X: Any) -> NDArray[np.bool_]:
        """Return whether each row is answered.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        answered : ndarray of bool of shape (n_rows,)
        """
        return self._answered(self.predict_proba(X))

    def risk_coverage(self, X: Any, y: ArrayLike) -> RiskCoverage:
        """Return the error among answered rows for all thresholds, on labelled rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The true classes.

        Returns
        -------
        curve : RiskCoverage
        """
        return risk_coverage(y, self.predict_proba(X), self.classes_)

    def _answered(self, p: FloatArray) -> NDArray[np.bool_]:
        check_is_fitted(self, "thresholds_")
        return answered(p, self.thresholds_)


def answered(p: FloatArray, thresholds: FloatArray) -> NDArray[np.bool_]:
    """Return whether the largest probability of each row reaches the threshold of its class."""
    reached: NDArray[np.bool_] = p.max(axis=1) >= thresholds[p.argmax(axis=1)]
    return reached


def chow_thresholds(cost: Any, classes: NDArray[Any]) -> FloatArray:
    """Return Chow's thresholds: a row is rejected if ``1 - max_k p_k`` is above the cost."""
    if not isinstance(cost, Mapping):
        return np.full(len(classes), max(1.0 - nonnegative(cost, "reject_cost"), -1.0))
    unknown = [label for label in cost if label not in classes.tolist()]
    missing = [label for label in classes.tolist() if label not in cost]
    if unknown or missing:
        what = f"names {unknown[0]!r}, which is not a class" if unknown else f"lacks {missing[0]!r}"
        raise ValueError(f"reject_cost {what}; the classes are {classes.tolist()!r}.")
    each = [nonnegative(cost[label], f"reject_cost[{label!r}]") for label in classes.tolist()]
    return np.maximum(1.0 - np.array(each), -1.0)


def actions_with_reject(classes: NDArray[Any], label: Any) -> NDArray[Any]:
    """Return the classes and the label of rejected rows."""
    if label is None:
        if classes.dtype.kind in "iuf":
            label = int(min(-1, classes.min() - 1))
        else:
            label = "rejected" if _texts(classes) else None
    if label in classes.tolist():
        raise ValueError(
            f"{label!r} is a class; choose a reject_label that is none of {classes.tolist()!r}."
        )
    return label_array([*classes.tolist(), label])


def _texts(classes: NDArray[Any]) -> bool:
    return all(isinstance(label, str) for label in classes.tolist())
