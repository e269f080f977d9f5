"""Rows a second of `predict_proba` at ten classes, against scikit-learn's SVC.

All classifiers are trained on the same digits with the same C and kernel; SVC's probabilities are
its own (Platt and pairwise coupling in LIBSVM), the other peer is scikit-learn's replacement for
them, CalibratedClassifierCV. One thread, processor time, medians of several runs, in one run.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from typing import Any

import numpy as np
from _table import Table, add_csv_option
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from polychotomy import (
    LSSVM,
    SVM,
    KernelLogisticRegression,
    PolychotomyClassifier,
    ProbabilisticSVC,
)

WORDS = (
    "Rows predicted per second by `benchmarks/predict.py`, as a ratio to `SVC(probability=True)`."
)


def rows_a_second(classifier: Any, X: Any, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        classifier.predict_proba(X)
        times.append(time.process_time() - start)
    return len(X) / statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="rows to predict (20000)")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each (5)")
    add_csv_option(parser)
    options = parser.parse_args()
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    rng = np.random.default_rng(0)
    rows = X[rng.integers(len(X), size=options.rows)]
    C, gamma = 5.0, 0.05
    classifiers = {
        "ProbabilisticSVC": ProbabilisticSVC(C=C, gamma=gamma),
        "one-vs-rest SVM, Platt": PolychotomyClassifier(SVM(C, gamma=gamma), "one_vs_rest"),
        "one-vs-one KLR": PolychotomyClassifier(KernelLogisticRegression(C, gamma=gamma)),
        "one-vs-rest LS-SVM": PolychotomyClassifier(LSSVM(gamma=gamma), "one_vs_rest"),
        "SVC(probability=True)": SVC(C=C, gamma=gamma, probability=True, random_state=0),
        "CalibratedClassifierCV(SVC)": CalibratedClassifierCV(SVC(C=C, gamma=gamma)),
    }
    print(f"{options.rows} rows of 64 inputs, trained on {len(X)} rows, 10 classes, one thread")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        speeds = {
            name: rows_a_second(classifier.fit(X, y), rows, options.repeats)
            for name, classifier in classifiers.items()
        }
    peer = speeds["SVC(probability=True)"]
    table = Table("predict", WORDS, ["", "rows per second", "`SVC(probability=True)` = 1"])
    for name, speed in speeds.items():
        table.add(name, f"{speed:,.0f}", f"{speed / peer:.2f}")
    table.save(options.csv)


if __name__ == "__main__":
    main()
