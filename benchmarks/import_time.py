"""How long importing the library takes, as a ratio to importing scikit-learn.

Each import runs in a fresh interpreter, the two in turn; medians of processor time are compared.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys

from _table import Table, add_csv_option


def seconds(module: str) -> float:
    start = spent()
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
    return spent() - start


def spent() -> float:
    """Return the processor time of all programs that have ended: other work does not change it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
