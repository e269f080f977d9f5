"""A classifier that keeps what rules learn from, so that rules can be chosen later."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from ..core.registry import stored
from ..core.state import Array, Field
from .base import DecisionClassifier
from .held_out import HeldOut, Rows


@stored("decision.held_out_classifier")
class HeldOutClassifier(DecisionClassifier):
    """A classifier that keeps the probabilities of its held-out training rows.

    It predicts as the classifier inside. A `DecisionPlan` made from `held_out()` has thresholds
    for any coverage, without fitting again; the tool keeps models in this form.

    Parameters
    ----------
    estimator : classifier
        Any classifier with `predict_proba`.
    cv : int, splitter, iterable or None, default=None
        The folds of held-out rows. None: the out-of-fold probabilities that classifiers of this
        library have anyway, five folds for any other.
    n_jobs : int, default=None
        How many folds are fitted at once.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    held_out_probabilities_ : ndarray of shape (n_rows, n_classes)
        The probabilities of the training rows, by classifiers that had not seen them.
    held_out_classes_ : ndarray of int of shape (n_rows,)
        The numbers of their classes.
    n_features_in_ : int
        The number of inputs, if the classifier has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the inputs, if X had any.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import PolychotomyClassifier
    >>> from polychotomy.decisions import DecisionPlan, HeldOutClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = HeldOutClassifier(PolychotomyClassifier()).fit(X[::2], y[::2])
    >>> plan = DecisionPlan.make(model.classes_, sets=0.98, held_out=model.held_out())
    >>> plan.columns(model.predict_proba(X[[1, 69, 83]]))["set"]
    [[0], [1], [1, 2]]
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        "held_out_probabilities_": Array("rM", at_least=0.0),
        "held_out_classes_": Array("r", "iu", at_least=0, below="M"),
    }

    def __init__(self, estimator: Any, *, cv: Any = None, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.cv = cv
        self.n_jobs = n_jobs

    @classmethod
    def around(cls, fitted: Any, held_out: HeldOut) -> HeldOutClassifier:
        """Put a fitted classifier and what was said about its training rows together.

        Parameters
        ----------
        fitted : classifier
            Fitted to all rows.
        held_out : HeldOut
            The probabilities of these rows, by classifiers that had not seen them.

        Returns
        -------
        model : HeldOutClassifier

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from polychotomy import PolychotomyClassifier
        >>> from polychotomy.decisions import HeldOutClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = HeldOutClassifier(PolychotomyClassifier()).fit(X[::2], y[::2])
        >>> again = HeldOutClassifier.around(model.estimator_, model.held_out())
        >>> bool((again.predict(X) == model.predict(X)).all())
        True
        """
        model = cls(fitted)
        model.estimator_, model.classes_ = fitted, fitted.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(model, name, getattr(fitted, name))
        model.held_out_probabilities_, model.held_out_classes_ = held_out.p, held_out.y
        return model

    def _fit_rows(self, rows: Rows) -> None:
        self.estimator_, held_out = rows.fit_held_out(self.cv, self.n_jobs)
        self.held_out_probabilities_, self.held_out_classes_ = held_out.p, held_out.y

    def held_out(self) -> HeldOut:
        """Return the held-out rows.

        Returns
        -------
        held_out : HeldOut
        """
        check_is_fitted(self, "held_out_classes_")
        return HeldOut(self.held_out_probabilities_, self.held_out_classes_)
