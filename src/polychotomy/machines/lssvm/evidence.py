"""The evidence framework of the LS-SVM: hyperparameters (level 2) and model evidence (level 3).

VANGESTEL gives only references for both levels; the formulas are written out below. ``l_i`` are the
n - 1 eigenvalues of the centred Gram matrix, and ``gamma = zeta / mu``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from ...core.registry import stored
from ...core.state import Array, Field, Flags
from ...core.types import FloatArray
from .centring import EPSILON, positive, scaled
from .solve import Factor
from .tridiagonal import Problem, groups

# gamma times the mean eigenvalue is between this and its inverse.
SMALLEST_GAMMA = 1e-8
# All terms of J vary with log(gamma l) on about this scale or more slowly.
GRID_STEP = 0.5
# The accuracy of log(gamma) at an optimum.
TOLERANCE = 1e-10
# J is flat if it varies by less than this for each of its n - 1 terms.
FLAT = 1e-9


class Scaling(Protocol):
    """The number of rows, and the powers of two by which K and the weights were divided."""

    @property
    def n_rows(self) -> float:
        """The number of rows."""
        ...

    @property
    def gram_exponent(self) -> int:
        """The power of two by which K was divided."""
        ...

    @property
    def weight_exponent(self) -> int:
        """The power of two by which the weights were divided."""
        ...

    def gamma(self, ridge: FloatArray | float) -> FloatArray:
        """Return the gamma of an internal ridge."""
        ...


class EvidenceBasis(Protocol):
    """A centred Gram matrix in a basis in which systems with it are solved in O(n)."""

    @property
    def centring(self) -> Scaling:
        """The number of rows and the units."""
        ...

    @property
    def eigenvalues(self) -> FloatArray:
        """Its eigenvalues, internal."""
        ...

    @property
    def n_more(self) -> float:
        """How many eigenvalues 0, without a part of the targets, there are besides these."""
        ...

    @property
    def floor(self) -> float:
        """The smallest ridge that is larger than its rounding."""
        ...

    @property
    def n_rows(self) -> float:
        """The number of rows."""
        ...

    @property
    def mean_eigenvalue(self) -> float:
        """The mean of all its eigenvalues; 1 if they are 0."""
        ...

    def ridge(self, gamma: FloatArray | float) -> FloatArray:
        """Return ``1 / gamma``, internal, and at least the floor."""
        ...

    def solve(self, ridge: float, rotated: FloatArray) -> FloatArray:
        """Return the solution of the system with a ridge."""
        ...

    def multiply(self, rotated: FloatArray) -> FloatArray:
        """Return the product with the matrix."""
        ...


class EvidenceProblem(Protocol):
    """All label columns in such a basis."""

    @property
    def basis(self) -> EvidenceBasis:
        """The Gram matrix."""
        ...

    @property
    def first(self) -> FloatArray:
        """The coordinate of the targets that belongs to the bias."""
        ...

    @property
    def rotated(self) -> FloatArray:
        """The other coordinates."""
        ...

    @property
    def n_columns(self) -> int:
        """The number of label columns."""
        ...


@stored("fitted.lssvm_hyperparameters")
@dataclass(frozen=True)
class Hyperparameters:
    """The hyperparameters of every column, each of shape (n_columns,).

    Parameters
    ----------
    gamma, mu, zeta : ndarray
        The strength mu of the regulariser, the precision zeta of the noise of a row of weight 1,
        and ``gamma = zeta / mu``; all within the range of normal numbers.
    at_bound : ndarray of bool
        Whether gamma is the smallest or largest allowed value.
    flat : ndarray of bool
        Whether the evidence does not depend on gamma. If so, gamma is the inverse of the mean
        eigenvalue (or of the scale of K if that is 0).
    """

    gamma: FloatArray
    mu: FloatArray
    zeta: FloatArray
    at_bound: NDArray[np.bool_]
    flat: NDArray[np.bool_]

    fitted_state: ClassVar[dict[str, Field]] = {
        "gamma": Array("c", above=0.0),
        "mu": Array("c", above=0.0),
        "zeta": Array("c", above=0.0),
        "at_bound": Flags("c"),
        "flat": Flags("c"),
    }

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Whether the labels determine gamma."""
        return ~(self.at_bound | self.flat)


@dataclass(frozen=True)
class Energies:
    """The terms of level 2 for every column; see `energies`.

    Parameters
    ----------
    weight, error : ndarray of shape (n_columns,)
        ``E_W = 1/2 |w|^2`` and ``E_D = 1/2 sum_i v_i e_i^2`` at the optimal w and b.
    log_determinant : ndarray of shape (n_columns,)
        ``sum_i log(l_i + 1/gamma)``, over all n - 1 eigenvalues.
    objective, slope : ndarray of shape (n_columns,)
        ``J = log_determinant + (n - 1) log(E_W + gamma E_D)``, and its derivative with respect to
        log(gamma).
    """

    weight: FloatArray
    error: FloatArray
    log_determinant: FloatArray
    objective: FloatArray
    slope: FloatArray


