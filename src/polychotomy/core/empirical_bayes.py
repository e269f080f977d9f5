"""Smooth convex models with shrunk groups of parameters; the rows decide how much they shrink.

A model provides its negative log-likelihood and the first two derivatives. Each group of parameters
has a penalty ``strength / 2 |theta|^2``, and empirical Bayes finds the strengths.

Note: the strengths could be cross-validated instead. That takes a grid of fits in every fold, and
is noisy with few rows, where shrinking matters most. The fixed point takes a few fits, each of
which starts from the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from threading import current_thread, main_thread
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from .math import sigmoid, softplus
from .threads import single_threaded_blas
from .types import FloatArray, IntArray, SignArray

# The prior of a strength l is the gamma density of shape 3/2 and rate 0.01. It adds
# log(l) / 2 - 0.01 l to the log posterior. Without rows l is 50, for parameters of size 0.14.
STRENGTH_COUNT = 1.0
STRENGTH_SQUARES = 0.02
# The penalty of parameters in no group: separable rows have an optimum, and others hardly change.
FREE_STRENGTH = 1e-3
FIRST_STRENGTH = 1.0
MAX_ROUNDS = 100
# Rounds end when no log strength changes by more; parameters hardly depend on such changes.
STRENGTH_TOLERANCE = 1e-5
MAX_NEWTON_STEPS = 200
# A strength is moved by at most this much of its logarithm ahead of the fixed point, and as if a
# round left at most this share of the distance.
LONGEST_LEAP, SLOWEST_RATE = 2.0, 0.95
# Rounds also end when Newton's method has failed so often in a row. With weights of 1e100 it fails
# in every round: a fit of 35 rows took 0.4 s, and takes a tenth of that now.
MOST_FAILURES = 2
# Below this share of the value, a full Newton step reaches the optimum up to rounding.
SMALL_DECREMENT = 1e-12
ROUNDING = 1e-14
SMALLEST_STEP = 1e-12
# How much of its diagonal may be added to a Hessian that rounding has made indefinite.
LARGEST_LIFT = 1e6
# If all scores are smaller than this, they count as 0.
SMALLEST_SCORES = 1e-100


class Hessian(Protocol):
    """A positive semidefinite matrix of second derivatives, with any structure."""

    def solve(self, penalty: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve with the matrix plus a diagonal; also return the diagonal of the inverse."""
        ...


class Likelihood(Protocol):
    """A smooth convex function of parameters."""

    n_parameters: int

    def value(self, theta: FloatArray) -> float:
        """Return the negative log-likelihood."""
        ...

    def derivatives(self, theta: FloatArray) -> tuple[FloatArray, Hessian]:
        """Return its gradient and Hessian."""
        ...


class UnsolvableError(ArithmeticError):
    """A Hessian that is not finite, or far from semidefinite: there is no Newton step."""


@dataclass(frozen=True)
class ShrunkFit:
    """Parameters, the strengths of their groups, and whether Newton's method converged."""

    theta: FloatArray
    strengths: FloatArray
    converged: bool


def fit_shrunk(
    model: Likelihood,
    groups: Sequence[IntArray],
    strengths: Sequence[float] | None = None,
    free: float = FREE_STRENGTH,
) -> ShrunkFit:
    """Fit the parameters and, unless they are given, the strengths of the groups' penalties.

    The strengths maximise Laplace's approximation of the evidence, times a weak prior. They are
    found by the fixed point of MacKay (1992), which ignores how the Hessian depends on the
    strength: with H the Hessian at the optimum and k the size of the group,
    ``l <- (k - l tr(H^-1)_group + 1) / (|theta|^2 + 0.02)``. For any rows, l stays between 0 and
    ``50 (k + 1)``.

    Note: the fixed point approaches its end by the same factor in every round, 0.83 with 200
    classes, where it took 62 rounds. Every third round leaps to where this factor leads (Aitken),
    which took 14. Rounds end as before, when an update of the fixed point itself changes nothing.

    Parameters
    ----------
    model : Likelihood
        The negative log-likelihood.
    groups : sequence of ndarray of int
        The parameters of every group; those in none are free.
    strengths : sequence of float, default=None
        The strengths; found by empirical Bayes by default.
    free : float, default=0.001
        The penalty of the parameters in no group.

    Returns
    -------
    fit : ShrunkFit
    """
    theta = np.zeros(model.n_parameters)
    if strengths is not None:
        given = np.array(strengths, dtype=np.float64)
        theta, _, converged = minimise(model, penalties(model, groups, given, free), theta)
        return ShrunkFit(theta, given, converged)
    current = np.full(len(groups), FIRST_STRENGTH)
    # Systems this small gain nothing from BLAS threads, and become much slower if other work runs.
    # The limit holds for the whole process, and overlapping threads could leave it set, so only
    # the main thread sets it.
    in_main = current_thread() is main_thread()
    with single_threaded_blas() if in_main else nullcontext():
        failures = 0
        moves: list[FloatArray] = []
        for _ in range(MAX_ROUNDS):
            theta, inverse_diagonal, converged = minimise(
                model, penalties(model, groups, current, free), theta
            )
            before, current = current, _updated(current, groups, theta, inverse_diagonal)
            failures = 0 if converged else failures + 1
            moves.append(np.log(current / before))
            if (np.abs(moves[-1]) <= STRENGTH_TOLERANCE).all() or failures >= MOST_FAILURES:
                break
            if len(moves) == 2:
                current = current * np.exp(_leap(*moves))
                moves = []
    return ShrunkFit(theta, before, converged)


