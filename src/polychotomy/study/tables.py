"""The tables of a study: ours beside the printed ones, p-values, and where the time went."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from .definition import PrintedTable, StudyDefinition, printed_tables, study_names
from .results import StudyResults
from .statistics import (
    MethodRanking,
    Printed,
    PrintedDifference,
    Summary,
    compare_with_printed,
    corrected_t_test,
    paired_t_test,
    rank_methods,
    wilcoxon_test,
)

TESTS = ("paired t-test", "corrected t-test", "Wilcoxon test")
FIGURE_WORDS = {
    "error": "test error",
    "accuracy": "test accuracy",
    "nll": "test negative log-likelihood",
}
# How many decimals are shown where no paper says.
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
        The same, corrected where that is known: what ours are compared with.
    difference : PrintedDifference or None
        Ours minus that.
    doubts : tuple of str
        Why the printed numbers are not to be believed.

    Examples
    --------
    >>> from polychotomy.study.statistics import Printed, Summary
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
        Those of them that are as near as that.

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
    """A table of a paper, with ours beside it.

    Parameters
    ----------
    id, title, figure, unit : str
        As in the `PrintedTable`.
    decimals : int
        How many to show.
    rows, columns : tuple of str
        Data sets and methods, as the study calls them.
    paper_rows, paper_columns : tuple of str
        The same, as the paper calls them.
    cells : tuple of tuple of Cell
        A tuple for each row.
    notes : tuple of str
        What to know.

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
        """How near ours are."""
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
    """A figure of all methods on all data sets, ours alone.

    Parameters
    ----------
    title, figure, unit : str
        What it shows.
    decimals : int
        How many to show.
    methods, datasets : tuple of str
        Its rows and its columns.
    cells : tuple of tuple of (Summary or None)
        A tuple for each method.

    Examples
    --------
    >>> from polychotomy.study.statistics import Summary
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


@dataclass(frozen=True)
class PValues:
    """The p-values of one method against another, small where the first is better.

    Parameters
    ----------
    paired, corrected, wilcoxon : float
        Of the paired t-test, the corrected resampled t-test and Wilcoxon's test, one-sided; NaN
        where there are too few pairs.
    n_pairs : int
        The partitions on which both worked.
    printed : float or None
        The paper's, of the paired t-test.
    doubts : tuple of str
        Why that is not to be believed.

    Examples
    --------
    >>> from polychotomy.study.tables import PValues
    >>> PValues(0.01, 0.2, 0.02, 20, printed=0.03).agrees
    True
    """

    paired: float
    corrected: float
    wilcoxon: float
    n_pairs: int
    printed: float | None = None
    doubts: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool | None:
        """Whether ours and the printed one are on the same side of 0.05; None if not known."""
        if self.printed is None or math.isnan(self.paired):
            return None
        return (self.paired < 0.05) == (self.printed < 0.05)


@dataclass(frozen=True)
class PValueTable:
    """The p-values that a paper prints, with ours beside them.

    Parameters
    ----------
    id, title : str
        As in the `PrintedTable`.
    figure : {"error", "nll"}
        On which the methods are compared.
    first : str
        The method that is compared with those of the columns.
    rows, columns, paper_rows, paper_columns : tuple of str
        Data sets and methods, as the study and as the paper calls them.
    cells : tuple of tuple of PValues
        A tuple for each row.
    notes : tuple of str
        What to know.

    Examples
    --------
    >>> from polychotomy.study.tables import PValues, PValueTable
    >>> cells = ((PValues(0.01, 0.2, 0.02, 20, printed=0.03),),)
    >>> table = PValueTable("S5", "p", "error", "a", ("iris",), ("b",), ("iri",), ("B",), cells, ())
    >>> table.agreeing
    (1, 1)
    """

    id: str
    title: str
    figure: str
    first: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    paper_rows: tuple[str, ...]
    paper_columns: tuple[str, ...]
    cells: tuple[tuple[PValues, ...], ...]
    notes: tuple[str, ...]

    @property
    def agreeing(self) -> tuple[int, int]:
        """How many are on the printed side of 0.05, and of how many."""
        known = [cell.agrees for row in self.cells for cell in row]
        return sum(agrees is True for agrees in known), sum(a is not None for a in known)

    @property
    def doubts(self) -> tuple[str, ...]:
        """The doubts about its printed numbers, each once."""
        found = (doubt for row in self.cells for cell in row for doubt in cell.doubts)
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class PMatrix:
    """All methods against all others on one data set: p-values, small where the row is better.

    Parameters
    ----------
    dataset : str
        The data set; "all data sets" for Wilcoxon's test on the means.
    figure : {"error", "nll"}
        On which the methods are compared.
    methods : tuple of str
        Rows and columns.
    tests : tuple of str
        Which tests there are.
    values : mapping of str to tuple of tuple of float
        For each test a tuple for each row; NaN on the diagonal and where there are too few pairs.

    Examples
    --------
    >>> from polychotomy.study.tables import PMatrix
    >>> nan = float("nan")
    >>> values = {"Wilcoxon test": ((nan, 0.03), (0.97, nan))}
    >>> matrix = PMatrix("iris", "error", ("a", "b"), ("Wilcoxon test",), values)
    >>> matrix.values["Wilcoxon test"][0][1]
    0.03
    """

    dataset: str
    figure: str
    methods: tuple[str, ...]
    tests: tuple[str, ...]
    values: Mapping[str, tuple[tuple[float, ...], ...]]


@dataclass(frozen=True)
class TimeRow:
    """Where the time of some units went, in seconds of work.

    Parameters
    ----------
    name : str
        Which units.
    n_units : int
        How many.
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
        """All of it."""
        return self.shared + self.own + self.other


