"""How the time of a study was spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..definition import PrintedTimes, printed_times, study_names
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


@dataclass(frozen=True)
class TimeComparison:
    """Printed times of a binary machine, and ours.

    Parameters
    ----------
    printed : PrintedTimes
        What the paper prints.
    ours : tuple of float
        Our seconds for a machine of each method: those of the unit of work, shared out.

    Examples
    --------
    >>> from polychotomy.study.definition import printed_times
    >>> from polychotomy.study.tables import TimeComparison
    >>> TimeComparison(printed_times("vangestel2002")[0], (4.0, 8.0)).ratios
    (12024.25, 970.0)
    """

    printed: PrintedTimes
    ours: tuple[float, ...]

    @property
    def ratios(self) -> tuple[float, ...]:
        """How many times as long the paper's machines took."""
        return tuple(
            theirs / ours for theirs, ours in zip(self.printed.totals(), self.ours, strict=True)
        )


def time_comparisons(results: StudyResults) -> tuple[TimeComparison, ...]:
    """Return the times that a paper prints together with ours, where all of them are known.

    Parameters
    ----------
    results : StudyResults
        The runs.

    Returns
    -------
    times : tuple of TimeComparison
    """
    if results.name not in study_names():
        return ()
    found = []
    for printed in printed_times(results.name):
        ours = tuple(
            _mean_of_unit(results, printed.dataset, method) / printed.machines
            for method in printed.methods
        )
        if all(seconds > 0.0 for seconds in ours):
            found.append(TimeComparison(printed, ours))
    return tuple(found)


def _mean_of_unit(results: StudyResults, dataset: str, method: str) -> float:
    """Return the mean time of the units in which a method was run; 0 if there are none."""
    seconds = [
        row["seconds_unit"]
        for row in results.rows
        if row["dataset"] == dataset and row["method"] == method and not row["failure"]
    ]
    return sum(seconds) / len(seconds) if seconds else 0.0


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
