"""Many rows: landmarks against exact machines, trees and scikit-learn's own approximations.

Every method trains in a process of its own, with one thread. "seconds" is the processor time of
`fit`, "MB" the peak memory of the process with the data in it, "rows/s" the speed of
`predict_proba`. Inputs are float32. Kernels have scikit-learn's width, ``gamma="scale"``, and
nothing is tuned on the test rows.

Data sets:
  noisy       each class an equal mixture of eight unit Gaussians in 30 inputs, 6 classes (the Bayes
              rule has an NLL of .519); it favours kernels
  thresholds  30 inputs, 6 classes by axis-aligned thresholds with label noise; it favours trees
  shuttle     9 integer inputs, 7 classes, three of them rare
  covertype   10 numbers and 44 binary inputs, 7 classes of unequal sizes
  mnist       mnist.npz in the folder in POLYCHOTOMY_DATA; the first 5,000 test rows
  classes     64 inputs, 1,000 classes (or another number, as in classes:10)

Results are kept in benchmarks/results/scale.csv, with the version of the code, and not computed
again: delete the file, or rows of it, to measure them anew. docs/scale.md has the table of --table,
and the exponents of --growth.

    python benchmarks/scale.py --all        # all rows of the table, in about half an hour
    python benchmarks/scale.py noisy --rows 1000000 --methods multinomial:2000 lightgbm
    python benchmarks/scale.py --growth     # exponents of time in rows, landmarks and classes
    python benchmarks/scale.py --table
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from time import process_time

import numpy as np

Array = np.ndarray
N_TEST = 20_000
STORE = Path(__file__).parent / "results" / "scale.csv"
WORDS = "Many rows: one thread, processor time and peak memory, by `benchmarks/scale.py`."
# What --all runs. Peers whose time or memory grows too fast for all rows have fewer.
PLAN = (
    ("noisy", 1_000_000, ("multinomial:2000", "lssvm_C:2000", "lightgbm", "trees")),
    (
        "noisy",
        100_000,
        (
            "multinomial:1000",
            "lssvm:1000",
            "klr:500",
            "nystroem_logistic:500",
            "nystroem_sgd:1000",
            "lightgbm",
            "trees",
        ),
    ),
    ("noisy", 10_000, ("exact", "svc", "svc_intelex")),
    ("thresholds", 100_000, ("multinomial:1000", "lssvm:1000", "lightgbm", "trees")),
    ("shuttle", 58_000, ("multinomial:1000", "lssvm:1000", "exact", "svc", "svc_intelex")),
    ("shuttle", 58_000, ("lightgbm", "trees")),
    ("covertype", 500_000, ("multinomial:1000", "lssvm_C:1000", "lightgbm", "trees")),
    ("mnist", 60_000, ("multinomial:2000", "exact_cv:3", "auto", "searched", "svc_intelex")),
    ("mnist", 20_000, ("exact_cv:3", "svc", "svc_intelex", "nystroem_sgd:1000", "lightgbm")),
    ("classes:1000", 100_000, ("lssvm_winner:1000", "nystroem_ridge:1000")),
    ("classes:1000", 100_000, ("lssvm_platt:1000",)),
    ("classes:1000", 10_000, ("lssvm_shared:1000",)),
    ("classes:10", 100_000, ("lssvm_winner:1000", "lssvm_platt:1000", "nystroem_ridge:1000")),
    ("classes:10", 100_000, ("lssvm_C:1000", "lssvm_shared:1000")),
)
FIELDS = ("data", "rows", "method", "seconds", "MB", "NLL", "error", "rows/s", "version")


def noisy(n_rows: int, seed: int) -> tuple[Array, Array]:
    centres = (0.62 * np.random.default_rng(5).standard_normal((6, 8, 30))).astype(np.float32)
    random = np.random.default_rng(seed)
    y = random.integers(0, 6, n_rows)
    X = random.standard_normal((n_rows, 30), dtype=np.float32)
    for start in range(0, n_rows, 10_000):
        block = slice(start, start + 10_000)
        X[block] += centres[y[block], random.integers(0, 8, len(y[block]))]
    return X, y


def thresholds(n_rows: int, seed: int) -> tuple[Array, Array]:
    fixed, random = np.random.default_rng(7), np.random.default_rng(seed)
    X = random.standard_normal((n_rows, 30), dtype=np.float32)
    inputs, cuts = fixed.integers(0, 30, (6, 6)), fixed.normal(0.0, 0.5, (6, 6))
    votes = np.stack([(X[:, i] > c).sum(axis=1) for i, c in zip(inputs, cuts, strict=True)], axis=1)
    noise = random.gumbel(size=votes.shape)
    return X, (1.5 * votes + noise).argmax(axis=1)


def shuttle(n_rows: int, seed: int) -> tuple[Array, Array]:
    fixed, random = np.random.default_rng(11), np.random.default_rng(seed)
    shares = np.array([0.786, 0.0008, 0.0029, 0.153, 0.056, 0.0003, 0.001])
    y = random.choice(7, size=n_rows, p=shares / shares.sum())
    centres = fixed.normal(0.0, 15.0, (7, 3, 9))
    X = centres[y, random.integers(0, 3, n_rows)] + random.normal(0.0, 4.0, (n_rows, 9))
    return (np.round(X) / 15.0).astype(np.float32), y


def covertype(n_rows: int, seed: int) -> tuple[Array, Array]:
    fixed, random = np.random.default_rng(13), np.random.default_rng(seed)
    shares = np.array([0.365, 0.488, 0.062, 0.005, 0.016, 0.030, 0.035])
    y = random.choice(7, size=n_rows, p=shares / shares.sum())
    centres, kinds = fixed.normal(0.0, 0.8, (7, 12, 10)), fixed.integers(0, 40, (7, 12))
    part = random.integers(0, 12, n_rows)
    X = np.zeros((n_rows, 54), dtype=np.float32)
    X[:, :10] = centres[y, part] + random.standard_normal((n_rows, 10), dtype=np.float32)
    soil = np.where(random.random(n_rows) < 0.5, kinds[y, part], random.integers(0, 40, n_rows))
    X[np.arange(n_rows), 14 + soil] = 1.0
    X[np.arange(n_rows), 10 + random.integers(0, 4, n_rows)] = 1.0
    return X, y


def mnist(n_rows: int, seed: int) -> tuple[Array, Array]:
    folder = os.environ.get("POLYCHOTOMY_DATA")
    if folder is None:
        raise SystemExit("Set POLYCHOTOMY_DATA to the folder that has mnist.npz.")
    with np.load(Path(folder) / "mnist.npz") as file:
        X, y = file["X"], file["y"]
    # The test rows follow the 60,000 training rows.
    X, y = (X[:60_000], y[:60_000]) if seed == 1 else (X[60_000:], y[60_000:])
    n_rows = n_rows if seed == 1 else 5_000
    return (X[:n_rows].reshape(n_rows, -1) / 255.0).astype(np.float32), y[:n_rows].astype(int)


def classes(n_rows: int, seed: int, n_classes: int = 1000) -> tuple[Array, Array]:
    centres = (0.55 * np.random.default_rng(3).standard_normal((n_classes, 64))).astype(np.float32)
    random = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    return centres[y] + random.standard_normal((n_rows, 64), dtype=np.float32), y


DATA = {f.__name__: f for f in (noisy, thresholds, shuttle, covertype, mnist, classes)}


def data(name: str, n_rows: int, seed: int) -> tuple[Array, Array]:
    kind, _, number = name.partition(":")
    return DATA[kind](n_rows, seed, int(number)) if number else DATA[kind](n_rows, seed)


def method(name: str, n_rows: int, gamma: float):
    import polychotomy as pc

    kind, _, number = name.partition(":")
    m = int(number) if number and number != "auto" else number or None
    if kind in ("lssvm", "lssvm_C"):
        # lssvm: C by evidence; lssvm_C: C = 3, which saves the eigenvalues
        C = "evidence" if kind == "lssvm" else 3.0
        machine = pc.LSSVM(C=C, landmarks=m)
        return pc.PolychotomyClassifier(machine, "one_vs_rest", decoder="shrunk_soft_max")
    if kind in ("lssvm_winner", "lssvm_platt", "lssvm_shared"):
        # For many classes: nothing to learn from folds, a sigmoid for each, or a slope for all.
        calibrator, decoder, cv = {
            "lssvm_winner": ("none", "winner_takes_all", 5),
            "lssvm_platt": ("platt", "auto", 5),
            "lssvm_shared": ("none", pc.ShrunkSoftMax("shared"), "leave_one_out"),
        }[kind]
        machine = pc.LSSVM(C=3.0, landmarks=m)
        return pc.PolychotomyClassifier(machine, "one_vs_rest", calibrator, decoder, cv=cv)
    if kind == "klr":
        machine = pc.KernelLogisticRegression(landmarks=m, tol=1e-3)
        return pc.PolychotomyClassifier(machine, "one_vs_rest", decoder="shrunk_soft_max")
    if kind == "multinomial":
        # Scores to 0.1, and little memory for kernel columns if there are a million rows.
        limit = 4e8 if n_rows > 200_000 else 8e9
        return pc.KernelMultinomialRegression(landmarks=m, tol=0.1, memory_limit=limit)
    if kind in ("exact", "exact_cv"):
        return pc.ProbabilisticSVC(C=5.0, cv=m or 5)
    if kind == "auto":
        return pc.PolychotomyClassifier(
            pc.SVM(C=5.0, landmarks="auto"), "one_vs_one", "platt", "pairwise_coupling"
        )
    if kind == "searched":
        # C and the width on 5,000 rows, then all rows.
        pipe = pc.PolychotomyClassifier(
            pc.SVM(landmarks="auto"), "one_vs_one", "platt", "pairwise_coupling", tempering=True
        )
        widths = [factor / (2 * gamma) for factor in (0.25, 0.5, 1.0, 2.0)]
        grid = {"machine__C": [1.0, 3.0, 10.0, 30.0], "machine__sigma2": widths}
        return pc.TwoStepSearchCV(pipe, grid, fine=None, cv=3, ties="nll", show_progress=False)
    if kind == "trees":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(random_state=0)
    if kind == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_jobs=1, verbose=-1, random_state=0)
    if kind in ("nystroem_logistic", "nystroem_sgd", "nystroem_ridge"):
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
        from sklearn.pipeline import make_pipeline

        last = {
            "nystroem_logistic": LogisticRegression(C=1.0, max_iter=200),
            "nystroem_sgd": SGDClassifier("log_loss", alpha=1e-6, random_state=0),
            # The penalty of lssvm_C.
            "nystroem_ridge": RidgeClassifier(alpha=1.0 / 3.0),
        }[kind]
        return make_pipeline(Nystroem(gamma=gamma, n_components=m, random_state=0), last)
    if kind == "svc":
        from sklearn.svm import SVC

        return SVC(C=5.0)
    if kind == "svc_intelex":
        from sklearnex.svm import SVC

        return SVC(C=5.0)
    raise SystemExit(f"Unknown method {name!r}.")


def run(name: str, n_rows: int, kind: str) -> dict:
    """Train and judge one method, in this process."""
    from sklearn.metrics import log_loss

    X, y = data(name, n_rows, 1)
    T, truth = data(name, N_TEST, 2)
    # That of gamma="scale".
    model = method(kind, n_rows, 1.0 / (X.shape[1] * X.var()))
    start = process_time()
    model.fit(X, y)
    seconds = process_time() - start
    start = process_time()
    p = model.predict_proba(T) if hasattr(model, "predict_proba") else None
    answer = model.classes_[p.argmax(axis=1)] if p is not None else model.predict(T)
    speed = len(T) / max(process_time() - start, 1e-9)
    return {
        "data": name,
        "rows": n_rows,
        "method": kind,
        "seconds": seconds,
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "NLL": None if p is None else log_loss(truth, p, labels=model.classes_),
        "error": float(np.mean(answer != truth)),
        "rows/s": speed,
    }


def version() -> str:
    """Return the last commit of the library's code, with a + if files differ from it."""
    folder = Path(__file__).parent.parent / "src"

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words, "."], capture_output=True, text=True, cwd=folder)
        return done.stdout.strip()

    return git("log", "-1", "--format=%h", "--") + ("+" if git("status", "--porcelain") else "")


