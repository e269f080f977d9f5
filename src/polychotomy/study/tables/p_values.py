"""P-values of methods against each other, ours and the printed ones, and their ranking."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ...statistics import (
    MethodRanking,
    corrected_t_test,
    paired_t_test,
    rank_methods,
    wilcoxon_test,
)
from ..definition import PrintedTable
from ..results import StudyResults
from .comparison import doubts_about, tables_of_study

TESTS = ("paired t-test", "corrected t-test", "Wilcoxon test")


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
        Why that is doubtful.

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
    """The p-values that a paper prints, together with ours.

    Parameters
    ----------
    id, title : str
        As in the `PrintedTable`.
    figure : {"error", "nll"}
        The figure that is compared.
    first : str
        The method that is compared with those of the columns.
    rows, columns, paper_rows, paper_columns : tuple of str
        Data sets and methods, as the study and as the paper calls them.
    cells : tuple of tuple of PValues
        A tuple for each row.
    notes : tuple of str
        Notes for the reader.

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
        """How many are on the printed side of 0.05, and how many were compared."""
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
        The figure that is compared.
    methods : tuple of str
        Rows and columns.
    tests : tuple of str
        The names of the tests.
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


def p_value_tables(
    results: StudyResults, printed: Sequence[PrintedTable] | None = None
) -> tuple[PValueTable, ...]:
    """Compare our p-values with the printed ones.

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
    for table in tables_of_study(results, printed):
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
                    doubts=doubts_about(table, row, column),
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
        The figure to compare.
    dataset, first, second : str
        The two methods; p-values are small if the first is better.
    printed : float, optional
        The p-value that a paper prints.
    doubts : tuple of str, default=()
        Doubts about the printed p-value.

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


def p_matrices(results: StudyResults, figure: str) -> tuple[PMatrix, ...]:
    """Compare all methods with all others, on each data set and over the data sets.

    Parameters
    ----------
    results : StudyResults
        The runs.
    figure : {"error", "nll"}
        The figure to compare.

    Returns
    -------
    matrices : tuple of PMatrix
        One for every data set with two methods and two partitions at least, and, with two data sets
        or more, Wilcoxon's test on the means of the data sets.
    """
    found = []
    for dataset in results.datasets:
        methods = results.with_figure(figure, dataset)
        if len(methods) > 1:
            all_pairs: dict[tuple[str, str], PValues] = {}
            for a, b in combinations(methods, 2):
                all_pairs |= _both_ways(results, figure, dataset, a, b)
            if all(p.n_pairs < 2 for p in all_pairs.values()):
                continue
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
        The figure whose means are ranked.

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
