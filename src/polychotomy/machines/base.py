"""The interface of binary machines: they know label columns, not classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from numpy import bool_
from numpy.typing import NDArray

from .._types import FloatArray, IntArray, Margins, SignArray


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


class ColumnMachine(Protocol):
    """Trains all label columns of a code, on one or several subsets of the rows.

    What several columns, folds or parameters share (distances, a Gram matrix) is computed once
    by `prepare`.
    """

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
class HeldOut:
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
    ) -> list[HeldOut] | None:
        """Return the held-out margins for every value; None if the path cannot be followed.

        Values ascend; what is found for one does not depend on those after it.
        """
        ...
