"""How the parts of searches run: one after another here, or elsewhere by an executor."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator

from ..core.progress import Ticker
from ..native.memory import released_at_end
from .grid import Cell, Grid
from .parts import Found, Part
from .sweep import Sweep

if TYPE_CHECKING:
    from ..execution.calls import Answer, Call

TASK = "polychotomy.tuning.steps:judge_there"


class Step:
    """One step of the search of a sweep: its parts, and how many are not judged yet.

    Parameters
    ----------
    sweep : Sweep
        The sweep.
    wanted : sequence of sequence of cells
        The cells of each method.
    grid, factors
        The grid, or the grid and the factors of its refinement.
    tick : Ticker
        Shows the progress.
    label : str
        The name of the step.
    """

    def __init__(
        self,
        sweep: Sweep,
        wanted: Sequence[Sequence[Cell]],
        grid: Grid,
        factors: Mapping[str, Sequence[float]] | None,
        tick: Ticker,
        label: str,
    ) -> None:
        self.sweep, self.wanted = sweep, wanted
        self.parts = sweep.parts(wanted, grid, factors)
        self._tick, self._name = tick, f"{sweep.name}: {label}"
        self._total = self._left = sum(len(part.cells) for part in self.parts)
        self._show()

    def jobs(self) -> Iterator[tuple[Step, Part] | None]:
        """Yield each part, then None until all of them are judged."""
        for part in self.parts:
            yield self, part
        while self._left:
            yield None
        self.sweep.warn_of_failures(self.parts)

    def take_in(self, part: Part, found: Found) -> None:
        """Keep what came of a part."""
        self.sweep.take_in(found, self.wanted)
        self._left -= len(part.cells)
        self._show()

    def _show(self) -> None:
        if self._total:
            self._tick(self._name, self._total - self._left, self._total)


class TakesExecutor(BaseEstimator):
    """An estimator with a parameter `executor`.

    A Dask client can neither be copied nor sent: clones share it, and pickles have its address.
    """

    executor: Any

    def __sklearn_clone__(self) -> Self:
        """Return a copy that is not fitted, with the same executor."""
        bare = copy(self)
        bare.executor = None
        found: Self = BaseEstimator.__sklearn_clone__(bare)
        found.executor = self.executor
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled."""
        state: dict[str, Any] = super().__getstate__()
        if hasattr(state.get("executor"), "scheduler_info"):
            state = {**state, "executor": state["executor"].scheduler.address}
        return state


# The search of one sweep: it yields what to judge, or None if it waits for figures.
Search = Iterator[tuple[Step, Part] | None]


def run_here(searches: Sequence[Search]) -> None:
    """Judge all parts of some searches, one after another."""
    for search in searches:
        for job in search:
            assert job is not None  # each part is judged before the next is asked for
            step, part = job
            step.take_in(part, step.sweep.judged(part))


def run_elsewhere(searches: Sequence[Search], sweeps: Sequence[Sweep], executor: Any) -> None:
    """Judge all parts of some searches by an executor, the searches at the same time.

    The search whose parts have taken longest so far goes first, so that no worker is left with long
    parts at the end. In what order parts are judged changes no figure.

    Parameters
    ----------
    searches : sequence of Search
        The searches, one for each sweep.
    sweeps : sequence of Sweep
        Their sweeps.
    executor : Executor, distributed.Client or str
        Where to.
    """
    from ..execution.calls import Call
    from ..execution.executors import opened

    steps: dict[Call, Step] = {}
    unfinished = dict(enumerate(searches))
    spent: dict[int, list[float]] = {number: [] for number in unfinished}

    def a_part(number: int) -> float:
        """Return the seconds that parts of a search have taken on average; unknown ones first."""
        return sum(spent[number]) / len(spent[number]) if spent[number] else float("inf")

    def take() -> Call | None:
        for number in sorted(unfinished, key=a_part, reverse=True):
            try:
                job = next(unfinished[number])
            except StopIteration:
                del unfinished[number]
                continue
            if job is not None:
                step, part = job
                call = Call((number, part))
                steps[call] = step
                return call
        return None

    def on_answer(call: Call, answer: Answer) -> None:
        number, part = call.argument
        if answer.error is not None:
            raise answer.error
        found = answer.value
        if answer.failure is not None:
            found = sweeps[number].lost(part, answer.failure)
        for warning in found.warnings:
            warnings.warn(warning, stacklevel=2)
        spent[number].append(sum(found.seconds.values()) + sum(found.seconds_own))
        steps.pop(call).take_in(part, found)

    with opened(executor) as where:
        where.call(TASK, [sweep.portable() for sweep in sweeps], take, on_answer)


def judge_there(sweeps: Sequence[Sweep], job: tuple[int, Part]) -> Found:
    """Judge a part, in a worker.

    Parameters
    ----------
    sweeps : sequence of Sweep
        All sweeps of the search.
    job : tuple of int and Part
        The number of the sweep, and what to judge.
    """
    number, part = job
    sweep = sweeps[number]
    with warnings.catch_warnings(record=True) as caught, released_at_end():
        warnings.simplefilter("always")
        found = sweep.judged(part)
    found.warnings = [one.message for one in caught if isinstance(one.message, Warning)]
    # What cannot win among the cells of this part need not be sent.
    alone = sweep.with_outcomes(found.outcomes)
    found.kept = alone.needed_scores(found.kept, [part.cells] * len(alone.methods))
    return found
