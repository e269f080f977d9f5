"""The answers of the binary machines: the value that flows through the pipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .types import FloatArray, IntArray, SignArray, is_range


@dataclass(frozen=True)
class Margins:
    """The answers of the binary machines for some rows.

    Parameters
    ----------
    mean : ndarray of shape (n_rows, n_columns) or None
        The score of every binary machine; the boundary is at 0.
    variance : ndarray of shape (n_rows, n_columns), default=None
        The variance of that score, for machines that estimate it.
    noise : ndarray of shape (n_columns,), default=None
        The noise variance of each machine's targets (``1 / zeta`` of an LS-SVM).
    probability : ndarray, default=None
        The probability of the positive side, from the machine itself or from a calibrator, of
        shape (n_rows, n_columns). For one-vs-one decoders also of shape (n_rows, n_classes,
        n_classes), which need not be normalised.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy import Margins, MaxWins
    >>> scores = Margins(mean=np.array([[1.5, 0.2, -0.7]]))
    >>> MaxWins().decode(scores).argmax(axis=1)
    array([0])
    """

    mean: FloatArray | None = None
    variance: FloatArray | None = None
    noise: FloatArray | None = None
    probability: FloatArray | None = None

    def __post_init__(self) -> None:
        for name in ("mean", "variance", "noise", "probability"):
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, np.asarray(values, dtype=np.float64))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        values = self.mean if self.mean is not None else self.probability
        return 0 if values is None else int(values.shape[0])

    def with_probability(self, probability: FloatArray | None) -> Margins:
        """Return the scores with these probabilities; variance and noise are dropped."""
        return Margins(mean=self.mean, probability=probability)

    def rows(self, index: Any) -> Margins:
        """Return the margins of a selection of rows."""
        return self._each(lambda values: values[index])

    def columns(self, source: IntArray, sign: SignArray) -> Margins:
        """Return columns taken from ``source``, flipped where ``sign`` is -1."""
        if len(source) == self._n_columns and (sign > 0).all() and is_range(source):
            return self

        def take(values: FloatArray | None) -> FloatArray | None:
            return None if values is None else values[..., source]

        turned = sign < 0
        mean, probability = take(self.mean), take(self.probability)
        if mean is not None:
            mean = mean * sign
        if probability is not None:
            probability = np.where(turned, 1.0 - probability, probability)
        return Margins(mean, take(self.variance), take(self.noise), probability)

    @property
    def _n_columns(self) -> int:
        values = self.mean if self.mean is not None else self.probability
        return -1 if values is None or values.ndim != 2 else int(values.shape[1])

    def _each(self, function: Any) -> Margins:
        def apply(values: FloatArray | None) -> FloatArray | None:
            return None if values is None else function(values)

        return Margins(apply(self.mean), apply(self.variance), self.noise, apply(self.probability))
