r"""A point near the solution of a linear support vector machine with many rows, few features.

A primal-dual interior-point method on the dual, :math:`\min \frac12 a'VV'a - \sum_i a_i` with
:math:`V_i = y_i x_i` subject to :math:`y'a = 0` and :math:`0 \le a_i \le u_i`. A step solves a
system with the matrix :math:`VV' + D`, D diagonal, which reduces to a system of the size of the
features. The number of steps hardly depends on C.

Note: decomposition alone, which changes a few rows at a time, needs thousands of rounds here if C
is large. The interior point is not exact: its coefficients are all strictly inside their bounds.
So decomposition finishes from it, with the same tolerance as for other kernels.

References: Ferris and Munson (2002), Interior-point methods for massive support vector machines;
Mehrotra (1992), On the implementation of a primal-dual interior point method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import diags_array, issparse

from ...core.types import FloatArray
from ..linear import weighted_products

_MOST_STEPS = 60
# Relative to the value of the dual; decomposition removes the rest.
_GAP = 1e-9
_SHARE_OF_WAY = 0.995
# Coefficients this near to a bound, in units of the bound, are set to it.
_NEAR = 1e-5


def interior_point(
    X: Any, labels: FloatArray, bounds: FloatArray, go_on: Callable[[], None] = lambda: None
) -> tuple[FloatArray, int]:
    """Return :math:`a_i y_i` that meet the constraints, near the solution, and the steps taken.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        The inputs.
    labels : ndarray of shape (n_rows,)
        -1.0 or 1.0, both present.
    bounds : ndarray of shape (n_rows,)
        The largest :math:`a_i`, positive.
    go_on : callable
        Called before every step; may raise to stop.

    Returns
    -------
    coefficients : ndarray of shape (n_rows,)
    n_steps : int
    """
    # In units of its bound, every coefficient is in [0, 1].
    V = diags_array(labels * bounds) @ X if issparse(X) else X * (labels * bounds)[:, None]
    signs = labels * bounds
    a, s = np.full(len(labels), 0.5), np.full(len(labels), 0.5)
    z, w, bias = bounds.copy(), bounds.copy(), 0.0
    n_steps = 0
    while n_steps < _MOST_STEPS:
        go_on()
        w_vector = V.T @ a
        dual = V @ w_vector - bounds + bias * signs - z + w
        primal = float(signs @ a)
        products = float(a @ z + s @ w)
        value = float(bounds @ a - 0.5 * w_vector @ w_vector)
        if products <= _GAP * (1e-300 + abs(value)) and abs(primal) <= _GAP * bounds.sum():
            break
        try:
            system = _System(V, signs, z / a + w / s)
        except (LinAlgError, ValueError):
            break  # rounding allows no further step
        mean = products / (2 * len(a))
        # The step without centring decides how much to centre (Mehrotra).
        da, dz, dw, _ = system.step(dual, primal, a, s, z, w, -a * z, -s * w)
        length = _length(a, s, z, w, da, dz, dw)
        reached = (a + length * da) @ (z + length * dz) + (s - length * da) @ (w + length * dw)
        centre = mean * (reached / products) ** 3
        da, dz, dw, db = system.step(
            dual, primal, a, s, z, w, centre - a * z - da * dz, centre - s * w + da * dw
        )
        length = _SHARE_OF_WAY * _length(a, s, z, w, da, dz, dw)
        if not (np.isfinite(length) and length > 1e-10):
            break
        a, s = a + length * da, s - length * da
        z, w, bias = z + length * dz, w + length * dw, bias + length * db
        n_steps += 1
    return labels * _inside(a, signs, bounds), n_steps


class _System:
    """The equations of one step, with ``VV' + D`` inverted by Woodbury's formula."""

    def __init__(self, V: Any, signs: FloatArray, D: FloatArray) -> None:
        self.V, self.signs, self.D = V, signs, D
        inner = np.eye(V.shape[1]) + weighted_products(V, 1.0 / D)
        self.factor = cho_factor(inner, lower=True, overwrite_a=True)
        self.of_signs = self.solve(signs)

    def solve(self, right: FloatArray) -> FloatArray:
        divided = right / self.D
        inner = cho_solve(self.factor, self.V.T @ divided)
        solution: FloatArray = divided - (self.V @ inner) / self.D
        return solution

    def step(
        self,
        dual: FloatArray,
        primal: float,
        a: FloatArray,
        s: FloatArray,
        z: FloatArray,
        w: FloatArray,
        wanted_z: FloatArray,
        wanted_w: FloatArray,
    ) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        of_rest = self.solve(-dual + wanted_z / a - wanted_w / s)
        db = float(self.signs @ of_rest + primal) / float(self.signs @ self.of_signs)
        da = of_rest - db * self.of_signs
        return da, (wanted_z - z * da) / a, (wanted_w + w * da) / s, db


def _length(
    a: FloatArray,
    s: FloatArray,
    z: FloatArray,
    w: FloatArray,
    da: FloatArray,
    dz: FloatArray,
    dw: FloatArray,
) -> float:
    """Return the longest step, at most 1, that keeps everything positive."""
    shrinking = max(
        float((-change / value).max()) for value, change in ((a, da), (s, -da), (z, dz), (w, dw))
    )
    return 1.0 / max(shrinking, 1.0)


def _inside(a: FloatArray, signs: FloatArray, bounds: FloatArray) -> FloatArray:
    """Set coefficients near a bound to it, and change the others to keep ``y'a = 0``."""
    a = np.where(a < _NEAR, 0.0, np.where(a > 1.0 - _NEAR, 1.0, a))
    excess = float(signs @ a)
    # How far each row can move in the direction that removes the excess.
    room = np.where(signs * excess > 0.0, a, 1.0 - a)
    free = (a > 0.0) & (a < 1.0)
    if (room * bounds)[free].sum() >= abs(excess):
        room = np.where(free, room, 0.0)
    total = float((room * bounds).sum())
    if total > 0.0:
        a = np.clip(a - np.sign(signs * excess) * room * min(abs(excess) / total, 1.0), 0.0, 1.0)
    return a * bounds
