"""Out-of-fold and test probabilities of members and candidates of the pool, kept in files.

Weights, temperings and choices of members can then be tried in seconds: see pool_weights.py. One
file for every set and partition, in the folder given; what is there already is not computed again.

    nice -n 19 python benchmarks/pool_cache.py folder --sets glass wine --partitions 2
    python benchmarks/pool_cache.py folder --most-rows 5000 --also trees boosting

With `--also`, the members of the pool and these candidates only. With `--nested`, also what
refitted members say of each fold: metrics, C and widths are learned again without it, so that
nothing about these probabilities is optimistic. That takes five times as long again.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from _sets import ALSO_CHOSEN_ON, CHOSEN_ON, CLAIMED_ON, MANY_ROWS_CHOSEN_ON, load, partition
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from polychotomy import KernelLogisticRegression, PolychotomyClassifier, TwoStepSearchCV
from polychotomy.ensemble.default_members import (
    COARSE_C,
    FINE_C,
    boosted_trees,
    default_members,
    randomised_trees,
)
from polychotomy.ensemble.members import Rows, fit_members, member_probabilities, metric_key
from polychotomy.ensemble.views import learn_view

RANKED = "ANOVA of ranks"


def differing():
    """Return members for classes that depend on thresholds: an ANOVA kernel, and trees."""
    anova = PolychotomyClassifier(
        KernelLogisticRegression(kernel="anova", gamma=0.5),
        *("one_vs_one", "pooled_platt", "pairwise_coupling"),
    )
    search = TwoStepSearchCV(
        anova, {"machine__C": COARSE_C}, FINE_C, ties="nll", show_progress=False
    )
    # Out-of-bag rows take the place of folds: each is seen by about a third of the trees.
    trees = ExtraTreesClassifier(300, bootstrap=True, oob_score=True, random_state=0)
    return [("logistic anova", make_pipeline(StandardScaler(), search)), ("trees", trees)]


def five_members(n_rows):
    """Return the kernel machines of the pool, without the trees that many rows have."""
    return [one for one in default_members(n_rows=n_rows) if one[0] not in ("trees", "boosting")]


def candidates():
    trees = dict(differing())["trees"]
    boosting = HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=15, min_samples_leaf=5, l2_regularization=1.0, random_state=0
    )
    linear = GridSearchCV(
        LogisticRegression(max_iter=3000),
        {"C": [0.01, 0.1, 1.0, 10.0]},
        scoring="neg_log_loss",
        cv=StratifiedKFold(3),
    )
    # With more rows, more rounds pay: they end when a tenth of the rows gains no more.
    stopped = clone(boosting).set_params(max_iter=300, early_stopping=True)
    return [
        *differing(),
        ("trees of all inputs", clone(trees).set_params(max_features=None)),
        ("100 trees of all inputs", clone(trees).set_params(n_estimators=100, max_features=None)),
        ("boosting", boosting.set_params(early_stopping=False)),
        ("boosting, stopped", stopped),
        # As the pool has them with 2,000 rows and more.
        ("trees of folds", randomised_trees(0)),
        ("boosting of folds", boosted_trees()),
        ("linear", linear),
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


def nested(X, y):
    """Return probabilities of every fold by members that have not seen it in any way."""
    given, folds = five_members(len(y)), list(StratifiedKFold(5).split(X, y))
    p = np.zeros((len(given), len(y), y.max() + 1))
    for train, test in folds:
        known = np.unique(y[train])
        found = probabilities(X[train], y[train], X[test], given)
        for member, (_, _, new, _) in zip(p, found, strict=True):
            member[np.ix_(test, known)] = new
    return p


def compute(name, number, most_rows, also, with_nested):
    train_X, train_y, new_X, new_y = partition(*load(name), number, most_rows, 2000)
    more = [one for one in candidates() if also is None or one[0] in also]
    given = five_members(len(train_y)) + more
    found = probabilities(train_X, train_y, new_X, given)
    if also is None or RANKED in also:
        view = learn_view("ranks", train_X, np.ones(len(train_y)))
        ranked = view.transform(train_X), train_y, view.transform(new_X)
        anova = dict(differing())["logistic anova"]
        found += probabilities(*ranked, [(RANKED, anova)])
    names, out_of_fold, test, seconds = zip(*found, strict=True)
    more = {"nested": nested(train_X, train_y)} if with_nested else {}
    return {
        **more,
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
    sets = [*CHOSEN_ON, *ALSO_CHOSEN_ON, *MANY_ROWS_CHOSEN_ON, *CLAIMED_ON]
    parser.add_argument("--sets", nargs="+", default=sets)
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--most-rows", type=int, default=800)
    parser.add_argument("--also", nargs="*", help="candidates, in place of all of them")
    parser.add_argument("--nested", action="store_true", help="members refitted for each fold")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for number in range(options.partitions):
        for name in options.sets:
            file = options.folder / f"{name}-{options.most_rows}-{number}.npz"
            if not file.exists():
                with threadpool_limits(1):
                    found = compute(name, number, options.most_rows, options.also, options.nested)
                # In one step: what is there is whole.
                part = file.with_suffix(".part.npz")
                np.savez_compressed(part, **found)
                part.rename(file)
                times = zip(found["names"], found["seconds"], strict=True)
                print(name, number, *(f"{who} {s:.1f}" for who, s in times), flush=True)


if __name__ == "__main__":
    main()
