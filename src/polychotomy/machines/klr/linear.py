r"""Linear logistic regression with many rows, few features: Newton's method in the features.

The problem of `solve_klr` for :math:`K = XX'`: minimise
:math:`\frac12 |w|^2 + C \sum_i v_i \log(1 + \exp(-y_i f_i))` over :math:`f = X w + b`. At the
optimum :math:`w = X'c` with the coefficients :math:`c_i = C v_i y_i / (1 + \exp(y_i f_i))`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

from ...core.types import FloatArray
from ..linear import weighted_products
from ..solved import Solution

# A step must achieve this share of the decrease that its slope predicts.
_SHARE_OF_SLOPE = 1e-4
_MOST_HALVINGS = 40
# Rounding of the objective hides decreases below this share of it.
_ROUNDING = 1e-14


def solve_linear_klr(
    X: Any, labels: FloatArray, bounds: FloatArray, tolerance: float, max_iterations: int
) -> Solution:
    """Return the coefficients c, the bias, whether it converged, and the number of steps.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        The inputs.
    labels : ndarray of shape (n_rows,)
        -1.0 or 1.0, both present.
    bounds : ndarray of shape (n_rows,)
        C times the weights of the rows, positive.
    tolerance : float
        The solver stops after a full step that changes every probability, and the root mean square
        of the scores, by at most this.
    max_iterations : int
        The largest number of steps.
    """
    w, bias = np.zeros(X.shape[1]), 0.0
    scores = np.zeros(len(labels))
    value = _objective(w, labels * scores, bounds)
    for iteration in range(max_iterations):
        c = bounds * labels * expit(-labels * scores)
        curvature = bounds * expit(scores) * expit(-scores)
        gradient, slope_of_bias = w - X.T @ c, -float(c.sum())
        try:
            dw, db = _newton_step(X, curvature, gradient, slope_of_bias)
        except LinAlgError:
            return Solution(c, bias, False, iteration)
        change = X @ dw + db
        slope = float(gradient @ dw) + slope_of_bias * db
        length = 1.0
        for _ in range(_MOST_HALVINGS):
            moved = w + length * dw, bias + length * db, scores + length * change
            new = _objective(moved[0], labels * moved[2], bounds)
            if new <= value + _SHARE_OF_SLOPE * length * slope + _ROUNDING * abs(value):
                break
            length /= 2.0
        w, bias, scores, value = *moved, new
        mean = np.sqrt(float(curvature @ change**2) / max(float(curvature.sum()), 1e-300))
        if length == 1.0 and mean <= tolerance:
            largest = float(np.abs(curvature / bounds * change).max())
            if largest <= tolerance:
                c = bounds * labels * expit(-labels * scores)
                return Solution(c, bias, True, iteration + 1)
    return Solution(bounds * labels * expit(-labels * scores), bias, False, max_iterations)


def _objective(w: FloatArray, margins: FloatArray, bounds: FloatArray) -> float:
    return float(0.5 * w @ w + bounds @ np.logaddexp(0.0, -margins))


def _newton_step(
    X: Any, curvature: FloatArray, gradient: FloatArray, slope_of_bias: float
) -> tuple[FloatArray, float]:
    """Solve with ``[I + X'WX, X'W1; 1'WX, 1'W1]`` after eliminating the bias."""
    total = max(float(curvature.sum()), 1e-300)
    border = X.T @ curvature
    inner = np.eye(len(border)) + weighted_products(X, curvature)
    inner -= np.outer(border, border) / total
    factor = cho_factor(inner, lower=True, overwrite_a=True)
    dw = -cho_solve(factor, gradient - border * (slope_of_bias / total))
    return dw, -(slope_of_bias + float(border @ dw)) / total
