"""Choosing the kernel parameter of LS-SVMs by the evidence of the model (level 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from scipy.optimize import minimize_scalar

from ...core.types import FloatArray
from .evidence import Hyperparameters, log_evidence, optimise_hyperparameters
from .tridiagonal import Problem, tridiagonalise, with_targets

# The accuracy of the log of the parameter. The evidence is flat at its maximum.
TOLERANCE = 1e-3
MAX_EVALUATIONS = 25
# The penalty of an excluded candidate in the search.
_LEFT_OUT = 1e9


@dataclass(frozen=True)
class Selection:
    """The kernel parameters that level 3 prefers.

    Parameters
    ----------
    values : ndarray of shape (n_columns,)
        The parameter chosen for every column.
    log_evidence : ndarray of shape (n_columns,)
        The exact log evidence at that value (without the Occam terms).
    hyperparameters : Hyperparameters
        The hyperparameters of level 2 at that value.
    problems : mapping of float to Problem
        The tridiagonalised Gram matrix, with all columns, of every chosen value.
    tried : mapping of float to ndarray of shape (n_columns,)
        The log evidence, in the requested form, of all values tried, ascending.
    """

    values: FloatArray
    log_evidence: FloatArray
    hyperparameters: Hyperparameters
    problems: Mapping[float, Problem]
    tried: Mapping[float, FloatArray]


@dataclass
class _Tried:
    exact: FloatArray
    occam: FloatArray
    hyperparameters: Hyperparameters
    problem: Problem | None


def select_by_evidence(
    gram_of: Callable[[float], FloatArray],
    candidates: Iterable[float],
    targets: FloatArray,
    weights: FloatArray | None = None,
    per_column: bool = True,
    occam: bool = False,
    refine: bool = True,
) -> Selection:
    """Choose a kernel parameter by the evidence of level 3.

    Parameters
    ----------
    gram_of : callable
        Returns the Gram matrix for a parameter value; called once per value.
    candidates : iterable of float
        The values to try first.
    targets : ndarray of shape (n_rows, n_columns)
        The labels, -1 and +1.
    weights : ndarray of shape (n_rows,), default=None
        The row weights; row i has the noise variance ``1 / (zeta v_i)``.
    per_column : bool, default=True
        Choose a value for every column by its own evidence; if False, one value by the sum.
    occam : bool, default=False
        Compare by the paper's form of the evidence, without candidates at which the labels do not
        determine gamma (for a shared value: those of any column). If none remains, the exact form
        decides.
    refine : bool, default=True
        Search between the neighbours of the best candidate, by Brent's method in the log of the
        parameter; it stays within the range of the candidates.

    Returns
    -------
    Selection
        A value tried for one column is compared for all columns, and narrows the search of the next
        ones. Decompositions of values that no column prefers are dropped immediately.
    """
    values = sorted({float(value) for value in candidates})
    if not values or not values[0] > 0.0 or not np.isfinite(values[-1]):
        raise ValueError("Candidates are positive finite numbers, at least one.")
    search = _Search(gram_of, np.asarray(targets, dtype=np.float64), weights, per_column, occam)
    search.run(values, refine)
    return search.selection()


class _Search:
    """All values tried so far, and the best of every group of columns that share one."""

    def __init__(
        self,
        gram_of: Callable[[float], FloatArray],
        targets: FloatArray,
        weights: FloatArray | None,
        per_column: bool,
        occam: bool,
    ) -> None:
        self.gram_of, self.targets, self.weights, self.occam = gram_of, targets, weights, occam
        columns = np.arange(targets.shape[1])
        self.groups = [columns[[k]] for k in columns] if per_column else [columns]
        # no value is 0, so 0 means none
        self.best = [0.0] * len(self.groups)
        self.trials: dict[float, _Tried] = {}

    def run(self, values: list[float], refine: bool) -> None:
        for value in values:
            self._try(value)
        if refine:
            for group in range(len(self.groups)):
                self._refine(group)

    def selection(self) -> Selection:
        chosen = np.empty(self.targets.shape[1])
        for group, value in zip(self.groups, self.best, strict=True):
            chosen[group] = value
        trials = [self.trials[value] for value in chosen.tolist()]
        names = ("gamma", "mu", "zeta", "at_bound", "flat")
        parts = {
            name: np.array([getattr(t.hyperparameters, name)[k] for k, t in enumerate(trials)])
            for name in names
        }
        kept = {v: t.problem for v, t in sorted(self.trials.items()) if t.problem is not None}
        tried = {v: t.occam if self.occam else t.exact for v, t in sorted(self.trials.items())}
        return Selection(
            chosen,
            np.array([trial.exact[k] for k, trial in enumerate(trials)]),
            Hyperparameters(**parts),
            MappingProxyType(kept),
            MappingProxyType(tried),
        )

    def _refine(self, group: int) -> None:
        """Search between the values tried so far that are next to the best one."""
        tried = sorted(self.trials)
        centre = tried.index(self.best[group])
        bounds = np.log([tried[max(centre - 1, 0)], tried[min(centre + 1, len(tried) - 1)]])
        if bounds[1] - bounds[0] <= 2.0 * TOLERANCE:
            return

        def loss(log_value: float) -> float:
            value = float(np.exp(log_value))
            self._try(value)
            left_out, cost = self._rank(value, group)
            return _LEFT_OUT * left_out + cost

        options = {"xatol": TOLERANCE, "maxiter": MAX_EVALUATIONS}
        minimize_scalar(loss, bounds=bounds, method="bounded", options=options)

    def _try(self, value: float) -> None:
        if value in self.trials:
            return
        problem = with_targets(tridiagonalise(self.gram_of(value), self.weights), self.targets)
        chosen = optimise_hyperparameters(problem)
        exact, occam = (log_evidence(problem, chosen, occam=form) for form in (False, True))
        self.trials[value] = _Tried(exact, occam, chosen, problem)
        for group, best in enumerate(self.best):
            if not best or self._rank(value, group) < self._rank(best, group):
                self.best[group] = value
        for tried, trial in self.trials.items():
            if tried not in self.best:
                trial.problem = None

    def _rank(self, value: float, group: int) -> tuple[bool, float]:
        """Return whether a value is excluded, and its cost; the smallest pair is the best."""
        trial, columns = self.trials[value], self.groups[group]
        left_out = self.occam and bool(np.isneginf(trial.occam[columns]).any())
        by_occam = self.occam and not left_out
        return left_out, -float((trial.occam if by_occam else trial.exact)[columns].sum())