def known() -> list[dict]:
    """Return all results so far."""
    if not STORE.exists():
        return []
    with STORE.open(newline="") as file:
        next(file)
        return [
            {
                name: value
                if name in ("data", "method", "version")
                else (None if value == "" else float(value))
                for name, value in row.items()
            }
            for row in csv.DictReader(file)
        ]


def in_process(name: str, n_rows: int, kind: str) -> dict:
    """Run one method in a process of its own, or read what it gave before."""
    for row in known():
        if (row["data"], row["rows"], row["method"]) == (name, n_rows, kind):
            return row
    command = [sys.executable, __file__, name, "--rows", str(n_rows), "--methods", kind, "--here"]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **threads})
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        return {"data": name, "rows": n_rows, "method": kind, "failed": " ".join(last)}
    found = {**json.loads(done.stdout.splitlines()[-1]), "version": version()}
    fresh = not STORE.exists()
    with STORE.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if fresh:
            file.write(f"# {WORDS}\n")
            writer.writeheader()
        writer.writerow({name: _short(value) for name, value in found.items()})
    return found


def _short(value):
    return f"{value:.6g}" if isinstance(value, float) else value


def line(found: dict) -> str:
    head = f"{found['data']:<12}{found['rows']:>9.0f}  {found['method']:<24}"
    if "failed" in found:
        return head + found["failed"][:80]
    nll = "    -" if found["NLL"] is None else f"{found['NLL']:.3f}"
    return (
        f"{head}{found['seconds']:>9.1f}{found['MB']:>8.0f}  {nll}{100 * found['error']:>8.2f}"
        f"{found['rows/s']:>10.0f}"
    )


