"""Stores with results that nobody computed, for tests of tables and reports."""

import numpy as np

from polychotomy import datasets
from polychotomy.execution.units import MethodResult, Outcome, Unit
from polychotomy.study.definition import load_study, printed_tables
from polychotomy.study.protocol import sweep_name
from polychotomy.study.store import Store

VERSIONS = {"polychotomy": "0.1.0", "numpy": "2.0", "python": "3.12"}


def printed_figures(name):
    """Return the printed (mean, deviation) of every data set and method, as shares."""
    found = {}
    for table in printed_tables(name):
        if table.first is None and table.figure in ("error", "nll"):
            scale = 0.01 if table.unit == "percent" else 1.0
            mean, deviation = table.values(True) * scale, table.deviations(True) * scale
            for i, row in enumerate(table.rows):
                for j, column in enumerate(table.columns):
                    found[table.figure, row, column] = mean[i, j], deviation[i, j]
    return found


def units(name, labels=None, partitions=None, **changes):
    """Return the units of a study without loading any data."""
    study = load_study(name)
    found = []
    for part in study.datasets:
        if labels is not None and part.label not in labels:
            continue
        sweeps = {}
        for method in study.methods:
            if method.name in part.methods:
                entry = {"name": method.name, "recipe": method.recipe, "learner": method.learner}
                sweeps.setdefault(sweep_name(entry), []).append(entry)
        definition = {
            "data": {"name": part.name},
            "split": part.split,
            "train": part.train_rows(),
            "inputs": study.inputs,
            "seed": study.seed,
            "search": {
                "folds": study.search.folds,
                "ties": study.search.ties,
                "steps": study.search.steps,
            },
            **changes,
        }
        checksum = datasets.facts(part.name).checksum
        for partition in range(partitions or part.partitions):
            for sweep, entries in sweeps.items():
                whole = {**definition, "methods": entries}
                found.append(Unit(name, part.label, checksum, partition, sweep, whole))
    return found


def fill(path, name, labels=None, partitions=None, fail=(), seed=0, **changes):
    """Write printed results plus noise; units of the numbers in `fail` fail as a whole."""
    rng = np.random.default_rng(seed)
    figures = printed_figures(name)
    study_units = units(name, labels, partitions, **changes)
    with Store(path) as store:
        for number, unit in enumerate(study_units):
            if number in fail:
                failure = "MemoryError: <b>3 GB</b> wanted"
                store.record(unit, Outcome(failure=failure, seconds=1.0, versions=VERSIONS))
                continue
            results = []
            for entry in unit.definition["methods"]:
                drawn = {}
                for figure in ("error", "nll"):
                    key = figure, unit.dataset, entry["name"]
                    default = (0.1, 0.02) if figure == "error" else None
                    if figures.get(key, default) is not None:
                        mean, deviation = figures.get(key, default)
                        drawn[figure] = float(max(mean + deviation * rng.standard_normal(), 0.0))
                results.append(
                    MethodResult(entry["name"], **drawn, seconds_shared=2.0, seconds_own=0.5)
                )
            seconds = 2.5 + 0.5 * len(results)
            store.record(unit, Outcome(tuple(results), seconds=seconds, versions=VERSIONS))
    return study_units
