"""How fast the SVM solver is against LIBSVM on the same Gram matrices.

One run, one thread, processor time: C and sigma2 over 1e-3..1e3 (49 cells), five stratified folds
and all rows, one-vs-one and one-vs-rest, standardised inputs. Gram matrices are given to both, and
cutting out the folds' parts for scikit-learn's SVC(kernel="precomputed") is not counted; in
one-vs-one SVC does all pairs in one call. "ratio" is the time over ours in the same cells. At 1e-3
LIBSVM's small C is mostly noise, so it is timed at 1e-5, too.

    python benchmarks/svm_solver.py --rows 500 --data digits segment --folder /path/to/csv
"""

import argparse
import os
from itertools import combinations
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polychotomy._native import _core
from polychotomy._native.svm import solve_svm

Array = np.ndarray
GRID = 10.0 ** np.arange(-3, 4)


def load(name: str, n_rows: int, folder: str | None) -> tuple[Array, Array]:
    """Return standardised inputs and class numbers, sorted by class."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        import pandas as pd

        frame = pd.read_csv(Path(folder or ".") / f"{name}.csv.gz", dtype={"class": str})
        y = frame.pop("class").to_numpy()
        X = frame.to_numpy(float)
    chosen = np.random.default_rng(0).permutation(len(y))[:n_rows]
    chosen = chosen[np.argsort(y[chosen], kind="stable")]
    return StandardScaler().fit_transform(X[chosen]), np.unique(y[chosen], return_inverse=True)[1]


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
    squares = (X**2).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0)
    return (distances + distances.T) / 2


def time_libsvm(gram: Array, targets: list[Array], subsets: list[Array], tol: float) -> Array:
    seconds = np.zeros(len(GRID))
    for rows in subsets:
        part = np.ascontiguousarray(gram[np.ix_(rows, rows)])
        for place, C in enumerate(GRID):
            for target in targets:
                machine = SVC(C=C, kernel="precomputed", tol=tol, cache_size=1000)
                start = process_time()
                machine.fit(part, target[rows])
                seconds[place] += process_time() - start
    return seconds


def time_ours(gram: Array, labels: Array, subsets: list[Array]) -> tuple[float, Array]:
    start = process_time()
    solution = solve_svm(gram, labels, subsets, GRID)
    return process_time() - start, solution.iterations.sum(axis=(0, 2))


def run(name: str, n_rows: int, folder: str | None) -> None:
    X, y = load(name, n_rows, folder)
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    subsets = [train for train, _ in folds] + [np.arange(len(y))]
    distances = squared_distances(X)
    rest = one_vs_rest(y)
    codes = {
        "one-vs-one": (one_vs_one(y), [y]),
        "one-vs-rest": (rest, list(rest.T)),
    }
    for code, (labels, targets) in codes.items():
        ours, theirs, strict, baseline = (np.zeros(len(GRID)) for _ in range(4))
        iterations = np.zeros((len(GRID), len(GRID)))
        for place, sigma2 in enumerate(GRID):
            gram = np.exp(-distances / (2 * sigma2))
            ours[place], iterations[:, place] = time_ours(gram, labels, subsets)
            _core.use_baseline_lanes(True)
            baseline[place], _ = time_ours(gram, labels, subsets)
            _core.use_baseline_lanes(False)
            theirs[place] = time_libsvm(gram, targets, subsets, 1e-3).sum()
            strict[place] = time_libsvm(gram, targets, subsets, 1e-5).sum()
        print(f"\n{name}, {len(y)} rows, {y.max() + 1} classes, {code}: {ours.sum():.2f} s")
        print(f"  LIBSVM at 1e-3           ratio {theirs.sum() / ours.sum():6.2f}")
        print(f"  LIBSVM at 1e-5           ratio {strict.sum() / ours.sum():6.2f}")
        print(f"  ours without AVX2        ratio {baseline.sum() / ours.sum():6.2f}")
        print("  LIBSVM's ratio by sigma2", np.round(theirs / ours, 1))
        print("  share of time by sigma2 ", np.round(ours / ours.sum(), 2))
        print("  iterations by C         ", iterations.sum(axis=1).astype(int))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--data", nargs="+", default=["digits"])
    parser.add_argument("--folder", default=os.environ.get("POLYCHOTOMY_DATA"))
    arguments = parser.parse_args()
    print(f"One thread, lanes for {_core.lanes_in_use()}")
    for name in arguments.data:
        run(name, arguments.rows, arguments.folder)


if __name__ == "__main__":
    main()