def growth() -> None:
    """Print the exponents of time in rows, landmarks and classes."""
    rows, numbers = (100_000, 200_000, 400_000), (500, 1000, 2000)
    cases = {
        "rows, LS-SVM, m = 500": [("noisy", n, "lssvm_C:500") for n in rows],
        "landmarks, LS-SVM, 50,000 rows": [("noisy", 50_000, f"lssvm_C:{m}") for m in numbers],
        "rows, multinomial, m = 500": [("noisy", n, "multinomial:500") for n in rows],
        "landmarks, multinomial, 50,000 rows": [
            ("noisy", 50_000, f"multinomial:{m}") for m in numbers
        ],
        "classes, LS-SVM, m = 1,000, 100,000 rows": [
            (f"classes:{k}", 100_000, "lssvm_winner:1000") for k in (10, 100, 1000)
        ],
        "classes, multinomial, m = 500, 50,000 rows": [
            (f"classes:{k}", 50_000, "multinomial:500") for k in (5, 10, 20)
        ],
    }
    for what, runs in cases.items():
        found = [in_process(*each) for each in runs]
        for each in found:
            print(line(each))
        sizes = [
            float(each[0].partition(":")[2])
            if "classes" in what
            else float(each[2].partition(":")[2] if "landmarks" in what else each[1])
            for each in runs
        ]
        slope = np.polyfit(np.log(sizes), np.log([each["seconds"] for each in found]), 1)[0]
        print(f"time grows with {what}: exponent {slope:.2f}\n", flush=True)


