"""The compiled core: pairwise coupling and voting, and coupling for any code.

Rows are handed to the core in chunks, so that an interrupt (Ctrl-C) is noticed between them.
Neither the chunks nor the neighbours of a row change its result.
"""

from __future__ import annotations

import atexit
import math
import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from .platt import fit_platt

__all__ = [
    "LARGEST_PULL",
    "couple_code",
    "couple_hastie_tibshirani",
    "couple_markov",
    "couple_one_vs_rest",
    "couple_wu_lin_weng",
    "fit_platt",
    "max_wins",
]

# Part of the key of every unit of a study. Raise it when a change of the core may change answers,
# if only by rounding: another solver, another rule for stopping, another order of sums.
NUMERICS_VERSION = 3

FloatArray = NDArray[np.float64]

LARGEST_PULL = _core.LARGEST_PULL  # of the couplings of one-vs-one and one-vs-rest

# Calls of other threads come back before Python ends: see OpenCalls in bindings.hpp.
atexit.register(_core.end_calls)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_core.forget_calls)

_CHUNK_ROWS = 65536
# Coupling for any code takes longer for a row, and other threads may want to be heard.
_CODE_CHUNK_ROWS = 1024


def couple_wu_lin_weng(r: ArrayLike) -> FloatArray:
    r"""Couple one-vs-one probabilities by Wu, Lin and Weng's second method.

    The exact minimiser of :math:`\sum_i \sum_{j \ne i} (r_{ji} p_i - r_{ij} p_j)^2` subject to
    :math:`\sum_i p_i = 1`, from one factorisation a row (no iteration).

    Parameters
    ----------
    r : array-like of shape (n_rows, n_classes * (n_classes - 1) / 2)
        ``P(class i | class i or j)`` for the pairs (0, 1), (0, 2), ..., (1, 2), ...

    Returns
    -------
    p : ndarray of shape (n_rows, n_classes)
        The class probabilities.

    Raises
    ------
    ValueError
        If the shape is wrong or some entry is outside [0, 1].

    References
    ----------
    Wu, Lin and Weng (2004), Probability estimates for multi-class classification by pairwise
    coupling, section 4.2.
    """
    r, p = _pairwise_arrays(r)
    for chunk in _chunks(len(r)):
        _core.couple_wu_lin_weng(r[chunk], p[chunk])
    return p


def couple_markov(r: ArrayLike) -> FloatArray:
    r"""Couple one-vs-one probabilities by Wu, Lin and Weng's first method.

    The stationary distribution of the Markov chain that goes from class j to class i with
    probability :math:`r_{ij} / (M - 1)`. Entries of `r` are kept 1e-15 away from 0 and 1, which
    changes `p` by about as much.

    Parameters
    ----------
    r : array-like of shape (n_rows, n_classes * (n_classes - 1) / 2)
        ``P(class i | class i or j)`` for the pairs (0, 1), (0, 2), ..., (1, 2), ...

    Returns
    -------
    p : ndarray of shape (n_rows, n_classes)
        The class probabilities.

    Raises
    ------
    ValueError
        If the shape is wrong or some entry is outside [0, 1].

    References
    ----------
    Wu, Lin and Weng (2004), section 4.1. Grassmann, Taksar and Heyman (1985), Regenerative
    analysis and steady state distributions for Markov chains.
    """
    r, p = _pairwise_arrays(r)
    for chunk in _chunks(len(r)):
        _core.couple_markov(r[chunk], p[chunk])
    return p


def couple_hastie_tibshirani(
    r: ArrayLike,
    pair_weights: ArrayLike | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 200,
    pull: float = 0.0,
) -> tuple[FloatArray, int]:
    r"""Couple one-vs-one probabilities by Hastie and Tibshirani's method.

    The minimiser of :math:`\sum_{i<j} n_{ij} KL(r_{ij} \| p_i / (p_i + p_j))`, by Newton's
    method in log p, where the problem is convex. The absolute error of `p` is small; the ratios
    among classes of nearly no probability may be wrong.

    Parameters
    ----------
    r : array-like of shape (n_rows, n_classes * (n_classes - 1) / 2)
        ``P(class i | class i or j)`` for the pairs (0, 1), (0, 2), ..., (1, 2), ...; kept 1e-12
        away from 0 and 1.
    pair_weights : array-like of shape (n_classes * (n_classes - 1) / 2,), default=None
        The positive weight of every pair, all 1 by default.
    tolerance : float, default=1e-9
        A row is done when the estimated error of `p` is below this.
    max_iterations : int, default=200
        The largest number of Newton steps a row.
    pull : float, default=0.0
        If positive (at most 1e-6), the solution of `couple_code` with this pull.

    Returns
    -------
    p : ndarray of shape (n_rows, n_classes)
        The class probabilities.
    n_unconverged : int
        The number of rows that ran out of iterations.

    Raises
    ------
    ValueError
        If a shape is wrong, some entry of `r` is outside [0, 1], a weight is not positive or the
        pull is too large.

    References
    ----------
    Hastie and Tibshirani (1998), Classification by pairwise coupling.
    """
    r, p = _pairwise_arrays(r)
    weights = None if pair_weights is None else _positive(pair_weights, "pair_weights")
    n_unconverged = 0
    for chunk in _chunks(len(r)):
        n_unconverged += _core.couple_hastie_tibshirani(
            r[chunk], p[chunk], weights, tolerance, max_iterations, pull
        )
    return p, n_unconverged


