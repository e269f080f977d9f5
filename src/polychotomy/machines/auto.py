"""``landmarks="auto"``: the exact machine while it is cheap, then what does best on a subsample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..core.contents import sample_by_content
from ..core.margins import Margins
from ..core.registry import stored
from ..core.state import Field, Holds
from ..core.types import FloatArray, IntArray, SignArray
from ..kernels import kernel_class, settle_memory_limit
from ..native.platt import fit_platt
from .base import FoldMargins, LeftOut, Machine, TrainingOptions

# Up to this many rows, every machine is exact, and up to a multiple of them in its largest column.
EXACT_ROWS = 3_000
# Above this many rows, no machine is; below, those that need no Gram matrix are tried.
MOST_EXACT_ROWS = 100_000
# The number of landmarks is chosen on this many rows, a third of them held out; the exact machine
# is compared with landmarks on fewer, as many to a landmark as there will be in the end.
ROWS_FOR_NUMBER, ROWS_FOR_EXACT = 20_000, 6_000
FIRST_NUMBER, LAST_NUMBER = 250, 4_000
# The exact machine is not taken if its support vectors need more entries of the kernel than this.
# Note: on noisy rows, a share of them are support vectors however many there are, so that its time
# grows with the square of the rows. 60,000 images of digits need 1.1e9 entries for all pairs and
# train for a minute; 100,000 noisy rows of six classes need 9e9, and had not ended after three.
MOST_ENTRIES = 5e9
# Landmarks are doubled as long as this share of the held-out loss is saved; the exact machine,
# which takes longer, has to save more.
SAVING, SAVING_OF_EXACT = 0.01, 0.03
# The sums, solutions and work of one-vs-rest in five folds, in matrices of landmarks.
MATRICES = 10
# The losses of at most this many columns are compared.
MOST_COLUMNS = 20


class AutoRows:
    """Training rows, prepared for the exact machine or for features when one of them is chosen."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.decided: dict[Any, int | None] = {}
        self._states: dict[Any, Any] = {}

    def has(self, columns: Any) -> bool:
        """Whether the rows were prepared for one of the two."""
        return columns.shares in self._states

    def state_of(self, columns: Any) -> Any:
        """Return the rows as one of the two prepares them."""
        if columns.shares not in self._states:
            self._states[columns.shares] = columns.prepare(self.X)
        return self._states[columns.shares]


