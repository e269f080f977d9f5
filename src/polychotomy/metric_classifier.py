"""Kernel machines in a learned metric."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from ._diagram import Diagram, box, in_turn
from ._types import FloatArray
from .classifier import PolychotomyClassifier
from .machines import LSSVM, SVM, KernelLogisticRegression
from .metric import LearnedMetric
from .search import TwoStepSearchCV


class MetricClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Learn a metric, and then a multi-class kernel machine in it.

    The kernel and its width are those of the metric, and for an `LSSVM` so is C.

    Parameters
    ----------
    estimator : PolychotomyClassifier or TwoStepSearchCV, default=None
        What is fitted in the metric; its machine is an `SVM`, a `KernelLogisticRegression` or an
        `LSSVM`. By default a one-vs-rest `LSSVM`, whose leave-one-out scores are combined by
        `ShrunkSoftMax`.
    metric : LearnedMetric, default=None
        The metric; ``LearnedMetric()`` by default.

    Attributes
    ----------
    metric_ : LearnedMetric
        The learned metric.
    estimator_ : PolychotomyClassifier or TwoStepSearchCV
        The classifier in it.
    feature_weights_ : ndarray of shape (n_features_in_,)
        The weights of the inputs.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        The number of inputs.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the inputs, if X had any.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import LearnedMetric, MetricClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = MetricClassifier(metric=LearnedMetric("laplacian")).fit(X[::2], y[::2])
    >>> clf.predict_proba(X[[1, 71]]).round(1)
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """

    def __init__(
        self,
        estimator: PolychotomyClassifier | TwoStepSearchCV | None = None,
        metric: LearnedMetric | None = None,
    ) -> None:
        self.estimator = estimator
        self.metric = metric

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the metric, and the classifier in it.

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
        self : MetricClassifier
        """
        estimator = self.unfitted()
        metric = LearnedMetric() if self.metric is None else clone(self.metric)
        return self.fit_in(metric.fit(X, y, sample_weight), estimator, X, y, sample_weight)

    def unfitted(self) -> PolychotomyClassifier | TwoStepSearchCV:
        """Return a copy of the estimator, after checking that it can take a metric."""
        estimator = default_estimator() if self.estimator is None else clone(self.estimator)
        pipe = estimator.estimator if isinstance(estimator, TwoStepSearchCV) else estimator
        machines = SVM | KernelLogisticRegression | LSSVM
        if not isinstance(pipe, PolychotomyClassifier) or not isinstance(pipe.machine, machines):
            raise TypeError(
                "estimator must be a PolychotomyClassifier, or a TwoStepSearchCV of one, with the "
                f"machine SVM(), KernelLogisticRegression() or LSSVM(); got {self.estimator!r}. "
                "For other classifiers use make_pipeline(LearnedMetric(), ...)."
            )
        return estimator

    def _sk_visual_block_(self) -> Diagram:
        fitted = hasattr(self, "estimator_")
        metric = self.metric_ if fitted else self.metric
        metric = LearnedMetric() if metric is None else metric
        estimator = self.estimator_ if fitted else self.unfitted()
        return in_turn([("metric", box("metric", metric)), ("estimator", estimator)])

    def fit_in(
        self,
        metric: LearnedMetric,
        estimator: PolychotomyClassifier | TwoStepSearchCV,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
    ) -> Self:
        """Fit an estimator in a metric that is learned already."""
        validate_data(self, X, skip_check_array=True)
        machine = (
            estimator.get_params()["estimator__machine"]
            if isinstance(estimator, TwoStepSearchCV)
            else estimator.machine
        )
        if metric.kernel == "rbf":
            machine.set_params(kernel="rbf", sigma2=1.0)
        else:
            machine.set_params(kernel=metric.kernel, sigma2=None, gamma=1.0)
        if isinstance(machine, LSSVM):
            machine.set_params(C=metric.C_)
        self.metric_ = metric
        self.estimator_ = estimator.fit(metric.transform(X), y, sample_weight)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(self.metric_.transform(X))

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
        check_is_fitted(self, "estimator_")
        p: FloatArray = self.estimator_.predict_proba(self.metric_.transform(X))
        return p

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probability of every class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        log_p : ndarray of shape (n_rows, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def feature_weights_(self) -> FloatArray:
        """The weights of the inputs."""
        check_is_fitted(self, "metric_")
        return self.metric_.feature_weights_


def default_estimator() -> PolychotomyClassifier:
    """Return the one-vs-rest LS-SVM that needs nothing but the metric."""
    return PolychotomyClassifier(
        LSSVM(), "one_vs_rest", "none", "shrunk_soft_max", cv="leave_one_out"
    )
