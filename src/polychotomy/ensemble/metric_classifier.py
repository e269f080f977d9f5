"""Kernel machines in a learned metric."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from ..blocks.as_blocks import labels_given
from ..core.answers import ProbabilityAnswers
from ..core.diagram import Diagram, box, in_turn
from ..core.registry import stored
from ..core.state import INPUTS, Field, Holds, Labels
from ..core.types import FloatArray
from ..kernels.gram import UNEQUAL_SCALES
from ..machines import LSSVM
from ..machines.kernel_machine import KernelMachine
from ..multinomial import KernelMultinomialRegression
from ..pipe.classifier import PolychotomyClassifier
from ..pipe.folds import listed_once
from ..tuning.search import TwoStepSearchCV
from .metric import LearnedMetric

# The classifiers that can be fitted with a metric.
TYPES = (PolychotomyClassifier, TwoStepSearchCV, KernelMultinomialRegression)
# Above this many rows, the LS-SVM has this many landmarks, and machines with landmarks read inputs
# in single precision.
# Note: ``landmarks="auto"`` took 4,000 and 82 seconds on 20,000 rows, most of it for trying.
MANY_ROWS, LANDMARKS = 5_000, 2_000


def _has_folds(classifier: MetricClassifier) -> bool:
    estimator = default_estimator() if classifier.estimator is None else classifier.estimator
    return hasattr(estimator, "fit_out_of_fold")


@stored("estimator.metric_classifier")
class MetricClassifier(ProbabilityAnswers, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Learn a metric, and then a multi-class kernel machine with it.

    The metric determines the kernel and its width, and for an `LSSVM` also C.

    Parameters
    ----------
    estimator : classifier, default=None
        The classifier to fit with the metric: a `PolychotomyClassifier`, or a `TwoStepSearchCV` of
        one, whose machine is an `SVM`, a `KernelLogisticRegression` or an `LSSVM`, or a
        `KernelMultinomialRegression`. By default a one-vs-rest `LSSVM`, whose leave-one-out scores
        are combined by `ShrunkSoftMax`; above 5,000 rows with 2,000 landmarks.
    metric : LearnedMetric, default=None
        The metric; ``LearnedMetric()`` by default.
    cv : int, splitter or iterable, default=None
        The folds of the metric and of the estimator, instead of those that they have; for rows
        that are alike in groups or change with time. Every row must be tested exactly once.

    Attributes
    ----------
    metric_ : LearnedMetric
        The learned metric.
    estimator_ : classifier
        The classifier that was fitted with the metric.
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

    fitted_state: ClassVar[dict[str, Field]] = {
        **INPUTS,
        "classes_": Labels(),
        "metric_": Holds(LearnedMetric, share="Md"),
        "estimator_": Holds(*TYPES, share="Md"),
    }

    later_parameters: ClassVar[dict[str, Any]] = {"cv": None}

    def __init__(
        self,
        estimator: Any = None,
        metric: LearnedMetric | None = None,
        *,
        cv: Any = None,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.cv = cv

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the metric, and fit the classifier with it.

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
        y = labels_given(self, X, y)
        self._fit(X, y, sample_weight)
        return self

    @available_if(_has_folds)
    def fit_out_of_fold(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        metric: LearnedMetric | None = None,
    ) -> FloatArray | None:
        """Fit as `fit` does, without tempering, and return out-of-fold class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows.
        metric : LearnedMetric, default=None
            The metric, if it has already been learned.

        Returns
        -------
        p : ndarray of shape (n_used_rows, n_classes) or None
            As `PolychotomyClassifier.fit_out_of_fold`. The metric has seen all rows.
        """
        return self._fit(X, y, sample_weight, metric, keep_out_of_fold=True)

    def unfitted_metric(self) -> LearnedMetric:
        """Return a copy of the metric, with the folds."""
        metric = LearnedMetric() if self.metric is None else clone(self.metric)
        learned: LearnedMetric = _with_folds(metric, self.cv)
        return learned

    def unfitted(self) -> Any:
        """Return a copy of the estimator, after checking that it can take a metric."""
        estimator = default_estimator() if self.estimator is None else clone(self.estimator)
        if not isinstance(_machine_of(estimator), KernelMachine | KernelMultinomialRegression):
            raise TypeError(
                "estimator must be a PolychotomyClassifier, or a TwoStepSearchCV of one, with the "
                "machine SVM(), KernelLogisticRegression() or LSSVM(), or a "
                f"KernelMultinomialRegression; got {self.estimator!r}. For other classifiers use "
                "make_pipeline(LearnedMetric(), ...)."
            )
        return _with_folds(estimator, self.cv)

    def _sk_visual_block_(self) -> Diagram:
        fitted = hasattr(self, "estimator_")
        metric = self.metric_ if fitted else self.unfitted_metric()
        estimator = self.estimator_ if fitted else self.unfitted()
        return in_turn([("metric", box("metric", metric)), ("estimator", estimator)])

    def expected_seconds(self, n_rows: int) -> float:
        """Estimate how long fitting takes on one core, without learning the metric."""
        seconds: float = self._for_rows(n_rows).expected_seconds(n_rows)
        return seconds

    def _for_rows(self, n_rows: int) -> Any:
        """Return the unfitted estimator for a number of rows."""
        estimator = self.unfitted()
        if self.estimator is None and n_rows > MANY_ROWS:
            _machine_of(estimator).set_params(landmarks=LANDMARKS)
        return estimator

    def _fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        metric: LearnedMetric | None = None,
        keep_out_of_fold: bool = False,
    ) -> FloatArray | None:
        self.unfitted()
        folds = listed_once(self.cv, X, y)
        if metric is None:
            metric = _with_folds(self.unfitted_metric(), folds).fit(X, y, sample_weight)
        validate_data(self, X, skip_check_array=True)
        Z = metric.transform(X)
        estimator = _with_folds(self._for_rows(len(Z)), folds)
        machine = _machine_of(estimator)
        machine.set_params(**metric.parameters_for(machine))
        if len(Z) > MANY_ROWS and isinstance(machine.landmarks, Integral):
            Z = Z.astype(np.float32)
        p = None
        with warnings.catch_warnings():
            # The weights of the metric are meant to differ.
            warnings.filterwarnings("ignore", message=UNEQUAL_SCALES)
            if keep_out_of_fold:
                p = estimator.fit_out_of_fold(Z, y, sample_weight)
            else:
                estimator.fit(Z, y, sample_weight)
        self.metric_, self.estimator_ = metric, estimator
        self.classes_ = estimator.classes_
        return p

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
        labels: NDArray[Any] = self.estimator_.predict(self.metric_.transform(X))
        return labels

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

    @property
    def feature_weights_(self) -> FloatArray:
        """The weights of the inputs."""
        check_is_fitted(self, "metric_")
        return self.metric_.feature_weights_


def default_estimator() -> PolychotomyClassifier:
    """Return a one-vs-rest LS-SVM, whose parameters all come from the metric."""
    return PolychotomyClassifier(
        LSSVM(landmarks="auto"),
        "one_vs_rest",
        "none",
        "shrunk_soft_max",
        cv="leave_one_out",
    )


def _with_folds(estimator: Any, folds: Any) -> Any:
    return estimator if folds is None else estimator.set_params(cv=folds)


def _machine_of(estimator: Any) -> Any:
    """Return what has the kernel: the machine of a pipe, or the classifier itself."""
    if isinstance(estimator, TwoStepSearchCV):
        estimator = PolychotomyClassifier() if estimator.estimator is None else estimator.estimator
    return estimator.machine if isinstance(estimator, PolychotomyClassifier) else estimator
