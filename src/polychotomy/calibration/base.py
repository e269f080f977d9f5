"""The base class of all calibrators."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from ..core.margins import Margins
from ..core.registry import Part
from ..core.state_check import declared_state
from ..core.threads import in_order
from ..core.types import FloatArray, IntArray, SignArray


class Calibrator(Part, BaseEstimator):
    """Base of all calibrators: from the scores of every column to binary probabilities.

    Attributes
    ----------
    name : str
        The name under which `register` registered it.
    learns : bool
        Whether it must be fitted, on scores of rows that the machines did not see.
    column_by_column : bool
        Whether what it learns for a column depends on that column alone. If so, the columns of
        several fits can be fitted in one call.

    Examples
    --------
    To write your own calibrator, subclass it with `_fit` and `transform`. A model file can contain
    it if it is registered and declares its fitted state:

    >>> from polychotomy import Calibrator, Margins
    >>> class Linear(Calibrator):
    ...     def _fit(self, scores, labels, weights):
    ...         self.largest_ = abs(scores).max()
    ...     def transform(self, margins):
    ...         return (0.5 + margins.mean / (2 * self.largest_)).clip(0, 1)
    >>> scores = Margins(mean=[[-2.0], [1.0]])
    >>> Linear().fit(scores, [[-1], [1]]).transform(scores)
    array([[0.  ],
           [0.75]])
    """

    part_kind: ClassVar[str] = "calibrator"
    learns: ClassVar[bool] = True
    column_by_column: ClassVar[bool] = False

    def fit(self, margins: Margins, labels: SignArray, weights: FloatArray | None = None) -> Self:
        """Learn from scores and labels.

        Parameters
        ----------
        margins : Margins
            Scores of shape (n_rows, n_columns) for rows that the machines did not see.
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

    def cross_fit(
        self,
        scores: FloatArray,
        labels: SignArray,
        weights: FloatArray | None,
        folds: Sequence[tuple[IntArray, IntArray]],
        n_threads: int = 1,
    ) -> FloatArray:
        """Calibrate the rows of every fold by fits on other rows, for several sets of scores.

        Parameters
        ----------
        scores : ndarray of shape (n_sets, n_rows, n_columns)
            Scores from machines that did not see the row, for example one set per cell of a search.
        labels : ndarray of shape (n_rows, n_columns)
            The binary labels -1 and +1; a row with 0 does not count in that column.
        weights : ndarray of shape (n_rows,) or None
            The weights of the rows.
        folds : sequence of (train, test)
            The rows to learn from, and those to calibrate.
        n_threads : int, default=1
            The number of threads that share the folds.

        Returns
        -------
        probabilities : ndarray of shape (n_sets, n_rows, n_columns)
            The result of fitting a calibrator to each set and fold separately.
        """
        result = np.empty_like(scores)
        sets = range(len(scores))
        together = [list(sets)] if self.column_by_column else [[one] for one in sets]

        def calibrate(fold: tuple[IntArray, IntArray]) -> None:
            train, test = fold
            for some in together:
                # Sets side by side are further columns.
                inside = np.concatenate([scores[one, train] for one in some], axis=1)
                outside = np.concatenate([scores[one, test] for one in some], axis=1)
                fitted = copy(self).fit(
                    Margins(mean=inside),
                    np.tile(labels[train], (1, len(some))),
                    None if weights is None else weights[train],
                )
                probability = fitted.transform(Margins(mean=outside))
                assert probability is not None
                for one, own in zip(some, np.split(probability, len(some), axis=1), strict=True):
                    result[one, test] = own

        for _ in in_order(calibrate, folds, n_threads):
            pass
        return result

    def join(self, parts: Sequence[Self], order: IntArray) -> Self:
        """Take over what others have learned for some of the columns each.

        For calibrators that learn column by column.

        Parameters
        ----------
        parts : sequence of Calibrator
            Fitted calibrators of the same kind.
        order : ndarray of shape (n_columns,)
            Which of their columns, counted through all parts, every column is.

        Returns
        -------
        self : Calibrator
        """
        for name in declared_state(type(self)):
            values = [getattr(part, name) for part in parts]
            if isinstance(values[0], list):
                every = [entry for part in values for entry in part]
                setattr(self, name, [every[place] for place in order])
            else:
                setattr(self, name, np.concatenate(values)[order])
        return self

    def _fit(self, scores: FloatArray, labels: SignArray, weights: FloatArray | None) -> None:
        raise NotImplementedError


def scores_of(margins: Margins) -> FloatArray:
    """Return the scores that a calibrator reads; raise ValueError if there are none."""
    if margins.mean is None:
        raise ValueError("A calibrator needs scores; these Margins have none (mean).")
    return margins.mean