def _leap(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return how far two moves that shrink by the same factor would still lead, group by group."""
    rate = np.divide(second, first, out=np.zeros(len(first)), where=first != 0.0)
    steady = (rate > 0.0) & (rate < 1.0)
    rate = np.where(steady, np.minimum(rate, SLOWEST_RATE), 0.0)
    ahead: FloatArray = np.clip(second * rate / (1.0 - rate), -LONGEST_LEAP, LONGEST_LEAP)
    return ahead


def penalties(
    model: Likelihood,
    groups: Sequence[IntArray],
    strengths: FloatArray,
    free: float = FREE_STRENGTH,
) -> FloatArray:
    """Return the penalty of every parameter."""
    penalty = np.full(model.n_parameters, free)
    for group, strength in zip(groups, strengths, strict=True):
        penalty[group] = strength
    return penalty


def _updated(
    strengths: FloatArray,
    groups: Sequence[IntArray],
    theta: FloatArray,
    inverse_diagonal: FloatArray,
) -> FloatArray:
    updated = np.empty(len(groups))
    for number, (strength, group) in enumerate(zip(strengths, groups, strict=True)):
        # The number of parameters in the group that the rows determine.
        determined = max(len(group) - strength * inverse_diagonal[group].sum(), 0.0)
        squares = theta[group] @ theta[group]
        updated[number] = (determined + STRENGTH_COUNT) / (squares + STRENGTH_SQUARES)
    return updated


def minimise(
    model: Likelihood, penalty: FloatArray, theta: FloatArray
) -> tuple[FloatArray, FloatArray, bool]:
    """Minimise the penalised model by Newton's method from `theta`.

    Returns the parameters, the diagonal of the inverse Hessian there, and whether the method
    converged.
    """

    def value(at: FloatArray) -> float:
        return model.value(at) + 0.5 * float(penalty @ (at * at))

    current, converged = value(theta), False
    for _ in range(MAX_NEWTON_STEPS):
        gradient, hessian = model.derivatives(theta)
        gradient = gradient + penalty * theta
        try:
            direction, inverse_diagonal = hessian.solve(penalty, -gradient)
        except UnsolvableError:
            return theta, np.divide(1.0, penalty, where=penalty > 0.0, out=0.0 * penalty), False
        decrement = -float(gradient @ direction)
        if decrement <= SMALL_DECREMENT * (1.0 + abs(current)):
            return theta + direction, inverse_diagonal, True
        step = 1.0
        while True:
            candidate = theta + step * direction
            new = value(candidate)
            # Near the optimum, rounding of the value hides the decrease.
            if new <= current - 1e-4 * step * decrement + ROUNDING * (1.0 + abs(current)):
                break
            step *= 0.5
            if step < SMALLEST_STEP:
                return theta, inverse_diagonal, False
        theta, current = candidate, new
    return theta, inverse_diagonal, converged


@dataclass(frozen=True)
class Dense:
    """A Hessian without structure.

    Note: LAPACK is called directly. With a few parameters, as most models have, the checks of
    `cho_factor` and `cho_solve` take several times as long as the factor.
    """

    matrix: FloatArray

    def solve(self, penalty: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve with the matrix plus a diagonal; also return the diagonal of the inverse."""
        if not np.isfinite(self.matrix).all():
            raise UnsolvableError
        lift = 0.0
        while True:
            lifted = self.matrix.copy(order="F")
            lifted.ravel(order="F")[:: len(lifted) + 1] += penalty + lift * self.matrix.diagonal()
            # With zeros above the diagonal, which the inverse of the factor keeps.
            factor, failed_at = dpotrf(lifted, lower=1, clean=1, overwrite_a=1)
            if failed_at == 0:
                break
            # Rounding can make a nearly singular matrix indefinite.
            lift = max(100.0 * lift, 1e-14)
            if lift > LARGEST_LIFT:
                # Not rounding any more: weights so large that differences are lost.
                raise UnsolvableError
        # With L the factor, the inverse is L^-T L^-1: its diagonal has the squared columns of L^-1.
        inverse, _ = dtrtri(factor, lower=1)
        solution, _ = dpotrs(factor, right, lower=1)
        return solution, np.square(np.ascontiguousarray(inverse)).sum(axis=0)


@dataclass(frozen=True)
class Arrow:
    """The Hessian of parameters w, d, v, where d_l and v_l belong to column l and w to all.

    w and d_l have the same second derivatives: ``square`` with each other, ``mixed`` with v_l;
    ``constant`` is that of v_l. Solving a system costs a few operations per column.
    """

    square: FloatArray
    mixed: FloatArray
    constant: FloatArray

    def solve(self, penalty: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve with the matrix plus a diagonal; also return the diagonal of the inverse."""
        size = len(self.square)
        of_d, of_v = penalty[1 : 1 + size], penalty[1 + size :]
        last = self.constant + of_v
        # After eliminating v_l and then d_l, the coefficient of w is a sum of positive terms.
        ratio = self.mixed / last
        slope = np.maximum(self.square - self.mixed * ratio, 0.0)
        both = slope + of_d
        share = slope / both
        left = penalty[0] + (share * of_d).sum()
        right_v = right[1 + size :]
        right_d = right[1 : 1 + size] - ratio * right_v
        w = (right[0] - (ratio * right_v).sum() - (share * right_d).sum()) / left
        d = right_d / both - share * w
        v = right_v / last - ratio * (w + d)
        own = 1.0 / both
        inverse_d = own + share**2 / left
        # The variance of w + d_l; v_l follows it with the factor -ratio.
        spread = own + (1.0 - share) ** 2 / left
        inverse_v = 1.0 / last + ratio**2 * spread
        return (
            np.concatenate([[w], d, v]),
            np.concatenate([[1.0 / left], inverse_d, inverse_v]),
        )


class ClassScores:
    """``softmax_k(offset_k + w_k . features_k)``, with weights w linear in the parameters.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_classes, n_features)
        The features of every class, including a constant for its bias.
    y : ndarray of shape (n_rows,)
        The class numbers.
    row_weights : ndarray of shape (n_rows,) or None
        The weights of the rows.
    design : ndarray of shape (n_classes * n_features, n_parameters)
        The linear map from parameters to weights.
    offset : ndarray of shape (n_rows, n_classes), default=0
        Scores to which those of the parameters are added.
    """

    def __init__(
        self,
        features: FloatArray,
        y: IntArray,
        row_weights: FloatArray | None,
        design: FloatArray,
        offset: FloatArray | float = 0.0,
    ) -> None:
        if row_weights is not None and not row_weights.all():
            # Rows of weight 0 are dropped, because their scores may overflow.
            used = row_weights > 0
            features, y, row_weights = features[used], y[used], row_weights[used]
            offset = offset[used] if isinstance(offset, np.ndarray) else offset
        self.features, self.y, self.design, self.offset = features, y, design, offset
        self.row_weights = np.ones(len(y)) if row_weights is None else row_weights
        self.n_parameters = design.shape[1]
        self._rows = np.arange(len(y))
        self._roots = np.sqrt(self.row_weights)[:, None]
        self._known: _Scored | None = None

    def value(self, theta: FloatArray) -> float:
        """Return the negative log-likelihood."""
        at = self._scored(theta)
        # The 1 of the true class is added by log1p, to keep the digits of small terms.
        rest = at.exponentials.copy()
        rest[self._rows, self.y] = 0.0
        logs = at.largest + np.log1p(rest.sum(axis=1) + np.expm1(-at.largest))
        return float(self.row_weights @ logs)

    def derivatives(self, theta: FloatArray) -> tuple[FloatArray, Hessian]:
        """Return its gradient and Hessian."""
        p, others = self._probabilities(theta)
        n_rows, n_classes, n_features = self.features.shape
        weights = self.row_weights[:, None]
        residual = p * weights
        residual[self._rows, self.y] = -others[self._rows, self.y] * self.row_weights
        gradient = np.einsum("nk,nkd->kd", residual, self.features).ravel()
        weighted = self.features * (p * self._roots)[:, :, None]
        flat = weighted.reshape(n_rows, n_classes * n_features)
        hessian = -(flat.T @ flat)
        curvature = p * others * weights
        for k in range(n_classes):
            block = slice(k * n_features, (k + 1) * n_features)
            own = self.features[:, k]
            hessian[block, block] = (own * curvature[:, k : k + 1]).T @ own
        return self.design.T @ gradient, Dense(self.design.T @ hessian @ self.design)

    def _scored(self, theta: FloatArray) -> _Scored:
        """Return the scores at some parameters.

        Note: Newton's method asks for the value at every new place, and then for the derivatives
        there.
        """
        key = theta.tobytes()
        if self._known is None or self._known.key != key:
            weights = (self.design @ theta).reshape(self.features.shape[1:])
            scores = self.offset + np.einsum("nkd,kd->nk", self.features, weights)
            # Minus that of the true class.
            relative = scores - scores[self._rows, self.y][:, None]
            largest = relative.max(axis=1)
            self._known = _Scored(key, largest, np.exp(relative - largest[:, None]))
        return self._known

    def _probabilities(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities p of the classes, and 1 - p without cancellation."""
        exponentials = self._scored(theta).exponentials
        p = exponentials / exponentials.sum(axis=1, keepdims=True)
        winner = p.argmax(axis=1)
        others = 1.0 - p
        rest = p.copy()
        rest[self._rows, winner] = 0.0
        others[self._rows, winner] = rest.sum(axis=1)
        return p, others


class _Scored(NamedTuple):
    """Scores relative to that of the true class: the largest of every row, and exponentials.

    These are of the differences from the largest. The key tells the parameters.
    """

    key: bytes
    largest: FloatArray
    exponentials: FloatArray


class PooledColumns:
    """``sigmoid((w + d_l) f_l + v_l)`` for every column l, in the parameters w, d, v.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_columns)
        The scores f.
    labels : ndarray of shape (n_rows, n_columns)
        -1, +1, or 0 where the row takes no part in the column.
    row_weights : ndarray of shape (n_rows,) or None
        The weights of the rows.
    """

    def __init__(
        self, scores: FloatArray, labels: SignArray, row_weights: FloatArray | None
    ) -> None:
        self.n_columns = scores.shape[1]
        self.n_parameters = 1 + 2 * self.n_columns
        # Rows of weight 0 are dropped, because their scores may overflow.
        counts = labels != 0 if row_weights is None else (labels != 0) & (row_weights > 0)[:, None]
        rows, self.column = np.nonzero(counts)
        self.score = scores[rows, self.column]
        self.sign = labels[rows, self.column].astype(np.float64)
        self.weight = np.ones(len(rows)) if row_weights is None else row_weights[rows]
        self._minus = -self.weight * self.sign
        self._known: tuple[bytes, FloatArray] | None = None

    def value(self, theta: FloatArray) -> float:
        """Return the negative log-likelihood."""
        return float(self.weight @ softplus(-self._margins(theta)))

    def derivatives(self, theta: FloatArray) -> tuple[FloatArray, Hessian]:
        """Return its gradient and Hessian."""
        margins = self._margins(theta)
        right, wrong = sigmoid(margins), sigmoid(-margins)
        residual = self._minus * wrong
        slope, bias = self._sums(residual * self.score), self._sums(residual)
        gradient = np.concatenate([[slope.sum()], slope, bias])
        curvature = self.weight * right * wrong
        square = self._sums(curvature * self.score**2)
        mixed, constant = self._sums(curvature * self.score), self._sums(curvature)
        return gradient, Arrow(square, mixed, constant)

    def _margins(self, theta: FloatArray) -> FloatArray:
        """Return the logits, with the signs of the labels; the last ones are kept."""
        key = theta.tobytes()
        if self._known is None or self._known[0] != key:
            size = self.n_columns
            slopes, biases = theta[0] + theta[1 : size + 1], theta[size + 1 :]
            logits = slopes[self.column] * self.score + biases[self.column]
            self._known = key, self.sign * logits
        return self._known[1]

    def _sums(self, values: FloatArray) -> FloatArray:
        return np.bincount(self.column, values, self.n_columns).astype(np.float64, copy=False)


def typical_size(scores: FloatArray, row_weights: FloatArray | None = None) -> float:
    """Return the root of the weighted mean square of scores, or 1 if all are close to 0."""
    if row_weights is not None:
        scores, row_weights = scores[row_weights > 0], row_weights[row_weights > 0]
    largest = np.abs(scores).max(initial=0.0)
    if largest < SMALLEST_SCORES:
        return 1.0
    squares = ((scores / largest) ** 2).reshape(len(scores), -1).mean(axis=1)
    size = float(largest * np.sqrt(np.average(squares, weights=row_weights)))
    return size if size > 0.0 else 1.0
