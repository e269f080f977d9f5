"""How much the folds of the calibrator move probabilities, and what folds by content cost.

The classifier is fitted again on permuted rows. A table gives the largest change of any class
probability of any training row, for scikit-learn's folds (in the order of the rows), for folds
shuffled with another seed each time, and for folds by content (cv=5), where only the tolerance of
the solver is left. A second table gives the processor time of ordering rows by content.

    python benchmarks/folds.py --permutations 10
"""

import argparse
from time import process_time

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polychotomy import LSSVM, SVM, KernelLogisticRegression, PolychotomyClassifier
from polychotomy.pipe.folds import FoldRows


def spread(machine: object, kind: str, X: np.ndarray, y: np.ndarray, n: int) -> float:
    """Return the largest change of a probability when the rows are permuted."""

    def fitted(seed: int) -> np.ndarray:
        order = np.random.default_rng(seed).permutation(len(y)) if seed else np.arange(len(y))
        cv = {
            "order": StratifiedKFold(5),
            "shuffled": StratifiedKFold(5, shuffle=True, random_state=seed),
            "content": 5,
        }[kind]
        clf = PolychotomyClassifier(
            clone(machine), calibrator="platt", decoder="pairwise_coupling", cv=cv
        )
        return make_pipeline(StandardScaler(), clf).fit(X[order], y[order]).predict_proba(X)

    first = fitted(0)
    return max(float(np.abs(fitted(seed) - first).max()) for seed in range(1, n + 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--permutations", type=int, default=10)
    options = parser.parse_args()
    kinds = ("order", "shuffled", "content")
    print(f"{'data':<8}{'machine':<26}" + "".join(f"{kind:>12}" for kind in kinds))
    for name, load in (("iris", load_iris), ("wine", load_wine)):
        X, y = load(return_X_y=True)
        for machine in (SVM(), LSSVM(), KernelLogisticRegression()):
            found = [spread(machine, kind, X, y, options.permutations) for kind in kinds]
            cells = "".join(f"{value:>12.2g}" for value in found)
            print(f"{name:<8}{type(machine).__name__:<26}{cells}")
    print(f"\n{'rows':>9}{'inputs':>8}{'seconds':>9}")
    rng = np.random.default_rng(0)
    for n_rows, n_inputs in ((10_000, 30), (60_000, 784), (1_000_000, 30)):
        X, y = rng.normal(size=(n_rows, n_inputs)), rng.integers(6, size=n_rows)
        start = process_time()
        FoldRows(X, y, np.arange(n_rows), None).stratified()
        print(f"{n_rows:>9}{n_inputs:>8}{process_time() - start:>9.2f}")


if __name__ == "__main__":
    main()
