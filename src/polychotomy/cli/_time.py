"""How long a command may take, from its very start."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..execution.deadline import Clock

# When this module is imported, if the system does not say when the process began.
_IMPORTED = time.perf_counter()
# What is kept of the limit for the ranking and the page: a share, and at most so many seconds.
RESERVED_SHARE, RESERVED_MOST = 0.15, 6.0
WITHOUT_PAGE = 0.3


def command_clock(limit: float | None, page: bool = False) -> Clock:
    """Return a clock that began with the process, imports included.

    Parameters
    ----------
    limit : float or None
        The time limit in seconds.
    page : bool, default=False
        Whether a page is written at the end, for which some time is kept.

    Returns
    -------
    clock : Clock
    """
    from ..execution.deadline import Clock

    reserve = 0.0
    if limit is not None:
        reserve = min(RESERVED_SHARE * limit, RESERVED_MOST) * (1.0 if page else WITHOUT_PAGE)
    return Clock(limit, start=process_start(), reserve=reserve)


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
    # A long-running process, such as a notebook, calls the command later.
    since_import = time.perf_counter() - _IMPORTED
    return time.perf_counter() - (age if age < since_import + 30.0 else since_import)
