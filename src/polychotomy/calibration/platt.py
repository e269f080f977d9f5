"""Platt's sigmoid."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..core.margins import Margins
from ..core.math import sigmoid
from ..core.registry import register
from ..core.state import Array, Field
from ..core.types import FloatArray, IntArray, SignArray
from ..native.platt import fit_platt, fit_platt_on
from .base import Calibrator, scores_of


@register("platt")
class Platt(Calibrator):
    """Platt's sigmoid, ``1 / (1 + exp(A f + B))``, for every column (DUAN03 (13)).

    A and B minimise the negative log-likelihood of the smoothed targets ``(N+ + 1) / (N+ + 2)``
    and ``1 / (N- + 2)``, by the Newton method of Lin, Lin and Weng (2007). The counts N are sums of
    weights. The targets are never 0 or 1, so perfectly separated scores have a finite optimum.

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

    column_by_column = True
    fitted_state: ClassVar[dict[str, Field]] = {"slopes_": Array("L"), "intercepts_": Array("L")}

    def _fit(self, scores: FloatArray, labels: SignArray, weights: FloatArray | None) -> None:
        self.slopes_, self.intercepts_, converged = fit_platt(scores, labels, weights)
        _warn_unless(converged)

    def transform(self, margins: Margins) -> FloatArray:
        """Return the probability of the positive side for every row and column."""
        return _probability(scores_of(margins), self.slopes_, self.intercepts_)

    def cross_fit(
        self,
        scores: FloatArray,
        labels: SignArray,
        weights: FloatArray | None,
        folds: Sequence[tuple[IntArray, IntArray]],
        n_threads: int = 1,
    ) -> FloatArray:
        """Calibrate the rows of every fold by sigmoids of other rows, for several sets of scores.

        All sigmoids are fitted in one call of the core; to the last bit they are those of separate
        fits. See `Calibrator.cross_fit`.

        Examples
        --------
        >>> import numpy as np
        >>> from polychotomy import Platt
        >>> labels = np.array([[-1], [1]] * 10)
        >>> scores = labels + np.linspace(-1, 1, 20)[:, None]
        >>> first, second = np.arange(0, 10), np.arange(10, 20)
        >>> folds = [(first, second), (second, first)]
        >>> Platt().cross_fit(scores[None], labels, None, folds)[0, ::6, 0].round(2)
        array([0.02, 0.04, 0.41, 0.67])
        """
        # Note: one call for all sets and folds. Separate fits in Python took longer than training
        # the machine whose scores it calibrates.
        train = [inside for inside, _ in folds]
        slopes, intercepts, converged = fit_platt_on(
            train, scores, labels, weights, n_threads=n_threads
        )
        _warn_unless(converged)
        result = np.empty_like(scores)
        for fold, (_, test) in enumerate(folds):
            per_row = slopes[fold][:, None], intercepts[fold][:, None]
            result[:, test] = _probability(scores[:, test], *per_row)
        return result


def _probability(scores: FloatArray, slopes: FloatArray, intercepts: FloatArray) -> FloatArray:
    # In place: with many columns, getting new memory took longer than the sigmoid.
    with np.errstate(over="ignore"):
        values: FloatArray = slopes * scores
        values += intercepts
    np.negative(values, out=values)
    return sigmoid(values, out=values)


def _warn_unless(converged: NDArray[np.bool_]) -> None:
    if not converged.all():
        warnings.warn(
            "Platt: the sigmoid did not converge for the binary problem of column "
            f"{int(np.nonzero(~converged)[-1][0])}.",
            ConvergenceWarning,
            stacklevel=4,
        )
