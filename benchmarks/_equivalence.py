"""Whether methods that a comparison calls as good are: counts over the results of a study.

Two kinds of cases: those that the command speaks of, a method beside the recommended one; and every
ordered pair of methods, of which there are many more, to see whether the bound holds. A pair is
called as good by the same rule. "Within" is judged on unseen rows: for one fit of both methods, and
for the mean over the training sets of all outer splits, if there are several.
"""

from itertools import permutations

import numpy as np
from _table import write_table

from polychotomy.compare._ranking import MARGIN, within

KINDS = ("as_good", "named")
HEADS = (
    *("set", "comparisons", "recommended", "as good", "within", "named", "within"),
    *("pairs", "called as good", "within", "in the mean, of", "within"),
    *("pairs beyond the margin", "called as good"),
)


def show(lines, file, words):
    """Print counts by set and in all, and write them to a file if there is one."""
    sets = sorted({line["set"] for line in lines})
    rows = [(name, *counts([line for line in lines if line["set"] == name])) for name in sets]
    sums = [sum(row[k] for row in rows) for k in range(3, len(HEADS))]
    rows.append(("all", sum(row[1] for row in rows), "", *sums))
    print(f"\n| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")
    if file is not None:
        write_table(file, words, HEADS, rows)


def counts(lines):
    """Return the cells of a set."""
    said = []
    for kind in KINDS:
        cases = [(line, name) for line in lines for name in line[kind]]
        said += [len(cases), sum(behind(*case) <= case[0]["margin"] for case in cases)]
    names = dict.fromkeys(line["recommended"] for line in lines)
    return len(lines), " ".join(names), *said, *pair_counts(lines)


def behind(line, name, other=None):
    """Return how far a method is behind another, the recommended one by default, on unseen rows."""
    return line["nll"][name] - line["nll"][other or line["recommended"]]


def margin_of(line):
    """Return the margin, as the comparison has it."""
    means = {name: np.mean(values) for name, values in line["inner_nll"].items()}
    base = means.pop("majority")
    return max(0.0, MARGIN * (base - min(means.values())))


def pair_counts(lines):
    """Return pairs, those called as good, those within, the same in the mean; and those beyond."""
    true = {}
    for line in lines:
        for pair in permutations(line["nll"], 2):
            true.setdefault(pair, []).append(behind(line, *pair) - margin_of(line))
    found = np.zeros(7, dtype=int)
    for line in lines:
        margin = margin_of(line)
        for pair in permutations(line["nll"], 2):
            first, second = (np.array(line["inner_nll"][name]) for name in pair)
            called = within(first - second, line["test_to_train"], margin)
            is_within = behind(line, *pair) <= margin
            several = called and len(true[pair]) > 1
            found += (
                *(1, called, called and is_within),
                *(several, several and np.mean(true[pair]) <= 0),
                *(not within, called and not within),
            )
    return found.tolist()