def energies(problem: Problem, gamma: ArrayLike) -> Energies:
    """Return the terms of level 2 at one gamma, or one per column, in O(n) per column."""
    basis, centring = problem.basis, problem.basis.centring
    gammas = np.broadcast_to(np.asarray(gamma, dtype=np.float64), problem.n_columns)
    weight, error, log_determinant, objective, slope = np.empty((5, problem.n_columns))
    for ridge, columns in groups(basis.ridge(gammas)):
        inner = _Internal(basis, ridge, problem.rotated[:, columns])
        weight[columns], error[columns] = inner.weight, inner.error
        log_determinant[columns], objective[columns] = inner.log_determinant, inner.objective
        slope[columns] = inner.slope
    n, by_weight = basis.n_rows - 1, np.log(2.0) * centring.weight_exponent
    return Energies(
        scaled(weight, -centring.gram_exponent),
        scaled(error, centring.weight_exponent),
        log_determinant + n * (by_weight + np.log(2.0) * centring.gram_exponent),
        objective + n * by_weight,
        slope,
    )


class _Internal:
    """`Energies` in internal units, for one ridge."""

    def __init__(self, basis: EvidenceBasis, ridge: float, rotated: FloatArray) -> None:
        solved = basis.solve(ridge, rotated)
        self.n, self.ridge = basis.n_rows - 1, ridge
        self.eigenvalues, self.n_more = basis.eigenvalues, basis.n_more
        self.weight = 0.5 * np.maximum(np.sum(solved * basis.multiply(solved), axis=0), 0.0)
        self.error = 0.5 * np.sum((ridge * solved) ** 2, axis=0)
        self.cost = self.weight + self.error / ridge

    @property
    def log_determinant(self) -> float:
        listed = float(np.log(self.eigenvalues + self.ridge).sum())
        return listed + self.n_more * float(np.log(self.ridge))

    @property
    def objective(self) -> FloatArray:
        objective: FloatArray = self.log_determinant + self.n * np.log(self.cost)
        return objective

    @property
    def slope(self) -> FloatArray:
        # With mu and zeta in their closed forms, this is 2 zeta E_D - (N - g), which is 0 at the
        # fixed point of MacKay's re-estimation.
        noise_parameters = np.sum(self.ridge / (self.eigenvalues + self.ridge)) + self.n_more
        slope: FloatArray = self.n * self.error / self.ridge / self.cost - noise_parameters
        return slope


def optimise_hyperparameters(problem: EvidenceProblem, shared: bool = False) -> Hyperparameters:
    """Find mu and zeta of every column by minimising ``J(gamma)`` (level 2).

    If they share gamma, the sum of their J is minimised; mu and zeta are each column's own.

    J may have several minima. So its slope is computed on a grid of gammas, every change of sign
    from minus to plus is refined, and the lowest minimum is taken, including the ends of the grid.
    gamma is within ``[1e-8, 1e8]`` over the mean eigenvalue, and at most as large as the rounding
    of the Gram matrix allows.

    Note: MacKay's re-estimation of mu and zeta, the usual method, converges to whichever minimum
    is near its start, and slowly if J is flat. With a tridiagonal matrix a point of the grid costs
    O(n) per column, so the whole grid is affordable.

    Raises
    ------
    ValueError
        If a column has the same target in all rows.
    """
    basis = problem.basis
    _check_columns(problem)
    # A descending ridge means an ascending gamma.
    largest = basis.mean_eigenvalue / SMALLEST_GAMMA
    smallest = max(basis.mean_eigenvalue * SMALLEST_GAMMA, basis.floor)
    steps = int(np.ceil(np.log(largest / smallest) / GRID_STEP))
    grid = np.geomspace(largest, smallest, steps + 1)
    scan = [_Internal(basis, float(ridge), problem.rotated) for ridge in grid]
    objective = np.array([inner.objective for inner in scan])
    slope = np.array([inner.slope for inner in scan])
    flat = np.ptp(objective, axis=0) <= FLAT * scan[0].n
    at_bound = np.zeros(problem.n_columns, dtype=bool)
    ridges = np.full(problem.n_columns, basis.mean_eigenvalue)
    each = [np.array([column]) for column in np.flatnonzero(~flat)]
    for some in [np.flatnonzero(~flat)] if shared and each else each:
        ridges[some] = _lowest(
            basis,
            problem.rotated[:, some],
            grid,
            objective[:, some].sum(axis=1),
            slope[:, some].sum(axis=1),
        )
        at_bound[some] = ridges[some[0]] in (grid[0], grid[-1])
    if shared and each:
        ridges[flat] = ridges[each[0]]
    cost = np.empty(problem.n_columns)
    for ridge, columns in groups(ridges):
        cost[columns] = _Internal(basis, ridge, problem.rotated[:, columns]).cost
    return closed_forms(basis.centring, ridges, cost, at_bound, flat)


