"""Class frequencies that differ from those of the training rows: estimates and a test.

*Label shift* means that the classes come in other proportions, while the rows of each class look
as before. Then the right probabilities are the old ones, reweighted by the ratio of new to old
frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import pinvh
from scipy.optimize import nnls
from scipy.stats import chi2

from ..core.checks import class_distribution
from ..core.math import normalise
from ..core.registry import stored
from ..core.state import Array, Field, Number, Whole
from ..core.types import FloatArray, IntArray
from .costs import nonnegative
from .inputs import class_probabilities

BLOCK = 1 << 16
MAX_STEPS = 10_000
TOLERANCE = 1e-8


@dataclass(frozen=True)
class ShiftReference:
    """What is known of the probabilities on rows like the training rows.

    Attributes
    ----------
    frequencies : ndarray of shape (n_classes,)
        The class frequencies of the training rows.
    mean : ndarray of shape (n_classes,)
        The mean probabilities of held-out rows.
    covariance : ndarray of shape (n_classes, n_classes)
        Their covariance, from row to row.
    confusion : ndarray of shape (n_classes, n_classes)
        The mean probability of every class (column) over the held-out rows of a class (row).
    n_rows : int
        The number of held-out rows.
    """

    frequencies: FloatArray
    mean: FloatArray
    covariance: FloatArray
    confusion: FloatArray
    n_rows: int


@stored("value.shift_estimate")
@dataclass(frozen=True)
class ShiftEstimate:
    """The class frequencies of new rows, and whether they differ from those of the training rows.

    Attributes
    ----------
    frequencies : ndarray of shape (n_classes,)
        The estimate by maximum likelihood (EM).
    check : ndarray of shape (n_classes,)
        The estimate from the confusion matrix. If the two differ by much more than `check_error`,
        more has changed than the class frequencies.
    check_error : ndarray of shape (n_classes,)
        The standard errors of `check`.
    p_value : float
        Of the test that the frequencies have not changed.
    statistic : float
        The statistic of the test: chi-squared with n_classes - 1 degrees of freedom without shift.
    n_rows : int
        The number of new rows.
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        "frequencies": Array("M", at_least=0.0),
        "check": Array("M", at_least=0.0),
        "check_error": Array("M", at_least=0.0),
        "p_value": Number(at_least=0.0),
        "statistic": Number(),
        "n_rows": Whole(1),
    }

    frequencies: FloatArray
    check: FloatArray
    check_error: FloatArray
    p_value: float
    statistic: float
    n_rows: int

    @property
    def agrees(self) -> bool:
        """Whether the two estimates agree within three standard errors."""
        distance = np.abs(self.frequencies - self.check)
        return bool((distance <= 3.0 * self.check_error + 1e-9).all())


def estimate_frequencies(p: ArrayLike, training: ArrayLike, prior_rows: float = 0.0) -> FloatArray:
    """Estimate the class frequencies of unlabelled rows by maximum likelihood.

    ``q_k <- mean_i p_ik (q_k / q0_k) / sum_l p_il (q_l / q0_l)``, from the training frequencies
    q0. Every step raises the likelihood of the rows.

    Note: maximum likelihood often says that a rare class has vanished. Its next row then has the
    probability 0. A prior of a few rows with the training frequencies prevents that.

    Parameters
    ----------
    p : array-like of shape (n_rows, n_classes)
        Class probabilities of the new rows, by a calibrated classifier. An array that is mapped
        from a file is read in blocks.
    training : array-like of shape (n_classes,)
        The class frequencies of the training rows.
    prior_rows : float, default=0
        How many rows with the training frequencies are counted with the new ones.

    Returns
    -------
    frequencies : ndarray of shape (n_classes,)

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), Adjusting the outputs of a classifier to new a priori
    probabilities, equation (2.9).

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.decisions import estimate_frequencies
    >>> p = np.repeat([[0.9, 0.1], [0.2, 0.8]], [90, 10], axis=0)
    >>> estimate_frequencies(p, [0.5, 0.5]).round(2)
    array([1., 0.])
    """
    probability = p if isinstance(p, np.memmap) else class_probabilities(p)
    old = class_distribution(training, np.arange(probability.shape[1]), "training")
    if not len(probability):
        raise ValueError("Class frequencies cannot be estimated from no rows.")
    if (old <= 0).any():
        raise ValueError("training must be positive for every class.")
    rows = _Likelihood(probability, old, nonnegative(prior_rows, "prior_rows"))
    q = old.copy()
    for _ in range(MAX_STEPS):
        # The step twice, then an extrapolation along it (SQUAREM), which is kept if it is fine.
        first = rows.step(q)
        second = rows.step(first)
        r, v = first - q, second - 2.0 * first + q
        if np.abs(second - q).max() < TOLERANCE:
            return second
        length = np.linalg.norm(v)
        factor = -np.linalg.norm(r) / length if length > 0 else -1.0
        leap = q - 2.0 * factor * r + factor**2 * v
        if factor >= -1.0 or (leap <= 0).any():
            q = second
            continue
        leap = rows.step(leap / leap.sum())
        q = leap if rows.value(leap) >= rows.value(second) else second
    return q


def _blocks(p: FloatArray) -> Any:
    return (np.asarray(p[start : start + BLOCK]) for start in range(0, len(p), BLOCK))


