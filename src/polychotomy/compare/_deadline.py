"""Stopping work when its time is up."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from time import perf_counter
from typing import Any


class OutOfTime(BaseException):
    """The time is up; no ordinary exception, which searches would take for a failed cell."""


@contextlib.contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Raise `OutOfTime` in the block after some seconds.

    Parameters
    ----------
    seconds : float or None
        How long the block may take; None for as long as it wants.

    Notes
    -----
    Native code of this library hears it within a second, as it hears Ctrl-C. Outside the main
    thread, and on systems without timers, the block is not stopped, only not started too late.
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
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    try:
        # It is repeated, in case the first one comes where exceptions get lost.
        signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


class Clock:
    """How much of the time is left.

    Parameters
    ----------
    limit : float or None
        The seconds; None for no limit.
    """

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self._start = perf_counter()

    @property
    def spent(self) -> float:
        """The seconds since the start."""
        return perf_counter() - self._start

    def left(self, share: float = 1.0) -> float | None:
        """Return the seconds that are left of a share of the limit."""
        return None if self.limit is None else share * self.limit - self.spent
