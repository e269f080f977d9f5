"""Do better probabilities decide better? Costs, rejection and sets, of six methods on ten sets.

Partitions as in `quality.py`, with at most 400 training rows. On the test rows: the mean cost of
the cheapest actions over 20 random cost tables, as a share of the cost without any inputs (the
action that is cheapest for the class frequencies); the area under the risk-coverage curve; the
mean size of sets of classes (LAC, 90 %, thresholds from one half of the test rows for the other).
Every result is written to a file of JSON lines at once, and what is there is not computed again:

    python benchmarks/decisions.py --partitions 4
    python benchmarks/decisions.py --table
    python benchmarks/decisions.py --disagreement   # of the binary machines, as a reason to reject
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _table import Table, add_csv_option
from quality import METHODS, figures, load, partition
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import polychotomy
from polychotomy.decisions import mean_cost, risk_coverage, set_report
from polychotomy.decisions.conformal import class_thresholds, sets_of, with_likeliest
from polychotomy.decisions.costs import cost_table
from polychotomy.decisions.risk_coverage import curve_of

SETS = [
    *("abe", "balance-scale", "digits", "dna", "glass"),
    *("led", "satimage", "segment", "vehicle", "waveform"),
]
SIX = ["POOL", "ProbabilisticSVC", "SVC, sigmoid", "forest", "gradient boosting", "logistic"]
MOST_ROWS, N_TABLES, COVERAGE = 400, 20, 0.9
FIGURES = ("nll", "error", "cost", "area", "size", "coverage")


def rows_of(name):
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X, y.astype(str)
    return load(name)


def split(name, number):
    """Return the rows of a partition, and the classes of its training rows."""
    return partition(*rows_of(name), number, MOST_ROWS)


def relative_cost(p, y, train, seed):
    """Return the mean cost over random tables, as a share of the cost without inputs."""
    rng = np.random.default_rng(seed)
    n_classes = p.shape[1]
    frequencies = np.bincount(train, minlength=n_classes) / len(train)
    found = []
    for _ in range(N_TABLES):
        costs = rng.lognormal(0.0, 1.0, (n_classes, n_classes))
        np.fill_diagonal(costs, 0.0)
        table = cost_table(costs, np.arange(n_classes))
        naive = costs[y, (frequencies @ costs).argmin()].mean()
        found.append(mean_cost(y, p, table, np.arange(n_classes)) / naive)
    return float(np.mean(found))


def sets_by_halves(p, y, seed):
    """Return mean size and coverage of sets, with thresholds from the other half of the rows."""
    mixed = np.random.default_rng(seed).permutation(len(y))
    halves = mixed[: len(y) // 2], mixed[len(y) // 2 :]
    sizes, covered = [], []
    for one, other in (halves, halves[::-1]):
        thresholds = class_thresholds(1.0 - p[one], y[one], COVERAGE, False)
        sets = with_likeliest(sets_of(1.0 - p[other], thresholds), p[other])
        report = set_report(sets, y[other], np.arange(p.shape[1]))
        sizes.append(report.mean_size)
        covered.append(report.coverage)
    return float(np.mean(sizes)), float(np.mean(covered))


def result(name, number, method):
    train_X, train_y, new_X, new_y = split(name, number)
    labels = np.unique(rows_of(name)[1])
    clf = METHODS[method](train_X, train_y)
    p = np.zeros((len(new_y), len(labels)))
    p[:, np.searchsorted(labels, clf.classes_)] = clf.predict_proba(new_X)
    y, train = np.searchsorted(labels, new_y), np.searchsorted(labels, train_y)
    size, coverage = sets_by_halves(p, y, number)
    return {
        "set": name,
        "partition": number,
        "method": method,
        **figures(p, y),
        "cost": relative_cost(p, y, train, number),
        "area": risk_coverage(y, p, np.arange(len(labels))).area,
        "size": size,
        "coverage": coverage,
    }


def run(options):
    """Compute what is not there yet."""
    done = {(line["set"], line["partition"], line["method"]) for line in read(options.results)}
    for number in range(options.partitions):
        for name in options.sets:
            for method in options.methods:
                if (name, number, method) in done:
                    continue
                line = result(name, number, method)
                with open(options.results, "a") as file:
                    file.write(json.dumps(line) + "\n")
                print(
                    name, number, method, *(f"{one} {line[one]:.4f}" for one in FIGURES), flush=True
                )


def read(file):
    return (
        [json.loads(line) for line in Path(file).read_text().splitlines()] if file.exists() else []
    )


def table(options):
    """Print means over the sets, and how ranks by NLL go with ranks by the decisions."""
    frame = pd.DataFrame(read(options.results))
    frame = frame[frame.method.isin(options.methods)]
    wide = frame.pivot_table(index=["set", "partition"], columns="method", values=list(FIGURES))
    wide = wide.dropna()
    by_set = wide.groupby(level="set").mean()
    counts = wide.groupby(level="set").size()
    print(f"{len(by_set)} sets, {counts.min()} to {counts.max()} partitions; means over the sets\n")
    means = Table(
        "decisions",
        "Do better probabilities decide better? By `benchmarks/decisions.py`: means over the sets.",
        [
            *("method", "NLL", "error %", "cost", "area", "set size", "coverage"),
            "cost - POOL",
        ],
    )
    methods = sorted(options.methods, key=lambda one: by_set["nll"][one].mean())
    for method in methods:
        mean = {figure: by_set[figure][method].mean() for figure in FIGURES}
        groups = (wide["cost"][method] - wide["cost"]["POOL"]).groupby(level="set")
        error = np.sqrt((groups.var(ddof=1) / groups.size()).sum()) / len(by_set)
        means.add(
            *(method, f"{mean['nll']:.4f}", f"{100 * mean['error']:.2f}", f"{mean['cost']:.4f}"),
            *(f"{mean['area']:.4f}", f"{mean['size']:.3f}", f"{mean['coverage']:.3f}"),
            f"{groups.mean().mean():+.4f} ± {error:.4f}",
        )
    means.save(options.csv)
    print("\nMean over the sets of the rank correlation, over the methods, with the NLL:")
    for figure in ("error", "cost", "area", "size"):
        ranks = [
            by_set["nll"].loc[name].rank().corr(by_set[figure].loc[name].rank())
            for name in by_set.index
        ]
        # Where all methods have the same figure there is no correlation.
        known = np.array([one for one in ranks if not np.isnan(one)])
        print(f"  {figure}: {known.mean():.2f} (positive on {np.sum(known > 0)} of {len(known)})")
    costs = Table(
        "decisions_by_set",
        "Cost of decisions by set, by `benchmarks/decisions.py`.",
        ["set", *methods],
    )
    for name, row in by_set["cost"].iterrows():
        costs.add(name, *(f"{row[method]:.3f}" for method in methods))
    costs.save(options.csv)


def doubts(clf, X):
    """Return what the binary machines of a one-vs-one pipe say of the predicted class."""
    p = clf.predict_proba(X)
    winner = p.argmax(axis=1)
    first, second = np.triu_indices(p.shape[1], 1)
    scores = clf.binary_scores(X)
    # The scores of the winner's own pairs, positive where it wins.
    own = np.where(first == winner[:, None], scores, np.nan)
    own = np.where(second == winner[:, None], -scores, own)
    r = np.where(first == winner[:, None], 1.0, np.nan)
    r = np.where(second == winner[:, None], 1.0, r)
    lost = np.nansum((own < 0) * (r == 1.0), axis=1)
    sure = np.log(np.maximum(p.max(axis=1), 1e-12) / np.maximum(1 - p.max(axis=1), 1e-12))
    return p, np.column_stack([sure, lost, np.nanmin(own, axis=1), np.nanstd(own, axis=1)])


def disagreement(options):
    """Reject by probability, or by a logistic model that sees the binary machines as well."""
    table = Table(
        "decisions_disagreement",
        "Rejecting by what the binary machines say, by `benchmarks/decisions.py --disagreement`: "
        "area under the risk-coverage curve.",
        ["set", "probability", "and lost pairs, least margin, spread", "difference"],
    )
    differences = []
    for name in options.sets:
        found = []
        for number in range(options.partitions):
            train_X, train_y, new_X, new_y = split(name, number)
            clf = polychotomy.PolychotomyClassifier(polychotomy.SVM(C=10))
            # Out-of-fold answers of pipes that have not seen the rows, to learn from.
            parts = np.arange(len(train_y)) % 3
            seen, wrong = [], []
            for part in range(3):
                clf.fit(train_X[parts != part], train_y[parts != part])
                p, doubt = doubts(clf, train_X[parts == part])
                seen.append(doubt)
                said = clf.classes_[p.argmax(axis=1)]
                wrong.append(said != train_y[parts == part])
            seen, wrong = np.vstack(seen), np.concatenate(wrong)
            p, doubt = doubts(clf.fit(train_X, train_y), new_X)
            lost = (clf.classes_[p.argmax(axis=1)] != new_y).astype(float)
            model = make_pipeline(StandardScaler(), LogisticRegression())
            alone = curve_of(lost, p.max(axis=1)).area
            if 0 < wrong.sum() < len(wrong):
                model.fit(seen, wrong)
                both = curve_of(lost, -model.predict_proba(doubt)[:, 1]).area
            else:
                both = alone
            found.append((alone, both))
        alone, both = np.mean(found, axis=0)
        differences.append(np.array(found)[:, 1] - np.array(found)[:, 0])
        table.add(name, f"{alone:.4f}", f"{both:.4f}", f"{both - alone:+.4f}")
    means = np.array([one.mean() for one in differences])
    error = np.sqrt(np.mean([one.var(ddof=1) / len(one) for one in differences]) / len(means))
    table.add("all", "", "", f"{means.mean():+.4f} ± {error:.4f}")
    table.save(options.csv)
    print(f"\nlower with the machines on {np.sum(means < 0)} of {len(means)} sets")


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--methods", nargs="+", default=SIX, choices=list(METHODS))
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--results", type=Path, default=Path("decisions.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the table and stop")
    parser.add_argument("--disagreement", action="store_true", help="try it, and stop")
    add_csv_option(parser)
    options = parser.parse_args()
    if "POLYCHOTOMY_DATA" not in os.environ:
        raise SystemExit("Set POLYCHOTOMY_DATA to the folder with the data sets.")
    if options.disagreement:
        disagreement(options)
        return
    if not options.table:
        run(options)
    table(options)


if __name__ == "__main__":
    main()
