"""The page on results says what its CSV files hold."""

import csv
import json
import re
from itertools import islice
from pathlib import Path

import pandas as pd
import pytest

from polychotomy.execution.units import Unit
from polychotomy.native import NUMERICS_VERSION
from polychotomy.study._render import markdown, printed_time_text
from polychotomy.study.definition import load_study
from polychotomy.study.results import StudyResults
from polychotomy.study.tables import comparison_tables, time_comparisons

FOLDER = Path(__file__).parents[2] / "docs" / "results"


def number(text):
    return float(text) if text else None


def results_of(name):
    """Return the committed results of a study."""
    with (FOLDER / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        rows = [
            {
                "dataset": row["dataset"],
                "method": row["method"] or None,
                "partition": int(row["partition"]),
                "error": number(row["error"]),
                "nll": number(row["nll"]),
                "failure": row["failure"] or None,
                "seconds_unit": number(row["seconds_unit"]),
                "definition": json.loads(row["definition"]),
            }
            for row in csv.DictReader(file)
        ]
    return StudyResults(name, rows, load_study(name))


def tables_of(name):
    """Return the tables of a study with the printed numbers, from its committed results."""
    return comparison_tables(results_of(name))


@pytest.mark.parametrize("name", ["duan2003", "duan2005", "vangestel2002"])
def test_the_counts_of_a_study_are_those_of_its_results(name):
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
    found = re.findall(r"^\|[^|]*\| (\d+) \| (\d+) \| (\d+) \|$", section, re.MULTILINE)
    counts = [one.counts for one in tables_of(name) if one.counts.compared]
    total = sum(counts[1:], counts[0])
    said = [tuple(map(int, one)) for one in found]
    assert said[-1] == (total.compared, total.within_two, total.within_three)
    if name != "duan2005":  # whose table is given by column
        assert said[:-1] == [(one.compared, one.within_two, one.within_three) for one in counts]


def test_the_svms_of_vangestel2002_that_differ():
    page = " ".join((FOLDER / "README.md").read_text(encoding="utf-8").split())
    svms = [
        (cell, round(cell.ours.mean, table.decimals))
        for table in tables_of("vangestel2002")
        if table.id.startswith("Table III")
        for row in table.cells
        for cell in row
        if cell.standard_errors == cell.standard_errors
    ]
    above = [cell for cell, ours in svms if ours > cell.compared.mean]
    far = sum(cell.standard_errors > 2 for cell in above)
    assert f"Of {len(svms)} cells {len(above)} are above the printed ones, {far} by more" in page
    below = sum(cell.standard_errors < -2 for cell, _ in svms)
    assert below == 10
    assert "Ten cells are below the printed ones by more than two" in page


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.csv")), ids=lambda path: path.stem)
def test_the_keys_of_committed_results_are_those_of_their_units(path):
    with path.open(newline="", encoding="utf-8") as file:
        for row in islice(csv.DictReader(file), 50):
            keys = {
                Unit(
                    row["study"],
                    row["dataset"],
                    row["dataset_checksum"],
                    int(row["partition"]),
                    row["sweep"],
                    json.loads(row["definition"]),
                    results_version=int(row["results_version"]),
                    numerics_version=version,
                ).key
                for version in (None, *range(NUMERICS_VERSION + 1))
            }
            assert row["unit"] in keys


def test_the_times_of_usps_are_shown_beside_the_printed_ones():
    results = results_of("vangestel2002")
    (times,) = time_comparisons(results)
    units = {row["method"]: row for row in results.rows if row["dataset"] == "usps"}
    for number, method in enumerate(times.printed.methods):
        assert times.ours[number] == pytest.approx(units[method]["seconds_unit"] / 45)
    assert times.printed.totals() == (47680 + 389 + 28, 7670 + 31 + 59)
    page = (FOLDER / "vangestel2002.md").read_text(encoding="utf-8")
    assert markdown(printed_time_text(times)) in page
    assert time_comparisons(results_of("duan2003")) == ()


def test_the_errors_and_ranks_of_aggregations_are_those_of_the_results():
    figures = pd.read_csv(FOLDER / "galar.csv")
    errors = 100 * figures.groupby(["dataset", "method"])["error"].mean().unstack()
    page = (FOLDER / "README.md").read_text(encoding="utf-8").replace("**", "")
    for name in ("VOTE", "WV", "PC", "DDAG", "LVPC", "ND", "BTC", "NEST", "PE", "MAX", "DOO"):
        words = f"{name} (one-vs-rest)" if name in ("MAX", "DOO") else name
        cells = [words]
        for learner in ("svm", "tree", "knn"):
            own = errors.filter(like=f"_{learner}")
            ranks = own.rank(axis=1).mean()
            method = f"{name}_{learner}"
            cells += [f"{own[method].mean():.2f}", f"{ranks[method]:.1f}"]
        assert f"| {' | '.join(cells)} |" in page
