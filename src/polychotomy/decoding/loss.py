"""Loss-based decoding, for any code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from ..core.checks import one_of
from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.math import column_sums, favour
from ..core.registry import register
from ..core.types import FloatArray
from .base import Context, Decoder, prior_of

# Larger margins would overflow in the exponential and the squared loss.
LARGEST_EXPONENT = 700.0
LARGEST_SQUARED = 1e150


def _exponential(z: FloatArray) -> FloatArray:
    return np.exp(np.minimum(-z, LARGEST_EXPONENT))


def _squared(z: FloatArray) -> FloatArray:
    return (1.0 - np.clip(z, -LARGEST_SQUARED, LARGEST_SQUARED)) ** 2


# Losses of z = y f, the margin of a codeword's bit.
LOSSES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "hinge": lambda z: np.maximum(0.0, 1.0 - z),
    "exponential": _exponential,
    "logistic": lambda z: np.logaddexp(0.0, -z),
    "squared": _squared,
    "linear": lambda z: -z,
}
DONT_CARES = ("loss_at_zero", "ignored")


@register("loss")
class LossDecoding(Decoder):
    """Choose the class whose codeword has the smallest total loss.

    The method of Allwein, Schapire and Singer (2000).

    Parameters
    ----------
    loss : {"hinge", "exponential", "logistic", "squared", "linear"}, default="hinge"
        The loss of ``z = y f``: ``max(0, 1 - z)``, ``exp(-z)``, ``log(1 + exp(-z))``,
        ``(1 - z)^2`` or ``-z``.
    dont_care : {"loss_at_zero", "ignored"}, default="loss_at_zero"
        What a class with a don't-care pays for that column: the loss at z = 0 (Allwein et al.),
        or nothing (VANGESTEL). For one-vs-one the winner is the same, because every class has the
        same number of don't-cares.

    Notes
    -----
    The class scores are minus the losses. Ties are broken by the size of the class in the
    training rows.

    Examples
    --------
    >>> from polychotomy import LossDecoding, OneVsRest
    >>> LossDecoding().decode([[0.5, -0.2, 0.1]], OneVsRest().build(3)).round(2)
    array([[-2.4, -3.8, -3.2]])
    """

    needs = frozenset({"scores"})
    _bare = "mean"

    def __init__(self, loss: str = "hinge", dont_care: str = "loss_at_zero") -> None:
        self.loss = loss
        self.dont_care = dont_care

    @classmethod
    def examples(cls) -> list[Self]:
        """Return example configurations."""
        return [cls(loss) for loss in LOSSES]

    def _fit(self, context: Context) -> None:
        self._check_options()

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        self._check_options()
        assert margins.mean is not None
        loss = LOSSES[self.loss]
        matrix = codebook.matrix
        total = column_sums(loss(margins.mean), loss(-margins.mean), matrix)
        if self.dont_care == "loss_at_zero":
            total = total + loss(np.zeros(1)) * (matrix == 0).sum(axis=1)
        return favour(-total, -total, prior_of(self, codebook))

    def _check_options(self) -> None:
        one_of(self.loss, "loss", LOSSES)
        one_of(self.dont_care, "dont_care", DONT_CARES)
