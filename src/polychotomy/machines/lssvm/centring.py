"""Eliminating the bias of a least-squares problem: a Gram matrix weighted, scaled and centred.

An LS-SVM with row weights ``v`` minimises ``mu/2 |w|^2 + zeta/2 sum_i v_i (y_i - f(x_i))^2`` with
``f = w . phi + b``: row i has the noise variance ``1 / (zeta v_i)``. After multiplication by ``s_i
= sqrt(v_i)`` all rows have the same noise, the Gram matrix is ``S K S`` with ``S = diag(s)``, and
the bias multiplies the vector s. The Householder reflection H that maps s to ``-|s| e_1`` moves
the bias into the first coordinate only. The lower right block ``G`` of ``H S K S H``, of order n -
1, is the centred Gram matrix (``P K P`` without its eigenvalue 0, where P subtracts the mean), and
``y'``, the other coordinates of ``H S y``, are the centred targets. With ``gamma = zeta / mu``,
the remaining system is ``(G + 1/gamma) a' = y'``.

Note: the bordered system, with the bias as one more unknown, is indefinite and needs a slower
factorisation. Without the bias the matrix is positive definite, a Cholesky factorisation is enough,
and its determinant and eigenvalues are those that the evidence needs.

K and v are divided by powers of two, which loses no digits, so that very small and very large
values neither underflow nor overflow. Below, ``internal`` means in these units.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp
from typing import ClassVar

import numpy as np
from scipy.linalg.blas import dsyr2

from ...core.registry import stored
from ...core.state import Array, Field, Number, Sizes, Whole, require
from ...core.types import FloatArray

EPSILON = float(np.finfo(np.float64).eps)
SMALLEST, LARGEST = float(np.finfo(np.float64).tiny), float(np.finfo(np.float64).max)
# Eigenvalues above minus this share of the largest are negative only because K is rounded.
ROUNDING = EPSILON**0.5
LARGEST_RIDGE = 1e290
_LARGEST_EXPONENT = 1000


@stored("fitted.lssvm_centring")
@dataclass(frozen=True)
class Centring:
    """The coordinates in which a weighted problem has no bias.

    Parameters
    ----------
    root_weights : ndarray of shape (n_rows,)
        The square roots s of the row weights, internal.
    mirror : ndarray of shape (n_rows,)
        The vector u of the reflection ``H = I - u u'``.
    border, corner : ndarray of shape (n_rows - 1,), float
        The rest of the first column of ``H S K S H``, and its first entry, internal.
    gram_exponent, weight_exponent : int
        The powers of two by which K and v were divided.
    """

    root_weights: FloatArray
    mirror: FloatArray
    border: FloatArray
    corner: float
    gram_exponent: int
    weight_exponent: int

    fitted_state: ClassVar[dict[str, Field]] = {
        "root_weights": Array("n", above=0.0),
        "mirror": Array("n"),
        "border": Array("k"),
        "corner": Number(),
        "gram_exponent": Whole(-5000, 5000),
        "weight_exponent": Whole(-5000, 5000),
    }

    def check_state(self, sizes: Sizes) -> None:
        """Check the length of the border."""
        require(sizes["k"] == sizes["n"] - 1, self, "has a border of other rows")

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.mirror)

    @property
    def norm(self) -> float:
        """The length of s, the root of the sum of the internal weights."""
        return float(np.linalg.norm(self.root_weights))

    @property
    def floor(self) -> float:
        """The estimated rounding error of an eigenvalue, from K and its centring."""
        return 10.0 * self.n_rows * EPSILON

    def reflect(self, values: FloatArray) -> FloatArray:
        """Return ``H S values``: the coordinate of the bias first, then the others."""
        weighted = self.root_weights[:, None] * values
        result: FloatArray = weighted - np.outer(self.mirror, self.mirror @ weighted)
        return result

    def expand(self, reduced: FloatArray) -> FloatArray:
        """Return ``S H [0; reduced]``, whose columns sum to 0."""
        full = np.zeros((self.n_rows, reduced.shape[1]))
        full[1:] = reduced
        full -= np.outer(self.mirror, self.mirror[1:] @ reduced)
        full *= self.root_weights[:, None]
        return full

    def bias(self, first: FloatArray, reduced: FloatArray) -> FloatArray:
        """Return b from the first coordinate of the targets and the reduced coefficients."""
        biases: FloatArray = (self.border @ reduced - first) / self.norm
        return biases

    def inverse_diagonal(self, diagonal: FloatArray, applied: FloatArray) -> FloatArray:
        """Return the diagonal of ``S H [0, 0; 0, B] H S``.

        Parameters
        ----------
        diagonal : ndarray of shape (n_rows - 1,)
            The diagonal of B.
        applied : ndarray of shape (n_rows - 1,)
            ``B u``, with the mirror u without its first entry.
        """
        u = self.mirror
        whole, product = np.zeros(len(u)), np.zeros(len(u))
        whole[1:], product[1:] = diagonal, applied
        whole += u * (u * (u[1:] @ applied) - 2.0 * product)
        result: FloatArray = whole * self.root_weights**2
        return result

    def ridge(self, gamma: FloatArray | float) -> FloatArray:
        """Return ``1 / gamma``, internal and finite."""
        internal = scaled(gamma, self.gram_exponent + self.weight_exponent)
        with np.errstate(divide="ignore", over="ignore"):
            ridge: FloatArray = np.minimum(1.0 / internal, LARGEST_RIDGE)
        return ridge

    def gamma(self, ridge: FloatArray | float) -> FloatArray:
        """Return the positive gamma of an internal ridge; the inverse of `ridge`."""
        return positive(scaled(1.0 / ridge, -self.gram_exponent - self.weight_exponent))


def centre(gram: FloatArray, weights: FloatArray | None = None) -> tuple[Centring, FloatArray]:
    """Eliminate the bias from the problem.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_rows)
        The symmetric Gram matrix K. Only K centred matters, so conditionally positive definite
        kernels are allowed.
    weights : ndarray of shape (n_rows,), default=None
        The positive row weights v; 1 by default.

    Returns
    -------
    centring : Centring
    matrix : ndarray of shape (n_rows - 1, n_rows - 1)
        The internal centred Gram matrix G in Fortran order; only its lower triangle is valid.
    """
    largest = _largest_entry(gram)
    root, weight_exponent = _root_weights(weights, len(gram))
    exponent = _exponent(largest)
    # K is symmetric: its first row, and the rest without the first column in Fortran order.
    first = gram[0] * 2.0**-exponent
    matrix = np.multiply(gram[1:, 1:].T, 2.0**-exponent, order="F")
    if weights is not None:
        first *= root[0] * root
        matrix *= root[1:]
        matrix *= root[1:, None]
        again = _exponent(max(first.max(), -first.min(), matrix.max(), -matrix.min()))
        first *= 2.0**-again
        matrix *= 2.0**-again
        exponent += again
    # H = I - u u' with |u|^2 = 2; H M H = M - u q' - q u' with q = M u - (u'M u / 2) u
    mirror = root / np.linalg.norm(root)
    mirror[0] += 1.0
    mirror *= np.sqrt(2.0) / np.linalg.norm(mirror)
    q = np.append(first @ mirror, matrix.T @ mirror[1:] + first[1:] * mirror[0])
    q -= 0.5 * (q @ mirror) * mirror
    border = first[1:] - mirror[1:] * q[0] - mirror[0] * q[1:]
    corner = float(first[0] - 2.0 * mirror[0] * q[0])
    matrix = dsyr2(-1.0, mirror[1:], q[1:], a=matrix, lower=1, overwrite_a=1)
    return Centring(root, mirror, border, corner, exponent, weight_exponent), matrix


def check_semidefinite(smallest: float, largest: float, floor: float) -> None:
    """Raise ValueError if a centred Gram matrix has eigenvalues negative by more than rounding.

    `floor` is the estimated rounding error of an eigenvalue.
    """
    if smallest >= -max(ROUNDING * largest, floor):
        return
    compared = f"{smallest / largest:.3g} times the largest" if largest > floor else "negative"
    raise ValueError(
        "The Gram matrix is not positive semidefinite: the smallest eigenvalue of the centred "
        f"matrix is {compared}. Choose another kernel or another parameter of it."
    )


def check_targets(targets: FloatArray, n_rows: int) -> FloatArray:
    """Return the targets as a finite matrix with a row for every row of the Gram matrix."""
    values = np.asarray(targets, dtype=np.float64)
    if values.ndim != 2 or len(values) != n_rows or not np.isfinite(values).all():
        raise ValueError(
            f"Targets are a matrix of finite numbers with {n_rows} rows, as the Gram matrix has; "
            f"got an array of shape {values.shape}."
        )
    return values


def scaled(values: FloatArray | float, exponent: int) -> FloatArray:
    """Return ``values * 2**exponent``, infinite or 0 outside the range of numbers."""
    with np.errstate(over="ignore", under="ignore"):
        result: FloatArray = np.ldexp(values, exponent)
    return result


def positive(values: FloatArray) -> FloatArray:
    """Keep positive values within the range of normal numbers."""
    return np.clip(values, SMALLEST, LARGEST)


def _largest_entry(gram: FloatArray) -> float:
    """Return the largest magnitude in a Gram matrix after checking it."""
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or len(gram) < 2:
        raise ValueError(
            f"A Gram matrix is square and has at least two rows; got shape {gram.shape}."
        )
    largest, smallest = float(gram.max()), float(gram.min())
    if not (np.isfinite(largest) and np.isfinite(smallest)):
        raise ValueError("The Gram matrix has entries that are not finite.")
    return max(largest, -smallest)


def _root_weights(weights: FloatArray | None, n_rows: int) -> tuple[FloatArray, int]:
    if weights is None:
        return np.ones(n_rows), 0
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n_rows,) or not ((weights > 0.0) & np.isfinite(weights)).all():
        raise ValueError(f"Row weights are {n_rows} positive finite numbers, one for each row.")
    exponent = _exponent(weights.max())
    return np.sqrt(positive(scaled(weights, -exponent))), exponent


def _exponent(magnitude: float) -> int:
    """Return the power of two that scales a number into [1/2, 1), or as near as possible."""
    return min(max(frexp(magnitude)[1], -_LARGEST_EXPONENT), _LARGEST_EXPONENT)
