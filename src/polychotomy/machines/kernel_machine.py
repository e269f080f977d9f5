"""Kernel machines as scikit-learn binary classifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..blocks.as_blocks import labels_given
from ..core.checks import check_sparse, one_of, refuse_weightless_classes, weight_array
from ..core.state import INPUTS, Field, Holds, Labels, Sizes, require
from ..core.types import FloatArray, IntArray, SignArray
from ..kernels import Kernel, RowSource, kernel_class, settle_kernel
from .auto import EXACT_ROWS, AutoColumns, LeavingAutoColumns
from .base import Machine, TrainingOptions, fitted_types
from .feature_blocks import feature_seconds
from .feature_columns import FeatureColumns
from .kernel_columns import KernelColumns
from .parameters import NOTHING, Rule, check_parameters, number, one_of_these, whole
from .solved import Solved, SolvedPath

MEMORY = number(0.0, infinite=True) | NOTHING
KERNEL_PARAMETERS: Mapping[str, Rule] = {
    "sigma2": number(0.0) | NOTHING,
    "gamma": one_of_these("scale", "auto") | number(0.0),
    "degree": number(0.0, from_low=True),
    "coef0": number(-np.inf),
}
LANDMARK_PARAMETERS: Mapping[str, Rule] = {
    "landmarks": whole(1) | one_of_these("auto") | NOTHING,
    "landmark_choice": one_of_these("pivoted_cholesky", "uniform", "k_means++"),
}


class KernelMachine(Machine, ClassifierMixin, BaseEstimator):
    """Base of the binary kernel machines.

    A subclass has the parameters `kernel`, `sigma2`, `gamma`, `degree` and `coef0`, and a method
    `as_columns` that returns the machine that trains all columns of a code. A binary classifier is
    a code with one column.
    """

    kernel: Any
    sigma2: Any
    gamma: Any
    degree: Any
    coef0: Any
    C: Any
    landmarks: Any
    landmark_choice: Any
    # Whether it needs no Gram matrix of all rows, so that many rows are only slow.
    exact_on_demand: ClassVar[bool] = False
    # Up to how many rows in a column ``landmarks="auto"`` is exact, in units of `EXACT_ROWS`.
    exact_reach: float = 1.0

    # With scikit-learn's metadata routing, weights reach our machines without being asked for:
    # users of a recipe or a pool cannot reach the machine inside to ask.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sample_weight": True}

    fitted_state: ClassVar[dict[str, Field]] = {
        **INPUTS,
        "classes_": Labels(),
        "_fitted": Holds(share="dT"),
    }

    # Files of earlier versions do not have these.
    later_parameters: ClassVar[Mapping[str, Any]] = {
        "landmarks": None,
        "landmark_choice": "pivoted_cholesky",
    }

    # What a subclass's own parameters may be; those of the kernel are the same for all.
    own_parameters: ClassVar[Mapping[str, Rule]] = {}

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        if isinstance(self.gamma, str):
            one_of(self.gamma, "gamma", ("scale", "auto"))
        kernel_class(self.kernel)
        check_parameters(self, {**KERNEL_PARAMETERS, **self.own_parameters})

    @property
    def tuned_parameters(self) -> tuple[str, ...]:
        """The parameters that a search tunes by default: C and the width of the kernel."""
        return ("C", *kernel_class(self.kernel).tuned_parameters)

    def expected_seconds(self, n_rows: int) -> float:
        """Return a rough estimate of the time for tuning and training on one core."""
        number = self.landmarks_for(n_rows)
        if number is not None:
            return 20.0 * feature_seconds(n_rows, number)
        return 4e-6 * n_rows**2

    def check_state(self, sizes: Sizes) -> None:
        """Check that there is one trained column, for two classes."""
        require(sizes["M"] == 2, self, "does not have two classes")
        known = type(self._fitted) in fitted_types(self.as_columns()) and sizes.get("T") == 1
        require(known and self._fitted.trained.all(), self, "is not trained")
        self._fitted.check_inputs(sizes["d"])

    def as_columns(self) -> Any:
        """Return the machine in the form that `PolychotomyClassifier` trains."""
        if self.landmarks is None:
            return self.exact_columns()
        if not isinstance(self.landmarks, str):
            return self.feature_columns()
        leaves = hasattr(self.exact_columns(), "leave_one_out_scores")
        return LeavingAutoColumns(self) if leaves else AutoColumns(self)

    def exact_columns(self) -> Any:
        """Return the machine that reads the kernel of all rows."""
        raise NotImplementedError

    def feature_columns(self) -> Any:
        """Return the machine that reads features of landmarks."""
        raise NotImplementedError

    def landmarks_for(self, n_rows: int) -> int | None:
        """Return a guess of the number of landmarks for some rows; None if it is exact."""
        if isinstance(self.landmarks, str):
            return None if n_rows <= self.exact_reach * EXACT_ROWS else 1000
        number: int | None = self.landmarks
        return number

    def settle(self, X: Any, counts: FloatArray | None) -> Kernel:
        """Return the kernel with its parameters fixed for the training rows."""
        self.check_parameters()
        return settle_kernel(
            self.kernel, X, self.sigma2, self.gamma, self.degree, self.coef0, counts
        )

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train the machine.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs; for ``kernel="precomputed"`` the Gram matrix.
        y : array-like of shape (n_rows,)
            The two classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows.

        Returns
        -------
        self : KernelMachine
        """
        y = labels_given(self, X, y)
        self.check_parameters()
        check_sparse(X)
        # Single precision stays, if there are landmarks; exact machines convert it themselves.
        dtypes = [np.float64, np.float32]
        X, given = validate_data(self, X, y, accept_sparse="csr", dtype=dtypes)
        check_classification_targets(given)
        classes, numbers = binary_classes(given, type(self).__name__)
        weights = None
        if sample_weight is not None:
            weights = weight_array(sample_weight, len(numbers))
            refuse_weightless_classes(weights, numbers, classes)
        rows = np.arange(len(numbers)) if weights is None else np.flatnonzero(weights)
        labels = np.where(numbers == 1, 1, -1).astype(np.int8)[:, None]
        columns = self.as_columns()
        first, second = classes.tolist()
        options = TrainingOptions(
            describe=lambda _: f"{second!r} against {first!r}", counts=weights
        )
        (fitted,) = columns.fit(columns.prepare(X), labels, [rows], weights, options)
        self.classes_ = classes
        self._fitted = fitted
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of every row; positive means the second class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
        """
        X = self._checked(X)
        scores: FloatArray = self.as_columns().margins(self._fitted, X).mean[:, 0]
        return scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        scores = self.decision_function(X)
        labels: NDArray[Any] = self.classes_[(scores > 0).astype(np.intp)]
        return labels

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self, "classes_")
        check_sparse(X)
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    @property
    def support_(self) -> NDArray[np.intp]:
        """The training rows that the solution uses."""
        check_is_fitted(self, "classes_")
        support: NDArray[np.intp] = self._fitted.support
        return support

    @property
    def support_vectors_(self) -> Any:
        """The inputs of these rows."""
        check_is_fitted(self, "classes_")
        return self._fitted.support_inputs

    @property
    def dual_coef_(self) -> FloatArray:
        """Their weights, of shape (1, n_support)."""
        check_is_fitted(self, "classes_")
        coefficients: FloatArray = self._fitted.coefficients
        return coefficients.T

    @property
    def intercept_(self) -> FloatArray:
        """The bias, of shape (1,)."""
        check_is_fitted(self, "classes_")
        biases: FloatArray = self._fitted.biases
        return biases

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


class IterativeKernelMachine(KernelMachine):
    """Base of kernel machines whose solver trains all columns on one Gram matrix."""

    probabilistic: ClassVar[bool] = False

    memory_limit: Any

    def exact_columns(self) -> KernelColumns:
        """Return the machine that reads the kernel of all rows."""
        return KernelColumns(self, self.probabilistic)

    def feature_columns(self) -> FeatureColumns:
        """Return the machine that reads features of landmarks."""
        return FeatureColumns(self, self.probabilistic)

    @property
    def n_iter_(self) -> int:
        """The number of iterations of the solver."""
        check_is_fitted(self, "classes_")
        return int(self._fitted.iterations[0])

    def solve(
        self,
        gram: FloatArray,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
        n_threads: int,
    ) -> Solved:
        """Solve every column on every subset of rows."""
        return self.solve_path(gram, labels, subsets, [self.C], weights, n_threads)[0]

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
        raise NotImplementedError

    def takes_rows(self, kernel: Kernel, n_features: int) -> bool:
        """Whether `solve_rows` can replace `solve`."""
        return False

    def solve_rows(
        self,
        source: RowSource,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
    ) -> Solved:
        """Solve every column on every subset of rows without a Gram matrix."""
        raise NotImplementedError


def binary_classes(y: NDArray[Any], who: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the two classes, and the number of every row's class."""
    classes, numbers = np.unique(y, return_inverse=True)
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported by {who} itself; y has {len(classes)} "
            f"classes. For more classes use PolychotomyClassifier({who}())."
        )
    if len(classes) < 2:
        raise ValueError(
            f"{who} needs rows of two classes; y has one class, {classes.tolist()[0]!r}."
        )
    return classes, np.ravel(numbers)


def iteration_limit(max_iter: Any) -> int | None:
    """Return the limit behind a `max_iter` parameter; None for -1, no user limit."""
    return None if max_iter == -1 else int(max_iter)
