"""The order of a comparison: whenever it is stopped, there is an answer.

First cheap fits without tuning on a part of the rows; then all methods, tuned, on that part; then
the best few on as many more rows as there is time for, all of them if possible; then more splits of
the largest size that was reached.

Design note: what is judged depends on the time, but never its figures: each task is a function of
the table, the seed, the methods, the split and the number of rows. The alternative, one method
after another on all rows, leaves nothing if the first does not finish.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from ..core.progress import WorkTicker
from ..core.types import IntArray
from ..core.words import duration
from ..execution.calls import Answer, Call, too_late
from ..execution.deadline import PACE, Clock
from ._candidates import Candidate
from ._judging import HeldOut, Judged, Level, Task

# How the reasons of methods begin that failed for another reason than the time.
FAILED = "it failed: "
# The smallest part of a large table; each next one has so many times the rows.
FIRST_ROWS = 1_000
FACTOR = 4
# Fewer splits than this say too little. Methods too slow for them are skipped.
FEWEST_SPLITS = 3
# So many methods are tried without tuning, each for at most this share of the time left.
QUICK, QUICK_SHARE = 4, 0.15
# Those that need no tuning may take this share.
WHOLE_SHARE = 0.3
# What the first two of them get in any case, in multiples of the clock's pace; only one does, if
# no time is left when they begin.
MOMENT, MOMENTS = 0.4, 2
# How many methods go on to more rows if there is no time for all.
BEST_FEW = 4
# Where parameters are chosen on fewer rows, the part of the time for training on all rows.
TRAINING_PART = 0.1
# A first fit may take this share of the time left, so that others get their turn; on the smallest
# part of a large table less, and all together not much more than the last, so that there is time
# for more rows.
FIRST_SHARE, PART_SHARE, ALL_PARTS_SHARE = 0.4, 0.15, 0.4
# What is kept for training on all rows: at least and at most these shares of the limit, and so many
# times what it is expected to take.
TRAINING_SHARES, TRAINING_CAUTION = (0.1, 0.4), 1.5
# And at least this multiple of the clock's pace.
TRAINING_PACES = 0.5
# A first fit is not begun for less than this multiple of the clock's pace, nor a further one that
# takes so many times what is left.
HOPELESS, LATE = 0.1, 1.3
# The best method so far may take more.
BEST_SHARE = 0.7
# A last fit, when the time is over and there is no answer, may take this multiple of the pace.
LAST = 0.3
# Where no method has an answer, some are tried without tuning for this share of the time left.
ALL_BUT_LITTLE = 0.9
# A method that was stopped may try again with this share of the time left, if that is so many times
# what it had.
AGAIN_SHARE, MUCH_MORE = 0.6, 1.5


def sizes(n_train: int, n_classes: int) -> list[int]:
    """Return the numbers of training rows to try, all of them last.

    Parameters
    ----------
    n_train, n_classes : int
        The training rows and classes.

    Returns
    -------
    sizes : list of int

    Examples
    --------
    >>> from polychotomy.compare._schedule import sizes
    >>> sizes(43_500, 7)
    [1000, 4000, 16000, 43500]
    >>> sizes(2_000, 3)
    [2000]
    """
    found: list[int] = []
    size = max(FIRST_ROWS, 5 * n_classes)
    while size * 1.6 < n_train and (found or size * 2.5 < n_train):
        found.append(size)
        size *= FACTOR
    return [*found, n_train]


@dataclass
class Schedule:
    """Which tasks are done, and what came of them.

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

    groups: list[list[Candidate]]
    sizes: Sequence[int]
    n_splits: int
    clock: Clock
    n_workers: int
    y: IntArray
    n_features: int
    tick: WorkTicker
    train_rows: int | None = None
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
        self._quick: Iterator[Call] = iter(())
        self._tasks = self._plan()
        self._reserve = self.clock.reserve
        self._keep_time()

    def quick_calls(self) -> Iterator[Call]:
        """Yield fits that are not tuned, on few rows: some answer, before any other work."""
        able = [one for group in self.groups for one in group[:1] if one.quick is not None]
        left = self.clock.left()
        if left is not None and left <= 0:
            # They are slower than others that are not tuned.
            able.sort(key=lambda one: one.whole)
        for place, candidate in enumerate(able[:QUICK]):
            # A method that needs no tuning is judged for good.
            whole = candidate.quick is candidate.make
            level, share = Level(self.sizes[0], whole), WHOLE_SHARE if whole else QUICK_SHARE
            call = self._call([candidate], level, 0, share)
            if call.until is not None and call.until < perf_counter() + self._moment:
                if place >= (MOMENTS if left is not None and left > 0 else 1):
                    return
                # One gets a moment even if reading took all the time: some answer must be.
                call = replace(call, until=perf_counter() + self._moment)
            yield call

    def last_call(self) -> Call | None:
        """Return a fit for this process if no method has an answer at the end of a limited time.

        On a computer so busy that not even a process begins in time, a logistic regression of few
        rows takes a small part of what importing took.
        """
        if self._has_answer() or self.clock.limit is None:
            return None
        able = [one for group in self.groups for one in group[:1] if one.quick is not None]
        # Machines for pairs, and with landmarks, take long where there are many classes.
        able.sort(key=lambda one: one.pipe is not None or one.whole)
        if not able:
            return None
        call = self._call(able[:1], Level(self.sizes[0], False), 0, 1.0)
        return replace(call, until=perf_counter() + LAST * self.clock.pace)

    @property
    def _moment(self) -> float:
        return MOMENT * self.clock.pace

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
            self._running[id(call)] = call.argument
            key = (call.argument.level, _key(call.argument.names))
            self._since[key] = self.clock.spent
        self._show()
        return call

    def on_answer(self, call: Call, answer: Answer) -> None:
        """Keep what came of a task."""
        self._running.pop(id(call), None)
        task: Task = call.argument
        if isinstance(answer.value, Judged):
            for name, held in answer.value.held_out.items():
                self.found[task.level][name][task.split] = held
            self.notes += [note for note in answer.value.notes if note not in self.notes]
            self._seconds[task.level, _key(task.names)].append(answer.seconds)
            self._keep_time()
            return
        why = f"{FAILED}{answer.failure}"
        if answer.late:
            self._late_after[_key(task.names)] = answer.seconds
            why = "no time was left to try it"
            if answer.seconds > 0.5:
                why = f"one split was not finished after {duration(answer.seconds)}"
        self._too_slow.add((task.level, _key(task.names)))
        if task.level.tuned:
            for name in task.names:
                self.failures.setdefault(name, why)

    def _show(self) -> None:
        """Show what is being done, and how long all of it will take."""
        running = list(self._running.values())
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
            if (level, _key_of(group)) in self._too_slow:
                continue
            done = min(len(self.found[level][one.name]) for one in group)
            guess = slow * max(one.expected_seconds(level.rows, self.n_features) for one in group)
            each = self._cost(group, level) if self._seconds[level, _key_of(group)] else guess
            work += (self.n_splits - done) * each
        work /= self.n_workers
        return work if left is None else max(0.0, min(work, left))

    def _keep_time(self) -> None:
        """Keep time for training the best method so far on all rows."""
        if self.train_rows is None or self.clock.limit is None:
            return
        least, most = (share * self.clock.limit for share in TRAINING_SHARES)
        least = min(max(least, TRAINING_PACES * self.clock.pace), most)
        seconds = 0.0
        tuned = [level for level in self.found if level.tuned]
        for level in sorted(tuned, key=lambda level: level.rows)[-1:]:
            able = [
                group
                for group in self.groups
                if self._is_done(group, level) and any(one.storable for one in group)
            ]
            best = min(able, key=lambda group: self._best_nll(group, level), default=None)
            # The first one alone is not likely to be trained, and took time to begin.
            if best is not None and len(able) >= min(2, len(self.groups)):
                seconds = TRAINING_CAUTION * self.expected(best, level, self.train_rows)
        self.clock.reserve = self._reserve + min(max(seconds, least), most)

    def _plan(self) -> Iterator[Call | None]:
        groups, place = self.groups, 0
        reached: list[tuple[Level, list[list[Candidate]]]] = []
        enough = min(2, len(self.groups))
        while groups:
            level, last = Level(self.sizes[place]), place + 1 == len(self.sizes)
            begun = self.clock.left()
            for group in groups:
                if place == 0 and not last and self._is_long(level, begun):
                    break
                if self._is_begun(group, level):
                    continue
                best = BEST_SHARE if group is groups[0] else FIRST_SHARE
                share = best if place else FIRST_SHARE if last else PART_SHARE
                call = self._call(group, level, 0, share)
                if not self._is_hopeless(call):
                    yield call
            if last:
                reached.append((level, groups))
                break
            while any(task.level == level for task in self._running.values()):
                yield None
            done = [group for group in groups if self._is_done(group, level)]
            if len(done) >= enough or not reached:
                reached.append((level, done))
            place, groups = self._promoted(done, place)
        yield from self._again()
        yield from self._more_splits(reached)

    def _again(self) -> Iterator[Call | None]:
        """Try methods once more that were not finished on the smallest part, if there is time.

        The others may have needed less than was kept for them.
        """
        level = Level(self.sizes[0])
        late = [group for group in self.groups if (level, _key_of(group)) in self._too_slow]
        for group in late:
            left, had = self.clock.left(), self._late_after.get(_key_of(group))
            if left is not None and had is not None and AGAIN_SHARE * left > MUCH_MORE * had:
                self._too_slow.discard((level, _key_of(group)))
                yield self._call(group, level, 0, AGAIN_SHARE)
        # Half of the time may be left when all methods that were named took too long.
        while self._running and not self._has_answer():
            yield None
        if not self._has_answer():
            # Not those that failed for another reason, which more time would not mend.
            able = [
                group[:1]
                for group in late
                if group[0].quick is not None and _key_of(group) in self._late_after
            ]
            for one in able[: self.n_workers]:
                call = self._call(one, Level(self.sizes[0], False), 0, ALL_BUT_LITTLE)
                if not self._is_hopeless(call):
                    yield call

    def _has_answer(self) -> bool:
        return any(runs for found in self.found.values() for runs in found.values())

    def _more_splits(
        self, reached: list[tuple[Level, list[list[Candidate]]]]
    ) -> Iterator[Call | None]:
        """Judge on more splits, on the largest size on which two methods were."""
        level, groups = reached[-1]
        for split in range(1, self.n_splits):
            # The slow ones first, so that no worker waits for them at the end.
            for group in sorted(groups, key=lambda group: -self._cost(group, level)):
                if len(reached) > 1 and split == 1 and self._came_too_late(groups, level):
                    yield from self._more_splits(reached[:-1])
                    return
                self._drop_slow(groups, level)
                left, cost = self.clock.left(), self._cost(group, level)
                in_time = left is None or cost < LATE * left
                if in_time and (level, _key_of(group)) not in self._too_slow:
                    yield self._call(group, level, split, 1.0)

    def _is_begun(self, group: Sequence[Candidate], level: Level) -> bool:
        """Whether the quick fits have judged a group on the first split, or do so now."""
        names = tuple(one.name for one in group)
        running = any(
            (task.names, task.level, task.split) == (names, level, 0)
            for task in self._running.values()
        )
        late = (level, _key_of(group)) in self._too_slow
        return running or late or self._is_done(group, level)

    def _is_hopeless(self, call: Call) -> bool:
        """Whether a first fit would be ended before it has done anything; if so, it is late."""
        now = perf_counter()
        if call.until is None or call.until >= now + HOPELESS * self.clock.pace:
            return False
        self.on_answer(call, too_late(max(0.0, call.until - now)))
        return True

    def _is_long(self, level: Level, begun: float | None) -> bool:
        """Whether the smallest part has taken its share of the time, and is worth something."""
        done = sum(self._is_done(group, level) for group in self.groups)
        left = self.clock.left()
        if begun is None or left is None or done < min(2, len(self.groups)):
            return False
        return left < (1.0 - ALL_PARTS_SHARE) * begun

    def _came_too_late(self, groups: list[list[Candidate]], level: Level) -> bool:
        """Whether fewer than two methods have finished, and no other will."""
        waiting = any(task.level == level for task in self._running.values())
        done = sum(self._is_done(group, level) for group in groups)
        return not waiting and done < min(2, len(self.groups))

    def _call(self, group: Sequence[Candidate], level: Level, split: int, share: float) -> Call:
        names = tuple(one.name for one in group)
        return Call(Task(names, level, split), self.clock.until(share), self.clock.until())

    def _is_done(self, group: Sequence[Candidate], level: Level) -> bool:
        return all(self.found[level].get(one.name) for one in group)

    def _cost(self, group: Sequence[Candidate], level: Level) -> float:
        """Return the seconds of a group, at least those that it has been running for."""
        key = (level, _key_of(group))
        if self._seconds[key]:
            return float(np.median(self._seconds[key]))
        return self.clock.spent - self._since[key] if key in self._since else 0.0

    def _drop_slow(self, groups: list[list[Candidate]], level: Level) -> None:
        """Skip the slowest groups until the others have time for the fewest splits."""
        left = self.clock.left()
        if left is None:
            return
        alive = [group for group in groups if (level, _key_of(group)) not in self._too_slow]
        need = {}
        for group in alive:
            done = min((len(self.found[level][one.name]) for one in group), default=0)
            missing = max(0, min(self.n_splits, FEWEST_SPLITS) - done)
            need[_key_of(group)] = (missing * self._cost(group, level), group)
        while len(need) > 2 and sum(cost for cost, _ in need.values()) > left * self.n_workers:
            slowest = max(need, key=lambda key: need[key][0])
            _, group = need.pop(slowest)
            self._too_slow.add((level, slowest))
            took = duration(self._cost(group, level))
            for one in group:
                self.failures.setdefault(
                    one.name, f"one split took {took}, too long for the time limit"
                )

    def _promoted(
        self, done: list[list[Candidate]], place: int
    ) -> tuple[int, list[list[Candidate]]]:
        """Return the next size, and the groups that go on to it, the best first.

        All of them go on to all rows if there is time. Otherwise the best few do, to the largest
        size for which at least two of them have time; or else the best of those that have time,
        which with many more rows may well be better than the best of all are now; or else the best
        one alone.
        """
        level, left = Level(self.sizes[place]), self.clock.left()
        ranked = sorted(done, key=lambda group: self._best_nll(group, level))
        if left is None:
            return place + 1, ranked
        best_alone: tuple[int, list[list[Candidate]]] | None = None
        fast: tuple[int, list[list[Candidate]]] | None = None
        for larger in range(len(self.sizes) - 1, place, -1):
            expected = [self.expected(group, level, self.sizes[larger]) for group in ranked]
            splits = self.n_splits if larger + 1 == len(self.sizes) else 1
            if sum(expected) * splits < 0.5 * left * self.n_workers:
                return larger, ranked
            able = [
                rank
                for rank in range(len(ranked))
                if expected[rank] < (FIRST_SHARE if rank else BEST_SHARE) * left
            ]
            if sum(rank < BEST_FEW for rank in able) >= 2:
                return larger, [ranked[rank] for rank in able[:BEST_FEW]]
            if fast is None and len(able) >= 2 and able[0] < BEST_FEW:
                fast = larger, [ranked[rank] for rank in able[:BEST_FEW]]
            if best_alone is None and able[:1] == [0]:
                best_alone = larger, ranked[:1]
        return fast or best_alone or (place + 1, [])

    def expected(self, group: Sequence[Candidate], level: Level, rows: int) -> float:
        """Return how long a group will take with more rows, by what it took at a level."""
        cost, first = self._cost(group, level), group[0]
        if first.whole:
            least, most = (first.expected_seconds(n, self.n_features) for n in (level.rows, rows))
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

    def _best_nll(self, group: Sequence[Candidate], level: Level) -> float:
        return min(self._quality(self.found[level][one.name]) for one in group)

    def _quality(self, runs: dict[int, HeldOut]) -> float:
        """Return the mean NLL of a method on its splits; without probabilities, infinity."""
        values = [held.figures(self.y[held.rows])["nll"] for held in runs.values()]
        mean = float(np.mean(values))
        return mean if np.isfinite(mean) else np.inf


def _key(names: Sequence[str]) -> str:
    return names[0]


def _key_of(group: Sequence[Candidate]) -> str:
    return group[0].name


def common_splits(runs: dict[str, dict[int, HeldOut]]) -> tuple[list[str], list[int]]:
    """Return the methods that were judged on enough splits, and the splits of all of them.

    Parameters
    ----------
    runs : dict
        What each method predicted, by the number of the split.

    Returns
    -------
    names : list of str
    splits : list of int
    """
    counts = sorted((len(splits) for splits in runs.values()), reverse=True)
    most = counts[0] if counts else 0
    # A ranking needs two methods, if necessary on fewer splits.
    enough = min(FEWEST_SPLITS, counts[min(1, len(counts) - 1)]) if counts else 0
    names = [name for name, splits in runs.items() if splits and len(splits) >= enough]
    shared = set.intersection(*(set(runs[name]) for name in names)) if names else set()
    if not shared:  # each on other splits: those of the method with the most
        names = [name for name in names if len(runs[name]) == most][:1]
        shared = set(runs[names[0]]) if names else set()
    return names, sorted(shared)
