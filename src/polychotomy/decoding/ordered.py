"""Dynamically ordered one-vs-rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.registry import register
from ..core.state import Field, IsA, Sizes, require
from ..core.types import FloatArray
from .base import Context, Decoder, preferences


@register("dynamically_ordered")
class DynamicallyOrdered(Decoder):
    """Dynamically ordered one-vs-rest (DOO): naive Bayes orders, the first "yes" wins.

    For every row, a naive Bayes classifier of the inputs orders the classes, and the first class
    whose one-vs-rest machine is positive is chosen (GALAR section 3.2; Hong et al. 2008). If no
    machine is positive, the largest answer wins.

    Parameters
    ----------
    orderer : classifier with `predict_proba`, default=None
        The classifier that orders the classes; `sklearn.naive_bayes.GaussianNB` by default.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from polychotomy import DynamicallyOrdered, PolychotomyClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = PolychotomyClassifier(
    ...     LogisticRegression(), code="one_vs_rest", decoder=DynamicallyOrdered()
    ... )
    >>> round(clf.fit(X, y).score(X, y), 2)
    0.95
    """

    fitted_state: ClassVar[Mapping[str, Field]] = {
        "orderer_": IsA(BaseEstimator),
    }
    codes = frozenset({"one_vs_rest"})
    needs = frozenset({"inputs"})
    yields = "decisions"

    def __init__(self, orderer: Any = None) -> None:
        self.orderer = orderer

    @property
    def takes_sparse(self) -> bool:
        """Whether the orderer takes sparse inputs."""
        return self.orderer is not None and bool(get_tags(self.orderer).input_tags.sparse)

    def check_state(self, sizes: Sizes) -> None:
        """Check what the declared state cannot express."""
        super().check_state(sizes)
        classes = np.asarray(getattr(self.orderer_, "classes_", None)).tolist()
        require(classes == list(range(sizes["M"])), self, "has no valid orderer_")

    def check_inputs(self, n_features: int) -> None:
        """Check that it can read rows of this many inputs."""
        same = getattr(self.orderer_, "n_features_in_", None) == n_features
        require(same, self, "has an orderer of other inputs")

    def _fit(self, context: Context) -> None:
        if self.orderer is not None:
            orderer = clone(self.orderer)
        else:
            from sklearn.naive_bayes import GaussianNB

            if issparse(context.X):
                raise TypeError(
                    "DynamicallyOrdered's Gaussian naive Bayes does not take sparse X; pass an "
                    "orderer that does, such as DynamicallyOrdered(MultinomialNB())."
                )
            orderer = GaussianNB()
        weighted = context.weights is not None and has_fit_parameter(orderer, "sample_weight")
        extra = {"sample_weight": context.weights} if weighted else {}
        self.orderer_ = orderer.fit(context.X, context.y, **extra)

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        column = codebook.rest
        assert column is not None
        if X is None or not hasattr(self, "orderer_"):
            raise ValueError("DynamicallyOrdered needs a fitted orderer and the inputs X.")
        answers = preferences(margins)[:, column]
        order = np.argsort(-self._likelihood(X), axis=1, kind="stable")
        positive = np.take_along_axis(answers, order, axis=1) > 0.0
        rows = np.arange(len(answers))
        first = order[rows, positive.argmax(axis=1)]
        winner = np.where(positive.any(axis=1), first, answers.argmax(axis=1))
        decisions = np.zeros_like(answers)
        decisions[rows, winner] = 1.0
        return decisions

    def _likelihood(self, X: Any) -> FloatArray:
        # The probabilities of naive Bayes are often 0 for all classes but one; their logs are not.
        in_logs = getattr(self.orderer_, "predict_joint_log_proba", None)
        likelihood: FloatArray = self.orderer_.predict_proba(X) if in_logs is None else in_logs(X)
        return likelihood
