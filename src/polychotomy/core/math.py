"""Small pure functions that several packages share."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from .types import FloatArray, SignArray

# Probabilities are kept this far from 0 and 1 before a logarithm is taken.
SMALLEST_PROBABILITY = 1e-12


def clip_probability(probability: FloatArray) -> FloatArray:
    """Keep probabilities away from 0 and 1, where their logarithms are infinite."""
    return np.clip(probability, SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY)


def log_odds(probability: FloatArray) -> FloatArray:
    """Return ``log(p / (1 - p))``, finite even at 0 and 1."""
    values: FloatArray = logit(clip_probability(probability))
    return values


def sigmoid(values: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Return ``1 / (1 + exp(-x))`` without overflow."""
    result: FloatArray = expit(values, out=out)
    return result


def log_sigmoid(values: FloatArray) -> FloatArray:
    """Return ``log(1 / (1 + exp(-x)))`` without overflow."""
    result: FloatArray = -np.logaddexp(0.0, -values)
    return result


def softplus(values: FloatArray) -> FloatArray:
    """Return ``log(1 + exp(x))`` without overflow; a third of the time of `np.logaddexp`."""
    result: FloatArray = np.maximum(values, 0.0) + np.log1p(np.exp(-np.abs(values)))
    return result


def softmax(scores: FloatArray) -> FloatArray:
    """Return the soft-max over the last axis."""
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: FloatArray = shifted / shifted.sum(axis=-1, keepdims=True)
    return result


def normalise(weights: FloatArray) -> FloatArray:
    """Divide nonnegative rows by their sums; a row of zeros becomes uniform."""
    total = weights.sum(axis=1, keepdims=True)
    empty = total <= 0.0
    result: FloatArray = np.where(
        empty, 1.0 / weights.shape[1], weights / np.where(empty, 1.0, total)
    )
    return result


def squash(values: FloatArray) -> FloatArray:
    """Map the reals into (-1/3, 1/3), keeping their order, to break ties of whole numbers."""
    result: FloatArray = values / (3.0 * (np.abs(values) + 1.0))
    return result


def favour(scores: FloatArray, *criteria: FloatArray) -> FloatArray:
    """Give the best class by the criteria, in their order, the unique largest score.

    `scores` must agree with the criteria up to rounding and ties. Where the winner is not yet
    ahead, its score is raised one rounding unit above the others.

    Note: decoders return scores and `predict` takes the largest, so ties must be broken in the
    scores. Adding a small multiple of each criterion instead would change scores that are not
    tied, and no multiple is small enough for all scores.
    """
    if criteria[0] is scores:
        best = scores == scores.max(axis=1, keepdims=True)
        if np.count_nonzero(best) == len(scores):
            return scores
    best = np.ones(scores.shape, dtype=bool)
    for criterion in criteria:
        left = np.where(best, criterion, -np.inf)
        best &= left == left.max(axis=1, keepdims=True)
    rows, winner = np.arange(len(scores)), best.argmax(axis=1)
    others = scores.copy()
    others[rows, winner] = -np.inf
    raised = scores.copy()
    raised[rows, winner] = np.maximum(
        scores[rows, winner], np.nextafter(others.max(axis=1), np.inf)
    )
    return raised


def column_sums(positive: FloatArray, negative: FloatArray, matrix: SignArray) -> FloatArray:
    """Sum for every class, over the columns, the values of the side it is on.

    Note: a matrix product is faster, but the rounding of its sums depends on how many rows there
    are. Here a row gets the same bits in any batch.
    """
    sums = np.zeros((len(matrix), len(positive)))
    for column, word in enumerate(matrix.T):
        sums[word > 0] += positive[:, column]
        sums[word < 0] += negative[:, column]
    return np.ascontiguousarray(sums.T)


@cache
def pair_columns(n_classes: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first and second class of the pairs (0, 1), (0, 2), ..., in that order."""
    first, second = np.triu_indices(n_classes, 1)
    return first, second


def to_square(r: FloatArray, n_classes: int) -> FloatArray:
    """Turn canonical one-vs-one columns into matrices with ``R[:, j, i] = 1 - R[:, i, j]``.

    The diagonal is 0.
    """
    first, second = pair_columns(n_classes)
    square = np.zeros((len(r), n_classes, n_classes))
    square[:, first, second] = r
    square[:, second, first] = 1.0 - r
    return square