def comparison_tables(
    results: StudyResults, printed: Sequence[PrintedTable] | None = None
) -> tuple[ComparisonTable, ...]:
    """Put our results beside the printed means and deviations.

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
        for table in _printed(results, printed)
        if table.first is None
    )


def _printed(
    results: StudyResults, printed: Sequence[PrintedTable] | None
) -> Sequence[PrintedTable]:
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
    return Cell(ours, printed, compared, difference, _doubts(table, row, column))


def _n_runs(study: StudyDefinition | None, row: str) -> int:
    """Return over how many partitions the paper's numbers are."""
    if study is None:
        return 1
    return next((part.partitions for part in study.datasets if part.label == row), 1)


def _doubts(table: PrintedTable, row: str, column: str) -> tuple[str, ...]:
    return tuple(
        doubt.reason for doubt in table.doubts if row in doubt.rows and column == doubt.column
    )


def p_value_tables(
    results: StudyResults, printed: Sequence[PrintedTable] | None = None
) -> tuple[PValueTable, ...]:
    """Put our p-values beside the printed ones.

    Parameters
    ----------
    results : StudyResults
        Ours.
    printed : sequence of PrintedTable, optional
        The paper's; those of a study that comes with the library by default.

    Returns
    -------
    tables : tuple of PValueTable
    """
    found = []
    for table in _printed(results, printed):
        if table.first is None:
            continue
        figure, values = table.figure.removeprefix("p_"), table.values(corrected=True)
        cells = tuple(
            tuple(
                p_values(
                    results,
                    figure,
                    row,
                    table.first,
                    column,
                    printed=float(values[i, j]),
                    doubts=_doubts(table, row, column),
                )
                for j, column in enumerate(table.columns)
            )
            for i, row in enumerate(table.rows)
        )
        names = (table.rows, table.columns, table.paper_rows, table.paper_columns)
        found.append(
            PValueTable(table.id, table.title, figure, table.first, *names, cells, table.notes)
        )
    return tuple(found)


