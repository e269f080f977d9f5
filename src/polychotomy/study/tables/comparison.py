"""Tables of our numbers together with the printed ones, and tables of ours only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...statistics import Printed, PrintedDifference, Summary, compare_with_printed
from ..definition import PrintedTable, StudyDefinition, printed_tables, study_names
from ..results import StudyResults

FIGURE_WORDS = {
    "error": "test error",
    "accuracy": "test accuracy",
    "nll": "test negative log-likelihood",
}
# The number of decimals if there is no paper to follow.
DECIMALS = {"error": 2, "accuracy": 2, "nll": 4}


@dataclass(frozen=True)
class Cell:
    """A method on a data set: our runs, the printed numbers, and how far apart they are.

    Parameters
    ----------
    ours : Summary or None
        Our runs, in the unit of the table; None where there are none.
    printed : Printed
        The paper's, as it is printed.
    compared : Printed
        The same with known corrections, to which ours are compared.
    difference : PrintedDifference or None
        Ours minus `compared`.
    doubts : tuple of str
        Why the printed numbers are doubtful.

    Examples
    --------
    >>> from polychotomy.statistics import Printed, Summary
    >>> from polychotomy.study.tables import Cell
    >>> printed = Printed(7.66, 0.73, 20)
    >>> Cell(Summary(7.9, 0.8, 20), printed, printed, None, ()).standard_errors
    nan
    """

    ours: Summary | None
    printed: Printed
    compared: Printed
    difference: PrintedDifference | None
    doubts: tuple[str, ...]

    @property
    def standard_errors(self) -> float:
        """The difference in standard errors, NaN where there is none."""
        return math.nan if self.difference is None else self.difference.standard_errors


@dataclass(frozen=True)
class Counts:
    """How many cells are within two and three standard errors of the printed numbers.

    Parameters
    ----------
    cells : int
        The printed numbers.
    compared : int
        Those with runs of ours and with standard errors.
    within_two, within_three : int
        Those of them within so many standard errors.

    Examples
    --------
    >>> from polychotomy.study.tables import Counts
    >>> print(Counts(25, 20, 18, 20) + Counts(5, 0, 0, 0))
    18 of 20 within two standard errors of the printed number, 20 within three; 10 not compared
    """

    cells: int
    compared: int
    within_two: int
    within_three: int

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.cells + other.cells,
            self.compared + other.compared,
            self.within_two + other.within_two,
            self.within_three + other.within_three,
        )

    def __str__(self) -> str:
        rest = self.cells - self.compared
        return (
            f"{self.within_two} of {self.compared} within two standard errors of the printed "
            f"number, {self.within_three} within three{f'; {rest} not compared' if rest else ''}"
        )


@dataclass(frozen=True)
class ComparisonTable:
    """A table of a paper, together with ours.

    Parameters
    ----------
    id, title, figure, unit : str
        As in the `PrintedTable`.
    decimals : int
        The number of decimals to show.
    rows, columns : tuple of str
        Data sets and methods, as the study calls them.
    paper_rows, paper_columns : tuple of str
        The same, as the paper calls them.
    cells : tuple of tuple of Cell
        A tuple for each row.
    notes : tuple of str
        Notes for the reader.

    Examples
    --------
    >>> from polychotomy.study.results import StudyResults
    >>> from polychotomy.study.definition import load_study
    >>> from polychotomy.study.tables import comparison_tables
    >>> row = {"dataset": "abe", "method": "SMC1va", "nll": None, "failure": None,
    ...        "definition": {"methods": [{"name": "SMC1va"}]}}
    >>> runs = [{**row, "partition": i, "error": e} for i, e in enumerate([0.008, 0.010])]
    >>> results = StudyResults("duan2003", runs, load_study("duan2003"))
    >>> table = comparison_tables(results)[0]
    >>> table.id, str(table.cells[0][0].ours)
    ('Table 2', '0.90 +- 0.14 (2 runs)')
    >>> print(table.counts)
    1 of 1 within two standard errors of the printed number, 1 within three; 24 not compared
    """

    id: str
    title: str
    figure: str
    unit: str
    decimals: int
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    paper_rows: tuple[str, ...]
    paper_columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...]

    @property
    def counts(self) -> Counts:
        """How close our numbers are to the printed ones."""
        all_cells = [cell for row in self.cells for cell in row]
        far = [abs(cell.standard_errors) for cell in all_cells]
        known = [value for value in far if not math.isnan(value)]
        return Counts(
            len(all_cells), len(known), sum(v <= 2 for v in known), sum(v <= 3 for v in known)
        )

    @property
    def doubts(self) -> tuple[str, ...]:
        """The doubts about its printed numbers, each once."""
        found = (doubt for row in self.cells for cell in row for doubt in cell.doubts)
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class OwnTable:
    """A figure of all methods on all data sets, ours only.

    Parameters
    ----------
    title, figure, unit : str
        What it shows.
    decimals : int
        The number of decimals to show.
    methods, datasets : tuple of str
        Its rows and its columns.
    cells : tuple of tuple of (Summary or None)
        A tuple for each method.

    Examples
    --------
    >>> from polychotomy.statistics import Summary
    >>> from polychotomy.study.tables import OwnTable
    >>> cells = ((Summary(4.0, 1.0, 5),), (Summary(3.0, 1.0, 5),), (None,))
    >>> OwnTable("test error", "error", "percent", 2, ("a", "b", "c"), ("iris",), cells).best(0)
    3.0
    """

    title: str
    figure: str
    unit: str
    decimals: int
    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    cells: tuple[tuple[Summary | None, ...], ...]

    def best(self, column: int) -> float:
        """Return the best mean of a data set, NaN if there is none."""
        cells = [cell for row in self.cells if (cell := row[column]) is not None]
        known = [cell.mean for cell in cells if not math.isnan(cell.mean)]
        return (max if self.figure == "accuracy" else min)(known, default=math.nan)


def comparison_tables(
    results: StudyResults, printed: Sequence[PrintedTable] | None = None
) -> tuple[ComparisonTable, ...]:
    """Compare our results with the printed means and deviations.

    Parameters
    ----------
    results : StudyResults
        Ours.
    printed : sequence of PrintedTable, optional
        The paper's; those of a study that comes with the library by default.

    Returns
    -------
    tables : tuple of ComparisonTable
    """
    return tuple(
        ComparisonTable(
            id=table.id,
            title=table.title,
            figure=table.figure,
            unit=table.unit,
            decimals=DECIMALS[table.figure] if table.decimals is None else table.decimals,
            rows=table.rows,
            columns=table.columns,
            paper_rows=table.paper_rows,
            paper_columns=table.paper_columns,
            cells=tuple(
                tuple(_cell(results, table, row, column) for column in table.columns)
                for row in table.rows
            ),
            notes=table.notes,
        )
        for table in tables_of_study(results, printed)
        if table.first is None
    )


def tables_of_study(
    results: StudyResults, printed: Sequence[PrintedTable] | None
) -> Sequence[PrintedTable]:
    """Return the printed tables that are given, or those of the study."""
    if printed is not None:
        return printed
    return printed_tables(results.name) if results.name in study_names() else ()


def _cell(results: StudyResults, table: PrintedTable, row: str, column: str) -> Cell:
    scale = 100.0 if table.unit == "percent" else 1.0
    ours = results.summary(table.figure, row, column, scale)
    compared = table.printed(row, column, _n_runs(results.study, row))
    i, j = table.rows.index(row), table.columns.index(column)
    printed = replace(
        compared,
        mean=float(table.values()[i, j]),
        deviation=float(table.deviations()[i, j]),
    )
    difference = None if ours is None else compare_with_printed(ours, compared)
    return Cell(ours, printed, compared, difference, doubts_about(table, row, column))


def _n_runs(study: StudyDefinition | None, row: str) -> int:
    """Return the number of partitions behind the paper's numbers."""
    if study is None:
        return 1
    return next((part.partitions for part in study.datasets if part.label == row), 1)


def doubts_about(table: PrintedTable, row: str, column: str) -> tuple[str, ...]:
    """Return why a printed number cannot be right, if it cannot."""
    return tuple(
        doubt.reason for doubt in table.doubts if row in doubt.rows and column == doubt.column
    )


def own_tables(results: StudyResults) -> tuple[OwnTable, ...]:
    """Return the tables of our errors and NLL, of all methods on all data sets.

    Parameters
    ----------
    results : StudyResults
        Ours.

    Returns
    -------
    tables : tuple of OwnTable
        That of the NLL only if some method has probabilities.
    """
    tables = []
    for figure, unit, scale in (("error", "percent", 100.0), ("nll", "plain", 1.0)):
        methods = results.with_figure(figure)
        if methods:
            cells = tuple(
                tuple(
                    results.summary(figure, dataset, method, scale) for dataset in results.datasets
                )
                for method in methods
            )
            words = FIGURE_WORDS[figure]
            tables.append(
                OwnTable(words, figure, unit, DECIMALS[figure], methods, results.datasets, cells)
            )
    return tuple(tables)
