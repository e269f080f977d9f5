"""Weights of the soft-max combination, for several sets of rows in one native call."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..core.codebook import Codebook
from ..core.types import FloatArray, IntArray
from ..native.softmax import SoftMaxSolution, solve_softmax
from .base import Context, canonical


class HeldOutRows:
    """Subsets of rows with held-out scores, each of which is fitted separately.

    Parameters
    ----------
    codebook : Codebook
        The code, one-vs-rest or one-vs-one.
    scores : ndarray of shape (n_rows, n_columns)
        The held-out scores.
    y : ndarray of shape (n_rows,)
        The class numbers.
    weights : ndarray of shape (n_rows,) or None
        The weights of the rows.
    subsets : list of ndarray of int
        The rows of every subset.
    n_threads : int
        The number of threads; the results do not depend on it.
    """

    def __init__(
        self,
        codebook: Codebook,
        scores: FloatArray,
        y: IntArray,
        weights: FloatArray | None,
        subsets: list[IntArray],
        n_threads: int,
    ) -> None:
        self.n_classes, self.one_vs_rest = codebook.n_classes, codebook.rest is not None
        rest = codebook.rest
        self.scores = canonical(scores, codebook, 0.0) if rest is None else scores[:, rest]
        self.y, self.subsets, self.n_threads = y, subsets, n_threads
        self.weights = np.ones(len(y)) if weights is None else weights

    @classmethod
    def of(cls, context: Context) -> HeldOutRows:
        """Use all rows of a context."""
        if context.held_out is None or context.held_out.mean is None:
            raise ValueError("SoftMax needs held-out scores in its context.")
        rows = np.arange(len(context.y))
        return cls(context.codebook, context.held_out.mean, context.y, context.weights, [rows], 1)

    def solve(self, C_values: Sequence[float]) -> SoftMaxSolution:
        """Fit every subset, each with its own C."""
        return self._solve(self.subsets, np.array(C_values)[:, None], None)

    def cross_validate(
        self, folds: Sequence[IntArray], values: Sequence[float]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the cross-validated error and NLL of every subset and every C (ascending)."""
        train: list[IntArray] = []
        test: list[IntArray] = []
        owner: list[int] = []
        for number, (rows, numbers) in enumerate(zip(self.subsets, folds, strict=True)):
            for fold in np.unique(numbers):
                train.append(rows[numbers != fold])
                test.append(rows[numbers == fold])
                owner.append(number)
        # No extra steps: to compare values of C, the normal tolerance is enough.
        solution = self._solve(train, np.array(values), test, extra_steps=0)
        errors, losses = np.zeros((2, len(folds), len(values)))
        np.add.at(errors, owner, solution.errors)
        np.add.at(losses, owner, solution.losses)
        totals = np.array([[self.weights[rows].sum()] for rows in self.subsets])
        return errors / totals, losses / totals

    def _solve(
        self,
        train: list[IntArray],
        C_values: FloatArray,
        test: list[IntArray] | None,
        extra_steps: int = 2,
    ) -> SoftMaxSolution:
        return solve_softmax(
            self.scores,
            self.y,
            self.n_classes,
            self.one_vs_rest,
            train,
            C_values,
            test,
            self.weights,
            extra_steps=extra_steps,
            n_threads=self.n_threads,
        )


def choose_strength(values: FloatArray, errors: FloatArray, losses: FloatArray) -> float:
    """Apply the two-tolerance rule of DUAN03 section 3.2 to ascending values of C."""
    small_error = errors <= 1.05 * errors.min()
    small_loss = small_error & (losses <= 1.05 * losses[small_error].min())
    return float(values[small_loss][0])


def choosing_folds(y: IntArray, folds: IntArray | None) -> IntArray:
    """Return the folds that choose C: the given ones, or five stratified folds."""
    chosen = _stratified_folds(y) if folds is None else folds
    if len(np.unique(chosen)) < 2:
        raise ValueError(
            "SoftMax(C='cv') needs two folds of held-out rows to choose C; set C to a number, or "
            "to None for no penalty."
        )
    return chosen


def _stratified_folds(y: IntArray) -> NDArray[np.intp]:
    # Imported here, because it would double the import time of the library.
    from sklearn.model_selection import check_cv

    n_splits = int(min(5, np.bincount(y).max()))
    folds = np.zeros(len(y), dtype=np.intp)
    if n_splits < 2:
        return folds
    with warnings.catch_warnings():
        # A class with fewer rows than folds is fine here.
        warnings.simplefilter("ignore", UserWarning)
        for number, (_, test) in enumerate(check_cv(n_splits, y, classifier=True).split(y, y)):
            folds[test] = number
    return folds
