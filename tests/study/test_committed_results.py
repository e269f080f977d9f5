"""A sample of the committed results is computed again: the pages must not outlive the code."""

import csv
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

from polychotomy.execution.units import Unit
from polychotomy.study.protocol import run_unit

FOLDER = Path(__file__).parents[2] / "docs" / "results"
# Comes with scikit-learn as the papers have it; the others are read from POLYCHOTOMY_DATA.
AT_HAND = {"wine"}
SAMPLE = 4
LONGEST = 1.0  # seconds that a sampled unit took


def committed(path):
    """Return the units of a file with their rows, by unit."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    units = {}
    for row in rows:
        units.setdefault(row["unit"], []).append(row)
    return units


def as_unit(row):
    return Unit(
        row["study"],
        row["dataset"],
        row["dataset_checksum"],
        int(row["partition"]),
        row["sweep"],
        json.loads(row["definition"]),
    )


def sample(units):
    """Return the fastest unit of some sweeps, if its data are at hand and its key is today's."""
    fastest = {}
    for rows in sorted(units.values(), key=lambda rows: float(rows[0]["seconds_unit"])):
        at_hand = rows[0]["dataset"] in AT_HAND or os.environ.get("POLYCHOTOMY_DATA")
        if at_hand and float(rows[0]["seconds_unit"]) <= LONGEST:
            unit = as_unit(rows[0])
            if unit.key == rows[0]["unit"]:
                fastest.setdefault(unit.sweep, (unit, rows))
    current = [fastest[sweep] for sweep in sorted(fastest)]
    chosen = np.random.default_rng(0).permutation(len(current))[:SAMPLE]
    return [current[number] for number in chosen]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.csv")), ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")
def test_committed_rows_are_computed_again(path):
    chosen = sample(committed(path))
    if not chosen:
        pytest.skip("its results are of another version of the code, and say so")
    for unit, rows in chosen:
        found = {result.method: result for result in run_unit(unit)}
        assert set(found) == {row["method"] for row in rows}
        for row in rows:
            result = found[row["method"]]
            assert result.parameters == json.loads(row["parameters"]), row["method"]
            assert result.error == pytest.approx(float(row["error"]), abs=1e-12), row["method"]
            expected = float(row["nll"]) if row["nll"] else None
            assert (result.nll is None) == (expected is None)
            if expected is not None:
                assert math.isclose(result.nll, expected, rel_tol=1e-4), row["method"]
