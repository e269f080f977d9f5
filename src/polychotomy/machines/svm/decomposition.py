r"""Support vector machines by decomposition: a few rows change at a time, the others are fixed.

In the notation of the native solver, :math:`\beta_i = a_i y_i` and the residuals are
:math:`y_i - \sum_j K_{ij} \beta_j`. Every round takes the rows that violate the optimality
conditions most, solves the problem of these rows alone, and updates the residuals of all rows. So
it needs only the kernel rows of these rows.

Note: SMO on single pairs, as for a whole Gram matrix, would ask for two kernel rows at a time.
Hundreds of rows at once are computed by one matrix product, and the inner problem is solved by the
native SMO on a small block. Kernel rows of inputs in single precision are computed in it, as long
as their errors are well within the tolerance; all sums are in double precision.

References: Joachims (1999), Making large-scale support vector machine learning practical; Lin
(2001), On the convergence of the decomposition method for support vector machines.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core.types import FloatArray, IntArray
from ...kernels import RowSource
from ...native import _core
from ..solved import Solution

_ROUNDING = float(np.finfo(np.float64).eps) / 2
_MOST_ITERATIONS = 10_000_000
# A round stops at this share of its initial gap; exact solutions of a part are wasted.
_SHARE_OF_GAP = 0.1
# Half of the rows of a round stay for the next one; otherwise rounds undo each other's changes.
_SHARE_TO_STAY = 0.5
_ITERATIONS_A_ROW = 100
# The share of the required gap that kernel rows in single precision may add; above, double is used.
_SHARE_OF_ROUNDING = 0.25


def decompose(
    source: RowSource,
    labels: FloatArray,
    bounds: FloatArray,
    tolerance: float,
    max_iterations: int | None = None,
    start: FloatArray | None = None,
) -> Solution:
    """Solve the dual of one binary support vector machine.

    Parameters
    ----------
    source : RowSource
        Provides the kernel rows.
    labels : ndarray of shape (n_rows,)
        -1.0 or 1.0.
    bounds : ndarray of shape (n_rows,)
        The largest :math:`a_i`, C times the row's weight; rows with 0 take no part.
    tolerance : float
        The same as that of `solve_svm`.
    max_iterations : int, default=None
        The largest number of pairs to change; by default ten million, or 100 per row if that is
        more.
    start : ndarray of shape (n_rows,), default=None
        Coefficients within the constraints to start from; all 0 by default.

    Returns
    -------
    Solution
    """
    problem = _Problem(source, labels, bounds, tolerance)
    if start is not None:
        problem.beta = start.copy()
        problem.recompute()
    return problem.solve(
        max(_MOST_ITERATIONS, 100 * len(labels)) if max_iterations is None else max_iterations
    )


class _Problem:
    def __init__(
        self, source: RowSource, labels: FloatArray, bounds: FloatArray, tolerance: float
    ) -> None:
        self.source = source
        self.labels = labels
        self.tolerance = tolerance
        self.inside = bounds > 0.0
        self.lower = np.where(labels > 0.0, 0.0, -bounds)
        self.upper = np.where(labels > 0.0, bounds, 0.0)
        self.slack = _core.SVM_BOUND_SLACK * bounds
        self.beta = np.zeros(len(labels))
        self.residual = labels.copy()
        self.error = 0.0
        # An indefinite kernel may have a diagonal below 0.
        self.unit = float(np.abs(source.diagonal).max()) or 1.0
        self.iterations = 0
        self.stayed = np.zeros(0, dtype=np.intp)

    def solve(self, max_iterations: int) -> Solution:
        fresh = True
        while True:
            rising, falling = self._may_rise_and_fall()
            gap = float(rising.max() - falling.min())
            goal = self.tolerance if gap > self.tolerance else self._goal()
            if self._too_coarse(goal):
                self.source.refine()
                self.recompute()
                fresh = True
                continue
            if gap + 2.0 * self.error <= goal or self.iterations >= max_iterations:
                break
            moved = gap > goal and self._round(rising, falling, gap, goal, max_iterations)
            if not moved:
                if fresh:
                    break  # only rounding errors remain
                self.recompute()
            fresh = not moved
        return Solution(
            self._coefficients(), self._bias(rising, falling), gap <= goal, self.iterations
        )

    def _may_rise_and_fall(self) -> tuple[FloatArray, FloatArray]:
        """Return the residuals of rows that can rise (else -inf) and that can fall (else inf)."""
        rising = np.where(self.upper - self.beta > self.slack, self.residual, -np.inf)
        falling = np.where(self.beta - self.lower > self.slack, self.residual, np.inf)
        return rising, falling

    def _goal(self) -> float:
        """Return the required gap, which is smaller for a small C, as in the native solver."""
        outputs = (self.labels - self.residual)[self.inside]
        reach = float(((self.upper - self.lower) * np.abs(self.source.diagonal)).max())
        scale = max(float(np.ptp(outputs)) / 2.0, _core.SVM_LEAST_SHARE_OF_REACH * reach)
        sizes = self.unit * float(np.abs(self.beta).sum())
        floor = 2.0 * _ROUNDING * (_core.SVM_ROUNDING_TERMS + sizes)
        return max(self.tolerance * min(1.0, scale), floor)

    def _too_coarse(self, goal: float) -> bool:
        """Whether entries in single precision are not enough; their errors have no common sign."""
        if self.source.error == 0.0:
            return False
        error = self.source.error * float(np.linalg.norm(self.beta))
        return 2.0 * error > _SHARE_OF_ROUNDING * goal

    def _round(
        self,
        rising: FloatArray,
        falling: FloatArray,
        gap: float,
        goal: float,
        max_iterations: int,
    ) -> bool:
        """Solve the problem of the most violating rows; return False if nothing changed."""
        rows = self._choose(rising, falling)
        beta, residual = self.beta[rows], self.residual[rows]
        self.iterations += _core.solve_svm_block(
            self.source.block(rows),
            self.lower[rows],
            self.upper[rows],
            beta,
            residual,
            _core.SVM_LEAST_CURVATURE * self.unit,
            max(_SHARE_OF_GAP * gap, goal / 2.0),
            min(_ITERATIONS_A_ROW * len(rows), max_iterations - self.iterations),
        )
        amounts = beta - self.beta[rows]
        moved: NDArray[np.bool_] = amounts != 0.0
        self.source.subtract(self.residual, rows[moved], amounts[moved])
        self.beta[rows] = beta
        moves = self.unit * float(np.abs(amounts).sum())
        self.error += _ROUNDING * (4.0 * moves + 1.0 + float(np.abs(self.residual).max()))
        return bool(moved.any())

    def _choose(self, rising: FloatArray, falling: FloatArray) -> IntArray:
        """Return the rows of this round: half of the last ones, and the most violating rows."""
        most = min(self.source.most_at_once, len(rising))
        stay = self.stayed[-int(_SHARE_TO_STAY * most) :]
        rising, falling = rising.copy(), falling.copy()
        rising[stay] = -np.inf
        falling[stay] = np.inf
        up = _smallest(-rising, (most - len(stay)) // 2)
        falling[up] = np.inf
        down = _smallest(falling, most - len(stay) - len(up))
        self.stayed = np.concatenate([stay, up, down])
        return self.stayed

    def recompute(self) -> None:
        """Recompute the residuals, without the rounding errors of many updates."""
        self.residual = self.labels.copy()
        support = np.flatnonzero(self.beta)
        for start in range(0, len(support), self.source.most_at_once):
            some = support[start : start + self.source.most_at_once]
            self.source.subtract(self.residual, some, self.beta[some])
        self.error = 0.0

    def _coefficients(self) -> FloatArray:
        size = np.abs(self.beta)
        bounds = self.upper - self.lower
        size[size <= self.slack] = 0.0
        return self.labels * np.where(bounds - size <= self.slack, bounds, size)

    def _bias(self, rising: FloatArray, falling: FloatArray) -> float:
        """Return the mean over free rows; if none is free, the middle of the feasible interval."""
        free = np.isfinite(rising) & np.isfinite(falling)
        if free.any():
            return float(self.residual[free].mean())
        return float(rising.max() + falling.min()) / 2.0


def _smallest(values: FloatArray, count: int) -> IntArray:
    """Return the positions of the smallest finite values."""
    if count < len(values):
        places: IntArray = np.argpartition(values, count)[:count]
    else:
        places = np.arange(len(values))
    return places[np.isfinite(values[places])]
