"""Hundreds to a thousand classes: error, NLL, processor time and peak memory, beside peers.

    python benchmarks/many_classes.py
    python benchmarks/many_classes.py --classes 10 30 100 --methods ProbabilisticSVC SVC
    python benchmarks/many_classes.py --classes 100 --rows 100 --methods ProbabilisticSVC SVC

Every class is a unit Gaussian in 32 dimensions around a centre, and centres are grouped: sixteen
classes share a group. Ten training rows (--rows) and ten test rows a class. Every cell runs in a
process of its own: "seconds" are processor time of fit and predict_proba (two columns), "MB" the
peak memory beyond that of the imports. A method is skipped once it has taken longer than --limit.
Results are kept in --store, and read from there when the script is run again. The last table has
the growth exponents in the number of classes between the two largest numbers (rows grow in
proportion to it).

    python benchmarks/many_classes.py --pairs

One-vs-one beside SVC(probability=True), in a few sizes, with and without tempering, which SVC does
not have; written to benchmarks/results/pairs.csv. "seconds" are the smallest of --repeats.

    python benchmarks/many_classes.py --landmarks

One-vs-rest LS-SVMs with 500 landmarks on 100,000 rows of 64 inputs, with 10 and with 1,000 classes:
all classes share one factorisation. "winner" has no probabilities; "shared" has those of
ShrunkSoftMax("shared"), on 20,000 rows.
"""

import argparse
import json
import resource
import subprocess
import sys
import warnings
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from _table import Table, add_csv_option, write_table

CLASSES = (10, 30, 100, 300, 1000)
# Classes, and rows in each, of --pairs.
PAIRS = ((30, 100), (100, 10), (100, 100), (300, 5), (300, 10))
ROWS, INPUTS, GROUP = 10, 32, 16


