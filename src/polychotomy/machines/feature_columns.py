"""Iterative kernel machines in features, as the machines of a code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from ..core.margins import Margins
from ..core.math import sigmoid
from ..core.registry import stored
from ..core.state import Field, Holds, Instance
from ..core.threads import in_order, single_threaded_blas
from ..core.types import FloatArray, IntArray, SignArray
from ..kernels import FeatureRows, Landmarks, settle_memory_limit
from .base import FoldMargins, LeftOut, Machine, TrainingOptions
from .feature_blocks import in_blocks, join_margins
from .kernel_columns import FittedKernels, warn_unconverged
from .solved import Solved


@stored("columns.features")
class FeatureColumns:
    """The machines of a code, trained by a machine that is linear in features of landmarks.

    A fitted machine is a kernel machine whose support are the landmarks.

    Parameters
    ----------
    solver : IterativeKernelMachine
        The machine; it has a method `solve_features`.
    has_probability : bool, default=False
        Whether the sigmoid of its scores is its probability.
    """

    has_likelihood = False
    path_parameter = "C"
    fitted_type: ClassVar[type] = FittedKernels
    shares: ClassVar[str | None] = "features"
    checks_inputs: ClassVar[bool] = False
    fitted_state: ClassVar[dict[str, Field]] = {
        "solver": Holds(Machine, fitted=False),
        "has_probability": Instance(bool),
    }

    def __init__(self, solver: Any, has_probability: bool = False) -> None:
        self.solver = solver
        self.has_probability = has_probability

    @property
    def template(self) -> Any:
        """The machine."""
        return self.solver

    def prepare(self, X: Any) -> FeatureRows:
        """Return the rows, whose landmarks are chosen when they are first needed."""
        return FeatureRows(self.solver.kernel, X)

    def fit(
        self,
        state: FeatureRows,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> list[FittedKernels]:
        """Train every column on every subset of rows."""
        landmarks = self._landmarks(state, subsets, options)
        path = self.solver.solve_features(
            state,
            landmarks,
            labels,
            subsets,
            [self.solver.C],
            weights,
            settle_memory_limit(self.solver.memory_limit),
            effective_n_jobs(options.n_jobs),
        )
        warn_unconverged(path[0], options)
        return [_fitted(landmarks, path[0], number) for number in range(len(subsets))]

    def held_out_path(
        self,
        state: FeatureRows,
        labels: SignArray,
        splits: Sequence[tuple[IntArray, IntArray]],
        values: Sequence[float],
        weights: FloatArray | None,
        options: TrainingOptions,
        probability: bool = False,
    ) -> list[FoldMargins] | None:
        """Return the held-out margins for every C; None if a C is infinite."""
        if not np.isfinite(values).all():
            return None
        subsets, n_threads = [train for train, _ in splits], effective_n_jobs(options.n_jobs)
        landmarks = self._landmarks(state, subsets, options)
        path = self.solver.solve_features(
            state,
            landmarks,
            labels,
            subsets,
            values,
            weights,
            settle_memory_limit(self.solver.memory_limit),
            n_threads,
        )
        tested = []
        for fold, (_, test) in enumerate(splits):
            coefficients = path.coefficients[fold].reshape(-1, len(landmarks)).T
            scores = _scores(landmarks, state.X, test, coefficients, n_threads)
            tested.append(scores.reshape(len(test), len(values), -1) + path.biases[fold])
        return [
            FoldMargins(
                tested=[self._margins(fold[:, k], probability) for fold in tested],
                failed=np.any(path.trained[:, k] & ~path.converged[:, k], axis=0),
                fitted=partial(_fitted, landmarks, path[k]),
            )
            for k in range(len(values))
        ]

    def training_margins(
        self,
        fitted: FittedKernels,
        state: FeatureRows,
        rows: IntArray,
        where: NDArray[np.bool_] | None = None,
        probability: bool = False,
        n_jobs: int | None = None,
    ) -> Margins:
        """Return the margins of training rows."""
        return self.margins(fitted, state.X[rows], probability, n_jobs)

    def margins(
        self, fitted: FittedKernels, X: Any, probability: bool = False, n_jobs: int | None = None
    ) -> Margins:
        """Return the margins of new rows."""
        blocks = in_blocks(np.arange(X.shape[0]), 16384)
        found = in_order(
            lambda rows: self._margins(fitted.scores(_double(X[rows])), probability),
            blocks,
            effective_n_jobs(n_jobs),
        )
        return join_margins(list(found), len(fitted.biases))

    def leave_one_out_scores(
        self,
        fitted: FittedKernels,
        state: FeatureRows,
        labels: SignArray,
        rows: IntArray,
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> LeftOut:
        """Return no scores to be trusted: the pipe then takes those of five folds.

        Note: with landmarks folds cost little, because all of them are trained in the same passes.
        """
        return LeftOut(np.zeros(labels.shape), ~fitted.trained)

    def _landmarks(
        self, state: FeatureRows, subsets: Sequence[IntArray], options: TrainingOptions
    ) -> Landmarks:
        kernel = self.solver.settle(state.X, options.counts)
        rows = np.unique(np.concatenate(subsets))
        return state.landmarks(
            kernel,
            int(self.solver.landmarks),
            rows,
            self.solver.landmark_choice,
            options.random_state or 0,
        )

    def _margins(self, scores: FloatArray, probability: bool) -> Margins:
        own = sigmoid(scores) if probability and self.has_probability else None
        return Margins(mean=scores, probability=own)


def _scores(
    landmarks: Landmarks, X: Any, rows: IntArray, coefficients: FloatArray, n_threads: int
) -> FloatArray:
    """Return the scores of some rows without a bias."""
    blocks = in_blocks(rows, landmarks.block_rows)
    with single_threaded_blas():
        found = in_order(
            lambda places: landmarks.columns(X[places]) @ coefficients, blocks, n_threads
        )
        return np.concatenate([np.zeros((0, coefficients.shape[1])), *found])


def _fitted(landmarks: Landmarks, solved: Solved, number: int) -> FittedKernels:
    return FittedKernels(
        kernel=landmarks.kernel,
        support=landmarks.rows,
        support_inputs=landmarks.inputs,
        coefficients=np.ascontiguousarray(solved.coefficients[number].T),
        biases=solved.biases[number],
        trained=solved.trained[number],
        iterations=solved.iterations[number],
    )


def _double(X: Any) -> Any:
    return X if X.dtype == np.float64 else X.astype(np.float64)
