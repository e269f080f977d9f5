"""Scores of one Gram matrix without whole folds of rows, at one gamma after another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq
from scipy.linalg.lapack import dtrtri, strtri

from ...core.types import FloatArray, IntArray
from .unit_out import UnitOutPath


class Folds(NamedTuple):
    """Which rows every fold is trained and tested on; every row is tested once.

    Parameters
    ----------
    trained, tested : ndarray of bool of shape (n_folds, n_rows)
        Rows may be in neither of them.
    """

    trained: NDArray[np.bool_]
    tested: NDArray[np.bool_]

    def of_rows(self, rows: IntArray) -> Folds:
        """Return the folds of some of the rows."""
        return Folds(self.trained[:, rows], self.tested[:, rows])


class FoldsOutPath(UnitOutPath):
    """LS-SVMs as in `UnitOutPath`, whose scores are those of machines trained on other folds.

    Parameters
    ----------
    gram, targets, weights, n_scored
        As in `UnitOutPath`.
    folds : Folds
        The folds of all rows.
    """

    def __init__(
        self,
        gram: FloatArray,
        targets: FloatArray,
        weights: FloatArray | None,
        folds: Folds,
        n_scored: int | None = None,
    ) -> None:
        super().__init__(gram, targets, weights, n_scored)
        self.folds = folds

    def scores(self, gamma: float) -> FloatArray:
        """Return the score of every scored row from a fit without the rows that are held out.

        Let P be the block of the inverse of the bordered matrix that belongs to the rows, and F the
        rows outside the training part of a fold. The scores without them are ``f_F = y_F -
        (P_FF)^-1 (P y)_F``, which for a single row is the leave-one-out formula. With the centred
        matrix ``G + 1/gamma = L L'`` and the reflection H without its first row, ``P = S H' (L
        L')^-1 H S``. So the errors times S are the least-squares solution r of ``W r = z``, with
        the columns F of ``W = L^-1 H`` and ``z = L^-1 H S y``.

        Note: every fold could be trained by itself instead. That is as fast with five folds, but
        takes a factorisation for each of a hundred groups.
        """
        triangle, _ = self._factor(gamma)
        inverse = _inverted(triangle)
        mirror = self.centring.mirror.astype(inverse.dtype)
        z = inverse @ self.reflected[1:].astype(inverse.dtype)
        self._reduced[gamma] = (inverse.T @ z).astype(np.float64)
        reflected = inverse @ mirror[1:]
        scores = self.targets.copy()
        for trained, tested in zip(self.folds.trained, self.folds.tested, strict=True):
            if not tested[self.scored].any():
                continue
            left = np.flatnonzero(~trained)
            columns = -np.outer(reflected, mirror[left])
            # The first column of the reflection has nothing else: its one is in the first row.
            columns[:, left > 0] += inverse[:, left[left > 0] - 1]
            # Without any row to train on, the least solution scores as the mean of the targets.
            errors = lstsq(columns, z, lapack_driver="gelsy", check_finite=False)[0]
            errors = errors[tested[left]] / self.centring.root_weights[left][tested[left], None]
            scores[tested] -= errors
        found: FloatArray = scores[self.scored]
        return found


def _inverted(triangle: FloatArray) -> FloatArray:
    invert = dtrtri if triangle.dtype == np.float64 else strtri
    inverse: FloatArray = invert(triangle, lower=1)[0]
    return inverse
