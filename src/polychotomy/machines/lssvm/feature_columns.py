"""LS-SVMs in features as the machines of a code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from ...core.contents import sample_by_content
from ...core.margins import Margins
from ...core.registry import stored
from ...core.state import Field, Holds
from ...core.threads import in_order, single_threaded_blas
from ...core.types import FloatArray, IntArray, SignArray
from ...kernels import FeatureRows, FeatureSums, Kernel, Landmarks, choose_landmarks, feature_sums
from ..base import FoldMargins, LeftOut, Machine, TrainingOptions
from ..feature_blocks import fits_together, in_blocks, join_margins
from ..layout import Layout, lay_out
from .columns import WIDTHS
from .features import (
    FeaturePiece,
    FittedFeatureLSSVM,
    feature_piece,
    moments_of,
    width_by_evidence,
)
from .spectrum import Moments, decompose, fixed_at, solve_by_evidence, solve_for

# The width is chosen on at most this many rows, and its unit, the median distance, on fewer.
ROWS_FOR_WIDTH, ROWS_FOR_MEDIAN = 20_000, 2_000


@stored("columns.lssvm_features")
class LSSVMFeatures:
    """The machines of a code, trained as LS-SVMs in the features of landmarks.

    One pass over the rows, in blocks, gives the sums from which all columns, subsets and values
    of C are solved.

    Parameters
    ----------
    settings : LSSVM
        The LS-SVM.
    """

    has_probability = True
    has_likelihood = True
    path_parameter = "C"
    fitted_type: ClassVar[type] = FittedFeatureLSSVM
    shares: ClassVar[str | None] = "features"
    checks_inputs: ClassVar[bool] = False
    fitted_state: ClassVar[dict[str, Field]] = {"settings": Holds(Machine, fitted=False)}

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    @property
    def template(self) -> Any:
        """The LS-SVM."""
        return self.settings

    def prepare(self, X: Any) -> FeatureRows:
        """Return the rows, whose landmarks are chosen when they are first needed."""
        return FeatureRows(self.settings.kernel, X)

    def fit(
        self,
        state: FeatureRows,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> list[FittedFeatureLSSVM]:
        """Train every column on every subset of rows."""
        found = self._solve(state, labels, subsets, weights, options, self._piece)
        return [fitted for (fitted,) in found]

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
        """Return the held-out margins for every C, from one decomposition for each fold."""

        def pieces(landmarks: Landmarks, columns: IntArray, moments: Moments) -> list[FeaturePiece]:
            spectrum, problem = decompose(moments)
            found = [fixed_at(spectrum, problem, moments, float(C)) for C in values]
            return [feature_piece(landmarks, columns, moments, spectrum, *each) for each in found]

        subsets = [train for train, _ in splits]
        path = self._solve(state, labels, subsets, weights, options, pieces, len(values))
        n_threads = effective_n_jobs(options.n_jobs)
        tested = [
            _path_margins(fitted, state.X[test], probability, n_threads)
            for fitted, (_, test) in zip(path, splits, strict=True)
        ]
        return [
            FoldMargins(
                tested=[fold[k] for fold in tested],
                failed=np.zeros(labels.shape[1], dtype=bool),
                fitted=partial(lambda k, fold: path[fold][k], k),
            )
            for k in range(len(values))
        ]

    def landmarks_for_blocks(
        self,
        state: FeatureRows,
        labels: SignArray,
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> Landmarks:
        """Choose the width and the landmarks on a sample of rows."""
        self.settings.check_parameters()
        return self._landmarks(state, labels, [np.arange(len(labels))], weights, options)

    def fit_sums(
        self,
        landmarks: Landmarks,
        layout: Layout,
        sums: FeatureSums,
        n_subsets: int,
        n_threads: int,
    ) -> list[FittedFeatureLSSVM]:
        """Train every column on every subset, from sums over all rows."""
        found = self._solve_sums(landmarks, layout, sums, n_subsets, n_threads, self._piece, 1)
        return [fitted for (fitted,) in found]

    def training_margins(
        self,
        fitted: FittedFeatureLSSVM,
        state: FeatureRows,
        rows: IntArray,
        where: NDArray[np.bool_] | None = None,
        probability: bool = False,
        n_jobs: int | None = None,
    ) -> Margins:
        """Return the margins of training rows."""
        return self._margins(fitted, state.X, rows, probability, n_jobs)

    def margins(
        self,
        fitted: FittedFeatureLSSVM,
        X: Any,
        probability: bool = False,
        n_jobs: int | None = None,
    ) -> Margins:
        """Return the margins of new rows; variances and noise only together with probabilities."""
        return self._margins(fitted, X, np.arange(X.shape[0]), probability, n_jobs)

    def leave_one_out_scores(
        self,
        fitted: FittedFeatureLSSVM,
        state: FeatureRows,
        labels: SignArray,
        rows: IntArray,
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> LeftOut:
        """Return the score that every training row gets from a fit without it; 0 elsewhere."""
        scores = np.zeros(labels.shape)

        def work(places: IntArray) -> FloatArray:
            own = None if weights is None else weights[places]
            block = fitted.landmarks.block(state.X[places], True)
            return fitted.block_left_out(block, labels[places], own)

        blocks = in_blocks(rows, fitted.landmarks.block_rows)
        with single_threaded_blas():
            found = in_order(work, blocks, effective_n_jobs(options.n_jobs))
            for places, block in zip(blocks, found, strict=True):
                scores[places] = block
        return LeftOut(scores, np.ones(labels.shape[1], dtype=bool))

    def _piece(
        self, landmarks: Landmarks, columns: IntArray, moments: Moments
    ) -> list[FeaturePiece]:
        """Solve a binary problem for the C of the settings."""
        C = self.settings.C
        if isinstance(C, str):
            by_evidence = solve_by_evidence(moments, shared=C == "shared_evidence")
            return [feature_piece(landmarks, columns, moments, *by_evidence)]
        solved = solve_for(moments, C)
        return [feature_piece(landmarks, columns, moments, *solved)]

    def _margins(
        self,
        fitted: FittedFeatureLSSVM,
        X: Any,
        rows: IntArray,
        probability: bool,
        n_jobs: int | None,
    ) -> Margins:
        blocks = in_blocks(np.arange(len(rows)), fitted.landmarks.block_rows)
        dtype = fitted.precision(X)
        # Blocks write their scores into one array: putting them together took as long as the
        # products, if there are many columns.
        scores = np.empty((len(rows), len(fitted.trained)))

        def work(places: IntArray) -> Margins:
            block = fitted.landmarks.block(X[rows[places]], probability, dtype)
            return fitted.block_margins(block, probability, scores[places[0] : places[-1] + 1])

        with single_threaded_blas():
            found = list(in_order(work, blocks, effective_n_jobs(n_jobs)))
        return join_margins(found, len(fitted.trained), scores)

    def _solve(
        self,
        state: FeatureRows,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
        options: TrainingOptions,
        pieces_of: Any,
        n_values: int = 1,
    ) -> list[list[FittedFeatureLSSVM]]:
        """Solve the problems of every subset; return the machines of every value of C."""
        self.settings.check_parameters()
        n_threads = effective_n_jobs(options.n_jobs)
        landmarks = self._landmarks(state, labels, subsets, weights, options)
        layout = lay_out(labels, subsets, weights)
        together = fits_together(
            self.settings.memory_limit, len(landmarks), layout, len(subsets), n_threads
        )
        results: list[list[FittedFeatureLSSVM]] = []
        for numbers in [range(len(subsets))] if together else [[k] for k in range(len(subsets))]:
            if not together:
                layout = lay_out(labels, [subsets[k] for k in numbers], weights)
            sums = feature_sums(
                landmarks, state.X, layout.rows, layout.groups, layout.cells, weights, n_threads
            )
            results += self._solve_sums(
                landmarks, layout, sums, len(numbers), n_threads, pieces_of, n_values
            )
        return results

    def _solve_sums(
        self,
        landmarks: Landmarks,
        layout: Layout,
        sums: FeatureSums,
        n_subsets: int,
        n_threads: int,
        pieces_of: Any,
        n_values: int,
    ) -> list[list[FittedFeatureLSSVM]]:
        tasks = [(k, columns) for k in range(n_subsets) for columns in layout.problems(k)]

        def work(task: tuple[int, IntArray]) -> list[FeaturePiece]:
            subset, columns = task
            found: list[FeaturePiece] = pieces_of(
                landmarks, columns, moments_of(layout, sums, subset, columns)
            )
            return found

        shape = (n_subsets, n_values)
        pieces: NDArray[Any] = np.frompyfunc(lambda _: [], 1, 1)(np.zeros(shape))
        trained = np.zeros((n_subsets, layout.labels.shape[1]), dtype=bool)
        with single_threaded_blas():
            found = in_order(work, tasks, n_threads)
            for (subset, columns), each in zip(tasks, found, strict=True):
                trained[subset, columns] = True
                for value, piece in enumerate(each):
                    pieces[subset, value].append(piece)
        return [
            [FittedFeatureLSSVM(landmarks, own, trained[subset]) for own in pieces[subset]]
            for subset in range(n_subsets)
        ]

    def _landmarks(
        self,
        state: FeatureRows,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> Landmarks:
        rows = np.unique(np.concatenate(subsets))
        seed = options.random_state or 0
        number, choice = int(self.settings.landmarks), self.settings.landmark_choice
        if self.settings.sigma2 != "evidence" or self.settings.kernel != "rbf":
            kernel = self.settings.settle(state.X, options.counts)
        else:
            kernel = self._width(state, labels, rows, weights, seed)
        return state.landmarks(kernel, number, rows, choice, seed)

    def _width(
        self,
        state: FeatureRows,
        labels: SignArray,
        rows: IntArray,
        weights: FloatArray | None,
        seed: int,
    ) -> Kernel:
        drawn = rows
        if len(rows) > ROWS_FOR_MEDIAN:
            drawn = sample_by_content(state.X, ROWS_FOR_WIDTH, seed, rows, labels)
            rows = np.sort(drawn)
        few = np.sort(drawn[:ROWS_FOR_MEDIAN])
        layout = lay_out(labels, [rows], weights)
        number, choice = int(self.settings.landmarks), self.settings.landmark_choice

        def problems_of(kernel: Kernel) -> list[Moments]:
            landmarks = choose_landmarks(kernel, state.X, number, rows, choice, seed)
            sums = feature_sums(
                landmarks, state.X, layout.rows, layout.groups, layout.cells, weights
            )
            return [moments_of(layout, sums, 0, columns) for columns in layout.problems(0)]

        with single_threaded_blas():
            return width_by_evidence(state.X[few], problems_of, WIDTHS, self.settings.occam)


def _path_margins(
    path: list[FittedFeatureLSSVM], X: Any, probability: bool, n_threads: int
) -> list[Margins]:
    """Return the margins of the machines of every C, with the kernel computed once."""
    blocks = in_blocks(np.arange(X.shape[0]), path[0].landmarks.block_rows)
    dtype = max(each.precision(X) for each in path)

    def work(places: IntArray) -> list[Margins]:
        block = path[0].landmarks.block(X[places], probability, dtype)
        return [each.block_margins(block, probability) for each in path]

    with single_threaded_blas():
        found = list(in_order(work, blocks, n_threads))
    return [
        join_margins([block[k] for block in found], len(path[0].trained)) for k in range(len(path))
    ]