def p_values(
    results: StudyResults,
    figure: str,
    dataset: str,
    first: str,
    second: str,
    printed: float | None = None,
    doubts: tuple[str, ...] = (),
) -> PValues:
    """Compare two methods on a data set by the three paired tests, one-sided.

    Parameters
    ----------
    results : StudyResults
        The runs.
    figure : {"error", "nll"}
        On which to compare.
    dataset, first, second : str
        Whom; p-values are small where the first method is better.
    printed : float, optional
        What a paper prints, kept beside them.
    doubts : tuple of str, default=()
        What to say about that.

    Returns
    -------
    values : PValues
    """
    a, b = results.pairs(figure, dataset, first, second)
    paired = paired_t_test(a, b)
    ratio = results.test_to_train(dataset) if dataset in results.datasets else math.nan
    corrected = math.nan
    if not math.isnan(ratio):
        corrected = corrected_t_test(a, b, test_to_train=ratio).p_value
    wilcoxon = wilcoxon_test(a, b, "less").p_value
    return PValues(paired.p_value, corrected, wilcoxon, paired.n_pairs, printed, doubts)


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


def p_matrices(results: StudyResults, figure: str) -> tuple[PMatrix, ...]:
    """Compare all methods with all others, on each data set and over the data sets.

    Parameters
    ----------
    results : StudyResults
        The runs.
    figure : {"error", "nll"}
        On which to compare.

    Returns
    -------
    matrices : tuple of PMatrix
        One for every data set with two methods, and, with two data sets or more, Wilcoxon's test
        on the means of the data sets.
    """
    found = []
    for dataset in results.datasets:
        methods = results.with_figure(figure, dataset)
        if len(methods) > 1:
            all_pairs: dict[tuple[str, str], PValues] = {}
            for a, b in combinations(methods, 2):
                all_pairs |= _both_ways(results, figure, dataset, a, b)
            values = {
                test: _square(methods, {pair: getattr(p, name) for pair, p in all_pairs.items()})
                for test, name in zip(TESTS, ("paired", "corrected", "wilcoxon"), strict=True)
            }
            found.append(PMatrix(dataset, figure, methods, TESTS, values))
    over = _over_data_sets(results, figure)
    return (over, *found) if over is not None else tuple(found)


def _both_ways(
    results: StudyResults, figure: str, dataset: str, a: str, b: str
) -> dict[tuple[str, str], PValues]:
    """Return the p-values of a against b, and of b against a."""
    x, y = results.pairs(figure, dataset, a, b)
    if np.nansum(x - y) > 0:
        a, b, x, y = b, a, y, x  # so that the p-values of t-tests are below 1/2, and exact
    one = p_values(results, figure, dataset, a, b)
    back = wilcoxon_test(y, x, "less").p_value
    other = PValues(1 - one.paired, 1 - one.corrected, back, one.n_pairs)
    return {(a, b): one, (b, a): other}


def _over_data_sets(results: StudyResults, figure: str) -> PMatrix | None:
    methods = results.with_figure(figure)
    if len(methods) < 2 or len(results.datasets) < 2:
        return None
    means = results.means(figure, methods)
    values = {
        (a, b): wilcoxon_test(means[:, i], means[:, j], "less").p_value
        for i, a in enumerate(methods)
        for j, b in enumerate(methods)
        if i != j
    }
    square = {TESTS[2]: _square(methods, values)}
    return PMatrix("all data sets", figure, methods, TESTS[2:], square)


def _square(
    methods: Sequence[str], values: Mapping[tuple[str, str], float]
) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(values.get((a, b), math.nan) for b in methods) for a in methods)


def ranking(results: StudyResults, figure: str) -> MethodRanking | None:
    """Rank the methods over the data sets.

    Parameters
    ----------
    results : StudyResults
        The runs.
    figure : {"error", "nll"}
        By which mean.

    Returns
    -------
    ranking : MethodRanking or None
        None with fewer than two methods, or without two data sets on which all of them worked.
    """
    methods = results.with_figure(figure)
    if len(methods) < 2:
        return None
    ranked = rank_methods(results.means(figure, methods), methods)
    return ranked if ranked.friedman.n_data_sets > 1 else None


def time_tables(results: StudyResults) -> tuple[tuple[TimeRow, ...], tuple[TimeRow, ...]]:
    """Say where the time went: by data set, and by sweep.

    Parameters
    ----------
    results : StudyResults
        The runs.

    Returns
    -------
    by_dataset, by_sweep : tuple of TimeRow
        Seconds of work, whatever the number of workers.
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
