"""The support vector machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from ...core.registry import register
from ...core.types import FloatArray, IntArray, SignArray
from ...kernels import FeatureRows, Kernel, Landmarks, LinearRows, RowSource
from ...native.svm import SvmStatus, solve_svm
from ..kernel_machine import LANDMARK_PARAMETERS, MEMORY, IterativeKernelMachine, iteration_limit
from ..linear import MOST_FEATURES
from ..parameters import Rule, number, whole
from ..solved import Solution, Solved, SolvedPath, solve_each
from .decomposition import decompose
from .features import solve_svm_in_features
from .hard_margin import PATH, first_inside, is_inside
from .interior import interior_point


@register("svm")
class SVM(IterativeKernelMachine):
    """Support vector machine: the L1-loss C-SVM with bias, in the dual.

    It is a binary classifier. As the machine of `PolychotomyClassifier`, it trains all binary
    problems of a code, in all folds, on one shared Gram matrix. A single large problem, a problem
    above `memory_limit`, and a linear kernel with many rows are solved without a Gram matrix.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the errors; that of a row is ``C`` times its weight. Infinity is the hard
        margin: no row may be on the wrong side. A binary problem that has no such solution is
        warned about, and solved for a C of 1e8.
    kernel : str or callable, default="rbf"
        The kernel: "rbf", "laplacian", "linear", "poly", "sigmoid", "precomputed", or a function of
        two matrices.
    sigma2 : float, default=None
        The width of the Gaussian kernel, ``exp(-|x - z|^2 / (2 sigma2))``; if given, `gamma` is not
        used.
    gamma : {"scale", "auto"} or float, default="scale"
        The width in scikit-learn's form, ``exp(-gamma |x - z|^2)``, the width of "laplacian",
        ``exp(-gamma sum_j |x_j - z_j|)``, or the scale of "poly" and "sigmoid".
    degree : float, default=3
        The degree of "poly".
    coef0 : float, default=0.0
        The constant of "poly" and "sigmoid".
    tol : float, default=1e-3
        The largest violation of the optimality conditions, for scores of size 1 or more. For
        smaller scores, as with a small `C`, it is reduced in proportion.
    max_iter : int, default=-1
        The largest number of iterations for a binary problem; -1 for a very large one.
    memory_limit : float, default=None
        The largest size of the kernel in bytes; by default half of the free memory. Above it there
        is no Gram matrix: kernel rows are computed on demand, and as many as the limit allows are
        kept, but at least a few. The answer is the same within `tol`, but takes longer.
    landmarks : int or "auto", default=None
        If given, the machine is linear in the features of this many training rows, and time and
        memory no longer grow with the square of the number of rows. With as many landmarks as rows
        it is the exact machine, which None is. "auto" is exact if no binary problem has more than
        3,000 rows; above, landmarks are doubled until the loss of held-out rows of a subsample
        hardly falls. Up to 100,000 rows it stays exact, if that does better on the subsample.
    landmark_choice : {"pivoted_cholesky", "uniform", "k_means++"}, default="pivoted_cholesky"
        How landmarks are chosen: by randomly pivoted Cholesky, uniformly, or far from each other.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The class labels; a positive score means the second label.
    support_ : ndarray of shape (n_support,)
        The training rows that the solution uses.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        Their inputs; None for a precomputed kernel.
    dual_coef_ : ndarray of shape (1, n_support)
        Their weights.
    n_iter_ : int
        The number of iterations.
    intercept_ : ndarray of shape (1,)
        The bias: the mean over free support vectors; if there are none, the middle of its interval.

    Notes
    -----
    On a shared Gram matrix of 128 rows or more, and with a `tol` of 1e-4 or more, the solver works
    in single precision while the estimated rounding error is below a quarter of the tolerance. If
    it is larger, outputs are recomputed from the matrix, or the rest is solved in double
    precision, so the requested gap is met in either case.

    Note: twice as many rows fit into a register and a cache line in single precision, and a step
    takes about half as long as in double precision, the alternative. The true gap was within the
    tolerance in all of 17,444 machines over the papers' grid.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from polychotomy import SVM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = make_pipeline(StandardScaler(), SVM(C=10, sigma2=30.0)).fit(X[::2], y[::2])
    >>> round(clf.score(X[1::2], y[1::2]), 2)
    0.96
    """

    exact_on_demand = True
    own_parameters: ClassVar[dict[str, Rule]] = {
        "C": number(0.0, infinite=True),
        "tol": number(0.0),
        "max_iter": whole(-1),
        "memory_limit": MEMORY,
        **LANDMARK_PARAMETERS,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        sigma2: float | None = None,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = -1,
        memory_limit: float | None = None,
        landmarks: int | str | None = None,
        landmark_choice: str = "pivoted_cholesky",
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.sigma2 = sigma2
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.landmarks = landmarks
        self.landmark_choice = landmark_choice

    def solve(
        self,
        gram: FloatArray,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
        n_threads: int,
    ) -> Solved:
        """Solve every column on every subset of rows."""
        if self.C < np.inf:
            return super().solve(gram, labels, subsets, weights, n_threads)
        path = self.solve_path(gram, labels, subsets, PATH, weights, n_threads)
        return first_inside(path, weights)

    def solve_path(
        self,
        gram: FloatArray,
        labels: SignArray,
        subsets: Sequence[IntArray],
        C_values: Sequence[float],
        weights: FloatArray | None,
        n_threads: int,
    ) -> SolvedPath:
        """Solve every column on every subset of rows, for every value of C."""
        solution = solve_svm(
            gram,
            labels,
            subsets,
            C_values,
            weights,
            tolerance=self.tol,
            max_iterations=iteration_limit(self.max_iter),
            n_threads=n_threads,
        )
        return SolvedPath(
            coefficients=solution.coefficients,
            biases=solution.biases,
            trained=solution.status != SvmStatus.UNTRAINED,
            converged=solution.status != SvmStatus.ITERATION_LIMIT,
            iterations=solution.iterations,
        )

    @classmethod
    def examples(cls) -> list[Self]:
        """Return example configurations for the shared tests."""
        return [cls(), cls(landmarks=20)]

    def solve_features(
        self,
        state: FeatureRows,
        landmarks: Landmarks,
        labels: SignArray,
        subsets: Sequence[IntArray],
        C_values: Sequence[float],
        weights: FloatArray | None,
        memory_limit: float,
        n_threads: int,
    ) -> SolvedPath:
        """Solve every column on every subset in features; coefficients are of the landmarks."""
        return solve_svm_in_features(
            self, state, landmarks, labels, subsets, C_values, weights, memory_limit, n_threads
        )

    def takes_rows(self, kernel: Kernel, n_features: int) -> bool:
        """Whether `solve_rows` can replace `solve`."""
        return True

    def solve_rows(
        self,
        source: RowSource,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
    ) -> Solved:
        """Solve every column on every subset of rows without a Gram matrix."""
        values = [self.C] if self.C < np.inf else list(PATH)
        limit = iteration_limit(self.max_iter)

        def solve(signs: FloatArray, sizes: FloatArray) -> Solution:
            start, n_steps = _start(source, signs, values[0] * sizes)
            for C in values:
                solution = decompose(source, signs, C * sizes, self.tol, limit, start)
                start, n_steps = solution.coefficients, n_steps + solution.iterations
                inside = self.C < np.inf or is_inside(solution.coefficients, C * sizes)
                if inside:
                    break
            return replace(solution, iterations=n_steps, converged=solution.converged and inside)

        return solve_each(solve, labels, subsets, weights)


def _start(
    source: RowSource, labels: FloatArray, bounds: FloatArray
) -> tuple[FloatArray | None, int]:
    """Return starting coefficients, if good ones are known, and the steps that they took.

    For a linear kernel with few features, an interior point is found in a few passes over the rows;
    decomposition alone would need thousands.
    """
    if not isinstance(source, LinearRows):
        return None, 0
    inside = np.flatnonzero(bounds)
    if source.X.shape[1] > min(MOST_FEATURES, len(inside) / 2):
        return None, 0
    start = np.zeros(source.n_rows)
    X = source.X if len(inside) == source.n_rows else source.X[inside]
    start[inside], n_steps = interior_point(X, labels[inside], bounds[inside], source.go_on)
    return start, n_steps
