"""Negative log-likelihood of Platt + Wu-Lin-Weng with and without tempering, and of its rivals.

The data sets of the papers, from the folder in POLYCHOTOMY_DATA: 10 stratified partitions, at most
800 training rows, inputs scaled; C and sigma2 by cross-validation of a small grid, the same for
all. Prints means over the partitions, and paired differences with their standard errors.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _table import Table, add_csv_option
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from polychotomy import SVM, PolychotomyClassifier, TwoStepSearchCV

SETS = [
    *("abe", "balance-scale", "dermatology", "dna", "glass", "iris", "led", "letter"),
    *("new-thyroid", "satimage", "segment", "soybean-small", "usps", "vehicle", "waveform"),
    *("wine", "zoo"),
]
METHODS = {
    "plain": {},
    "tempered": {"tempering": "auto"},
    "pooled": {"calibrator": "pooled_platt"},
    "pooled, tempered": {"calibrator": "pooled_platt", "tempering": "auto"},
    "shrunk soft-max": {"calibrator": "none", "decoder": "shrunk_soft_max"},
}
N_PARTITIONS, MOST_ROWS, MOST_TEST_ROWS = 10, 800, 3000
WORDS = (
    "Platt and coupling with and without tempering by `benchmarks/tempering.py`: NLL, and "
    "differences to the first column."
)


def load(name):
    frame = pd.read_csv(
        Path(os.environ["POLYCHOTOMY_DATA"]) / f"{name}.csv.gz", dtype={"class": str}
    )
    frame = frame.drop(columns=[column for column in ("split",) if column in frame])
    inputs = frame.drop(columns="class")
    return inputs.fillna(inputs.median()).to_numpy(float), frame["class"].to_numpy()


def partitions(X, y):
    size = min(MOST_ROWS, 2 * len(y) // 3)
    test = min(MOST_TEST_ROWS, len(y) - size)
    splitter = StratifiedShuffleSplit(N_PARTITIONS, train_size=size, test_size=test, random_state=0)
    for train, rest in splitter.split(X, y):
        scaler = StandardScaler().fit(X[train])
        yield scaler.transform(X[train]), y[train], scaler.transform(X[rest]), y[rest]


def losses(X, y, new_X, new_y):
    """Return the NLL of every method on new rows."""
    grid = {
        "machine__C": [1.0, 10.0, 100.0],
        "machine__sigma2": [0.25 * X.shape[1], X.shape[1], 4.0 * X.shape[1]],
    }
    plain = PolychotomyClassifier(SVM(), "one_vs_one", "platt", "pairwise_coupling")
    search = TwoStepSearchCV(plain, grid, fine=None, refit=False, show_progress=False).fit(X, y)
    plain.set_params(**search.best_params_)
    found = []
    for options in METHODS.values():
        clf = PolychotomyClassifier(**{**plain.get_params(deep=False), **options}).fit(X, y)
        p = clf.predict_proba(new_X)
        found.append(log_loss(new_y, np.clip(p, 1e-15, 1.0), labels=clf.classes_))
    return found


def main(names, folder):
    warnings.simplefilter("ignore")
    table = Table("tempering", WORDS, ["set", *METHODS])
    means, better, clearly = [], 0, 0
    for name in names:
        nll = np.array([losses(*partition) for partition in partitions(*load(name))])
        difference = nll[:, 1:] - nll[:, :1]
        error = difference.std(axis=0, ddof=1) / np.sqrt(len(nll))
        means.append(nll.mean(axis=0))
        better += difference[:, 0].mean() < 0
        clearly += difference[:, 0].mean() < -2 * error[0]
        pairs = zip(difference.mean(axis=0), error, strict=True)
        table.add(name, f"{nll[:, 0].mean():.4f}", *(f"{mean:+.4f} ± {e:.4f}" for mean, e in pairs))
    table.add("mean", *(f"{mean:.4f}" for mean in np.mean(means, axis=0)))
    table.save(folder)
    print(f"tempered is lower on {better} of {len(names)} sets, by two errors on {clearly}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS)
    add_csv_option(parser)
    options = parser.parse_args()
    main(options.sets, options.csv)
