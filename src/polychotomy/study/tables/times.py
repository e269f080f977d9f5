"""How the time of a study was spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..results import StudyResults


@dataclass(frozen=True)
class TimeRow:
    """How the time of some units was spent, in seconds of work.

    Parameters
    ----------
    name : str
        The data set or sweep of the units.
    n_units : int
        The number of units.
    shared : float
        Training the machines, which all methods of a sweep share.
    own : float
        What each method did for itself: calibration, decoding, scoring.
    other : float
        The rest: loading data, dividing and scaling them, and units that failed.

    Examples
    --------
    >>> from polychotomy.study.tables import TimeRow
    >>> TimeRow("iris", 2, 3.0, 1.0, 0.5).total
    4.5
    """

    name: str
    n_units: int
    shared: float
    own: float
    other: float

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return self.shared + self.own + self.other


def time_tables(results: StudyResults) -> tuple[tuple[TimeRow, ...], tuple[TimeRow, ...]]:
    """Return how the time was spent, by data set and by sweep.

    Parameters
    ----------
    results : StudyResults
        The runs.

    Returns
    -------
    by_dataset, by_sweep : tuple of TimeRow
        Seconds of work, added over all workers.
    """
    spent: dict[str, list[Mapping[str, Any]]] = {}
    for row in results.rows:
        spent.setdefault(row["unit"], []).append(row)
    units = [_unit_time(rows) for rows in spent.values()]
    sweeps = tuple(dict.fromkeys(row["sweep"] for row in results.rows))
    return (
        tuple(_sum(name, [u for u in units if u[0] == name]) for name in results.datasets),
        tuple(_sum(name, [u for u in units if u[1] == name]) for name in sweeps),
    )


def _unit_time(rows: Sequence[Mapping[str, Any]]) -> tuple[str, str, float, float, float]:
    shared = max(row["seconds_shared"] or 0.0 for row in rows)
    own = sum(row["seconds_own"] or 0.0 for row in rows)
    other = max(rows[0]["seconds_unit"] - shared - own, 0.0)
    return rows[0]["dataset"], rows[0]["sweep"], shared, own, other


def _sum(name: str, units: Sequence[tuple[str, str, float, float, float]]) -> TimeRow:
    shared, own, other = (sum(part) for part in zip(*(unit[2:] for unit in units), strict=True))
    return TimeRow(name, len(units), shared, own, other)
