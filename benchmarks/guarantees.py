"""Does what decisions promise hold on new rows? 200 draws of training rows on five sets.

For every draw, 300 rows train a classifier and all other rows are new. Printed are means over
the draws with their standard errors: the error among answered rows for wanted errors; coverage
and size of sets, overall and of the class that has the least; the NLL with estimated class
frequencies less that with the true ones, for shifts from a Dirichlet distribution, and without.

    python benchmarks/guarantees.py --draws 200
    python benchmarks/guarantees.py --only reject --draws 20
"""

from __future__ import annotations

import argparse
import os
import warnings

import numpy as np
from _table import Table, add_csv_option
from quality import load
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polychotomy import LSSVM, PolychotomyClassifier
from polychotomy.core import scores
from polychotomy.decisions import (
    LabelShift,
    PredictionSets,
    RejectClassifier,
    reweighted,
    set_report,
)
from polychotomy.decisions.conformal import SCORES, class_thresholds, sets_of
from polychotomy.decisions.held_out import training_rows

SETS = ("digits", "satimage", "segment", "vehicle", "waveform")
N_TRAIN, MOST_NEW = 300, 3000
ERRORS = {"digits": 0.02, "satimage": 0.08, "segment": 0.03, "vehicle": 0.1, "waveform": 0.1}
COVERAGES = (0.8, 0.9, 0.95)


def logistic():
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=300, tol=1e-3))


def ours():
    """Return a pipe of ours, which has out-of-fold probabilities from one fit."""
    pipe = PolychotomyClassifier(
        LSSVM(), "one_vs_rest", "none", "shrunk_soft_max", cv="leave_one_out"
    )
    return make_pipeline(StandardScaler(), pipe)


MODELS = {"logistic": logistic, "ours": ours}


def rows_of(name):
    X, y = load_digits(return_X_y=True) if name == "digits" else load(name)
    return X, np.unique(y, return_inverse=True)[1]


def drawn(X, y, seed, most_new=MOST_NEW):
    mixed = np.random.default_rng(seed).permutation(len(y))
    train, new = mixed[:N_TRAIN], mixed[N_TRAIN : N_TRAIN + most_new]
    return X[train], y[train], X[new], y[new]


def mean_of(values):
    values = np.array(values)
    return f"{values.mean():.4f} ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"


def reject(options):
    """Print the error among the answered rows."""
    table = Table(
        "guarantees_reject",
        "The error among answered rows by `benchmarks/guarantees.py`.",
        ["set", "classifier", "error of all", "wanted", "found", "answered"],
    )
    for name in SETS:
        X, y = rows_of(name)
        for label, model in MODELS.items():
            found, share, everyone = [], [], []
            for seed in range(options.draws):
                A, a, B, b = drawn(X, y, seed)
                clf = RejectClassifier(model(), error=ERRORS[name]).fit(A, a)
                p = clf.predict_proba(B)
                wrong = clf.classes_[p.argmax(axis=1)] != b
                answered = clf.answers(B)
                share.append(answered.mean())
                everyone.append(wrong.mean())
                if answered.any():
                    found.append(wrong[answered].mean())
            table.add(
                *(name, label, f"{np.mean(everyone):.3f}", f"{ERRORS[name]:.2f}"),
                *(mean_of(found), f"{np.mean(share):.3f}"),
            )
    table.save(options.csv)


