"""Isotonic regression."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from ..core.margins import Margins
from ..core.registry import register
from ..core.state import Field, IsA, ListOf, Sizes, require
from ..core.types import FloatArray, SignArray
from .base import Calibrator, scores_of


@register("isotonic")
class Isotonic(Calibrator):
    """Isotonic regression of the labels on the scores, for every column.

    The nondecreasing step function of least squares (Zadrozny and Elkan 2002), by scikit-learn's
    `IsotonicRegression`; it needs more rows than `Platt` does, and gives probabilities of
    exactly 0 and 1.

    Attributes
    ----------
    regressions_ : list of IsotonicRegression
        One for every column.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy import Isotonic, Margins
    >>> scores = Margins(mean=np.array([[-2.0], [-1.0], [0.5], [-0.5], [1.0], [2.0]]))
    >>> labels = np.array([[-1], [-1], [-1], [1], [1], [1]])
    >>> Isotonic().fit(scores, labels).transform(scores).ravel()
    array([0. , 0. , 0.5, 0.5, 1. , 1. ])
    """

    column_by_column = True
    fitted_state: ClassVar[dict[str, Field]] = {"regressions_": ListOf(IsA(BaseEstimator), "L")}

    def _fit(self, scores: FloatArray, labels: SignArray, weights: FloatArray | None) -> None:
        from sklearn.isotonic import IsotonicRegression

        self.regressions_: list[Any] = []
        for column in range(scores.shape[1]):
            used = labels[:, column] != 0
            regression = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
            if used.any():
                regression.fit(
                    scores[used, column],
                    (labels[used, column] > 0).astype(float),
                    None if weights is None else weights[used],
                )
            else:  # nothing is known of this problem
                regression.fit([0.0], [0.5])
            self.regressions_.append(regression)

    def transform(self, margins: Margins) -> FloatArray:
        """Return the probability of the positive side for every row and column."""
        scores = scores_of(margins)
        columns = [
            regression.predict(scores[:, column])
            for column, regression in enumerate(self.regressions_)
        ]
        return np.stack(columns, axis=1)

    def check_state(self, sizes: Sizes) -> None:
        """Check that every regression is one, and fitted."""
        from sklearn.isotonic import IsotonicRegression

        known = all(
            type(each) is IsotonicRegression and hasattr(each, "X_thresholds_")
            for each in self.regressions_
        )
        require(known, self, "has no valid regressions_")
