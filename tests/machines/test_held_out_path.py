"""Kernel machines along a path of C, solved for some columns at a time."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from polychotomy import SVM, KernelLogisticRegression, MethodSweep, PolychotomyClassifier
from polychotomy.machines import TrainingOptions, held_out_path
from polychotomy.tuning import sweep as sweeps

CLASSES = 12


@pytest.fixture(scope="module")
def table():
    return make_blobs(8 * CLASSES, 3, centers=CLASSES, cluster_std=3.0, random_state=0)


def tuned(machine, table):
    methods = [
        (decoder, PolychotomyClassifier(machine, "one_vs_one", "auto", decoder, cv=3))
        for decoder in ("pairwise_coupling", "max_wins")
    ]
    sweep = MethodSweep(methods, show_progress=False).fit(*table)
    return sweep.results_, [one.predict_proba(table[0]) for _, one in probable(sweep)]


def probable(sweep):
    return [(name, one) for name, one in sweep.classifiers_.items() if name != "max_wins"]


@pytest.mark.parametrize("machine", [SVM(), KernelLogisticRegression()])
def test_blocks_of_columns_change_no_bit(machine, table, monkeypatch):
    whole, p = tuned(machine, table)
    monkeypatch.setattr(held_out_path, "BLOCK_COEFFICIENTS", 1 << 14)
    monkeypatch.setattr(sweeps, "BATCH_SCORES", 1 << 13)
    pieces, q = tuned(machine, table)
    same = ["method", "error", "nll", "parameters"]
    for column in [name for name in same if name in whole]:
        assert list(whole[column]) == list(pieces[column])
    assert all(np.array_equal(one, other) for one, other in zip(p, q, strict=True))


def test_machines_of_a_fold_are_those_of_one_array(table, monkeypatch):
    X, y = table
    pairs = list(combinations(range(CLASSES), 2))
    labels = np.array([(y == a) * 1 - (y == b) for a, b in pairs], dtype=np.int8).T
    splits = [(np.flatnonzero(y % 2 == k % 2), np.flatnonzero(y % 2 != k % 2)) for k in range(2)]
    columns = KernelLogisticRegression(gamma=0.1).as_columns()
    state = columns.prepare(X)
    found = []
    for most in (1 << 24, 1 << 12):
        monkeypatch.setattr(held_out_path, "BLOCK_COEFFICIENTS", most)
        path = columns.held_out_path(
            state, labels, splits, [0.1, 1.0], None, TrainingOptions(), True
        )
        found.append(
            [
                (each.tested[k].mean, each.tested[k].probability, each.fitted(k).coefficients)
                for each in path
                for k in range(2)
            ]
        )
        assert isinstance(path[0].tested, list) == (most == 1 << 24)
    for one, other in zip(*found, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_columns_of_all_rows_are_solved_together(monkeypatch):
    monkeypatch.setattr(held_out_path, "BLOCK_COEFFICIENTS", 1)
    assert len(list(held_out_path._blocks(np.ones((9, 4), dtype=np.int8), 2))) == 1
    pairs = np.eye(9, dtype=np.int8)
    assert len(list(held_out_path._blocks(pairs, 2))) == 9
