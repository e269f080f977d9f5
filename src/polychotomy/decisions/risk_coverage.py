"""Risk and coverage: how many rows are answered, and how many of those answers are wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.types import FloatArray
from .inputs import class_probabilities, numbers_of


@dataclass(frozen=True)
class RiskCoverage:
    """The error among the answered rows, for every share of rows that could be answered.

    Attributes
    ----------
    coverage : ndarray of shape (n_rows,)
        The shares of answered rows: 1/n, 2/n, ..., 1. The surest rows are answered first.
    risk : ndarray of shape (n_rows,)
        The mean loss (by default: the error) of the answered rows. Rows that are equally sure
        count as their mean, so that their order does not matter.
    threshold : ndarray of shape (n_rows,)
        The least confidence that is answered.
    area : float
        The area under the curve: the mean risk over all coverages. Smaller is better.
    best_area : float
        The area if every right answer were surer than every wrong one.

    Examples
    --------
    >>> from polychotomy.decisions import risk_coverage
    >>> curve = risk_coverage([0, 0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8]])
    >>> curve.risk.round(2), round(curve.area, 3)
    (array([0.  , 0.  , 0.33, 0.25]), 0.146)
    """

    coverage: FloatArray
    risk: FloatArray
    threshold: FloatArray
    area: float
    best_area: float

    def at(self, coverage: float) -> float:
        """Return the error if at least this share of the rows is answered."""
        place = int(np.searchsorted(self.coverage, coverage - 1e-12))
        return float(self.risk[min(place, len(self.risk) - 1)])


def risk_coverage(y: ArrayLike, p: ArrayLike, classes: Any = None) -> RiskCoverage:
    """Compare how sure a classifier is with how often it errs.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The true classes.
    p : array-like of shape (n_rows, n_classes)
        Class probabilities of rows the classifier was not trained on. A row's confidence is its
        largest probability.
    classes : array-like of shape (n_classes,), default=None
        The labels of the columns of `p`; those in `y`, sorted, by default.

    Returns
    -------
    curve : RiskCoverage

    References
    ----------
    El-Yaniv and Wiener (2010), On the foundations of noise-free selective classification; Geifman,
    Uziel and El-Yaniv (2019), Bias-reduced uncertainty estimation, for the area.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import PolychotomyClassifier
    >>> from polychotomy.decisions import risk_coverage
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = PolychotomyClassifier().fit(X[::2], y[::2])
    >>> curve = risk_coverage(y[1::2], clf.predict_proba(X[1::2]))
    >>> round(curve.at(1.0), 3), curve.at(0.8)
    (0.027, 0.0)
    """
    probability = class_probabilities(p)
    labels = np.unique(np.asarray(y)) if classes is None else np.asarray(classes)
    if len(labels) != probability.shape[1]:
        raise ValueError(
            f"classes must name the {probability.shape[1]} columns of p; got {len(labels)} labels."
        )
    wrong = probability.argmax(axis=1) != numbers_of(y, labels)
    return curve_of(wrong.astype(float), probability.max(axis=1))


def curve_of(
    loss: FloatArray, confidence: FloatArray, weights: FloatArray | None = None
) -> RiskCoverage:
    """Return the curve of losses and confidences of rows.

    Parameters
    ----------
    loss : ndarray of shape (n_rows,)
        The loss of every row if it is answered: 0 or 1 for right or wrong, or a cost.
    confidence : ndarray of shape (n_rows,)
        How sure the answer is; any increasing function of it gives the same curve.
    weights : ndarray of shape (n_rows,), default=None
        How much each row counts; rows of weight 0 are left out.

    Returns
    -------
    curve : RiskCoverage
    """
    if weights is not None:
        used = weights > 0
        loss, confidence, weights = loss[used], confidence[used], weights[used]
    n_rows = len(loss)
    if n_rows == 0:
        raise ValueError("A risk-coverage curve needs at least one row.")
    counted = np.ones(n_rows) if weights is None else weights
    order, cheapest = np.argsort(-confidence, kind="stable"), np.argsort(loss, kind="stable")
    sure, lost, own = confidence[order], loss[order], counted[order]
    group = np.concatenate([[0], np.cumsum(sure[1:] < sure[:-1])])
    mean = np.bincount(group, lost * own) / np.bincount(group, own)
    answered = np.cumsum(own)
    risk = np.cumsum(mean[group] * own) / answered
    best = np.cumsum((loss * counted)[cheapest]) / np.cumsum(counted[cheapest])
    return RiskCoverage(
        coverage=answered / answered[-1],
        risk=risk,
        threshold=sure,
        area=float(np.average(risk, weights=own)),
        best_area=float(np.average(best, weights=counted[cheapest])),
    )
