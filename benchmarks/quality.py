"""Errors and class probabilities of the pools, of the papers' methods and of their rivals.

Stratified partitions of the sets of `_sets.py`, at most 800 training rows, the same partitions for
all methods; every method sees standardised inputs and tunes itself on the training rows. Rivals
from other libraries take part if they are installed (`pip install "polychotomy[rivals]"`). Every
result is written to a file of JSON lines at once, and what is there already is not computed again,
so that the work can be done in pieces:

    python benchmarks/quality.py --sets glass wine --methods LS2 POOL --partitions 3
    python benchmarks/quality.py --ablation         # POOL, and with fewer members
    python benchmarks/quality.py --methods POOL stack --most-rows 5000 --sets many-claimed
    python benchmarks/quality.py --table            # of what is there
    python benchmarks/quality.py --against stack    # is POOL ahead of it?
    python benchmarks/quality.py --write            # results/quality.csv and the table in the docs
    python benchmarks/quality.py --time             # where the time goes, beside GridSearchCV(SVC)
"""

from __future__ import annotations

import argparse
import json
import subprocess
import warnings
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd
from _sets import CHOSEN_ON, CLAIMED_ON, MANY_ROWS_CHOSEN_ON, MANY_ROWS_CLAIMED_ON, load, partition
from _table import Table, add_csv_option, write_table
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import polychotomy
from polychotomy.compare import Conditions, candidates
from polychotomy.ensemble.members import member_probabilities

N_PARTITIONS, MOST_ROWS, MOST_TEST_ROWS = 10, 800, 3000
DECADES = 10.0 ** np.arange(-3, 4)
FOLDS = StratifiedKFold(5)
FIGURES = ("error", "nll", "brier", "calibration", "seconds")
CLAIMS = (*CLAIMED_ON, *MANY_ROWS_CLAIMED_ON)
CHOICES = (*CHOSEN_ON, *MANY_ROWS_CHOSEN_ON)
# Pools with less, of members that are fitted once: names of members that are left out, and whether
# all are tempered without structure.
WITHOUT = {
    "POOL": ((), False),
    "POOL, without trees": (("trees",), False),
    "POOL, without boosting": (("boosting",), False),
    "POOL, without both": (("trees", "boosting"), False),
    "POOL, tempered plainly": ((), True),
}
HERE = Path(__file__).parent
KEPT = HERE / "results" / "quality.csv"
WORDS = (
    "Quality of class probabilities, by `benchmarks/quality.py`: figures on the test rows of every "
    "partition, seconds of processor time (some on a busy computer), and the commit of the code."
)
PAGE = HERE.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- quality.py: from here -->\n", "<!-- quality.py: to here -->\n"


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
    for number in range(options.first, options.partitions):
        for name in options.sets:
            X = None
            if options.ablation:
                X, y = load(name)
                rows = partition(X, y, number, options.most_rows, MOST_TEST_ROWS)
                keys = {"set": name, "partition": number}
            first = [[*WITHOUT][-1]] if options.ablation else options.methods
            for method in first:
                if (name, number, method, options.most_rows) in done:
                    continue
                if X is None:
                    X, y = load(name)
                    rows = partition(X, y, number, options.most_rows, MOST_TEST_ROWS)
                    keys = {"set": name, "partition": number}
                answers = ablation(*rows) if options.ablation else [answer(method, *rows)]
                for line in (judged(one, rows[3], y) for one in answers):
                    whole = {**keys, **line, "most_rows": options.most_rows, "code": version()}
                    with open(options.results, "a") as file:
                        file.write(json.dumps(whole) + "\n")
                    found = (f"{figure} {line[figure]:.4f}" for figure in FIGURES)
                    print(name, number, line["method"], *found, flush=True)


