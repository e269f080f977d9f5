"""How good the method is that `polychotomy compare` recommends, on rows that it never saw.

On every outer split the default methods are compared on the training part alone, by the function
behind the command; then every compared method is fitted to the whole training part, as `fit` does,
and judged on the test part. The table sets the recommended method, which may be another one on
every split, beside the best single method: the one with the least mean negative log-likelihood
(NLL) over all outer splits, chosen with knowledge of the test parts.

At most 800 training rows and two thirds of all, stratified. The comparison is the command's, with
two exceptions: 5 inner splits in place of 10 (`--inner 10` for those), as `fit` has it, because 10
take more than two minutes of one core on segment; and no limit of time, so that the result does not
depend on how busy the machine is. The sets come from the folder in POLYCHOTOMY_DATA, from
scikit-learn or from OpenML.

An outer split takes about 1.2 to 1.6 times its comparison, because fitting everything once to the
whole training part costs as much as one to three inner splits. Segment takes about 4 times as long
as iris, digits 6 times. One thread by default, so that two pieces can run beside each other:

    python benchmarks/recommendation.py --sets digits --splits 0 1 2 3 4
    python benchmarks/recommendation.py --table     # of what is there

Every outer split is written to a file of JSON lines at once, and is not computed again.

Equivalence: a method that the comparison calls as good as the recommended one is behind it by less
than the stated margin, with 95 % confidence. How often is it, on rows that neither has seen? On the
sets of `_sets.py`, with few rows and without the rivals of other libraries, so that it is cheap;
those of `many-chosen` and `many-claimed` have thousands of unseen rows, which judge precisely:

    python benchmarks/recommendation.py --equivalence --inner 10 --rows 200 --sets chosen --splits 0
    python benchmarks/recommendation.py --equivalence --inner 10 --rows 200 --sets chosen --table

With `--write benchmarks/results/recommendation_equivalence.csv` the table is written, too. With
fewer than ten inner splits, most verdicts are "cannot tell". `_equivalence.py` says what counts.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import Counter
from pathlib import Path
from time import perf_counter

import _equivalence
import _sets
import numpy as np
from _table import Table, add_csv_option
from sklearn.model_selection import StratifiedShuffleSplit
from threadpoolctl import threadpool_limits

from polychotomy import datasets
from polychotomy.compare import (
    HeldOut,
    candidates,
    compare_methods,
    default_names,
    tuned_pipeline,
)
from polychotomy.core import scores

SETS = ("iris", "wine", "glass", "vehicle", "segment", "digits")
N_SPLITS, MOST_ROWS, N_INNER = 10, 800, 5
# The standard error of a difference is far below the margin with so many.
MOST_TEST_ROWS = 10_000


def table_of(name):
    """Return the inputs and class numbers of a set."""
    if name in SETS:
        data = datasets.load(name, exact=False)
        return data.X, np.unique(data.y, return_inverse=True)[1]
    return _sets.load(name)


def outer_split(y, number, most):
    """Return training and test rows of an outer split."""
    size = min(most, 2 * len(y) // 3)
    # A seed for every split: further splits do not change those that are done.
    splitter = StratifiedShuffleSplit(1, train_size=size, random_state=number)
    return next(splitter.split(y, y))


def result(name, number, options):
    """Compare on the training part, then judge every method on the test part."""
    inner, jobs = options.inner, options.jobs
    inputs, y = table_of(name)
    n_classes = int(y.max()) + 1
    train, test = outer_split(y, number, options.rows)
    X, truth = inputs[train], y[train]
    methods = options.methods
    if options.equivalence:
        known = candidates()
        methods = methods or [one for one in default_names() if known[one].family != "other"]
        # As in a comparison: classes that the training part lacks are not judged.
        test = test[np.isin(y[test], truth)][:MOST_TEST_ROWS]
    start = perf_counter()
    comparison = compare_methods(
        X, truth, methods, n_splits=inner, random_state=number, n_jobs=jobs, show_progress=False
    )
    compared = perf_counter()
    judged, losses = {}, []
    for method in comparison.methods:
        model = tuned_pipeline(method, truth, random_state=number, n_jobs=jobs).fit(X, truth)
        p = np.zeros((len(test), n_classes))
        p[:, model.classes_] = model.predict_proba(inputs[test])
        judged[method] = HeldOut(test, p.argmax(axis=1), p, 0.0, {}).figures(y[test])
        losses.append(-np.log(np.maximum(scores.of_truth(p, y[test]), scores.LEAST_PROBABILITY)))
    return {
        "set": name,
        "split": number,
        "inner": inner,
        "most_rows": options.rows,
        "equivalence": options.equivalence,
        "methods": options.methods,
        "recommended": comparison.recommended,
        "margin": comparison.margin,
        "as_good": [
            method
            for method in comparison.methods
            if method != comparison.recommended
            and comparison.is_as_good(method, comparison.recommended)
        ],
        "named": [
            method
            for sentence in comparison.reasons
            for method in comparison.methods
            if sentence.startswith(f"If time matters: {method} ")
        ],
        # What other rules need, so that they can be tried without running anything again.
        "inner_nll": {name: nll.tolist() for name, nll in comparison.figures("nll").items()},
        "inner_seconds": {row["method"]: row["seconds"] for row in comparison.rows},
        "test_to_train": comparison.test_to_train,
        "covariance": (np.cov(losses) / len(test)).tolist(),  # of the methods in "nll"
        "compared": {row["method"]: row["nll"] for row in comparison.rows},
        "left_out": comparison.left_out,
        "nll": {method: figures["nll"] for method, figures in judged.items()},
        "error": {method: figures["error"] for method, figures in judged.items()},
        "rows": [len(train), len(test)],
        "seconds_compare": compared - start,
        "seconds_fit": perf_counter() - compared,
    }


def run(options):
    """Compute what is not there yet."""
    done = {key_of(line) for line in read(options.results)}
    for number in options.splits:
        for name in options.sets:
            asked = (options.inner, options.rows, options.equivalence, as_text(options.methods))
            if (name, number, *asked) in done:
                continue
            with threadpool_limits(options.jobs):
                line = result(name, number, options)
            with open(options.results, "a") as file:
                file.write(json.dumps(line) + "\n")
            best = min(line["nll"], key=line["nll"].get)
            print(
                f"{name} {number}: {line['recommended']} {line['nll'][line['recommended']]:.4f}, "
                f"best {best} {line['nll'][best]:.4f}, {line['seconds_compare']:.0f} + "
                f"{line['seconds_fit']:.0f} s",
                flush=True,
            )


WORDS = (
    "What `compare` recommends beside the best single method, by `benchmarks/recommendation.py`: "
    "NLL on the test parts."
)


def read(file):
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def key_of(line):
    most, equal = line.get("most_rows", MOST_ROWS), line.get("equivalence", False)
    return line["set"], line["split"], line["inner"], most, equal, as_text(line.get("methods"))


def as_text(methods):
    """Return methods in one text; None for the default."""
    return methods and " ".join(methods)


def equivalence(options):
    """Print how often a method that is called as good is within the margin on unseen rows."""
    asked = (options.inner, options.rows, True, as_text(options.methods))
    lines = [
        line
        for line in read(options.results)
        if line["set"] in options.sets
        and line["split"] in options.splits
        and key_of(line)[2:] == asked
    ]
    which = "" if options.methods is None else f", of {as_text(options.methods)}"
    words = (
        "Methods that `compare` calls as good, on rows that neither has seen, by "
        f"`benchmarks/recommendation.py --equivalence`: {options.inner} inner splits, at most "
        f"{options.rows} training rows{which}."
    )
    _equivalence.show(lines, options.write, words)


def table(options):
    """Print how the recommended method does beside the best single one, by set."""
    lines = [
        line
        for line in read(options.results)
        if line["inner"] == options.inner
        and line["split"] in options.splits
        and line["set"] in options.sets
    ]
    groups = {name: [one for one in lines if one["set"] == name] for name in options.sets}
    groups = {name: group for name, group in groups.items() if group}
    print(f"\nNLL on the test parts, {options.inner} inner splits, at most {MOST_ROWS} rows\n")
    heads = (
        *("set", "splits", "recommended", "its NLL", "best single method", "its NLL"),
        *("difference ± standard error", "within one", "errors %"),
    )
    shown = Table("recommendation_by_set", WORDS, heads)
    for name, group in groups.items():
        shown.add(name, *summary(group))
    shown.save(options.csv)
    for name, group in groups.items():
        print(f"\n{name}: " + ", ".join(means(group)))


def summary(group):
    """Return the cells of a set."""
    counts = Counter(one["recommended"] for one in group)
    best = shared(group)[0]
    chosen = column(group, "nll", None)
    difference = chosen - column(group, "nll", best)
    # Not corrected for training parts that overlap: the stricter of the two readings.
    spread = difference.std(ddof=1) / np.sqrt(len(group)) if len(group) > 1 else np.nan
    errors = (100 * column(group, "error", method).mean() for method in (None, best))
    return (
        str(len(group)),
        ", ".join(f"{method} {count}" for method, count in counts.most_common()),
        f"{chosen.mean():.4f}",
        best,
        f"{column(group, 'nll', best).mean():.4f}",
        f"{difference.mean():+.4f} ± {spread:.4f}",
        "?" if np.isnan(spread) else "yes" if difference.mean() <= spread else "no",
        ", ".join(f"{error:.2f}" for error in errors),
    )


def column(group, figure, method):
    """Return a figure of a method on all splits; of the recommended one for None."""
    return np.array([one[figure][method or one["recommended"]] for one in group])


def shared(group):
    """Return the methods that all splits have, the one with the least mean NLL first."""
    methods = set.intersection(*(set(one["nll"]) for one in group))
    return sorted(methods, key=lambda method: column(group, "nll", method).mean())


def means(group):
    for method in shared(group):
        yield f"{method} {column(group, 'nll', method).mean():.4f}"


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    whole = {
        "chosen": _sets.CHOSEN_ON,
        "claimed": _sets.CLAIMED_ON,
        "many-chosen": _sets.MANY_ROWS_CHOSEN_ON,
        "many-claimed": _sets.MANY_ROWS_CLAIMED_ON,
    }
    known = [*SETS, *whole, *(name for names in whole.values() for name in names)]
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=sorted(set(known)))
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="training rows, at most")
    parser.add_argument("--equivalence", action="store_true", help="judge what is called as good")
    parser.add_argument("--write", type=Path, help="write that table as CSV, too")
    parser.add_argument("--splits", nargs="+", type=int, default=list(range(N_SPLITS)))
    parser.add_argument("--inner", type=int, default=N_INNER, help="inner splits of a comparison")
    parser.add_argument("--methods", nargs="+", help="only these [default: those of compare]")
    parser.add_argument("--jobs", type=int, default=1, help="threads")
    parser.add_argument("--results", type=Path, default=Path("recommendation.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the table and stop")
    add_csv_option(parser)
    options = parser.parse_args()
    options.sets = [one for name in options.sets for one in whole.get(name, (name,))]
    if not options.table:
        run(options)
    (equivalence if options.equivalence else table)(options)


if __name__ == "__main__":
    main()
