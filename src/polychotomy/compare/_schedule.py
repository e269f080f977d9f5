"""The order of a comparison: whenever it is stopped, there is an answer.

First cheap fits without tuning on a part of the rows; then all methods, tuned, on that part; then
the best few on as many more rows as there is time for, all of them if possible; then more splits of
the largest size that was reached.

Design note: what is judged depends on the time, but never its figures: each task is a function of
the table, the seed, the methods, the split and the number of rows. The alternative, one method
after another on all rows, leaves nothing if the first does not finish.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..core.progress import WorkTicker
from ..core.types import IntArray
from ..execution.calls import Answer, Call
from ..execution.deadline import PACE, Clock
from . import _first_answers
from ._judging import Judged, Level
from ._plan import Plan
from ._record import Group, Record
from ._reserve import training_time


@dataclass
class Schedule:
    """Gives the tasks of a comparison one after another, and keeps what came of them.

    Attributes
    ----------
    groups : list of list of Candidate
        Methods that share their work, the fast ones first.
    sizes : list of int
        The numbers of training rows.
    n_splits : int
        The splits of the last size.
    clock : Clock
        The time that is left.
    n_workers : int
        How many tasks run at once.
    y : ndarray of int
        The classes of all rows, by number.
    n_features : int
        The number of inputs.
    tick : WorkTicker
        Shows the progress.
    train_rows : int or None
        The rows on which the best method is trained afterwards, for which time is kept.
    """

    groups: Sequence[Group]
    sizes: Sequence[int]
    n_splits: int
    clock: Clock
    n_workers: int
    y: IntArray
    n_features: int
    tick: WorkTicker
    train_rows: int | None = None

    def __post_init__(self) -> None:
        self.record = Record(self.y, self.n_features, self.clock)
        self.found, self.failures = self.record.found, self.record.failures
        self.notes, self.best_nll = self.record.notes, self.record.best_nll
        self._quick: Iterator[Call] = iter(())
        self._tasks = Plan(
            *(self.groups, self.sizes, self.n_splits, self.clock, self.n_workers, self.record)
        ).calls()
        self._reserve = self.clock.reserve
        self._keep_time()

    def quick_calls(self) -> Iterator[Call]:
        """Yield fits that are not tuned, on few rows: some answer, before any other work."""
        return _first_answers.quick_calls(self.groups, self.sizes[0], self.clock)

    def last_call(self) -> Call | None:
        """Return a fit for this process if no method has an answer at the end of a limited time."""
        if self.record.has_answer() or self.clock.limit is None:
            return None
        return _first_answers.last_call(self.groups, self.sizes[0], self.clock)

    def begin_quickly(self) -> None:
        """Let `take` begin with the fits of `quick_calls`."""
        self._quick = self.quick_calls()

    def take(self) -> Call | None:
        """Return the next task, or None if there is none at the moment."""
        left = self.clock.left()
        call = next(self._quick, None)
        if call is None:
            if left is not None and left <= 0:
                return None
            call = next(self._tasks, None)
        if call is not None:
            self.record.begin(call)
        self._show()
        return call

    def on_answer(self, call: Call, answer: Answer) -> None:
        """Keep what came of a task."""
        self.record.keep(call, answer)
        if isinstance(answer.value, Judged):
            self._keep_time()

    def _keep_time(self) -> None:
        """Keep time for training the best method so far on all rows."""
        if self.train_rows is not None:
            kept = training_time(self.record, self.groups, self.clock, self.train_rows)
            self.clock.reserve = self._reserve + kept

    def _show(self) -> None:
        """Show what is being done, and how long all of it will take."""
        running = self.record.running
        if not running:
            return
        level = running[-1].level
        split = max(task.split for task in running)
        names = [task.names[0] for task in running]
        doing = f"split {split + 1} of {self.n_splits}" if split else f"{level.rows:,} rows"
        self.tick(f"{doing}: {', '.join(names)}", self.clock.spent, self.remaining())

    def remaining(self) -> float | None:
        """Return how long the work will take, at most what is left; None if that is unknown."""
        left = self.clock.left()
        if len(self.sizes) > 1:
            return None if left is None else max(left, 0.0)
        level, work = Level(self.sizes[0]), 0.0
        slow = self.clock.pace / PACE
        for group in self.groups:
            if self.record.is_given_up(group, level):
                continue
            shape = level.rows, self.n_features, self.record.n_classes
            if self.record.is_timed(group, level):
                each = self.record.cost(group, level)
            else:
                each = slow * max(one.expected_seconds(*shape) for one in group)
            work += (self.n_splits - self.record.n_splits(group, level)) * each
        work /= self.n_workers
        return work if left is None else max(0.0, min(work, left))
