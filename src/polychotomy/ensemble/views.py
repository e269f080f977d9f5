"""Two views of inputs: standardised, and normal scores of ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from ..core.registry import stored
from ..core.state import Array, Field, Indices, Sizes, require
from ..core.types import FloatArray, IntArray

VIEWS = ("standardised", "ranks")
# Columns with at most this many distinct values are standardised: their ranks say little.
FEW_VALUES = 10
# The least share of the weight below a rank: its normal score is -8.2.
SMALLEST_SHARE = 1e-16


@stored("fitted.view")
@dataclass(frozen=True)
class View:
    """Inputs as the kernel reads them, with mean 0 and deviation 1.

    Note: ranks are stored as knots, and new values are interpolated between them. Ranks computed
    among the new rows would make a prediction depend on the other rows of the call.

    Parameters
    ----------
    means, deviations : ndarray of shape (n_features,)
        Means and deviations of the training rows, after ranking. A constant input has the
        deviation 1.
    values, scores : ndarray of shape (n_points,)
        The knots of all ranked inputs, one input after another. A number between two values gets
        a score between their scores.
    starts : ndarray of shape (n_features + 1,)
        Where the knots of every input start. An input without knots is not ranked.
    """

    means: FloatArray
    deviations: FloatArray
    values: FloatArray
    scores: FloatArray
    starts: IntArray

    fitted_state: ClassVar[dict[str, Field]] = {
        "means": Array("d"),
        "deviations": Array("d", above=0.0),
        "values": Array("k"),
        "scores": Array("k"),
        "starts": Indices("s"),
    }

    def check_state(self, sizes: Sizes) -> None:
        """Check that the knots of all inputs are present."""
        starts = self.starts
        ordered = sizes["s"] == sizes["d"] + 1 and starts[0] == 0 and starts[-1] == sizes["k"]
        require(ordered and (np.diff(starts) >= 0).all(), self, "has starts out of order")

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the inputs in this view."""
        Z = np.array(X, dtype=np.float64)
        for j in range(Z.shape[1]):
            knots = slice(self.starts[j], self.starts[j + 1])
            if knots.start < knots.stop:
                Z[:, j] = np.interp(Z[:, j], self.values[knots], self.scores[knots])
        Z -= self.means
        Z /= self.deviations
        return Z


def learn_view(name: str, X: FloatArray, weights: FloatArray) -> View:
    """Learn a view, one of `VIEWS`, from training rows."""
    n_features = X.shape[1]
    knots = [
        _normal_scores(X[:, j], weights) if name == "ranks" else (np.empty(0), np.empty(0))
        for j in range(n_features)
    ]
    starts = np.concatenate([[0], np.cumsum([len(values) for values, _ in knots])])
    view = View(
        np.zeros(n_features),
        np.ones(n_features),
        np.concatenate([values for values, _ in knots]),
        np.concatenate([scores for _, scores in knots]),
        starts.astype(np.intp),
    )
    Z = view.transform(X)
    share = weights / weights.sum()
    means = share @ Z
    deviations = np.sqrt(share @ (Z - means) ** 2)
    # An input that varies only by rounding is constant.
    constant = deviations <= 1e-12 * np.abs(Z).max(axis=0, initial=0.0)
    return replace(view, means=means, deviations=np.where(constant, 1.0, deviations))


def _normal_scores(column: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    values, where = np.unique(column, return_inverse=True)
    if len(values) <= FEW_VALUES:
        return np.empty(0), np.empty(0)
    counts = np.bincount(np.ravel(where), weights)
    # From the nearer end, because a sum over large weights loses the small ones. What is lost even
    # so would have infinite scores.
    below, above = np.cumsum(counts), np.cumsum(counts[::-1])[::-1]
    low, high = (below - 0.5 * counts) / below[-1], (above - 0.5 * counts) / above[0]
    scores = np.where(
        low < high, ndtri(np.maximum(low, SMALLEST_SHARE)), -ndtri(np.maximum(high, SMALLEST_SHARE))
    )
    return values, scores