def data(n_classes: int, part: int, n_rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n_classes)
    groups = 2.0 * rng.standard_normal((-(-n_classes // GROUP), INPUTS))
    centres = np.repeat(groups, GROUP, axis=0)[:n_classes]
    centres = centres + 0.6 * rng.standard_normal((n_classes, INPUTS))
    y = np.repeat(np.arange(n_classes), n_rows)
    noise = np.random.default_rng([n_classes, part]).standard_normal((len(y), INPUTS))
    return (centres[y] + noise) / np.sqrt(5.4), y


def methods(n_classes: int = 10) -> dict[str, Any]:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import SVC

    import polychotomy as pc

    Poly = pc.PolychotomyClassifier
    svm = {"sigma2": 10.0, "C": 3.0}
    return {
        "ProbabilisticSVC": pc.ProbabilisticSVC(gamma=0.05, C=3.0),
        "without tempering": pc.ProbabilisticSVC(gamma=0.05, C=3.0, tempering=None),
        "SVC": SVC(probability=True, gamma=0.05, C=3.0, random_state=0),
        "SVM nested": Poly(pc.SVM(**svm), pc.NestedCode("centroid"), tempering="auto"),
        "NestedDichotomies": pc.NestedDichotomies(
            pc.SVM(**svm), "random_pair", n_trees=5, random_state=0
        ),
        "LSSVM one-vs-rest": Poly(
            # Exact while that is cheap.
            pc.LSSVM(C=1.0, sigma2=10.0, landmarks=3000 if n_classes > 300 else None),
            "one_vs_rest",
            "none",
            pc.ShrunkSoftMax("shared"),
            cv="leave_one_out",
        ),
        "SVM one-vs-rest": Poly(pc.SVM(**svm), "one_vs_rest", "platt", "code_coupling"),
        "OneVsRest(logistic)": OneVsRestClassifier(LogisticRegression(C=10.0, max_iter=500)),
        "logistic": LogisticRegression(C=10.0, max_iter=500),
        "forest": RandomForestClassifier(200, random_state=0),
    }


def measure(name: str, n_classes: int, n_rows: int = ROWS) -> dict[str, float]:
    warnings.simplefilter("ignore")
    if name.startswith("landmarks "):
        return measure_landmarks(name.split()[1], n_classes)
    X, y = data(n_classes, 0, n_rows)
    X_test, y_test = data(n_classes, 1)
    model = methods(n_classes)[name]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = process_time()
    model.fit(X, y)
    fitted = process_time()
    p = model.predict_proba(X_test)
    end = process_time()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    truth = np.maximum(p[np.arange(len(y_test)), y_test], 1e-15)
    return {
        "error": float((p.argmax(axis=1) != y_test).mean()),
        "nll": float(-np.log(truth).mean()),
        "fit": fitted - start,
        "predict": end - fitted,
        "mb": (after - before) / 1024,
    }


def measure_landmarks(decoder: str, n_classes: int) -> dict[str, float]:
    import polychotomy as pc

    warnings.simplefilter("ignore")
    n_rows = 100_000 if decoder == "winner" else 20_000
    rng = np.random.default_rng(0)
    centres = 0.6 * rng.standard_normal((n_classes, 64))
    y, y_test = np.arange(n_rows) % n_classes, np.arange(10_000) % n_classes
    X = (centres[y] + rng.standard_normal((n_rows, 64))) / 8
    X_test = (centres[y_test] + rng.standard_normal((len(y_test), 64))) / 8
    machine = pc.LSSVM(C=10.0, sigma2=1.0, landmarks=500)
    options = {
        "winner": {"decoder": "winner_takes_all"},
        "shared": {"decoder": pc.ShrunkSoftMax("shared"), "cv": "leave_one_out"},
    }[decoder]
    model = pc.PolychotomyClassifier(machine, "one_vs_rest", "none", random_state=0, **options)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = process_time()
    model.fit(X, y)
    fitted = process_time()
    scores = model.decision_function(X_test)
    end = process_time()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "rows": n_rows,
        "error": float((scores.argmax(axis=1) != y_test).mean()),
        "fit": fitted - start,
        "rate": len(y_test) / (end - fitted),
        "mb": (after - before) / 1024,
    }


def run_landmarks() -> None:
    print(f"{'':<10}{'classes':>8}{'rows':>9}{'error':>8}{'fit s':>8}{'rows/s':>9}{'MB':>7}")
    for decoder in ("winner", "shared"):
        for n_classes in (10, 1000):
            cell = run(f"landmarks {decoder}", n_classes)
            if "refused" in cell:
                print(f"{decoder:<10}{n_classes:>8}  {cell['refused']}")
                continue
            print(
                f"{decoder:<10}{n_classes:>8}{cell['rows']:>9}{cell['error']:>8.3f}"
                f"{cell['fit']:>8.2f}{cell['rate']:>9.0f}{cell['mb']:>7.0f}"
            )


def run_pairs(repeats: int) -> None:
    names, rows = ("ProbabilisticSVC", "without tempering", "SVC"), []
    head = ("classes", "rows", "method", "fit s", "predict s", "MB", "NLL", "error")
    print("".join(f"{word:>19}" if word == "method" else f"{word:>10}" for word in head))
    for n_classes, n_rows in PAIRS:
        for name in names:
            cells = [run(name, n_classes, n_rows) for _ in range(repeats)]
            best = {key: min(cell[key] for cell in cells) for key in cells[0]}
            figures = (
                f"{best['fit']:.2f}",
                f"{best['predict']:.2f}",
                f"{best['mb']:.0f}",
                f"{best['nll']:.3f}",
                f"{best['error']:.3f}",
            )
            rows.append((n_classes, n_rows * n_classes, name, *figures))
            print(
                f"{n_classes:>10}{n_rows * n_classes:>10}{name:>19}"
                + "".join(f"{figure:>10}" for figure in figures),
                flush=True,
            )
    words = "One-vs-one beside SVC: processor time, peak memory, by `benchmarks/many_classes.py`."
    write_table(Path(__file__).parent / "results" / "pairs.csv", words, head, rows)


def run(name: str, n_classes: int, n_rows: int = ROWS) -> dict[str, Any]:
    command = [sys.executable, __file__, "--cell", name, str(n_classes), str(n_rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
    return {"refused": lines[-1][:200]}


def table(
    found: dict[tuple[str, int], dict[str, Any]], classes: list[int], n_rows: int = ROWS
) -> None:
    for n_classes in classes:
        print(f"\n{n_classes} classes, {n_rows * n_classes} rows")
        print(f"  {'':<22}{'error':>8}{'NLL':>8}{'fit s':>9}{'predict s':>11}{'MB':>8}")
        for (name, of), cell in found.items():
            if of != n_classes:
                continue
            if "refused" in cell:
                print(f"  {name:<22}{cell['refused']}")
                continue
            print(
                f"  {name:<22}{cell['error']:>8.3f}{cell['nll']:>8.3f}{cell['fit']:>9.2f}"
                f"{cell['predict']:>11.2f}{cell['mb']:>8.0f}"
            )
    print(
        f"\ngrowth exponents in the number of classes\n  {'':<22}{'fit':>7}{'predict':>9}{'MB':>6}"
    )
    for name in dict.fromkeys(name for name, _ in found):
        known = [m for m in classes if "fit" in found.get((name, m), {})]
        if len(known) < 2:
            continue
        low, high = (found[name, m] for m in known[-2:])
        growth = [
            np.log(high[key] / max(low[key], 1e-3)) / np.log(known[-1] / known[-2])
            for key in ("fit", "predict", "mb")
        ]
        between = f"{known[-2]} to {known[-1]}"
        print(f"  {name:<22}{growth[0]:>7.1f}{growth[1]:>9.1f}{growth[2]:>6.1f}  ({between})")


def in_docs(found: dict[tuple[str, int], dict[str, Any]], classes: list[int]) -> Table:
    """Print the table of the documentation: a cell for every method and number of classes."""
    figures = "error, NLL, fit, predict, MB"
    table = Table(
        "many_classes",
        "Many classes by `benchmarks/many_classes.py`: processor time of fitting and of predicting "
        "as many rows, and peak memory above that before the fit.",
        ["", *(f"{n_classes:,} classes: {figures}" for n_classes in classes)],
    )
    for name in dict.fromkeys(name for name, _ in found):
        cells = [found.get((name, n_classes), {"refused": ""}) for n_classes in classes]
        table.add(
            name,
            *(
                cell["refused"]
                if "refused" in cell
                else f"{cell['error']:.3f}, {cell['nll']:.3f}, {cell['fit']:.1f} s, "
                f"{cell['predict']:.1f} s, {cell['mb']:,.0f}"
                for cell in cells
            ),
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", type=int, nargs="+", default=list(CLASSES))
    # Without tempering is for --pairs.
    usual = [name for name in methods() if name != "without tempering"]
    parser.add_argument("--methods", nargs="+", default=usual)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one cell")
    parser.add_argument("--store", type=Path, help="a file of results, to resume from")
    parser.add_argument("--landmarks", action="store_true", help="a thousand classes at once")
    parser.add_argument("--pairs", action="store_true", help="one-vs-one beside SVC")
    parser.add_argument("--repeats", type=int, default=1, help="of --pairs")
    parser.add_argument("--rows", type=int, default=ROWS, help="training rows a class")
    parser.add_argument("--cell", nargs=3, help=argparse.SUPPRESS)
    add_csv_option(parser)
    arguments = parser.parse_args()
    if arguments.cell:
        name, n_classes, n_rows = arguments.cell
        print(json.dumps(measure(name, int(n_classes), int(n_rows))))
        return
    if arguments.landmarks:
        run_landmarks()
        return
    if arguments.pairs:
        run_pairs(arguments.repeats)
        return
    found: dict[tuple[str, int], dict[str, Any]] = {}
    if arguments.store and arguments.store.exists():
        for line in arguments.store.read_text().splitlines():
            cell = json.loads(line)
            found[cell["method"], cell["classes"]] = cell
    for n_classes in arguments.classes:
        for name in arguments.methods:
            if (name, n_classes) in found:
                continue
            slow = [
                cell
                for (of, m), cell in found.items()
                if of == name and m < n_classes and cell.get("fit", 0.0) > arguments.limit / 10
            ]
            cell = (
                {"refused": "not run: too slow"} if slow else run(name, n_classes, arguments.rows)
            )
            found[name, n_classes] = cell
            if arguments.store:
                with arguments.store.open("a") as file:
                    file.write(json.dumps({"method": name, "classes": n_classes, **cell}) + "\n")
    order = {name: place for place, name in enumerate(arguments.methods)}
    wanted = {key: cell for key, cell in found.items() if key[0] in order}
    ordered = dict(sorted(wanted.items(), key=lambda one: order[one[0][0]]))
    table(ordered, arguments.classes, arguments.rows)
    in_docs(ordered, arguments.classes).save(arguments.csv)


if __name__ == "__main__":
    main()
