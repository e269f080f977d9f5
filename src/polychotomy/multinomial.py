"""Kernel multinomial logistic regression: all classes together, in features of landmarks."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from .core.answers import ProbabilityAnswers
from .core.checks import check_sparse
from .core.math import softmax
from .core.registry import stored
from .core.state import Field, Number, Whole
from .core.types import FloatArray, IntArray
from .core.weights import class_numbers, row_weights
from .kernels import FeatureRows, Landmarks, settle_kernel, settle_memory_limit
from .machines.descent import minimise
from .machines.feature_passes import Coordinates, Passes
from .machines.kernel_machine import KERNEL_PARAMETERS, LANDMARK_PARAMETERS, MEMORY
from .machines.landmark_scores import LANDMARK_STATE, LandmarkScores, landmark_seed
from .machines.parameters import (
    NOTHING,
    Rule,
    check_parameters,
    instance_of,
    number,
    one_of_these,
    whole,
)
from .pipe.folds import FoldRows, Splits

# The values of C that "held_out" tries.
C_VALUES = tuple(10.0**power for power in range(-2, 4))
# The largest curvature of the loss with respect to the score of one class.
CURVATURE = 0.25
SHARE_OF_TOLERANCE = 0.1

_RULES: Mapping[str, Rule] = {
    "C": one_of_these("held_out") | number(0.0),
    **KERNEL_PARAMETERS,
    **LANDMARK_PARAMETERS,
    "landmarks": whole(1),
    "tol": number(0.0),
    "max_iter": whole(1),
    "memory_limit": MEMORY,
    "random_state": whole(0) | instance_of(np.random.RandomState) | NOTHING,
    "n_jobs": instance_of(int, np.integer) | NOTHING,
}


@stored("estimator.kernel_multinomial")
class KernelMultinomialRegression(
    LandmarkScores, ProbabilityAnswers, ClassifierMixin, BaseEstimator
):
    r"""Kernel multinomial logistic regression, all classes together, without binary machines.

    It minimises :math:`\frac12 \sum_k |w_k|^2 + C \sum_i v_i (\log \sum_k e^{f_{ik}} - f_{iy_i})`
    with :math:`f_k = w_k \cdot z + b_k` for the features z of landmarks (see
    `polychotomy.kernels.Landmarks`). With as many landmarks as rows it is the exact machine of Roth
    (2001), of which DUAN03's kernel logistic regression is the case of two classes.

    Parameters
    ----------
    C : "held_out" or float, default="held_out"
        The weight of the errors. "held_out" takes the power of ten from 0.01 to 1000 with the
        smallest negative log-likelihood on a stratified fifth of the rows, and then trains on all.
    kernel : {"rbf", "laplacian", "linear", "poly"} or callable, default="rbf"
        The kernel.
    sigma2 : float, default=None
        The width of the Gaussian kernel, ``exp(-|x - z|^2 / (2 sigma2))``; if given, `gamma` is not
        used.
    gamma : {"scale", "auto"} or float, default="scale"
        The width in scikit-learn's form, ``exp(-gamma |x - z|^2)``.
    degree : float, default=3
        The degree of "poly".
    coef0 : float, default=0.0
        The constant of "poly".
    landmarks : int, default=1000
        The number of landmarks; all rows are, if there are fewer.
    landmark_choice : {"pivoted_cholesky", "uniform", "k_means++"}, default="pivoted_cholesky"
        How landmarks are chosen: by randomly pivoted Cholesky, uniformly, or far from each other.
    tol : float, default=1e-4
        The typical remaining error of a score.
    max_iter : int, default=200
        The largest number of steps for a value of C.
    memory_limit : float, default=None
        The memory in bytes for kernel columns, which are kept if they need at most half of it; by
        default half of the free memory. Above it they are computed in every pass.
    random_state : int or RandomState, default=None
        The seed of the landmarks; None is 0.
    n_jobs : int, default=None
        The number of threads, which changes nothing but the time.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    C_ : float
        The weight of the errors that was used.
    landmarks_ : Landmarks
        The landmarks.
    dual_coef_ : ndarray of shape (n_landmarks, n_classes)
        The weights of the kernel with the landmarks.
    intercept_ : ndarray of shape (n_classes,)
        The biases, which sum to 0.
    n_iter_ : int
        The number of steps of the last fit.

    References
    ----------
    Roth (2001), Probabilistic discriminative kernel classifiers for multi-class problems.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import KernelMultinomialRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = KernelMultinomialRegression(C=10.0).fit(X[::2], y[::2])
    >>> round(clf.score(X[1::2], y[1::2]), 2)
    0.97
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        **LANDMARK_STATE,
        "C_": Number(above=0.0),
        "n_iter_": Whole(0),
    }

    def __init__(
        self,
        C: str | float = "held_out",
        *,
        kernel: Any = "rbf",
        sigma2: float | None = None,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        landmarks: int = 1000,
        landmark_choice: str = "pivoted_cholesky",
        tol: float = 1e-4,
        max_iter: int = 200,
        memory_limit: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.sigma2 = sigma2
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.landmarks = landmarks
        self.landmark_choice = landmark_choice
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on rows of two or more classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows.

        Returns
        -------
        self : KernelMultinomialRegression
        """
        check_parameters(self, _RULES)
        check_sparse(X)
        dtypes = [np.float64, np.float32]
        X, labels = validate_data(self, X, y, accept_sparse="csr", dtype=dtypes)
        check_classification_targets(labels)
        classes, numbers = class_numbers(labels)
        weights = row_weights(sample_weight, None, X, numbers, classes)
        rows = np.arange(len(numbers)) if weights is None else np.flatnonzero(weights)
        kernel = settle_kernel(
            self.kernel, X, self.sigma2, self.gamma, self.degree, self.coef0, weights
        )
        landmarks = FeatureRows(self.kernel, X).landmarks(
            kernel, self.landmarks, rows, self.landmark_choice, landmark_seed(self.random_state)
        )
        problem = _Problem(self, landmarks, X, numbers, weights, rows, len(classes))
        C, start = self._settle_C(problem, rows)
        found = problem.solve(rows, C, start)
        if not found.converged[0]:
            warnings.warn(
                f"The solver did not converge in {self.max_iter} steps; scale the inputs, or raise "
                "max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        coefficients, biases = problem.linear(found.places[0])
        self.classes_, self.C_, self.landmarks_ = classes, C, landmarks
        self.dual_coef_ = np.ascontiguousarray(coefficients)
        # A number added to all biases changes nothing.
        self.intercept_ = biases - biases.mean()
        self.n_iter_ = int(found.iterations[0])
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        p : ndarray of shape (n_rows, n_classes)
            The probabilities, in the order of `classes_`.
        """
        return softmax(self.class_scores(X))

    def _settle_C(self, problem: _Problem, rows: IntArray) -> tuple[float, FloatArray | None]:
        """Return C, and the solution of other rows from which to start."""
        if not isinstance(self.C, str):
            return float(self.C), None
        splits = problem.splits(rows)
        if not splits:
            return 1.0, None
        train, test = splits[0]
        best, start, chosen = np.inf, None, 1.0
        last: FloatArray | None = None
        for C in C_VALUES:
            last = problem.solve(train, C, last).places
            loss = problem.loss(test, last[0])
            if loss < best:
                best, start, chosen = loss, last, C
        return chosen, start


class _Problem:
    """Training rows of all classes, to be solved on some rows for some C."""

    def __init__(
        self,
        machine: KernelMultinomialRegression,
        landmarks: Landmarks,
        X: Any,
        numbers: IntArray,
        weights: FloatArray | None,
        rows: IntArray,
        n_classes: int,
    ) -> None:
        self.machine, self.numbers, self.n_classes = machine, numbers, n_classes
        self.X, self.given_weights = X, weights
        self.weights = np.ones(len(numbers)) if weights is None else weights
        room = settle_memory_limit(machine.memory_limit) / 2
        self.passes = Passes(landmarks, X, rows, room, effective_n_jobs(machine.n_jobs))
        self.coordinates = Coordinates.of(landmarks, X, rows, weights)

    def splits(self, rows: IntArray) -> Splits:
        """Return five stratified folds of some rows."""
        return FoldRows(self.X, self.numbers, rows, self.given_weights).stratified()

    def solve(self, rows: IntArray, C: float, start: FloatArray | None) -> Any:
        """Return the minimum for some rows."""
        own = np.zeros(len(self.weights))
        own[rows] = self.weights[rows]
        curvature = np.array([CURVATURE * C * own.sum()])
        scales = np.tile(self.coordinates.scales(curvature), self.n_classes)

        def evaluate(scaled: FloatArray, _: IntArray) -> tuple[FloatArray, FloatArray]:
            unknowns = (scaled * scales).reshape(self.n_classes, -1)
            coefficients, biases = self.coordinates.linear(unknowns)

            def block(rows: IntArray, columns: NDArray[Any]) -> Sequence[FloatArray]:
                scores, v = columns @ coefficients + biases, C * own[rows]
                place = np.arange(len(rows)), self.numbers[rows]
                levels = logsumexp(scores, axis=1)
                losses = v @ (levels - scores[place])
                slopes = np.exp(scores - levels[:, None])
                slopes[place] -= 1.0
                slopes *= v[:, None]
                return np.array([losses]), columns.T @ slopes, slopes.sum(axis=0)

            losses, of_columns, of_biases = self.passes.sum(block)
            gradient = self.coordinates.gradient(of_columns, of_biases)
            gradient[:, :-1] += unknowns[:, :-1]
            value = losses + 0.5 * np.sum(unknowns[:, :-1] ** 2)
            return value, gradient.reshape(1, -1) * scales

        first = np.zeros_like(scales) if start is None else start / scales
        enough = SHARE_OF_TOLERANCE * self.machine.tol * np.sqrt(curvature)
        found = minimise(evaluate, first, enough, self.machine.max_iter)
        found.places[:] *= scales
        return found

    def linear(self, unknowns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weights on kernel columns and the biases."""
        return self.coordinates.linear(unknowns.reshape(self.n_classes, -1))

    def loss(self, rows: IntArray, unknowns: FloatArray) -> float:
        """Return the mean negative log-likelihood of some rows."""
        coefficients, biases = self.linear(unknowns)
        inside = np.zeros(len(self.numbers), dtype=bool)
        inside[rows] = True

        def block(rows: IntArray, columns: NDArray[Any]) -> Sequence[FloatArray]:
            own = rows[inside[rows]]
            if not len(own):
                return [np.zeros(2)]
            scores = columns[inside[rows]] @ coefficients + biases
            left = logsumexp(scores, axis=1) - scores[np.arange(len(own)), self.numbers[own]]
            return [np.array([self.weights[own] @ left, self.weights[own].sum()])]

        total, weight = self.passes.sum(block)[0]
        return float(total / weight)
