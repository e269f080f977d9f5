"""What it costs to check the structure of sparse inputs, as a share of fitting and predicting.

Random rows with 1 % of their entries, in processor time; medians of --repeats rounds.

    python benchmarks/sparse_checks.py --rows 2000 20000
"""

import argparse
from collections.abc import Callable
from statistics import median
from time import process_time

import numpy as np
from _table import Table, add_csv_option
from scipy.sparse import random_array

from polychotomy import SVM, PolychotomyClassifier
from polychotomy.core.checks import check_sparse

WORDS = (
    "What checking the structure of sparse inputs costs, by `benchmarks/sparse_checks.py`: "
    "its share of the processor time of `fit` and `predict_proba`."
)


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
    add_csv_option(parser)
    options = parser.parse_args()
    table = Table("sparse_checks", WORDS, ["rows", "entries", "of `fit`", "of `predict_proba`"])
    for n_rows in options.rows:
        rng = np.random.default_rng(0)
        X = random_array((n_rows, options.columns), density=0.01, rng=rng, format="csr")
        y = np.arange(n_rows) % 4
        clf = PolychotomyClassifier(SVM(kernel="linear", tol=0.1, max_iter=200))
        check = seconds(lambda X=X: check_sparse(X), options.repeats)
        fit = seconds(lambda X=X, y=y, clf=clf: clf.fit(X, y), 1)
        ask = seconds(lambda X=X, clf=clf: clf.predict_proba(X), options.repeats)
        table.add(f"{n_rows:,}", f"{X.nnz:,}", f"{check / fit:.3%}", f"{check / ask:.1%}")
    table.save(options.csv)


if __name__ == "__main__":
    main()
