"""How well `polychotomy compare` keeps its time, and what its answer is worth when stopped early.

Runs the command on 20 tables with three limits, by default 5, 15 and 45 seconds, once as the
machine is and once with two busy loops beside it. For each run: the wall time from start to end
over the limit, and the quality of the answer: the recommended method is fitted to the rows of the
table and judged on rows that the command never saw, and its negative log-likelihood (NLL) is
divided by that of the method that a run alone with a long limit recommends (`--long`, 300 seconds).

    python benchmarks/any_time.py --tables iris wine --limits 5 15
    python benchmarks/any_time.py --busy                # with two busy loops
    python benchmarks/any_time.py --busy others         # with what keeps the computer busy already
    python benchmarks/any_time.py --long-runs           # what `--quality` compares with
    python benchmarks/any_time.py --large               # 58,000 to a million rows, 1,000 classes
    python benchmarks/any_time.py --table --quality --write benchmarks/results/any_time.csv

Every run is written to a file of JSON lines at once, and is not run again. The load of the machine
at the start of each run is kept too: "alone" is alone only if that was near 0. So is the largest
memory of a process of the command.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas
from _table import write_table
from sklearn.datasets import make_blobs, make_classification
from sklearn.model_selection import train_test_split

from polychotomy import datasets
from polychotomy.compare import fit_method
from polychotomy.core import scores

PAPERS = ("iris", "wine", "glass", "vehicle", "segment", "satimage", "letter", "dna", "zoo")
LIMITS = (5, 15, 45)
# The columns of `--large` in the documentation.
SHOWN = ("table", "limit", "seconds", "recommended", "splits", "on", "methods", "ours", "MB")
# What `--large` runs: a table and its limit in seconds.
LARGE = (
    *(("rows_58k", 60), ("rows_200k", 120), ("rows_1m", 300)),
    *(("classes_100", 30), ("classes_300", 30), ("classes_1000", 60)),
)
MOST_FITTED = 8_000


def made_tables():
    """Return tables by name: more rows, classes and columns, rare classes, noise."""

    def blobs(n, d, k, spread, seed):
        return make_blobs(n, d, centers=k, cluster_std=spread, random_state=seed)

    def mixed(n, d, k, seed):
        return make_classification(
            n, d, n_informative=min(d, 8), n_redundant=0, n_classes=k, random_state=seed
        )

    random = np.random.RandomState(0)
    counts = np.r_[1, 1, 2, 6, 14, 30, 60, 120, 250, 400, 689]
    rare = np.repeat(np.arange(len(counts)), counts)
    return {
        "rows_5k": lambda: mixed(5_000, 20, 4, 0),
        "rows_20k": lambda: mixed(20_000, 20, 4, 1),
        "rows_58k": lambda: mixed(58_000, 9, 7, 2),
        "rows_200k": lambda: mixed(200_000, 20, 5, 3),
        "rows_1m": lambda: mixed(1_000_000, 30, 6, 9),
        "classes_28": lambda: blobs(1_400, 8, 28, 3.0, 4),
        "classes_100": lambda: blobs(2_000, 10, 100, 2.0, 5),
        "classes_300": lambda: blobs(6_000, 12, 300, 2.0, 6),
        "classes_1000": lambda: blobs(20_000, 12, 1_000, 2.0, 10),
        "rare": lambda: (random.normal(size=(len(rare), 5)) + rare[:, None] / 3, rare),
        "wide": lambda: mixed(500, 300, 3, 7),
        "noise": lambda: (random.normal(size=(400, 6)), random.randint(0, 3, 400)),
        "two_classes": lambda: mixed(1_000, 10, 2, 8),
    }


def table_of(name):
    """Return training and unseen rows of a table, and their classes."""
    made = made_tables()
    if name in made:
        X, y = made[name]()
    else:
        data = datasets.load(name, exact=False)
        X, y = data.X, data.y
    labels, numbers, counts = np.unique(y, return_inverse=True, return_counts=True)
    alone = counts[numbers] < 2
    y = np.array([f"class {label}" for label in labels])[numbers]
    train, test = train_test_split(
        np.flatnonzero(~alone), test_size=0.3, random_state=0, stratify=y[~alone]
    )
    train = np.concatenate([train, np.flatnonzero(alone)])
    return X[train], y[train], X[test], y[test]


@contextlib.contextmanager
def busy_loops(count):
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def whole_table(name):
    """Return all rows of a made table, and their classes: none are set aside for `--quality`."""
    X, y = made_tables()[name]()
    return X, np.array([f"class {label}" for label in range(int(y.max()) + 1)])[y]


def ended(command, folder):
    """Run a command; return its exit code, its seconds, and the memory of its largest process."""
    with open(Path(folder, "out"), "wb") as out, open(Path(folder, "err"), "wb") as err:
        start = perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        took = perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, took, round(usage.ru_maxrss / 1024)


def one_run(name, limit, busy, whole=False):
    """Run the command; return how long it took and what it recommends."""
    X, y = whole_table(name) if whole else table_of(name)[:2]
    with tempfile.TemporaryDirectory() as folder:
        frame = pandas.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
        frame["target"] = y
        path = Path(folder, "table.parquet" if X.size > 10_000_000 else "table.csv")
        if path.suffix == ".csv":
            frame.to_csv(path, index=False)
        else:
            frame.to_parquet(path, row_group_size=100_000)
        shape = X.shape
        del frame, X, y
        command = [
            *(sys.executable, "-m", "polychotomy", "compare", str(path), "--target", "target"),
            *("--time", f"{limit}s", "--json", "--report", str(Path(folder, "page.html"))),
        ]
        load = os.getloadavg()[0]
        with busy_loops(2 if busy == "loops" else 0):
            code, took, memory = ended(command, folder)
        found = json.loads(Path(folder, "out").read_text()) if code == 0 else {}
        said = "" if found else Path(folder, "err").read_text()[-300:]
    ranked = [row for row in found.get("ranking", []) if row["verdict"] != "on fewer rows"]
    return {
        "table": name,
        "rows": shape[0],
        "columns": shape[1],
        "whole": whole,
        "limit": limit,
        "busy": bool(busy),
        "load": round(load, 1),
        "seconds": took,
        "code": code,
        "recommended": found.get("recommended"),
        "worth": found.get("worth"),
        "splits": found.get("splits"),
        "methods": len(ranked),
        "ours": [
            row["method"] for row in found.get("ranking", []) if row["family"] == "polychotomy"
        ],
        # Of the largest process; the processes of a command share the table.
        "mb": memory,
        "notes": [note for note in found.get("data_notes", []) if "drawn at random" in note],
        "said": said,
    }


def quality(name, method, known):
    """Return the NLL of a method on unseen rows, fitted to at most some thousand rows."""
    if (name, method) not in known:
        X, y, X_test, y_test = table_of(name)
        order = np.random.RandomState(0).permutation(len(y))[:MOST_FITTED]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit_method(method, X[order], y[order])
        place = {label: k for k, label in enumerate(model.classes_.tolist())}
        truth = np.array([place.get(label, -1) for label in y_test[:MOST_FITTED]])
        p = model.predict_proba(X_test[:MOST_FITTED])
        known[name, method] = float(scores.nll(p, truth))
    return known[name, method]


def run(options):
    done = {key_of(one) for one in read(options.results)}
    if options.large:
        wanted = [(name, limit, True) for name, limit in LARGE if name in options.tables]
    else:
        limits = [options.long] if options.long_runs else options.limits
        wanted = [(name, limit, False) for name in options.tables for limit in limits]
    for name, limit, whole in wanted:
        if (name, limit, bool(options.busy), whole) in done:
            continue
        line = one_run(name, limit, options.busy, whole)
        with open(options.results, "a") as file:
            file.write(json.dumps(line) + "\n")
        print(
            f"{name} {limit} s: {line['seconds']:.1f} s, {line['recommended']}, "
            f"{line['methods']} methods, {line['splits']} splits {line['worth']}, "
            f"ours: {' '.join(line['ours'])}, {line['mb']} MB (load {line['load']}) {line['said']}",
            flush=True,
        )


def key_of(one):
    return one["table"], one["limit"], one["busy"], one.get("whole", False)


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(options):
    """Print the time over the limit, and with `--quality` what the answers are worth."""
    lines, known, rows = read(options.results), {}, []
    long = {
        one["table"]: one["recommended"]
        for one in lines
        if one["limit"] == options.long and not one.get("whole") and not one["busy"]
    }
    heads = ("table", "limit", "busy", "load", "seconds", "over %", "recommended", "splits")
    heads = (*heads, "on", "methods", "ours", "MB", "NLL ratio")
    print(f"\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    over = []
    ordered = sorted(lines, key=key_of)
    for one in ordered:
        ratio = ""
        best = None if one.get("whole") else long.get(one["table"])
        if options.quality and one["recommended"] and best and one["recommended"] != "majority":
            ours = quality(one["table"], one["recommended"], known)
            ratio = f"{ours / quality(one['table'], best, known):.3f}"
        beyond = 100.0 * (one["seconds"] / one["limit"] - 1.0)
        over.append(beyond)
        rows.append(
            (
                *(one["table"], one["limit"], "yes" if one["busy"] else "no", one["load"]),
                *(f"{one['seconds']:.1f}", f"{max(0.0, beyond):.0f}"),
                *(one["recommended"] or "none", one["splits"] or 0, one["worth"] or "all rows"),
                *(one["methods"], len(one.get("ours", ())), one.get("mb", ""), ratio),
            )
        )
        print(f"| {' | '.join(str(field) for field in rows[-1])} |")
    if options.write is not None:
        words = "`polychotomy compare` within its time, by `benchmarks/any_time.py`"
        write_table(options.write, f"{words}.", heads, rows)
        whole = [row for row, one in zip(rows, ordered, strict=True) if one.get("whole")]
        kept = [heads.index(head) for head in SHOWN]
        write_table(
            options.write.with_stem(f"{options.write.stem}_large"),
            f"{words}: large tables and many classes, alone.",
            SHOWN,
            [[row[place] for place in kept] for row in whole],
        )
    if over:
        answered = sum(one["code"] == 0 for one in lines)
        print(
            f"\n{len(over)} runs, {answered} with an answer; at most 10 % over the limit: "
            f"{sum(value <= 10 for value in over)}; the worst: {max(over):.0f} %"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    everything = [*PAPERS, *made_tables()]
    usual = [name for name in everything if name not in ("rows_1m", "classes_1000")]
    parser.add_argument("--tables", nargs="+", choices=everything)
    parser.add_argument("--large", action="store_true", help="large tables, each with its limit")
    parser.add_argument("--long-runs", action="store_true", help="run with the long limit")
    parser.add_argument("--limits", nargs="+", type=int, default=LIMITS)
    parser.add_argument("--long", type=int, default=300, help="the limit to compare answers with")
    parser.add_argument(
        "--busy",
        nargs="?",
        choices=("loops", "others"),
        const="loops",
        help="run two busy loops beside it; or other programs run already",
    )
    parser.add_argument("--quality", action="store_true", help="judge the answers too")
    parser.add_argument("--results", type=Path, default=Path("any_time.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the table and stop")
    parser.add_argument("--write", type=Path, help="write the table as CSV, too")
    options = parser.parse_args()
    options.tables = options.tables or ([name for name, _ in LARGE] if options.large else usual)
    if not options.table:
        run(options)
    table(options)


if __name__ == "__main__":
    main()
