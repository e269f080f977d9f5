"""Fitting codes of many columns in blocks, for columns in which few classes take part.

One-vs-one of 300 classes has 44,850 columns. The scores of all rows in all columns, and the
coefficients of all machines and folds, would take gigabytes, and almost all entries would be 0:
a row takes part in 299 columns. So machines and sigmoids are fitted for some columns at a time, on
the rows that take part in them, and rows are decoded some at a time.

Note: answers are those of the whole matrices, up to the rounding of sums over support vectors. A
sparse matrix of scores in place of blocks was the alternative; every calibrator and solver
would have had to read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..calibration import Calibrator
from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.types import FloatArray, IntArray, SignArray
from ..kernels import SMALL_GRAM
from ..kernels.memory import free_memory
from .folds import Splits
from .session import Session
from .training import BinaryMachines, TrainingSet, both_signs, fold_numbers

# Fewer scores than this are computed at once: 1 MB. With 30 classes of 100 rows, ten times as many,
# blocks take 60 % of the time and a sixth of the memory.
LEAST_ENTRIES = 1 << 17
# The largest share of classes that take part in a column, on average.
LARGEST_SHARE = 0.1
# A block of pairs are those of this many classes with as many others.
TILE = 16
MOST_COLUMNS = TILE * TILE
# What a decoder may learn from that blocks do not provide.
WHOLE = frozenset({"held_out_scores", "training_scores", "refit", "inputs"})


@dataclass(frozen=True)
class BlockedFit:
    """What blocks of columns have learned, put together.

    Parameters
    ----------
    machines : BinaryMachines
        The machines of all rows. The calibrator of the session is fitted.
    folds : list of (BinaryMachines, Calibrator)
        The same for the training rows of every fold, if asked for.
    """

    machines: BinaryMachines
    folds: list[tuple[BinaryMachines, Calibrator]]


def is_for_blocks(session: Session) -> bool:
    """Return whether a pipe is fitted in blocks: many columns, of few classes each."""
    book, parts, data = session.data.codebook, session.parts, session.data
    if book.n_columns * len(data.y) < LEAST_ENTRIES or session.prefit or session.leave_one_out:
        return False
    able = hasattr(data.machine, "join") and not parts.decoder.needs & WHOLE
    if parts.calibrator.learns:
        able = able and parts.calibrator.column_by_column
    share = np.count_nonzero(book.matrix) / book.matrix.size
    return able and book.all_trained and bool(share <= LARGEST_SHARE)


def check_memory(session: Session, n_subsets: int) -> None:
    """Refuse a fit whose scores in all columns cannot be in memory, before NumPy does."""
    data, book = session.data, session.data.codebook
    # Kernel machines keep a coefficient for every row and column, too.
    n_arrays = 4 + (n_subsets if data.machine.shares == "rows" else 0)
    needed = 8.0 * n_arrays * len(data.y) * book.n_columns
    if needed > free_memory():
        raise MemoryError(
            f"The code {book.name!r} has {book.n_columns} columns, whose scores for {len(data.y)} "
            f"rows need about {needed / 2**30:.1f} GiB; {free_memory() / 2**30:.1f} GiB are free. "
            "Use code='one_vs_rest' or code='nested', or fewer rows."
        )


def fit_in_blocks(session: Session, splits: Splits, keep_folds: bool) -> BlockedFit:
    """Train machines and fit calibrators, some columns at a time.

    Parameters
    ----------
    session : Session
        The pipe and its rows; its calibrator is fitted in place.
    splits : list of (train, test)
        The folds, if something is learned from held-out scores.
    keep_folds : bool
        Whether to return machines and calibrators of the folds.
    """
    data, calibrator = session.data, session.parts.calibrator
    fold_of = fold_numbers(splits, np.arange(len(data.y)))
    subsets = [data.rows, *(train for train, _ in splits)]
    blocks = list(column_blocks(data.codebook, _tile(data)))
    kept = subsets if keep_folds else subsets[:1]
    machines: list[Any] = [
        data.machine.collect(_most_entries(data, rows))  # type: ignore[attr-defined]
        for rows in kept
    ]
    calibrators: list[list[Calibrator]] = [[] for _ in kept]
    for columns in blocks:
        block = _Block(data, columns, fold_of)
        fitted = block.train(subsets)
        if calibrator.learns:
            # Those of the folds, which come after that of all rows, are fitted only if asked for.
            for learned, one in zip(calibrators, block.calibrate(calibrator, fitted), strict=False):
                learned.append(one)
        for trained, each in zip(machines, fitted, strict=False):
            trained.add(each)
    order = np.argsort(np.concatenate(blocks))
    found = []
    for number in range(len(kept)):
        joined = data.machine.join(machines[number], data.state, order)  # type: ignore[attr-defined]
        _, source, sign = data.codebook.trained
        whole = calibrator if number == 0 else copy(calibrator)
        if calibrator.learns:
            whole.join(calibrators[number], order)
        found.append((BinaryMachines(data.machine, joined, source, sign), whole))
        machines[number], calibrators[number] = None, []
    return BlockedFit(found[0][0], found[1:])


def _most_entries(data: TrainingSet, rows: IntArray) -> int:
    """Return in how many columns rows take part, all together."""
    n_columns = np.array([np.count_nonzero(word) for word in data.codebook.matrix])
    return int(n_columns[data.y[rows]].sum())


def _tile(data: TrainingSet) -> int:
    """Return of how many classes the pairs with as many others have a small Gram matrix."""
    largest = int(np.bincount(data.y[data.rows]).max())
    return max(2, min(TILE, SMALL_GRAM // (2 * largest)))


def column_blocks(codebook: Codebook, tile: int = TILE) -> Iterator[IntArray]:
    """Yield columns that are trained together, with few classes among them."""
    pairs = codebook.pairs
    if pairs is None:
        for start in range(0, codebook.n_columns, MOST_COLUMNS):
            yield np.arange(start, min(start + MOST_COLUMNS, codebook.n_columns))
        return
    low, high = pairs.min(axis=1) // tile, pairs.max(axis=1) // tile
    place = low * codebook.n_classes + high
    order = np.argsort(place, kind="stable")
    ends = np.flatnonzero(np.diff(place[order])) + 1
    yield from np.split(order, ends)


class _Block:
    """Some columns, and the rows that take part in them."""

    def __init__(self, data: TrainingSet, columns: IntArray, fold_of: IntArray | None) -> None:
        self.data, self.columns = data, columns
        words: SignArray = data.codebook.matrix[:, columns]
        inside = (words != 0).any(axis=1)
        used = data.rows[inside[data.y[data.rows]]]
        self.rows: IntArray = used
        self.labels: SignArray = words[data.y[used]]
        self.fold: IntArray | None = None if fold_of is None else fold_of[used]

    def train(self, subsets: Sequence[IntArray]) -> list[Any]:
        """Train the columns on every subset of rows."""
        data, columns = self.data, self.columns
        labels = np.zeros((len(data.y), len(columns)), dtype=np.int8)
        labels[self.rows] = self.labels
        options = replace(
            data.options, describe=lambda column: data.options.describe(int(columns[column]))
        )
        return data.machine.fit(data.state, labels, subsets, data.machine_weights, options)

    def calibrate(self, calibrator: Calibrator, fitted: Sequence[Any]) -> Iterator[Calibrator]:
        """Yield the calibrators of all rows, and of the training rows of every fold."""
        taking_part = self.labels != 0
        scores = np.zeros(self.labels.shape)
        by_full = np.full(self.labels.shape, self.fold is None) & taking_part
        outside = [np.asarray(self.fold != fold, dtype=bool) for fold in range(len(fitted) - 1)]
        for fold, train in enumerate(outside):
            test = np.flatnonzero(~train)
            scores[test] = self._scores(fitted[1 + fold], test, taking_part[test])
            by_full[test] |= taking_part[test] & ~both_signs(self.labels[train])
        scores[~taking_part] = 0.0
        # As in `held_out_scores`: without both signs in the fold, the machine of all rows answers.
        known = scores.copy()
        places = np.flatnonzero(by_full.any(axis=1))
        if len(places):
            full = self._scores(fitted[0], places, by_full[places])
            known[places] = np.where(by_full[places], full, known[places])
        yield self._calibrator(calibrator, known, np.ones(len(known), dtype=bool))
        for train in outside:
            yield self._calibrator(calibrator, scores, train)

    def _scores(self, fitted: Any, places: IntArray, where: NDArray[np.bool_]) -> FloatArray:
        data = self.data
        scores = data.machine.training_margins(
            fitted, data.state, self.rows[places], where, False, data.options.n_jobs
        ).mean
        assert scores is not None
        return scores

    def _calibrator(
        self, calibrator: Calibrator, scores: FloatArray, inside: NDArray[np.bool_]
    ) -> Calibrator:
        fitted: Calibrator = clone(calibrator)
        weights = self.data.weights_of(self.rows[inside])
        return fitted.fit(Margins(mean=scores[inside]), self.labels[inside], weights)
