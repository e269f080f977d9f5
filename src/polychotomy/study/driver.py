"""The driver: runs the units that are not finished, and records their outcomes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain

from ..execution.executors import Executor, InProcess
from ..execution.units import Outcome, Unit
from ..execution.work import load_task
from .store import Store, StoreError, new_holder


@dataclass(frozen=True)
class Progress:
    """The progress of a study.

    Attributes
    ----------
    total : int
        The number of its units.
    finished : int
        The number of units with an outcome in the store, from any driver.
    failed : int
        The number of those that failed.
    unit : Unit or None
        The unit that has just ended; None at the start.
    outcome : Outcome or None
        How it ended.

    Examples
    --------
    >>> from polychotomy.study.driver import Progress
    >>> Progress(total=10, finished=4, failed=0).remaining
    6
    """

    total: int
    finished: int
    failed: int
    unit: Unit | None = None
    outcome: Outcome | None = None

    @property
    def remaining(self) -> int:
        """The number of units without an outcome."""
        return self.total - self.finished


OnProgress = Callable[[Progress], None]


def run_study(
    units: Iterable[Unit],
    task: str,
    store: Store | str | os.PathLike[str],
    executor: Executor | None = None,
    *,
    resume: bool = True,
    retry_failed: bool = False,
    on_progress: OnProgress | None = None,
    lease: float = 60.0,
) -> Progress:
    """Run all units of a study that are not in the store yet.

    It may be stopped at any moment, by Ctrl-C, by a kill or by a power cut, and called again:
    what was recorded is not run again. Several drivers may work on one store at the same time;
    each claims a unit before it starts it, and waits at the end for what the others are at. Units
    that the disk has damaged are named in a warning, and run again.

    Parameters
    ----------
    units : iterable of Unit
        All units of the study. Those with a greater `cost` start first.
    task : str
        The function that runs a unit, as ``"package.module:function"``; it gets the unit and
        returns a list of `MethodResult`. It must be importable in workers, and take all
        randomness from ``unit.seed``.
    store : Store or path-like
        Where results go.
    executor : Executor, optional
        Where units run; by default in this process.
    resume : bool, default=True
        Whether to keep what is finished. Without it, the outcomes of these units (and of no
        others) are deleted first.
    retry_failed : bool, default=False
        Whether to run units again that are recorded as failed.
    on_progress : callable, optional
        Called with a `Progress` at the start and after each unit.
    lease : float, default=60.0
        The seconds after which the claims of a driver that was killed expire.

    Returns
    -------
    progress : Progress
        The progress at the end.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from polychotomy.study.driver import run_study
    >>> from polychotomy.execution.units import Unit
    >>> units = [Unit("demo", "iris", "0f3a", i, "svm", {"methods": ["a"]}) for i in range(3)]
    >>> def on_progress(progress):
    ...     print(progress.finished, "of", progress.total)
    >>> task = "polychotomy.execution.work:example"
    >>> with TemporaryDirectory() as folder:
    ...     first = run_study(units[:2], task, folder + "/study.db")
    ...     last = run_study(units, task, folder + "/study.db", on_progress=on_progress)
    2 of 3
    3 of 3
    """
    units = list(units)
    _refuse_twins(units)
    load_task(task)
    with ExitStack() as stack:
        if not isinstance(store, Store):
            store = stack.enter_context(Store(store))
        if not resume:
            store.forget(units)
        elif retry_failed:
            store.forget(units, only_failed=True)
        store.forget_damaged()
        holder = new_holder()
        stack.enter_context(_held_claims(store, holder, lease))
        desk = _Desk(store, units, holder, lease, on_progress)
        desk.work(executor or InProcess(), task)
        return desk.progress()


def _refuse_twins(units: Sequence[Unit]) -> None:
    seen = set()
    for unit in units:
        if unit.key in seen:
            raise ValueError(f"The unit ({unit}) is in the study twice.")
        seen.add(unit.key)


class _Desk:
    """One run of a driver."""

    def __init__(
        self,
        store: Store,
        units: list[Unit],
        holder: str,
        lease: float,
        on_progress: OnProgress | None,
    ) -> None:
        self.store, self.units, self.holder, self.lease = store, units, holder, lease
        self.on_progress = on_progress
        self.finished: set[str] = set()
        self.failed: set[str] = set()

    def work(self, executor: Executor, task: str) -> None:
        self.look()
        self.report()
        while pending := self.pending():
            claimed = self.claims(pending)
            first = next(claimed, None)
            if first is not None:
                executor.run(chain([first], claimed), task, self.done)
            elif self.pending():
                time.sleep(min(1.0, self.lease / 4))  # the others' units, or their claims, will end
            before = len(self.finished)
            self.look()
            if len(self.finished) > before:
                self.report()

    def look(self) -> None:
        """Return the unfinished units, without those that other drivers have finished."""
        self.finished = self.store.finished(self.units)
        self.failed = {row["unit"] for row in self.store.failed(self.units)}

    def pending(self) -> list[Unit]:
        left = [unit for unit in self.units if unit.key not in self.finished]
        return sorted(left, key=lambda unit: -unit.cost)

    def claims(self, pending: list[Unit]) -> Iterator[Unit]:
        """Claim a unit only when a worker is free for it: other drivers may be faster."""
        for unit in pending:
            if self.store.claim(unit, self.holder, self.lease):
                yield unit

    def done(self, unit: Unit, outcome: Outcome) -> None:
        if self.store.record(unit, outcome) and outcome.failure is not None:
            self.failed.add(unit.key)
        self.finished.add(unit.key)
        self.report(unit, outcome)

    def progress(self, unit: Unit | None = None, outcome: Outcome | None = None) -> Progress:
        return Progress(len(self.units), len(self.finished), len(self.failed), unit, outcome)

    def report(self, unit: Unit | None = None, outcome: Outcome | None = None) -> None:
        if self.on_progress is not None:
            self.on_progress(self.progress(unit, outcome))


@contextmanager
def _held_claims(store: Store, holder: str, lease: float) -> Iterator[None]:
    """Renew the claims of a driver while it runs, and release them at the end."""
    stopped = threading.Event()
    thread = threading.Thread(
        target=_renew_until, args=(stopped, store, holder, lease), daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
        # On a full disk they cannot be released; they will expire.
        with suppress(StoreError):
            store.release(holder)


def _renew_until(stopped: threading.Event, store: Store, holder: str, lease: float) -> None:
    # If claims cannot be renewed, at worst another driver runs a unit too. The reason is reported
    # when a result is recorded.
    while not stopped.wait(lease / 4):
        with suppress(StoreError), Store(store.path, patience=min(lease / 4, 2.0)) as own:
            own.renew(holder, lease)
