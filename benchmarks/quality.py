"""Errors and class probabilities of the pools, of the papers' methods and of their rivals.

Stratified partitions of the sets of `_sets.py`, at most 800 training rows, the same partitions for
all methods; every method sees standardised inputs and tunes itself on the training rows. Rivals
from other libraries take part if they are installed (`pip install "polychotomy[rivals]"`). Every
result is written to a file of JSON lines at once, and what is there already is not computed again,
so that the work can be done in pieces:

    python benchmarks/quality.py --sets glass wine --methods LS2 POOL --partitions 3
    python benchmarks/quality.py --table            # of what is there
    python benchmarks/quality.py --time             # where the time goes, beside GridSearchCV(SVC)
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd
from _sets import CHOSEN_ON, CLAIMED_ON, load, partition
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import polychotomy
from polychotomy.compare import Conditions, candidates

N_PARTITIONS, MOST_ROWS, MOST_TEST_ROWS = 10, 800, 3000
DECADES = 10.0 ** np.arange(-3, 4)
FOLDS = StratifiedKFold(5)
FIGURES = ("error", "nll", "brier", "calibration", "seconds")


def tuned_svc(X, y):
    """Return scikit-learn's SVC with C and gamma of the coarse grid."""
    grid = {"C": DECADES, "gamma": 0.5 / DECADES}
    return GridSearchCV(SVC(), grid, cv=FOLDS).fit(X, y).best_estimator_


def calibrated_svc(method):
    def fit(X, y):
        return CalibratedClassifierCV(tuned_svc(X, y), method=method, cv=FOLDS).fit(X, y)

    return fit


def probabilistic_svc(tempering):
    def fit(X, y):
        pipe = polychotomy.PolychotomyClassifier(tempering=tempering)
        search = polychotomy.TwoStepSearchCV(pipe, ties="nll", refit=False, show_progress=False)
        best = search.fit(X, y).best_params_
        return polychotomy.ProbabilisticSVC(
            C=best["machine__C"], gamma=0.5 / best["machine__sigma2"], tempering=tempering
        ).fit(X, y)

    return fit


def of_recipe(name):
    def fit(X, y):
        clf = polychotomy.recipe(name, tuned=True, random_state=0)
        if isinstance(clf, polychotomy.TwoStepSearchCV):
            clf.set_params(show_progress=False)
        return clf.fit(X, y)

    return fit


def of_grid(estimator, **grid):
    def fit(X, y):
        return GridSearchCV(estimator, grid, cv=FOLDS, scoring="neg_log_loss").fit(X, y)

    return fit


def calibrated_forest(X, y):
    forest = RandomForestClassifier(300, random_state=0)
    return CalibratedClassifierCV(forest, method="sigmoid", cv=FOLDS).fit(X, y)


def of_rival(one):
    def fit(X, y):
        return one.make(Conditions()).fit(X, y)

    return fit


RIVALS = {name: of_rival(one) for name, one in candidates().items() if one.family == "other"}
METHODS = {
    "LS2": of_recipe("LS2"),
    "POOL": of_recipe("POOL"),
    "ProbabilisticSVC": probabilistic_svc("auto"),
    "ProbabilisticSVC, not tempered": probabilistic_svc(None),
    "PWC_PSVM": of_recipe("PWC_PSVM"),
    "PWC_KLR": of_recipe("PWC_KLR"),
    "SSMC1va": of_recipe("SSMC1va"),
    "LSSVM_RBF_1vs1_Bayes": of_recipe("LSSVM_RBF_1vs1_Bayes"),
    "SVC, sigmoid": calibrated_svc("sigmoid"),
    "SVC, temperature": calibrated_svc("temperature"),
    "forest": RandomForestClassifier(300, random_state=0).fit,
    "forest, sigmoid": calibrated_forest,
    "gradient boosting": HistGradientBoostingClassifier(random_state=0).fit,
    "logistic": of_grid(LogisticRegression(max_iter=5000), C=DECADES),
    **RIVALS,
}


def figures(p, truth):
    """Return error, NLL, Brier score and the calibration error of the largest probability."""
    rows = np.arange(len(truth))
    winner, sure = p.argmax(axis=1), p.max(axis=1)
    right = winner == truth
    bins = np.minimum((10 * sure).astype(int), 9)
    gaps = np.abs(np.bincount(bins, right, 10) - np.bincount(bins, sure, 10))
    return {
        "error": float(1.0 - right.mean()),
        "nll": float(-np.log(np.maximum(p[rows, truth], 1e-15)).mean()),
        "brier": float(((p - np.eye(p.shape[1])[truth]) ** 2).sum(axis=1).mean()),
        "calibration": float(gaps.sum() / len(truth)),
    }


def run(options):
    """Compute what is not there yet."""
    done = {key_of(line) for line in read(options.results)}
    for name in options.sets:
        X, y = load(name)
        for number in range(options.partitions):
            for method in options.methods:
                key = (name, number, method, options.most_rows)
                if key in done:
                    continue
                line = result(X, y, *key)
                with open(options.results, "a") as file:
                    file.write(json.dumps(line) + "\n")
                print(*key[:3], *(f"{figure} {line[figure]:.4f}" for figure in FIGURES), flush=True)


