"""Least squares in features: all columns and gammas from one small matrix.

With features z of the rows, weights v and ``S = sum v (z - mean)(z - mean)'`` the LS-SVM that is
linear in z has the weights ``w = (S + 1/gamma)^-1 sum v (z - mean) y`` (the fixed-size LS-SVM of
Suykens and others, 2002). It is the LS-SVM of the kernel ``z . z'``, so levels 2 and 3 of the
evidence hold with the eigenvalues of S, and zeros up to the number of rows less 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dtrtrs

from ...core.lapack import cholesky, eigenvectors
from ...core.registry import stored
from ...core.state import Array, Field, Number, Sizes, require
from ...core.types import FloatArray
from .centring import EPSILON, LARGEST_RIDGE, positive
from .evidence import Hyperparameters, closed_forms, optimise_hyperparameters


@dataclass(frozen=True)
class Moments:
    """What the rows of a binary problem leave in sums.

    Parameters
    ----------
    scatter : ndarray of shape (n_features, n_features)
        S; only the lower triangle is read.
    mean : ndarray of shape (n_features,)
        The weighted mean of the features.
    right : ndarray of shape (n_features, n_columns)
        ``sum v (z - mean) y``.
    target_mean, target_square : ndarray of shape (n_columns,)
        The weighted mean of the targets, and the weighted sum of their squares around it.
    n_rows : float
        The number of rows.
    weight : float
        The total weight of the rows.
    """

    scatter: FloatArray
    mean: FloatArray
    right: FloatArray
    target_mean: FloatArray
    target_square: FloatArray
    n_rows: float
    weight: float


@stored("fitted.lssvm_spectrum")
@dataclass(frozen=True)
class Spectrum:
    """The eigenvalues and eigenvectors of S, for any number of gammas.

    Parameters
    ----------
    values : ndarray of shape (n_features,)
        The eigenvalues, ascending; those that are rounding are 0.
    vectors : ndarray of shape (n_features, n_features)
        The eigenvectors, one in each column.
    floor : float
        The smallest ridge that is larger than the rounding of S.
    """

    values: FloatArray
    vectors: FloatArray
    floor: float

    fitted_state: ClassVar[dict[str, Field]] = {
        "values": Array("m", at_least=0.0),
        "vectors": Array("mm"),
        "floor": Number(at_least=0.0),
    }

    def solve(self, right: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return the weights ``(S + 1/gamma)^-1 right`` of every column at its own gamma."""
        # What it has outside the range of S is rounding, which a small ridge would enlarge.
        rotated = np.where(self.values[:, None] > 0.0, self.vectors.T @ right, 0.0)
        result: FloatArray = self.vectors @ (rotated / (self.values[:, None] + self._ridge(gamma)))
        return result

    def quadratic(self, centred: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return ``z' (S + 1/gamma)^-1 z`` of the rows z of `centred`, for every gamma."""
        result: FloatArray = (centred @ self.vectors) ** 2 @ (
            1.0 / (self.values[:, None] + self._ridge(gamma))
        )
        return result

    def _ridge(self, gamma: FloatArray) -> FloatArray:
        return np.maximum(_inverse(gamma), self.floor)


@stored("fitted.lssvm_triangle")
@dataclass(frozen=True)
class Triangle:
    """The Cholesky factor of S plus a ridge, for one gamma: a twentieth of the time of `Spectrum`.

    Parameters
    ----------
    factor : ndarray of shape (n_features, n_features)
        The lower triangle, with zeros above the diagonal.
    """

    factor: FloatArray

    fitted_state: ClassVar[dict[str, Field]] = {"factor": Array("mm")}

    def check_state(self, sizes: Sizes) -> None:
        """Check that it is a lower triangle."""
        require((self.factor.diagonal() > 0.0).all(), self, "has a diagonal that is not positive")
        require(not np.triu(self.factor, 1).any(), self, "has no triangle")

    def solve(self, right: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return the weights ``(S + 1/gamma)^-1 right``."""
        result: FloatArray = cho_solve((self.factor, True), right, check_finite=False)
        return result

    def quadratic(self, centred: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return ``z' (S + 1/gamma)^-1 z`` of the rows z of `centred`, once for all columns."""
        solved, _ = dtrtrs(self.factor, centred.T, lower=1)
        own: FloatArray = np.einsum("ij,ij->j", solved, solved)[:, None]
        return own


@dataclass(frozen=True)
class _Unscaled:
    """In place of `Centring`, whose powers of two features do not need."""

    n_rows: float
    gram_exponent: int = 0
    weight_exponent: int = 0

    def gamma(self, ridge: FloatArray | float) -> FloatArray:
        return positive(1.0 / np.asarray(ridge, dtype=np.float64))


@dataclass(frozen=True)
class _Diagonal:
    """A spectrum as the basis of the functions of `evidence`.

    One eigenvalue 0 is appended for the part of the targets that the features do not explain. The
    other zeros, up to the number of rows less 1, are only counted: `n_more`, or -1 if there are
    none, not even that one.
    """

    eigenvalues: FloatArray
    n_more: float
    floor: float
    centring: _Unscaled

    @property
    def n_rows(self) -> float:
        return self.centring.n_rows

    @property
    def mean_eigenvalue(self) -> float:
        return float(self.eigenvalues.sum() / (self.n_rows - 1)) or 1.0

    def ridge(self, gamma: FloatArray | float) -> FloatArray:
        return np.maximum(_inverse(np.asarray(gamma, dtype=np.float64)), self.floor)

    def solve(self, ridge: float, rotated: FloatArray) -> FloatArray:
        return rotated / (self.eigenvalues + ridge)[:, None]

    def multiply(self, rotated: FloatArray) -> FloatArray:
        return self.eigenvalues[:, None] * rotated


@dataclass(frozen=True)
class SpectralProblem:
    """All label columns in the eigenvectors of S; see `evidence.EvidenceProblem`."""

    basis: _Diagonal
    first: FloatArray
    rotated: FloatArray

    @property
    def n_columns(self) -> int:
        """The number of label columns."""
        return len(self.first)


def decompose(moments: Moments) -> tuple[Spectrum, SpectralProblem]:
    """Decompose S, and write the targets in the coordinates of its eigenvectors."""
    values, vectors = eigenvectors(np.array(moments.scatter, order="F"))
    largest = max(float(values[-1]), 0.0) if len(values) else 0.0
    floor = max(10.0 * EPSILON * largest, -2.0 * float(values.min(initial=0.0)))
    # At most one eigenvalue less than there are rows is not rounding.
    n_zero = max(0, len(values) - int(moments.n_rows) + 1)
    positive_ones = (values > floor) & (np.arange(len(values)) >= n_zero)
    values = np.where(positive_ones, values, 0.0)
    roots = np.sqrt(np.where(positive_ones, values, 1.0))
    rotated = np.where(positive_ones[:, None], (vectors.T @ moments.right) / roots[:, None], 0.0)
    left = moments.target_square - np.sum(rotated**2, axis=0)
    # As many coordinates as rows leave nothing, and less than rounding is nothing.
    whole = positive_ones.sum() >= moments.n_rows - 1
    rounding = 10.0 * len(values) * EPSILON * moments.target_square
    left = np.where(whole | (left <= rounding), 0.0, left)
    basis = _Diagonal(
        np.append(values, 0.0),
        moments.n_rows - 1 - len(values) - 1,
        floor,
        _Unscaled(moments.n_rows),
    )
    first = -np.sqrt(moments.weight) * moments.target_mean
    problem = SpectralProblem(basis, first, np.vstack([rotated, np.sqrt(left)]))
    return Spectrum(values, vectors, floor), problem


def solve_by_evidence(
    moments: Moments, shared: bool = False
) -> tuple[Spectrum, FloatArray, Hyperparameters]:
    """Return the basis, the weights and the hyperparameters of largest evidence (level 2)."""
    spectrum, problem = decompose(moments)
    chosen = optimise_hyperparameters(problem, shared)
    return spectrum, spectrum.solve(moments.right, chosen.gamma), chosen


def fixed_at(
    spectrum: Spectrum, problem: SpectralProblem, moments: Moments, gamma: float
) -> tuple[FloatArray, Hyperparameters]:
    """Return the weights and the hyperparameters at one gamma, from a decomposition."""
    ridges = np.full(problem.n_columns, float(problem.basis.ridge(gamma)))
    solved = problem.basis.solve(float(ridges[0]), problem.rotated)
    cost = 0.5 * np.maximum(np.sum(problem.rotated * solved, axis=0), np.finfo(float).tiny)
    nothing = np.zeros(problem.n_columns, dtype=bool)
    chosen = closed_forms(problem.basis.centring, ridges, cost, nothing, nothing)
    return spectrum.solve(moments.right, chosen.gamma), chosen


def solve_for(moments: Moments, gamma: float) -> tuple[Triangle, FloatArray, Hyperparameters]:
    """Return the basis, the weights and the hyperparameters at one gamma (level 1)."""
    diagonal = moments.scatter.diagonal()
    rounding = 10.0 * EPSILON * float(diagonal.max(initial=0.0))
    ridge, failed = max(float(_inverse(np.array(gamma))), rounding), True
    while failed:
        matrix = np.array(moments.scatter, order="F")
        matrix[np.diag_indices_from(matrix)] += ridge
        factor, failed = cholesky(matrix)
        # S is not positive definite only by rounding, which a ridge of its size hides.
        ridge *= 2.0 if failed else 1.0
    triangle, n_columns = Triangle(factor), moments.right.shape[1]
    weights = triangle.solve(moments.right, np.full(n_columns, gamma))
    explained = np.einsum("ij,ij->j", moments.right, weights)
    square = moments.target_square
    # E_W + gamma E_D; more than all but rounding of the squares cannot be explained
    cost = np.maximum(square - explained, EPSILON * square) / (2.0 * ridge)
    nothing = np.zeros(n_columns, dtype=bool)
    ridges = np.full(n_columns, ridge)
    return (
        triangle,
        weights,
        closed_forms(_Unscaled(moments.n_rows), ridges, cost, nothing, nothing),
    )


def _inverse(gamma: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", over="ignore"):
        ridge: FloatArray = np.minimum(1.0 / gamma, LARGEST_RIDGE)
    return ridge
