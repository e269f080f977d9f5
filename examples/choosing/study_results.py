"""
Ranks over many data sets
=========================

A study of a paper, run again: twelve methods, five data sets, twenty partitions. The results are
a CSV file of this repository. Methods that a bar joins cannot be told apart (Nemenyi's test).
"""

import csv
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from polychotomy.study import CriticalDifferenceDisplay

places = [Path("docs/results"), Path("../../docs/results"), Path("../docs/results")]
path = next(place for place in places if place.is_dir()) / "duan2003.csv"
errors = defaultdict(lambda: defaultdict(list))
with path.open(newline="", encoding="utf-8") as file:
    for row in csv.DictReader(file):
        errors[row["dataset"]][row["method"]].append(float(row["error"]))
methods = sorted(next(iter(errors.values())))
means = [[np.mean(one[method]) for method in methods] for one in errors.values()]
CriticalDifferenceDisplay.from_scores(means, methods)
plt.show()

# %%
# Five data sets are few: the critical difference is wide. That is the honest answer of this
# study to "which is best": for the error, it does not matter much.
