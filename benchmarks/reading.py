"""How long it takes to read a table and find out what its columns hold, against pandas alone.

Tables of 200,000 rows: numbers, words and gaps; the same with what exports have besides (prices,
percentages, units, dates, markers for missing values). `pandas.read_csv` reads the latter as texts
and does nothing with them. Processor seconds, the least of 5 runs each, one after the other.

    python benchmarks/reading.py [--rows 200000]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from _table import Table, add_csv_option

from polychotomy.tables import read_table

WORDS = "Reading 200,000 rows by `benchmarks/reading.py`: processor seconds."


def plain(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": np.arange(n),
            "width": rng.normal(size=n).round(4),
            "height": 100 * rng.normal(size=n),
            "count": rng.poisson(5, n),
            "income": rng.normal(3e4, 1e4, n).round(2),
            "colour": rng.choice(["red", "green", "blue"], n),
            "city": rng.choice([f"city {k}" for k in range(300)], n),
            "member": rng.choice(["yes", "no"], n),
            "kind": rng.choice(list("ABCD"), n),
        }
    )
    frame.loc[rng.random(n) < 0.05, "income"] = np.nan
    frame.loc[rng.random(n) < 0.05, "colour"] = None
    return frame


def exported(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = plain(n)
    frame["price"] = [f"${value:,.2f}" for value in rng.normal(3e4, 1e4, n)]
    frame["share"] = [f"{value} %" for value in rng.integers(0, 1000, n) / 10]
    frame["weight"] = [f"{value:.1f} kg" for value in rng.normal(70, 10, n)]
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1500, n), "D")
    frame["time"] = (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.random(n) * 1e8, "s")).floor(
        "s"
    )
    frame["score"] = np.where(rng.random(n) < 0.05, "n/a", rng.normal(size=n).round(3).astype(str))
    return frame


def seconds(function: Callable[[], object]) -> float:
    times = []
    for _ in range(5):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    add_csv_option(parser)
    options = parser.parse_args()
    table = Table("reading", WORDS, ["table", "MB", "`pandas.read_csv`", "ours", "ratio"])
    with tempfile.TemporaryDirectory() as folder:
        for name, rows_of in (("mixed", plain), ("export", exported)):
            path = Path(folder, f"{name}.csv")
            rows_of(options.rows).to_csv(path, index=False)
            theirs = seconds(lambda path=path: pd.read_csv(path))
            ours = seconds(lambda path=path: read_table(path, "kind"))
            size = path.stat().st_size / 1e6
            table.add(name, f"{size:.1f}", f"{theirs:.3f}", f"{ours:.3f}", f"{ours / theirs:.1f}")
    table.save(options.csv)


if __name__ == "__main__":
    main()
