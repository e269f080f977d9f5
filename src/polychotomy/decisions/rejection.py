"""Thresholds of confidence, chosen on held-out rows."""

from __future__ import annotations

import numpy as np

from ..core.types import FloatArray
from .risk_coverage import curve_of

# Confidences are at most 1: no row reaches this one.
NEVER = 2.0
ROUNDING = 1e-12


def coverage_threshold(confidence: FloatArray, coverage: float) -> float:
    """Return the confidence that the wanted share of the rows reaches.

    Parameters
    ----------
    confidence : ndarray of shape (n_rows,)
        The confidences of held-out rows.
    coverage : float
        The share of rows to answer.

    Returns
    -------
    threshold : float
        The largest that at least this share of the rows reaches.
    """
    count = int(np.ceil(coverage * len(confidence) - 1e-9))
    return float(np.sort(confidence)[::-1][max(count, 1) - 1])


def error_threshold(confidence: FloatArray, wrong: FloatArray, error: float) -> float:
    """Return the least threshold with at most the wanted error among the answered rows.

    With r answered rows, of which e are wrong, ``(e + 1) / (r + 1)`` must be at most the wanted
    error: one more row, which could be wrong, is counted with them. Without that, the largest of
    many noisy coverages is chosen, and new rows have more errors than wanted.

    Parameters
    ----------
    confidence : ndarray of shape (n_rows,)
        The confidences of held-out rows.
    wrong : ndarray of shape (n_rows,)
        1 for rows that are predicted wrongly, 0 for the others.
    error : float
        The wanted error.

    Returns
    -------
    threshold : float
        2 if no threshold has so few errors.
    """
    if not len(wrong):
        return NEVER
    curve = curve_of(wrong, confidence)
    answered = np.arange(1, len(wrong) + 1)
    fine = (curve.risk * answered + 1.0) / (answered + 1.0) <= error + ROUNDING
    # Rows that are equally sure are answered together.
    last = np.append(curve.threshold[1:] < curve.threshold[:-1], True)
    places = np.flatnonzero(fine & last)
    return float(curve.threshold[places[-1]]) if len(places) else NEVER
