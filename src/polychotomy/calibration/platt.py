"""Platt's sigmoid."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .. import _native
from .._math import sigmoid
from .._types import FloatArray, Margins, SignArray
from .base import Calibrator, scores_of


class Platt(Calibrator):
    """Platt's sigmoid, ``1 / (1 + exp(A f + B))``, for every column (DUAN03 (13)).

    A and B minimise the negative log-likelihood of the smoothed targets ``(N+ + 1) / (N+ + 2)``
    and ``1 / (N- + 2)``, by the Newton method of Lin, Lin and Weng (2007); the counts N are sums of
    weights. Safe for scores that are perfectly separated.

    Attributes
    ----------
    slopes_ : ndarray of shape (n_columns,)
        A of every column; negative where larger scores mean the positive side.
    intercepts_ : ndarray of shape (n_columns,)
        B of every column.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy import Margins, Platt
    >>> scores = Margins(mean=np.array([[-2.0], [-1.0], [0.5], [-0.5], [1.0], [2.0]]))
    >>> labels = np.array([[-1], [-1], [-1], [1], [1], [1]])
    >>> Platt().fit(scores, labels).transform(scores).round(2).ravel()
    array([0.22, 0.35, 0.58, 0.42, 0.65, 0.78])
    """

    name = "platt"
    column_by_column = True

    def _fit(self, scores: FloatArray, labels: SignArray, weights: FloatArray | None) -> None:
        self.slopes_, self.intercepts_, converged = _native.fit_platt(scores, labels, weights)
        if not converged.all():
            warnings.warn(
                "Platt: the sigmoid did not converge for the binary problem of column "
                f"{int(np.flatnonzero(~converged)[0])}.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def transform(self, margins: Margins) -> FloatArray:
        """Return the probability of the positive side for every row and column."""
        with np.errstate(over="ignore"):
            return sigmoid(-(self.slopes_ * scores_of(margins) + self.intercepts_))
