"""The variance and the probabilities of an LS-SVM for new rows.

Of the training rows they need only the centred Gram matrix, in a form that can solve systems with
it: a `Basis`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ...core.math import log_odds, sigmoid
from ...core.types import FloatArray
from .centring import LARGEST, Centring, scaled

# Above this, the smaller probability is 0 in double precision.
LARGEST_LOG_ODDS = 800.0


class Explaining(Protocol):
    """A centred Gram matrix G in a form that gives the variances of new rows."""

    @property
    def centring(self) -> Centring:
        """The coordinates without a bias."""
        ...

    def explained(self, centred: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return ``k' (G + 1/gamma)^-1 k``, internal, for vectors k and gammas.

        Parameters
        ----------
        centred : ndarray of shape (n_rows - 1, n_vectors)
            The vectors, internal.
        gamma : ndarray of shape (n_columns,)
            The gammas.

        Returns
        -------
        ndarray of shape (n_vectors, n_columns)
        """
        ...


class Basis(Explaining, Protocol):
    """A centred Gram matrix G in a form that can solve systems with it.

    `Tridiagonal` is for any number of gammas, a `Factor` only for the gamma it was made for.
    """

    def for_rows(self, n_rows: int) -> Explaining:
        """Return the form that is fastest for the variances of this many new rows."""
        ...

    def leave_one_out(self, targets: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return the leave-one-out score of every row.

        Parameters
        ----------
        targets : ndarray of shape (n_rows, n_columns)
            The labels, -1 and +1 (or any finite numbers).
        gamma : ndarray of shape (n_columns,)
            The gamma of every column.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
        """
        ...


def predictive_variance(
    basis: Explaining,
    cross_gram: FloatArray,
    self_gram: FloatArray,
    mu: FloatArray,
    zeta: FloatArray,
) -> FloatArray:
    """Return the posterior variance of the scores of new rows: VANGESTEL (12), sign corrected.

    Let ``phi_c`` be the features minus their weighted mean over the training rows, and ``k_c`` its
    products with those of the training rows. The variance is ``1 / (zeta sum v) + (phi_c . phi_c -
    k_c' (G + 1/gamma)^-1 k_c) / mu``. The fifth term of (12) is printed with a plus sign but needs
    a minus sign: only then is it ``g' H^-1 g``.

    Parameters
    ----------
    basis : Explaining
        The training rows.
    cross_gram : ndarray of shape (n_new, n_rows)
        The kernel of new rows with training rows.
    self_gram : ndarray of shape (n_new,)
        The kernel of every new row with itself.
    mu, zeta : ndarray of shape (n_columns,)
        The hyperparameters of every column.

    Returns
    -------
    ndarray of shape (n_new, n_columns)
        Positive; if rounding makes the second term negative, it is set to 0.
    """
    centring = basis.centring
    mu, zeta = np.asarray(mu, dtype=np.float64), np.asarray(zeta, dtype=np.float64)
    exponent, norm = centring.gram_exponent, centring.norm
    reflected = centring.reflect(scaled(cross_gram.T, -exponent))
    # The mean feature vector has the products -reflected[0] / norm with new rows, -border / norm
    # with training rows, and corner / norm^2 with itself.
    own = scaled(self_gram, -exponent) + 2.0 * reflected[0] / norm + centring.corner / norm**2
    with np.errstate(over="ignore"):
        gamma = np.minimum(zeta / mu, LARGEST)
    explained = basis.explained(reflected[1:] + (centring.border / norm)[:, None], gamma)
    variance: FloatArray = np.maximum(own[:, None] - explained, 0.0)
    variance /= scaled(mu, -exponent)
    variance += 1.0 / (scaled(zeta, centring.weight_exponent) * norm**2)
    return variance


def moderated_probability(
    mean: FloatArray, variance: FloatArray, noise: FloatArray, prior: ArrayLike = 0.5
) -> FloatArray:
    """Return the probability of the positive side: VANGESTEL (10)-(11).

    Parameters
    ----------
    mean, variance : ndarray of shape (n_rows, n_columns)
        The scores and their variance.
    noise : ndarray of shape (n_columns,)
        The noise variance ``1 / zeta`` of a row of weight 1.
    prior : float or ndarray of shape (n_columns,), default=0.5
        The prior probability of the positive side.
    """
    return sigmoid(moderated_log_odds(mean, variance, noise, prior))


def moderated_log_odds(
    mean: FloatArray, variance: FloatArray, noise: FloatArray, prior: ArrayLike = 0.5
) -> FloatArray:
    """Return the log odds of `moderated_probability`, kept finite."""
    # (11) at y = +1 over (11) at y = -1: the squares leave 2 z / (1/zeta + variance)
    # In place: with many columns, memory for each step took as long as the products before.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        odds: FloatArray = 2.0 * mean
        odds /= noise + variance
    np.copyto(odds, 0.0, where=mean == 0.0)
    np.clip(odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS, out=odds)
    odds += log_odds(np.asarray(prior, dtype=np.float64))
    return odds
