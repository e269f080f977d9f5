"""How long a command may take, from its very start."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..execution.deadline import Clock

# When this module is imported, if the system does not say when the process began.
_IMPORTED = time.perf_counter()
# What the end of a command takes, in multiples of what its beginning took, which is importing: so
# a slow or busy computer is allowed for: to write a page, to print a ranking, to write a model.
PAGE, RANKING, MODEL = 0.5, 0.12, 0.35
# What remains to be done for a page after its charts, of that.
AFTER_CHARTS = 0.2
# What is kept for it is at most this share of the time that is left.
MOST_SHARE = 0.5


def command_clock(limit: float | None, end: float = RANKING) -> Clock:
    """Return a clock that began with the process, imports included.

    Parameters
    ----------
    limit : float or None
        The time limit in seconds.
    end : float, default=RANKING
        What is kept for the end, in multiples of what the beginning took.

    Returns
    -------
    clock : Clock
    """
    from ..execution.deadline import PACE, Clock

    start = process_start()
    spent = time.perf_counter() - start
    # Commands that are called in a process that runs already have imported nothing.
    pace = max(spent, PACE)
    reserve = 0.0
    if limit is not None:
        reserve = min(end * pace, MOST_SHARE * max(limit - spent, 0.0))
    return Clock(limit, start, reserve, pace)


def charts_until(clock: Clock) -> float | None:
    """Return when the charts of a page have to be drawn, by `time.perf_counter`."""
    if clock.limit is None:
        return None
    return clock.start + clock.limit - AFTER_CHARTS * clock.pace


def process_start() -> float:
    """Return when this process began, by `time.perf_counter`."""
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        with open("/proc/uptime") as file:
            now = float(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return _IMPORTED
    age = now - ticks / os.sysconf("SC_CLK_TCK")
    # A long-running process, such as a notebook, calls the command later. On a very busy computer
    # importing takes half a minute, too.
    since_import = time.perf_counter() - _IMPORTED
    counts = _is_command() or age < since_import + 30.0
    return time.perf_counter() - (age if counts else since_import)


def _is_command() -> bool:
    """Whether this process was started as the command."""
    path = Path(sys.argv[0]) if sys.argv else Path()
    return path.stem == "polychotomy" or path.parts[-2:] == ("polychotomy", "__main__.py")
