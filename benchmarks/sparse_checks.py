"""What it costs to check the structure of sparse inputs, as a share of fitting and predicting.

Random rows with 1 % of their entries, in processor time; medians of --repeats rounds.

    python benchmarks/sparse_checks.py --rows 2000 20000
"""

import argparse
from collections.abc import Callable
from statistics import median
from time import process_time

import numpy as np
from scipy.sparse import random_array

from polychotomy import SVM, PolychotomyClassifier
from polychotomy.core.checks import check_sparse


def seconds(function: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = process_time()
        function()
        times.append(process_time() - start)
    return median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[2000, 20000])
    parser.add_argument("--columns", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(f"{'rows':>8}{'entries':>10}{'of fit':>10}{'of predict_proba':>18}")
    for n_rows in options.rows:
        rng = np.random.default_rng(0)
        X = random_array((n_rows, options.columns), density=0.01, rng=rng, format="csr")
        y = np.arange(n_rows) % 4
        clf = PolychotomyClassifier(SVM(kernel="linear", tol=0.1, max_iter=200))
        check = seconds(lambda X=X: check_sparse(X), options.repeats)
        fit = seconds(lambda X=X, y=y, clf=clf: clf.fit(X, y), 1)
        ask = seconds(lambda X=X, clf=clf: clf.predict_proba(X), options.repeats)
        print(f"{n_rows:>8}{X.nnz:>10}{check / fit:>10.2%}{check / ask:>18.2%}")


if __name__ == "__main__":
    main()
