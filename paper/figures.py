"""Draws the figures of the paper from the committed results: ``python paper/figures.py``."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from polychotomy.plots.critical_difference import CriticalDifferenceDisplay

HERE = Path(__file__).parent
RESULTS = HERE.parent / "docs" / "results"
SPEEDS = HERE.parent / "benchmarks" / "results" / "onnx.csv"


def ranks() -> None:
    """Draw the mean ranks of the methods of duan2003 by their negative log-likelihood."""
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with (RESULTS / "duan2003.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["nll"]:
                scores[row["dataset"]][row["method"]].append(float(row["nll"]))
    methods = sorted(next(iter(scores.values())))
    means = [[np.mean(one[method]) for method in methods] for one in scores.values()]
    display = CriticalDifferenceDisplay.from_scores(means, methods)
    display.figure_.savefig(HERE / "ranks.png", dpi=150)
    plt.close(display.figure_)


def exported() -> None:
    """Draw how far exported graphs are from their models."""
    with SPEEDS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    recipes = list(dict.fromkeys(row["recipe"] for row in rows))
    fig, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
    for data, marker in (("iris", "o"), ("wine", "s"), ("digits", "^")):
        ours = [row for row in rows if row["data"] == data]
        places = [recipes.index(row["recipe"]) for row in ours]
        ax.plot([float(row["largest difference"]) for row in ours], places, marker, label=data)
    ax.axvline(1e-6, color="grey", ls="--", lw=1)
    ax.set_yticks(range(len(recipes)), recipes, fontsize=7)
    ax.set(xscale="log", xlabel="largest difference of a probability (dashed: refused above)")
    ax.legend()
    fig.savefig(HERE / "exported.png", dpi=150)
    plt.close(fig)


if __name__ == "__main__":
    ranks()
    exported()
