"""Fits without tuning, for some answer: before all other work, or when the time is over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter

from ..execution.calls import Call
from ..execution.deadline import Clock
from ._candidates import Candidate
from ._judging import Level
from ._plan import call_of
from ._record import Group

# So many methods are tried without tuning, each for at most this share of the time left.
QUICK, QUICK_SHARE = 4, 0.15
# Those that need no tuning may take this share.
WHOLE_SHARE = 0.3
# What the first two of them get in any case, in multiples of the clock's pace; only one does, if
# no time is left when they begin.
MOMENT, MOMENTS = 0.4, 2
# A last fit, when the time is over and there is no answer, may take this multiple of the pace.
LAST = 0.3


def quick_calls(groups: Sequence[Group], rows: int, clock: Clock) -> Iterator[Call]:
    """Yield fits that are not tuned, on few rows: some answer, before any other work."""
    able, left = _able(groups), clock.left()
    moment = MOMENT * clock.pace
    if left is not None and left <= 0:
        # They are slower than others that are not tuned.
        able.sort(key=lambda one: one.whole)
    for place, candidate in enumerate(able[:QUICK]):
        # A method that needs no tuning is judged for good.
        whole = candidate.quick is candidate.make
        level, share = Level(rows, whole), WHOLE_SHARE if whole else QUICK_SHARE
        call = call_of([candidate], level, 0, clock, share)
        if call.until is not None and call.until < perf_counter() + moment:
            if place >= (MOMENTS if left is not None and left > 0 else 1):
                return
            # One gets a moment even if reading took all the time: some answer must be.
            call = replace(call, until=perf_counter() + moment)
        yield call


def last_call(groups: Sequence[Group], rows: int, clock: Clock) -> Call | None:
    """Return a fit for this process, at the end of a limited time; None if no method can do it.

    On a computer so busy that not even a process begins in time, a logistic regression of few rows
    takes a small part of what importing took.
    """
    able = _able(groups)
    # Machines for pairs, and with landmarks, take long where there are many classes.
    able.sort(key=lambda one: one.pipe is not None or one.whole)
    if not able:
        return None
    call = call_of(able[:1], Level(rows, False), 0, clock, 1.0)
    return replace(call, until=perf_counter() + LAST * clock.pace)


def _able(groups: Sequence[Group]) -> list[Candidate]:
    return [one for group in groups for one in group[:1] if one.quick is not None]