def result(X, y, name, number, method, most_rows):
    train_X, train_y, new_X, new_y = partition(X, y, number, most_rows, MOST_TEST_ROWS)
    start = process_time()
    # One thread: what a method costs, not how many cores it finds.
    with threadpool_limits(1):
        clf = METHODS[method](train_X, train_y)
    seconds = process_time() - start
    # A class may be missing in the training rows.
    labels = np.unique(y)
    p = np.zeros((len(new_y), len(labels)))
    p[:, np.searchsorted(labels, clf.classes_)] = clf.predict_proba(new_X)
    found = figures(p, np.searchsorted(labels, new_y))
    keys = {"set": name, "partition": number, "method": method, "most_rows": most_rows}
    return {**keys, **found, "seconds": seconds}


def read(file):
    return (
        [json.loads(line) for line in Path(file).read_text().splitlines()] if file.exists() else []
    )


def key_of(line):
    return line["set"], line["partition"], line["method"], line["most_rows"]


def table(options):
    """Print means over the sets, ranks, paired differences to POOL, and NLL by set."""
    frame = pd.DataFrame(read(options.results))
    frame = frame[(frame.most_rows == options.most_rows) & frame.method.isin(options.methods)]
    methods = [method for method in options.methods if (frame.method == method).any()]
    wide = frame.pivot_table(index=["set", "partition"], columns="method", values=list(FIGURES))
    # Partitions that all methods have.
    wide = wide.dropna()
    for title, sets in (("claimed on", CLAIMED_ON), ("chosen on", CHOSEN_ON)):
        some = wide[wide.index.get_level_values("set").isin(sets)]
        if len(some):
            print(f"\nSets {title}\n")
            one_table(some, methods, options)


def one_table(wide, methods, options):
    by_set = wide.groupby(level="set").mean()
    # What else the machine had to do in some partition does not count.
    by_set["seconds"] = wide["seconds"].groupby(level="set").median()
    ranks = by_set["nll"][methods].rank(axis=1).mean()
    counts = wide.groupby(level="set").size()
    print(f"{len(by_set)} sets, {counts.min()} to {counts.max()} partitions, at most ", end="")
    print(f"{options.most_rows} training rows; means over the sets\n")
    base = "POOL" if "POOL" in methods else methods[0]
    heads = (
        f"| method | error % | NLL | Brier | calibration | rank by NLL | NLL - {base} | seconds |"
    )
    print(f"{heads}\n|{'---|' * 8}")
    for method in sorted(methods, key=lambda one: by_set["nll"][one].mean()):
        mean = {figure: by_set[figure][method].mean() for figure in FIGURES}
        difference = wide["nll"][method] - wide["nll"][base]
        groups = difference.groupby(level="set")
        # Of the mean over the sets, by their scatter: it holds for further sets.
        error = groups.mean().std(ddof=1) / np.sqrt(len(by_set))
        print(
            f"| {method} | {100 * mean['error']:.2f} | {mean['nll']:.4f} | {mean['brier']:.4f} "
            f"| {mean['calibration']:.4f} | {ranks[method]:.2f} "
            f"| {groups.mean().mean():+.4f} +- {error:.4f} | {mean['seconds']:.1f} |"
        )
    print(f"\nNLL by set\n\n| set | {' | '.join(methods)} |\n|{'---|' * (1 + len(methods))}")
    for name, row in by_set["nll"].iterrows():
        print(f"| {name} | " + " | ".join(f"{row[method]:.4f}" for method in methods) + " |")


def time(options):
    """Print the time of the pools on 800 rows, 36 inputs and 6 classes, and where it goes."""
    X, y, _, _ = partition(*load("satimage"), 0, options.most_rows, MOST_TEST_ROWS)
    for _ in range(2):
        start = perf_counter()
        tuned_svc(X, y)
        peer = perf_counter() - start
        print(f"GridSearchCV(SVC), 49 cells, 5 folds: {peer:.1f} s")
        for name in ("LS2", "POOL"):
            start = perf_counter()
            pool = polychotomy.recipe(name, random_state=0).fit(X, y)
            seconds = perf_counter() - start
            print(f"{name}: {seconds:.1f} s, {seconds / peer:.2f} of that")
            for member, own in pool.seconds_.items():
                print(f"    {member:<22}{own:6.1f} s")


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=[*CHOSEN_ON, *CLAIMED_ON])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--partitions", type=int, default=N_PARTITIONS)
    parser.add_argument("--most-rows", type=int, default=MOST_ROWS)
    parser.add_argument("--results", type=Path, default=Path("quality.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the table and stop")
    parser.add_argument("--time", action="store_true", help="time the pools and stop")
    options = parser.parse_args()
    if options.time:
        time(options)
        return
    if not options.table:
        run(options)
    table(options)


if __name__ == "__main__":
    main()
