"""One Gram matrix for any number of gammas: the centred matrix is made tridiagonal once.

``G = Q T Q'`` with T tridiagonal costs about as much as seven Cholesky factorisations. After that,
every gamma costs O(n) per column, including log-determinants and variances, because
``(G + 1/gamma)^-1 = Q (T + 1/gamma)^-1 Q'``.

Note: two forms of the matrix are in use. A search for gamma by evidence tries dozens of values,
so one tridiagonal matrix beats a Cholesky factorisation for each. For a single given gamma the
Cholesky factor is seven times cheaper (`Factor`), and so it is for the three or four values of a
search that starts near the best (`UnitOutPath`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigvalsh_tridiagonal
from scipy.linalg.lapack import dormqr, dpttrf, dpttrs

from ...core.lapack import tridiagonal_eigenvectors, tridiagonal_form
from ...core.registry import stored
from ...core.state import Array, Field, Holds, Number, Sizes, require
from ...core.types import FloatArray, IntArray
from .centring import LARGEST, Centring, centre, check_semidefinite, check_targets, scaled
from .eigenbasis import Eigenbasis
from .solve import Fit

# Eigenvectors pay off for the variances of more new rows than this for each training row.
ROWS_FOR_EIGENVECTORS = 2
# What is computed when it is needed, and not stored.
_CACHED = ("inverse_basis", "eigenbasis")


@stored("fitted.lssvm_tridiagonal")
@dataclass(frozen=True)
class Tridiagonal:
    """A centred Gram matrix in the basis in which it is tridiagonal.

    Parameters
    ----------
    centring : Centring
        The coordinates without a bias.
    diagonal, off_diagonal : ndarray of shape (n_rows - 1,), (n_rows - 2,)
        T, in internal units.
    eigenvalues : ndarray of shape (n_rows - 1,)
        The eigenvalues of T, ascending; those made negative by rounding are 0.
    floor : float
        The smallest ridge that is larger than the rounding of the Gram matrix.
    reflectors, factors : ndarray of shape (n_rows - 2, n_rows - 2), (n_rows - 2,)
        The Householder vectors of Q, as LAPACK stores them.
    """

    centring: Centring
    diagonal: FloatArray
    off_diagonal: FloatArray
    eigenvalues: FloatArray
    floor: float
    reflectors: FloatArray
    factors: FloatArray

    fitted_state: ClassVar[dict[str, Field]] = {
        "centring": Holds(Centring, share="n"),
        "diagonal": Array("k"),
        "off_diagonal": Array("o"),
        "eigenvalues": Array("k"),
        "floor": Number(at_least=0.0),
        "reflectors": Array("oo"),
        "factors": Array("o"),
    }

    def check_state(self, sizes: Sizes) -> None:
        """Check the order of the matrix."""
        n_rows = sizes["n"]
        right = n_rows >= 2 and sizes["k"] == n_rows - 1 and sizes["o"] == n_rows - 2
        require(right, self, "has a matrix of other rows")

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.centring.n_rows

    @property
    def n_more(self) -> int:
        """How many eigenvalues are not listed: none."""
        return 0

    @property
    def n_effective(self) -> int:
        """The number of eigenvalues that are positive by more than rounding (N_eff)."""
        return int((self.eigenvalues > self.floor).sum())

    @property
    def mean_eigenvalue(self) -> float:
        """The mean eigenvalue, internal; 1 if the centred Gram matrix is 0."""
        return float(self.eigenvalues.mean()) or 1.0

    def ridge(self, gamma: FloatArray | float) -> FloatArray:
        """Return ``1 / gamma``, internal, and at least the floor."""
        return np.maximum(self.centring.ridge(gamma), self.floor)

    def rotate(self, reduced: FloatArray, back: bool = False) -> FloatArray:
        """Return ``Q' reduced``, or ``Q reduced`` if `back` is true."""
        rotated = np.array(reduced, order="F")
        if len(rotated) > 2:
            lwork = 64 * (rotated.shape[1] + 65)
            trans = "N" if back else "T"
            # LAPACK temporarily overwrites the reflectors. A copy is needed if their memory is
            # read-only, or if another thread reads it.
            reflectors = self.reflectors.copy(order="F")
            rotated[1:] = dormqr("L", trans, reflectors, self.factors, rotated[1:], lwork)[0]
        return rotated

    def solve(self, ridge: float, rotated: FloatArray) -> FloatArray:
        """Return ``(T + ridge)^-1 rotated`` by an LDL' factorisation, in O(n) per column."""
        pivots, multipliers, failed = dpttrf(self.diagonal + ridge, self._padded)
        if failed:
            raise ValueError(f"A ridge of {ridge:.3g} is lost in the rounding of the Gram matrix.")
        solution: FloatArray = dpttrs(pivots, multipliers, rotated)[0]
        return solution

    def multiply(self, rotated: FloatArray) -> FloatArray:
        """Return ``T rotated``."""
        product = self.diagonal[:, None] * rotated
        product[1:] += self.off_diagonal[:, None] * rotated[:-1]
        product[:-1] += self.off_diagonal[:, None] * rotated[1:]
        return product

    def explained(self, centred: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return ``k' (G + 1/gamma)^-1 k`` of the columns k of `centred`; see `Basis`."""
        rotated = self.rotate(centred)
        explained = np.empty((centred.shape[1], len(gamma)))
        for ridge, columns in groups(self.ridge(gamma)):
            own = np.einsum("ij,ij->j", rotated, self.solve(ridge, rotated))
            explained[:, columns] = own[:, None]
        return explained

    def leave_one_out(self, targets: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return the leave-one-out score of every row; see `Basis`."""
        return leave_one_out(with_targets(self, targets), gamma)

    def for_rows(self, n_rows: int) -> Tridiagonal | Eigenbasis:
        """Return the form that is fastest for the variances of this many new rows."""
        return self.eigenbasis if n_rows > ROWS_FOR_EIGENVECTORS * self.n_rows else self

    @cached_property
    def eigenbasis(self) -> Eigenbasis:
        """The eigenvectors, for the variances of many rows."""
        values, vectors = tridiagonal_eigenvectors(self.diagonal, self.off_diagonal)
        vectors = self.rotate(vectors, back=True)
        return Eigenbasis(self.centring, np.maximum(values, 0.0), vectors.T, self.floor)

    @cached_property
    def inverse_basis(self) -> FloatArray:
        """The matrix ``Q'``, written out for leave-one-out."""
        return self.rotate(np.eye(self.n_rows - 1))

    def __getstate__(self) -> dict[str, object]:
        # Without cached matrices, and with zeros, which compress well, in the upper triangle,
        # which LAPACK does not read.
        state = {key: value for key, value in vars(self).items() if key not in _CACHED}
        return state | {"reflectors": np.tril(self.reflectors)}

    @property
    def _padded(self) -> FloatArray:
        # SciPy expects one number here even for matrices of order 1, which have none.
        return self.off_diagonal if len(self.off_diagonal) else np.zeros(1)


@dataclass(frozen=True)
class Problem:
    """All label columns of a tridiagonalised Gram matrix.

    Parameters
    ----------
    basis : Tridiagonal
        The Gram matrix.
    targets : ndarray of shape (n_rows, n_columns)
        The labels, -1 and +1 (or any finite numbers).
    first : ndarray of shape (n_columns,)
        The coordinate of the targets that belongs to the bias.
    rotated : ndarray of shape (n_rows - 1, n_columns)
        The other coordinates, in the basis of T.
    """

    basis: Tridiagonal
    targets: FloatArray
    first: FloatArray
    rotated: FloatArray

    @property
    def n_columns(self) -> int:
        """The number of label columns."""
        return len(self.first)


def tridiagonalise(gram: FloatArray, weights: FloatArray | None = None) -> Tridiagonal:
    """Centre a Gram matrix and make it tridiagonal.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_rows)
        The symmetric Gram matrix. Only K centred matters.
    weights : ndarray of shape (n_rows,), default=None
        The row weights v: row i has the noise variance ``1 / (zeta v_i)``.

    Returns
    -------
    Tridiagonal

    Raises
    ------
    ValueError
        If the centred Gram matrix has an eigenvalue that is negative by more than rounding.
    """
    centring, matrix = centre(np.asarray(gram, dtype=np.float64), weights)
    n = len(matrix)
    packed, diagonal, off_diagonal, factors = tridiagonal_form(matrix)
    eigenvalues = eigvalsh_tridiagonal(
        diagonal, off_diagonal, lapack_driver="sterf", check_finite=False
    )
    check_semidefinite(eigenvalues[0], eigenvalues[-1], centring.floor)
    floor = max(centring.floor, -2.0 * float(eigenvalues[0]))
    if eigenvalues[-1] <= floor:
        # Only the rounding errors of a constant matrix remain.
        diagonal, off_diagonal = np.zeros(n), np.zeros(n - 1)
        eigenvalues = np.zeros(n)
    reflectors = np.asfortranarray(packed[1:, :-1])
    eigenvalues = np.maximum(eigenvalues, 0.0)
    return Tridiagonal(centring, diagonal, off_diagonal, eigenvalues, floor, reflectors, factors)


def with_targets(basis: Tridiagonal, targets: FloatArray) -> Problem:
    """Write targets, of shape (n_rows, n_columns), in the basis of a tridiagonal matrix."""
    targets = check_targets(targets, basis.n_rows)
    reflected = basis.centring.reflect(targets)
    return Problem(basis, targets, reflected[0], basis.rotate(reflected[1:]))


def fit(problem: Problem, gamma: ArrayLike) -> Fit:
    """Return the LS-SVM of every column at its own gamma (one number, or one for each column)."""
    basis, centring = problem.basis, problem.basis.centring
    rotated = np.empty_like(problem.rotated)
    for ridge, columns in _ridges(problem, gamma):
        rotated[:, columns] = basis.solve(ridge, problem.rotated[:, columns])
    reduced = basis.rotate(rotated, back=True)
    coefficients = scaled(centring.expand(reduced), -centring.gram_exponent)
    return Fit(np.clip(coefficients, -LARGEST, LARGEST), centring.bias(problem.first, reduced))


def leave_one_out(problem: Problem, gamma: ArrayLike) -> FloatArray:
    """Return the leave-one-out score of every row, for all columns.

    It is the formula of `Factor.leave_one_out`. After the first call, a gamma costs O(n^2) for all
    its columns.
    """
    basis, centring = problem.basis, problem.basis.centring
    inverse_basis = basis.inverse_basis
    mirror = basis.rotate(centring.mirror[1:, None])
    scores = np.empty_like(problem.targets)
    for ridge, columns in _ridges(problem, gamma):
        solved = basis.solve(ridge, problem.rotated[:, columns])
        coefficients = centring.expand(basis.rotate(solved, back=True))
        applied = basis.rotate(basis.solve(ridge, mirror), back=True)[:, 0]
        diagonal = np.einsum("ij,ij->j", inverse_basis, basis.solve(ridge, inverse_basis))
        p = centring.inverse_diagonal(diagonal, applied)
        scores[:, columns] = problem.targets[:, columns] - coefficients / p[:, None]
    return scores


def _ridges(problem: Problem, gamma: ArrayLike) -> Iterator[tuple[float, IntArray]]:
    gammas = np.broadcast_to(np.asarray(gamma, dtype=np.float64), problem.n_columns)
    if not (gammas > 0.0).all():
        raise ValueError(f"gamma must be positive; got {gamma!r}.")
    return groups(problem.basis.ridge(gammas))


def groups(ridges: FloatArray) -> Iterator[tuple[float, IntArray]]:
    """Yield every distinct ridge with its columns."""
    for ridge in np.unique(ridges):
        yield float(ridge), np.flatnonzero(ridges == ridge)
