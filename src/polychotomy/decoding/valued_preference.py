"""Learning valued preference."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.checks import finite_array
from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.math import favour
from ..core.registry import register
from ..core.types import FloatArray
from .base import (
    Context,
    Decoder,
    preference_square,
    prior_of,
)


@register("valued_preference")
class ValuedPreference(Decoder):
    """Learning valued preference for classification (LVPC).

    Every pair of answers is split into strict preference, conflict and ignorance, GALAR (11), and
    a class collects its preferences, half of its conflicts, and a share of the ignorance in
    proportion to its size, (12). For normalised answers and equal class sizes the winner is that
    of `WeightedVoting`; the two differ for answers that are not normalised (``R[:, j, i]`` other
    than ``1 - R[:, i, j]``).

    Parameters
    ----------
    class_sizes : array-like of shape (n_classes,), default=None
        The sizes ``N_i``; by default those of the training rows, or equal sizes without
        training rows.

    Examples
    --------
    >>> from polychotomy import ValuedPreference
    >>> ValuedPreference().decode([[0.9, 0.3, 0.6]])
    array([[1.2, 0.7, 1.1]])
    """

    codes = frozenset({"one_vs_one"})
    needs = frozenset({"probabilities"})

    def __init__(self, class_sizes: ArrayLike | None = None) -> None:
        self.class_sizes = class_sizes

    def _fit(self, context: Context) -> None:
        self._sizes(context.codebook)

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        r = preference_square(margins, codebook)
        reverse = r.swapaxes(1, 2)
        conflict = np.minimum(r, reverse)
        ignorance = 1.0 - np.maximum(r, reverse)
        sizes = self._sizes(codebook)
        share = sizes[:, None] / (sizes[:, None] + sizes[None, :])
        support = (r - conflict) + 0.5 * conflict + share * ignorance
        diagonal = np.arange(codebook.n_classes)
        support[:, diagonal, diagonal] = 0.0
        scores = support.sum(axis=2)
        return favour(scores, scores, sizes)

    def _sizes(self, codebook: Codebook) -> FloatArray:
        if self.class_sizes is None:
            return prior_of(self, codebook)
        sizes = finite_array(self.class_sizes, "class_sizes", (1,))
        if sizes.shape != (codebook.n_classes,) or (sizes <= 0).any():
            raise ValueError(f"class_sizes must be {codebook.n_classes} positive numbers.")
        return sizes
