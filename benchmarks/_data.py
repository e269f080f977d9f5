"""What the benchmarks of the kernel machines share: data sets, label columns, distances."""

import os
from itertools import combinations
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler

Array = np.ndarray
GRID = 10.0 ** np.arange(-3, 4)


def load(name: str, n_rows: int) -> tuple[Array, Array]:
    """Return standardised inputs and class numbers of at most `n_rows` rows, sorted by class.

    All sets but digits are read from the folder in POLYCHOTOMY_DATA.
    """
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        X, y = _read(name)
    chosen = np.random.default_rng(0).permutation(len(y))[:n_rows]
    chosen = chosen[np.argsort(y[chosen], kind="stable")]
    return StandardScaler().fit_transform(X[chosen]), np.unique(y[chosen], return_inverse=True)[1]


def _read(name: str) -> tuple[Array, Array]:
    import pandas as pd

    folder = os.environ.get("POLYCHOTOMY_DATA")
    if folder is None:
        raise SystemExit(f"Set POLYCHOTOMY_DATA to the folder that has {name}.csv.gz.")
    frame = pd.read_csv(Path(folder) / f"{name}.csv.gz", dtype={"class": str})
    y = frame.pop("class").to_numpy(dtype=str)
    return frame.to_numpy(dtype=float), y


def one_vs_one(y: Array) -> Array:
    pairs = list(combinations(range(y.max() + 1), 2))
    labels = np.zeros((len(y), len(pairs)), dtype=np.int8)
    for column, (first, second) in enumerate(pairs):
        labels[y == first, column] = 1
        labels[y == second, column] = -1
    return labels


def one_vs_rest(y: Array) -> Array:
    return np.where(y[:, None] == np.arange(y.max() + 1), 1, -1).astype(np.int8)


def squared_distances(X: Array) -> Array:
    distances = euclidean_distances(X, squared=True)
    return (distances + distances.T) / 2
