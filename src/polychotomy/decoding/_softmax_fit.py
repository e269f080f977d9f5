"""The weights of the soft-max combination, for several contexts in one call of the core."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._native.softmax import SoftMaxSolution, solve_softmax
from .._types import Codebook, FloatArray, IntArray
from .base import Context, canonical


class HeldOutRows:
    """The held-out rows of contexts with the same code, one context after the other.

    Parameters
    ----------
    contexts : sequence of Context
        At least one; their codes are all one-vs-rest or all one-vs-one, for as many classes.
    n_threads : int
        The number of threads, on which the results do not depend.
    """

    def __init__(self, contexts: Sequence[Context], n_threads: int) -> None:
        codebook = contexts[0].codebook
        self.n_classes, self.one_vs_rest = codebook.n_classes, codebook.rest is not None
        self.n_threads = n_threads
        self.scores = np.concatenate([_held_out_scores(context) for context in contexts])
        self.y = np.concatenate([context.y for context in contexts])
        row_weights = [_row_weights(context) for context in contexts]
        self.weights = np.concatenate(row_weights)
        self.totals = np.array([weights.sum() for weights in row_weights])
        sizes = [len(context.y) for context in contexts]
        self.starts = np.concatenate([[0], np.cumsum(sizes)])

    def solve(self, C_values: Sequence[float]) -> SoftMaxSolution:
        """Fit every context on all its rows, with a value of C of its own."""
        rows = [np.arange(*ends) for ends in zip(self.starts[:-1], self.starts[1:], strict=True)]
        return self._solve(rows, np.array(C_values)[:, None], None)

    def cross_validate(
        self, folds: Sequence[IntArray], values: Sequence[float]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the cross-validated error and NLL of every context and every C, ascending."""
        train: list[IntArray] = []
        test: list[IntArray] = []
        owner: list[int] = []
        for number, numbers in enumerate(folds):
            for fold in np.unique(numbers):
                train.append(self.starts[number] + np.flatnonzero(numbers != fold))
                test.append(self.starts[number] + np.flatnonzero(numbers == fold))
                owner.append(number)
        # To compare values of C, the tolerance as it is will do.
        solution = self._solve(train, np.array(values), test, extra_steps=0)
        errors, losses = np.zeros((2, len(folds), len(values)))
        np.add.at(errors, owner, solution.errors)
        np.add.at(losses, owner, solution.losses)
        totals = self.totals[:, None]
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


def code_of(codebook: Codebook) -> tuple[bool, int]:
    """Return what contexts must have in common to be stacked."""
    return codebook.rest is not None, codebook.n_classes


def choose_strength(values: FloatArray, errors: FloatArray, losses: FloatArray) -> float:
    """Apply the two-tolerance rule of DUAN03 section 3.2 to ascending values of C."""
    small_error = errors <= 1.05 * errors.min()
    small_loss = small_error & (losses <= 1.05 * losses[small_error].min())
    return float(values[small_loss][0])


def choosing_folds(context: Context) -> IntArray:
    """Return the folds by which C is chosen: those of the context, or five stratified ones."""
    folds = _stratified_folds(context.y) if context.folds is None else context.folds
    if len(np.unique(folds)) < 2:
        raise ValueError(
            "SoftMax(C='cv') needs two folds of held-out rows to choose C; give C a value, or "
            "None for no penalty."
        )
    return folds


def _held_out_scores(context: Context) -> FloatArray:
    if context.held_out is None or context.held_out.mean is None:
        raise ValueError("SoftMax needs held-out scores in its context.")
    scores, codebook = context.held_out.mean, context.codebook
    return canonical(scores, codebook, 0.0) if codebook.rest is None else scores[:, codebook.rest]


def _row_weights(context: Context) -> FloatArray:
    return np.ones(len(context.y)) if context.weights is None else context.weights


def _stratified_folds(y: IntArray) -> NDArray[np.intp]:
    # Imported here, because it would double the time that importing the library takes.
    from sklearn.model_selection import check_cv

    n_splits = int(min(5, np.bincount(y).max()))
    folds = np.zeros(len(y), dtype=np.intp)
    if n_splits < 2:
        return folds
    with warnings.catch_warnings():
        # A class with fewer rows than folds is no obstacle here.
        warnings.simplefilter("ignore", UserWarning)
        for number, (_, test) in enumerate(check_cv(n_splits, y, classifier=True).split(y, y)):
            folds[test] = number
    return folds
