"""What a pool costs: processor time by rows and by member, and how it grows.

Sets of `_sets.py`, or generated ones: "noisy", 30 inputs, 6 classes, each a mixture of eight
Gaussians, and "shuttle" of scale.py, 9 inputs, 7 classes, some of them rare.
Every result is one line of JSON, appended to a file, so that the files of two versions of the
library can be compared: the same partitions, NLL of the first less the second, ratio of times.
With --write, such files of several versions become results/pool_cost.csv.

    python benchmarks/pool_cost.py new.jsonl --sets satimage noisy --rows 800 3200
    python benchmarks/pool_cost.py new.jsonl --table
    python benchmarks/pool_cost.py old.jsonl --against new.jsonl
    python benchmarks/pool_cost.py new.jsonl --write 0.2.0=old.jsonl now=new.jsonl
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import warnings
from itertools import pairwise
from pathlib import Path
from time import process_time

import numpy as np
from _sets import CHOSEN_ON, load, partition
from scale import shuttle
from threadpoolctl import threadpool_limits

from polychotomy import KernelMultinomialRegression, PolychotomyPool
from polychotomy.ensemble.default_members import ls_members

METHODS = {
    "POOL": lambda: PolychotomyPool(random_state=0),
    "LS2": lambda: PolychotomyPool(ls_members(), random_state=0),
    "KMR": lambda: KernelMultinomialRegression(landmarks=2000),
}
STORE = Path(__file__).parent / "results" / "pool_cost.csv"


def noisy(n_rows, number, n_test=3000):
    """Return training and test rows of classes that overlap."""
    centres = 0.62 * np.random.default_rng(5).standard_normal((6, 8, 30))
    random = np.random.default_rng(100 + number)
    y = random.integers(6, size=n_rows + n_test)
    X = centres[y, random.integers(8, size=len(y))] + random.standard_normal((len(y), 30))
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def measured(name, n_rows, number, method):
    if name == "noisy":
        X, y, new_X, new_y = noisy(n_rows, number)
    elif name == "shuttle":
        (X, y), (new_X, new_y) = shuttle(n_rows, 1 + number), shuttle(10_000, 1000 + number)
    else:
        X, y, new_X, new_y = partition(*load(name), number, n_rows)
    pool = METHODS[method]()
    start = process_time()
    pool.fit(X, y)
    seconds = process_time() - start
    p = pool.predict_proba(new_X)
    return {
        "set": name,
        "rows": len(y),
        "most": n_rows,
        "partition": number,
        "method": method,
        "seconds": seconds,
        "nll": float(-np.log(np.maximum(p[np.arange(len(new_y)), new_y], 1e-15)).mean()),
        "error": float((p.argmax(axis=1) != new_y).mean()),
        "members": {key: round(value, 2) for key, value in getattr(pool, "seconds_", {}).items()},
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def read(file):
    lines = [json.loads(line) for line in Path(file).read_text().splitlines()]
    return {(one["set"], one["most"], one["partition"], one["method"]): one for one in lines}


def table(found):
    print("| set | method | rows | seconds | grows as | NLL | error % | of the time, % |")
    print("|---|---|---|---|---|---|---|---|")
    for name, method in dict.fromkeys((key[0], key[3]) for key in found):
        cells = [one for key, one in found.items() if (key[0], key[3]) == (name, method)]
        means = []
        for rows in sorted({one["rows"] for one in cells}):
            same = [one for one in cells if one["rows"] == rows]
            means.append((rows, np.mean([one["seconds"] for one in same]), same))
        powers = [np.log(b[1] / a[1]) / np.log(b[0] / a[0]) for a, b in pairwise(means)]
        for (rows, seconds, same), power in zip(means, [None, *powers], strict=True):
            members = {
                key: np.mean([s["members"][key] for s in same]) for key in same[0]["members"]
            }
            total = sum(members.values()) or 1.0
            parts = ", ".join(f"{key} {100 * value / total:.0f}" for key, value in members.items())
            grows = "" if power is None else f"n^{power:.1f}"
            nll, error = (np.mean([one[key] for one in same]) for key in ("nll", "error"))
            print(f"| {name} | {method} | {rows:,} | {seconds:.1f} | {grows} ", end="")
            print(f"| {nll:.4f} | {100 * error:.1f} | {parts} |")


def write(given):
    """Write the lines of several files, each as version=file, to the table that is kept."""
    fields = ("set", "rows", "partition", "method", "nll", "error", "seconds", "megabytes")
    with STORE.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("version", *fields))
        for version, _, name in (one.partition("=") for one in given):
            for line in read(name).values():
                short = {"nll": f"{line['nll']:.4f}", "error": f"{line['error']:.4f}"}
                short["seconds"] = f"{line['seconds']:.1f}"
                rows.writerow((version, *(short.get(key, line[key]) for key in fields)))


def against(old, new):
    print("| set | chosen on | method | rows | NLL, first | second | difference | time, ratio |")
    print("|---|---|---|---|---|---|---|---|")
    shared = [key for key in old if key in new]
    groups = dict.fromkeys((key[0], key[1], key[3]) for key in shared)
    for most, method in dict.fromkeys((key[1], key[3]) for key in shared):
        gains, ratios = [], []
        for name in [key[0] for key in groups if key[1:] == (most, method)]:
            keys = [key for key in shared if (key[0], key[1], key[3]) == (name, most, method)]
            a, b = ([one[key] for key in keys] for one in (old, new))
            nll = [np.array([one["nll"] for one in each]) for each in (a, b)]
            ratio = sum(one["seconds"] for one in a) / sum(one["seconds"] for one in b)
            gains.append((nll[0] - nll[1]).mean())
            ratios.append(ratio)
            used = "yes" if name in (*CHOSEN_ON, "noisy", "shuttle") else "no"
            print(f"| {name} | {used} | {method} | {a[0]['rows']:,} | {nll[0].mean():.4f} ", end="")
            print(f"| {nll[1].mean():.4f} | {gains[-1]:+.4f} | {ratio:.1f} |")
        error = np.std(gains, ddof=1) / len(gains) ** 0.5 if len(gains) > 1 else np.nan
        print(f"| mean of {len(gains)} | | {method} | at most {most:,} | | ", end="")
        print(f"| {np.mean(gains):+.4f} ± {error:.4f} | {np.exp(np.mean(np.log(ratios))):.1f} |")


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--sets", nargs="+", default=["satimage", "noisy"])
    parser.add_argument("--rows", nargs="+", type=int, default=[800, 3200])
    parser.add_argument("--partitions", nargs="+", type=int, default=[0])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["POOL"])
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--against", type=Path)
    parser.add_argument("--write", nargs="+", metavar="VERSION=FILE")
    options = parser.parse_args()
    if options.table:
        return table(read(options.file))
    if options.write:
        return write(options.write)
    if options.against:
        return against(read(options.file), read(options.against))
    for number in options.partitions:
        for name in options.sets:
            for rows in options.rows:
                for method in options.methods:
                    with threadpool_limits(1):
                        found = measured(name, rows, number, method)
                    with options.file.open("a") as file:
                        file.write(json.dumps(found) + "\n")
                    print(json.dumps(found), flush=True)
    return None


if __name__ == "__main__":
    main()
