"""Training the machines of a code, and their scores of unseen rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.registry import stored
from ..core.state import Array, Field, Holds, Indices, Sizes, require
from ..core.types import FloatArray, IntArray, SignArray, is_range
from ..machines import (
    ColumnMachine,
    FollowsPath,
    LeavesOneOut,
    LeftOut,
    TrainingOptions,
    fitted_types,
)
from .folds import FoldRows, Splits


class Prepared:
    """Rows and labels that machines of one kind and code share, computed when first needed.

    Note: this is a separate object, not a cached attribute of the training set. A training set can
    thus stay a plain value, and its copies for other cells of a grid share this object.

    Parameters
    ----------
    machine : ColumnMachine
        The machine that prepares the rows.
    codebook : Codebook
        The code.
    X, y : array-like
        All rows and their class numbers.
    shares : Prepared, default=None
        Take the rows from this object, whose machine prepares them in the same way.
    """

    def __init__(
        self,
        machine: ColumnMachine,
        codebook: Codebook,
        X: Any,
        y: IntArray,
        shares: Prepared | None = None,
    ) -> None:
        self._machine, self._codebook, self._X, self._y = machine, codebook, X, y
        self._shares = shares

    @cached_property
    def state(self) -> Any:
        """The rows as prepared by the machine."""
        return self._machine.prepare(self._X) if self._shares is None else self._shares.state

    @cached_property
    def labels(self) -> SignArray:
        """The label of every row in every column that needs a machine."""
        columns, _, _ = self._codebook.trained
        return self._codebook.matrix[:, columns][self._y]

    def sharing(self, other: Prepared) -> Prepared:
        """Return a copy with the rows of another, whose machine prepares them in the same way."""
        return Prepared(self._machine, self._codebook, self._X, self._y, other)


@dataclass(frozen=True)
class TrainingSet:
    """The training rows, with their weights, the code, the machine and its options.

    Rows are numbered as in `X`. Only `rows`, those of positive weight, are used.
    """

    machine: ColumnMachine
    codebook: Codebook
    X: Any
    y: IntArray
    rows: IntArray
    weights: FloatArray | None
    machine_weights: FloatArray | None
    options: TrainingOptions
    prepared: Prepared
    fold_rows: FoldRows

    @property
    def state(self) -> Any:
        """The prepared rows, which all machines share."""
        return self.prepared.state

    @property
    def labels(self) -> SignArray:
        """The label of every row in every column that needs a machine."""
        return self.prepared.labels

    def with_machine(self, machine: ColumnMachine) -> TrainingSet:
        """Return the same rows for a machine of the same kind, sharing `prepared`."""
        return replace(self, machine=machine)

    def weights_of(self, rows: IntArray) -> FloatArray | None:
        """Return the weights of some rows."""
        return None if self.weights is None else self.weights[rows]


@stored("pipe.binary_machines")
@dataclass(frozen=True)
class BinaryMachines:
    """The trained machines of a code: from inputs to the margins of all columns.

    Note: a column and its negative have one machine. `source` has the machine of every column, and
    `sign` is -1 where its margins are negated.
    """

    machine: ColumnMachine
    fitted: Any
    source: IntArray
    sign: SignArray

    fitted_state: ClassVar[dict[str, Field]] = {
        "machine": Holds(fitted=False),
        "fitted": Holds(share="Td"),
        "source": Indices("L", below="T"),
        "sign": Array("L", "i", at_least=-1, at_most=1),
    }

    def check_state(self, sizes: Sizes) -> None:
        """Check that machine and solution belong together."""
        require((self.sign != 0).all(), self, "has signs other than -1 and +1")
        check_solution(self)

    def margins(self, X: Any, probability: bool, n_jobs: int | None = None) -> Margins:
        """Return the margins of new rows."""
        narrow = self.machine.margins(self.fitted, X, probability, n_jobs)
        return narrow.columns(self.source, self.sign)

    def training_margins(self, data: TrainingSet, rows: IntArray, probability: bool) -> Margins:
        """Return the margins of training rows."""
        narrow = self.machine.training_margins(
            self.fitted, data.state, rows, None, probability, data.options.n_jobs
        )
        return narrow.columns(self.source, self.sign)

    def narrow_scores(
        self, data: TrainingSet, rows: IntArray, where: NDArray[np.bool_]
    ) -> FloatArray:
        """Return the scores of training rows in the trained columns, for the entries `where`."""
        scores = self.machine.training_margins(
            self.fitted, data.state, rows, where, False, data.options.n_jobs
        ).mean
        assert scores is not None
        return scores


@stored("pipe.nested_scorer")
@dataclass(frozen=True)
class NestedScorer:
    """Machines of some columns, as a function from inputs to margins."""

    machine: ColumnMachine
    fitted: Any

    fitted_state: ClassVar[dict[str, Field]] = {
        "machine": Holds(fitted=False),
        "fitted": Holds(share="Td"),
    }

    def check_state(self, sizes: Sizes) -> None:
        """Check that machine and solution belong together."""
        check_solution(self)

    def check_inputs(self, n_features: int) -> None:
        """Check that the machines can read rows with `n_features` inputs."""
        self.fitted.check_inputs(n_features)

    def __call__(self, X: Any) -> Margins:
        """Return the margins of new rows."""
        return self.machine.margins(self.fitted, X)


def check_solution(owner: BinaryMachines | NestedScorer) -> None:
    """Check that a solution has the type that its machine produces."""
    known = type(owner.fitted) in fitted_types(owner.machine)
    require(known, owner, "has machines that do not belong to their solutions")


@dataclass(frozen=True)
class Trial:
    """Machines with one setting of their parameters, tried on every fold.

    Parameters
    ----------
    tested : sequence of Margins
        For every fold, the margins of its test rows by machines that did not see them.
    failed : list of int
        The trained columns whose solver did not converge in some fold.
    machines : callable
        Returns the machines of a fold.
    """

    tested: Sequence[Margins]
    failed: list[int]
    machines: Callable[[int], BinaryMachines]

    def scores(self, data: TrainingSet, splits: Splits) -> FloatArray:
        """Return the scores of all rows in the trained columns."""
        columns, _, _ = data.codebook.trained
        scores = np.zeros((len(data.y), len(columns)))
        for margins, (_, test) in zip(self.tested, splits, strict=True):
            assert margins.mean is not None
            scores[test] = margins.mean[:, columns]
        return scores


@dataclass(frozen=True)
class Searched:
    """Results of a search that the final classifier reuses.

    Parameters
    ----------
    machines : BinaryMachines
        The machines of all rows.
    scores : ndarray of shape (n_rows, n_trained_columns)
        The scores of rows by machines that did not see them.
    splits : list of (train, test)
        The folds of these scores.
    folds : sequence of BinaryMachines, default=None
        The machines of every fold, if they were kept.
    """

    machines: BinaryMachines
    scores: FloatArray
    splits: Splits
    folds: Sequence[BinaryMachines] | None = None


def try_path(
    data: TrainingSet, splits: Splits, values: Sequence[float], probability: bool
) -> list[Trial] | None:
    """Try every value of the parameter along which the machine can be trained in one run.

    Returns None if the machine has no such parameter, or cannot follow the path for these rows.
    """
    if not isinstance(data.machine, FollowsPath):
        return None
    path = data.machine.held_out_path(
        data.state, data.labels, splits, values, data.machine_weights, data.options, probability
    )
    if path is None:
        return None
    _, source, sign = data.codebook.trained

    def machines(fitted: Callable[[int], Any], fold: int) -> BinaryMachines:
        return BinaryMachines(data.machine, fitted(fold), source, sign)

    return [
        Trial(
            tested=held_out.tested
            if data.codebook.all_trained
            else [margins.columns(source, sign) for margins in held_out.tested],
            failed=np.flatnonzero(held_out.failed).tolist(),
            machines=partial(machines, held_out.fitted),
        )
        for held_out in path
    ]


def try_once(data: TrainingSet, splits: Splits, probability: bool) -> Trial:
    """Try the machine with its current parameters on every fold."""
    machines = train(data, [rows for rows, _ in splits])
    return Trial(
        tested=[
            each.training_margins(data, test, probability)
            for each, (_, test) in zip(machines, splits, strict=True)
        ],
        failed=[],
        machines=machines.__getitem__,
    )


def train(data: TrainingSet, subsets: Sequence[IntArray]) -> list[BinaryMachines]:
    """Train the machines of all columns on every subset of rows."""
    _, source, sign = data.codebook.trained
    fitted = data.machine.fit(data.state, data.labels, subsets, data.machine_weights, data.options)
    return [BinaryMachines(data.machine, each, source, sign) for each in fitted]


def train_nested(data: TrainingSet, rows: IntArray, columns: IntArray) -> NestedScorer:
    """Train machines for some columns on some rows."""
    labels = data.codebook.matrix[:, columns][data.y]
    (fitted,) = data.machine.fit(data.state, labels, [rows], data.machine_weights, data.options)
    return NestedScorer(data.machine, fitted)


def held_out_scores(
    data: TrainingSet,
    full: BinaryMachines,
    scores: FloatArray,
    splits: Splits,
    complete: bool,
) -> Margins:
    """Return scores of rows by machines that did not see them (DUAN03 section 3.1).

    If the row's class takes part in the column, the entry is that of `scores`, by the machine of
    the fold. If the training rows of the fold lack one side of the column, the entry comes from
    the machine of all rows. If the row's class takes no part in the column, no machine of the
    column has seen the row: with `complete` the entry comes from the machine of all rows,
    otherwise it is 0. Rows are in the order of ``data.rows``.
    """
    if _all_by_folds(data, splits):
        return Margins(mean=_of_rows(scores, data.rows)).columns(full.source, full.sign)
    taking_part = data.labels != 0
    from_full = np.zeros(data.labels.shape, dtype=bool)
    from_full[data.rows] = taking_part[data.rows] if not splits else False
    if complete:
        from_full[data.rows] |= ~taking_part[data.rows]
    for rows, test in splits:
        from_full[test] |= taking_part[test] & ~_has_both_signs(data, rows)
    scores = np.where(taking_part & ~from_full, scores, 0.0)
    return _with_full(data, full, scores, from_full)


def _all_by_folds(data: TrainingSet, splits: Splits) -> bool:
    """Return whether the machines of the folds answer for every row in every column.

    Note: then the scores are used as they are. With 100,000 rows of 1,000 classes, the masks and
    copies of `held_out_scores` take longer than the machines.
    """
    if not splits or data.codebook.has_dont_cares:
        return False
    return all(_has_both_signs(data, rows).all() for rows, _ in splits)


def _of_rows(scores: FloatArray, rows: IntArray) -> FloatArray:
    """Return the scores of some rows; without a copy, if these are all."""
    return scores if len(rows) == len(scores) and is_range(rows) else scores[rows]


def fold_scores(data: TrainingSet, folds: Sequence[BinaryMachines], splits: Splits) -> FloatArray:
    """Return the score of every row by the machines of its fold; 0 if its class takes no part."""
    scores = np.zeros(data.labels.shape)
    for machines, (_, test) in zip(folds, splits, strict=True):
        scores[test] = machines.narrow_scores(data, test, data.labels[test] != 0)
    return scores


def _has_both_signs(data: TrainingSet, rows: IntArray) -> NDArray[np.bool_]:
    """Return for every trained column whether rows have both signs, which a machine needs."""
    columns, _, _ = data.codebook.trained
    return both_signs(data.codebook.matrix[:, columns][np.unique(data.y[rows])])


def both_signs(labels: SignArray) -> NDArray[np.bool_]:
    """Return for every column whether it has both signs."""
    return np.logical_and((labels > 0).any(axis=0), (labels < 0).any(axis=0))


def leave_one_out_scores(data: TrainingSet, full: BinaryMachines) -> LeftOut:
    """Return leave-one-out scores, computed from the one fit on all rows.

    Columns for which the machine's formula is unreliable get scores of five stratified folds, as
    do those whose scores are no larger on their positive side.

    Note: where the inputs say nothing, a machine answers with the mean label, and leaving out a row
    moves that away from its own label. A calibrator with a slope below 0 would then know all labels
    of the training rows. In stratified folds the means are nearly equal.
    """
    assert isinstance(data.machine, LeavesOneOut)
    left_out = data.machine.leave_one_out_scores(
        full.fitted, data.state, data.labels, data.rows, data.machine_weights, data.options
    )
    trusted = left_out.trusted & _agree(left_out.scores[data.rows], data)
    left_out = LeftOut(left_out.scores, trusted)
    columns = np.flatnonzero(~trusted)
    splits = data.fold_rows.stratified() if len(columns) else []
    if not splits:
        return left_out
    labels, scores = data.labels[:, columns], left_out.scores.copy()
    options = replace(
        data.options, describe=lambda column: data.options.describe(int(columns[column]))
    )
    subsets = [rows for rows, _ in splits]
    folds = data.machine.fit(data.state, labels, subsets, data.machine_weights, options)
    for fitted, (rows, test) in zip(folds, splits, strict=True):
        held_out = data.machine.training_margins(
            fitted, data.state, test, labels[test] != 0, False, options.n_jobs
        ).mean
        assert held_out is not None
        known = (labels[test] != 0) & _has_both_signs(data, rows)[columns]
        place = np.ix_(test, columns)
        scores[place] = np.where(known, held_out, scores[place])
    return LeftOut(scores, left_out.trusted)


def _agree(scores: FloatArray, data: TrainingSet) -> NDArray[np.bool_]:
    """Return the columns whose scores are larger, in the mean, for positive than negative rows."""
    columns, _, _ = data.codebook.trained
    matrix = data.codebook.matrix[:, columns]
    y, weights = data.y[data.rows], data.weights_of(data.rows)
    counts = np.ones(len(y)) if weights is None else weights
    # Sums by class first: no further array has as many numbers as the scores.
    by_class = csr_array((counts, (y, np.arange(len(y)))), shape=(len(matrix), len(y)))
    sums, sizes = by_class @ scores, np.bincount(y, counts, len(matrix))
    sides = [matrix == side for side in (1, -1)]
    means = [(sums * side).sum(axis=0) / (sizes @ side) for side in sides]
    agreeing: NDArray[np.bool_] = means[0] > means[1]
    return agreeing


def left_out_margins(
    data: TrainingSet, full: BinaryMachines, scores: FloatArray, complete: bool
) -> Margins:
    """Return leave-one-out scores as margins of the used rows in all columns.

    Entries of classes that take no part in a column are filled as in `held_out_scores`.
    """
    from_full = np.zeros(scores.shape, dtype=bool)
    if complete:
        from_full[data.rows] = data.labels[data.rows] == 0
    return _with_full(data, full, scores.copy(), from_full)


def _with_full(
    data: TrainingSet, full: BinaryMachines, scores: FloatArray, from_full: NDArray[np.bool_]
) -> Margins:
    """Fill the entries `from_full` from the machines of all rows, and expand to all columns."""
    rows = np.flatnonzero(from_full.any(axis=1))
    if len(rows):
        where = from_full[rows]
        scores[rows] = np.where(where, full.narrow_scores(data, rows, where), scores[rows])
    return Margins(mean=_of_rows(scores, data.rows)).columns(full.source, full.sign)


def fold_numbers(splits: Splits, rows: IntArray) -> IntArray | None:
    """Return the fold of every used row, or None if there are no folds."""
    if not splits:
        return None
    number = np.zeros(int(rows.max()) + 1, dtype=np.intp)
    for fold, (_, test) in enumerate(splits):
        number[test] = fold
    return number[rows]
