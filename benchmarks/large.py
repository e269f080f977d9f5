"""One-vs-one on data of the shape of MNIST, within 8 GB: against SVC and scikit-learn-intelex.

The data are generated: 784 inputs in [0, 1], ten classes. A class is 12 prototypes, each a smooth
image; a row is a prototype of its class moved along 20 smooth directions that all classes share
(the low intrinsic dimension of handwriting), with noise at every input, half of the inputs always
near 0. Some rows lie nearer to another class, as in MNIST.

Every machine trains in a process of its own, whose peak memory is measured; "ratio" is the time
over ours at the same number of rows, in processor time of one thread. SVC and
scikit-learn-intelex's SVC (pip install scikit-learn-intelex) get the memory limit as `cache_size`.
Agreement is the share of test rows with the same predicted class as ours; SVC breaks ties of votes
by the order of the classes, we by confidence.

    python benchmarks/large.py --rows 6000                       # all of them
    python benchmarks/large.py --rows 60000 --machines ours      # within 8 GB
"""

import argparse
import json
import resource
import subprocess
import sys
from time import perf_counter, process_time

import numpy as np
from _table import Table, add_csv_option

Array = np.ndarray
N_CLASSES, SIDE = 10, 28
N_PROTOTYPES, N_DIRECTIONS = 12, 20
C, GAMMA = 5.0, 0.02
MACHINES = ("ours", "SVC", "intelex")
LIMIT = 8e9


def smooth_images(rng: np.random.Generator, count: int) -> Array:
    """Return images of a few random waves, of unit variance."""
    place = np.arange(SIDE) / SIDE
    waves = np.stack([np.cos(np.pi * k * (place + 0.5 / SIDE)) for k in range(7)])
    weights = rng.standard_normal((count, 7, 7)) / (1.0 + np.add.outer(np.arange(7), np.arange(7)))
    images = np.einsum("cab,ai,bj->cij", weights, waves, waves).reshape(count, -1)
    return images / images.std(axis=1, keepdims=True)


def make_data(n_rows: int, seed: int) -> tuple[Array, Array]:
    """Return inputs and classes; the prototypes do not depend on the seed."""
    fixed = np.random.default_rng(0)
    prototypes = smooth_images(fixed, N_CLASSES * N_PROTOTYPES)
    directions = smooth_images(fixed, N_DIRECTIONS)
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % N_CLASSES
    X = np.empty((n_rows, SIDE * SIDE))
    for start in range(0, n_rows, 1000):  # so that making data takes no more memory than they do
        part = slice(start, min(start + 1000, n_rows))
        chosen = y[part] * N_PROTOTYPES + rng.integers(N_PROTOTYPES, size=len(y[part]))
        X[part] = 0.2 * rng.standard_normal(X[part].shape) + prototypes[chosen]
        X[part] += 0.08 * rng.standard_normal((len(chosen), N_DIRECTIONS)) @ directions
        np.clip(0.3 * X[part], 0.0, 1.0, out=X[part])
    return X, y


def machine(name: str, memory_limit: float, n_jobs: int):
    if name == "ours":
        import polychotomy as pc

        svm = pc.SVM(C=C, gamma=GAMMA, memory_limit=memory_limit)
        return pc.PolychotomyClassifier(
            svm, "one_vs_one", calibrator="none", decoder="max_wins", n_jobs=n_jobs
        )
    if name == "intelex":
        from sklearnex import patch_sklearn

        patch_sklearn(verbose=False)
    from sklearn.svm import SVC

    return SVC(C=C, gamma=GAMMA, cache_size=memory_limit / 2**20)


def child(name: str, n_rows: int, memory_limit: float, n_jobs: int) -> None:
    from threadpoolctl import threadpool_limits

    X, y = make_data(n_rows, 1)
    X_test, y_test = make_data(1000, 2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    clf = machine(name, memory_limit, n_jobs)
    with threadpool_limits(n_jobs):
        start, start_wall = process_time(), perf_counter()
        clf.fit(X, y)
        seconds, wall = process_time() - start, perf_counter() - start_wall
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        predicted = clf.predict(X_test)
    print(
        json.dumps(
            {
                "seconds": seconds,
                "wall": wall,
                "before": before * 1024,
                "peak": peak * 1024,
                "error": float((predicted != y_test).mean()),
                "predicted": predicted.tolist(),
            }
        )
    )


def run(name: str, arguments: argparse.Namespace) -> dict:
    command = [sys.executable, __file__, "--child", name, "--rows", str(arguments.rows)]
    command += ["--memory-limit", str(arguments.memory_limit), "--jobs", str(arguments.jobs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"failed": last}
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--machines", nargs="+", choices=MACHINES, default=list(MACHINES))
    parser.add_argument("--memory-limit", type=float, default=4e9)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    add_csv_option(parser)
    arguments = parser.parse_args()
    if arguments.child:
        return child(arguments.child, arguments.rows, arguments.memory_limit, arguments.jobs)
    print(
        f"{arguments.rows} rows x {SIDE * SIDE} inputs, {N_CLASSES} classes, one-vs-one, "
        f"memory limit {arguments.memory_limit / 1e9:.1f} GB, {arguments.jobs} thread(s)"
    )
    table = Table(
        "large",
        f"{arguments.rows:,} rows of the shape of MNIST by `benchmarks/large.py`: processor time, "
        "ours = 1, and peak memory.",
        ["", "time", "peak", "of it data", "error", "the same predictions as ours"],
    )
    ours = None
    for name in arguments.machines:
        found = run(name, arguments)
        if "failed" in found:
            print(f"  {name:8s} failed: {found['failed']}", flush=True)
            continue
        ours = ours or found
        agreement = np.mean(np.array(found["predicted"]) == np.array(ours["predicted"]))
        table.add(
            name,
            f"{found['seconds'] / ours['seconds']:.1f}",
            f"{found['peak'] / 1e9:.2f} GB",
            f"{found['before'] / 1e9:.2f} GB",
            f"{100 * found['error']:.1f} %",
            f"{100 * agreement:.1f} %",
        )
        if name == "ours" and found["peak"] > LIMIT:
            sys.exit(f"ours took {found['peak'] / 1e9:.1f} GB, more than {LIMIT / 1e9:.0f} GB")
    table.save(arguments.csv)


if __name__ == "__main__":
    main()
