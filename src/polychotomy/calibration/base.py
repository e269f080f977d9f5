"""What all calibrators share."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from .._types import FloatArray, Margins, SignArray


class Calibrator(BaseEstimator):
    """Base of all calibrators: from scores to binary probabilities, column by column.

    Attributes
    ----------
    name : str
        The string by which it can be asked for.
    learns : bool
        Whether it has to be fitted on scores of rows that the machines did not see.
    column_by_column : bool
        Whether what it learns for a column depends on that column alone, so that the columns of
        several fits can be put side by side.

    Examples
    --------
    A calibrator of your own is a subclass with `_fit` and `transform`:

    >>> from polychotomy import Calibrator, Margins
    >>> class Linear(Calibrator):
    ...     name = "linear"
    ...     def _fit(self, scores, labels, weights):
    ...         self.largest_ = abs(scores).max()
    ...     def transform(self, margins):
    ...         return (0.5 + margins.mean / (2 * self.largest_)).clip(0, 1)
    >>> scores = Margins(mean=[[-2.0], [1.0]])
    >>> Linear().fit(scores, [[-1], [1]]).transform(scores)
    array([[0.  ],
           [0.75]])
    """

    name: ClassVar[str]
    learns: ClassVar[bool] = True
    column_by_column: ClassVar[bool] = False

    def fit(self, margins: Margins, labels: SignArray, weights: FloatArray | None = None) -> Self:
        """Learn from scores and labels.

        Parameters
        ----------
        margins : Margins
            Scores of shape (n_rows, n_columns), of rows that the machines did not see.
        labels : ndarray of shape (n_rows, n_columns)
            The binary labels -1 and +1; a row with 0 does not count in that column.
        weights : ndarray of shape (n_rows,), default=None
            The weights of the rows.

        Returns
        -------
        self : Calibrator
        """
        scores = scores_of(margins)
        labels = np.asarray(labels, dtype=np.int8)
        if labels.shape != scores.shape:
            raise ValueError(
                f"labels have shape {labels.shape}, but the scores have {scores.shape}."
            )
        if weights is not None:
            weights = np.asarray(weights, dtype=np.float64)
        self._fit(scores, labels, weights)
        return self

    def transform(self, margins: Margins) -> FloatArray | None:
        """Return the probability of the positive side for every row and column."""
        raise NotImplementedError

    def _fit(self, scores: FloatArray, labels: SignArray, weights: FloatArray | None) -> None:
        raise NotImplementedError


def scores_of(margins: Margins) -> FloatArray:
    """Return the scores that a calibrator reads, or say that there are none."""
    if margins.mean is None:
        raise ValueError("A calibrator reads scores; these Margins have none (mean).")
    return margins.mean
