"""Peak memory and time of SVMs as the number of rows grows, for several memory limits.

One-vs-rest on generated data (4 classes, 20 inputs), so that every binary problem is on all rows;
scikit-learn's SVC trains the same four problems one after another with the limit as its
`cache_size`. Every fit is in a process of its own; memory is what its peak adds to the peak before
the fit, and the Gram matrix of all rows is given for comparison. "ratio" is processor time over
ours with the default limit, at the same number of rows, one thread; medians over --repeats rounds.

    python benchmarks/memory.py --rows 2000 4000 8000
    python benchmarks/memory.py --kernel linear --rows 10000 100000
"""

import argparse
import json
import resource
import subprocess
import sys
from itertools import product
from time import process_time

import numpy as np
from _table import Table, add_csv_option
from sklearn.datasets import make_classification

N_CLASSES, N_FEATURES = 4, 20
LIMITS = (None, 1e7, 1e8)
WORDS = (
    "Peak memory above that before the fit, by `benchmarks/memory.py`, and processor time, "
    "ours with a Gram matrix = 1."
)


def make_machine(name: str, kernel: str, limit: float | None):
    import polychotomy as pc

    if name == "ours":
        svm = pc.SVM(C=10, kernel=kernel, gamma=0.05, memory_limit=limit)
    else:
        from sklearn.svm import SVC

        svm = SVC(C=10, kernel=kernel, gamma=0.05, cache_size=(limit or 2e8) / 2**20)
    return pc.PolychotomyClassifier(
        svm, "one_vs_rest", calibrator="none", decoder="winner_takes_all", n_jobs=1
    )


def child(name: str, kernel: str, n_rows: int, limit: float | None) -> None:
    from threadpoolctl import threadpool_limits

    X, y = make_classification(
        n_rows, N_FEATURES, n_informative=10, n_redundant=0, n_classes=N_CLASSES, random_state=0
    )
    clf = make_machine(name, kernel, limit).fit(X[:200], y[:200])  # imports what it needs
    with threadpool_limits(1):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = process_time()
        clf.fit(X, y)
        seconds = process_time() - start
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "bytes": (after - before) * 1024}))


def run(name: str, limit: float | None, n_rows: int, kernel: str) -> dict:
    command = [sys.executable, __file__, "--child", name, "--kernel", kernel]
    command += ["--rows", str(n_rows)] + ([] if limit is None else ["--limit", str(limit)])
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[2000, 4000, 8000])
    parser.add_argument("--kernel", default="rbf", choices=["rbf", "linear", "poly"])
    parser.add_argument("--limit", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--without-svc", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    add_csv_option(parser)
    arguments = parser.parse_args()
    if arguments.child:
        return child(arguments.child, arguments.kernel, arguments.rows[0], arguments.limit)
    cells: dict[str, list[str]] = {}
    for n_rows in arguments.rows:
        gram = 8e-6 * n_rows**2
        print(f"{n_rows} rows, {arguments.kernel} kernel, a Gram matrix of {gram:.0f} MB")
        names = ("ours",) if arguments.without_svc else ("ours", "SVC")
        kinds = list(product(names, LIMITS))
        rounds = [
            [run(*kind, n_rows, arguments.kernel) for kind in kinds]
            for _ in range(arguments.repeats)
        ]
        found = np.median(
            [[(one["seconds"], one["bytes"]) for one in each] for each in rounds], axis=0
        )
        for (name, limit), (seconds, peak) in zip(kinds, found, strict=True):
            given = "default limit" if limit is None else f"{limit / 1e6:.0f} MB"
            figures = [f"+{peak / 1e6:.0f} MB", f"{seconds / found[0, 0]:.2f}"]
            print(f"  {name}, {given}:", *figures, flush=True)
            cells.setdefault(f"{name}, {given}", []).extend(figures)
    heads = [(f"{n_rows:,} rows", "time") for n_rows in arguments.rows]
    table = Table("memory", WORDS, ["", *(head for pair in heads for head in pair)])
    for name, figures in cells.items():
        table.add(name, *figures)
    table.save(arguments.csv)


if __name__ == "__main__":
    main()
