"""Kernel multinomial logistic regression: all classes together, in features of landmarks."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from numpy import iterable
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from .core.answers import ProbabilityAnswers
from .core.contents import sample_by_content
from .core.math import softmax
from .core.registry import stored
from .core.state import Field, Number, Whole
from .core.threads import single_threaded_blas
from .core.types import FloatArray, IntArray
from .kernels import settle_memory_limit
from .machines.descent import History, minimise
from .machines.feature_blocks import feature_seconds
from .machines.feature_passes import Passes, Whitening, scatter_of, thin_products, thin_sums
from .machines.kernel_machine import MEMORY
from .machines.landmark_scores import (
    LANDMARK_RULES,
    LANDMARK_STATE,
    GivenRows,
    LandmarkScores,
    given_rows,
)
from .machines.parameters import Rule, number, one_of_these, whole
from .pipe.folds import FoldRows, Splits, split_rows

# The values of C that "held_out" tries.
C_VALUES = tuple(10.0**power for power in range(-2, 4))
# The largest curvature of the loss with respect to the score of one class.
CURVATURE = 0.25
SHARE_OF_TOLERANCE = 0.1
# The same for some of the rows: from their solution to that of all rows it is further than this.
ROUGHLY = 0.3
# C is chosen on at most this many rows, or this many for each landmark. The fit on all rows starts
# from them, by way of this many times as many, and so on.
ROWS_FOR_C, ROWS_FOR_C_A_LANDMARK, GROWTH = 20_000, 10, 10
# Larger values of C are not tried once the held-out loss has risen by this much.
WORSE = 1e-3

_RULES: Mapping[str, Rule] = {
    "C": one_of_these("held_out") | number(0.0),
    **LANDMARK_RULES,
    "cv": whole(2)
    | Rule(
        "a splitter or an iterable of folds",
        lambda value: not isinstance(value, str) and (hasattr(value, "split") or iterable(value)),
    ),
    "memory_limit": MEMORY,
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
        smallest negative log-likelihood on the first of the folds, and then trains on all rows. It
        uses 20,000 rows, or 10 for each landmark, if there are more.
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
    tol : float, default=1e-2
        The typical remaining error of a score.
    max_iter : int, default=200
        The largest number of steps for a value of C.
    cv : int, splitter or iterable, default=5
        The folds for choosing C and for out-of-fold probabilities; every row must be tested exactly
        once. A number means stratified folds by content, as in `PolychotomyClassifier`.
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

    Notes
    -----
    With ``C="held_out"``, a row of weight 2 and two copies of it need not have the same answers:
    the held-out fold is drawn among the rows, and another may prefer another C. With a given
    C they have.

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

    later_parameters: ClassVar[dict[str, Any]] = {"cv": 5}

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
        tol: float = 1e-2,
        max_iter: int = 200,
        cv: Any = 5,
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
        self.cv = cv
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
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
        # Passes over the rows use `n_jobs` threads; what is small in between is faster in one.
        with single_threaded_blas():
            self._fit(X, y, sample_weight)
        return self

    def fit_out_of_fold(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> FloatArray | None:
        """Fit as `fit` does, and return class probabilities of rows by fits without them.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        p : ndarray of shape (n_used_rows, n_classes) or None
            For the rows of positive weight, by the folds, which share landmarks and C; None if no
            class has two rows.
        """
        with single_threaded_blas():
            problem, found = self._fit(X, y, sample_weight)
            splits = problem.splits()
            if not splits:
                return None
            p = np.zeros((len(problem.numbers), problem.n_classes))
            for train, test in splits:
                # From the solution of all rows it is not far.
                problem.answer(test, problem.solve(train, self.C_, found), p)
        return p[problem.rows]

    def expected_seconds(self, n_rows: int) -> float:
        """Return a rough estimate of the time for choosing C and training on one core."""
        return 5.0 * feature_seconds(n_rows, min(n_rows, self.landmarks))

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

    def _fit(
        self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[_Problem, _Solution]:
        given = given_rows(self, X, y, sample_weight, _RULES, [np.float64, np.float32])
        problem = _Problem(self, given)
        C, found = self._solve(problem)
        if not found.converged:
            warnings.warn(
                f"The solver did not converge in {self.max_iter} steps; scale the inputs, or raise "
                "max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.classes_, self.C_, self.landmarks_ = given.classes, C, given.landmarks
        self.dual_coef_ = np.ascontiguousarray(found.coefficients)
        # A number added to all biases changes nothing.
        self.intercept_ = found.biases - found.biases.mean()
        self.n_iter_ = found.n_iterations
        return problem, found

    def _solve(self, problem: _Problem) -> tuple[float, _Solution]:
        """Return C and the solution, from solutions on more and more rows.

        Note: some rows are weighted as if they were all. Then the objective is nearly the same, and
        the steps on some rows tell its curvature: on a million rows, that saved one pass in six.
        """
        number = max(ROWS_FOR_C, ROWS_FOR_C_A_LANDMARK * len(problem.landmarks))
        some = problem.sample(number)
        C, start = (float(self.C), None) if self.C != "held_out" else self._held_out(some)
        history = History(1, problem.n_classes * (len(problem.landmarks) + 1))
        while some is not problem:
            start = some.solve(some.rows, C, start, problem.total, history, ROUGHLY)
            number *= GROWTH
            some = problem.sample(number) if 2 * number < len(problem.rows) else problem
        return C, problem.solve(problem.rows, C, start, problem.total, history)

    def _held_out(self, problem: _Problem) -> tuple[float, _Solution | None]:
        """Return the C with the smallest held-out loss, and its solution on the other rows.

        Note: C rises as long as the loss falls, because each solution starts from the one before,
        and large values take most steps. If it rises at once, C falls.
        """
        splits = problem.splits()
        if not splits:
            return 1.0, None
        train, test = splits[0]
        tried: dict[float, tuple[float, _Solution]] = {}

        def loss_at(C: float, start: _Solution | None) -> float:
            found = problem.solve(train, C, start)
            tried[C] = problem.loss(test, found), found
            return tried[C][0]

        middle = C_VALUES.index(1.0)
        best = loss_at(1.0, None)
        for values in (C_VALUES[middle + 1 :], C_VALUES[middle - 1 :: -1]):
            last = tried[1.0]
            for C in values:
                loss = loss_at(C, last[1])
                last = tried[C]
                if loss > best + WORSE:
                    break
                best = min(best, loss)
            if best < tried[1.0][0]:
                break
        C = min(tried, key=lambda value: tried[value][0])
        return C, tried[C][1]


class _Solution(NamedTuple):
    """Weights of features and of kernel columns, of shape (n_landmarks, n_classes), and biases."""

    weights: FloatArray
    coefficients: FloatArray
    biases: FloatArray
    converged: bool
    n_iterations: int


class _Problem:
    """Rows of all classes, to be solved on some of them for some C."""

    def __init__(self, machine: KernelMultinomialRegression, given: GivenRows) -> None:
        self.machine, self.landmarks = machine, given.landmarks
        self.X, self.seed = given.X, given.seed
        self.numbers, self.given_weights = given.numbers, given.weights
        self.rows, self.n_classes = given.rows, len(given.classes)
        self.scatter, self.mean = scatter_of(self.landmarks, self.X, self.rows, given.weights)
        self.given_splits: Splits | None = None
        if not isinstance(machine.cv, Integral):
            self.given_splits = split_rows(machine.cv, self._fold_rows(), given.classes, {})

    @cached_property
    def passes(self) -> Passes:
        """The kernel columns of the rows."""
        room = settle_memory_limit(self.machine.memory_limit) / 2
        n_threads = effective_n_jobs(self.machine.n_jobs)
        return Passes(self.landmarks, self.X, self.rows, room, n_threads)

    def sample(self, number: int) -> _Problem:
        """Return the problem of some of the rows, drawn by content."""
        if len(self.rows) <= number:
            return self
        rows = sample_by_content(self.X, number, self.seed, self.rows, self.numbers)
        part = copy(self)
        part.__dict__.pop("passes", None)
        part.rows = np.sort(rows)
        return part

    def splits(self) -> Splits:
        """Return the folds of the rows; those given have the rows of a sample that they had."""
        if self.given_splits is None:
            return self._fold_rows().stratified(self.machine.cv)
        found = [
            (train[np.isin(train, self.rows)], test[np.isin(test, self.rows)])
            for train, test in self.given_splits
        ]
        return [(train, test) for train, test in found if len(train) and len(test)]

    def _fold_rows(self) -> FoldRows:
        return FoldRows(self.X, self.numbers, self.rows, self.given_weights)

    @property
    def total(self) -> float:
        """The total weight of the rows."""
        return float(self._weights(self.rows).sum())

    def solve(
        self,
        rows: IntArray,
        C: float,
        start: _Solution | None = None,
        total: float | None = None,
        history: History | None = None,
        share: float = SHARE_OF_TOLERANCE,
    ) -> _Solution:
        """Return the minimum for some rows, weighted to a total."""
        own = self._weights(rows)
        if total is not None:
            own *= total / own.sum()
        curvature = CURVATURE * C * float(own.sum())
        whitening = Whitening.of(self.landmarks, self.scatter, self.mean, curvature)
        passes, dtype = self.passes, self.passes.dtype

        def evaluate(given: FloatArray, _: IntArray) -> tuple[FloatArray, FloatArray]:
            unknowns = given.reshape(self.n_classes, -1)
            weights, coefficients, biases = whitening.linear(unknowns)
            single, shift = coefficients.astype(dtype), biases.astype(dtype)

            def block(rows: IntArray, columns: NDArray[Any]) -> Sequence[FloatArray]:
                v = C * own[rows]
                losses, slopes = _losses(thin_products(columns, single) + shift, self.numbers[rows])
                slopes *= v.astype(dtype)[:, None]
                return np.array([v @ losses]), thin_sums(slopes, columns), slopes.sum(axis=0)

            losses, of_columns, of_biases = passes.sum(block)
            gradient = whitening.gradient(of_columns.T, of_biases, weights)
            value = losses + 0.5 * np.sum(weights**2)
            return value, gradient.reshape(1, -1)

        first = np.zeros((self.n_classes, len(self.landmarks) + 1))
        if start is not None:
            first = whitening.unknowns(start.weights, start.biases)
        # In these coordinates, a step of length s changes scores by s / sqrt(curvature).
        enough = np.array([share * self.machine.tol * np.sqrt(curvature)])
        found = minimise(
            evaluate, first.reshape(1, -1), enough, self.machine.max_iter, dtype, history
        )
        return _Solution(
            *whitening.linear(found.places.reshape(self.n_classes, -1)),
            bool(found.converged[0]),
            int(found.iterations[0]),
        )

    def loss(self, rows: IntArray, solution: _Solution) -> float:
        """Return the mean negative log-likelihood of some rows."""
        own = self._weights(rows)
        single = solution.coefficients.astype(self.passes.dtype)

        def block(rows: IntArray, columns: NDArray[Any]) -> Sequence[FloatArray]:
            losses, _ = _losses(columns @ single + solution.biases, self.numbers[rows])
            return [np.array(own[rows] @ losses)]

        return float(self.passes.sum(block)[0] / own.sum())

    def answer(self, rows: IntArray, solution: _Solution, p: FloatArray) -> None:
        """Write the class probabilities of some rows into an array of all rows."""
        single = solution.coefficients.astype(self.passes.dtype)
        wanted = np.zeros(len(self.numbers), dtype=bool)
        wanted[rows] = True

        def block(rows: IntArray, columns: NDArray[Any]) -> Sequence[FloatArray]:
            own = wanted[rows]
            p[rows[own]] = softmax((columns[own] @ single).astype(np.float64) + solution.biases)
            return []

        self.passes.sum(block)

    def _weights(self, rows: IntArray) -> FloatArray:
        """Return the weights of all rows, 0 for those that are not among some rows."""
        own = np.zeros(len(self.numbers))
        own[rows] = 1.0 if self.given_weights is None else self.given_weights[rows]
        return own


def _losses(scores: NDArray[Any], numbers: IntArray) -> tuple[FloatArray, NDArray[Any]]:
    """Return the negative log-likelihood of rows, and its slopes by their scores, in place."""
    place = np.arange(len(numbers)), numbers
    scores -= scores.max(axis=1, keepdims=True)
    right = scores[place].astype(np.float64)
    slopes = np.exp(scores, out=scores)
    totals = slopes.sum(axis=1)
    slopes /= totals[:, None]
    slopes[place] -= 1.0
    losses: FloatArray = np.log(totals.astype(np.float64)) - right
    return losses, slopes
