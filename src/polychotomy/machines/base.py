"""The interface of binary machines: they know label columns, not classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from numpy import bool_
from numpy.typing import NDArray

from ..core.margins import Margins
from ..core.registry import Part
from ..core.types import FloatArray, IntArray, SignArray


@dataclass(frozen=True)
class TrainingOptions:
    """How to train, apart from what.

    Parameters
    ----------
    n_jobs : int, default=None
        How many columns to train at once.
    random_state : int, default=None
        Seed from which every column of every subset gets its own.
    fit_params : mapping, default={}
        Further parameters for a wrapped classifier's `fit`; those with one value per row are cut
        to the rows used.
    describe : callable, default=str
        Names a column, for messages.
    counts : ndarray of shape (n_rows,), default=None
        How often each row counts as a row, apart from the weight of its class.
    """

    n_jobs: int | None = None
    random_state: int | None = None
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    describe: Callable[[int], str] = str
    counts: FloatArray | None = None


class Machine(Part):
    """Mixin of binary classifiers that can be asked for by name.

    A machine of your own is a scikit-learn binary classifier with this mixin. That is enough to
    train the binary problems one by one; with a method ``as_columns()`` that returns a
    `ColumnMachine` it trains all of them together.

    Attributes
    ----------
    tuned_parameters : tuple of str
        Its parameters that a search tries by default, over powers of ten.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator, ClassifierMixin
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import PolychotomyClassifier
    >>> from polychotomy.machines import Machine
    >>> class NearestMean(Machine, ClassifierMixin, BaseEstimator):
    ...     def fit(self, X, y):
    ...         self.classes_ = np.unique(y)
    ...         first, second = (X[y == label].mean(axis=0) for label in self.classes_)
    ...         self.normal_, self.middle_ = second - first, (first + second) / 2
    ...         return self
    ...     def decision_function(self, X):
    ...         return (X - self.middle_) @ self.normal_
    ...     def predict(self, X):
    ...         return self.classes_[(self.decision_function(X) > 0).astype(int)]
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = PolychotomyClassifier(NearestMean(), decoder="max_wins").fit(X, y)
    >>> round(clf.score(X, y), 2)
    0.93
    """

    part_kind: ClassVar[str] = "machine"

    @property
    def tuned_parameters(self) -> tuple[str, ...]:
        """The parameters that a search tries by default."""
        return ()

    def expected_seconds(self, n_rows: int) -> float:
        """Return roughly how long tuning and training take on one core.

        It must not depend on the machine or on what runs beside, so that a budget is repeatable.
        """
        return guessed_seconds(n_rows)


def guessed_seconds(n_rows: int) -> float:
    """Return roughly how long a classifier takes of which nothing is known, refits included."""
    return 0.3 + 1e-3 * n_rows


class ColumnMachine(Protocol):
    """Trains all label columns of a code, on one or several subsets of the rows.

    What several columns, folds or parameters share (distances, a Gram matrix) is computed once
    by `prepare`.
    """

    fitted_type: ClassVar[type]
    # Machines that name the same kind of state can share it: "rows" is `SharedRows`.
    shares: ClassVar[str | None]
    # Whether it says itself which inputs it does not take; others get finite numbers only.
    checks_inputs: ClassVar[bool]

    @property
    def template(self) -> Any:
        """The binary classifier behind the machine."""
        ...

    @property
    def has_probability(self) -> bool:
        """Whether the machine has probabilities of its own."""
        ...

    @property
    def has_likelihood(self) -> bool:
        """Whether its margins carry the variance and noise that Bayesian decoding reads."""
        ...

    def prepare(self, X: Any) -> Any:
        """Compute what every column and subset shares."""
        ...

    def fit(
        self,
        state: Any,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> list[Any]:
        """Train every column on every subset of rows; one fitted object a subset.

        A row with label 0 takes no part in that column. A column that lacks one of its signs in a
        subset is left untrained.
        """
        ...

    def training_margins(
        self,
        fitted: Any,
        state: Any,
        rows: IntArray,
        where: NDArray[bool_] | None = None,
        probability: bool = False,
        n_jobs: int | None = None,
    ) -> Margins:
        """Return the margins of training rows; only the entries `where` says are needed."""
        ...

    def margins(
        self, fitted: Any, X: Any, probability: bool = False, n_jobs: int | None = None
    ) -> Margins:
        """Return the margins of new rows."""
        ...


@dataclass(frozen=True)
class LeftOut:
    """Scores of training rows by machines without them.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_columns)
        The scores; 0 where a row takes no part.
    trusted : ndarray of shape (n_columns,)
        Whether a column's scores can be used: some formulas are approximate.
    """

    scores: FloatArray
    trusted: NDArray[bool_]


@runtime_checkable
class LeavesOneOut(Protocol):
    """A machine whose one fit gives the scores of all fits without a row."""

    def leave_one_out_scores(
        self,
        fitted: Any,
        state: Any,
        labels: SignArray,
        rows: IntArray,
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> LeftOut:
        """Return the scores of training rows by machines without them.

        All but `fitted` is as it was in its training.
        """
        ...


@dataclass(frozen=True)
class FoldMargins:
    """What machines said about rows that they were not trained on, fold by fold.

    Parameters
    ----------
    tested : list of Margins
        For every fold, the margins of its test rows by machines trained on its other rows; rows
        that take no part in a column included.
    failed : ndarray of shape (n_columns,)
        Whether some fold's solver did not converge for the column.
    fitted : callable
        Returns the trained machines of a fold.
    """

    tested: list[Margins]
    failed: NDArray[bool_]
    fitted: Callable[[int], Any]


@runtime_checkable
class FollowsPath(Protocol):
    """A machine that trains along a path of values of one of its parameters, in one go."""

    path_parameter: str

    def held_out_path(
        self,
        state: Any,
        labels: SignArray,
        splits: Sequence[tuple[IntArray, IntArray]],
        values: Sequence[float],
        weights: FloatArray | None,
        options: TrainingOptions,
        probability: bool = False,
    ) -> list[FoldMargins] | None:
        """Return the held-out margins for every value; None if the path cannot be followed.

        Values ascend; what is found for one does not depend on those after it.
        """
        ...
