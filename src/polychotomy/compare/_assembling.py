"""What was judged, put together at the end: the ranking of one size, and what others say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..execution.deadline import Clock
from ._candidates import BASELINE, Candidate
from ._classes import Classes
from ._comparison import MethodComparison
from ._judging import HeldOut, Level, Material
from ._plan import FEWEST_SPLITS
from ._schedule import Schedule

CURVE_SPLITS = 3


def assembled(
    chosen: Sequence[Candidate],
    schedule: Schedule,
    material: Material,
    classes: Classes,
    clock: Clock,
    protocol: str,
    columns: tuple[Any, Any],
) -> MethodComparison:
    """Put together what was found: the ranking of one size, and what other sizes say."""
    found = {
        level: {name: splits for name, splits in runs.items() if splits}
        for level, runs in schedule.found.items()
    }
    found = {level: runs for level, runs in found.items() if runs}
    order = sorted(found, key=lambda level: (level.tuned, level.rows))
    wanted = min(2, max((len(runs) for runs in found.values()), default=0))
    ranked = [level for level in order if len(found[level]) >= wanted]
    known = {one.name: one for one in chosen}
    level = ranked[-1] if ranked else Level(schedule.sizes[0])
    if ranked and schedule.best_nll(order[-1]) < schedule.best_nll(level):
        level = order[-1]  # one method on more rows is better than all others on fewer
    names, splits = common_splits(found.get(level, {}))
    main = {name: [found[level][name][split] for split in splits] for name in names}
    splits = splits or [0]
    main[BASELINE.name] = [baseline(material, split, level.rows) for split in splits]
    others: dict[str, list[HeldOut]] = {}
    for lower in reversed(order):
        for name, runs in found[lower].items():
            if name not in main and name not in others and lower.rows <= level.rows:
                others[name] = [runs[split] for split in sorted(runs)]
    train, test = material.rounds[0]
    judged = {**{name: known[name] for name in (*names, *others)}, BASELINE.name: BASELINE}
    left_out = {
        one.name: schedule.failures.get(one.name, "no time was left to try it")
        for one in chosen
        if one.name not in judged
    }
    behind = [*others, *(() if level.tuned else names)]
    share = len(train) / len(material.y)
    return MethodComparison(
        candidates=judged,
        held_out=main,
        y=material.y,
        classes=classes.labels,
        test_to_train=len(test) / min(len(train), level.rows),
        protocol=_protocol_words(protocol, len(splits), len(material.rounds), share, columns),
        left_out=left_out,
        notes=[*classes.notes, *schedule.notes],
        seconds=clock.spent,
        others=others,
        level=level,
        most_rows=schedule.sizes[-1],
        curve=learning_curve(found, material),
        kept=classes.rows,
        why={name: schedule.failures[name] for name in behind if name in schedule.failures},
    )


def learning_curve(
    found: dict[Level, dict[str, dict[int, HeldOut]]], material: Material
) -> list[dict[str, Any]]:
    """Return the figures of all methods for every number of training rows.

    They are means over the first splits, as many as every number of rows has.
    """
    names = {name for runs in found.values() for name, splits in runs.items() if splits}
    points = []
    for name in sorted(names):
        levels = [level for level in found if found[level].get(name)]
        shared = set.intersection(*(set(found[level][name]) for level in levels))
        for level in sorted(levels, key=lambda level: (level.rows, level.tuned)):
            runs = [found[level][name][split] for split in sorted(shared)[:CURVE_SPLITS]]
            figures = [one.figures(material.y[one.rows]) for one in runs]
            if figures:
                means = {key: float(np.mean([one[key] for one in figures])) for key in figures[0]}
                rows, splits = runs[0].train_rows, len(runs)
                point = {"method": name, "rows": rows, "tuned": level.tuned, "splits": splits}
                points.append({**point, **means})
    return points


def baseline(material: Material, split: int, rows: int) -> HeldOut:
    """Answer every test row with the shares of the classes in the training part."""
    train, test = material.rounds[split]
    train = train[:rows]
    weights = None if material.weights is None else material.weights[train]
    counts = np.bincount(material.y[train], weights, len(material.labels))
    p = np.tile(counts / counts.sum(), (len(test), 1))
    own = None if material.weights is None else material.weights[test]
    return HeldOut(test, p.argmax(axis=1), p, 0.0, {}, weights=own, train_rows=len(train))


def _protocol_words(
    protocol: str, done: int, wanted: int, train: float, columns: tuple[Any, Any]
) -> str:
    of = "" if done == wanted else f" of the {wanted} planned"
    plural = "" if done == 1 and not of else "s"  # "1 of the 10 planned splits"
    groups, order = columns
    if order is not None:
        return f"{done}{of} window{plural} in time, each trained on all rows before it"
    kind = "random stratified split" if protocol == "hold-out" else "fold"
    nested = "" if protocol == "hold-out" else " of nested cross-validation"
    kind = kind if groups is None else "split by group"
    text = f"{done}{of} {kind}{plural}{nested}, {train:.0%} for training"
    return text.replace("%", " %").replace("split by groups", "splits by group")


def common_splits(runs: dict[str, dict[int, HeldOut]]) -> tuple[list[str], list[int]]:
    """Return the methods that were judged on enough splits, and the splits of all of them.

    Parameters
    ----------
    runs : dict
        What each method predicted, by the number of the split.

    Returns
    -------
    names : list of str
    splits : list of int
    """
    counts = sorted((len(splits) for splits in runs.values()), reverse=True)
    most = counts[0] if counts else 0
    # A ranking needs two methods, if necessary on fewer splits.
    enough = min(FEWEST_SPLITS, counts[min(1, len(counts) - 1)]) if counts else 0
    names = [name for name, splits in runs.items() if splits and len(splits) >= enough]
    shared = set.intersection(*(set(runs[name]) for name in names)) if names else set()
    if not shared:  # each on other splits: those of the method with the most
        names = [name for name in names if len(runs[name]) == most][:1]
        shared = set(runs[names[0]]) if names else set()
    return names, sorted(shared)
