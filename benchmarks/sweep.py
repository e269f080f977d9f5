"""The twelve methods of DUAN03, tuned together on both grids, against scikit-learn.

Needs the papers' data sets in the folder that POLYCHOTOMY_DATA names. Every set is tuned on one
stratified training part of the paper's size, continuous inputs standardised. For scikit-learn the
same two grids are searched with GridSearchCV for the three methods that it can express: SVC,
OneVsOneClassifier(SVC), and SVC with CalibratedClassifierCV. What takes a few seconds only, the SVM
methods without SMC and the coarse step of SVC, is timed three times in turn, and medians are shown.

    python benchmarks/sweep.py [--sets segment waveform ...] [--n-jobs 2] [--peers coarse both none]
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from _table import Table, add_csv_option
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.multiclass import OneVsOneClassifier
from sklearn.preprocessing import LabelEncoder, scale
from sklearn.svm import SVC

import polychotomy as pc

SIZES = {"segment": 500, "satimage": 1500, "waveform": 300, "dna": 500, "abe": 560}
DECADES = [10.0**power for power in range(-3, 4)]
FACTORS = [0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0]
METHODS = [name for name, method in pc.recipes().items() if "DUAN03" in method.papers]
WITHOUT_SMC = ["WTA_SVM", "MWV_SVM", "WTA_PSVM", "MWV_PSVM", "PWC_PSVM", "SSMC1va", "SSMC1v1"]


def training_part(name: str) -> tuple[np.ndarray, np.ndarray]:
    import pandas

    table = pandas.read_csv(
        Path(os.environ["POLYCHOTOMY_DATA"]) / f"{name}.csv.gz", dtype={"class": str}
    )
    X, y = table.drop(columns="class").to_numpy(float), LabelEncoder().fit_transform(table["class"])
    if name != "dna":
        X = scale(X)
    rows, _ = train_test_split(
        np.arange(len(y)), train_size=SIZES[name], stratify=y, random_state=0
    )
    return X[rows], y[rows]


def ours(X: np.ndarray, y: np.ndarray, methods: list[str], n_jobs: int) -> pc.MethodSweep:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pc.MethodSweep(methods, n_jobs=n_jobs).fit(X, y)


def grid_search(model, prefix: str, X, y, n_jobs: int, both: bool) -> tuple[float, float]:
    """Return the time of the coarse step, and of both steps."""
    names = f"{prefix}C", f"{prefix}gamma"
    start = perf_counter()
    grid = dict(zip(names, (DECADES, [1 / (2 * width) for width in DECADES]), strict=True))
    coarse = GridSearchCV(model, grid, cv=5, n_jobs=n_jobs).fit(X, y)
    first = perf_counter() - start
    if both:
        grid = {name: [coarse.best_params_[name] * f for f in FACTORS] for name in names}
        GridSearchCV(model, grid, cv=5, n_jobs=n_jobs).fit(X, y)
    return first, perf_counter() - start


def timed(function, *arguments):
    start = perf_counter()
    result = function(*arguments)
    return perf_counter() - start, result


def alternating(X, y, options) -> tuple[float, float]:
    """Return the medians of our SVM methods without SMC, and of the coarse step of SVC."""
    times = []
    for _ in range(options.repeats):
        without, _ = timed(ours, X, y, WITHOUT_SMC, options.n_jobs)
        coarse = np.nan
        if options.peers != "none":
            coarse, _ = grid_search(SVC(), "", X, y, options.n_jobs, both=False)
        times.append((without, coarse))
    return tuple(np.median(times, axis=0))


def report_stages(sweep: pc.MethodSweep) -> None:
    for name, stages in sweep.seconds_.items():
        parts = "  ".join(f"{stage} {seconds:.2f}" for stage, seconds in stages.items())
        print(f"    {name:<40} {parts}")
    own = zip(sweep.results_["method"], sweep.results_["seconds_own"], strict=True)
    print("    decoders: " + "  ".join(f"{name} {seconds:.2f}" for name, seconds in own))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=list(SIZES))
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--peers", choices=["none", "coarse", "both"], default="both")
    parser.add_argument("--repeats", type=int, default=3, help="of what takes a few seconds only")
    add_csv_option(parser)
    options = parser.parse_args()
    # Both sides are warm: modules imported, the processes of joblib there.
    few = [part[:60] for part in training_part("waveform")]
    ours(*few, METHODS, 1)
    grid_search(SVC(), "", *few, options.n_jobs, both=False)
    print("seconds; ratios are scikit-learn's time over ours, in this run")
    table = Table(
        "sweep",
        "Twelve methods at once by `benchmarks/sweep.py`: scikit-learn's time over ours.",
        [
            "set and rows",
            "coarse `GridSearchCV(SVC)` / our seven SVM methods, both steps",
            "SVC, OneVsOne(SVC) and calibrated SVC / all our twelve, both steps",
        ],
    )
    for name in options.sets:
        X, y = training_part(name)
        without, coarse = alternating(X, y, options)
        all_twelve, sweep = timed(ours, X, y, METHODS, options.n_jobs)
        print(f"{name}: {len(y)} rows, {len(set(y))} classes")
        print(f"    SVM methods without SMC, both steps {without:8.2f}")
        print(f"    all twelve methods, both steps      {all_twelve:8.2f}")
        report_stages(sweep)
        if options.peers == "none":
            continue
        print(f"    GridSearchCV(SVC), coarse step      {coarse:8.2f}")
        third = ""
        if options.peers == "both":
            _, total = grid_search(SVC(), "", X, y, options.n_jobs, both=True)
            pairs = grid_search(
                OneVsOneClassifier(SVC()), "estimator__", X, y, options.n_jobs, both=True
            )
            calibrated = CalibratedClassifierCV(SVC(), ensemble=False)
            platt = grid_search(calibrated, "estimator__", X, y, options.n_jobs, both=True)
            three = total + pairs[1] + platt[1]
            print(f"    SVC, OneVsOne, Calibrated, both     {three:8.2f}")
            third = f"{three / all_twelve:.1f}"
        table.add(f"{name} {len(y):,}", f"{coarse / without:.1f}", third)
    table.save(options.csv)


if __name__ == "__main__":
    main()
