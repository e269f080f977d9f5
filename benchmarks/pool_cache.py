"""Out-of-fold and test probabilities of members and candidates of the pool, kept in files.

Weights, temperings and choices of members can then be tried in seconds: see pool_weights.py. One
file for every set and partition, in the folder given; what is there already is not computed again.

    nice -n 19 python benchmarks/pool_cache.py folder --sets glass wine --partitions 2
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from _sets import CHOSEN_ON, CLAIMED_ON, load, partition
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from threadpoolctl import threadpool_limits

from polychotomy import KernelLogisticRegression, PolychotomyClassifier, TwoStepSearchCV
from polychotomy.ensemble.members import Rows, fit_members, member_probabilities, metric_key
from polychotomy.ensemble.pool import COARSE_C, FINE_C, default_members
from polychotomy.ensemble.views import learn_view


def kernel_logistic():
    logistic = PolychotomyClassifier(
        KernelLogisticRegression(kernel="anova", gamma=0.5),
        *("one_vs_one", "pooled_platt", "pairwise_coupling"),
    )
    grid = {"machine__C": COARSE_C}
    return TwoStepSearchCV(logistic, grid, FINE_C, ties="nll", show_progress=False)


def candidates():
    trees = ExtraTreesClassifier(300, bootstrap=True, oob_score=True, random_state=0)
    boosting = HistGradientBoostingClassifier(
        max_iter=100, learning_rate=0.1, max_leaf_nodes=15, early_stopping=False, random_state=0
    )
    linear = GridSearchCV(
        LogisticRegression(max_iter=3000),
        {"C": [0.01, 0.1, 1.0, 10.0]},
        scoring="neg_log_loss",
        cv=StratifiedKFold(3),
    )
    return [
        ("trees", trees),
        ("trees, leaves of 3", clone(trees).set_params(min_samples_leaf=3)),
        ("boosting", boosting),
        ("linear", linear),
        ("anova", kernel_logistic()),
    ]


def probabilities(X, y, new, given):
    """Return names, out-of-fold and test probabilities, and seconds of processor time."""
    folds = list(StratifiedKFold(5).split(X, y))
    rows = Rows(X, y, y, np.unique(y), None, np.arange(len(y)), folds)
    teams = {}
    for name, estimator in given:
        teams.setdefault(metric_key(estimator) or name, []).append((name, estimator))
    found = []
    for team in teams.values():
        start = process_time()
        members = fit_members(team, rows)
        seconds = (process_time() - start) / len(team)
        found += [
            (
                m.name,
                m.out_of_fold,
                member_probabilities(m.estimator, new, rows.classes, m.name),
                seconds,
            )
            for m in members
        ]
    return found


def compute(name, number, most_rows):
    train_X, train_y, new_X, new_y = partition(*load(name), number, most_rows, 2000)
    found = probabilities(train_X, train_y, new_X, default_members() + candidates())
    view = learn_view("ranks", train_X, np.ones(len(train_y)))
    ranked = view.transform(train_X), train_y, view.transform(new_X)
    found += probabilities(*ranked, [("anova of ranks", kernel_logistic())])
    names, out_of_fold, test, seconds = zip(*found, strict=True)
    return {
        "names": np.array(names),
        "out_of_fold": np.stack(out_of_fold),
        "test": np.stack(test),
        "seconds": np.array(seconds),
        "y": train_y,
        "new_y": new_y,
    }


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="+", default=[*CHOSEN_ON, *CLAIMED_ON])
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--most-rows", type=int, default=800)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for number in range(options.partitions):
        for name in options.sets:
            file = options.folder / f"{name}-{options.most_rows}-{number}.npz"
            if not file.exists():
                with threadpool_limits(1):
                    found = compute(name, number, options.most_rows)
                # In one step: what is there is whole.
                part = file.with_suffix(".part.npz")
                np.savez_compressed(part, **found)
                part.rename(file)
                times = zip(found["names"], found["seconds"], strict=True)
                print(name, number, *(f"{who} {s:.1f}" for who, s in times), flush=True)


if __name__ == "__main__":
    main()
