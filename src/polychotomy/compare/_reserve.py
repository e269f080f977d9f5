"""The time that a comparison keeps for training the best method on all rows afterwards."""

from __future__ import annotations

from collections.abc import Sequence

from ..execution.deadline import Clock
from ._record import Group, Record

# What is kept: at least and at most these shares of the limit, and so many times what it is
# expected to take.
TRAINING_SHARES, TRAINING_CAUTION = (0.1, 0.4), 1.5
# And at least this multiple of the clock's pace.
TRAINING_PACES = 0.5


def training_time(record: Record, groups: Sequence[Group], clock: Clock, rows: int) -> float:
    """Return the seconds to keep for training the best method so far on so many rows."""
    if clock.limit is None:
        return 0.0
    least, most = (share * clock.limit for share in TRAINING_SHARES)
    least = min(max(least, TRAINING_PACES * clock.pace), most)
    return min(max(_expected(record, groups, rows), least), most)


def _expected(record: Record, groups: Sequence[Group], rows: int) -> float:
    """Return how long the best method may take, with caution; 0 if too little is known."""
    tuned = [level for level in record.found if level.tuned]
    for level in sorted(tuned, key=lambda level: level.rows, reverse=True):
        able = [
            group
            for group in groups
            if record.is_done(group, level) and any(one.storable for one in group)
        ]
        # The first one alone is not likely to be trained, and took time to begin.
        if able and len(able) >= min(2, len(groups)):
            best = min(able, key=lambda group: record.nll_of(group, level))
            return TRAINING_CAUTION * record.expected(best, level, rows)
    return 0.0