def couple_code(
    r: ArrayLike,
    matrix: ArrayLike,
    column_weights: ArrayLike | None = None,
    pull: float = 1e-8,
    tolerance: float = 1e-10,
    max_iterations: int = 200,
) -> tuple[FloatArray, int]:
    r"""Couple the column probabilities of any code.

    Minimises :math:`\sum_l n_l KL(r_l \| q_l) + pull \sum_m p_m \log p_m`, where
    :math:`q_l = P_+ / (P_+ + P_-)` is the probability of the positive side of column l given
    either side. The pull makes the answer the one of maximum entropy where the code does not
    determine it. Without don't-cares the problem is convex in p; with them the result may be a
    local minimum, found by walking down from the uniform distribution.

    Parameters
    ----------
    r : array-like of shape (n_rows, n_columns)
        The probability of the positive side of every column; kept 1e-12 away from 0 and 1.
    matrix : array-like of shape (n_classes, n_columns)
        The code, over -1, 0 (don't care) and +1; both signs in every column.
    column_weights : array-like of shape (n_columns,), default=None
        The positive weight of every column, all 1 by default.
    pull : float, default=1e-8
        The strength of the pull to the uniform distribution; must be positive.
    tolerance : float, default=1e-10
        A row is done when the estimated error of `p` is below this.
    max_iterations : int, default=200
        The largest number of steps a row.

    Returns
    -------
    p : ndarray of shape (n_rows, n_classes)
        The class probabilities.
    n_unconverged : int
        The number of rows that ran out of iterations.

    Raises
    ------
    ValueError
        If a shape is wrong, some entry of `r` is outside [0, 1], the matrix is no code, or a
        weight or the pull is not positive.
    """
    r = np.ascontiguousarray(r, dtype=np.float64)
    signs = np.asarray(matrix)
    code = np.ascontiguousarray(signs, dtype=np.int8)
    if r.ndim != 2 or code.ndim != 2:
        raise ValueError("r and matrix must have two dimensions.")
    if not np.array_equal(signs, code):
        raise ValueError("The code matrix has entries -1, 0 and +1 only.")
    if not pull > 0:
        raise ValueError("pull must be positive.")
    weights = None if column_weights is None else _positive(column_weights, "column_weights")
    p = np.empty((len(r), len(code)))
    n_unconverged = 0
    for chunk in _chunks(len(r), _CODE_CHUNK_ROWS):
        n_unconverged += _core.couple_code(
            r[chunk], code, p[chunk], weights, pull, tolerance, max_iterations
        )
    return p, n_unconverged


def couple_one_vs_rest(r: ArrayLike, pull: float = 1e-8) -> FloatArray:
    r"""Couple one-vs-rest probabilities, the solution of `couple_code` by a scalar equation.

    The minimiser of :math:`\sum_k KL(r_k \| p_k) + pull \sum_k p_k \log p_k` has
    :math:`(p_k - r_k) / (p_k (1 - p_k)) = \lambda - pull \log p_k` for every class, with one
    :math:`\lambda`: a row takes time in proportion to the number of classes.

    Parameters
    ----------
    r : array-like of shape (n_rows, n_classes)
        The probability of every class against the rest; kept 1e-12 away from 0 and 1.
    pull : float, default=1e-8
        The strength of the pull to the uniform distribution; above 1e-6 the general solver is used.

    Returns
    -------
    p : ndarray of shape (n_rows, n_classes)
        The class probabilities.

    Raises
    ------
    ValueError
        If the shape is wrong, some entry is outside [0, 1], or the pull is not positive.
    """
    r = np.ascontiguousarray(r, dtype=np.float64)
    if r.ndim != 2:
        raise ValueError("r must have two dimensions.")
    if pull > LARGEST_PULL:
        return couple_code(r, 2 * np.eye(r.shape[1], dtype=np.int8) - 1, pull=pull)[0]
    p = np.empty_like(r)
    for chunk in _chunks(len(r)):
        _core.couple_one_vs_rest(r[chunk], p[chunk], pull)
    return p


def max_wins(pairs: ArrayLike, prior: ArrayLike) -> FloatArray:
    """Let every one-vs-one answer vote for one of its two classes.

    An answer of exactly 0 is no vote. Ties go to the larger sum of answers, then to the
    larger prior, then to the first class.

    Parameters
    ----------
    pairs : array-like of shape (n_rows, n_classes * (n_classes - 1) / 2)
        Finite answers for the pairs (0, 1), (0, 2), ..., (1, 2), ..., positive for the first class.
    prior : array-like of shape (n_classes,)
        What decides ties.

    Returns
    -------
    scores : ndarray of shape (n_rows, n_classes)
        The votes, plus the sum of the answers squashed into (-1/3, 1/3); the winner's is the only
        largest one.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    answers, scores = _pairwise_arrays(pairs)
    deciding = np.ascontiguousarray(prior, dtype=np.float64)
    for chunk in _chunks(len(answers)):
        _core.max_wins(answers[chunk], deciding, scores[chunk])
    return scores


def _pairwise_arrays(r: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return `r` as the core wants it, and an array for the result."""
    r = np.ascontiguousarray(r, dtype=np.float64)
    if r.ndim != 2:
        raise ValueError("r must have two dimensions.")
    n_classes = (1 + math.isqrt(1 + 8 * r.shape[1])) // 2
    if n_classes < 2 or n_classes * (n_classes - 1) // 2 != r.shape[1]:
        raise ValueError(
            f"r must have one column for every pair of classes; {r.shape[1]} is no number of pairs."
        )
    return r, np.empty((len(r), n_classes))


def _positive(values: ArrayLike, name: str) -> FloatArray:
    values = np.ascontiguousarray(values, dtype=np.float64)
    if values.ndim != 1 or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"{name} must be a vector of finite positive numbers.")
    return values


def _chunks(n_rows: int, size: int = _CHUNK_ROWS) -> Iterator[slice]:
    for start in range(0, n_rows, size):
        yield slice(start, start + size)