@stored("columns.auto")
class AutoColumns:
    """The machines of a code, exact or in features, as the rows demand.

    Note: the number of landmarks is chosen with least squares for all machines, because they read
    the same features, and a fit takes one pass.

    Parameters
    ----------
    solver : KernelMachine
        The machine with ``landmarks="auto"``.
    """

    path_parameter = "C"
    shares: ClassVar[str | None] = "auto"
    checks_inputs: ClassVar[bool] = False
    fitted_state: ClassVar[dict[str, Field]] = {"solver": Holds(Machine, fitted=False)}

    def __init__(self, solver: Any) -> None:
        self.solver = solver

    @property
    def template(self) -> Any:
        """The machine."""
        return self.solver

    @property
    def has_probability(self) -> bool:
        """Whether the machine has its own probabilities."""
        return bool(self._columns(None).has_probability)

    @property
    def has_likelihood(self) -> bool:
        """Whether its margins include variance and noise."""
        return bool(self._columns(None).has_likelihood)

    @property
    def fitted_types(self) -> tuple[type, ...]:
        """The types of trained machines: exact, and in features."""
        return self._columns(None).fitted_type, self._columns(1).fitted_type

    def for_rows(self, n_rows: int) -> Any:
        """Return the exact machine if it is sure to be taken for this many rows, or itself.

        Note: so few rows are trained as with ``landmarks=None``, in blocks of columns and all.
        """
        return self._columns(None) if self._is_exact(n_rows) else self

    def _is_exact(self, n_rows: int) -> bool:
        kind = kernel_class(self.solver.kernel)
        most = max(self.solver.exact_reach, 1.0) * EXACT_ROWS
        return n_rows <= most or kind.is_precomputed or kind.is_indefinite

    def prepare(self, X: Any) -> AutoRows:
        """Return the rows; they are prepared when the machine is chosen."""
        return AutoRows(X)

    def fit(
        self,
        state: AutoRows,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> list[Any]:
        """Train every column on every subset of rows."""
        columns = self._decided(state, labels, subsets, weights, options)
        found: list[Any] = columns.fit(state.state_of(columns), labels, subsets, weights, options)
        return found

    def held_out_path(
        self,
        state: AutoRows,
        labels: SignArray,
        splits: Sequence[tuple[IntArray, IntArray]],
        values: Sequence[float],
        weights: FloatArray | None,
        options: TrainingOptions,
        probability: bool = False,
    ) -> list[FoldMargins] | None:
        """Return the held-out margins for every C; None if the machine cannot follow a path."""
        subsets = [train for train, _ in splits]
        columns = self._decided(state, labels, subsets, weights, options)
        if not hasattr(columns, "held_out_path"):
            return None
        own = state.state_of(columns)
        path: list[FoldMargins] | None = columns.held_out_path(
            own, labels, splits, values, weights, options, probability
        )
        return path

    @property
    def fit_sums(self) -> Any:
        """The function that trains on sums; the attribute is missing if the machine has none."""
        return self._columns(1).fit_sums

    def landmarks_for_blocks(
        self,
        state: AutoRows,
        labels: SignArray,
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> Any:
        """Choose the number of landmarks, and landmarks, on a sample of rows; never exact."""
        self.solver.check_parameters()
        trial = self._trial(state.X, labels, np.arange(len(labels)), weights, options)
        columns = self._columns(trial.best_number(self.solver))
        return columns.landmarks_for_blocks(state.state_of(columns), labels, weights, options)

    def training_margins(
        self,
        fitted: Any,
        state: AutoRows,
        rows: IntArray,
        where: NDArray[np.bool_] | None = None,
        probability: bool = False,
        n_jobs: int | None = None,
    ) -> Margins:
        """Return the margins of training rows."""
        columns = self._of(fitted)
        if not state.has(columns):
            return self.margins(fitted, state.X[rows], probability, n_jobs)
        margins: Margins = columns.training_margins(
            fitted, state.state_of(columns), rows, where, probability, n_jobs
        )
        return margins

    def margins(
        self, fitted: Any, X: Any, probability: bool = False, n_jobs: int | None = None
    ) -> Margins:
        """Return the margins of new rows."""
        margins: Margins = self._of(fitted).margins(fitted, X, probability, n_jobs)
        return margins

    def _of(self, fitted: Any) -> Any:
        """Return the columns that trained a machine, or whose trained machines are of its type."""
        exact = self._columns(None)
        return exact if isinstance(fitted, exact.fitted_type) else self._columns(1)

    def _columns(self, number: int | None) -> Any:
        return clone(self.solver).set_params(landmarks=number).as_columns()

    def _decided(
        self,
        state: AutoRows,
        labels: SignArray,
        subsets: Sequence[IntArray],
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> Any:
        self.solver.check_parameters()
        rows = np.unique(np.concatenate(subsets))
        settings = {**self.solver.get_params(deep=False), "C": None}
        key = repr(sorted(settings.items())), len(rows), labels.shape[1]
        if key not in state.decided:
            state.decided[key] = self._number(state.X, labels, rows, weights, options)
        return self._columns(state.decided[key])

    def _number(
        self,
        X: Any,
        labels: SignArray,
        rows: IntArray,
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> int | None:
        """Return the number of landmarks; None for the exact machine."""
        # One-vs-one has columns of two classes, which are what has to be solved.
        largest = int(np.count_nonzero(labels[rows], axis=0).max(initial=0))
        if self._is_exact(len(rows)) or largest <= self.solver.exact_reach * EXACT_ROWS:
            return None
        # With less than 6,000 rows no more than these would be tried, for longer than a fit takes.
        number = 4 * FIRST_NUMBER
        fits = MATRICES * 8.0 * number**2 <= settle_memory_limit(self.solver.memory_limit)
        if not self.solver.exact_on_demand and len(rows) < 6 * number and fits:
            return number
        trial = self._trial(X, labels, rows, weights, options)
        if (
            not self.solver.exact_on_demand
            or len(rows) > MOST_EXACT_ROWS
            or trial.entries_of_exact(self.solver, len(rows)) * labels.shape[1] > MOST_ENTRIES
        ):
            return trial.best_number(self.solver)
        # If it is better than with as many landmarks as there may be, their number does not matter.
        many = len(rows) >= 4 * LAST_NUMBER
        if many and trial.exact_is_better(self.solver, LAST_NUMBER, len(rows)):
            return None
        number = trial.best_number(self.solver)
        return None if trial.exact_is_better(self.solver, number, len(rows)) else number

    def _trial(
        self,
        X: Any,
        labels: SignArray,
        rows: IntArray,
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> _Trial:
        seed = options.random_state or 0
        if labels.shape[1] > MOST_COLUMNS:
            random = np.random.default_rng(seed)
            some = random.choice(labels.shape[1], size=MOST_COLUMNS, replace=False)
            labels = labels[:, np.sort(some)]
        return _Trial(X, labels, rows, weights, seed)


@stored("columns.auto_leaving")
class LeavingAutoColumns(AutoColumns):
    """`AutoColumns` of a machine that has leave-one-out scores."""

    def leave_one_out_scores(
        self,
        fitted: Any,
        state: AutoRows,
        labels: SignArray,
        rows: IntArray,
        weights: FloatArray | None,
        options: TrainingOptions,
    ) -> LeftOut:
        """Return the scores of training rows from machines trained without them."""
        columns = self._decided(state, labels, [rows], weights, options)
        if not hasattr(columns, "leave_one_out_scores"):
            # Features of a machine without a formula: all its columns need folds.
            return LeftOut(np.zeros(labels.shape), ~fitted.trained)
        found: LeftOut = columns.leave_one_out_scores(
            fitted, state.state_of(columns), labels, rows, weights, options
        )
        return found


class _Trial:
    """A subsample, split into rows to train on and rows to hold out."""

    def __init__(
        self,
        X: Any,
        labels: SignArray,
        rows: IntArray,
        weights: FloatArray | None,
        seed: int,
    ) -> None:
        self.order = sample_by_content(X, ROWS_FOR_NUMBER, seed, rows, labels)
        self.X, self.labels = X[self.order], labels[self.order]
        self.weights = None if weights is None else weights[self.order]
        self._exact: tuple[float, float] | None = None

    def best_number(self, solver: Any) -> int:
        """Double the number of landmarks until the held-out loss hardly falls, twice in a row.

        Note: twice, because a few landmarks too few can be as bad as none: the loss is flat until
        there is one for every region of a class.
        """
        from .lssvm.machine import LSSVM

        names = ("kernel", "gamma", "degree", "coef0", "landmark_choice", "memory_limit")
        shared = {name: getattr(solver, name) for name in names}
        sigma2 = solver.sigma2
        machine = LSSVM(sigma2=None if isinstance(sigma2, str) else sigma2, **shared)
        limit = settle_memory_limit(solver.memory_limit)
        number, tried = FIRST_NUMBER, FIRST_NUMBER
        best = self._loss(machine, number, len(self.order))
        while tried < 4 * number and 2 * tried <= min(LAST_NUMBER, len(self.order) // 3):
            tried *= 2
            if MATRICES * 8.0 * tried**2 > limit:
                break
            loss = self._loss(machine, tried, len(self.order))
            if loss <= (1.0 - SAVING) * best:
                number, best = tried, loss
        return number

    def exact_is_better(self, solver: Any, number: int, n_rows: int) -> bool:
        """Compare the exact machine with landmarks, as many rows to each as in the end."""
        n_used = min(ROWS_FOR_EXACT, len(self.order))
        few = max(20, round(number * n_used / n_rows))
        loss, _ = self._exact_found(solver)
        return loss < (1.0 - SAVING_OF_EXACT) * self._loss(solver, few, n_used)

    def entries_of_exact(self, solver: Any, n_rows: int) -> float:
        """Return how many kernel entries the support vectors of a column need, the mean of them.

        They are expected to be the same share of the rows as in the sample.
        """
        _, entries = self._exact_found(solver)
        return entries * n_rows**2

    def _exact_found(self, solver: Any) -> tuple[float, float]:
        """Return the loss of the exact machine, and its kernel entries as a share of all rows'."""
        if self._exact is None:
            n_used = min(ROWS_FOR_EXACT, len(self.order))
            columns, fitted, train = self._fitted(solver, None, n_used)
            n_support = np.asarray((fitted.coefficients != 0).sum(axis=0)).ravel()
            n_concerned = np.count_nonzero(self.labels[train], axis=0)
            entries = float((n_support * n_concerned).mean()) / len(train) ** 2
            self._exact = self._held_out_loss(columns, fitted, n_used), entries
        return self._exact

    def _loss(self, solver: Any, number: int | None, n_used: int) -> float:
        """Return the held-out loss of a third of the rows, after a sigmoid for every column."""
        columns, fitted, _ = self._fitted(solver, number, n_used)
        return self._held_out_loss(columns, fitted, n_used)

    def _fitted(self, solver: Any, number: int | None, n_used: int) -> tuple[Any, Any, IntArray]:
        """Return the columns, trained on the last two thirds of the rows, and these rows."""
        columns = clone(solver).set_params(landmarks=number).as_columns()
        train = np.arange(n_used // 3, n_used)
        options = TrainingOptions(counts=self.weights)
        state = columns.prepare(self.X)
        (fitted,) = columns.fit(state, self.labels, [train], self.weights, options)
        return columns, fitted, train

    def _held_out_loss(self, columns: Any, fitted: Any, n_used: int) -> float:
        test = np.arange(n_used // 3)
        scores = columns.margins(fitted, self.X[test]).mean[:, fitted.trained]
        labels = self.labels[test][:, fitted.trained]
        if not labels.any():
            # Nothing to compare, such as one row of a class, held out. No comparison holds for NaN.
            return np.nan
        slopes, intercepts, _ = fit_platt(scores, labels)
        margins = -labels * (slopes * scores + intercepts)
        return float(np.logaddexp(0.0, -margins)[labels != 0].mean())
