"""Leave-one-out scores of one Gram matrix for any number of gammas, by its eigenvectors.

For a search that needs only these scores, this is faster than `tridiagonal`: every gamma takes a
few products with the eigenvectors.
"""

from __future__ import annotations

import numpy as np

from ...core.lapack import eigenvectors
from ...core.types import FloatArray
from .centring import LARGEST, centre, check_targets, scaled
from .solve import Fit


class UnitOutPath:
    """LS-SVMs of all label columns on one Gram matrix, at one gamma after another.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_rows)
        The Gram matrix of a positive semidefinite kernel.
    targets : ndarray of shape (n_rows, n_columns)
        The labels, -1 and +1 (or any finite numbers).
    weights : ndarray of shape (n_rows,), default=None
        The row weights v.
    """

    def __init__(
        self, gram: FloatArray, targets: FloatArray, weights: FloatArray | None = None
    ) -> None:
        self.targets = check_targets(targets, len(gram))
        self.centring, matrix = centre(gram, weights)
        values, self.vectors = eigenvectors(matrix)
        self.floor = max(self.centring.floor, -2.0 * float(values[0]))
        self.values = np.maximum(values, 0.0)
        self.squares = self.vectors**2
        reflected = self.centring.reflect(self.targets)
        self.first, self.rotated = reflected[0], self.vectors.T @ reflected[1:]
        self.mirror = self.vectors.T @ self.centring.mirror[1:]
        ones = np.ones(len(gram))
        v = ones if weights is None else np.asarray(weights, dtype=np.float64)
        self.share = np.minimum(v, 1.0) / v

    def fit(self, gamma: float) -> Fit:
        """Return the LS-SVM of every column."""
        reduced = self.vectors @ (self._inverse(gamma)[:, None] * self.rotated)
        external = scaled(self.centring.expand(reduced), -self.centring.gram_exponent)
        return Fit(np.clip(external, -LARGEST, LARGEST), self.centring.bias(self.first, reduced))

    def scores(self, gamma: float) -> FloatArray:
        """Return the score of every row from a fit in which its weight is smaller by 1.

        A row of weight v stands for v equal rows, one of which is left out; a row of weight 1 or
        less is left out entirely. Let P be the block of the inverse of the bordered matrix that
        belongs to the rows. The errors are ``e = (P y)_i / (gamma v_i)``. The share of a row in
        its own fit is ``h_i = 1 - P_ii / (gamma v_i)``, and each of its v equal rows has ``h_i /
        v_i``. So the score without one of them is ``y_i - e_i / (1 - h_i / v_i)``.
        """
        inverse = self._inverse(gamma)
        coefficients = self.centring.expand(self.vectors @ (inverse[:, None] * self.rotated))
        p = self.centring.inverse_diagonal(
            self.squares @ inverse, self.vectors @ (inverse * self.mirror)
        )
        noise = self._ridge(gamma) / self.centring.root_weights**2
        # 1 - share h, written without cancellation for a row of weight 1
        left = (1.0 - self.share) + self.share * noise * p
        scores: FloatArray = self.targets - coefficients * (noise / left)[:, None]
        return scores

    def _ridge(self, gamma: float) -> float:
        return max(float(self.centring.ridge(gamma)), self.floor)

    def _inverse(self, gamma: float) -> FloatArray:
        inverse: FloatArray = 1.0 / (self.values + self._ridge(gamma))
        return inverse
