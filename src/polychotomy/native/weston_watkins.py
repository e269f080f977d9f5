"""The multi-class SVM of Weston and Watkins, linear in given features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core

__all__ = ["WestonWatkins", "solve_weston_watkins"]

FloatArray = NDArray[np.float64]


class WestonWatkins(NamedTuple):
    """A solution: weights, duals, the primal and dual values, the passes, and whether it is good.

    Attributes
    ----------
    weights : ndarray of shape (n_classes, n_features)
        The weights of every class.
    duals : ndarray of shape (n_rows, n_classes)
        The dual variables; 0 at the class of the row.
    primal, dual : float
        The value of the objective, and a lower bound of its minimum.
    epochs : int
        The number of passes over the rows.
    converged : bool
        Whether the gap between the two says that scores are within the tolerance.
    """

    weights: FloatArray
    duals: FloatArray
    primal: float
    dual: float
    epochs: int
    converged: bool


def solve_weston_watkins(
    features: ArrayLike,
    y: ArrayLike,
    n_classes: int,
    bounds: ArrayLike,
    tolerance: float = 1e-2,
    max_epochs: int = 1000,
    seed: int = 0,
) -> WestonWatkins:
    r"""Train linear functions of all classes together.

    Minimises :math:`\frac12 \sum_k |w_k|^2 + \sum_i C_i \sum_{k \ne y_i} \max(0, 2 - (w_{y_i} -
    w_k) \cdot z_i)`.

    Parameters
    ----------
    features : array-like of shape (n_rows, n_features)
        The features z, finite. A constant one makes a bias, which is penalised as the rest.
    y : array-like of shape (n_rows,)
        The class of every row, from 0.
    n_classes : int
        The number of classes.
    bounds : array-like of shape (n_rows,)
        C of every row, positive.
    tolerance : float, default=1e-2
        The largest error of a score of a row, by a bound: ``sqrt(2 gap)`` times the length of the
        longest row, where the gap is that between the primal and the dual value.
    max_epochs : int, default=1000
        The largest number of passes over the rows.
    seed : int, default=0
        The seed of the order of the rows.

    Returns
    -------
    WestonWatkins

    References
    ----------
    Weston and Watkins (1999), Support vector machines for multi-class pattern recognition. Keerthi,
    Sundararajan, Chang, Hsieh and Lin (2008), A sequential dual method for large scale multi-class
    linear SVMs.

    Examples
    --------
    >>> from polychotomy.native.weston_watkins import solve_weston_watkins
    >>> found = solve_weston_watkins([[1.0, 0.0], [0.0, 1.0]], [0, 1], 2, [10.0, 10.0])
    >>> found.weights.round(3).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    z = np.ascontiguousarray(features, dtype=np.float64)
    numbers = np.ascontiguousarray(y, dtype=np.int64)
    limits = np.ascontiguousarray(bounds, dtype=np.float64)
    if z.ndim != 2 or not np.isfinite(z).all():
        raise ValueError("features must be a matrix of finite numbers.")
    if not (np.isfinite(limits) & (limits > 0)).all():
        raise ValueError("bounds must be finite positive numbers.")
    weights = np.zeros((n_classes, z.shape[1]))
    duals = np.zeros((len(z), n_classes))
    values = _core.solve_weston_watkins(
        z, numbers, limits, tolerance, max_epochs, seed, weights, duals
    )
    return WestonWatkins(weights, duals, *values)
