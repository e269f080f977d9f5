"""How long importing the library takes, as a ratio to importing scikit-learn.

Each import runs in a fresh interpreter, the two in turn; the medians are compared.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

from _table import Table, add_csv_option


def seconds(module: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9, help="imports of each (default: 9)")
    add_csv_option(parser)
    options = parser.parse_args()
    modules = ("sklearn", "polychotomy")
    times = [[seconds(module) for module in modules] for _ in range(options.repeats + 1)][1:]
    theirs, ours = (statistics.median(column) for column in zip(*times, strict=True))
    table = Table(
        "import_time",
        "Importing the library by `benchmarks/import_time.py`, as a ratio to scikit-learn.",
        ["import", "time"],
    )
    table.add("scikit-learn", "1.00")
    table.add("polychotomy", f"{ours / theirs:.2f}")
    table.save(options.csv)


if __name__ == "__main__":
    main()
