"""Decoders from fuzzy preference modelling."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import finite_array
from .._math import favour, to_square
from .._types import Codebook, FloatArray, Margins
from .base import Context, Decoder, normalised_pair, pairwise_probabilities, prior_of


def preference_square(margins: Margins, codebook: Codebook) -> FloatArray:
    """Return R of shape (n_rows, n_classes, n_classes), as given or from its columns."""
    r = margins.probability
    if r is not None and r.ndim == 3:
        return r
    return to_square(pairwise_probabilities(margins, codebook), codebook.n_classes)


class ValuedPreference(Decoder):
    """Learning valued preference for classification (LVPC).

    Every pair of answers is split into strict preference, conflict and ignorance, GALAR (11),
    and a class collects its preferences, half of its conflicts, and its share by class size of
    what is not known, (12). For normalised answers and equal class sizes the winner is that of
    `WeightedVoting`; the two differ for answers that are not normalised (``R[:, j, i]`` other than
    ``1 - R[:, i, j]``).

    Parameters
    ----------
    class_sizes : array-like of shape (n_classes,), default=None
        The sizes ``N_i``; those of the training rows by default, or equal ones where there are
        no training rows.

    Examples
    --------
    >>> from polychotomy import ValuedPreference
    >>> ValuedPreference().decode([[0.9, 0.3, 0.6]])
    array([[1.2, 0.7, 1.1]])
    """

    name = "valued_preference"
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


class NonDominance(Decoder):
    """Non-dominance criterion (ND): the class that is dominated the least.

    GALAR (13)-(16): answers are normalised, the strict preference of j over i is
    ``max(r_ji - r_ij, 0)``, and a class scores 1 minus the strongest preference over it. Ties are
    broken by the size of the class in the training rows.

    Examples
    --------
    >>> from polychotomy import NonDominance
    >>> NonDominance().decode([[0.9, 0.3, 0.6]])
    array([[0.6, 0.2, 0.8]])
    """

    name = "non_dominance"
    codes = frozenset({"one_vs_one"})
    needs = frozenset({"probabilities"})

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        r = preference_square(margins, codebook)
        forward = normalised_pair(r, r.swapaxes(1, 2))  # (13)
        strict = np.maximum(forward - forward.swapaxes(1, 2), 0.0)  # (14)
        degree = 1.0 - strict.max(axis=1)  # (15)
        return favour(degree, degree, prior_of(self, codebook))
