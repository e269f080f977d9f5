"""Multi-class support vector machines: all classes together, in features of landmarks."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from .core.registry import stored
from .core.state import Field, Whole
from .core.threads import single_threaded_blas
from .core.types import FloatArray, IntArray
from .machines.landmark_scores import LANDMARK_RULES, LANDMARK_STATE, LandmarkScores, given_rows
from .machines.parameters import Rule, number, one_of_these
from .native.weston_watkins import solve_weston_watkins

_RULES: Mapping[str, Rule] = {
    "loss": one_of_these("weston_watkins", "crammer_singer"),
    "C": number(0.0),
    **LANDMARK_RULES,
}


@stored("estimator.all_together_svc")
class AllTogetherSVC(LandmarkScores, ClassifierMixin, BaseEstimator):
    r"""Multi-class support vector machine: one problem for all classes, without binary machines.

    With :math:`f_k = w_k \cdot z + b_k` for the features z of landmarks (see
    `polychotomy.kernels.Landmarks`) it minimises :math:`\frac12 \sum_k (|w_k|^2 + b_k^2)` plus C
    times the loss of all rows. Weston and Watkins (1999) count every class that comes too near,
    :math:`\sum_{k \ne y} \max(0, 2 - f_y + f_k)`; Crammer and Singer (2001) the worst one alone,
    :math:`\max_{k \ne y} \max(0, 1 - f_y + f_k)`. Both predict the largest score.

    These are the methods from which DUAN03 sets the binary machines apart. They give scores and no
    probabilities; for those, `compare` tempers the soft-max of the scores.

    Parameters
    ----------
    loss : {"weston_watkins", "crammer_singer"}, default="weston_watkins"
        The loss. "crammer_singer" is solved by scikit-learn's `LinearSVC`.
    C : float, default=1.0
        The weight of the errors.
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
        For "weston_watkins" the largest error of a score of a training row, where the margin is 2.
        For "crammer_singer" a tenth of it is the tolerance of `LinearSVC`, which bounds no error.
    max_iter : int, default=10000
        The largest number of passes over the rows.
    random_state : int or RandomState, default=None
        The seed of the landmarks and of the order of the rows; None is 0.
    n_jobs : int, default=None
        The number of threads of predictions.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    landmarks_ : Landmarks
        The landmarks.
    dual_coef_ : ndarray of shape (n_landmarks, n_classes)
        The weights of the kernel with the landmarks.
    intercept_ : ndarray of shape (n_classes,)
        The biases.
    n_iter_ : int
        The number of passes over the rows.

    Notes
    -----
    The biases are penalised, as LIBLINEAR does, which leaves bounds on the dual variables as its
    only constraints. With two classes, Weston and Watkins' machine is the binary SVM with the same
    C, and Crammer and Singer's the one with twice this C.

    References
    ----------
    Weston and Watkins (1999), Support vector machines for multi-class pattern recognition. Crammer
    and Singer (2001), On the algorithmic implementation of multiclass kernel-based vector machines.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import AllTogetherSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = AllTogetherSVC().fit(X[::2], y[::2])
    >>> round(clf.score(X[1::2], y[1::2]), 2)
    0.93
    """

    fitted_state: ClassVar[dict[str, Field]] = {**LANDMARK_STATE, "n_iter_": Whole(0)}

    def __init__(
        self,
        loss: str = "weston_watkins",
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        sigma2: float | None = None,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        landmarks: int = 1000,
        landmark_choice: str = "pivoted_cholesky",
        tol: float = 1e-2,
        max_iter: int = 10_000,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
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
        self : AllTogetherSVC
        """
        X, classes, numbers, weights, rows, landmarks, seed = given_rows(
            self, X, y, sample_weight, _RULES, [np.float64]
        )
        bounds = self.C * (np.ones(len(rows)) if weights is None else weights[rows])
        solve = _weston_watkins if self.loss == "weston_watkins" else _crammer_singer
        with single_threaded_blas():
            z = np.column_stack([landmarks.features(X[rows]), np.ones(len(rows))])
            linear, passes, converged = solve(self, z, numbers[rows], len(classes), bounds, seed)
            self.dual_coef_ = np.ascontiguousarray(landmarks.of_columns(linear[:, :-1].T))
        if not converged:
            warnings.warn(
                f"The solver did not converge in {self.max_iter} passes; scale the inputs, lower "
                "C, or raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.classes_, self.landmarks_, self.n_iter_ = classes, landmarks, passes
        self.intercept_ = linear[:, -1].copy()
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of largest score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        winners = self.class_scores(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[winners]
        return labels


def _weston_watkins(
    machine: AllTogetherSVC, z: FloatArray, y: IntArray, n_classes: int, C: FloatArray, seed: int
) -> tuple[FloatArray, int, bool]:
    """Return the weights of every class on the features, the passes, and whether it converged."""
    found = solve_weston_watkins(z, y, n_classes, C, machine.tol, machine.max_iter, seed)
    return found.weights, found.epochs, found.converged


def _crammer_singer(
    machine: AllTogetherSVC, z: FloatArray, y: IntArray, n_classes: int, C: FloatArray, seed: int
) -> tuple[FloatArray, int, bool]:
    # Imported here, because it would slow down importing this library.
    from sklearn.svm import LinearSVC

    solver = LinearSVC(
        multi_class="crammer_singer",
        C=1.0,
        tol=0.1 * machine.tol,
        max_iter=machine.max_iter,
        fit_intercept=False,
        random_state=seed,
    )
    with warnings.catch_warnings():
        # What it says about convergence is said by the caller.
        warnings.simplefilter("ignore", ConvergenceWarning)
        solver.fit(z, y, sample_weight=C)
    linear = solver.coef_
    if n_classes == 2:
        # For two classes it gives the difference.
        linear = np.concatenate([-linear, linear]) / 2
    return linear, int(solver.n_iter_), int(solver.n_iter_) < machine.max_iter