def table() -> str:
    """Return the results of the plan as a table for the documentation."""
    planned = {(name, n_rows, kind) for name, n_rows, kinds in PLAN for kind in kinds}
    head = ("data", "rows", "method", "seconds", "MB", "NLL", "error %", "rows/s")
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    order = list(DATA)
    rows = sorted(
        (row for row in known() if (row["data"], row["rows"], row["method"]) in planned),
        key=lambda row: (
            order.index(row["data"].partition(":")[0]),
            row["data"],
            -row["rows"],
            99.0 if row["NLL"] is None else row["NLL"],
        ),
    )
    for row in rows:
        nll = "" if row["NLL"] is None else f"{row['NLL']:.3f}".lstrip("0")
        speed = "" if row["rows/s"] is None else f"{row['rows/s']:,.0f}"
        lines.append(
            f"| {row['data']} | {row['rows']:,.0f} | `{row['method']}` | {row['seconds']:.1f} "
            f"| {row['MB']:,.0f} | {nll} | {100 * row['error']:.2f} | {speed} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", default="noisy", help=", ".join(DATA))
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--methods", nargs="+", default=["lssvm:1000", "multinomial:1000", "trees"])
    parser.add_argument("--all", action="store_true", help="all that the documentation shows")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        print(json.dumps(run(options.data, options.rows, options.methods[0])))
        return
    if options.table:
        print(table())
        return
    print(f"{'data':<12}{'rows':>9}  {'method':<24}  seconds      MB   NLL  error %    rows/s")
    if options.growth:
        growth()
        return
    plan = PLAN if options.all else ((options.data, options.rows, options.methods),)
    for name, n_rows, kinds in plan:
        for kind in kinds:
            print(line(in_process(name, n_rows, kind)), flush=True)


if __name__ == "__main__":
    main()
