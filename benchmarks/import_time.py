"""How long importing the library takes, as a ratio to importing scikit-learn.

Each import runs in a fresh interpreter, the two in turn; the medians are compared.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time


def seconds(module: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9, help="imports of each (default: 9)")
    repeats = parser.parse_args().repeats
    modules = ("sklearn", "polychotomy")
    times = [[seconds(module) for module in modules] for _ in range(repeats + 1)][1:]
    theirs, ours = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"importing polychotomy takes {ours / theirs:.2f} times as long as importing sklearn")


if __name__ == "__main__":
    main()