@dataclass(frozen=True)
class _Likelihood:
    """The likelihood of class frequencies, and the EM step that raises it."""

    p: FloatArray
    old: FloatArray
    prior_rows: float

    def step(self, q: FloatArray) -> FloatArray:
        total = self.prior_rows * self.old
        for block in _blocks(self.p):
            total = total + normalise(block * (q / self.old)).sum(axis=0)
        step: FloatArray = total / total.sum()
        return step

    def value(self, q: FloatArray) -> float:
        tiny = np.finfo(float).tiny
        value = self.prior_rows * float(self.old @ np.log(np.maximum(q, tiny)))
        for block in _blocks(self.p):
            value += float(np.log(np.maximum(block @ (q / self.old), tiny)).sum())
        return value


def reweighted(p: ArrayLike, training: ArrayLike, new: ArrayLike) -> FloatArray:
    """Return class probabilities for other class frequencies.

    ``p'_k`` is proportional to ``p_k new_k / training_k``.

    Parameters
    ----------
    p : array-like of shape (n_rows, n_classes)
        Class probabilities.
    training, new : array-like of shape (n_classes,)
        The class frequencies of the training rows, and of the new rows.

    Returns
    -------
    p : ndarray of shape (n_rows, n_classes)

    Examples
    --------
    >>> from polychotomy.decisions import reweighted
    >>> reweighted([[0.5, 0.5]], [0.5, 0.5], [0.9, 0.1])
    array([[0.9, 0.1]])
    """
    probability = class_probabilities(p)
    labels = np.arange(probability.shape[1])
    old = class_distribution(training, labels, "training")
    ratio = class_distribution(new, labels, "new") / np.where(old > 0, old, np.inf)
    weighted = probability * ratio
    # A row whose classes have all vanished keeps its probabilities.
    lost = weighted.sum(axis=1) <= 0
    weighted[lost] = probability[lost]
    return normalise(weighted)


def shift_reference(
    p: FloatArray, y: IntArray, frequencies: FloatArray | None = None
) -> ShiftReference:
    """Return what new rows are compared with.

    Parameters
    ----------
    p : ndarray of shape (n_rows, n_classes)
        Class probabilities of held-out rows.
    y : ndarray of int of shape (n_rows,)
        Their classes.
    frequencies : ndarray of shape (n_classes,), default=None
        The class frequencies of the training rows; those of `y` by default.

    Returns
    -------
    reference : ShiftReference
    """
    n_classes = p.shape[1]
    counts = np.bincount(y, minlength=n_classes).astype(float)
    sums = np.zeros((n_classes, n_classes))
    np.add.at(sums, y, p)
    found = counts / counts.sum() if frequencies is None else frequencies
    covariance = np.atleast_2d(np.cov(p, rowvar=False)) if len(p) > 1 else np.eye(n_classes)
    # A class without held-out rows is taken to be recognised.
    confusion = np.where(
        counts[:, None] > 0, sums / np.maximum(counts, 1.0)[:, None], np.eye(n_classes)
    )
    return ShiftReference(found, p.mean(axis=0), covariance, confusion, len(p))


def estimate_shift(
    p: ArrayLike, reference: ShiftReference, prior_rows: float = 0.0
) -> ShiftEstimate:
    """Estimate the class frequencies of unlabelled rows, and test whether they have changed.

    The test compares the mean probabilities of the new rows with those of held-out training rows
    (Hotelling's two-sample test with unequal covariances). It does not need calibrated
    probabilities. The likelihood-ratio test does, and finds shifts everywhere without.

    Parameters
    ----------
    p : array-like of shape (n_rows, n_classes)
        Class probabilities of the new rows.
    reference : ShiftReference
        That of the training rows.
    prior_rows : float, default=0
        As for `estimate_frequencies`.

    Returns
    -------
    estimate : ShiftEstimate

    References
    ----------
    Lipton, Wang and Smola (2018), Detecting and correcting for label shift with black box
    predictors, equation (2), for the check and the idea of the test.
    """
    probability = p if isinstance(p, np.memmap) else class_probabilities(p)
    n_rows, n_classes = probability.shape
    mean, covariance = _moments(probability)
    error = covariance / n_rows
    noise = error + reference.covariance / reference.n_rows
    gap = mean - reference.mean
    # The probabilities sum to 1: one direction has no variance.
    statistic = float(gap @ pinvh(noise, rtol=1e-10) @ gap)
    # mean = confusion' q, solved for nonnegative q that sum to 1
    matrix = reference.confusion.T
    heavy = 1e3
    check, _ = nnls(
        np.vstack([matrix, heavy * np.ones(n_classes)]), np.append(mean, heavy), maxiter=1000
    )
    check = check / check.sum()
    inverse = np.linalg.pinv(matrix)
    spread = inverse @ (error + _confusion_noise(reference, check)) @ inverse.T
    return ShiftEstimate(
        frequencies=estimate_frequencies(p, reference.frequencies, prior_rows),
        check=check,
        check_error=np.sqrt(np.maximum(np.diag(spread), 0.0)),
        p_value=float(chi2.sf(statistic, n_classes - 1)),
        statistic=statistic,
        n_rows=n_rows,
    )


def _confusion_noise(reference: ShiftReference, q: FloatArray) -> FloatArray:
    """Return the covariance of ``confusion' q`` that comes from few held-out rows of each class."""
    rows = np.maximum(reference.frequencies * reference.n_rows, 1.0)
    # Within a class probabilities vary less than over all classes: this is an upper bound.
    noise: FloatArray = reference.covariance * float((q**2 / rows).sum())
    return noise


def _moments(p: FloatArray) -> tuple[FloatArray, FloatArray]:
    n_classes = p.shape[1]
    total, squares = np.zeros(n_classes), np.zeros((n_classes, n_classes))
    for block in _blocks(p):
        total += block.sum(axis=0)
    mean = total / len(p)
    for block in _blocks(p):
        squares += (block - mean).T @ (block - mean)
    return mean, squares / max(len(p) - 1, 1)
