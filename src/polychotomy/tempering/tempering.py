"""Tempering: the last stage, from class probabilities to class probabilities."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ..core.checks import positive_number, probability_array, weight_array
from ..core.empirical_bayes import ShrunkFit, fit_shrunk
from ..core.math import softmax
from ..core.registry import Part, register
from ..core.slope_and_biases import SlopeAndBiases
from ..core.state import Array, Field, Number
from ..core.types import FloatArray, IntArray


@register("slope_and_biases")
class Tempering(Part, BaseEstimator):
    """Sharpen or flatten class probabilities, and shift them between classes.

    ``p' = softmax((1 + d) z + b)``, where z is log p centred over the classes; d is the same for
    all classes, and every class has its own b. They minimise the negative log-likelihood with the
    penalties ``l_d / 2 d^2 + l_b / 2 |b|^2``, whose strengths are found by empirical Bayes. If the
    rows give no reason to change the probabilities, they stay as they are. The slope is not below
    0, which would take the likely classes for the unlikely ones. Fit it on probabilities of rows
    that no earlier stage has seen.

    Parameters
    ----------
    floor : float, default=1e-6
        Smaller probabilities count as this, because 0 has no logarithm.

    Attributes
    ----------
    slope_ : float
        ``1 + d``: above 1 the probabilities were underconfident, below 1 overconfident.
    biases_ : ndarray of shape (n_classes,)
        The biases b; they sum to 0.
    strengths_ : ndarray of shape (2,)
        The strengths ``l_d`` and ``l_b``.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy import Tempering
    >>> said = np.repeat([0, 1, 2], 100)
    >>> y = np.where(np.arange(300) % 4 == 0, np.roll(said, 100), said)
    >>> p = np.full((300, 3), 0.01) + 0.97 * np.eye(3)[said]  # sure to 98 %, right in 75 %
    >>> Tempering().fit(p, y).transform([[0.98, 0.01, 0.01]]).round(2)
    array([[0.75, 0.12, 0.12]])
    """

    part_kind: ClassVar[str] = "tempering"
    # Whether it is simple enough not to learn from leave-one-out scores what new rows do not tell.
    trusts_leave_one_out: ClassVar[bool] = True
    fitted_state: ClassVar[dict[str, Field]] = {
        "slope_": Number(),
        "biases_": Array("M"),
        "strengths_": Array("g"),
    }

    def __init__(self, floor: float = 1e-6) -> None:
        self.floor = floor

    def fit(self, p: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> Self:
        """Learn from probabilities and the true classes.

        Parameters
        ----------
        p : array-like of shape (n_rows, n_classes)
            Class probabilities, for rows that were not used to fit what predicted them.
        y : array-like of int of shape (n_rows,)
            The true classes, as column numbers of p.
        weights : array-like of shape (n_rows,), default=None
            The weights of the rows.

        Returns
        -------
        self : Tempering
        """
        values, classes, row_weights = checked_rows(p, y, weights)
        z = centred_logs(values, positive_number(self.floor, "floor"))
        fit = _fitted(z, classes, row_weights)
        self.slope_ = 1.0 + float(fit.theta[0])
        if self.slope_ < 0.0:
            self.slope_, fit = 0.0, _fitted(np.zeros(z.shape), classes, row_weights)
        self.biases_ = fit.theta[1:]
        self.strengths_ = fit.strengths
        return self

    def transform(self, p: ArrayLike) -> FloatArray:
        """Return the tempered probabilities.

        Parameters
        ----------
        p : array-like of shape (n_rows, n_classes)
            Class probabilities.

        Returns
        -------
        p : ndarray of shape (n_rows, n_classes)
            Each row sums to 1.
        """
        if not hasattr(self, "biases_"):
            raise ValueError(f"{type(self).__name__} must be fitted before it can transform.")
        values = _checked_probabilities(p)
        if values.shape[1] != len(self.biases_):
            raise ValueError(
                f"p has {values.shape[1]} columns, but {type(self).__name__} was fitted to "
                f"{len(self.biases_)} classes."
            )
        return softmax(self._scores(values))

    def _scores(self, p: FloatArray) -> FloatArray:
        """Return the tempered scores, whose soft-max are the probabilities."""
        z = centred_logs(p, positive_number(self.floor, "floor"))
        scores: FloatArray = self.slope_ * z + self.biases_
        return scores


def _fitted(z: FloatArray, y: IntArray, row_weights: FloatArray | None) -> ShrunkFit:
    model = SlopeAndBiases(z, y, row_weights)
    return fit_shrunk(model, [np.array([0]), np.arange(1, model.n_parameters)])


def checked_rows(
    p: ArrayLike, y: ArrayLike, weights: ArrayLike | None
) -> tuple[FloatArray, IntArray, FloatArray | None]:
    """Return probabilities, class numbers and row weights after checking them."""
    values = _checked_probabilities(p)
    classes = _class_numbers(y, *values.shape)
    return values, classes, None if weights is None else weight_array(weights, len(values))


def centred_logs(p: FloatArray, floor: float) -> FloatArray:
    """Return log p, at least that of the floor, minus its mean over the classes."""
    logs = np.log(np.maximum(p, floor))
    centred: FloatArray = logs - logs.mean(axis=1, keepdims=True)
    return centred


def _checked_probabilities(p: ArrayLike) -> FloatArray:
    values = probability_array(p, "p", (2,))
    if values.shape[1] < 2:
        raise ValueError(
            f"p must have a column for each of at least two classes, got shape {values.shape}."
        )
    return values


def _class_numbers(y: ArrayLike, n_rows: int, n_classes: int) -> IntArray:
    numbers = np.asarray(y)
    if numbers.shape != (n_rows,):
        raise ValueError(f"y must have one class for each of the {n_rows} rows of p.")
    if n_rows == 0:
        raise ValueError("Tempering needs at least one row.")
    if not np.issubdtype(numbers.dtype, np.integer):
        raise TypeError("y must be class numbers, 0 for the first column of p and so on.")
    bad = np.flatnonzero((numbers < 0) | (numbers >= n_classes))
    if len(bad):
        raise ValueError(
            f"y has the class number {numbers[bad[0]]} in row {bad[0]}, but p has {n_classes} "
            f"columns: 0 to {n_classes - 1}."
        )
    return numbers.astype(np.intp)
