"""Platt's sigmoid, partially pooled over the columns."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..core.empirical_bayes import PooledColumns, fit_shrunk, typical_size
from ..core.margins import Margins
from ..core.math import sigmoid
from ..core.registry import register
from ..core.state import Array, Field, Number
from ..core.types import FloatArray, SignArray
from .base import Calibrator, scores_of

# A penalty that removes all differences between columns.
FIXED = 1e12
# The smallest common slope used as the unit of deviations, for scores of size 1.
SMALLEST_SLOPE = 1e-3


@register("pooled_platt")
class PooledPlatt(Calibrator):
    """A sigmoid for every column, shrunk towards a slope shared by all columns.

    ``logit r_l = a (1 + u_l) f_l + v_l`` for column l: all columns share the slope a; u and v are
    the deviations of a column. They minimise the negative log-likelihood with penalties on u and
    v, whose strengths are found by empirical Bayes. So columns with few rows, or with perfectly
    separated rows, stay near the common slope, and columns with many rows can differ from it. A
    column without rows has the common slope. No slope is below 0, which would make larger scores
    less likely to be positive.

    Attributes
    ----------
    slope_ : float
        The common slope a.
    slopes_ : ndarray of shape (n_columns,)
        The slopes ``a (1 + u)``.
    intercepts_ : ndarray of shape (n_columns,)
        The intercepts v.
    strengths_ : ndarray of shape (2,)
        The strengths of the penalties on u and v.

    Notes
    -----
    This is our own method. Unlike `Platt`, it does not smooth the targets. Smoothing is there to
    keep the optimum of separable rows finite, which the penalties do here; with both, columns of
    small classes would be flattened twice, and smoothed targets have a large effect there.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy import Margins, PooledPlatt
    >>> scores = Margins(mean=np.array([[-2.0], [-1.0], [0.5], [-0.5], [1.0], [2.0]]))
    >>> labels = np.array([[-1], [-1], [-1], [1], [1], [1]])
    >>> PooledPlatt().fit(scores, labels).transform(scores).round(2).ravel()
    array([0.06, 0.21, 0.66, 0.34, 0.79, 0.94])
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        "slope_": Number(),
        "slopes_": Array("L"),
        "intercepts_": Array("L"),
        "strengths_": Array("g"),
    }

    def _fit(self, scores: FloatArray, labels: SignArray, weights: FloatArray | None) -> None:
        n_columns = scores.shape[1]
        groups = [np.arange(1, 1 + n_columns), np.arange(1 + n_columns, 1 + 2 * n_columns)]
        entries = PooledColumns(scores, labels, weights)
        size = typical_size(entries.score, entries.weight)
        # First the common slope alone: it is the unit in which deviations are measured.
        alone = fit_shrunk(PooledColumns(scores / size, labels, weights), groups, [FIXED, FIXED])
        unit = size / max(abs(float(alone.theta[0])), SMALLEST_SLOPE)
        scores, flat = scores / unit, np.zeros(n_columns, dtype=bool)
        while True:
            fit = fit_shrunk(PooledColumns(scores, labels, weights), groups)
            slopes = fit.theta[0] + fit.theta[groups[0]]
            reversed_ = (slopes < 0.0) & ~flat
            if not reversed_.any():
                break
            # Once more without their scores: they may have pulled the common slope along.
            flat |= reversed_
            scores[:, reversed_] = 0.0
        self.slope_ = max(float(fit.theta[0]), 0.0) / unit
        self.slopes_ = np.where(flat, 0.0, slopes) / unit
        self.intercepts_ = fit.theta[groups[1]]
        self.strengths_ = fit.strengths

    def transform(self, margins: Margins) -> FloatArray:
        """Return the probability of the positive side for every row and column."""
        with np.errstate(over="ignore"):
            return sigmoid(self.slopes_ * scores_of(margins) + self.intercepts_)
