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
    """How to train, as opposed to what to train on.

    Parameters
    ----------
    n_jobs : int, default=None
        The number of columns to train in parallel.
    random_state : int, default=None
        The seed from which every column of every subset gets its own seed.
    fit_params : mapping, default={}
        Additional parameters for the `fit` of a wrapped classifier. Those with one value per row
        are restricted to the rows in use.
    describe : callable, default=str
        Returns a name for a column, for messages.
    counts : ndarray of shape (n_rows,), default=None
        How often each row counts, without the weight of its class.
    """

    n_jobs: int | None = None
    random_state: int | None = None
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    describe: Callable[[int], str] = str
    counts: FloatArray | None = None


class Machine(Part):
    """Mixin for binary classifiers that can be registered under a name.

    Your own machine is a scikit-learn binary classifier with this mixin. That is enough to train
    the binary problems one by one. With a method ``as_columns()`` that returns a `ColumnMachine`,
    it trains all of them together.

    Attributes
    ----------
    tuned_parameters : tuple of str
        The parameters that a search tunes by default, over powers of ten.

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
        """The parameters that a search tunes by default."""
        return ()

    def expected_seconds(self, n_rows: int) -> float:
        """Return a rough estimate of the time for tuning and training on one core.

        Note: it is a formula, not a measurement. A measured time depends on the computer and on
        other work, so a time budget could select other methods in every run.
        """
        return guessed_seconds(n_rows)


def guessed_seconds(n_rows: int) -> float:
    """Return a rough estimate of the time of an unknown classifier, including refits."""
    return 0.3 + 1e-3 * n_rows


class ColumnMachine(Protocol):
    """Trains all label columns of a code, on one or several subsets of the rows.

    `prepare` computes once what columns, folds and parameters share (distances, a Gram matrix).

    Note: the interface takes all columns and subsets at once, not one binary problem. Solving the
    problems one by one would compute the same kernel for every column, fold and C again.
    """

    fitted_type: ClassVar[type]
    # Machines with the same kind of prepared state can share it; "rows" means `SharedRows`.
    shares: ClassVar[str | None]
    # Whether it says itself which inputs it does not take; others get finite numbers only.
    checks_inputs: ClassVar[bool]

    @property
    def template(self) -> Any:
        """The binary classifier behind the machine."""
        ...

    @property
    def has_probability(self) -> bool:
        """Whether the machine has its own probabilities."""
        ...

    @property
    def has_likelihood(self) -> bool:
        """Whether its margins include the variance and noise that Bayesian decoding reads."""
        ...

    def prepare(self, X: Any) -> Any:
        """Compute what all columns and subsets share."""
        ...

    def fit(
        self,
        state: Any,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> list[Any]:
        """Train every column on every subset of rows; return one fitted object per subset.

        A row with label 0 takes no part in that column. A column that lacks one of its signs in a
        subset stays untrained.
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
        """Return the margins of training rows; only entries in `where` are needed."""
        ...

    def margins(
        self, fitted: Any, X: Any, probability: bool = False, n_jobs: int | None = None
    ) -> Margins:
        """Return the margins of new rows."""
        ...


def fitted_types(machine: Any) -> tuple[type, ...]:
    """Return the types of the fitted objects of a machine; a few have more than one."""
    single = getattr(machine, "fitted_type", None)
    found: tuple[type, ...] = getattr(machine, "fitted_types", () if single is None else (single,))
    return found


@dataclass(frozen=True)
class LeftOut:
    """Scores of training rows from machines trained without them.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_columns)
        The scores; 0 where a row takes no part.
    trusted : ndarray of shape (n_columns,)
        Whether the scores of a column can be used; some formulas are approximate.
    """

    scores: FloatArray
    trusted: NDArray[bool_]


@runtime_checkable
class LeavesOneOut(Protocol):
    """A machine that gets all leave-one-out scores from a single fit.

    Note: a capability of its own. Before, machines without it had to carry a method that refused.
    """

    def leave_one_out_scores(
        self,
        fitted: Any,
        state: Any,
        labels: SignArray,
        rows: IntArray,
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> LeftOut:
        """Return the scores of training rows from machines trained without them.

        The other arguments are the same as when `fitted` was trained.
        """
        ...


class TrainsOnSums(Protocol):
    """A machine that needs nothing of the rows but sums over their features.

    It can be trained on rows that are read block by block, in one reading. Note: ask by
    ``hasattr(machine, "fit_sums")``, which is right also where another machine decides.
    """

    def landmarks_for_blocks(
        self, state: Any, labels: SignArray, weights: FloatArray | None, options: TrainingOptions
    ) -> Any:
        """Choose landmarks on a sample of rows."""
        ...

    @property
    def fit_sums(self) -> Callable[..., list[Any]]:
        """Train every column on every subset, from sums over all rows."""
        ...


@dataclass(frozen=True)
class FoldMargins:
    """The margins of rows that machines were not trained on, fold by fold.

    Parameters
    ----------
    tested : sequence of Margins
        For every fold, the margins of its test rows from machines trained on its training rows,
        including rows that take no part in a column.
    failed : ndarray of shape (n_columns,)
        Whether some fold's solver did not converge for the column.
    fitted : callable
        Returns the trained machines of a fold.
    """

    tested: Sequence[Margins]
    failed: NDArray[bool_]
    fitted: Callable[[int], Any]


@runtime_checkable
class FollowsPath(Protocol):
    """A machine that trains along a path of values of one of its parameters in one call."""

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

        Values ascend; the result for a value does not depend on later values.
        """
        ...
