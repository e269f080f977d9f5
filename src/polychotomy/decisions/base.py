"""What all decisions have: a classifier with probabilities inside, and its inputs and tags."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from ..blocks.as_blocks import labels_given
from ..core.answers import ProbabilityAnswers
from ..core.diagram import Diagram, side_by_side
from ..core.state import MAX_FEATURES, Field, IsA, Labels, Names, Sizes, Whole, require
from ..core.types import FloatArray
from .held_out import Rows, probabilities_of, training_rows


class DecisionClassifier(ProbabilityAnswers, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that decides with the class probabilities of another one.

    Subclasses set `estimator`, and learn their rule in `_fit_rows`.
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        # A classifier of texts has no number of inputs.
        "n_features_in_": Whole(1, MAX_FEATURES, letter="d", optional=True),
        "feature_names_in_": Names(optional=True),
        "classes_": Labels(),
        "estimator_": IsA(BaseEstimator),
    }
    estimator: Any
    estimator_: Any
    classes_: NDArray[Any]

    def fit(self, X: Any, y: ArrayLike | None = None, **params: Any) -> Self:
        """Fit the classifier, and learn the rule where it is learned.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The inputs; anything that the classifier accepts.
        y : array-like of shape (n_rows,)
            The classes.
        **params : dict
            `groups` goes to the splitter `cv`, everything else, such as `sample_weight`, to the
            classifier's `fit`. If scikit-learn's metadata routing is enabled, its requests decide.

        Returns
        -------
        self : object
            Itself.
        """
        y = labels_given(self, X, y)
        before = dict(self.__dict__)
        try:
            rows = training_rows(self, X, y, params)
            self._fit_rows(rows)
            self.classes_ = rows.classes
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
                if hasattr(self.estimator_, name):
                    setattr(self, name, getattr(self.estimator_, name))
        except BaseException:
            # An error or Ctrl-C must not leave a mixture of the old and the new fit.
            self.__dict__ = before
            raise
        return self

    def _fit_rows(self, rows: Rows) -> None:
        raise NotImplementedError

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        p : ndarray of shape (n_rows, n_classes)
            The probabilities, in the order of `classes_`.
        """
        check_is_fitted(self, "estimator_")
        return probabilities_of(self.estimator_, X, self.classes_)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata goes where.

        Returns
        -------
        routing : MetadataRouter
        """
        router = MetadataRouter(owner=self)
        router.add(
            estimator=self.estimator,
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )
        if hasattr(getattr(self, "cv", None), "get_metadata_routing"):
            router.add(
                splitter=self.cv,
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is None:
            return tags
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags

    def _sk_visual_block_(self) -> Diagram:
        return side_by_side([("estimator", getattr(self, "estimator_", self.estimator))])

    def check_state(self, sizes: Sizes) -> None:
        """Check that the classifier has probabilities, and no other classes and inputs."""
        inner = self.estimator_
        require(hasattr(inner, "predict_proba"), self, "has a classifier without predict_proba")
        known = np.isin(getattr(inner, "classes_", []), self.classes_)
        require(len(known) > 0 and known.all(), self, "has a classifier of other classes")
        same = getattr(inner, "n_features_in_", None) == sizes.get("d")
        require(same, self, "has a classifier of another number of inputs")
