"""VANGESTEL's Table III with C and sigma2 chosen for each machine, not for all together.

Many cells of our SVMs are above the printed ones. The paper does not say whether C and sigma are
chosen for each binary machine or for the multi-class result. Here every machine searches its own
(10 folds, the coarse grid, `MachineSearchCV`), on the study's own partitions; a table gives the
accuracy beside the printed one and that of the shared choice (docs/results/vangestel2002.csv), and
counts the cells within two standard errors of either. It explains; nothing is chosen by it.

The sets come from the folder in POLYCHOTOMY_DATA, from scikit-learn or from OpenML.

    python benchmarks/vangestel_machines.py --datasets iris wine new-thyroid --partitions 10
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np

from polychotomy import Context, MachineSearchCV, Margins, PolychotomyClassifier, recipe
from polychotomy.study.definition import load_study, printed_tables
from polychotomy.study.protocol import partition, units_of

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "vangestel2002.csv"
SMALL = ["glass", "iris", "new-thyroid", "soybean-small", "vehicle", "wine", "zoo"]


def printed():
    """Return the printed mean and deviation of every SVM method and set, in percent."""
    found = {}
    for table in printed_tables("vangestel2002"):
        if table.figure == "accuracy" and table.columns[0].startswith("SVM"):
            means, deviations = table.values(True), table.deviations(True)
            for i, name in enumerate(table.rows):
                for j, method in enumerate(table.columns):
                    found[method, name] = means[i, j], deviations[i, j]
    return found


def shared():
    """Return our accuracies with shared parameters, in percent, by method, set and partition."""
    found = {}
    with RESULTS.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["error"]:
                key = row["method"], row["dataset"]
                found.setdefault(key, {})[int(row["partition"])] = 100 * (1 - float(row["error"]))
    return found


def each_machine(methods, unit):
    """Return the accuracy of methods that share code and kernel, in percent."""
    part = partition(unit)
    first = recipe(methods[0])
    machine = MachineSearchCV(first.machine, fine=None, cv=10)
    clf = PolychotomyClassifier(machine, first.code, "none", first.decoder, random_state=0)
    clf.fit(part.X_train, part.y_train)
    scores = Margins(mean=clf.binary_scores(part.X_test))
    _, y = np.unique(part.y_train, return_inverse=True)
    found = {}
    for method in methods:
        decoder = recipe(method).decoder.fit(Context(clf.codebook_, y))
        answer = clf.classes_[decoder.decode(scores).argmax(axis=1)]
        found[method] = 100 * float(np.mean(answer == part.y_test))
    return found


def apart(ours, mean, deviation):
    """Return how many standard errors a mean of ours is from the printed one."""
    error = np.hypot(np.std(ours, ddof=1) / np.sqrt(len(ours)), deviation / np.sqrt(10))
    return (np.mean(ours) - mean) / max(error, 1e-9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=SMALL)
    parser.add_argument("--partitions", type=int, default=10)
    parser.add_argument("--kernels", nargs="+", default=["LIN", "RBF"])
    options = parser.parse_args()
    tables, ours = printed(), shared()
    near = {"shared": 0, "each": 0, "cells": 0, "above shared": 0, "above each": 0}
    print(f"{'data':<15}{'method':<22}{'printed':>9}{'shared':>8}{'each':>8}   standard errors")
    for name in options.datasets:
        units = {}
        for unit in units_of(load_study("vangestel2002"), [name]):
            units.setdefault(unit.partition, unit)
        for kernel in options.kernels:
            for code in ("1vs1", "1vsA", "MOC", "ECOC"):
                methods = [f"SVM_{kernel}_{code}_{decoder}" for decoder in ("Hamming", "loss")]
                numbers = sorted(units)[: options.partitions]
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = [each_machine(methods, units[number]) for number in numbers]
                for method in methods:
                    mean, deviation = tables[method, name]
                    alone = [each[method] for each in found]
                    before = [ours[method, name][number] for number in numbers]
                    z = [apart(before, mean, deviation), apart(alone, mean, deviation)]
                    near["cells"] += 1
                    near["shared"] += abs(z[0]) <= 2
                    near["each"] += abs(z[1]) <= 2
                    near["above shared"] += z[0] > 2
                    near["above each"] += z[1] > 2
                    print(
                        f"{name:<15}{method:<22}{mean:>9.1f}{np.mean(before):>8.1f}"
                        f"{np.mean(alone):>8.1f}   {z[0]:+.1f} {z[1]:+.1f}",
                        flush=True,
                    )
    print(
        f"\nof {near['cells']} cells within two standard errors: shared {near['shared']}, "
        f"each machine {near['each']}; above by more: {near['above shared']}, {near['above each']}"
    )


if __name__ == "__main__":
    main()
