"""Combining the class probabilities of several members."""

from __future__ import annotations

import numpy as np

from ..core.math import SMALLEST_PROBABILITY, softmax
from ..core.types import FloatArray

# The prior of the weights counts like this many rows for every member. Without it, EM could give
# a member the weight 0 on few rows.
PSEUDO_COUNTS = 5.0
MAX_ROUNDS = 10_000
SMALL_CHANGE = 1e-10


def mixture_weights(likelihoods: FloatArray, row_weights: FloatArray) -> FloatArray:
    """Return the weights of members by EM on the probability of the true class.

    They maximise ``sum_i v_i log(sum_m w_m p_im) + 5 sum_m log w_m``, a concave function, over
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
