"""Decoders as graphs: one function for each decoder with probabilities."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from ..core.codebook import Codebook
from ..core.math import SMALLEST_PROBABILITY
from ..core.types import FloatArray
from ..decoding import (
    BayesianDecoding,
    BranchProduct,
    CodeCoupling,
    Decoder,
    PairwiseCoupling,
    ShrunkSoftMax,
    SoftMax,
    WinnerTakesAll,
)
from ..decoding.bayesian import LARGEST_RATIO
from ._errors import ExportError
from ._graph import Tensor
from ._linear import solve
from ._machines import GraphMargins

# Steps of Newton's method; each multiplies the number of right digits, once it is near.
NEWTON_STEPS = 40
HALVINGS = 60
# As in the core.
SMALLEST_R = 1e-12


@singledispatch
def decoded(decoder: Decoder, margins: GraphMargins, codebook: Codebook) -> Tensor:
    """Return class probabilities."""
    raise ExportError(f"The decoder {type(decoder).__name__} cannot be exported.")


def _probability(margins: GraphMargins) -> Tensor:
    assert margins.probability is not None
    return margins.probability


@decoded.register
def _(decoder: WinnerTakesAll, margins: GraphMargins, codebook: Codebook) -> Tensor:
    return _probability(margins).columns(codebook.rest).normalised(codebook.n_classes)


@decoded.register
def _(decoder: SoftMax, margins: GraphMargins, codebook: Codebook) -> Tensor:
    n_classes = codebook.n_classes
    weights: FloatArray = decoder.weights_
    if codebook.rest is not None:
        scores = margins.mean.columns(codebook.rest) * weights[:, 0] + weights[:, 1]
        return scores.softmax()
    # The features of a class are its scores against the others: a linear map of the pairs.
    linear = np.zeros((codebook.n_columns, n_classes))
    source, sign = codebook.canonical
    for pair, (i, j) in enumerate(zip(*np.triu_indices(n_classes, 1), strict=True)):
        linear[source[pair], i] += sign[pair] * weights[i, j - 1]
        linear[source[pair], j] -= sign[pair] * weights[j, i]
    return (margins.mean @ linear + weights[:, -1]).softmax()


@decoded.register
def _(decoder: ShrunkSoftMax, margins: GraphMargins, codebook: Codebook) -> Tensor:
    n_classes = codebook.n_classes
    weights: FloatArray = decoder.weights_
    if codebook.rest is not None:
        parts = [margins.mean.columns(codebook.rest)]
    else:
        against = _matrix(margins.mean, codebook, -1.0) * (1.0 / n_classes)
        largest = np.where(np.eye(n_classes, dtype=bool), 1e300, 0.0)
        parts = [against.sum(2).narrowed(2), (against + largest).smallest(2).narrowed(2)]
    scores = margins.mean.graph.constant(weights[:, -1][None])
    for number, part in enumerate(parts):
        centred = part - part.sum(1) * (1.0 / n_classes)
        scores = scores + centred * weights[:, number]
    return scores.softmax()


def _matrix(pairs: Tensor, codebook: Codebook, factor: float) -> Tensor:
    """Return values of pairs as (n_rows, n_classes, n_classes); below the diagonal, times factor.

    The diagonal is 0. For probabilities, 1 - r below the diagonal is ``factor=-1`` and a shift.
    """
    n_classes = codebook.n_classes
    source, sign = codebook.canonical
    first, second = np.triu_indices(n_classes, 1)
    spread = np.zeros((codebook.n_columns, n_classes * n_classes))
    spread[source, first * n_classes + second] = sign
    spread[source, second * n_classes + first] = factor * sign
    shape = np.array([-1, n_classes, n_classes])
    return pairs.graph.op("Reshape", pairs @ spread, shape)


def _pairwise(margins: GraphMargins, codebook: Codebook) -> Tensor:
    """Return r_ij, the probability of i given i or j, with 0 on the diagonal."""
    half = np.where(np.eye(codebook.n_classes, dtype=bool), 0.0, 0.5)
    return _matrix(_probability(margins) - 0.5, codebook, -1.0) + half


@decoded.register
def _(decoder: PairwiseCoupling, margins: GraphMargins, codebook: Codebook) -> Tensor:
    r = _pairwise(margins, codebook)
    if decoder.method == "wu_lin_weng":
        return _wu_lin_weng(r, codebook.n_classes)
    if decoder.method == "hastie_tibshirani" and decoder.pair_weights is None:
        return _hastie_tibshirani(r, codebook.n_classes)
    raise ExportError(
        f"PairwiseCoupling({decoder.method!r}) cannot be exported, or not with pair_weights; "
        "'wu_lin_weng' and 'hastie_tibshirani' can."
    )


def _transposed(matrix: Tensor) -> Tensor:
    return matrix.apply("Transpose", perm=[0, 2, 1])


def _wu_lin_weng(r: Tensor, n_classes: int) -> Tensor:
    """Solve GALAR (19)-(21): Q p = b e with sum p = 1, so that p is Q^-1 e, normalised."""
    other = _transposed(r)
    diagonal = (other * other).sum(2) * np.eye(n_classes)
    # Q is singular where the pairs agree; Q + e e' is not, and has the same solution: with
    # e'p = 1, (Q + e e') p = (b + 1) e.
    system = diagonal - r * other + np.ones((n_classes, n_classes))
    ones = (diagonal.sum(2) * 0.0) + 1.0
    p = solve(system, ones, n_classes).narrowed(2)
    return r.graph.op("Max", p / p.sum(1), 0.0)


def _hastie_tibshirani(r: Tensor, n_classes: int) -> Tensor:
    """Minimise the Kullback-Leibler distance over s = log p, by damped steps of Newton's method.

    The problem is the Bradley-Terry model's, convex in s. A step of length log(1 + d) / d, with d
    the largest change between two classes, never increases the distance (Bach, 2010, for
    functions whose third derivative is bounded by their second).
    """
    off = 1.0 - np.eye(n_classes)
    clipped = r.clip(SMALLEST_R, 1.0 - SMALLEST_R)
    odds = clipped.log() - (1.0 - clipped).log()
    start = (odds * off).sum(2) * (1.0 / n_classes)  # exact where the pairs agree

    def step(s: Tensor) -> list[Tensor]:
        mu = (s - _transposed(s)).sigmoid()
        gradient = ((clipped - mu) * off).sum(2)
        bend = mu * (1.0 - mu) * off
        # The smallest number keeps rows solvable in which all pairs are decided.
        hessian = bend.sum(2) * np.eye(n_classes) - bend + (1.0 / n_classes + 0.0 * off)
        hessian = hessian + 1e-13 * np.eye(n_classes)
        change = solve(hessian, gradient, n_classes)
        size = (change.largest(1) - change.smallest(1)) + 1e-12
        return [s + change * ((1.0 + size).log() / size)]

    (s,) = r.graph.repeat(NEWTON_STEPS, [start], step)
    return s.narrowed(2).softmax()


@decoded.register
def _(decoder: CodeCoupling, margins: GraphMargins, codebook: Codebook) -> Tensor:
    if codebook.rest is None:
        raise ExportError("CodeCoupling can be exported for one-vs-rest codes only.")
    r = _probability(margins).columns(codebook.rest).clip(SMALLEST_R, 1.0 - SMALLEST_R)
    return _one_vs_rest(r, codebook.n_classes)


def _one_vs_rest(r: Tensor, n_classes: int) -> Tensor:
    """Solve sum p(l) = 1, with p the root in (0, 1) of ``l p^2 - (1 + l) p + r = 0``.

    This is r/p - (1-r)/(1-p) = l, the optimum of the Kullback-Leibler distance to all columns, l
    the multiplier of the sum. Each p falls with l, which lies in [-2, n_classes + 1].
    """
    graph = r.graph

    def p_at(multiplier: Tensor) -> Tensor:
        linear = 1.0 + multiplier
        inside = graph.op("Max", linear * linear - 4.0 * (multiplier * r), 0.0)
        root = inside.apply("Sqrt")
        below = graph.op("Less", linear, 0.0)
        divisor = graph.op("Where", below, -1.0, linear + root)
        safe = graph.op("Where", below, 2.0 * multiplier, 1.0)
        return graph.op("Where", below, (linear - root) / safe, 2.0 * r / divisor)

    def halve(low: Tensor, high: Tensor) -> list[Tensor]:
        middle = 0.5 * (low + high)
        above = graph.op("Greater", p_at(middle).sum(1), 1.0)
        return [graph.op("Where", above, middle, low), graph.op("Where", above, high, middle)]

    zero = r.sum(1) * 0.0
    low, high = zero - 2.5, zero + (n_classes + 1.0)
    low, high = graph.repeat(HALVINGS, [low, high], halve)
    p = p_at(0.5 * (low + high))
    return p / p.sum(1)


@decoded.register
def _(decoder: BranchProduct, margins: GraphMargins, codebook: Codebook) -> Tensor:
    tree, r = codebook.branches, _probability(margins)
    assert tree is not None
    reached: dict[int, Tensor] = {}
    leaves: dict[int, Tensor] = {}
    for columns in tree.levels:
        for column in np.asarray(columns).tolist():
            positive = r.columns([column])
            for side, chance in enumerate((positive, 1.0 - positive)):
                here = chance * reached[column] if column in reached else chance
                child = int(tree.children[column, side])
                if child >= 0:
                    reached[child] = here
                else:
                    leaves[-1 - child] = here
    return r.graph.concatenate([leaves[k] for k in range(codebook.n_classes)], axis=1)


@decoded.register
def _(decoder: BayesianDecoding, margins: GraphMargins, codebook: Codebook) -> Tensor:
    mean = margins.mean
    graph = mean.graph
    if (decoder.priors_ <= 0.0).any():
        raise ExportError("BayesianDecoding with a prior of 0 cannot be exported.")
    if margins.variance is not None and margins.noise is not None:
        ratio = 2.0 * mean / (margins.variance + margins.noise)
    else:
        r = _probability(margins).clip(SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY)
        ratio = r.log() - (1.0 - r).log() - decoder.side_log_odds_
    ratio = ratio.clip(-LARGEST_RATIO, LARGEST_RATIO)
    start = mean.sum(1) * 0.0 + np.log(decoder.priors_)[None]
    current = start
    for column, word in enumerate(codebook.matrix.T):
        concerned = np.flatnonzero(word)
        sign = word[concerned].astype(np.float64)
        likelihood = (ratio.columns([column]) * sign).log_sigmoid()
        before = (current if decoder.update == "sequential" else start).columns(concerned)
        mass = graph.op("ReduceLogSumExp", before, np.array([1]), keepdims=1)
        after = graph.op("ReduceLogSumExp", before + likelihood, np.array([1]), keepdims=1)
        spread = np.zeros((len(concerned), codebook.n_classes))
        spread[np.arange(len(concerned)), concerned] = 1.0
        current = current + (likelihood + mass - after) @ spread
    return current.softmax()
