"""Pairwise coupling: class probabilities that explain the pairwise ones."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from .. import native
from ..core.checks import finite_array, one_of
from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.registry import register
from ..core.types import FloatArray
from .base import Context, Decoder, pairwise_probabilities

METHODS = ("wu_lin_weng", "hastie_tibshirani", "markov", "pair_sums")


@register("pairwise_coupling")
class PairwiseCoupling(Decoder):
    """Couple pairwise probabilities into class probabilities (PC, PWC, PE).

    Parameters
    ----------
    method : {"wu_lin_weng", "hastie_tibshirani", "markov", "pair_sums"}, default="wu_lin_weng"
        The criterion by which class probabilities p explain the pairwise r.

        - "wu_lin_weng": the smallest ``sum (r_ji p_i - r_ij p_j)^2``, GALAR (18)-(21), the second
          method of Wu, Lin and Weng (2004); the linear system is solved exactly.
        - "hastie_tibshirani": the smallest Kullback-Leibler distance between r and
          ``mu_ij = p_i / (p_i + p_j)``, GALAR (4), DUAN05 (1)-(2), by Newton's method in log p.
        - "markov": the first method of Wu, Lin and Weng, the stationary distribution of a
          Markov chain that moves between classes by r.
        - "pair_sums": ``2 sum_j r_ij / (M (M - 1))``, the estimate without iterations of Hastie
          and Tibshirani in DUAN05 section 2.3. It has the winner of "hastie_tibshirani" for r in
          (0, 1), but its probabilities are too even: none exceeds ``2 / M``. For comparison only.
    pair_weights : None, "pair_sizes" or array-like of shape (n_columns,), default=None
        The weights ``n_ij`` of "hastie_tibshirani": equal (None), the number of training rows of
        the two classes ("pair_sizes"), or given values in the order of the code's columns.

    Notes
    -----
    For "hastie_tibshirani", r is kept within [1e-12, 1 - 1e-12], because at 0 and 1 the minimum is
    at infinity.

    Note: the papers solve "hastie_tibshirani" by a fixed-point iteration, GALAR (7)-(9). It takes
    many rounds if some r is near 0 or 1. In log p the problem is convex, and Newton's method takes
    a few steps. "wu_lin_weng" is a linear system, solved exactly instead of by the iteration
    (22)-(23).

    References
    ----------
    Hastie and Tibshirani (1998), Classification by pairwise coupling. Wu, Lin and Weng
    (2004), Probability estimates for multi-class classification by pairwise coupling.

    Examples
    --------
    >>> from polychotomy import PairwiseCoupling
    >>> r = [[2 / 3, 4 / 5, 2 / 3]]  # consistent with p = (4, 2, 1) / 7
    >>> PairwiseCoupling().decode(r).round(3)
    array([[0.571, 0.286, 0.143]])
    >>> PairwiseCoupling("hastie_tibshirani").decode(r).round(3)
    array([[0.571, 0.286, 0.143]])
    """

    codes = frozenset({"one_vs_one"})
    needs = frozenset({"probabilities"})
    yields = "probabilities"

    def __init__(
        self, method: str = "wu_lin_weng", pair_weights: str | ArrayLike | None = None
    ) -> None:
        self.method = method
        self.pair_weights = pair_weights

    @classmethod
    def examples(cls) -> list[Self]:
        """Return example configurations."""
        return [cls(method) for method in METHODS]

    def _fit(self, context: Context) -> None:
        one_of(self.method, "coupling method", METHODS)
        self._pair_weights(context.codebook)

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        one_of(self.method, "coupling method", METHODS)
        r = pairwise_probabilities(margins, codebook)
        weights = self._pair_weights(codebook)
        if self.method == "wu_lin_weng":
            return native.couple_wu_lin_weng(r)
        if self.method == "markov":
            return native.couple_markov(r)
        if self.method == "pair_sums":
            return _pair_sums(r, codebook.n_classes)
        p, n_unconverged = native.couple_hastie_tibshirani(r, weights)
        warn_unconverged(n_unconverged, type(self).__name__)
        return p

    def _pair_weights(self, codebook: Codebook) -> FloatArray | None:
        given = self.pair_weights
        if given is None:
            return None
        if self.method != "hastie_tibshirani":
            raise ValueError(
                f"pair_weights are for method='hastie_tibshirani'; method={self.method!r} has none."
            )
        source, _ = codebook.canonical
        if isinstance(given, str):
            one_of(given, "pair_weights", ("pair_sizes",))
            sizes = getattr(self, "class_sizes_", None)
            if sizes is None:
                raise ValueError("pair_weights='pair_sizes' needs a fitted decoder.")
            first, second = np.triu_indices(codebook.n_classes, 1)
            pair_sizes: FloatArray = sizes[first] + sizes[second]
            return pair_sizes
        weights = finite_array(given, "pair_weights", (1,))
        if weights.shape != (codebook.n_columns,) or (weights <= 0).any():
            raise ValueError(
                f"pair_weights must be {codebook.n_columns} positive numbers, one for each column."
            )
        return weights[source]


def _pair_sums(r: FloatArray, n_classes: int) -> FloatArray:
    """Return the sums of every class's pairwise probabilities, divided by their total."""
    first, second = np.triu_indices(n_classes, 1)
    sums = np.zeros((len(r), n_classes))
    for column, (i, j) in enumerate(zip(first, second, strict=True)):
        sums[:, i] += r[:, column]
        sums[:, j] += 1.0 - r[:, column]
    return sums / len(first)


def warn_unconverged(count: int, who: str) -> None:
    """Warn that some rows did not reach the tolerance."""
    if count:
        warnings.warn(
            f"{who}: {count} rows did not converge; their probabilities are approximate.",
            ConvergenceWarning,
            stacklevel=4,
        )
