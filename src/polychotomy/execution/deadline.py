"""Stopping work when its time is up.

Design note: a signal reaches native code, which a flag checked between cells would not: one cell
can take longer than the whole limit. Running each method in a process that can be killed would
work everywhere, but copies the data and loses what methods share.
"""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
from collections.abc import Iterator
from time import perf_counter
from typing import Any

_MOMENT = 0.01


# The seconds that importing the library takes on a computer of today that does nothing else.
PACE = 1.5


class OutOfTime(BaseException):
    """The time is up. Not an `Exception`, which a search would take for a failed cell."""


@contextlib.contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Raise `OutOfTime` in the block when its time is up.

    Parameters
    ----------
    seconds : float or None
        The limit; None for no limit.

    Notes
    -----
    Native code of this library stops within a second, as it does after Ctrl-C. Outside the main
    thread, and on systems without timers, a block is not interrupted; it is only not started once
    the time is up.
    """
    if seconds is None:
        yield
        return
    if seconds <= 0:
        raise OutOfTime
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: Any) -> None:
        if _collecting_garbage(frame):
            signal.setitimer(signal.ITIMER_REAL, _MOMENT, 1.0)
        else:
            raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    try:
        # Repeated, in case the first signal arrives where exceptions are swallowed.
        signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _collecting_garbage(frame: Any) -> bool:
    """Whether a frame is within a callback of the collector, where exceptions are swallowed.

    Dask has one. A signal that arrives during a collection is handled there.
    """
    codes = [getattr(callback, "__code__", None) for callback in gc.callbacks]
    while frame is not None:
        if frame.f_code in codes:
            return True
        frame = frame.f_back
    return False


class Clock:
    """Measures how much time is left.

    Parameters
    ----------
    limit : float or None
        The limit in seconds; None for no limit.
    start : float or None, default=None
        When it began, by `time.perf_counter`; now by default.
    reserve : float, default=0.0
        The seconds of the limit that are kept for what comes afterwards.
    pace : float, default=PACE
        The seconds that importing the library takes at present. They tell how fast the computer
        is, and how busy: to start other processes takes about as long.
    """

    def __init__(
        self,
        limit: float | None,
        start: float | None = None,
        reserve: float = 0.0,
        pace: float = PACE,
    ) -> None:
        self.limit = limit
        self.reserve = reserve
        self.pace = pace
        self.start = perf_counter() if start is None else start

    def keeping(self, share: float) -> Clock:
        """Return a clock that also keeps a share of the limit in reserve."""
        more = 0.0 if self.limit is None else share * self.limit
        return Clock(self.limit, self.start, self.reserve + more, self.pace)

    @property
    def spent(self) -> float:
        """The seconds since the start."""
        return perf_counter() - self.start

    def left(self) -> float | None:
        """Return the seconds that are left, without the reserve; None for no limit."""
        return None if self.limit is None else self.limit - self.reserve - self.spent

    def until(self, share: float = 1.0) -> float | None:
        """Return when a share of the time left is over, by `time.perf_counter`; None for never."""
        left = self.left()
        return None if left is None else perf_counter() + share * max(left, 0.0)
