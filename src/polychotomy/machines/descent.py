"""L-BFGS for many smooth problems at once.

Note: every evaluation is a pass over all rows, which costs nearly the same for one problem as for
forty. SciPy's L-BFGS minimises one problem at a time, which would take forty times as many passes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.types import FloatArray, IntArray

# The number of past steps from which curvature is estimated.
MEMORY = 20
# A step must achieve this share of the decrease that its slope predicts.
SHARE_OF_SLOPE = 1e-4
MOST_HALVINGS = 30
# Rounding of an objective hides decreases below this share of it, by the precision of its terms.
ROUNDING = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 1e-7}

Evaluate = Callable[[FloatArray, IntArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class Minima:
    """The minima of some problems.

    Parameters
    ----------
    places : ndarray of shape (n_problems, n_unknowns)
        The unknowns.
    converged : ndarray of shape (n_problems,)
        Whether the gradient is small enough, or rounding allows no further step.
    iterations : ndarray of shape (n_problems,)
        The number of steps.
    """

    places: FloatArray
    converged: NDArray[np.bool_]
    iterations: IntArray


def minimise(
    evaluate: Evaluate,
    start: FloatArray,
    enough: FloatArray,
    max_iterations: int,
    precision: Any = np.float64,
    history: History | None = None,
) -> Minima:
    """Minimise convex problems together.

    Parameters
    ----------
    evaluate : callable
        Takes the unknowns of some problems, of shape (n, n_unknowns), and their numbers; returns
        their objectives and gradients.
    start : ndarray of shape (n_problems, n_unknowns)
        Where to start. Unknowns should be scaled so that the Hessian is near the identity.
    enough : ndarray of shape (n_problems,)
        The length of the gradient at which a problem is solved.
    max_iterations : int
        The largest number of steps.
    precision : dtype, default=float64
        The precision of the terms of objectives.
    history : History, default=None
        The past steps of nearly the same problems; those of these problems are added.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.machines.descent import minimise
    >>> def evaluate(x, problems):
    ...     return np.sum((x - 1) ** 2, axis=1), 2 * (x - 1)
    >>> minimise(evaluate, np.zeros((2, 3)), np.full(2, 1e-9), 10).places.round(6)
    array([[1., 1., 1.],
           [1., 1., 1.]])
    """
    x, rounding = start.copy(), ROUNDING[np.dtype(precision)]
    values, gradients = evaluate(x, np.arange(len(x)))
    history = History(*x.shape) if history is None else history
    stuck = np.zeros(len(x), dtype=bool)
    iterations = np.zeros(len(x), dtype=np.intp)
    for _ in range(max_iterations):
        active = np.flatnonzero((np.linalg.norm(gradients, axis=1) > enough) & ~stuck)
        if not len(active):
            break
        iterations[active] += 1
        direction = history.direction(gradients, active)
        slope = np.sum(direction * gradients[active], axis=1)
        lengths, left = np.ones(len(active)), np.arange(len(active))
        for _ in range(MOST_HALVINGS):
            problems = active[left]
            tried = x[problems] + lengths[left, None] * direction[left]
            new_values, new_gradients = evaluate(tried, problems)
            allowed = values[problems] + SHARE_OF_SLOPE * lengths[left] * slope[left]
            fine = new_values <= allowed + rounding * np.abs(values[problems])
            done = problems[fine]
            history.add(done, tried[fine] - x[done], new_gradients[fine] - gradients[done])
            x[done], values[done] = tried[fine], new_values[fine]
            gradients[done] = new_gradients[fine]
            left = left[~fine]
            if not len(left):
                break
            lengths[left] *= 0.5
        # No step is short enough: what is left to gain is below rounding.
        stuck[active[left]] = True
        history.next()
    small = np.linalg.norm(gradients, axis=1) <= np.where(stuck, 1e3 * enough, enough)
    return Minima(x, small, iterations)


class History:
    """Past steps and changes of the gradient of all problems, oldest first.

    Parameters
    ----------
    n_problems, n_unknowns : int
        The numbers of problems and of their unknowns.
    """

    def __init__(self, n_problems: int, n_unknowns: int) -> None:
        self.shape = n_problems, n_unknowns
        self.steps: list[FloatArray] = []
        self.changes: list[FloatArray] = []
        self.inverses: list[FloatArray] = []
        self.next()

    def next(self) -> None:
        """Start the next step; the oldest is dropped."""
        self.steps.append(np.zeros(self.shape))
        self.changes.append(np.zeros(self.shape))
        self.inverses.append(np.zeros(self.shape[0]))
        if len(self.steps) > MEMORY + 1:
            del self.steps[0], self.changes[0], self.inverses[0]

    def add(self, problems: IntArray, step: FloatArray, change: FloatArray) -> None:
        """Record the step of some problems, unless rounding hides the curvature."""
        products = np.sum(step * change, axis=1)
        fine = products > 1e-12 * np.sum(change**2, axis=1)
        self.steps[-1][problems], self.changes[-1][problems] = step, change
        with np.errstate(divide="ignore"):
            self.inverses[-1][problems] = np.where(fine, 1.0 / products, 0.0)

    def direction(self, gradients: FloatArray, problems: IntArray) -> FloatArray:
        """Return minus the gradient times the estimated inverse Hessian, by two loops."""
        d = -gradients[problems]
        pairs = [
            (s[problems], y[problems], r[problems])
            for s, y, r in zip(self.steps, self.changes, self.inverses, strict=True)
        ]
        shares = []
        for s, y, r in reversed(pairs):
            shares.append(r * np.sum(s * d, axis=1))
            d -= shares[-1][:, None] * y
        scale = np.ones(len(problems))
        for _, y, r in pairs:
            squares = r * np.sum(y * y, axis=1)
            scale = np.where(squares > 0.0, 1.0 / np.where(squares > 0.0, squares, 1.0), scale)
        d *= scale[:, None]
        for (s, y, r), share in zip(pairs, reversed(shares), strict=True):
            d += (share - r * np.sum(y * d, axis=1))[:, None] * s
        return d
