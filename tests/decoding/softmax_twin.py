"""The soft-max combination in NumPy: the same projected Newton method, written plainly."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

FloatArray = IntArray = np.ndarray

# Penalties on the way to none, in units of the mean log-likelihood and of scores of size 1.
VANISHING_PENALTIES = tuple(10.0**-power for power in range(1, 9))
# Weights nearer than this to their bound may be put there in one step.
NEAR_BOUND = 1e-2
# A thousandth of that of the core, which tries to get there, too.
TOLERANCE = 1e-12
ROUNDING = 1e-15
SMALLEST_STEP = 1e-12
# Scores that are all smaller than this count as 0.
SMALLEST_SCORES = 1e-100
MAX_ITERATIONS = 200


@dataclass(frozen=True)
class Solution:
    """The weights of every class, and whether the gradient reached the tolerance."""

    weights: FloatArray
    converged: bool


def cross_validate(features, y, row_weights, folds, C_values):
    """Return the errors and NLLs of every C, summed over the rows, warm-started along C."""
    rows = np.arange(len(y))
    errors, losses = np.zeros((2, len(C_values)))
    for fold in np.unique(folds):
        train, test = rows[folds != fold], rows[folds == fold]
        model = ClassFeatureModel(features[train], y[train], row_weights[train])
        weights = None
        for k, C in enumerate(C_values):
            weights = model.minimise(1.0 / C, weights).weights
            p = model.probabilities(features[test], weights)
            errors[k] += row_weights[test] @ (p.argmax(axis=1) != y[test])
            of_truth = np.maximum(p[np.arange(len(test)), y[test]], 1e-300)
            losses[k] -= row_weights[test] @ np.log(of_truth)
    return errors, losses


class ClassFeatureModel:
    """Probabilities ``softmax_k(w_k . features_k)`` with weights ``w >= 0``.

    The objective is convex in w. Scores are scaled to size 1 inside, so that tolerances mean the
    same for all of them; the penalty is that of the original weights.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_classes, n_features)
        The last feature is the constant 1.
    y : ndarray of shape (n_rows,)
        The class numbers.
    row_weights : ndarray of shape (n_rows,)
        The weights of the rows.
    """

    def __init__(self, features: FloatArray, y: IntArray, row_weights: FloatArray) -> None:
        n_rows, self.n_classes, self.n_features = features.shape
        self.total = row_weights.sum()
        self.share = row_weights / self.total
        self.scale = np.ones(self.n_features)
        self.scale[:-1] = _typical_size(features[:, :, :-1], self.share)
        self.features = features / self.scale
        self.target = np.zeros((n_rows, self.n_classes))
        self.target[np.arange(n_rows), y] = 1.0

    def minimise(self, penalty: float | None, start: FloatArray | None = None) -> Solution:
        """Minimise ``penalty/2 |w|^2 + NLL`` (None: no penalty) from `start`."""
        shape = (self.n_classes, self.n_features)
        w = np.zeros(shape) if start is None else start * self.scale
        if penalty is None:
            w, converged = self._minimise_unpenalised(w)
        else:
            w, converged = self._newton(
                w, np.tile(penalty / self.total / self.scale / self.scale, (self.n_classes, 1))
            )
        return Solution(w / self.scale, converged)

    @staticmethod
    def probabilities(features: FloatArray, weights: FloatArray) -> FloatArray:
        scores = np.einsum("nkd,kd->nk", features, weights)
        exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
        return exponentials / exponentials.sum(axis=1, keepdims=True)

    def _minimise_unpenalised(self, w: FloatArray) -> tuple[FloatArray, bool]:
        """Let a penalty vanish, and stop before separable data drive the weights to infinity.

        The mean NLL of Platt's smoothed targets, about n_classes / n_rows, is the smallest that
        this many rows can justify, so the penalty is not lowered below it.
        """
        converged = False
        for penalty in VANISHING_PENALTIES:
            strength = np.full(w.shape, penalty)
            w, converged = self._newton(w, strength)
            if self._value(w, np.zeros_like(strength))[0] < self.n_classes / self.total:
                break
        return w, converged

    def _newton(self, w: FloatArray, strength: FloatArray) -> tuple[FloatArray, bool]:
        value, p = self._value(w, strength)
        for _ in range(MAX_ITERATIONS):
            gradient = self._gradient(w, p, strength)
            residual = np.abs(w - np.maximum(w - gradient, 0.0)).max()
            if residual <= TOLERANCE:
                return w, True
            direction = self._direction(w, p, gradient, strength, min(residual, NEAR_BOUND))
            step = 1.0
            while True:
                candidate = np.maximum(w + step * direction, 0.0)
                new_value, new_p = self._value(candidate, strength)
                expected = np.sum(gradient * (candidate - w))
                # Near the optimum, rounding of the objective hides the decrease.
                if new_value <= value + 1e-4 * min(expected, 0.0) + ROUNDING * (1.0 + value):
                    break
                step *= 0.5
                if step < SMALLEST_STEP:
                    return w, False
            w, value, p = candidate, new_value, new_p
        return w, False

    def _value(self, w: FloatArray, strength: FloatArray) -> tuple[float, FloatArray]:
        scores = np.einsum("nkd,kd->nk", self.features, w)
        shifted = scores - scores.max(axis=1, keepdims=True)
        exponentials = np.exp(shifted)
        z = exponentials.sum(axis=1, keepdims=True)
        of_truth = np.einsum("nk,nk->n", self.target, shifted)
        loss = self.share @ (np.log(z[:, 0]) - of_truth)
        return float(loss + 0.5 * np.sum(strength * w * w)), exponentials / z

    def _gradient(self, w: FloatArray, p: FloatArray, strength: FloatArray) -> FloatArray:
        residual = (p - self.target) * self.share[:, None]
        gradient: FloatArray = np.einsum("nk,nkd->kd", residual, self.features) + strength * w
        return gradient

    def _direction(
        self,
        w: FloatArray,
        p: FloatArray,
        gradient: FloatArray,
        strength: FloatArray,
        near: float,
    ) -> FloatArray:
        # Weights near the bound that the gradient pulls there go to it, apart from the Newton
        # step of the others; that they need not be exactly on it prevents zigzagging
        # (Bertsekas 1982).
        hessian = self._hessian(p, strength)
        in_reach = w * hessian.diagonal().reshape(w.shape) <= gradient
        free = ~((w <= near) & (gradient > 0.0) & in_reach).ravel()
        hessian = hessian[np.ix_(free, free)]
        flat = -gradient.ravel()[free]
        direction = -w.ravel()
        # Rounding may take a nearly singular Hessian below zero.
        lift = 1e-14
        diagonal = np.maximum(hessian.diagonal(), SMALLEST_SCORES)
        while True:
            try:
                factor = cho_factor(hessian + np.diag(lift * diagonal), check_finite=False)
            except np.linalg.LinAlgError:
                lift *= 100.0
                continue
            direction[free] = cho_solve(factor, flat, check_finite=False)
            return direction.reshape(w.shape)

    def _hessian(self, p: FloatArray, strength: FloatArray) -> FloatArray:
        n_rows, n_classes, n_features = self.features.shape
        weighted = self.features * p[:, :, None]
        rows = (weighted * np.sqrt(self.share)[:, None, None]).reshape(n_rows, -1)
        hessian: FloatArray = -(rows.T @ rows)
        for k in range(n_classes):
            block = slice(k * n_features, (k + 1) * n_features)
            hessian[block, block] += (weighted[:, k] * self.share[:, None]).T @ self.features[:, k]
        hessian[np.diag_indices_from(hessian)] += strength.ravel()
        return hessian


def _typical_size(scores: FloatArray, share: FloatArray) -> float:
    """Return the root of the weighted mean square of scores, or 1 if all are as good as 0."""
    largest = np.abs(scores).max(initial=0.0)
    if largest < SMALLEST_SCORES:
        return 1.0
    mean_square = share @ ((scores / largest) ** 2).reshape(len(share), -1).mean(axis=1)
    return float(largest * np.sqrt(mean_square))
