"""LS-SVM for a given gamma: one Cholesky factorisation for all label columns (level 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, eigvalsh
from scipy.linalg.lapack import dpotrf, dtrtri

from .._types import FloatArray
from ._lssvm_centring import (
    EPSILON,
    LARGEST,
    Centring,
    centre,
    check_semidefinite,
    check_targets,
    scaled,
)

# Refinement stops at residuals below this share of the targets or at the rounding of |K| |a|, or
# when they stop to halve.
SMALL_RESIDUAL = 1e-12
MAX_REFINEMENTS = 4


@dataclass(frozen=True)
class Fit:
    """The score ``f(x) = sum_i a_i k(x, x_i) + b`` of every column.

    Parameters
    ----------
    coefficients : ndarray of shape (n_rows, n_columns)
        The a. In the paper's (4)-(5) it is ``alpha_i y_i``.
    biases : ndarray of shape (n_columns,)
        The b.
    """

    coefficients: FloatArray
    biases: FloatArray

    def scores(self, cross_gram: FloatArray) -> FloatArray:
        """Return the scores of new rows; `cross_gram` has shape (n_new, n_rows)."""
        result: FloatArray = cross_gram @ self.coefficients + self.biases
        return result


@dataclass(frozen=True)
class Factor:
    """A factorised bordered system, for any number of target columns.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_rows)
        The Gram matrix K.
    centring : Centring
        The coordinates without a bias.
    triangle : ndarray of shape (n_rows - 1, n_rows - 1)
        The lower Cholesky factor of the centred matrix and its ridge.
    ridge : float
        The internal ``1 / gamma``.
    """

    gram: FloatArray
    centring: Centring
    triangle: FloatArray
    ridge: float

    def solve(self, targets: FloatArray) -> Fit:
        """Solve the system for all columns, by as many steps of refinement as pay off."""
        coefficients, biases = self._refine(check_targets(targets, self.centring.n_rows))
        return Fit(self._external(coefficients), biases)

    def leave_one_out(self, targets: FloatArray) -> FloatArray:
        """Return the score that every row gets from a fit without it.

        With ``P`` the part of the inverse of the bordered matrix that belongs to the rows, the
        coefficients are ``P y``, and the score without row i is ``y_i - (P y)_i / P_ii`` (METHODS,
        "Leave-one-out from one fit").
        """
        targets = check_targets(targets, self.centring.n_rows)
        # without refinement, so that both parts of the quotient have the same ridge
        coefficients, _ = self._solve_once(targets)
        inverse, _ = dtrtri(self.triangle, lower=1)
        diagonal = np.einsum("ij,ij->j", inverse, inverse)
        applied = cho_solve((self.triangle, True), self.centring.mirror[1:], check_finite=False)
        p = self.centring.inverse_diagonal(diagonal, applied)
        scores: FloatArray = targets - coefficients / p[:, None]
        return scores

    def _refine(self, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        small = SMALL_RESIDUAL * np.abs(targets).max(axis=0)
        coefficients, biases = np.zeros(targets.shape), np.zeros(targets.shape[1])
        residual, size = targets, np.full(targets.shape[1], np.inf)
        for _ in range(1 + MAX_REFINEMENTS):
            change, change_of_bias = self._solve_once(residual)
            new, new_biases = coefficients + change, biases + change_of_bias
            new_residual = targets - self._apply(new) - new_biases
            new_size = np.abs(new_residual).max(axis=0)
            better = new_size < size
            coefficients = np.where(better, new, coefficients)
            biases = np.where(better, new_biases, biases)
            residual = np.where(better, new_residual, residual)
            halved, size = new_size < 0.5 * size, np.where(better, new_size, size)
            # The entries of K are at most 1 in internal units.
            enough = np.maximum(small, EPSILON * np.abs(coefficients).sum(axis=0))
            if not (halved & (size > enough)).any():
                break
        return coefficients, biases

    def _solve_once(self, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        reflected = self.centring.reflect(targets)
        reduced = cho_solve((self.triangle, True), reflected[1:], check_finite=False)
        return self.centring.expand(reduced), self.centring.bias(reflected[0], reduced)

    def _apply(self, coefficients: FloatArray) -> FloatArray:
        """Return ``(K + diag(1 / (gamma v))) a`` for internal coefficients."""
        ridge = self.ridge / self.centring.root_weights**2
        product: FloatArray = self.gram @ self._external(coefficients)
        product += ridge[:, None] * coefficients
        return product

    def _external(self, coefficients: FloatArray) -> FloatArray:
        external = scaled(coefficients, -self.centring.gram_exponent)
        return np.clip(external, -LARGEST, LARGEST)


def factorise(gram: FloatArray, gamma: float, weights: FloatArray | None = None) -> Factor:
    """Factorise the bordered system of a Gram matrix for one gamma; see `solve`."""
    return GammaPath(gram, weights).at(gamma)


class GammaPath:
    """The same Gram matrix for several gammas, each with its own Cholesky factorisation.

    What they share is the centred matrix. For more than about seven gammas, or where level 2
    is wanted, `tridiagonalise` is faster.
    """

    def __init__(self, gram: FloatArray, weights: FloatArray | None = None) -> None:
        self.gram = np.asarray(gram, dtype=np.float64)
        self.centring, self.matrix = centre(self.gram, weights)

    def at(self, gamma: float) -> Factor:
        """Factorise for one gamma."""
        if not gamma > 0.0:
            raise ValueError(f"gamma must be positive; got {gamma!r}.")
        exact = float(self.centring.ridge(gamma))
        ridge = max(exact, self.centring.floor)
        triangle, failed = self._cholesky(ridge)
        if failed:
            values = eigvalsh(self.matrix, lower=True, check_finite=False)
            check_semidefinite(values[0], values[-1], self.centring.floor)
            ridge = max(ridge, -values[0])
        while failed:
            # What is negative is so by rounding: a ridge of that size is lost in it as well.
            ridge *= 2.0
            triangle, failed = self._cholesky(ridge)
        return Factor(self.gram, self.centring, triangle, exact)

    def _cholesky(self, ridge: float) -> tuple[FloatArray, int]:
        shifted = self.matrix.copy(order="F")
        shifted[np.diag_indices_from(shifted)] += ridge
        triangle, failed = dpotrf(shifted, lower=1, clean=1, overwrite_a=1)
        return triangle, int(failed)


def solve(
    gram: FloatArray, targets: FloatArray, gamma: float, weights: FloatArray | None = None
) -> Fit:
    """Fit LS-SVMs for all columns at once: VANGESTEL (4) in its regression form (6).

    Minimises ``mu/2 |w|^2 + zeta/2 sum_i v_i (y_i - f(x_i))^2`` with ``gamma = zeta / mu``, so that
    ``(K + diag(1 / (gamma v))) a + b = y`` and ``sum a = 0``. The matrix does not depend on the
    labels, hence one factorisation serves all columns.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_rows)
        The symmetric Gram matrix.
    targets : ndarray of shape (n_rows, n_columns)
        The labels, -1 and +1 (any finite numbers do).
    gamma : float
        The ratio of the weight of the errors, zeta, to that of the regulariser, mu.
    weights : ndarray of shape (n_rows,), default=None
        The row weights v: row i has the noise variance ``1 / (zeta v_i)``. A whole number v_i
        has the same solution as v_i copies of the row.

    Returns
    -------
    Fit

    Raises
    ------
    ValueError
        If the centred Gram matrix is indefinite, and the ridge does not hide it.

    Notes
    -----
    The residual is a few rounding units of ``|K| |a|``, the least that coefficients in double
    precision can have; it is small beside the targets as long as gamma times the entries of K is
    well below ``1e16``. A ridge ``1 / (gamma v_i)`` below the rounding of K is lost in it: what is
    factorised has at least a ridge of 10 n rounding units of the largest entry, and refinement
    towards the exact one goes as far as it makes the residual smaller.
    """
    return factorise(gram, gamma, weights).solve(targets)


def leave_one_out(
    gram: FloatArray, targets: FloatArray, gamma: float, weights: FloatArray | None = None
) -> FloatArray:
    """Return leave-one-out scores of all columns, of shape (n_rows, n_columns), from one fit."""
    return factorise(gram, gamma, weights).leave_one_out(targets)