def fixed_hyperparameters(factor: Factor, targets: FloatArray) -> Hyperparameters:
    """Return the mu and zeta of every column for the gamma of a factorisation."""
    cost = factor.cost(targets)
    ridges, nothing = np.full(len(cost), factor.ridge), np.zeros(len(cost), dtype=bool)
    return closed_forms(factor.centring, ridges, cost, nothing, nothing)


def log_evidence(
    problem: EvidenceProblem, hyperparameters: Hyperparameters, occam: bool = False
) -> FloatArray:
    """Return the log marginal likelihood of every column at given hyperparameters (level 3).

    Parameters
    ----------
    problem : EvidenceProblem
        The label columns on a Gram matrix.
    hyperparameters : Hyperparameters
        Usually those of `optimise_hyperparameters`.
    occam : bool, default=False
        Add the paper's terms ``-1/2 [log(g - 1) + log(n - g)]`` with ``g = 1 + sum_i zeta l_i /
        (mu + zeta l_i)``, the widths of the posterior of mu and zeta. They diverge as gamma goes
        to 0 or infinity. Columns whose labels do not determine gamma get ``-inf``, which excludes
        them from a comparison.

    Returns
    -------
    ndarray of shape (n_columns,)
        ``1/2 [N_eff log mu + (n-1) log zeta - sum log(mu + zeta l_i)] - (mu E_W + zeta E_D)``. The
        log density of the targets also has a term that does not depend on the kernel and gamma,
        ``-1/2 (n-1) log(2 pi) - 1/2 log(sum v) + 1/2 sum log v`` (``-1/2 log n`` without weights).
    """
    basis, chosen = problem.basis, hyperparameters
    n, result = basis.n_rows - 1, np.empty(problem.n_columns)
    mu = scaled(chosen.mu, -basis.centring.gram_exponent)
    zeta = scaled(chosen.zeta, basis.centring.weight_exponent)
    for ridge, columns in groups(basis.ridge(chosen.gamma)):
        inner = _Internal(basis, ridge, problem.rotated[:, columns])
        # l_i = 0 adds log mu - log mu, so N_eff is not needed
        ratio = basis.eigenvalues / ridge
        result[columns] = (
            0.5 * (n * np.log(chosen.zeta[columns]) - np.log1p(ratio).sum())
            - mu[columns] * inner.weight
            - zeta[columns] * inner.error
        )
        if occam:
            with np.errstate(divide="ignore"):
                result[columns] -= 0.5 * np.log(np.sum(ratio / (1.0 + ratio)))
            result[columns] -= 0.5 * np.log(np.sum(1.0 / (1.0 + ratio)) + basis.n_more)
    return np.where(chosen.determined, result, -np.inf) if occam else result


def _lowest(
    basis: EvidenceBasis,
    rotated: FloatArray,
    grid: FloatArray,
    objective: FloatArray,
    slope: FloatArray,
) -> float:
    """Return the ridge of the lowest minimum of columns, or an end of the grid if lower.

    `objective` and `slope` are their sums.
    """
    logs = np.log(grid)
    # At the ends of a bracket, the slope must keep the sign that it had on the grid.
    known: dict[float, float] = dict(zip(logs.tolist(), slope.tolist(), strict=True))

    def slope_at(log_ridge: float) -> float:
        if log_ridge in known:
            return known[log_ridge]
        return float(_Internal(basis, np.exp(log_ridge), rotated).slope.sum())

    # An end is a minimum if J rises from it into the grid.
    ends = [(objective[0], grid[0])] if slope[0] >= 0.0 else []
    ends += [(objective[-1], grid[-1])] if slope[-1] <= 0.0 else []
    minima = []
    for k in np.flatnonzero((slope[:-1] < 0.0) & (slope[1:] >= 0.0)):
        ridge = float(np.exp(brentq(slope_at, logs[k + 1], logs[k], xtol=TOLERANCE)))
        minima.append((float(_Internal(basis, ridge, rotated).objective.sum()), ridge))
    return float(min(minima + ends)[1])


def closed_forms(
    centring: Scaling,
    ridges: FloatArray,
    cost: FloatArray,
    at_bound: NDArray[np.bool_],
    flat: NDArray[np.bool_],
) -> Hyperparameters:
    """Return the mu and zeta with the largest evidence, given ``E_W + gamma E_D``."""
    mu = (centring.n_rows - 1) / (2.0 * cost)
    zeta = mu / ridges
    return Hyperparameters(
        centring.gamma(ridges),
        positive(scaled(mu, centring.gram_exponent)),
        positive(scaled(zeta, -centring.weight_exponent)),
        at_bound,
        flat,
    )


def _check_columns(problem: EvidenceProblem) -> None:
    rotated, first = np.linalg.norm(problem.rotated, axis=0), np.abs(problem.first)
    constant = np.flatnonzero(rotated <= problem.basis.n_rows * EPSILON * first)
    if len(constant):
        raise ValueError(
            f"Column {constant[0]} has the same target in all rows, so the noise cannot be "
            "estimated."
        )
