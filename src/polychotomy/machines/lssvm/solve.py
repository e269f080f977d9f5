"""LS-SVM for a given gamma: one Cholesky factorisation for all label columns (level 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, eigvalsh
from scipy.linalg.lapack import dtrtri, dtrtrs, strtri

from ...core.lapack import cholesky
from ...core.registry import stored
from ...core.state import Array, Field, Holds, Number, Sizes, require
from ...core.types import FloatArray
from .centring import (
    EPSILON,
    LARGEST,
    ROUNDING,
    Centring,
    centre,
    check_semidefinite,
    check_targets,
    scaled,
)

# Refinement stops at residuals below this share of the targets or below the rounding of |K| |a|,
# or when they no longer halve.
SMALL_RESIDUAL = 1e-12
MAX_REFINEMENTS = 4
# With more rows and a ridge of at least this share of their number, which bounds the eigenvalues,
# single precision takes half the time. Scores then have relative errors of about 1e-3, and those
# of which only the diagonal of the inverse is single, about 1e-5. Larger ridges leave its range,
# and a row with so many times the median weight takes digits from the others.
MOST_ROWS_IN_DOUBLE, SAFE_RIDGE, LARGEST_IN_SINGLE, LARGEST_WEIGHT = 900, 1e-5, 1e6, 1e3


@stored("fitted.lssvm_solution")
@dataclass(frozen=True)
class Fit:
    """The score ``f(x) = sum_i a_i k(x, x_i) + b`` of every column.

    Parameters
    ----------
    coefficients : ndarray of shape (n_rows, n_columns)
        The coefficients a; ``alpha_i y_i`` in the paper's (4)-(5).
    biases : ndarray of shape (n_columns,)
        The biases b.
    """

    coefficients: FloatArray
    biases: FloatArray

    fitted_state: ClassVar[dict[str, Field]] = {"coefficients": Array("nc"), "biases": Array("c")}

    def scores(self, cross_gram: FloatArray) -> FloatArray:
        """Return the scores of new rows; `cross_gram` has shape (n_new, n_rows)."""
        result: FloatArray = cross_gram @ self.coefficients + self.biases
        return result


@stored("fitted.lssvm_factor")
@dataclass(frozen=True)
class Factor:
    """The Cholesky factor of a centred Gram matrix plus a ridge, for any number of columns.

    Parameters
    ----------
    centring : Centring
        The coordinates without a bias.
    triangle : ndarray of shape (n_rows - 1, n_rows - 1)
        The lower Cholesky factor of the matrix plus the ridge, with zeros above the diagonal.
    ridge : float
        The internal ``1 / gamma``, or the larger ridge that rounding required.
    """

    centring: Centring
    triangle: FloatArray
    ridge: float

    fitted_state: ClassVar[dict[str, Field]] = {
        "centring": Holds(Centring, share="n"),
        "triangle": Array("kk"),
        "ridge": Number(above=0.0),
    }

    def check_state(self, sizes: Sizes) -> None:
        """Check that the triangle is lower triangular and has the right order."""
        require(
            sizes["n"] >= 2 and sizes["k"] == sizes["n"] - 1, self, "has a triangle of other rows"
        )
        require((self.triangle.diagonal() > 0.0).all(), self, "has a diagonal that is not positive")
        require(not np.triu(self.triangle, 1).any(), self, "has no triangle")

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.centring.n_rows

    @property
    def gamma(self) -> float:
        """The gamma of the ridge that was factorised."""
        return float(self.centring.gamma(self.ridge))

    def solve(self, gram: FloatArray, targets: FloatArray, gamma: float) -> Fit:
        """Solve the system for all columns, with iterative refinement as long as it helps.

        Parameters
        ----------
        gram : ndarray of shape (n_rows, n_rows)
            The Gram matrix that was factorised, from which residuals are computed.
        targets : ndarray of shape (n_rows, n_columns)
            The labels, -1 and +1 (or any finite numbers).
        gamma : float
            The target of the refinement: the gamma of this object, or the requested one if that was
            too large to be factorised.
        """
        targets = check_targets(targets, self.n_rows)
        small = SMALL_RESIDUAL * np.abs(targets).max(axis=0)
        coefficients, biases = self._solve_once(targets)
        residual = self._residual(gram, targets, gamma, coefficients, biases)
        # If the noise of a row overflows, the column is not refined.
        residual[:, ~np.isfinite(residual).all(axis=0)] = 0.0
        size = np.abs(residual).max(axis=0)
        for _ in range(MAX_REFINEMENTS):
            # The entries of K are at most 1 in internal units.
            enough = np.maximum(small, EPSILON * np.abs(coefficients).sum(axis=0))
            if not (size > enough).any():
                break
            change, change_of_bias = self._solve_once(residual)
            new, new_biases = coefficients + change, biases + change_of_bias
            new_residual = self._residual(gram, targets, gamma, new, new_biases)
            new_size = np.abs(new_residual).max(axis=0)
            better, halved = new_size < size, new_size < 0.5 * size
            coefficients = np.where(better, new, coefficients)
            biases = np.where(better, new_biases, biases)
            residual = np.where(better, new_residual, residual)
            size = np.where(better, new_size, size)
            if not halved.any():
                break
        return Fit(self._external(coefficients), biases)

    def cost(self, targets: FloatArray) -> FloatArray:
        """Return ``E_W + gamma E_D`` of every column, internal: ``1/2 y' (G + 1/gamma)^-1 y'``."""
        reflected = self.centring.reflect(check_targets(targets, self.n_rows))
        return 0.5 * self._quadratic(reflected[1:])

    def explained(self, centred: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return ``k' (G + 1/gamma)^-1 k`` of the columns k of `centred`; see `Basis`."""
        explained = self._quadratic(centred)
        return np.broadcast_to(explained[:, None], (len(explained), len(gamma)))

    def for_rows(self, n_rows: int) -> Factor:
        """Return itself: half of a matrix product for each row is the least there is."""
        return self

    def leave_one_out(self, targets: FloatArray, gamma: FloatArray | float) -> FloatArray:
        """Return the leave-one-out score of every row; see `Basis`.

        Let ``P`` be the block of the inverse of the bordered matrix that belongs to the rows. The
        coefficients are ``P y``, and the score without row i is ``y_i - (P y)_i / P_ii``. This is
        exact, so LS-SVMs need no folds to calibrate.
        """
        targets = check_targets(targets, self.n_rows)
        # not refined, so that numerator and denominator have the same ridge
        coefficients, _ = self._solve_once(targets)
        single = is_safe_in_single(self.centring, self.ridge)
        diagonal = squared_inverse(self.triangle.astype(np.float32) if single else self.triangle)
        applied = cho_solve((self.triangle, True), self.centring.mirror[1:], check_finite=False)
        p = self.centring.inverse_diagonal(diagonal, applied)
        scores: FloatArray = targets - coefficients / p[:, None]
        return scores

    def _quadratic(self, vectors: FloatArray) -> FloatArray:
        """Return ``k' (L L')^-1 k = |L^-1 k|^2`` of the columns k of some vectors."""
        solved, _ = dtrtrs(self.triangle, vectors, lower=1)
        result: FloatArray = np.einsum("ij,ij->j", solved, solved)
        return result

    def _solve_once(self, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        reflected = self.centring.reflect(targets)
        reduced = cho_solve((self.triangle, True), reflected[1:], check_finite=False)
        return self.centring.expand(reduced), self.centring.bias(reflected[0], reduced)

    def _residual(
        self,
        gram: FloatArray,
        targets: FloatArray,
        gamma: float,
        coefficients: FloatArray,
        biases: FloatArray,
    ) -> FloatArray:
        """Return ``y - (K + diag(1 / (gamma v))) a - b`` for internal coefficients."""
        with np.errstate(over="ignore", invalid="ignore"):
            noise = self.centring.ridge(gamma) / self.centring.root_weights**2
            residual: FloatArray = targets - gram @ self._external(coefficients) - biases
            residual -= noise[:, None] * coefficients
        return residual

    def _external(self, coefficients: FloatArray) -> FloatArray:
        external = scaled(coefficients, -self.centring.gram_exponent)
        return np.clip(external, -LARGEST, LARGEST)


def factorise(
    gram: FloatArray,
    gamma: float,
    weights: FloatArray | None = None,
    semidefinite: bool = False,
) -> Factor:
    """Factorise the system of LS-SVMs: VANGESTEL (4) in its regression form (6).

    They minimise ``mu/2 |w|^2 + zeta/2 sum_i v_i (y_i - f(x_i))^2`` with ``gamma = zeta / mu``, so
    ``(K + diag(1 / (gamma v))) a + b = y`` and ``sum a = 0``.

    Note: in the classification form (4) the labels are in the matrix, which would need one
    factorisation per column. In the regression form the matrix does not depend on the labels, so
    one factorisation serves all columns.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_rows)
        The symmetric Gram matrix.
    gamma : float
        The ratio of the weight of the errors, zeta, to that of the regulariser, mu.
    weights : ndarray of shape (n_rows,), default=None
        The row weights v: row i has the noise variance ``1 / (zeta v_i)``. A whole number v_i
        has the same solution as v_i copies of the row.
    semidefinite : bool, default=False
        Whether the kernel is known to be positive semidefinite. If not, a second factorisation
        checks it, in case the ridge hides negative eigenvalues.

    Returns
    -------
    Factor

    Raises
    ------
    ValueError
        If the centred Gram matrix has an eigenvalue that is negative by more than rounding. With
        `semidefinite`, only if the ridge does not hide it.

    Notes
    -----
    The residual of `Factor.solve` is a few rounding units of ``|K| |a|``, the smallest possible for
    coefficients in double precision. It is small compared to the targets as long as gamma times the
    entries of K is well below ``1e16``. A ridge ``1 / (gamma v_i)`` below the rounding of K has no
    effect, so the factorised matrix has at least a ridge of 10 n rounding units of the largest
    entry. Refinement towards the exact ridge continues while the residual falls.
    """
    if not gamma > 0.0:
        raise ValueError(f"gamma must be positive; got {gamma!r}.")
    gram = np.asarray(gram, dtype=np.float64)
    centring, matrix = centred(gram, weights)
    ridge = max(float(centring.ridge(gamma)), centring.floor)
    if not semidefinite:
        # If the factorisation with a ridge succeeds, no eigenvalue is below minus that ridge; the
        # largest eigenvalue is at least the largest diagonal entry.
        harmless = max(ROUNDING * float(matrix.diagonal().max()), centring.floor)
        if ridge > harmless:
            if _cholesky(matrix, harmless)[1]:
                _smallest_eigenvalue(gram, weights)
            matrix = centred(gram, weights)[1]
    triangle, failed = _cholesky(matrix, ridge)
    if failed:
        ridge = max(ridge, -_smallest_eigenvalue(gram, weights))
    while failed:
        # Eigenvalues are negative only by rounding, so a ridge of that size has no effect either.
        ridge *= 2.0
        triangle, failed = _cholesky(centred(gram, weights)[1], ridge)
    return Factor(centring, triangle, ridge)


def is_safe_in_single(centring: Centring, ridge: float) -> bool:
    """Whether single precision is both much faster and precise enough for a matrix and ridge."""
    n_rows, weights = centring.n_rows, centring.root_weights**2
    return (
        n_rows > MOST_ROWS_IN_DOUBLE
        and SAFE_RIDGE * n_rows <= ridge <= LARGEST_IN_SINGLE
        and bool(weights.max() <= LARGEST_WEIGHT * np.median(weights))
    )


def squared_inverse(triangle: NDArray[Any]) -> FloatArray:
    """Return the diagonal of ``(L L')^-1``, the squared lengths of the columns of ``L^-1``."""
    invert = dtrtri if triangle.dtype == np.float64 else strtri
    # The rows of the transpose are contiguous.
    inverse = invert(np.asfortranarray(triangle), lower=1)[0].T
    squares: FloatArray = np.einsum("ij,ij->i", inverse, inverse).astype(np.float64)
    return squares


def centred(gram: FloatArray, weights: FloatArray | None) -> tuple[Centring, FloatArray]:
    """Centre a Gram matrix; if it is constant, remove the rounding errors that remain."""
    centring, matrix = centre(gram, weights)
    small = np.abs(matrix.diagonal()).max() <= centring.floor
    # The eigenvalues are at most as large as the norm of the whole matrix.
    if small and np.sqrt(2.0) * np.linalg.norm(np.tril(matrix)) <= centring.floor:
        matrix.fill(0.0)
    return centring, matrix


def _cholesky(matrix: FloatArray, ridge: float) -> tuple[FloatArray, bool]:
    """Factorise a matrix plus a ridge, in the memory of the matrix."""
    matrix[np.diag_indices_from(matrix)] += ridge
    return cholesky(matrix)


def _smallest_eigenvalue(gram: FloatArray, weights: FloatArray | None) -> float:
    """Return the smallest eigenvalue of the centred matrix; raise ValueError if it is negative."""
    centring, matrix = centre(gram, weights)
    values = eigvalsh(matrix, lower=True, overwrite_a=True, check_finite=False)
    check_semidefinite(values[0], values[-1], centring.floor)
    return float(values[0])
