"""Ways to combine members of a pool, and members to add, on the probabilities of pool_cache.py.

Prints the NLL minus that of the pool as it is (its five members): the mean
over the sets, its standard error from the scatter of the sets, and on how many sets it is better.
Choose on the first table; the second one is for claims.

    python benchmarks/pool_weights.py folder
    python benchmarks/pool_weights.py folder --present 800    # trees and boosting as they are now
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from _sets import ALSO_CHOSEN_ON, CHOSEN_ON, CLAIMED_ON, GENERATED, MANY_ROWS_CHOSEN_ON
from _table import Table, add_csv_option
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from polychotomy import StructuredTempering, Tempering
from polychotomy.compare._bagged import greedy_weights
from polychotomy.core import scores
from polychotomy.ensemble import pooling
from polychotomy.ensemble.pooling import arithmetic_mean, fit_log_linear, geometric_mean

FIVE = ("ls gaussian", "ls laplacian", "logistic gaussian", "logistic laplacian", "svm")
SEVEN = (*FIVE, "logistic anova", "trees")
POOLS = {
    "five": FIVE,
    "with trees": (*FIVE, "trees"),
    "with ANOVA": (*FIVE, "logistic anova"),
    "with ANOVA of ranks": (*FIVE, "ANOVA of ranks"),
    "with boosting": (*FIVE, "boosting"),
    "with ANOVA, trees": SEVEN,
    "and a linear one": (*SEVEN, "linear"),
    "and trees of all inputs": (*SEVEN, "trees of all inputs"),
    "and boosting": (*SEVEN, "boosting"),
    "with trees and boosting": (*FIVE, "trees", "boosting"),
    "with boosting, stopped": (*FIVE, "boosting, stopped"),
    "with trees and boosting, stopped": (*FIVE, "trees", "boosting, stopped"),
}
# The present kinds of trees and boosting; the columns are temperings and shares of the log-linear
# pool.
PRESENT = {
    "five": FIVE,
    "with trees": (*FIVE, "trees of folds"),
    "with boosting": (*FIVE, "boosting of folds"),
    "with both": (*FIVE, "trees of folds", "boosting of folds"),
}
SHARES = (0.5, 0.75, 1.0)
# Weights and temperings of the five from probabilities of refitted members.
NESTED = "five, nested"
BASE = "five", "the pool's"


def nll(p, y):
    return float(scores.nll(p, y, np.ones(len(y))))


def mixture(p, y, pseudo):
    pooling.PSEUDO_COUNTS = pseudo
    return pooling.mixture_weights(scores.of_truth(p, y).T, np.ones(len(y)))


def simplex(p, y, pull):
    """Return weights that maximise the likelihood of the geometric mean, pulled to equal ones."""
    logs, rows, size = np.log(np.maximum(p, 1e-12)), np.arange(len(y)), len(p)

    def objective(w):
        z = np.tensordot(w, logs, 1)
        top = z.max(axis=1, keepdims=True)
        q = np.exp(z - top)
        total = q.sum(axis=1, keepdims=True)
        value = (top + np.log(total)).sum() - z[rows, y].sum()
        slope = np.einsum("nk,mnk->m", q / total, logs) - logs[:, rows, y].sum(axis=1)
        away = w - 1.0 / size
        return value + 0.5 * pull * size * away @ away, slope + pull * size * away

    sums = {"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": lambda w: np.ones(size)}
    start, bounds = np.full(size, 1.0 / size), [(0.0, 1.0)] * size
    found = minimize(*(objective, start), jac=True, method="SLSQP", bounds=bounds, constraints=sums)
    weights = np.maximum(found.x, 0.0)
    return weights / weights.sum()


def both_means(weights, p, new, y):
    tempering = Tempering().fit(geometric_mean(p, weights), y)
    geometric = tempering.transform(geometric_mean(new, weights))
    return 0.5 * (arithmetic_mean(new, weights) + geometric)


def ways(p, new, y):
    """Yield names and test probabilities of all ways to combine."""
    yield "equal", both_means(np.full(len(p), 1.0 / len(p)), p, new, y)
    yield "EM, 5 rows", both_means(mixture(p, y, 5.0), p, new, y)
    weights = mixture(p, y, 1.0)
    yield "EM, 1 row", both_means(weights, p, new, y)
    for pull in (10.0, 3.0):
        yield f"simplex, pull {pull:.0f}", both_means(simplex(p, y, pull), p, new, y)
    yield "greedy", both_means(greedy_weights(p, y), p, new, y)
    log_linear = fit_log_linear(p, y, None).transform(new)
    yield "log-linear", log_linear
    yield "the pool's", 0.5 * (arithmetic_mean(new, weights) + log_linear)
    own = 0.5 * (arithmetic_mean(p, weights) + fit_log_linear(p, y, None).transform(p))
    again = Tempering().fit(own, y)
    yield (
        "the pool's, tempered",
        again.transform(0.5 * (arithmetic_mean(new, weights) + log_linear)),
    )


def tempered(kept, structured):
    """Return out-of-fold and test probabilities; those of leave-one-out get no structure."""
    found = []
    for name, p, new in zip(kept["names"], kept["out_of_fold"], kept["test"], strict=True):
        kind = StructuredTempering if structured and not name.startswith("ls ") else Tempering
        one = kind().fit(p, kept["y"])
        found.append((one.transform(p), one.transform(new)))
    return [np.stack(part) for part in zip(*found, strict=True)]


def judged_present(file):
    kept = np.load(file)
    names, y, new_y = list(kept["names"]), kept["y"], kept["new_y"]
    for structured in (False, True):
        p, new = tempered(kept, structured)
        for pool, members in PRESENT.items():
            some = [names.index(one) for one in members if one in names]
            mean = arithmetic_mean(new[some], mixture(p[some], y, 1.0))
            log_linear = fit_log_linear(p[some], y, None).transform(new[some])
            for share in SHARES:
                q = (1.0 - share) * mean + share * log_linear
                way = f"{'structured' if structured else 'plain'}, {share:g}"
                name = file.stem.rsplit("-", 2)[0]
                yield {"set": name, "pool": pool, "way": way, "nll": nll(q, new_y)}


def judged(file):
    kept = np.load(file)
    name = file.stem.rsplit("-", 2)[0]
    names, y, new_y = list(kept["names"]), kept["y"], kept["new_y"]
    temperings = [Tempering().fit(p, y) for p in kept["out_of_fold"]]
    p = np.stack([t.transform(q) for t, q in zip(temperings, kept["out_of_fold"], strict=True)])
    new = np.stack([t.transform(q) for t, q in zip(temperings, kept["test"], strict=True)])
    for pool, members in POOLS.items():
        if not set(members) <= set(names):
            continue
        some = [names.index(one) for one in members]
        for way, q in ways(p[some], new[some], y):
            yield {"set": name, "pool": pool, "way": way, "nll": nll(q, new_y)}
    if "nested" in kept:
        some = [names.index(one) for one in FIVE]
        temperings = [Tempering().fit(q, y) for q in kept["nested"]]
        p = [one.transform(q) for one, q in zip(temperings, kept["nested"], strict=True)]
        new = [one.transform(q) for one, q in zip(temperings, kept["test"][some], strict=True)]
        for way, q in ways(np.stack(p), np.stack(new), y):
            yield {"set": name, "pool": NESTED, "way": way, "nll": nll(q, new_y)}


def show(frame, title, sets, base=BASE, what="Ways to combine members"):
    """Print differences to the pool, and return the table."""
    some = frame[frame.set.isin(sets)]
    columns, count = list(dict.fromkeys(some.way)), some.set.nunique()
    table = Table(
        f"pool_weights_{title}",
        f"{what} on {count} sets: NLL minus that of {' with '.join(base)}, and the number of sets "
        "on which it is lower. By `benchmarks/pool_weights.py`.",
        ["members", *columns],
    )
    if not len(some):
        return table
    means = some.groupby(["set", "pool", "way"])["nll"].mean().unstack(["pool", "way"])
    print(f"\n{title}: {len(means)} sets, NLL of the pool {means[base].mean():.4f}")
    for pool in [one for one in dict.fromkeys([*POOLS, NESTED, *PRESENT]) if one in means.columns]:
        cells = [(means[pool, way] - means[base]).dropna() for way in columns]
        texts = [f"{x.mean():+.4f} ± {x.std() / len(x) ** 0.5:.4f}, {(x < 0).sum()}" for x in cells]
        table.add(pool, *texts)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--present", metavar="NAME", help="trees and boosting of the pool")
    add_csv_option(parser)
    options = parser.parse_args()
    files = [file for file in sorted(options.folder.glob("*.npz")) if ".part" not in file.name]
    judge = judged_present if options.present else judged
    with threadpool_limits(1):
        frame = pd.DataFrame([line for file in files for line in judge(file)])
    chosen = [*CHOSEN_ON, *ALSO_CHOSEN_ON, *MANY_ROWS_CHOSEN_ON, *GENERATED]
    if options.present:
        base, what = ("five", "plain, 0.5"), "Members of the pool"
        show(frame, options.present, chosen, base, what).save(options.csv)
        return
    for title, sets in (("chosen", chosen), ("claimed", CLAIMED_ON)):
        show(frame, title, sets).save(options.csv)


if __name__ == "__main__":
    main()
