"""Classifiers of all classes together, whose scores are linear in the kernel with landmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..blocks.as_blocks import labels_given
from ..core.checks import check_sparse
from ..core.state import INPUTS, Array, Field, Holds, Labels, Sizes, require
from ..core.threads import in_order, single_threaded_blas
from ..core.types import FloatArray, IntArray
from ..core.weights import class_numbers, row_weights
from ..kernels import FeatureRows, Landmarks, settle_kernel
from .feature_blocks import in_blocks
from .kernel_machine import KERNEL_PARAMETERS, LANDMARK_PARAMETERS
from .parameters import NOTHING, Rule, check_parameters, instance_of, number, whole

# Blocks of kernel columns have about this many numbers.
SCORE_ENTRIES = 1 << 20
# What such a classifier learns, and so what a model file may hold.
LANDMARK_STATE: dict[str, Field] = {
    **INPUTS,
    "classes_": Labels(),
    "landmarks_": Holds(Landmarks, share="dm"),
    "dual_coef_": Array("mM"),
    "intercept_": Array("M"),
}
# The parameters that they share.
LANDMARK_RULES: Mapping[str, Rule] = {
    **KERNEL_PARAMETERS,
    **LANDMARK_PARAMETERS,
    "landmarks": whole(1),
    "tol": number(0.0),
    "max_iter": whole(1),
    "random_state": whole(0) | instance_of(np.random.RandomState) | NOTHING,
    "n_jobs": instance_of(int, np.integer) | NOTHING,
}


class GivenRows(NamedTuple):
    """What `fit` was given, checked, and landmarks; `rows` have a weight above 0."""

    X: Any
    classes: NDArray[Any]
    numbers: IntArray
    weights: FloatArray | None
    rows: IntArray
    landmarks: Landmarks
    seed: int


class LandmarkScores:
    """Mixin: `decision_function` of a classifier with landmarks, weights on them, and biases."""

    classes_: NDArray[Any]
    landmarks_: Landmarks
    dual_coef_: FloatArray
    intercept_: FloatArray
    n_jobs: int | None

    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of every class; for two classes, that of the second less the first.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        scores : ndarray of shape (n_rows, n_classes) or (n_rows,)
        """
        scores = self.class_scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def class_scores(self, X: Any) -> FloatArray:
        """Return the score of every class, also for two classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        scores : ndarray of shape (n_rows, n_classes)
        """
        check_is_fitted(self, "classes_")
        check_sparse(X)
        dtypes = [np.float64, np.float32]
        X = validate_data(self, X, accept_sparse="csr", dtype=dtypes, reset=False)
        # Rows in single precision are answered in it, where machines are trained in it, too.
        precision = self.landmarks_.precision(X)
        weights = self.dual_coef_.astype(precision)
        blocks = in_blocks(np.arange(X.shape[0]), max(1, SCORE_ENTRIES // len(weights)))
        with single_threaded_blas():
            found = in_order(
                lambda rows: (self.landmarks_.columns(X[rows], precision) @ weights).astype(float),
                blocks,
                effective_n_jobs(self.n_jobs),
            )
            scores: FloatArray = np.concatenate(list(found))
        scores += self.intercept_
        return scores

    def check_state(self, sizes: Sizes) -> None:
        """Check that there are at least two classes."""
        require(sizes["M"] >= 2, self, "has fewer than two classes")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags


def given_rows(
    machine: Any,
    X: Any,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    rules: Mapping[str, Rule],
    dtypes: Sequence[type],
) -> GivenRows:
    """Check parameters and rows of a classifier's `fit`, and choose its landmarks."""
    y = labels_given(machine, X, y)
    check_parameters(machine, rules)
    check_sparse(X)
    X, labels = validate_data(machine, X, y, accept_sparse="csr", dtype=list(dtypes))
    check_classification_targets(labels)
    classes, numbers = class_numbers(labels)
    weights = row_weights(sample_weight, None, X, numbers, classes)
    rows = np.arange(len(numbers)) if weights is None else np.flatnonzero(weights)
    kernel = settle_kernel(
        machine.kernel, X, machine.sigma2, machine.gamma, machine.degree, machine.coef0, weights
    )
    seed = _seed(machine.random_state)
    landmarks = FeatureRows(machine.kernel, X).landmarks(
        kernel, machine.landmarks, rows, machine.landmark_choice, seed
    )
    return GivenRows(X, classes, numbers, weights, rows, landmarks, seed)


def _seed(random_state: Any) -> int:
    """Return the seed of landmarks behind a `random_state` parameter; None is 0."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return 0 if random_state is None else int(random_state)
