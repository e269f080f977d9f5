"""What a comparison judges next: all methods on few rows, the best on more, then more splits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

from ..core.words import counted, duration
from ..execution.calls import Call, too_late
from ..execution.deadline import Clock
from ._judging import Level, Task
from ._record import Group, Record

# Fewer splits than this say too little. Methods too slow for them are skipped.
FEWEST_SPLITS = 3
# How many methods go on to more rows if there is no time for all.
BEST_FEW = 4
# A first fit may take this share of the time left, so that others get their turn; on the smallest
# part of a large table less, and all together not much more than the last, so that there is time
# for more rows.
FIRST_SHARE, PART_SHARE, ALL_PARTS_SHARE = 0.4, 0.15, 0.4
# A first fit is not begun for less than this multiple of the clock's pace, nor a further one that
# takes so many times what is left.
HOPELESS, LATE = 0.1, 1.3
# The best method so far may take more.
BEST_SHARE = 0.7
# Where no method has an answer, some are tried without tuning for this share of the time left.
ALL_BUT_LITTLE = 0.9
# A method that was stopped may try again with this share of the time left, if that is so many times
# what it had.
AGAIN_SHARE, MUCH_MORE = 0.6, 1.5


def call_of(group: Group, level: Level, split: int, clock: Clock, share: float) -> Call:
    """Return the task of a group, which may take a share of the time left."""
    names = tuple(one.name for one in group)
    return Call(Task(names, level, split), clock.until(share), clock.until())


@dataclass
class Plan:
    """The order of the tasks, as the time and what is done allow.

    Attributes
    ----------
    groups, sizes, n_splits, clock, n_workers
        As in `Schedule`.
    record : Record
        What is done.
    """

    groups: Sequence[Group]
    sizes: Sequence[int]
    n_splits: int
    clock: Clock
    n_workers: int
    record: Record

    def calls(self) -> Iterator[Call | None]:
        """Yield what to judge next; None if that depends on what still runs."""
        groups, place = self.groups, 0
        reached: list[tuple[Level, Sequence[Group]]] = []
        enough = min(2, len(self.groups))
        while groups:
            level, last = Level(self.sizes[place]), place + 1 == len(self.sizes)
            begun = self.clock.left()
            for group in groups:
                if place == 0 and not last and self._is_long(level, begun):
                    break
                if self.record.is_begun(group, level):
                    continue
                best = BEST_SHARE if group is groups[0] else FIRST_SHARE
                share = best if place else FIRST_SHARE if last else PART_SHARE
                call = self._call(group, level, 0, share)
                if not self._is_hopeless(call):
                    yield call
            if last:
                reached.append((level, groups))
                break
            while self.record.runs_at(level):
                yield None
            done = [group for group in groups if self.record.is_done(group, level)]
            if len(done) >= enough or not reached:
                reached.append((level, done))
            place, groups = self._promoted(done, place)
        yield from self._again()
        yield from self._more_splits(reached)

    def _call(self, group: Group, level: Level, split: int, share: float) -> Call:
        return call_of(group, level, split, self.clock, share)

    def _again(self) -> Iterator[Call | None]:
        """Try methods once more that were not finished on the smallest part, if there is time.

        The others may have needed less than was kept for them.
        """
        level = Level(self.sizes[0])
        late = [group for group in self.groups if self.record.is_given_up(group, level)]
        for group in late:
            left, had = self.clock.left(), self.record.late_after(group)
            if left is not None and had is not None and AGAIN_SHARE * left > MUCH_MORE * had:
                self.record.give_again(group, level)
                yield self._call(group, level, 0, AGAIN_SHARE)
        # Half of the time may be left when all methods that were named took too long.
        while self.record.running and not self.record.has_answer():
            yield None
        if not self.record.has_answer():
            yield from self._untuned(late)

    def _untuned(self, late: Sequence[Group]) -> Iterator[Call]:
        """Try methods without tuning that were not finished with it."""
        # Not those that failed for another reason, which more time would not mend.
        able = [
            group[:1]
            for group in late
            if group[0].quick is not None and self.record.late_after(group) is not None
        ]
        for one in able[: self.n_workers]:
            call = self._call(one, Level(self.sizes[0], False), 0, ALL_BUT_LITTLE)
            if not self._is_hopeless(call):
                yield call

    def _more_splits(
        self, reached: Sequence[tuple[Level, Sequence[Group]]]
    ) -> Iterator[Call | None]:
        """Judge on more splits, on the largest size on which two methods were."""
        level, groups = reached[-1]
        for split in range(1, self.n_splits):
            # The slow ones first, so that no worker waits for them at the end.
            for group in sorted(groups, key=lambda group: -self.record.cost(group, level)):
                if len(reached) > 1 and split == 1 and self._came_too_late(*reached[-2:]):
                    yield from self._more_splits(reached[:-1])
                    return
                self._drop_slow(groups, level)
                left, cost = self.clock.left(), self.record.cost(group, level)
                in_time = left is None or cost < LATE * left
                if in_time and not self.record.is_given_up(group, level):
                    yield self._call(group, level, split, 1.0)

    def _is_hopeless(self, call: Call) -> bool:
        """Whether a first fit would be ended before it has done anything; if so, it is late."""
        now = perf_counter()
        if call.until is None or call.until >= now + HOPELESS * self.clock.pace:
            return False
        self.record.keep(call, too_late(max(0.0, call.until - now)))
        return True

    def _is_long(self, level: Level, begun: float | None) -> bool:
        """Whether the smallest part has taken its share of the time, and is worth something."""
        done = sum(self.record.is_done(group, level) for group in self.groups)
        left = self.clock.left()
        if begun is None or left is None or done < min(2, len(self.groups)):
            return False
        return left < (1.0 - ALL_PARTS_SHARE) * begun

    def _came_too_late(
        self, before: tuple[Level, Sequence[Group]], last: tuple[Level, Sequence[Group]]
    ) -> bool:
        """Whether fewer than two methods have finished, no other will, and more had before."""
        level, groups = last
        done = sum(self.record.is_done(group, level) for group in groups)
        return not self.record.runs_at(level) and done < min(2, len(before[1]))

    def _drop_slow(self, groups: Sequence[Group], level: Level) -> None:
        """Skip the slowest groups until the others have time for the fewest splits."""
        left = self.clock.left()
        if left is None:
            return
        need = {}
        for group in groups:
            if not self.record.is_given_up(group, level):
                done = self.record.n_splits(group, level)
                missing = max(0, min(self.n_splits, FEWEST_SPLITS) - done)
                need[group[0].name] = (missing * self.record.cost(group, level), group)
        while len(need) > 2 and sum(cost for cost, _ in need.values()) > left * self.n_workers:
            _, group = need.pop(max(need, key=lambda name: need[name][0]))
            took = duration(self.record.cost(group, level))
            fewest = counted(min(self.n_splits, FEWEST_SPLITS), "split")
            why = f"one split takes {took}, and {fewest} of all methods do not fit into the time"
            self.record.give_up(group, level, why)

    def _promoted(self, done: Sequence[Group], place: int) -> tuple[int, Sequence[Group]]:
        """Return the next size, and the groups that go on to it, the best first.

        All of them go on to all rows if there is time. Otherwise the best few do, to the largest
        size for which at least two of them have time; or else the best of those that have time,
        which with many more rows may well be better than the best of all are now; or else the best
        one alone.
        """
        level, left = Level(self.sizes[place]), self.clock.left()
        ranked = sorted(done, key=lambda group: self.record.nll_of(group, level))
        if left is None:
            return place + 1, ranked
        best_alone: tuple[int, Sequence[Group]] | None = None
        fast: tuple[int, Sequence[Group]] | None = None
        for larger in range(len(self.sizes) - 1, place, -1):
            expected = [self.record.expected(group, level, self.sizes[larger]) for group in ranked]
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
