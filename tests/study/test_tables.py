"""From the rows of a store to tables."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import fake_study
from polychotomy.execution.units import MethodResult, Outcome
from polychotomy.statistics import Printed, Summary, compare_with_printed
from polychotomy.study import _render as render
from polychotomy.study.definition import load_study, printed_tables
from polychotomy.study.results import StudyResults, read_results
from polychotomy.study.store import Store
from polychotomy.study.tables import (
    Cell,
    ComparisonTable,
    OwnTable,
    PValues,
    comparison_tables,
    own_tables,
    p_matrices,
    p_value_tables,
    ranking,
    time_tables,
)

RUNS = 7


@pytest.fixture(scope="module")
def duan(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "duan2003.db"
    # The first unit is the one-vs-rest SVM sweep of abe, partition 0.
    fake_study.fill(path, "duan2003", partitions=RUNS, fail={0})
    with Store(path, read_only=True) as store:
        return read_results(store)


def row(dataset, method, partition, error, nll=None, failure=None, methods=None):
    definition = {"methods": [{"name": name} for name in methods or [method]]}
    values = {"error": error, "nll": nll, "failure": failure, "definition": definition}
    return {"dataset": dataset, "method": method, "partition": partition, **values}


def test_cells_are_our_mean_the_printed_one_and_their_distance(duan):
    table = comparison_tables(duan)[0]
    i, j = table.rows.index("segment"), table.columns.index("WTA_SVM")
    errors = [
        100 * r["error"] for r in duan.rows if (r["dataset"], r["method"]) == ("segment", "WTA_SVM")
    ]
    cell = table.cells[i][j]
    assert len(errors) == RUNS
    assert cell.ours.mean == pytest.approx(np.mean(errors))
    assert cell.ours.deviation == pytest.approx(np.std(errors, ddof=1))
    assert (cell.printed.mean, cell.printed.deviation) == (6.56, 0.88)
    error = math.sqrt(np.var(errors, ddof=1) / RUNS + 0.88**2 / 20)
    assert cell.standard_errors == pytest.approx((np.mean(errors) - 6.56) / error)


def test_every_printed_number_has_its_cell(duan):
    tables = comparison_tables(duan)
    printed = [table for table in printed_tables("duan2003") if table.first is None]
    assert [table.id for table in tables] == [table.id for table in printed]
    for ours, theirs in zip(tables, printed, strict=True):
        shown = [[cell.printed.mean for cell in cells] for cells in ours.cells]
        np.testing.assert_array_equal(shown, theirs.values())
        assert ours.counts.cells == theirs.values().size == ours.counts.compared


def test_corrections_are_compared_with_and_shown_beside_what_is_printed(duan):
    table = comparison_tables(duan)[1]
    cell = table.cells[table.rows.index("dna")][table.columns.index("SSMC1v1")]
    assert (cell.printed.mean, cell.compared.mean) == (7.96, 7.69)
    assert cell.difference.difference == pytest.approx(cell.ours.mean - 7.69)
    text = render.markdown(render.comparison_text(table))
    assert r"7.96 ± 0.77\* (7.69 ± 0.77)" in text
    assert "the digits exchanged" in text


def test_accuracies_are_shown_for_a_paper_that_prints_them():
    runs = [row("iris", "SVM_LIN_1vs1_Hamming", i, 0.03 + 0.01 * i) for i in range(3)]
    results = StudyResults("vangestel2002", runs, load_study("vangestel2002"))
    table = comparison_tables(results)[2]
    cell = table.cells[table.rows.index("iris")][0]
    assert cell.ours.mean == pytest.approx(96.0)
    assert cell.printed == Printed(95.6, 1.8, 10, 0.1, 0.1)
    assert table.counts.compared == 1


def test_a_single_run_has_a_difference_but_no_standard_error():
    runs = [row("usps", "SVM_RBF_1vs1_Hamming", 0, 0.05)]
    results = StudyResults("vangestel2002", runs, load_study("vangestel2002"))
    cell = comparison_tables(results)[-1].cells[0][0]
    assert cell.difference.difference == pytest.approx(-0.1)
    assert math.isnan(cell.standard_errors)


def test_counts_are_of_absolute_distances():
    def cell(mean):
        ours, printed = Summary(mean, 1.0, 2), Printed(0.0, 1.0, 2)
        return Cell(ours, printed, printed, compare_with_printed(ours, printed), ())

    # The standard error is 1.
    cells = (tuple(cell(mean) for mean in (-3.5, -2.5, -1.9, 0.0, 1.0, 2.9, 3.1)),)
    names = tuple("abcdefg")
    table = ComparisonTable("1", "t", "error", "plain", 1, ("x",), names, ("x",), names, cells, ())
    assert (table.counts.compared, table.counts.within_two, table.counts.within_three) == (7, 3, 5)


def test_failures_are_counted_for_all_methods_of_a_failed_unit(duan):
    assert duan.summary("error", "abe", "WTA_SVM").n_failed == 1
    assert duan.summary("error", "abe", "WTA_SVM").n_runs == RUNS - 1
    assert duan.summary("nll", "abe", "SMC1va").n_failed == 1
    assert duan.summary("error", "abe", "MWV_SVM").n_failed == 0
    # It has no probabilities, and so no NLL that could have failed.
    assert duan.summary("nll", "abe", "WTA_SVM") is None
    ((reason, count),) = duan.failures
    assert reason.startswith("abe, SVM one_vs_rest: MemoryError")
    assert count == 1


def test_p_values_are_those_of_scipy(duan):
    table = next(t for t in p_value_tables(duan) if t.id == "Section 5, MWV_KLR")
    cell = table.cells[table.rows.index("dna")][table.columns.index("MWV_SVM")]
    a, b = duan.pairs("error", "dna", "MWV_KLR", "MWV_SVM")
    assert cell.paired == pytest.approx(stats.ttest_rel(a, b, alternative="less").pvalue)
    assert cell.wilcoxon == pytest.approx(stats.wilcoxon(a, b, alternative="less").pvalue)
    d, ratio = a - b, (3186 - 500) / 500
    t = d.mean() / (d.std(ddof=1) * math.sqrt(1 / RUNS + ratio))
    assert cell.corrected == pytest.approx(stats.t.cdf(t, RUNS - 1))
    assert cell.printed == 0.93
    assert PValues(0.2, 0.2, 0.2, 20, printed=0.04).agrees is False
    assert PValues(math.nan, 0.2, 0.2, 1, printed=0.04).agrees is None


def test_matrices_compare_both_ways(duan):
    over, *matrices = p_matrices(duan, "error")
    assert [matrix.dataset for matrix in matrices] == list(duan.datasets)
    assert over.tests == ("Wilcoxon test",)
    matrix = matrices[1]
    for i, j in ((0, 5), (5, 0), (7, 2)):
        a, b = duan.pairs("error", "dna", matrix.methods[i], matrix.methods[j])
        expected = stats.ttest_rel(a, b, alternative="less").pvalue
        assert matrix.values["paired t-test"][i][j] == pytest.approx(expected)
        expected = stats.wilcoxon(a, b, alternative="less").pvalue
        assert matrix.values["Wilcoxon test"][i][j] == pytest.approx(expected)
    assert math.isnan(matrix.values["corrected t-test"][3][3])
    means = duan.means("error", over.methods)
    expected = stats.wilcoxon(means[:, 0], means[:, 1], alternative="less").pvalue
    assert over.values["Wilcoxon test"][0][1] == pytest.approx(expected)


def test_own_tables_and_ranks_leave_out_what_is_not_there(duan):
    error, nll = own_tables(duan)
    assert len(error.methods) == 12
    assert "WTA_SVM" not in nll.methods
    assert len(nll.methods) == 8
    assert ranking(duan, "nll").friedman.n_methods == 8
    one = StudyResults("mine", [row("iris", "a", 0, 0.1), row("iris", "b", 0, 0.2)])
    assert ranking(one, "error") is None
    assert not p_matrices(one, "error")
    two = StudyResults("mine", [*one.rows, row("iris", "a", 1, 0.1), row("iris", "b", 1, 0.3)])
    assert len(p_matrices(two, "error")) == 1
    (failed,) = own_tables(StudyResults("mine", [row("iris", "a", 0, None, failure="no")]))
    assert math.isnan(failed.best(0))


def test_time_is_counted_once_where_it_is_shared(duan):
    by_dataset, by_sweep = time_tables(duan)
    units = {r["unit"]: r["seconds_unit"] for r in duan.rows}
    for rows in (by_dataset, by_sweep):
        assert sum(one.total for one in rows) == pytest.approx(sum(units.values()))
        assert sum(one.n_units for one in rows) == len(units) == 20 * RUNS
    dna = by_dataset[1]
    assert (dna.shared, dna.own) == (2.0 * 4 * RUNS, 0.5 * 12 * RUNS)


def test_other_ways_of_running_a_data_set_are_not_mixed_in(tmp_path):
    path = tmp_path / "both.db"
    fake_study.fill(path, "duan2005", ["abe_280"], partitions=4)
    fake_study.fill(path, "duan2005", ["abe_280"], partitions=3, seed=1, train=100)
    with Store(path) as store:
        results = read_results(store)
        assert {r["definition"]["train"] for r in results.rows} == {280}
        assert results.left_out == ("abe_280: 9 units with another definition.",)
        other = fake_study.units("duan2005", ["abe_280"], partitions=3, train=100)
        assert len(read_results(store, units=other).rows) == 12
        # Of two definitions of one sweep, with fewer methods in one, the fuller one is taken.
        few = other[0].definition | {"methods": other[0].definition["methods"][:1]}
        fewer = replace(other[0], definition=few | {"train": 280})
        store.record(fewer, Outcome((MethodResult("WTA_SVM", error=0.9),)))
        assert max(r["error"] for r in read_results(store).rows) < 0.5


def test_a_store_of_several_studies_asks_which(tmp_path):
    path = tmp_path / "both.db"
    with Store(path) as store, pytest.raises(ValueError, match="has no results yet"):
        read_results(store)
    fake_study.fill(path, "duan2005", ["abe_280"], partitions=1)
    fake_study.fill(path, "duan2003", ["abe"], partitions=1)
    with Store(path) as store:
        with pytest.raises(ValueError, match="name one: 'duan2003' or 'duan2005'"):
            read_results(store)
        assert read_results(store, "duan2003").datasets == ("abe",)
        with pytest.raises(ValueError, match="no results of 'galar'; it has"):
            read_results(store, "galar")


def test_texts_are_escaped():
    table = OwnTable(
        "test error", "error", "percent", 1, ("a|b", "c_d&<i>"), ("x",), ((None,),) * 2
    )
    text = render.markdown(render.own_text(table))
    assert r"a\|b" in text
    assert "<i>" not in text
    assert r"c\_d\&\textless{}i\textgreater{}" in render.latex(render.own_text(table))


def test_latex_rows_have_as_many_cells_as_the_header(duan):
    for table in comparison_tables(duan):
        lines = render.latex(render.comparison_text(table)).splitlines()
        rows = [line for line in lines if line.endswith(r"\\")]
        assert len(rows) == 1 + 3 * len(table.rows)
        assert {line.count(" & ") for line in rows} == {len(table.columns) + 1}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.05, ".05"),
        (0.0995, ".10"),
        (0.00012, ".00012"),
        (9e-5, "<.0001"),
        (1.0, "1"),
        (0.5, ".50"),
    ],
)
def test_p_values_have_two_digits(value, text):
    assert render.p_text(value) == text
