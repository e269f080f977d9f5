"""Soft-max combination of one-vs-one or one-vs-rest scores."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core.checks import positive_number
from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.math import softmax
from ..core.registry import register
from ..core.state import Array, Field, Number, Sizes, require
from ..core.types import FloatArray, IntArray
from ._softmax_fit import HeldOutRows, choose_strength, choosing_folds
from .base import ROWS_AT_ONCE, Context, Decoder, Fold, canonical

# Larger scores are computed relative to the largest, before they overflow.
LARGEST_SCORE = 1e300
# DUAN03 section 3.2
PAPER_C = tuple(2.0**power for power in range(-15, 16))


@register("soft_max")
class SoftMax(Decoder):
    """Soft-max combination of binary scores (SMC1va, SSMC1va, SMC1v1, SSMC1v1).

    Class k has probability proportional to ``exp(w_k r_k + w_k0)`` for one-vs-rest scores
    r, DUAN03 (1), and to ``exp(sum_t w_kt r_kt + w_k0)`` for one-vs-one, (7). The weights
    minimise ``1/2 |w|^2 + C NLL`` subject to ``w >= 0``, (2) and (8), on scores of machines that
    did not see the row. For two classes it is Platt's sigmoid, (14)-(15).

    Parameters
    ----------
    C : "cv", float or None, default="cv"
        The weight of the likelihood. "cv" chooses it from `C_values` by cross-validation (SMC):
        among the values whose error is within 5 % of the smallest, and then those whose NLL is
        within 5 % of the smallest, it takes the smallest C (DUAN03 section 3.2). None removes the
        penalty (SSMC, section 3.3).
    C_values : sequence of float, default=None
        The values tried by "cv"; ``2^-15, 2^-14, ..., 2^15`` by default.

    Attributes
    ----------
    C_ : float or None
        The value of C in use.
    weights_ : ndarray of shape (n_classes, n_features + 1)
        The weights of every class, its bias last. For one-vs-one the features of class k are
        its scores against the other classes in class order.

    Notes
    -----
    Note: the papers solve for ``log w``, which never reaches the bound ``w = 0``, where the optimum
    often is. In w itself the problem is convex, with simple bounds, and a projected Newton method
    reaches the bound exactly.

    Without a penalty, separable scores have no finite optimum. So a penalty is lowered step by
    step, but only until the mean NLL is below n_classes / n_rows, that of Platt's smoothed
    targets.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy import Context, Margins, OneVsRest, SoftMax
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 50)
    >>> scores = 2.0 * np.eye(3)[y] - 1.0 + rng.normal(size=(150, 3))
    >>> context = Context(OneVsRest().build(3), y, held_out=Margins(mean=scores))
    >>> decoder = SoftMax(C=None).fit(context)
    >>> decoder.decode([[1.0, -1.0, -1.0]]).round(2)
    array([[0.96, 0.03, 0.01]])
    """

    fitted_state: ClassVar[Mapping[str, Field]] = {
        "C_": Number(above=0.0, optional=True),
        "weights_": Array("Mw"),
    }
    codes = frozenset({"one_vs_one", "one_vs_rest"})
    needs = frozenset({"scores", "held_out_scores"})
    yields = "probabilities"
    _bare = "mean"

    def __init__(
        self, C: str | float | None = "cv", C_values: Sequence[float] | None = None
    ) -> None:
        self.C = C
        self.C_values = C_values

    @classmethod
    def examples(cls) -> list[Self]:
        """Return example configurations."""
        return [cls(), cls(C=None)]

    def check_state(self, sizes: Sizes) -> None:
        """Check what the declared state cannot express."""
        super().check_state(sizes)
        width = 2 if self.codebook_.rest is not None else sizes["M"]
        require(sizes["w"] == width, self, "has weights_ of another code")

    def _fit(self, context: Context) -> None:
        rows = HeldOutRows.of(context)
        (self.C_,) = strengths = self._strengths(rows, [context.folds])
        (self.weights_,) = self._weights(rows, strengths)

    def _weights(self, rows: HeldOutRows, strengths: Sequence[float | None]) -> FloatArray:
        """Return the weights of every subset of rows."""
        solution = rows.solve([math.inf if C is None else C for C in strengths])
        if not solution.converged.all():
            warnings.warn(
                "SoftMax: the weights did not converge; the probabilities are approximate.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return solution.weights[:, 0]

    def _strengths(self, rows: HeldOutRows, folds: Sequence[IntArray | None]) -> list[float | None]:
        """Return C for every subset of rows; `folds` are the folds of the rows of each."""
        if self.C != "cv":
            C = None if self.C is None else positive_number(self.C, "C")
            return [C] * len(folds)
        values = sorted(PAPER_C if self.C_values is None else self.C_values)
        for value in values:
            positive_number(value, "C_values")
        choosing = [
            choosing_folds(rows.y[subset], numbers)
            for subset, numbers in zip(rows.subsets, folds, strict=True)
        ]
        criteria = rows.cross_validate(choosing, values)
        return [choose_strength(np.array(values), *pair) for pair in zip(*criteria, strict=True)]

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        if not hasattr(self, "weights_"):
            raise ValueError("SoftMax must be fitted before it can decode.")
        assert margins.mean is not None
        features = class_features(margins.mean, codebook)
        return class_probabilities(features, self.weights_)

    def cross_fit(
        self,
        codebook: Codebook,
        scores: FloatArray,
        y: IntArray,
        weights: FloatArray | None,
        folds: Sequence[Fold],
        n_threads: int = 1,
    ) -> FloatArray:
        """Decode the rows of every fold by fits on other rows, all fits in one native call.

        See `Decoder.cross_fit`. C is chosen by the folds of the training rows.

        Note: a search fits up to 31 values of C in every fold of every cell. One fit at a time,
        in NumPy, took longer than training the machines; that solver is now the tests' twin.

        Examples
        --------
        >>> import numpy as np
        >>> from polychotomy import OneVsRest, SoftMax
        >>> y = np.repeat([0, 1, 2], 20)
        >>> noise = np.random.default_rng(0).normal(size=(60, 3))
        >>> scores = np.stack([2.0 * np.eye(3)[y] + size * noise for size in (0.5, 2.0)])
        >>> even, odd = np.arange(0, 60, 2), np.arange(1, 60, 2)
        >>> folds = [(even, odd, even // 4 % 2), (odd, even, odd // 4 % 2)]
        >>> p = SoftMax().cross_fit(OneVsRest().build(3), scores, y, None, folds)
        >>> (p.argmax(axis=2) == y).mean(axis=1).round(2)
        array([1. , 0.6])
        """
        n_sets, n_rows, n_columns = scores.shape
        subsets = [number * n_rows + train for train, _, _ in folds for number in range(n_sets)]
        rows = HeldOutRows(
            codebook,
            scores.reshape(-1, n_columns),
            np.tile(y, n_sets),
            None if weights is None else np.tile(weights, n_sets),
            subsets,
            n_threads,
        )
        strengths = self._strengths(rows, [numbers for *_, numbers in folds for _ in range(n_sets)])
        found = self._weights(rows, strengths)
        result = np.empty((n_sets, n_rows, codebook.n_classes))
        for fold, (_, test, _) in enumerate(folds):
            own = found[fold * n_sets : (fold + 1) * n_sets]
            at_once = max(1, ROWS_AT_ONCE // max(1, len(test)))
            for first in range(0, n_sets, at_once):
                sets = slice(first, first + at_once)
                features = class_features(scores[sets, test], codebook)
                result[sets, test] = class_probabilities(features, own[sets])
        return result


def class_features(scores: FloatArray, codebook: Codebook) -> FloatArray:
    """Return the features of every class along the last axis; the last is 1, for the bias."""
    n_classes = codebook.n_classes
    if codebook.rest is not None:
        features = np.ones((*scores.shape[:-1], n_classes, 2))
        features[..., 0] = scores[..., codebook.rest]
        return features
    features = np.ones((*scores.shape[:-1], n_classes, n_classes))
    pairs = canonical(scores, codebook, 0.0)
    for column, (i, j) in enumerate(zip(*np.triu_indices(n_classes, 1), strict=True)):
        features[..., i, j - 1] = pairs[..., column]
        features[..., j, i] = -pairs[..., column]
    return features


def class_probabilities(features: FloatArray, weights: FloatArray) -> FloatArray:
    """Return (1) or (7) for features of any size; both may have an additional first dimension."""
    per_row = weights[..., None, :, :]
    with np.errstate(over="ignore", invalid="ignore"):
        scores = _weighted_sum(features, per_row)
    huge = ~(np.abs(scores) < LARGEST_SCORE).all(axis=-1)
    if huge.any():
        weights_of_huge = np.broadcast_to(per_row, features.shape)[huge]
        size = np.abs(features[huge]).max(axis=(1, 2), keepdims=True)
        largest = np.abs(weights_of_huge).max(axis=(1, 2), keepdims=True)
        scaled = _weighted_sum(features[huge] / size, weights_of_huge / largest)
        shifted = scaled - scaled.max(axis=1, keepdims=True)
        with np.errstate(over="ignore"):
            scores[huge] = shifted * size[:, :, 0] * largest[:, :, 0]
    return softmax(scores)


def _weighted_sum(features: FloatArray, weights: FloatArray) -> FloatArray:
    """Sum in the order of the features, so that a row's sum does not depend on other rows."""
    total: FloatArray = features[..., 0] * weights[..., 0]
    for place in range(1, features.shape[-1]):
        total += features[..., place] * weights[..., place]
    return total
