"""Combining the class probabilities of several members."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from ..core.empirical_bayes import ClassScores, fit_shrunk
from ..core.math import SMALLEST_PROBABILITY, softmax
from ..core.registry import stored
from ..core.state import Array, Field
from ..core.types import FloatArray, IntArray

# The prior of the weights counts like this many rows for every member. Without it, EM could give
# a member the weight 0 on few rows; with many more, no member could lose its weight.
PSEUDO_COUNTS = 1.0
MAX_ROUNDS = 10_000
SMALL_CHANGE = 1e-10


def mixture_weights(likelihoods: FloatArray, row_weights: FloatArray) -> FloatArray:
    """Return the weights of members by EM on the probability of the true class.

    They maximise ``sum_i v_i log(sum_m w_m p_im) + sum_m log w_m``, a concave function, over
    weights that sum to 1.

    Parameters
    ----------
    likelihoods : ndarray of shape (n_rows, n_members)
        The probability that each member gave to the true class of each row.
    row_weights : ndarray of shape (n_rows,)
        The weights v of the rows.

    Returns
    -------
    weights : ndarray of shape (n_members,)
    """
    likelihoods = np.maximum(likelihoods, SMALLEST_PROBABILITY)
    n_members = likelihoods.shape[1]
    weights = np.full(n_members, 1.0 / n_members)
    for _ in range(MAX_ROUNDS):
        shares = likelihoods * weights
        shares *= (row_weights / shares.sum(axis=1))[:, None]
        counts = shares.sum(axis=0) + PSEUDO_COUNTS
        before, weights = weights, counts / counts.sum()
        if np.abs(weights - before).max() <= SMALL_CHANGE:
            break
    return weights


def arithmetic_mean(p: FloatArray, weights: FloatArray) -> FloatArray:
    """Return ``sum_m w_m p_m`` for p of shape (n_members, n_rows, n_classes)."""
    mean: FloatArray = np.einsum("m,mik->ik", weights, p)
    return mean


def geometric_mean(p: FloatArray, weights: FloatArray) -> FloatArray:
    """Return ``prod_m p_m^w_m``, normalised, for p of shape (n_members, n_rows, n_classes)."""
    return softmax(np.einsum("m,mik->ik", weights, np.log(np.maximum(p, SMALLEST_PROBABILITY))))


@stored("fitted.log_linear_pool")
@dataclass(frozen=True)
class LogLinearPool:
    """``softmax(sum_m a_m z_m + b)``, with z_m the centred log probabilities of member m.

    Parameters
    ----------
    slopes : ndarray of shape (n_members,)
        The slopes a. A member may get a slope of about 0, or below 0 if it only repeats others.
    biases : ndarray of shape (n_classes,)
        The biases b.
    """

    slopes: FloatArray
    biases: FloatArray

    fitted_state: ClassVar[dict[str, Field]] = {"slopes": Array("k"), "biases": Array("M")}

    def transform(self, p: FloatArray) -> FloatArray:
        """Return the pooled probabilities, for p of shape (n_members, n_rows, n_classes)."""
        return softmax(np.einsum("m,mik->ik", self.slopes, _centred_logs(p)) + self.biases)


def fit_log_linear(p: FloatArray, y: IntArray, row_weights: FloatArray | None) -> LogLinearPool:
    """Fit a log-linear pool whose slopes shrink to equal ones, by empirical Bayes.

    ``a_m = (1 + d) / K + u_m`` for K members: d, all u and all b are three groups, each with a
    penalty whose strength the rows decide.

    Note: tried instead on the same probabilities (benchmarks/pool_weights.py): weights on the
    simplex that maximise the likelihood of the geometric mean, pulled to equal ones by the weight
    of some rows, which gained about as much, with a pull that has to be chosen; greedy selection,
    which was worse than the earlier weights.

    Parameters
    ----------
    p : ndarray of shape (n_members, n_rows, n_classes)
        The members' out-of-fold probabilities.
    y : ndarray of shape (n_rows,)
        The class numbers.
    row_weights : ndarray of shape (n_rows,) or None
        The weights of the rows.

    Returns
    -------
    pool : LogLinearPool
    """
    model, groups = log_linear_model(p, y, row_weights)
    n_members, n_classes = p.shape[0], p.shape[2]
    theta = fit_shrunk(model, groups).theta
    slopes = (1.0 + theta[0]) / n_members + theta[1 : 1 + n_members]
    return LogLinearPool(slopes, theta[-n_classes:])


def log_linear_model(
    p: FloatArray, y: IntArray, row_weights: FloatArray | None
) -> tuple[ClassScores, list[IntArray]]:
    """Return the likelihood of a log-linear pool in d, u and b, and these groups."""
    z = _centred_logs(p)
    n_members, n_rows, n_classes = z.shape
    features = np.ones((n_rows, n_classes, n_members + 1))
    features[:, :, :-1] = z.transpose(1, 2, 0)
    design = np.zeros((n_classes, n_members + 1, 1 + n_members + n_classes))
    design[:, :-1, 0] = 1.0 / n_members
    design[:, np.arange(n_members), 1 + np.arange(n_members)] = 1.0
    design[np.arange(n_classes), -1, 1 + n_members + np.arange(n_classes)] = 1.0
    model = ClassScores(
        *(features, y, row_weights, design.reshape(-1, design.shape[2])), offset=z.mean(axis=0)
    )
    ends = np.cumsum([0, 1, n_members, n_classes])
    return model, [np.arange(start, end) for start, end in pairwise(ends)]


def _centred_logs(p: FloatArray) -> FloatArray:
    logs = np.log(np.maximum(p, SMALLEST_PROBABILITY))
    centred: FloatArray = logs - logs.mean(axis=-1, keepdims=True)
    return centred
