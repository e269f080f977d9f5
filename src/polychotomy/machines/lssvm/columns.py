"""LS-SVMs as the machines of a code: columns on the same rows share one factorisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from ...core.margins import Margins
from ...core.math import sigmoid
from ...core.registry import stored
from ...core.state import Array, Field, Flags, Holds, Indices, Inputs, ListOf, Sizes, require
from ...core.types import FloatArray, IntArray, SignArray
from ...kernels import (
    BLOCK_ENTRIES,
    Gaussian,
    Kernel,
    SharedRows,
    prepare_rows,
    settle_memory_limit,
)
from ...kernels.gaussian import exponential_of
from ..any_learner import single_threaded_blas
from ..base import LeftOut, Machine, TrainingOptions
from .evidence import Hyperparameters, fixed_hyperparameters, optimise_hyperparameters
from .predictive import Basis, Explaining, moderated_log_odds, predictive_variance
from .selection import select_by_evidence
from .solve import Factor, Fit, factorise
from .tridiagonal import Tridiagonal, fit, tridiagonalise, with_targets

# The first widths to try, in units of the median squared distance.
WIDTHS = tuple(4.0**power for power in range(-4, 4))
# The peak number of matrices, of the size of the Gram matrix, in a fit (measured): with given
# kernel and C, with a search for C, and with a search for the width, which keeps the matrices of
# every width that is the best so far.
MATRICES_OF_FACTOR, MATRICES, MATRICES_OF_SEARCH = 3, 4, 28


class Settings(Protocol):
    """The parameters of an LS-SVM."""

    C: Any
    kernel: Any
    sigma2: Any
    shared_sigma2: bool
    occam: bool
    memory_limit: Any

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        ...

    def settle(self, X: Any, counts: FloatArray | None) -> Kernel:
        """Return the kernel with its parameters fixed for the training rows."""
        ...


@stored("fitted.lssvm_piece")
@dataclass(frozen=True)
class Piece:
    """Columns that share their training rows and kernel."""

    fitted_state: ClassVar[dict[str, Field]] = {
        "columns": Indices("c"),
        "kernel": Holds(Kernel),
        "rows": Indices("n"),
        "inputs": Inputs("nd"),
        "targets": Array("nc"),
        "solution": Holds(Fit, share="nc"),
        "basis": Holds(Tridiagonal, Factor, share="n"),
        "hyperparameters": Holds(Hyperparameters, share="c"),
        "prior": Array("c", above=0.0, below=1.0),
    }

    columns: IntArray
    kernel: Kernel
    rows: IntArray
    inputs: Any
    targets: FloatArray
    solution: Fit
    basis: Basis
    hyperparameters: Hyperparameters
    prior: FloatArray

    def check_state(self, sizes: Sizes) -> None:
        """Check that the kernel reads inputs."""
        require(not self.kernel.is_precomputed, self, "has a precomputed kernel")

    def variance(self, X: Any, cross: FloatArray, basis: Explaining) -> FloatArray:
        """Return the variance of the scores of new rows, VANGESTEL (12), from a form of `basis`."""
        chosen = self.hyperparameters
        return predictive_variance(basis, cross, self.kernel.diagonal(X), chosen.mu, chosen.zeta)

    def leave_one_out(self) -> FloatArray:
        """Return the score that every training row gets from a fit without it."""
        return self.basis.leave_one_out(self.targets, self.hyperparameters.gamma)


class _Solved(NamedTuple):
    solution: Fit
    basis: Basis
    hyperparameters: Hyperparameters


@stored("fitted.lssvm")
@dataclass(frozen=True)
class FittedLSSVM:
    """Trained LS-SVMs of all columns."""

    fitted_state: ClassVar[dict[str, Field]] = {
        "pieces": ListOf(Holds(Piece, share="d")),
        "trained": Flags("T"),
    }

    pieces: list[Piece]
    trained: NDArray[np.bool_]

    def check_state(self, sizes: Sizes) -> None:
        """Check that every trained column is in exactly one piece."""
        columns = np.concatenate([piece.columns for piece in self.pieces] or [np.zeros(0, int)])
        whole = np.array_equal(np.sort(columns), np.flatnonzero(self.trained))
        require(whole, self, "lacks a column")

    def check_inputs(self, n_features: int) -> None:
        """Check that it can read rows of this many inputs."""
        same = all(piece.inputs.shape[1] == n_features for piece in self.pieces)
        require(same, self, "has inputs of another number of features")

    @property
    def kernel(self) -> Kernel:
        """The kernel of the first piece."""
        return self.pieces[0].kernel

    @property
    def support(self) -> IntArray:
        """The training rows of the first piece."""
        return self.pieces[0].rows

    @property
    def support_inputs(self) -> Any:
        """Their inputs."""
        return self.pieces[0].inputs

    @property
    def coefficients(self) -> FloatArray:
        """Their weights."""
        return self.pieces[0].solution.coefficients

    @property
    def biases(self) -> FloatArray:
        """The biases of the first piece."""
        return self.pieces[0].solution.biases


@stored("columns.lssvm")
class LSSVMColumns:
    """The machines of a code, trained as LS-SVMs in the evidence framework.

    Parameters
    ----------
    settings : Settings
        The LS-SVM.
    """

    has_probability = True
    has_likelihood = True
    fitted_type: ClassVar[type] = FittedLSSVM
    shares: ClassVar[str | None] = "rows"
    checks_inputs: ClassVar[bool] = False
    fitted_state: ClassVar[dict[str, Field]] = {"settings": Holds(Machine, fitted=False)}

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @property
    def template(self) -> Any:
        """The LS-SVM."""
        return self.settings

    def prepare(self, X: Any) -> SharedRows:
        """Return the rows, whose distances are computed when they are first needed."""
        return prepare_rows(self.settings.kernel, X)

    def fit(
        self,
        state: SharedRows,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> list[FittedLSSVM]:
        """Train every column on every subset of rows."""
        tasks = [
            (number, columns, rows)
            for number, subset in enumerate(subsets)
            for columns, rows in columns_by_rows(labels, subset)
        ]
        self.settings.check_parameters()
        kernel, C = None, self._given_C()
        if self.settings.sigma2 != "evidence" or self.settings.kernel != "rbf":
            kernel = self.settings.settle(state.X, options.counts)
        with single_threaded_blas():
            solved = Parallel(n_jobs=self._at_once(tasks, kernel, C, options), prefer="threads")(
                delayed(self._solve)(
                    state.X[rows], rows, columns, labels[np.ix_(rows, columns)], weights, kernel, C
                )
                for _, columns, rows in tasks
            )
        results = []
        for number in range(len(subsets)):
            pieces = [
                piece
                for (own, _, _), found in zip(tasks, solved, strict=True)
                if own == number
                for piece in found
            ]
            trained = np.zeros(labels.shape[1], dtype=bool)
            for piece in pieces:
                trained[piece.columns] = True
            results.append(FittedLSSVM(pieces, trained))
        return results

    def _at_once(
        self,
        tasks: Sequence[tuple[int, IntArray, IntArray]],
        kernel: Kernel | None,
        C: float | None,
        options: TrainingOptions,
    ) -> int:
        """Return how many tasks to solve in parallel, after checking the limit for one."""
        if not tasks:
            return 1
        limit = settle_memory_limit(self.settings.memory_limit)
        n_matrices = MATRICES_OF_SEARCH
        if kernel is not None:
            n_matrices = MATRICES if C is None else MATRICES_OF_FACTOR
        # Every task keeps one matrix, the basis for variances.
        kept = sum(8.0 * len(rows) ** 2 for _, _, rows in tasks)
        _, columns, rows = max(tasks, key=lambda task: len(task[2]))
        working = 8.0 * (n_matrices - 1) * len(rows) ** 2
        if kept + working > limit:
            raise MemoryError(
                f"The LS-SVM of the binary problem {options.describe(int(columns[0]))} has "
                f"{len(rows)} rows and needs {n_matrices} matrices of {len(rows)} x {len(rows)}, "
                f"which with those of all {len(tasks)} problems makes "
                f"{(kept + working) / 2**30:.1f} GiB; the memory limit is "
                f"{limit / 2**30:.1f} GiB. Raise memory_limit, use fewer rows, or SVM, which "
                "needs no Gram matrix."
            )
        return int(min(effective_n_jobs(options.n_jobs), (limit - kept) / working))

    def training_margins(
        self,
        fitted: FittedLSSVM,
        state: SharedRows,
        rows: IntArray,
        where: NDArray[np.bool_] | None = None,
        probability: bool = False,
        n_jobs: int | None = None,
    ) -> Margins:
        """Return the margins of training rows."""
        return self.margins(fitted, state.X[rows], probability, n_jobs)

    def margins(
        self, fitted: FittedLSSVM, X: Any, probability: bool = False, n_jobs: int | None = None
    ) -> Margins:
        """Return the margins of new rows; variances and noise only together with probabilities."""
        shape = (X.shape[0], len(fitted.trained))
        mean, variance, odds = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        noise = np.ones(shape[1])
        for piece in fitted.pieces:
            noise[piece.columns] = 1.0 / piece.hyperparameters.zeta
            step = max(1, BLOCK_ENTRIES // len(piece.rows))
            basis = piece.basis.for_rows(shape[0]) if probability else piece.basis
            for start in range(0, shape[0], step):
                place = slice(start, start + step), piece.columns
                with single_threaded_blas():
                    cross = piece.kernel.between(X[place[0]], piece.inputs)
                    mean[place] = piece.solution.scores(cross)
                    if probability:
                        variance[place] = piece.variance(X[place[0]], cross, basis)
                        odds[place] = moderated_log_odds(
                            mean[place], variance[place], noise[piece.columns], piece.prior
                        )
        # A variance costs as much as everything else for a row, so it is computed only on request.
        return Margins(mean, variance, noise, sigmoid(odds)) if probability else Margins(mean)

    def leave_one_out_scores(
        self,
        fitted: FittedLSSVM,
        state: SharedRows,
        labels: SignArray,
        rows: IntArray,
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> LeftOut:
        """Return the score that every training row gets from a fit without it; 0 elsewhere."""
        scores = np.zeros(labels.shape)
        for piece in fitted.pieces:
            scores[np.ix_(piece.rows, piece.columns)] = piece.leave_one_out()
        return LeftOut(scores, np.ones(labels.shape[1], dtype=bool))

    def _solve(
        self,
        X: Any,
        rows: IntArray,
        columns: IntArray,
        labels: SignArray,
        weights: FloatArray | None,
        kernel: Kernel | None,
        C: float | None,
    ) -> list[Piece]:
        targets = labels.astype(np.float64)
        own_weights = None if weights is None else weights[rows]
        parts: list[tuple[Kernel, Tridiagonal | None, IntArray]]
        if kernel is None:
            parts = self._select_width(X, targets, own_weights)
        else:
            parts = [(kernel, None, np.arange(len(columns)))]
        pieces = []
        for chosen, found, some in parts:
            if C is not None:
                solved = _solve_for(C, X, chosen, targets[:, some], own_weights)
            else:
                found = found or tridiagonalise(SharedRows(X).gram(chosen), own_weights)
                shared = self.settings.C == "shared_evidence"
                solved = _solve_by_evidence(found, targets[:, some], shared)
            pieces.append(
                Piece(
                    columns=columns[some],
                    kernel=chosen,
                    rows=rows,
                    inputs=X,
                    targets=targets[:, some],
                    solution=solved.solution,
                    basis=solved.basis,
                    hyperparameters=solved.hyperparameters,
                    prior=np.average(targets[:, some] > 0, axis=0, weights=own_weights),
                )
            )
        return pieces

    def _given_C(self) -> float | None:
        """Return C, or None if the evidence chooses it."""
        return None if isinstance(self.settings.C, str) else float(self.settings.C)

    def _select_width(
        self, X: Any, targets: FloatArray, weights: FloatArray | None
    ) -> list[tuple[Kernel, Tridiagonal | None, IntArray]]:
        distances = SharedRows(X).squared_distances
        median = np.median(distances[np.triu_indices(len(distances), 1)])
        unit = median if median > 0.0 else 1.0

        def kernel(sigma2: float) -> Gaussian:
            return Gaussian(1.0 / (2.0 * sigma2))

        selection = select_by_evidence(
            lambda sigma2: exponential_of(distances, kernel(sigma2).gamma),
            [unit * width for width in WIDTHS],
            targets,
            weights,
            per_column=not self.settings.shared_sigma2,
            occam=self.settings.occam,
        )
        values = selection.values
        return [
            (kernel(value), selection.problems[value].basis, np.flatnonzero(values == value))
            for value in np.unique(values).tolist()
        ]


def columns_by_rows(labels: SignArray, subset: IntArray) -> list[tuple[IntArray, IntArray]]:
    """Group the columns that have both signs in a subset by the rows that take part in them."""
    inside = labels[subset]
    usable = (inside > 0).any(axis=0) & (inside < 0).any(axis=0)
    groups: dict[bytes, list[int]] = {}
    for column in np.flatnonzero(usable).tolist():
        groups.setdefault((inside[:, column] != 0).tobytes(), []).append(column)
    return [(np.array(columns), subset[inside[:, columns[0]] != 0]) for columns in groups.values()]


def _solve_by_evidence(basis: Tridiagonal, targets: FloatArray, shared: bool) -> _Solved:
    problem = with_targets(basis, targets)
    hyperparameters = optimise_hyperparameters(problem, shared)
    return _Solved(fit(problem, hyperparameters.gamma), basis, hyperparameters)


def _solve_for(
    C: float, X: Any, kernel: Kernel, targets: FloatArray, weights: FloatArray | None
) -> _Solved:
    # Note: for one gamma a Cholesky factorisation costs a seventh of making the matrix tridiagonal,
    # which pays off only if the evidence searches for C or the width.
    gram = SharedRows(X).gram(kernel)
    factor = factorise(gram, C, weights, kernel.is_semidefinite(X))
    # If C is too large for the rounding of the Gram matrix, scores and variances both use the gamma
    # of the factor.
    solution = factor.solve(gram, targets, factor.gamma)
    return _Solved(solution, factor, fixed_hyperparameters(factor, targets))