def calibrated(calibration, A, a, seed):
    """Return a fitted classifier and its held-out rows: half of the rows, or out of fold."""
    owner = PredictionSets(logistic() if calibration == "split" else ours())
    rows = training_rows(owner, A, a, {})
    if calibration == "cross":
        return rows.fit_held_out(None)
    mixed = np.random.default_rng(seed).permutation(len(a))
    fitted = rows.fit(mixed[: len(a) // 2])
    return fitted, rows.held_out(fitted, mixed[len(a) // 2 :])


def sets(options):
    """Print coverage and sizes of sets."""
    table = Table(
        "guarantees_sets",
        "The coverage of prediction sets by `benchmarks/guarantees.py`.",
        [
            *("set", "rows from", "scores", "by class", *(f"{one:.2f}" for one in COVERAGES)),
            *("least of a class at 0.90", "size at 0.90"),
        ],
    )
    kinds = (("lac", False), ("aps", False), ("raps", False), ("lac", True))
    cells = [(*kind, coverage) for kind in kinds for coverage in COVERAGES]
    for name in SETS:
        X, y = rows_of(name)
        for calibration in ("split", "cross"):
            found = {cell: [] for cell in cells}
            for seed in range(options.draws):
                A, a, B, b = drawn(X, y, seed)
                fitted, held_out = calibrated(calibration, A, a, seed)
                p = fitted.predict_proba(B)
                rng = np.random.default_rng(seed)
                before, after = rng.random(len(held_out.y)), rng.random(len(b))
                for method, by_class, coverage in cells:
                    scores = SCORES[method](held_out.p, before, 0.1, 1)
                    thresholds = class_thresholds(scores, held_out.y, coverage, by_class)
                    inside = sets_of(SCORES[method](p, after, 0.1, 1), thresholds)
                    report = set_report(inside, b, np.arange(p.shape[1]))
                    found[method, by_class, coverage].append(report)
            for method, by_class in kinds:
                at_90 = found[method, by_class, 0.90]
                least = np.nanmean([one.class_coverage for one in at_90], axis=0).min()
                table.add(
                    *(name, calibration, method, "yes" if by_class else ""),
                    *(
                        mean_of([one.coverage for one in found[method, by_class, coverage]])
                        for coverage in COVERAGES
                    ),
                    *(f"{least:.3f}", f"{np.mean([one.mean_size for one in at_90]):.2f}"),
                )
    table.save(options.csv)


def shift(options):
    """Print the NLL with estimated class frequencies less that with the true ones."""
    table = Table(
        "guarantees_shift",
        "Shifted class frequencies by `benchmarks/guarantees.py`: NLL less that with the true "
        "frequencies.",
        [
            *("set", "shift", "not adapted", "adapted", "standard error of an NLL"),
            *("within one", "found"),
        ],
    )
    for name in SETS:
        X, y = rows_of(name)
        n_classes = y.max() + 1
        for kind in ("Dirichlet(1)", "none"):
            before, after, errors, tested = [], [], [], []
            for seed in range(options.draws):
                rng = np.random.default_rng(seed)
                A, a, B, b = drawn(X, y, seed, len(y))
                model = LabelShift(ours()).fit(A, a)
                if kind == "none":
                    new = np.bincount(b, minlength=n_classes) / len(b)
                    rows = rng.choice(len(b), 500, replace=False)
                    true = np.bincount(a, minlength=n_classes) / len(a)
                else:
                    new = true = rng.dirichlet(np.ones(n_classes))
                    counts = rng.multinomial(500, new)
                    rows = np.concatenate(
                        [rng.choice(np.flatnonzero(b == k), c) for k, c in enumerate(counts)]
                    )
                model.adapt(B[rows])
                plain = model.unadapted_proba(B[rows])
                told = reweighted(plain, model.training_frequencies_, true)

                def nll(p, t=b[rows]):
                    return -np.log(np.maximum(scores.of_truth(p, t), 1e-15))

                before.append((nll(plain) - nll(told)).mean())
                after.append((nll(model.adapted(plain)) - nll(told)).mean())
                errors.append(nll(told).std() / np.sqrt(500))
                tested.append(model.shift_.p_value < model.level)
            within = np.mean(np.array(after) < np.array(errors))
            table.add(
                *(name, kind, mean_of(before), mean_of(after)),
                *(f"{np.mean(errors):.4f}", f"{within:.2f}", f"{np.mean(tested):.2f}"),
            )
    table.save(options.csv)


PARTS = {"reject": reject, "sets": sets, "shift": shift}


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--only", choices=list(PARTS), default=None)
    add_csv_option(parser)
    options = parser.parse_args()
    if "POLYCHOTOMY_DATA" not in os.environ:
        raise SystemExit("Set POLYCHOTOMY_DATA to the folder with the data sets.")
    for name, part in PARTS.items():
        if options.only in (None, name):
            part(options)


if __name__ == "__main__":
    main()
