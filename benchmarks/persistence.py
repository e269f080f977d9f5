"""Model files: time and size, as ratios to joblib (compressed and not) in the same run.

A ratio above 1 means that ours takes longer, or is larger. `save` reads back what it wrote before
it is done, and `load` checks everything.
"""

from __future__ import annotations

import argparse
import io
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import joblib
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import polychotomy as pc


def seconds(function: Callable[[], Any], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def written(write: Callable[[io.BytesIO], Any]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def compare(name: str, model: Any, repeats: int) -> None:
    ours = partial(written, partial(pc.save, model))
    plain = partial(written, partial(joblib.dump, model))
    packed = partial(written, partial(joblib.dump, model, compress=3))
    data, theirs, small = ours(), plain(), packed()
    pc.load(io.BytesIO(data))
    cells = [f"{len(data) / 1e6:8.2f}"]
    for write, content in ((plain, theirs), (packed, small)):
        save = seconds(ours, repeats) / seconds(write, repeats)
        load = seconds(lambda: pc.load(io.BytesIO(data)), repeats) / seconds(
            lambda content=content: joblib.load(io.BytesIO(content)), repeats
        )
        cells.append(f"{len(data) / len(content):6.2f} {save:6.1f} {load:6.1f}")
    print(f"{name:28}{cells[0]}  {cells[1]}    {cells[2]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000, help="training rows (default: 1000)")
    parser.add_argument("--repeats", type=int, default=5, help="repeats of each (default: 5)")
    options = parser.parse_args()
    X, y = make_classification(
        options.rows, 30, n_informative=10, n_classes=5, flip_y=0.2, random_state=0
    )
    models = {
        "SVM": pc.PolychotomyClassifier(pc.SVM()),
        "LSSVM, one-vs-rest": pc.PolychotomyClassifier(pc.LSSVM(), "one_vs_rest"),
        "100 trees, one-vs-rest": pc.PolychotomyClassifier(
            RandomForestClassifier(100, max_depth=8), "one_vs_rest", random_state=0
        ),
    }
    print(f"{'':28}{'':8}  {'to joblib':20}    to joblib, compress=3")
    print(f"{'':28}{'MB':>8}  {'size':>6} {'save':>6} {'load':>6}    {'size':>6} {'save':>6} load")
    for name, model in models.items():
        compare(name, model.fit(X, y), options.repeats)


if __name__ == "__main__":
    main()
