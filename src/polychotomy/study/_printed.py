"""The numbers that a paper prints, for comparison with those of a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.checks import listed, one_of
from ..core.types import FloatArray
from ..statistics import Printed
from ._toml import Entry

FIGURES = ("error", "accuracy", "nll", "p_error", "p_nll")
UNITS = ("percent", "plain")
PARTS = ("mean", "deviation")

Numbers = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Doubt:
    """Printed numbers of one column that cannot be right, or may have been misread.

    Parameters
    ----------
    rows : tuple of str
        The rows concerned.
    column : str
        The column.
    part : {"mean", "deviation"}
        Which of the two numbers is doubtful.
    reason : str
        Why.
    corrected : tuple of float
        The correct numbers, one for each row; empty if not known.

    Examples
    --------
    >>> from polychotomy.study.definition import printed_tables
    >>> doubt = printed_tables("duan2003")[1].doubts[0]
    >>> doubt.column, doubt.part, doubt.corrected[0], doubt.reason
    ('SMC1v1', 'deviation', 0.61, 'Printed as fractions, all other deviations as percentages.')
    """

    rows: tuple[str, ...]
    column: str
    part: str
    reason: str
    corrected: tuple[float, ...] = ()


@dataclass(frozen=True)
class PrintedTable:
    """A table of a paper, as it is printed.

    Parameters
    ----------
    id : str
        Where it is in the paper, for example ``"Table 2"``.
    title : str
        What it shows.
    figure : {"error", "accuracy", "nll", "p_error", "p_nll"}
        The kind of its numbers. "p_error" and "p_nll" are p-values of one-sided paired t-tests on
        test errors and NLL, small where the method `first` is better than the column's.
    unit : {"percent", "plain"}
        Whether errors and accuracies are in percent.
    rows : tuple of str
        Data sets, by their labels in the study.
    columns : tuple of str
        Methods, by their names in the study.
    mean : tuple of tuple of float
        The numbers, a tuple for each row.
    deviation : tuple of tuple of float
        Their deviations over the partitions; empty where none are printed.
    decimals : int or None
        How many decimals are printed; None for p-values.
    first : str or None
        The method that p-values compare with those of the columns.
    paper_rows, paper_columns : tuple of str
        The labels that the paper uses; by default those of the study.
    doubts : tuple of Doubt
        The numbers that are doubtful.
    notes : tuple of str
        Notes for the reader.

    Examples
    --------
    >>> from polychotomy.study.definition import printed_tables
    >>> table = printed_tables("duan2003")[1]
    >>> table.id, table.rows[0], table.columns[0]
    ('Table 3', 'abe', 'SMC1v1')
    >>> table.values()[0, :3], table.deviations()[0, :3]
    (array([1.2 , 0.99, 1.01]), array([0.0061, 0.4   , 0.41  ]))
    >>> table.deviations(corrected=True)[0, :3]
    array([0.61, 0.4 , 0.41])
    >>> table.doubtful("deviation")[0, :3]
    array([ True, False, False])
    >>> table.printed("abe", "SMC1v1", n_runs=20)
    Printed(mean=1.2, deviation=0.61, n_runs=20, mean_unit=0.01, deviation_unit=0.01)
    """

    id: str
    title: str
    figure: str
    unit: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    mean: Numbers
    deviation: Numbers
    decimals: int | None
    first: str | None
    paper_rows: tuple[str, ...]
    paper_columns: tuple[str, ...]
    doubts: tuple[Doubt, ...]
    notes: tuple[str, ...]

    def values(self, corrected: bool = False) -> FloatArray:
        """Return the numbers as printed, or with known corrections."""
        return self._numbers("mean", corrected)

    def deviations(self, corrected: bool = False) -> FloatArray:
        """Return the deviations, NaN where none are printed."""
        return self._numbers("deviation", corrected)

    def doubtful(self, part: str = "mean") -> NDArray[np.bool_]:
        """Return which numbers, or which deviations, are doubtful."""
        one_of(part, "part", PARTS)
        marked = np.zeros((len(self.rows), len(self.columns)), dtype=bool)
        for doubt in self.doubts:
            if doubt.part == part:
                for row in doubt.rows:
                    marked[self._place(row, doubt.column)] = True
        return marked

    def printed(self, row: str, column: str, n_runs: int) -> Printed:
        """Return a mean and deviation to compare ours with, corrected if possible."""
        one_of(row, "row", self.rows)
        one_of(column, "column", self.columns)
        place = self._place(row, column)
        mean, deviation = self.values(corrected=True), self.deviations(corrected=True)
        unit = 0.0 if self.decimals is None else float(f"1e-{self.decimals}")
        return Printed(float(mean[place]), float(deviation[place]), n_runs, unit, unit)

    def _numbers(self, part: str, corrected: bool) -> FloatArray:
        printed: Numbers = getattr(self, part)
        if not printed:
            return np.full((len(self.rows), len(self.columns)), np.nan)
        numbers = np.array(printed)
        for doubt in self.doubts if corrected else ():
            if doubt.part == part and doubt.corrected:
                for row, value in zip(doubt.rows, doubt.corrected, strict=True):
                    numbers[self._place(row, doubt.column)] = value
        return numbers

    def _place(self, row: str, column: str) -> tuple[int, int]:
        return self.rows.index(row), self.columns.index(column)


@dataclass(frozen=True)
class PrintedTimes:
    """Times that a paper prints, in seconds for one binary machine.

    Parameters
    ----------
    id, title : str
        Where they are in the paper, and what they are.
    dataset : str
        The data set, by its label in the study.
    methods : tuple of str
        A method of every machine, by its name in the study.
    machines : int
        The number of binary machines of each.
    parts : dict of str to tuple of float
        For every step of the work, the seconds of each machine.
    notes : tuple of str
        Notes for the reader.

    Examples
    --------
    >>> from polychotomy.study.definition import printed_times
    >>> printed_times("vangestel2002")[0].totals()
    (48097.0, 7760.0)
    """

    id: str
    title: str
    dataset: str
    methods: tuple[str, ...]
    machines: int
    parts: dict[str, tuple[float, ...]]
    notes: tuple[str, ...]

    def totals(self) -> tuple[float, ...]:
        """Return the seconds of all steps together, for each machine."""
        return tuple(sum(each) for each in zip(*self.parts.values(), strict=True))


def read_times(entry: Entry, labels: Sequence[str], methods: Sequence[str]) -> PrintedTimes:
    """Read printed times and check them against the data sets and methods of their study."""
    columns = _known(entry, "methods", methods, "a method")
    parts = entry.entry("parts")
    steps = entry.table("parts")
    times = PrintedTimes(
        id=entry.text("id"),
        title=entry.text("title"),
        dataset=entry.choice("dataset", labels),
        methods=columns,
        machines=entry.whole("machines", 1),
        parts={step: parts.numbers(step, len(columns)) for step in steps},
        notes=entry.texts("notes", ()),
    )
    parts.finish()
    entry.finish()
    return times


def read_table(entry: Entry, labels: Sequence[str], methods: Sequence[str]) -> PrintedTable:
    """Read a table and check it against the data sets and methods of its study."""
    rows = _known(entry, "rows", labels, "a data set")
    columns = _known(entry, "columns", methods, "a method")
    size = len(rows), len(columns)
    table = PrintedTable(
        id=entry.text("id"),
        title=entry.text("title"),
        figure=entry.choice("figure", FIGURES),
        unit=entry.choice("unit", UNITS),
        rows=rows,
        columns=columns,
        mean=entry.matrix("mean", *size),
        deviation=entry.matrix("deviation", *size) if "deviation" in entry else (),
        decimals=entry.whole("decimals", 0) if "decimals" in entry else None,
        first=entry.choice("first", methods) if "first" in entry else None,
        paper_rows=_names(entry, "paper_rows", rows),
        paper_columns=_names(entry, "paper_columns", columns),
        doubts=tuple(_read_doubt(d, rows, columns) for d in entry.entries("doubtful", ())),
        notes=entry.texts("notes", ()),
    )
    entry.finish()
    if (table.first is not None) != table.figure.startswith("p_"):
        raise entry.wrong("first", "must be given with p-values, and only with them.")
    return table


def _read_doubt(entry: Entry, rows: Sequence[str], columns: Sequence[str]) -> Doubt:
    concerned = _known(entry, "rows", rows, "a row of the table")
    doubt = Doubt(
        rows=concerned,
        column=entry.choice("column", columns),
        part=entry.choice("part", PARTS),
        reason=entry.text("reason"),
        corrected=entry.numbers("corrected", len(concerned)) if "corrected" in entry else (),
    )
    entry.finish()
    return doubt


def _known(entry: Entry, key: str, known: Sequence[str], what: str) -> tuple[str, ...]:
    """Read names, each of which must be known and appear once."""
    names = entry.texts(key)
    for name in names:
        if name not in known:
            raise entry.wrong(key, f"has {name!r}, which is not {what}. Choose {listed(known)}.")
        if names.count(name) > 1:
            raise entry.wrong(key, f"has {name!r} twice; remove one.")
    return names


def _names(entry: Entry, key: str, ours: tuple[str, ...]) -> tuple[str, ...]:
    names = entry.texts(key, ours)
    if len(names) != len(ours):
        raise entry.wrong(key, f"must be {len(ours)} names; it has {len(names)}.")
    return names
