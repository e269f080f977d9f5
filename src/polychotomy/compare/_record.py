"""What a comparison has done so far, how long it took, and what more would take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..core.types import IntArray
from ..core.words import duration
from ..execution.calls import Answer, Call
from ..execution.deadline import Clock
from ._candidates import Candidate
from ._judging import HeldOut, Judged, Level, Task
from ._notes import note_of

# Methods that share their work, and are judged together.
Group = Sequence[Candidate]
# How the reasons of methods begin that failed for another reason than the time.
FAILED = "it failed: "
NO_MEMORY = f"{FAILED}not enough memory"
# Where parameters are chosen on fewer rows, the part of the time for training on all rows.
TRAINING_PART = 0.1


@dataclass
class Record:
    """Which tasks run and are done, and what came of them.

    Attributes
    ----------
    y : ndarray of int
        The classes of all rows, by number.
    n_features : int
        The number of inputs.
    clock : Clock
        Tells how long tasks have been running.
    found : dict
        What methods predicted, by level, name and split.
    failures : dict of str
        Why methods were not judged, or not on more rows.
    notes : list of str
        Warnings of the methods.
    """

    y: IntArray
    n_features: int
    clock: Clock
    found: dict[Level, dict[str, dict[int, HeldOut]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict))
    )
    failures: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    _seconds: dict[tuple[Level, str], list[float]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _running: dict[int, Task] = field(default_factory=dict)
    _since: dict[tuple[Level, str], float] = field(default_factory=dict)
    _too_slow: set[tuple[Level, str]] = field(default_factory=set)
    _late_after: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.n_classes = len(np.unique(self.y))

    def begin(self, call: Call) -> None:
        """Take down that a task has begun."""
        task: Task = call.argument
        self._running[id(call)] = task
        self._since[task.level, task.names[0]] = self.clock.spent

    def keep(self, call: Call, answer: Answer) -> None:
        """Keep what came of a task."""
        self._running.pop(id(call), None)
        task: Task = call.argument
        key = task.names[0]
        if isinstance(answer.value, Judged):
            for name, held in answer.value.held_out.items():
                self.found[task.level][name][task.split] = held
            self.notes += [note for note in answer.value.notes if note not in self.notes]
            self._seconds[task.level, key].append(answer.seconds)
            return
        why = f"{FAILED}{note_of(answer.failure or '', '')}"
        if "MemoryError" in why:
            why = NO_MEMORY  # the message names cells of a search, and functions
        if answer.late:
            self._late_after[key] = answer.seconds
            why = "no time was left to try it"
            if answer.seconds > 0.5:
                why = f"one split was not finished after {duration(answer.seconds)}"
        self._too_slow.add((task.level, key))
        if task.level.tuned:
            for name in task.names:
                self.failures.setdefault(name, why)

    @property
    def running(self) -> list[Task]:
        """The tasks that run, the latest last."""
        return list(self._running.values())

    def runs_at(self, level: Level) -> bool:
        """Whether a task of a level runs."""
        return any(task.level == level for task in self.running)

    def has_answer(self) -> bool:
        """Whether any method was judged."""
        return any(runs for found in self.found.values() for runs in found.values())

    def is_done(self, group: Group, level: Level) -> bool:
        """Whether all methods of a group were judged at a level."""
        return all(self.found[level].get(one.name) for one in group)

    def is_begun(self, group: Group, level: Level) -> bool:
        """Whether a group was judged on the first split, or is now, or was given up."""
        names = tuple(one.name for one in group)
        running = any(
            (task.names, task.level, task.split) == (names, level, 0) for task in self.running
        )
        return running or self.is_given_up(group, level) or self.is_done(group, level)

    def n_splits(self, group: Group, level: Level) -> int:
        """Return the number of splits on which a group was judged."""
        return min((len(self.found[level][one.name]) for one in group), default=0)

    def give_up(self, group: Group, level: Level, why: str) -> None:
        """Leave a group out at a level from now on."""
        self._too_slow.add((level, group[0].name))
        for one in group:
            self.failures.setdefault(one.name, why)

    def give_again(self, group: Group, level: Level) -> None:
        """Let a group that was given up begin once more."""
        self._too_slow.discard((level, group[0].name))

    def is_given_up(self, group: Group, level: Level) -> bool:
        """Whether a group was too slow at a level, or failed."""
        return (level, group[0].name) in self._too_slow

    def late_after(self, group: Group) -> float | None:
        """Return after how many seconds a group was stopped; None if it was not."""
        return self._late_after.get(group[0].name)

    def is_timed(self, group: Group, level: Level) -> bool:
        """Whether it is known how long a group takes at a level."""
        return bool(self._seconds[level, group[0].name])

    def cost(self, group: Group, level: Level) -> float:
        """Return the seconds of a group, at least those that it has been running for."""
        key = (level, group[0].name)
        if self._seconds[key]:
            return float(np.median(self._seconds[key]))
        return self.clock.spent - self._since[key] if key in self._since else 0.0

    def expected(self, group: Group, level: Level, rows: int) -> float:
        """Return how long a group will take with more rows, by what it took at a level."""
        cost, first = self.cost(group, level), group[0]
        if first.whole:
            width = self.n_features, self.n_classes
            least, most = (first.expected_seconds(n, *width) for n in (level.rows, rows))
            return cost * most / least
        ratio = rows / level.rows
        tuned = first.tuned_rows(self.n_classes)
        if tuned is None or rows <= tuned:
            return float(cost * ratio**first.growth)
        tuning = max(1.0, tuned / level.rows) ** first.growth
        return float(cost * (tuning + TRAINING_PART * ratio**first.growth_of_training))

    def best_nll(self, level: Level) -> float:
        """Return the least NLL of a method at a level, on the first split."""
        runs = [runs for runs in self.found[level].values() if 0 in runs]
        return min((self._quality({0: one[0]}) for one in runs), default=np.inf)

    def nll_of(self, group: Group, level: Level) -> float:
        """Return the least NLL of a method of a group at a level, the mean over its splits."""
        return min(self._quality(self.found[level][one.name]) for one in group)

    def _quality(self, runs: dict[int, HeldOut]) -> float:
        """Return the mean NLL of a method on its splits; without probabilities, infinity."""
        values = [held.figures(self.y[held.rows])["nll"] for held in runs.values()]
        mean = float(np.mean(values))
        return mean if np.isfinite(mean) else np.inf
