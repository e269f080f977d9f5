"""Kernel logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from ...core.math import sigmoid
from ...core.registry import register
from ...core.types import FloatArray, IntArray, SignArray
from ...kernels import FeatureRows, Kernel, Landmarks, LinearRows, RowSource
from ...native.klr import KlrStatus, solve_klr
from ..kernel_machine import LANDMARK_PARAMETERS, MEMORY, IterativeKernelMachine, iteration_limit
from ..linear import MOST_FEATURES
from ..parameters import Rule, number, whole
from ..solved import Solution, Solved, SolvedPath, solve_each
from .columns import LogisticColumns
from .features import solve_klr_in_features
from .linear import solve_linear_klr


@register("kernel_logistic_regression")
class KernelLogisticRegression(IterativeKernelMachine):
    """Kernel logistic regression (KLR): ``1/2 |w|^2 + C sum log(1 + exp(-y f))``.

    The bias is not penalised. Probabilities are the machine's own output. It is a binary
    classifier. As the machine of `PolychotomyClassifier`, it trains all binary problems of a code,
    in all folds, on one shared Gram matrix.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the errors; that of a row is ``C`` times its weight.
    kernel : {"rbf", "laplacian", "linear", "poly", "precomputed"} or callable, default="rbf"
        The kernel.
    sigma2 : float, default=None
        The width of the Gaussian kernel, ``exp(-|x - z|^2 / (2 sigma2))``; if given, `gamma` is not
        used.
    gamma : {"scale", "auto"} or float, default="scale"
        The width in scikit-learn's form, ``exp(-gamma |x - z|^2)``, the width of "laplacian",
        ``exp(-gamma sum_j |x_j - z_j|)``, or the scale of "poly".
    degree : float, default=3
        The degree of "poly".
    coef0 : float, default=0.0
        The constant of "poly".
    tol : float, default=1e-6
        The largest remaining error of a probability, and the typical remaining error of a score.
    max_iter : int, default=200
        The largest number of Newton steps for a binary problem.
    memory_limit : float, default=None
        The largest size of Gram matrices in bytes; by default half of the free memory. Above it,
        every binary problem gets a Gram matrix of its own rows; if even that is above the limit,
        `fit` raises MemoryError. A linear kernel with many rows needs no Gram matrix.
    landmarks : int or "auto", default=None
        If given, the machine is linear in the features of this many training rows, and time and
        memory no longer grow with the square of the number of rows. With as many landmarks as rows
        it is the exact machine, which None is. "auto" is exact up to 3,000 rows, or if no binary
        problem has more than 2,000; above, it takes 1,000 landmarks, and from 6,000 rows on, they
        are doubled until the loss of held-out rows of a subsample hardly falls.
    landmark_choice : {"pivoted_cholesky", "uniform", "k_means++"}, default="pivoted_cholesky"
        How landmarks are chosen: by randomly pivoted Cholesky, uniformly, or far from each other.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The class labels; a positive score means the second label.
    support_ : ndarray of shape (n_support,)
        The training rows, except those of weight 0.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        Their inputs; None for a precomputed kernel.
    dual_coef_ : ndarray of shape (1, n_support)
        Their weights.
    n_iter_ : int
        The number of iterations.
    intercept_ : ndarray of shape (1,)
        The bias.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from polychotomy import KernelLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> klr = KernelLogisticRegression(C=10, sigma2=30.0)
    >>> clf = make_pipeline(StandardScaler(), klr).fit(X[::2], y[::2])
    >>> clf.predict_proba(X[[1, 81, 83]]).round(2)
    array([[0.99, 0.01],
           [0.33, 0.67],
           [0.96, 0.04]])
    """

    probabilistic = True
    own_parameters: ClassVar[dict[str, Rule]] = {
        "C": number(0.0),
        "tol": number(0.0),
        "max_iter": whole(-1),
        "memory_limit": MEMORY,
        **LANDMARK_PARAMETERS,
    }

    def exact_columns(self) -> LogisticColumns:
        """Return the machine that reads the kernel of all rows."""
        return LogisticColumns(self, self.probabilistic)

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        sigma2: float | None = None,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        tol: float = 1e-6,
        max_iter: int = 200,
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

    # Newton's method factorises a matrix in every step.
    exact_reach = 2.0 / 3.0

    def settle(self, X: Any, counts: FloatArray | None) -> Kernel:
        """Return the kernel with its parameters settled for the training rows."""
        kernel = super().settle(X, counts)
        if kernel.is_indefinite:
            raise ValueError(self._refusal())
        return kernel

    def _refusal(self) -> str:
        name = repr(self.kernel) if isinstance(self.kernel, str) else "this function"
        return (
            f"KernelLogisticRegression cannot take kernel={name}: its Gram matrix is not positive "
            "semidefinite, so that there may be no solution. Choose another kernel, or SVM."
        )

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of the two classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        p : ndarray of shape (n_rows, 2)
            The probabilities, in the order of `classes_`.
        """
        scores = self.decision_function(X)
        return np.stack([sigmoid(-scores), sigmoid(scores)], axis=1)

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
        solution = solve_klr(
            gram,
            labels,
            subsets,
            C_values,
            weights,
            tolerance=self.tol,
            max_iterations=iteration_limit(self.max_iter) or 200,
            n_threads=n_threads,
        )
        # Weights of 1e100 look indefinite to the solver too; that is rounding.
        if (solution.status == KlrStatus.INDEFINITE).any() and _is_indefinite(gram):
            raise ValueError(self._refusal())
        return SolvedPath(
            coefficients=solution.coefficients,
            biases=solution.biases,
            trained=solution.status != KlrStatus.UNTRAINED,
            converged=np.isin(solution.status, (KlrStatus.CONVERGED, KlrStatus.UNTRAINED)),
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
        return solve_klr_in_features(
            state,
            landmarks,
            labels,
            subsets,
            C_values,
            weights,
            tolerance=self.tol,
            max_iterations=iteration_limit(self.max_iter) or 200,
            room=memory_limit / 2,
            n_threads=n_threads,
        )

    def takes_rows(self, kernel: Kernel, n_features: int) -> bool:
        """Whether `solve_rows` can replace `solve`."""
        return kernel.is_linear and n_features <= MOST_FEATURES

    def solve_rows(
        self,
        source: RowSource,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
    ) -> Solved:
        """Solve every column on every subset of rows without a Gram matrix."""
        assert isinstance(source, LinearRows)
        limit = iteration_limit(self.max_iter) or 200

        def solve(signs: FloatArray, sizes: FloatArray) -> Solution:
            source.go_on()
            inside = np.flatnonzero(sizes)
            X = source.X if len(inside) == source.n_rows else source.X[inside]
            found = solve_linear_klr(X, signs[inside], self.C * sizes[inside], self.tol, limit)
            coefficients = np.zeros(source.n_rows)
            coefficients[inside] = found.coefficients
            return replace(found, coefficients=coefficients)

        return solve_each(solve, labels, subsets, weights)


def _is_indefinite(gram: FloatArray) -> bool:
    """Whether a matrix has eigenvalues below 0 by more than rounding."""
    lifted = gram + 1e-8 * np.abs(gram).max() * np.eye(len(gram))
    try:
        np.linalg.cholesky(lifted)
    except np.linalg.LinAlgError:
        return True
    return False
