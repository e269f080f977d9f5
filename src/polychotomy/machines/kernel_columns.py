"""Kernel machines as the machines of a code: all columns and folds on one Gram matrix.

Note: LIBSVM, and so SVC, computes kernel rows for every binary problem and fold again. A shared
Gram matrix computes them once: LIBSVM on one shared by hand is two to three times as fast as SVC.
Its price is memory, n^2 numbers. Above the limit SVMs get rows on demand, and other machines a
matrix for each problem.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Protocol

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.sparse import csc_array, issparse
from scipy.sparse.linalg import norm as sparse_norm
from sklearn.exceptions import ConvergenceWarning

from ..core.margins import Margins
from ..core.math import sigmoid
from ..core.registry import stored
from ..core.stages import stage
from ..core.state import Array, Field, Flags, Holds, Indices, Inputs, Instance, Sizes, require
from ..core.types import FloatArray, IntArray, SignArray
from ..kernels import (
    BLOCK_ENTRIES,
    Kernel,
    SharedRows,
    check_square,
    dense,
    prepare_rows,
    settle_memory_limit,
)
from ..native import _core
from .any_learner import single_threaded_blas
from .base import FoldMargins, Machine, TrainingOptions
from .held_out_path import PathMachines, PathSolver, solve_held_out
from .on_demand import RowSolver, is_worth_it, solve_on_demand
from .solved import Solved, join_columns, scatter

# With at least this many rows, scores of inputs in single precision are computed in it, if their
# typical error is at most this: a tenth of the default tolerance of the solvers.
LEAST_FOR_SINGLE, ERROR_OF_SINGLE = 1000, 1e-4


@stored("fitted.kernels")
@dataclass(frozen=True)
class FittedKernels:
    """Trained kernel machines of all columns, with only the rows that some column uses."""

    fitted_state: ClassVar[dict[str, Field]] = {
        "kernel": Holds(Kernel),
        "support": Indices("s"),
        "support_inputs": Inputs("sd", optional=True),
        # Sparse for many columns in each of which only a few rows take part.
        "coefficients": Inputs("sT", formats=("csr", "csc")),
        "biases": Array("T"),
        "trained": Flags("T"),
        "iterations": Array("T", "iu"),
    }

    kernel: Kernel
    support: IntArray
    support_inputs: Any
    coefficients: Any
    biases: FloatArray
    trained: NDArray[np.bool_]
    iterations: NDArray[np.integer[Any]]

    def scores(self, X: Any) -> FloatArray:
        """Return the scores of new rows, in blocks of bounded memory."""
        if self.kernel.is_linear:
            # Not (X Z') c, whose time and memory per new row grow with the rows of Z.
            with single_threaded_blas():
                found = X @ (self.support_inputs.T @ self.coefficients)
                # Sparse, if inputs and coefficients are.
                dense = found.toarray() if issparse(found) else np.asarray(found)
                return dense + self.biases
        scores = np.empty((X.shape[0], len(self.biases)))
        step = max(1, BLOCK_ENTRIES // max(1, len(self.support)))
        with single_threaded_blas():
            for start in range(0, X.shape[0], step):
                block = slice(start, start + step)
                self._multiply(self._kernel_with(X[block]), scores[block])
        return scores

    def _multiply(self, kernel: NDArray[Any], scores: FloatArray) -> None:
        """Set the scores of rows with this kernel."""
        sparse = self.coefficients
        if not issparse(sparse) or sparse.format != "csc" or sparse.indices.dtype != np.int32:
            scores[:] = kernel @ sparse
            scores += self.biases
            return
        # To the last bit that of SciPy, which turns kernel and scores, in two thirds of the time.
        _core.sparse_scores(
            np.ascontiguousarray(kernel, dtype=np.float64),
            sparse.indptr.astype(np.int32, copy=False),
            sparse.indices,
            sparse.data,
            self.biases,
            scores,
        )

    @cached_property
    def inputs_in_single(self) -> NDArray[np.float32] | None:
        """The inputs in single precision, if that is faster and changes no score noticeably."""
        lengths = sparse_norm if issparse(self.coefficients) else np.linalg.norm
        if len(self.support) < LEAST_FOR_SINGLE or issparse(self.support_inputs):
            return None
        inputs: NDArray[np.float32] = self.support_inputs.astype(np.float32)
        if not (inputs == self.support_inputs).all():
            return None
        # Errors of entries have no common sign.
        largest = lengths(self.coefficients, axis=0).max(initial=0.0)
        error = self.kernel.single_error(inputs) * float(largest)
        return inputs if error <= ERROR_OF_SINGLE else None

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "inputs_in_single"}

    def _kernel_with(self, X: Any) -> NDArray[Any]:
        if self.kernel.is_precomputed:
            return dense(X[:, self.support])
        is_single = isinstance(X, np.ndarray) and X.dtype == np.float32
        if is_single and self.inputs_in_single is not None:
            return self.kernel.between_single(X, self.inputs_in_single)
        return self.kernel.between(X, self.support_inputs)

    def check_state(self, sizes: Sizes) -> None:
        """Check that there are inputs if and only if the kernel reads them."""
        there = self.support_inputs is not None
        require(there != self.kernel.is_precomputed, self, "has inputs that its kernel cannot read")

    def check_inputs(self, n_features: int) -> None:
        """Check that it can read rows of this many inputs."""
        if self.kernel.is_precomputed:
            inside = not len(self.support) or self.support.max() < n_features
            require(inside, self, "has support out of range")
        else:
            same = self.support_inputs.shape[1] == n_features
            require(same, self, "has inputs of another number of features")


class Collected:
    """Trained kernel machines of some columns each: the entries of one column after the other.

    Note: in two arrays for all entries that there can be, of which only pages that are written take
    memory. Small arrays for every block of columns left holes that nothing else fitted into.

    Parameters
    ----------
    most : int
        The largest number of coefficients that are not 0.
    """

    def __init__(self, most: int) -> None:
        # Rows are fewer than 2^31; half the memory.
        self.row, self.values = np.empty(most, dtype=np.int32), np.empty(most)
        self.n_entries = 0
        self.blocks: list[tuple[IntArray, FloatArray, NDArray[np.bool_], NDArray[Any]]] = []
        self.kernel: Kernel | None = None

    def add(self, fitted: FittedKernels) -> None:
        """Take the machines of some more columns."""
        column, row = np.nonzero(fitted.coefficients.T)
        own = slice(self.n_entries, self.n_entries + len(row))
        self.row[own], self.values[own] = fitted.support[row], fitted.coefficients[row, column]
        self.n_entries = own.stop
        sizes = np.bincount(column, minlength=len(fitted.biases))
        self.blocks.append((sizes, fitted.biases, fitted.trained, fitted.iterations))
        self.kernel = fitted.kernel

    def ordered(self, order: IntArray, place: NDArray[np.int32]) -> csc_array:
        """Return the matrix of all coefficients, with its columns in an order."""
        sizes = np.concatenate([block[0] for block in self.blocks])
        ends = np.concatenate([[0], np.cumsum(sizes[order])])
        starts = np.empty_like(order)
        starts[order] = ends[:-1]
        row, values = np.empty(self.n_entries, dtype=np.int32), np.empty(self.n_entries)
        column = entry = 0
        for own, *_ in self.blocks:
            first = starts[column : column + len(own)]
            some = slice(entry, entry + int(own.sum()))
            to = np.repeat(first - (np.cumsum(own) - own), own) + np.arange(some.stop - entry)
            row[to], values[to] = place[self.row[some]], self.values[some]
            column, entry = column + len(own), some.stop
        if self.n_entries <= np.iinfo(np.int32).max:
            # SciPy would make all indices as long as these: a third more memory.
            ends = ends.astype(np.int32)
        return csc_array((values, row, ends), (int(place.max(initial=-1)) + 1, len(order)))


class ColumnSolver(RowSolver, PathSolver, Protocol):
    """What a kernel machine must provide to train columns."""

    kernel: Any
    memory_limit: Any

    def settle(self, X: Any, counts: FloatArray | None) -> Kernel:
        """Return the kernel with its parameters fixed for the training rows."""
        ...

    def solve(
        self,
        gram: FloatArray,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
        n_threads: int,
    ) -> Solved:
        """Solve every column on every subset of rows."""
        ...


@stored("columns.kernel")
class KernelColumns:
    """The machines of a code, trained by a kernel machine on one Gram matrix.

    Parameters
    ----------
    solver : ColumnSolver
        The kernel machine.
    has_probability : bool, default=False
        Whether the sigmoid of its scores is its probability.
    """

    has_likelihood = False
    path_parameter = "C"
    fitted_type: ClassVar[type] = FittedKernels
    shares: ClassVar[str | None] = "rows"
    checks_inputs: ClassVar[bool] = False
    fitted_state: ClassVar[dict[str, Field]] = {
        "solver": Holds(Machine, fitted=False),
        "has_probability": Instance(bool),
    }

    def __init__(self, solver: ColumnSolver, has_probability: bool = False) -> None:
        self.solver = solver
        self.has_probability = has_probability

    @property
    def template(self) -> Any:
        """The kernel machine."""
        return self.solver

    def prepare(self, X: Any) -> SharedRows:
        """Return the rows; their distances are computed on first use."""
        check_square(self.solver.kernel, X)
        return prepare_rows(self.solver.kernel, X)

    def fit(
        self,
        state: SharedRows,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> list[FittedKernels]:
        """Train every column on every subset of rows."""
        kernel = self.solver.settle(state.X, options.counts)
        n_threads = effective_n_jobs(options.n_jobs)
        rows = None
        with single_threaded_blas():
            limit = settle_memory_limit(self.solver.memory_limit)
            # Must not depend on n_threads: otherwise the rounding of the answer would.
            within = fits(len(labels), limit)
            if is_worth_it(self.solver, kernel, state.X, labels, subsets, within):
                solved = solve_on_demand(
                    self.solver,
                    kernel,
                    state.X,
                    labels,
                    subsets,
                    weights,
                    limit,
                    n_threads,
                    state.single,
                )
            elif within:
                n_threads = most_threads(len(labels), n_threads, limit)
                rows, solved = self._solve_part(state, kernel, labels, subsets, weights, n_threads)
            else:
                solved = self._solve_by_column(
                    state, kernel, labels, subsets, weights, options, limit
                )
        warn_unconverged(solved, options)
        return [_fitted(kernel, state.X, solved, number, rows) for number in range(len(subsets))]

    def collect(self, most: int) -> Collected:
        """Return what takes machines of some columns each, with at most so many coefficients."""
        return Collected(most)

    def join(self, collected: Collected, state: SharedRows, order: IntArray) -> FittedKernels:
        """Put machines of some columns each side by side, in another order.

        Note: their coefficients become a sparse matrix. A pair of 300 classes uses the rows of two
        of them, so that a dense matrix would be almost empty, and the largest part of the model.
        """
        kernel = collected.kernel
        assert kernel is not None
        used = np.zeros(state.X.shape[0], dtype=bool)
        used[collected.row[: collected.n_entries]] = True
        support, place = np.flatnonzero(used), (np.cumsum(used) - 1).astype(np.int32)
        _, *others = zip(*collected.blocks, strict=True)
        biases, trained, iterations = (np.concatenate(each)[order] for each in others)
        return FittedKernels(
            kernel=kernel,
            support=support,
            support_inputs=None if kernel.is_precomputed else state.X[support],
            coefficients=collected.ordered(order, place),
            biases=biases,
            trained=trained,
            iterations=iterations,
        )

    def _solve_part(
        self,
        state: SharedRows,
        kernel: Kernel,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
        n_threads: int,
    ) -> tuple[IntArray | None, Solved]:
        """Solve on the rows that take part in some column, if most rows do not."""
        rows = np.flatnonzero(labels.any(axis=1))
        if 2 * len(rows) > len(labels):
            gram = state.gram(kernel, n_threads)
            return None, self.solver.solve(gram, labels, subsets, weights, n_threads)
        place = np.full(len(labels), -1)
        place[rows] = np.arange(len(rows))
        return rows, self.solver.solve(
            state.part(kernel, rows, n_threads),
            labels[rows],
            [place[subset][place[subset] >= 0] for subset in subsets],
            None if weights is None else weights[rows],
            n_threads,
        )

    def held_out_path(
        self,
        state: SharedRows,
        labels: SignArray,
        splits: Sequence[tuple[IntArray, IntArray]],
        values: Sequence[float],
        weights: FloatArray | None,
        options: TrainingOptions,
        probability: bool = False,
    ) -> list[FoldMargins] | None:
        """Return the held-out margins for every C.

        None if the Gram matrix is too large, or a C infinite: each C is then trained on its own.
        """
        limit = settle_memory_limit(self.solver.memory_limit)
        if not fits(len(labels), limit) or not np.isfinite(values).all():
            return None
        n_threads = most_threads(len(labels), effective_n_jobs(options.n_jobs), limit)
        kernel = self.solver.settle(state.X, options.counts)
        with single_threaded_blas():
            with stage("kernel"):
                gram = state.gram(kernel, n_threads)
            path = solve_held_out(self.solver, gram, labels, splits, values, weights, n_threads)

        # If scores take much memory, probabilities are computed only when they are asked for.
        is_large = probability and self.has_probability and path.machines.is_large

        def tested(scores: list[FloatArray]) -> Sequence[Margins]:
            if is_large:
                return _MarginsOf(scores, partial(self._margins, probability=True))
            return [self._margins(each, probability) for each in scores]

        # Not with the path itself, which would keep the scores of all values.
        fitted = partial(_fitted_in_fold, kernel, state.X, path.machines)
        return [
            FoldMargins(
                tested=tested([fold[k] for fold in path.scores]),
                failed=path.failed[k],
                fitted=partial(fitted, k),
            )
            for k in range(len(values))
        ]

    def _solve_by_column(
        self,
        state: SharedRows,
        kernel: Kernel,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
        options: TrainingOptions,
        memory_limit: float,
    ) -> Solved:
        """Solve column by column, each with the Gram matrix of only the rows that take part."""
        used = np.zeros(len(labels), dtype=bool)
        used[np.concatenate(subsets)] = True
        parts = []
        for column in range(labels.shape[1]):
            rows = np.flatnonzero(used & (labels[:, column] != 0))
            if not fits(len(rows), memory_limit):
                raise MemoryError(
                    f"The binary problem {options.describe(column)} has {len(rows)} rows, whose "
                    f"Gram matrix of {8 * len(rows) ** 2 / 2**30:.1f} GiB is over the memory "
                    "limit; raise memory_limit, use fewer rows, or SVM, which needs no Gram matrix."
                )
            place = np.full(len(labels), -1)
            place[rows] = np.arange(len(rows))
            inside = [place[subset][place[subset] >= 0] for subset in subsets]
            part = self.solver.solve(
                state.gram_of(kernel, rows),
                labels[rows, column : column + 1],
                inside,
                None if weights is None else weights[rows],
                1,
            )
            parts.append(scatter(part, rows, len(labels)))
        return join_columns(parts)

    def training_margins(
        self,
        fitted: FittedKernels,
        state: SharedRows,
        rows: IntArray,
        where: NDArray[np.bool_] | None = None,
        probability: bool = False,
        n_jobs: int | None = None,
    ) -> Margins:
        """Return the margins of training rows, from the Gram matrix."""
        gram = state.between(fitted.kernel, rows, fitted.support)
        if gram is None:
            given = state.X
            if state.single is not None and fitted.inputs_in_single is not None:
                given = state.single
            scores = state.scores_of(fitted, rows, lambda: fitted.scores(given[rows]))
            return self._margins(scores, probability)
        with single_threaded_blas():
            scores = gram @ fitted.coefficients
        scores += fitted.biases
        return self._margins(scores, probability)

    def margins(
        self, fitted: FittedKernels, X: Any, probability: bool = False, n_jobs: int | None = None
    ) -> Margins:
        """Return the margins of new rows."""
        return self._margins(fitted.scores(X), probability)

    def _margins(self, scores: FloatArray, probability: bool) -> Margins:
        own = sigmoid(scores) if probability and self.has_probability else None
        return Margins(mean=scores, probability=own)


def _fitted_in_fold(
    kernel: Kernel, X: Any, machines: PathMachines, value: int, fold: int
) -> FittedKernels:
    """Return the machines of a fold, for one value of a path."""
    return _fitted(kernel, X, machines.solved(fold, value), 0)


class _MarginsOf(Sequence[Margins]):
    """The margins of folds, made of their scores each time that they are asked for."""

    def __init__(self, scores: list[FloatArray], make: Callable[[FloatArray], Margins]) -> None:
        self.scores, self.make = scores, make

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, fold: Any) -> Any:
        return self.make(self.scores[fold])


def _fitted(
    kernel: Kernel, X: Any, solved: Solved, number: int, rows: IntArray | None = None
) -> FittedKernels:
    """Return the machines of a subset; `rows` are those that were solved on, if not all."""
    coefficients = solved.coefficients[number]
    used = np.flatnonzero(coefficients.any(axis=0))
    support = used if rows is None else rows[used]
    return FittedKernels(
        kernel=kernel,
        support=support,
        # Indexing copies, so no reference to the caller's array is kept.
        support_inputs=None if kernel.is_precomputed else X[support],
        coefficients=np.ascontiguousarray(coefficients[:, used].T),
        biases=solved.biases[number],
        trained=solved.trained[number],
        iterations=solved.iterations[number],
    )


def warn_unconverged(solved: Solved, options: TrainingOptions) -> None:
    """Warn of columns whose solver did not reach its tolerance, by name."""
    failed = np.flatnonzero((solved.trained & ~solved.converged).any(axis=0))
    if len(failed):
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        warnings.warn(
            f"The solver did not converge for the binary problem {options.describe(int(failed[0]))}"
            f"{more}; scale the inputs, or raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=5,
        )


def fits(n_rows: int, memory_limit: float) -> bool:
    """Return whether a Gram matrix, its distances and one thread's copy are within the limit."""
    return most_threads(n_rows, 1, memory_limit) >= 1


def most_threads(n_rows: int, n_threads: int, memory_limit: float) -> int:
    """Return how many threads, each with a copy of the Gram matrix, are within the limit."""
    return int(min(n_threads, memory_limit / (8.0 * max(n_rows, 1) ** 2) - 2))
