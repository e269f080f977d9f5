"""Conformal scores: how strange a class would be for a row, and what is too strange.

A score is small for likely classes. The set of a row has all classes whose score is at most a
threshold, the right quantile of the scores of the true classes of held-out rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.types import FloatArray, IntArray

# All scores are below this threshold, which a model file can hold (infinity it cannot).
ALWAYS = float(np.finfo(np.float64).max)

Score = Callable[..., FloatArray]


def lac(p: FloatArray, u: FloatArray, penalty: float, rank: int) -> FloatArray:
    """Return ``1 - p_k`` (LAC: least ambiguous sets).

    Sadinle, Lei and Wasserman (2019), Least ambiguous set-valued classifiers with bounded error
    levels.
    """
    return 1.0 - p


def aps(p: FloatArray, u: FloatArray, penalty: float, rank: int) -> FloatArray:
    """Return the probability of all classes that are likelier than k, and u times that of k.

    Romano, Sesia and Candes (2020), Classification with valid and adaptive coverage, equation (5)
    (APS: adaptive sets). With u = 0 the most likely class has the score 0.
    """
    order = np.argsort(-p, axis=1, kind="stable")
    ranked = np.take_along_axis(p, order, axis=1)
    above = np.cumsum(ranked, axis=1) - ranked
    scores = np.empty_like(p)
    np.put_along_axis(scores, order, above + u[:, None] * ranked, axis=1)
    return scores


def raps(p: FloatArray, u: FloatArray, penalty: float, rank: int) -> FloatArray:
    """Return the score of `aps`, plus a penalty for every rank beyond the given one.

    Angelopoulos, Bates, Malik and Jordan (2021), Uncertainty sets for image classifiers using
    conformal prediction, equation (4) (RAPS: regularised adaptive sets).
    """
    place = np.argsort(np.argsort(-p, axis=1, kind="stable"), axis=1) + 1
    found: FloatArray = aps(p, u, penalty, rank) + penalty * np.maximum(place - rank, 0)
    return found


SCORES: dict[str, Score] = {"lac": lac, "aps": aps, "raps": raps}


def conformal_threshold(scores: FloatArray, coverage: float) -> float:
    """Return the threshold that a new score does not exceed with the wanted probability.

    It is the ``ceil((n + 1) coverage)``-th smallest of n scores. If that is more than n, there are
    too few scores, and nothing exceeds the threshold.
    """
    place = int(np.ceil((len(scores) + 1) * coverage - 1e-9))
    if place > len(scores):
        return ALWAYS
    return float(np.partition(scores, place - 1)[place - 1])


def class_thresholds(
    scores: FloatArray, y: IntArray, coverage: float, class_conditional: bool
) -> FloatArray:
    """Return the threshold of every class.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        The scores of held-out rows.
    y : ndarray of int of shape (n_rows,)
        Their classes.
    coverage : float
        The wanted coverage.
    class_conditional : bool
        Whether each class has a threshold of its own, from its own rows.

    Returns
    -------
    thresholds : ndarray of shape (n_classes,)
    """
    own = scores[np.arange(len(y)), y]
    n_classes = scores.shape[1]
    if not class_conditional:
        return np.full(n_classes, conformal_threshold(own, coverage))
    return np.array([conformal_threshold(own[y == k], coverage) for k in range(n_classes)])


def sets_of(scores: FloatArray, thresholds: FloatArray) -> Any:
    """Return which classes are in the set of each row."""
    return scores <= thresholds


def with_likeliest(sets: Any, p: FloatArray) -> Any:
    """Return the sets, with the most likely class in those that are empty."""
    empty = np.flatnonzero(~sets.any(axis=1))
    filled = sets.copy()
    filled[empty, p[empty].argmax(axis=1)] = True
    return filled
