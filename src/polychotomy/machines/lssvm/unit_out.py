"""Leave-one-out scores of one Gram matrix, at one gamma after another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf, spotrf

from ...core.types import FloatArray
from .centring import LARGEST, check_targets, scaled
from .solve import Fit, centred, is_safe_in_single, squared_inverse


class UnitOutPath:
    """LS-SVMs of all label columns on one Gram matrix, at one gamma after another.

    Note: every gamma has a Cholesky factorisation of its own. The eigenvectors of the Gram matrix
    would serve all gammas, but take as long as six to eight factorisations; a search that climbs
    from a good value needs three or four. Unlike `Factor`, the matrix is centred once.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_rows)
        The Gram matrix of a positive semidefinite kernel.
    targets : ndarray of shape (n_rows, n_columns)
        The labels, -1 and +1 (or any finite numbers).
    weights : ndarray of shape (n_rows,), default=None
        The row weights v.
    n_scored : int, default=None
        How many rows have scores, the last ones; all by default. Fewer take less time.
    """

    def __init__(
        self,
        gram: FloatArray,
        targets: FloatArray,
        weights: FloatArray | None = None,
        n_scored: int | None = None,
    ) -> None:
        self.targets = check_targets(targets, len(gram))
        self.scored = slice(None) if n_scored is None else slice(len(gram) - n_scored, None)
        self.centring, self.matrix = centred(gram, weights)
        self.reflected = self.centring.reflect(self.targets)
        v = np.ones(len(gram)) if weights is None else np.asarray(weights, dtype=np.float64)
        self.share = np.minimum(v, 1.0) / v
        self._reduced: dict[float, FloatArray] = {}

    def fit(self, gamma: float) -> Fit:
        """Return the LS-SVM of every column."""
        if gamma not in self._reduced:
            self._reduced[gamma] = self._solve(self._factor(gamma)[0], self.reflected[1:])
        reduced = self._reduced[gamma]
        external = scaled(self.centring.expand(reduced), -self.centring.gram_exponent)
        biases = self.centring.bias(self.reflected[0], reduced)
        return Fit(np.clip(external, -LARGEST, LARGEST), biases)

    def scores(self, gamma: float) -> FloatArray:
        """Return the score of every scored row from a fit in which its weight is smaller by 1.

        A row of weight v stands for v equal rows, one of which is left out; a row of weight 1 or
        less is left out entirely. Let P be the block of the inverse of the bordered matrix that
        belongs to the rows. The errors are ``e = (P y)_i / (gamma v_i)``. The share of a row in
        its own fit is ``h_i = 1 - P_ii / (gamma v_i)``, and each of its v equal rows has ``h_i /
        v_i``. So the score without one of them is ``y_i - e_i / (1 - h_i / v_i)``.
        """
        triangle, ridge = self._factor(gamma)
        right = np.column_stack([self.reflected[1:], self.centring.mirror[1:]])
        solved = self._solve(triangle, right)
        self._reduced[gamma] = solved[:, :-1]
        coefficients = self.centring.expand(solved[:, :-1])
        # The columns of L^-1 of the last rows are in its last block, the inverse of that of L.
        last = slice(max(0, (self.scored.start or 0) - 1), None)
        diagonal = np.zeros(len(triangle))
        diagonal[last] = squared_inverse(triangle[last, last])
        p = self.centring.inverse_diagonal(diagonal, solved[:, -1])
        noise = ridge / self.centring.root_weights**2
        # 1 - share h, written without cancellation for a row of weight 1
        left = (1.0 - self.share) + self.share * noise * p
        factors = noise[self.scored] / left[self.scored]
        errors = coefficients[self.scored] * factors[:, None]
        scores: FloatArray = self.targets[self.scored] - errors
        return scores

    def _factor(self, gamma: float) -> tuple[FloatArray, float]:
        """Return the Cholesky factor at a gamma, and the ridge that was factorised."""
        ridge = max(float(self.centring.ridge(gamma)), self.centring.floor)
        single = is_safe_in_single(self.centring, ridge)
        while True:
            matrix: NDArray[Any] = self.matrix.astype(
                np.float32 if single else np.float64, order="F"
            )
            matrix[np.diag_indices_from(matrix)] += ridge
            factorise = spotrf if single else dpotrf
            triangle, failed = factorise(matrix, lower=1, clean=1, overwrite_a=1)
            if not failed:
                return triangle, ridge
            # Eigenvalues are negative only by rounding, so a ridge of that size has no effect.
            ridge *= 2.0

    @staticmethod
    def _solve(triangle: FloatArray, right: FloatArray) -> FloatArray:
        right = right.astype(triangle.dtype)
        solved: FloatArray = cho_solve((triangle, True), right, check_finite=False)
        return solved.astype(np.float64)
