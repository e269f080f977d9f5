"""Soft-max combination of one-vs-one or one-vs-rest scores."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._checks import positive_number
from .._math import softmax
from .._types import Codebook, FloatArray, IntArray, Margins
from ._bounded_newton import ClassFeatureModel, fit_class_features
from .base import Context, Decoder, canonical

# Beyond this, exponents are taken relative to the largest before they overflow.
LARGEST_SCORE = 1e300
# DUAN03 section 3.2
PAPER_C = tuple(2.0**power for power in range(-15, 16))


class SoftMax(Decoder):
    """Soft-max combination of binary scores (SMC1va, SSMC1va, SMC1v1, SSMC1v1).

    Class k has probability proportional to ``exp(w_k r_k + w_k0)`` for one-vs-rest scores
    r, DUAN03 (1), and to ``exp(sum_t w_kt r_kt + w_k0)`` for one-vs-one, (7). The weights
    minimise ``1/2 |w|^2 + C NLL`` subject to ``w >= 0``, (2) and (8), on scores of machines that
    did not see the row. For two classes it is Platt's sigmoid, (14)-(15).

    Parameters
    ----------
    C : "cv", float or None, default="cv"
        The weight of the likelihood. "cv" chooses it among `C_values` by cross-validation (SMC):
        of those whose error is within 5 % of the least, and whose NLL is within 5 % of the
        least among these, the smallest (DUAN03 section 3.2). None leaves the penalty
        out (SSMC, section 3.3).
    C_values : sequence of float, default=None
        The values tried by "cv"; ``2^-15, 2^-14, ..., 2^15`` by default.

    Attributes
    ----------
    C_ : float or None
        The value of C that was used.
    weights_ : ndarray of shape (n_classes, n_features + 1)
        The weights of every class, its bias last. For one-vs-one the features of class k are
        its scores against the other classes in class order.

    Notes
    -----
    The papers solve for ``log w``, which never reaches the bound ``w = 0`` where the optimum
    often lies. The problem is convex in w itself, and is solved there by a projected
    Newton method. Without a penalty, separable scores have no finite optimum: a penalty is
    lowered step by step, and no further once the mean NLL is below n_classes / n_rows, that of
    Platt's smoothed targets.

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

    name = "soft_max"
    codes = frozenset({"one_vs_one", "one_vs_rest"})
    needs = frozenset({"scores", "held_out_scores"})
    yields = "probabilities"
    _bare = "mean"

    def __init__(
        self, C: str | float | None = "cv", C_values: Sequence[float] | None = None
    ) -> None:
        self.C = C
        self.C_values = C_values

    def _fit(self, context: Context) -> None:
        if context.held_out is None or context.held_out.mean is None:
            raise ValueError("SoftMax needs held-out scores in its context.")
        features = class_features(context.held_out.mean, context.codebook)
        if self.C == "cv":
            self.C_: float | None = self._choose(features, context)
        else:
            self.C_ = None if self.C is None else positive_number(self.C, "C")
        solution = fit_class_features(features, context.y, context.weights, _penalty(self.C_))
        if not solution.converged:
            warnings.warn(
                "SoftMax: the weights did not converge; the probabilities are approximate.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.weights_ = solution.weights

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        if not hasattr(self, "weights_"):
            raise ValueError("SoftMax has to be fitted before it can decode.")
        assert margins.mean is not None
        features = class_features(margins.mean, codebook)
        return class_probabilities(features, self.weights_)

    def _choose(self, features: FloatArray, context: Context) -> float:
        values = sorted(PAPER_C if self.C_values is None else self.C_values)
        for value in values:
            positive_number(value, "C_values")
        folds = context.folds
        if folds is None:
            folds = _stratified_folds(context.y)
        if len(np.unique(folds)) < 2:
            raise ValueError(
                "SoftMax(C='cv') needs two folds of held-out rows to choose C; give C a value, or "
                "None for no penalty."
            )
        errors, losses = cross_validate(features, context, folds, values)
        return choose_strength(np.array(values), errors, losses)


def class_features(scores: FloatArray, codebook: Codebook) -> FloatArray:
    """Lay out the inputs of every class: (n_rows, n_classes, n_features + 1), 1 for the bias."""
    n_rows, n_classes = len(scores), codebook.n_classes
    if codebook.rest is not None:
        features = np.ones((n_rows, n_classes, 2))
        features[:, :, 0] = scores[:, codebook.rest]
        return features
    features = np.ones((n_rows, n_classes, n_classes))
    pairs = canonical(scores, codebook, 0.0)
    for column, (i, j) in enumerate(zip(*np.triu_indices(n_classes, 1), strict=True)):
        features[:, i, j - 1] = pairs[:, column]
        features[:, j, i] = -pairs[:, column]
    return features


def class_probabilities(features: FloatArray, weights: FloatArray) -> FloatArray:
    """Return (1) or (7) for features of any size."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.einsum("nkd,kd->nk", features, weights)
    huge = ~(np.abs(scores) < LARGEST_SCORE).all(axis=1)
    if huge.any():
        size, largest = np.abs(features[huge]).max(axis=(1, 2)), np.abs(weights).max()
        scaled = np.einsum("nkd,kd->nk", features[huge] / size[:, None, None], weights / largest)
        shifted = scaled - scaled.max(axis=1, keepdims=True)
        with np.errstate(over="ignore"):
            scores[huge] = shifted * size[:, None] * largest
    return softmax(scores)


def cross_validate(
    features: FloatArray, context: Context, folds: IntArray, values: Sequence[float]
) -> tuple[FloatArray, FloatArray]:
    """Return the cross-validated error and NLL of every C; warm-started along C."""
    y = context.y
    row_weights = np.ones(len(y)) if context.weights is None else context.weights
    errors, losses = np.zeros(len(values)), np.zeros(len(values))
    for fold in np.unique(folds):
        test = folds == fold
        model = ClassFeatureModel(features[~test], y[~test], row_weights[~test])
        weights = None
        rows, labels = features[test], y[test]
        for k, C in enumerate(values):
            weights = model.minimise(_penalty(C), weights).weights
            p = class_probabilities(rows, weights)
            errors[k] += row_weights[test] @ (p.argmax(axis=1) != labels)
            of_truth = np.maximum(p[np.arange(len(labels)), labels], 1e-300)
            losses[k] -= row_weights[test] @ np.log(of_truth)
    total = row_weights.sum()
    return errors / total, losses / total


def choose_strength(values: FloatArray, errors: FloatArray, losses: FloatArray) -> float:
    """Apply the two-tolerance rule of DUAN03 section 3.2 to ascending values of C."""
    small_error = errors <= 1.05 * errors.min()
    small_loss = small_error & (losses <= 1.05 * losses[small_error].min())
    return float(values[small_loss][0])


def _penalty(C: float | None) -> float | None:
    return None if C is None or np.isinf(C) else 1.0 / C


def _stratified_folds(y: IntArray) -> IntArray:
    # Imported here, because it would double the time that importing the library takes.
    from sklearn.model_selection import check_cv

    n_splits = int(min(5, np.bincount(y).max()))
    folds = np.zeros(len(y), dtype=np.intp)
    if n_splits < 2:
        return folds
    with warnings.catch_warnings():
        # A class with fewer rows than folds is no obstacle here.
        warnings.simplefilter("ignore", UserWarning)
        for number, (_, test) in enumerate(check_cv(n_splits, y, classifier=True).split(y, y)):
            folds[test] = number
    return folds
