"""The memory that kernels may use."""

from __future__ import annotations

import os
from typing import Any

from ..core.checks import positive_number


def settle_memory_limit(memory_limit: Any) -> float:
    """Return a memory limit in bytes; by default half of the free memory."""
    if memory_limit is None:
        return 0.5 * free_memory()
    return positive_number(memory_limit, "memory_limit")


def free_memory() -> int:
    """Return the free memory of the computer in bytes.

    On Linux this includes files that the system keeps in memory, and drops when it is needed.
    """
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    try:
        return int(os.sysconf("SC_AVPHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        # Unknown on this system: a cautious guess.
        return 4 << 30