def version():
    """Return the commit of the code; with + if files differ from it."""
    words = ["git", "-C", str(HERE), "describe", "--always", "--exclude", "*", "--dirty=+"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def answer(method, X, y, new_X, new_y):
    """Return the method, its classes, their probabilities, and seconds of processor time."""
    start = process_time()
    # One thread: what a method costs, not how many cores it finds.
    with threadpool_limits(1):
        clf = METHODS[method](X, y)
    seconds = process_time() - start
    return method, clf.classes_, clf.predict_proba(new_X), seconds


def ablation(X, y, new_X, new_y):
    """Yield what `answer` returns for POOL and for pools with less.

    The members are fitted once; the time of a pool is the share of its members.
    """
    start = process_time()
    with threadpool_limits(1):
        pool = polychotomy.recipe("POOL", random_state=0)
        members, rows = pool._fit_members(X, y, None)
    seconds = process_time() - start
    new = {
        name: member_probabilities(one, new_X, pool.classes_, name)
        for name, one in pool.members_.items()
    }
    for name, (dropped, plainly) in WITHOUT.items():
        kept = [member for member in members if member.name not in dropped]
        if plainly:
            kept = [replace(member, left_out_alone=True) for member in kept]
        part = polychotomy.PolychotomyPool()
        part._fit_weights(kept, rows)
        p = np.stack([part.temperings_[one.name].transform(new[one.name]) for one in kept])
        share = sum(one.seconds for one in kept) / sum(one.seconds for one in members)
        yield name, pool.classes_, part._together(p), share * seconds


def judged(found, new_y, y):
    method, classes, own, seconds = found
    # A class may be missing in the training rows.
    labels = np.unique(y)
    p = np.zeros((len(new_y), len(labels)))
    p[:, np.searchsorted(labels, classes)] = own
    return {
        "method": method,
        **figures(p, np.searchsorted(labels, new_y)),
        "seconds": seconds,
    }


def read(file):
    """Return the results in a file: JSON lines, or a table."""
    if not file.exists():
        return []
    if file.suffix == ".csv":
        return pd.read_csv(file, comment="#", dtype={"code": str}).to_dict("records")
    return [json.loads(line) for line in file.read_text().splitlines()]


def key_of(line):
    return line["set"], line["partition"], line["method"], line["most_rows"]


def matched(lines, methods, most_rows):
    """Return figures of the cells that all methods have, and those methods."""
    frame = pd.DataFrame(lines)
    frame = frame[(frame.most_rows == most_rows) & frame.method.isin(methods)]
    there = [method for method in methods if (frame.method == method).any()]
    wide = frame.pivot_table(index=["set", "partition"], columns="method", values=list(FIGURES))
    return wide.dropna(), there


def table(options):
    """Print means over the sets, ranks, paired differences to POOL, and NLL by set."""
    wide, methods = matched(read(options.results), options.methods, options.most_rows)
    for title, sets in (("claimed on", CLAIMS), ("chosen on", CHOICES)):
        some = wide[wide.index.get_level_values("set").isin(sets)]
        if len(some):
            print(f"\nSets {title}")
            for one in one_table(some, methods, options):
                one.save(options.csv if title == "chosen on" else None)


def verdict(wide, rival, base="POOL"):
    """Return sentences: by how much POOL is ahead of a rival, and where it is behind."""
    gaps = wide["nll"][rival] - wide["nll"][base]
    groups = gaps.groupby(level="set")
    means, counts = groups.mean(), groups.size()
    # Of the mean over the sets, by their scatter: it holds for further sets.
    error = means.std(ddof=1) / np.sqrt(len(means))
    own = groups.std(ddof=1) / np.sqrt(counts)
    # A mean may rest on few sets.
    rest = means.sort_values()[:-3]
    rest_error = rest.std(ddof=1) / np.sqrt(len(rest))
    without = f"; without the three largest {rest.mean():+.4f} ± {rest_error:.4f}"
    behind = means[means < 0]
    clear = [name for name in behind.index if counts[name] > 1 and -means[name] > 2 * own[name]]
    cost = wide["seconds"].groupby(level="set").median().mean()
    each = (
        f"{counts.min()}" if counts.min() == counts.max() else f"{counts.min()} to {counts.max()}"
    )
    # One partition does not show how much they scatter.
    several = counts > 1
    whether = f", by two standard errors on {', '.join(clear) or 'none'}" if several.any() else ""
    if whether and not several.all():
        whether += f" of the {several.sum()} with several partitions"
    return (
        f"NLL of {rival} less that of {base}, {len(means)} sets, partitions of each: {each}: "
        f"{means.mean():+.4f} ± {error:.4f} ({means.mean() / error:.1f} standard errors; median "
        f"{means.median():+.4f}{without if len(rest) > 3 else ''}). "
        f"POOL is ahead on {(means > 0).sum()} sets, behind on "
        f"{', '.join(f'{name} ({-gap:.3f})' for name, gap in behind.items()) or 'none'}{whether}. "
        f"It takes {cost[base]:.1f} s of processor time, {rival} {cost[rival]:.1f} s."
    )


def against(options):
    """Print the verdict about POOL and a rival, on sets claimed on and chosen on."""
    wide, _ = matched(read(options.results), ["POOL", options.against], options.most_rows)
    for title, sets in (("claimed on", CLAIMS), ("chosen on", CHOICES)):
        some = wide[wide.index.get_level_values("set").isin(sets)]
        if len(some):
            print(f"Sets {title}. {verdict(some, options.against)}")


def write(options):
    """Add results to the table that is kept, and write the tables in the docs from it."""
    lines = {key_of(line): line for file in (KEPT, options.results) for line in read(file)}
    frame = pd.DataFrame(lines.values())
    order = ["most_rows", "set", "partition", "method"]
    frame = frame[[*order, *FIGURES, "code"]].sort_values(order).reset_index(drop=True)
    cells = frame.round({figure: 2 if figure == "seconds" else 6 for figure in FIGURES})
    rows = cells.itertuples(index=False)
    write_table(KEPT, WORDS, list(frame), rows, "Each row has the commit that computed it.")
    page = PAGE.read_text()
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    # From the table that is kept, whose figures are rounded.
    kept = in_docs(pd.DataFrame(read(KEPT)))
    PAGE.write_text(f"{before}{BEGIN}\n{kept}\n{END}{after}")


def in_docs(frame):
    """Return the tables of the docs: POOL and the stack on sets claimed on, and the ablation."""
    lines = frame.to_dict("records")
    parts = []
    for most_rows in sorted(set(frame.most_rows)):
        for methods in (["POOL", "stack"], list(WITHOUT)):
            wide, there = matched(lines, methods, most_rows)
            wide = wide[wide.index.get_level_values("set").isin(CLAIMS)]
            if len(there) < len(methods) or wide.index.get_level_values("set").nunique() < 2:
                continue
            verdicts = [verdict(wide, method, methods[0]) for method in methods[1:]]
            by_set = wide["nll"].groupby(level="set").mean()[methods]
            rows = [
                f"At most {most_rows:,} training rows.",
                "",
                *(f"- {one}" for one in verdicts),
                "",
            ]
            rows += [
                f"| set | partitions | {' | '.join(methods)} |",
                f"|{'---|' * (2 + len(methods))}",
            ]
            counts = wide.groupby(level="set").size()
            for name, row in by_set.iterrows():
                cells = " | ".join(f"{row[method]:.4f}" for method in methods)
                rows.append(f"| {name} | {counts[name]} | {cells} |")
            cells = " | ".join(f"{by_set[method].mean():.4f}" for method in methods)
            parts.append("\n".join([*rows, f"| mean | | {cells} |", ""]))
    return "\n".join(parts)


def one_table(wide, methods, options):
    by_set = wide.groupby(level="set").mean()
    # What else the machine had to do in some partition does not count.
    by_set["seconds"] = wide["seconds"].groupby(level="set").median()
    ranks = by_set["nll"][methods].rank(axis=1).mean()
    counts = wide.groupby(level="set").size()
    print(f"{len(by_set)} sets, {counts.min()} to {counts.max()} partitions, at most ", end="")
    print(f"{options.most_rows} training rows; means over the sets\n")
    base = "POOL" if "POOL" in methods else methods[0]
    means = Table(
        "quality_means",
        f"Quality of class probabilities on {len(by_set)} sets by `benchmarks/quality.py`: means "
        "over the sets.",
        [
            *("method", "error %", "NLL", "Brier", "calibration", "rank by NLL", f"NLL - {base}"),
            "seconds",
        ],
    )
    for method in sorted(methods, key=lambda one: by_set["nll"][one].mean()):
        mean = {figure: by_set[figure][method].mean() for figure in FIGURES}
        difference = wide["nll"][method] - wide["nll"][base]
        groups = difference.groupby(level="set")
        # Of the mean over the sets, by their scatter: it holds for further sets.
        error = groups.mean().std(ddof=1) / np.sqrt(len(by_set))
        means.add(
            *(method, f"{100 * mean['error']:.2f}", f"{mean['nll']:.4f}", f"{mean['brier']:.4f}"),
            *(f"{mean['calibration']:.4f}", f"{ranks[method]:.2f}"),
            *(f"{groups.mean().mean():+.4f} ± {error:.4f}", f"{mean['seconds']:.1f}"),
        )
    losses = Table(
        "quality_by_set",
        f"Quality of class probabilities on {len(by_set)} sets by `benchmarks/quality.py`: NLL by "
        "set.",
        ["set", *methods],
    )
    for name, row in by_set["nll"].iterrows():
        losses.add(name, *(f"{row[method]:.4f}" for method in methods))
    return means, losses


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
    names = list(dict.fromkeys([*METHODS, *WITHOUT]))
    parser.add_argument("--methods", nargs="+", default=names, choices=names)
    parser.add_argument("--first", type=int, default=0, help="the first partition")
    parser.add_argument("--partitions", type=int, default=N_PARTITIONS)
    parser.add_argument("--most-rows", type=int, default=MOST_ROWS)
    parser.add_argument("--results", type=Path, default=Path("quality.jsonl"))
    parser.add_argument("--ablation", action="store_true", help="POOL, and with fewer members")
    parser.add_argument("--against", metavar="RIVAL", help="say where POOL is ahead, and stop")
    parser.add_argument("--write", action="store_true", help="keep results, write the docs, stop")
    parser.add_argument("--table", action="store_true", help="print the table and stop")
    parser.add_argument("--time", action="store_true", help="time the pools and stop")
    add_csv_option(parser)
    options = parser.parse_args()
    for stop, act in ((options.time, time), (options.against, against), (options.write, write)):
        if stop:
            act(options)
            return
    groups = {"many-claimed": MANY_ROWS_CLAIMED_ON, "many-chosen": MANY_ROWS_CHOSEN_ON}
    options.sets = [one for name in options.sets for one in groups.get(name, (name,))]
    options.methods = [name for name in options.methods if options.table or name in METHODS]
    if not options.table:
        run(options)
    table(options)


if __name__ == "__main__":
    main()
