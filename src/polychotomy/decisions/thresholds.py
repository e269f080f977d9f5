"""Class thresholds: a factor for every class, so that decisions suit a metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..core.math import clip_probability
from ..core.types import FloatArray, IntArray

MAX_ROUNDS = 50
# A missed floor counts more than any gain of a metric, which is at most 1.
FLOOR_PRICE = 1e6
# Differences of metrics below this are rounding.
ROUNDING = 1e-12

# A metric reads the weight of the rows of a class that are predicted right, that of the rows
# predicted as the class, and that of the rows of the class; the classes are the last axis.
Metric = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def accuracy(right: FloatArray, predicted: FloatArray, true: FloatArray) -> FloatArray:
    """Return the share of rows that are right."""
    found: FloatArray = right.sum(axis=-1) / true.sum()
    return found


def balanced_accuracy(right: FloatArray, predicted: FloatArray, true: FloatArray) -> FloatArray:
    """Return the mean recall of the classes."""
    there = true > 0
    found: FloatArray = (right[..., there] / true[there]).mean(axis=-1)
    return found


def macro_f1(right: FloatArray, predicted: FloatArray, true: FloatArray) -> FloatArray:
    """Return the mean F1 of the classes; that of a class without any row is 0."""
    total = predicted + true
    found: FloatArray = (2.0 * right / np.where(total > 0, total, 1.0)).mean(axis=-1)
    return found


METRICS: dict[str, Metric] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "macro_f1": macro_f1,
}


@dataclass(frozen=True)
class Tuned:
    """Factors of the classes, and what they reach on the rows they were found on.

    Attributes
    ----------
    factors : ndarray of shape (n_classes,)
        The class with the largest factor times probability is predicted; their product is 1.
    score, before : float
        The metric with the factors, and without.
    recalls : ndarray of shape (n_classes,)
        The recall of every class with the factors.
    """

    factors: FloatArray
    score: float
    before: float
    recalls: FloatArray


def tune_factors(
    p: FloatArray,
    y: IntArray,
    metric: str = "macro_f1",
    floors: FloatArray | None = None,
    weights: FloatArray | None = None,
) -> Tuned:
    """Find factors of the classes that maximise a metric, with floors for the recalls.

    Predicted is ``argmax_k factor_k p_k``. That is the decision of least expected cost if a
    missed row of class k costs ``factor_k``. The factors are changed one at a time, each to the
    best of all values that change a prediction, until none improves the metric.

    Note: coordinate ascent over exact steps, from two starts (equal factors, and the inverse
    class frequencies). The metric is piecewise constant, so that no gradient helps; a grid for
    every class grows exponentially with the classes.

    Parameters
    ----------
    p : ndarray of shape (n_rows, n_classes)
        Class probabilities of rows that were held out.
    y : ndarray of int of shape (n_rows,)
        Their classes.
    metric : str, default="macro_f1"
        A name in `METRICS`.
    floors : ndarray of shape (n_classes,), default=None
        The least recall of every class; meeting them comes before the metric.
    weights : ndarray of shape (n_rows,), default=None
        The weights of the rows.

    Returns
    -------
    tuned : Tuned
    """
    logs = np.log(clip_probability(p))
    sizes = np.ones(len(y)) if weights is None else weights
    true = np.bincount(y, sizes, p.shape[1]).astype(float)
    search = _Search(logs, y, sizes, true, METRICS[metric], floors)
    equal = np.zeros(p.shape[1])
    rare = -np.log(np.where(true > 0, true, true.max()) / true.sum())
    found = [search.climb(start) for start in (equal, rare - rare.mean())]
    # Of equally good ends, that of equal factors.
    value, offsets = max(found, key=lambda one: one[0])
    if value <= search.value(equal) + ROUNDING:
        offsets = equal
    right, predicted = search.counts(offsets)
    own = METRICS[metric]
    return Tuned(
        factors=np.exp(offsets - offsets.mean()),
        score=float(own(right, predicted, true)),
        before=float(own(*search.counts(equal), true)),
        recalls=right / np.where(true > 0, true, 1.0),
    )


class _Search:
    """Coordinate ascent over the logarithms of the factors."""

    def __init__(
        self,
        logs: FloatArray,
        y: IntArray,
        sizes: FloatArray,
        true: FloatArray,
        metric: Metric,
        floors: FloatArray | None,
    ) -> None:
        self.logs, self.y, self.sizes, self.true = logs, y, sizes, true
        self.metric, self.floors = metric, floors

    def objective(self, right: FloatArray, predicted: FloatArray) -> FloatArray:
        value = self.metric(right, predicted, self.true)
        if self.floors is None:
            return value
        recalls = right / np.where(self.true > 0, self.true, 1.0)
        missing = np.maximum(self.floors - recalls, 0.0)
        missing = np.where(missing > ROUNDING, missing, 0.0)
        short: FloatArray = missing[..., self.true > 0].sum(axis=-1)
        return value - FLOOR_PRICE * short

    def counts(self, offsets: FloatArray) -> tuple[FloatArray, FloatArray]:
        chosen = (self.logs + offsets).argmax(axis=1)
        n_classes = len(offsets)
        hit = chosen == self.y
        right = np.bincount(self.y[hit], self.sizes[hit], n_classes).astype(float)
        return right, np.bincount(chosen, self.sizes, n_classes).astype(float)

    def value(self, offsets: FloatArray) -> float:
        return float(self.objective(*self.counts(offsets)))

    def climb(self, start: FloatArray) -> tuple[float, FloatArray]:
        offsets, best = start.copy(), self.value(start)
        for _ in range(MAX_ROUNDS):
            before = best
            for k in range(len(offsets)):
                value, place = self.best_place(offsets, k)
                if value > best + ROUNDING:
                    best, offsets[k] = value, place
            if best <= before + ROUNDING:
                break
        return best, offsets

    def best_place(self, offsets: FloatArray, k: int) -> tuple[float, float]:
        """Return the best value over all offsets of class k, and the middle of its interval."""
        scores = self.logs + offsets
        scores[:, k] = -np.inf
        other = scores.argmax(axis=1)
        # From this offset on, a row is predicted as k.
        turn = scores[np.arange(len(other)), other] - self.logs[:, k]
        order = np.argsort(turn, kind="stable")
        turn, other, y, sizes = turn[order], other[order], self.y[order], self.sizes[order]
        n_rows, n_classes = len(turn), len(offsets)
        lost = np.zeros((n_rows + 1, n_classes))
        lost[np.arange(1, n_rows + 1), other] = sizes
        predicted = lost[1:].sum(axis=0) - lost.cumsum(axis=0)
        predicted[:, k] = np.concatenate([[0.0], np.cumsum(sizes)])
        lost[1:][other != y] = 0.0
        right = lost[1:].sum(axis=0) - lost.cumsum(axis=0)
        right[:, k] = np.concatenate([[0.0], np.cumsum(sizes * (y == k))])
        values = self.objective(right, predicted)
        # Between equal turns there is no offset.
        edges = np.concatenate([[turn[0] - 2.0], turn, [turn[-1] + 2.0]])
        values[edges[1:] <= edges[:-1]] = -np.inf
        best = values.max()
        middles = (edges[1:] + edges[:-1]) / 2.0
        ties = np.flatnonzero(values >= best - ROUNDING)
        nearest = ties[np.abs(middles[ties] - offsets[k]).argmin()]
        return float(best), float(middles[nearest])
