"""Isotonic regression."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from ..core.margins import Margins
from ..core.registry import register
from ..core.state import Field, IsA, ListOf, Sizes, require
from ..core.types import FloatArray, SignArray
from .base import Calibrator, scores_of

# With fewer rows than this, what a step function learns is mostly chance.
FEW_ROWS = 100


@register("isotonic")
class Isotonic(Calibrator):
    """Isotonic regression of the labels on the scores, for every column.

    The nondecreasing step function of least squares (Zadrozny and Elkan 2002), by scikit-learn's
    `IsotonicRegression`; it needs more rows than `Platt` does, and warns where they are fewer than
    100. Probabilities stay within ``1 / (N- + 2)`` and ``(N+ + 1) / (N+ + 2)``, what N rows of a
    side support: with exact zeros, a coupling would give some true class the probability 0.

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
    array([0.2, 0.2, 0.5, 0.5, 0.8, 0.8])
    """

    column_by_column = True
    fitted_state: ClassVar[dict[str, Field]] = {"regressions_": ListOf(IsA(BaseEstimator), "L")}

    def _fit(self, scores: FloatArray, labels: SignArray, weights: FloatArray | None) -> None:
        from sklearn.isotonic import IsotonicRegression

        self.regressions_: list[Any] = []
        counts = np.zeros(scores.shape[1])
        for column in range(scores.shape[1]):
            used = labels[:, column] != 0
            own = None if weights is None else weights[used]
            positive = labels[used, column] > 0
            n_positive, n_negative = (
                np.sum(side) if own is None else own[side].sum() for side in (positive, ~positive)
            )
            counts[column] = n_positive + n_negative
            # Laplace's rule for what so many rows support, as in Platt's targets.
            regression = IsotonicRegression(
                y_min=1.0 / (n_negative + 2.0),
                y_max=(n_positive + 1.0) / (n_positive + 2.0),
                out_of_bounds="clip",
            )
            if used.any():
                regression.fit(scores[used, column], positive.astype(float), own)
            else:  # no rows to learn from
                regression.fit([0.0], [0.5])
            self.regressions_.append(regression)
        few = counts[counts > 0].min(initial=FEW_ROWS)
        if few < FEW_ROWS:
            warnings.warn(
                f"Isotonic: a binary problem has only {few:g} rows; with fewer than {FEW_ROWS} the "
                "calibrators 'platt' and 'pooled_platt' give better probabilities.",
                UserWarning,
                stacklevel=3,
            )

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
