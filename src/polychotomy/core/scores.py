"""How good class probabilities and predicted classes are: error, NLL, Brier score, calibration.

Class numbers name columns of the probabilities; -1 stands for a class that has no column, as a
class of which the training rows had none. Its probability is 0, and no prediction is right.

Design note: these are plain functions of arrays, with any leading axes, so that a search judges
all its cells in one call. scikit-learn's `log_loss` and `brier_score_loss` judge one array, check
it anew in every call, and refuse rows of classes without a column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .types import FloatArray, IntArray

# The least probability that counts in an NLL, so that one confident mistake is not infinite: a row
# costs at most 34.5. It is what the studies have always used, and close to scikit-learn's 2.2e-16.
# A smaller floor lets single rows decide a mean; a larger one hides confident mistakes. The floor
# of `core.math`, 1e-12, is another thing: it keeps log-odds finite at both ends.
LEAST_PROBABILITY = 1e-15

UNIFORM, QUANTILE = "uniform", "quantile"


def error(
    predicted: NDArray[Any], y: NDArray[Any], weights: FloatArray | None = None
) -> FloatArray:
    """Return the share of rows misclassified.

    Parameters
    ----------
    predicted : ndarray of shape (..., n_rows)
        The predicted classes, as numbers or labels.
    y : ndarray of shape (n_rows,)
        The true classes.
    weights : ndarray of shape (n_rows,), default=None
        The weights of the rows; all the same by default.

    Returns
    -------
    error : ndarray of shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.core import scores
    >>> float(scores.error(np.array([0, 1, 1, 2]), np.array([0, 1, 2, -1])))
    0.5
    """
    return _mean(predicted != y, weights)


def nll(p: FloatArray, y: IntArray, weights: FloatArray | None = None) -> FloatArray:
    """Return the mean negative log-likelihood, with probabilities of at least 1e-15.

    Parameters
    ----------
    p : ndarray of shape (..., n_rows, n_classes)
        The class probabilities.
    y : ndarray of int of shape (n_rows,)
        The true classes, as columns of `p`; -1 for a class without a column.
    weights : ndarray of shape (n_rows,), default=None
        The weights of the rows; all the same by default.

    Returns
    -------
    nll : ndarray of shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.core import scores
    >>> p = np.array([[0.9, 0.1], [0.4, 0.6]])
    >>> round(float(scores.nll(p, np.array([0, 0]))), 4)
    0.5108
    >>> round(float(scores.nll(np.array([[1.0, 0.0]]), np.array([1]))), 2)
    34.54
    """
    return _mean(-np.log(np.maximum(of_truth(p, y), LEAST_PROBABILITY)), weights)


def brier(p: FloatArray, y: IntArray, weights: FloatArray | None = None) -> FloatArray:
    """Return the mean squared distance of the probabilities to the truth, between 0 and 2.

    Parameters
    ----------
    p, y, weights
        As for `nll`.

    Returns
    -------
    brier : ndarray of shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.core import scores
    >>> p = np.array([[0.9, 0.1], [0.4, 0.6]])
    >>> round(float(scores.brier(p, np.array([0, 0]))), 4)
    0.37
    """
    # sum_k (p_k - t_k)^2, with t the unit vector of the true class
    squares = np.einsum("...k,...k->...", p, p) - 2.0 * of_truth(p, y) + 1.0
    return _mean(squares, weights)


def of_truth(p: FloatArray, y: IntArray) -> FloatArray:
    """Return the probability of the true class of every row; 0 for a class without a column.

    Parameters
    ----------
    p, y
        As for `nll`.

    Returns
    -------
    probability : ndarray of shape (..., n_rows)
    """
    known = y >= 0
    place = np.where(known, y, 0).reshape((1,) * (p.ndim - 2) + (-1, 1))
    found: FloatArray = np.take_along_axis(p, place, axis=-1)[..., 0]
    return found if known.all() else np.where(known, found, 0.0)


def calibration_error(
    p: FloatArray,
    y: IntArray,
    weights: FloatArray | None = None,
    *,
    n_bins: int = 10,
    strategy: str = UNIFORM,
) -> float:
    """Return the expected calibration error of the predicted class.

    Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks, equation (3).

    Parameters
    ----------
    p : ndarray of shape (n_rows, n_classes)
        The class probabilities.
    y, weights
        As for `nll`.
    n_bins, strategy
        As for `probability_bins`.

    Returns
    -------
    error : float

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.core import scores
    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.2, 0.8]])
    >>> round(scores.calibration_error(p, np.array([0, 0, 1, 1]), n_bins=2), 3)
    0.05
    """
    confidence = p.max(axis=1)
    bins = probability_bins(confidence, n_bins, strategy)
    return binned_error(confidence, p.argmax(axis=1) == y, bins, weights)


def binned_error(
    predicted: FloatArray,
    happened: NDArray[np.bool_],
    bins: IntArray,
    weights: FloatArray | None = None,
) -> float:
    """Return the mean distance, in bins, of an event's probability to how often it happened.

    Parameters
    ----------
    predicted : ndarray of shape (n_rows,)
        The predicted probability of the event.
    happened : ndarray of bool of shape (n_rows,)
        Whether it happened.
    bins : ndarray of int of shape (n_rows,)
        The bin of every row.
    weights : ndarray of shape (n_rows,), default=None
        The weights of the rows; all the same by default.

    Returns
    -------
    error : float

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.core import scores
    >>> happened = np.array([False, False, True, True])
    >>> scores.binned_error(np.array([0.25, 0.25, 0.5, 1.0]), happened, np.array([0, 0, 1, 1]))
    0.25
    """
    hits, total, rows = happened.astype(float), predicted, float(len(bins))
    if weights is not None:
        hits, total, rows = weights * hits, weights * total, float(weights.sum())
    distance = np.abs(np.bincount(bins, hits) - np.bincount(bins, total))
    return float(distance.sum() / rows)


def probability_bins(predicted: FloatArray, n_bins: int = 10, strategy: str = UNIFORM) -> IntArray:
    """Return the bin of every row; a bin includes its upper edge, as in scikit-learn.

    Parameters
    ----------
    predicted : ndarray of shape (n_rows,)
        Probabilities.
    n_bins : int, default=10
        The number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Whether bins have the same width, or hold the same number of rows.

    Returns
    -------
    bins : ndarray of int of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.core import scores
    >>> scores.probability_bins(np.array([0.1, 0.5, 0.51, 1.0]), 2)
    array([0, 0, 1, 1])
    """
    inner = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    if strategy == QUANTILE:
        inner = np.quantile(predicted, inner)
    return np.searchsorted(inner, predicted)


def _mean(values: NDArray[Any], weights: FloatArray | None) -> FloatArray:
    mean: FloatArray = np.average(values, axis=-1, weights=weights)
    return mean
