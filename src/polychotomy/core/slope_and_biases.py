"""The likelihood of one slope, with a bias for every class or without."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import logsumexp

from .empirical_bayes import Dense, Hessian
from .math import softmax
from .types import FloatArray, IntArray

# Rows are taken in blocks of at most this many entries, half a megabyte: a pass makes many arrays
# of this size, which then stay in the cache.
ENTRIES = 1 << 16


class SlopeAndBiases:
    """``softmax_k((start + d) z_k + b_k)``, in the parameters d, b_1, ..., b_M.

    Note: it is a case of `ClassScores`, whose Hessian has four times as many entries before it is
    reduced to these parameters, and which keeps features of all rows. With hundreds of classes
    that was most of the time of a fit.

    Parameters
    ----------
    z : ndarray of shape (n_rows, n_classes)
        The scores of the classes, such as centred log probabilities.
    y : ndarray of shape (n_rows,)
        The class numbers.
    row_weights : ndarray of shape (n_rows,) or None
        The weights of the rows.
    start : float, default=1.0
        The slope for d = 0.
    """

    def __init__(
        self, z: FloatArray, y: IntArray, row_weights: FloatArray | None, start: float = 1.0
    ) -> None:
        if row_weights is not None and not row_weights.all():
            used = row_weights > 0
            z, y, row_weights = z[used], y[used], row_weights[used]
        self.z, self.y, self.start = z, y, start
        self.row_weights = np.ones(len(y)) if row_weights is None else row_weights
        self.n_parameters = 1 + z.shape[1]

    def value(self, theta: FloatArray) -> float:
        """Return the negative log-likelihood."""
        total = 0.0
        for z, y, weights in self._blocks():
            relative = self._relative_scores(theta, z, y)
            largest = relative.max(axis=1)
            # The 1 of the true class is added by log1p, to keep the digits of small terms.
            rest = np.exp(relative - largest[:, None])
            rest[np.arange(len(y)), y] = 0.0
            total += float(weights @ (largest + np.log1p(rest.sum(axis=1) + np.expm1(-largest))))
        return total

    def derivatives(self, theta: FloatArray) -> tuple[FloatArray, Hessian]:
        """Return its gradient and Hessian."""
        gradient = np.zeros(self.n_parameters)
        hessian = np.zeros((self.n_parameters, self.n_parameters))
        for z, y, weights in self._blocks():
            p = softmax(self._relative_scores(theta, z, y))
            rows, winner = np.arange(len(y)), p.argmax(axis=1)
            # 1 - p without cancellation: for the winner, the sum of the others.
            others, rest = 1.0 - p, p.copy()
            rest[rows, winner] = 0.0
            others[rows, winner] = rest.sum(axis=1)
            weighted = p * weights[:, None]
            residual = weighted.copy()
            residual[rows, y] = -others[rows, y] * weights
            gradient[0] += np.vdot(residual, z)
            gradient[1:] += residual.sum(axis=0)
            # z less its mean under p: what the slope changes that a common bias does not.
            apart = z - (p * z).sum(axis=1)[:, None]
            lever = weighted * apart
            hessian[0, 0] += np.vdot(lever, apart)
            hessian[0, 1:] += lever.sum(axis=0)
            root = p * np.sqrt(weights)[:, None]
            biases = hessian[1:, 1:]
            diagonal = biases.diagonal() + (weighted * others).sum(axis=0)
            biases -= root.T @ root
            np.fill_diagonal(biases, diagonal)
        hessian[1:, 0] = hessian[0, 1:]
        return gradient, Dense(hessian)

    def _blocks(self) -> Iterator[tuple[FloatArray, IntArray, FloatArray]]:
        step = max(1, ENTRIES // self.z.shape[1])
        for start in range(0, len(self.y), step):
            rows = slice(start, start + step)
            yield self.z[rows], self.y[rows], self.row_weights[rows]

    def _relative_scores(self, theta: FloatArray, z: FloatArray, y: IntArray) -> FloatArray:
        """Return the scores minus that of the true class."""
        scores = (self.start + theta[0]) * z + theta[1:]
        relative: FloatArray = scores - scores[np.arange(len(y)), y][:, None]
        return relative


class OneSlope:
    """``softmax_k((start + d) z_k)``, in the parameter d.

    Parameters
    ----------
    z, y, row_weights, start
        As in `SlopeAndBiases`.
    """

    n_parameters = 1

    def __init__(
        self, z: FloatArray, y: IntArray, row_weights: FloatArray | None, start: float = 1.0
    ) -> None:
        # Less that of the true class, in whose terms nothing cancels.
        self.z = z - z[np.arange(len(y)), y][:, None]
        self.start = start
        self.row_weights = np.ones(len(y)) if row_weights is None else row_weights

    def value(self, theta: FloatArray) -> float:
        """Return the negative log-likelihood."""
        scores = (self.start + theta[0]) * self.z
        return float(self.row_weights @ logsumexp(scores, axis=1))

    def derivatives(self, theta: FloatArray) -> tuple[FloatArray, Hessian]:
        """Return its gradient and Hessian."""
        p = softmax((self.start + theta[0]) * self.z)
        mean = np.einsum("ij,ij->i", p, self.z)
        apart = self.z - mean[:, None]
        square = np.einsum("ij,ij,ij->i", p, apart, apart)
        gradient = np.array([self.row_weights @ mean])
        return gradient, Dense(np.array([[self.row_weights @ square]]))
