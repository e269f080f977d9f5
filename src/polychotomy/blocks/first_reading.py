"""The first reading: which classes there are, how many rows of each, and a sample of the rows.

Note: the sample is taken by a hash of the rows' positions. The rows with the smallest hashes of two
blocks together are found from those of each, so the sample does not depend on the blocks, and any
number of machines can look for it. A hash of what the rows hold would not depend on their order
either, but equal rows would be drawn all together or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from ..core.checks import refuse_weightless_classes
from ..core.types import FloatArray, IntArray
from ..core.weights import refuse_mixed_labels
from .block import Block

# The sample has at most this many rows, and about this many numbers, and at least so many rows of
# every class that has them.
SAMPLE_ROWS, SAMPLE_ENTRIES, ROWS_A_CLASS = 50_000, 1 << 25, 20
# With more labels than this, y is no list of classes.
MOST_CLASSES = 20_000


@dataclass(frozen=True)
class Drawn:
    """Rows of the sample.

    `keys` are the hashes, `positions` the places in the source, `ranks` the number of earlier rows
    of the same class in the row's block, `blocks` the number of that block.
    """

    keys: NDArray[np.uint64]
    positions: IntArray
    ranks: IntArray
    blocks: IntArray
    X: NDArray[Any]
    y: NDArray[Any]
    weights: FloatArray | None

    def rows(self, index: NDArray[Any]) -> Drawn:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[index]
        return Drawn(
            self.keys[index],
            self.positions[index],
            self.ranks[index],
            self.blocks[index],
            self.X[index],
            self.y[index],
            weights,
        )

    def smallest(self, number: int) -> Drawn:
        """Return the rows with the smallest keys, and the smallest few of every class."""
        if len(self.keys) <= number:
            return self
        limit = np.partition(self.keys, number - 1)[number - 1]
        _, classes = np.unique(self.y, return_inverse=True)
        few = ranks_in_classes(np.ravel(classes), np.argsort(self.keys)) < ROWS_A_CLASS
        return self.rows(np.flatnonzero((self.keys <= limit) | few))


@dataclass(frozen=True)
class BlockSurvey:
    """What the survey finds in one block: labels, their rows and weights, and rows drawn.

    `without` are the labels all of whose rows have the weight 0.
    """

    labels: NDArray[Any]
    counts: IntArray
    weights: FloatArray
    drawn: Drawn
    without: NDArray[Any]
    checksum: int


@dataclass(frozen=True)
class Sample:
    """Some rows of a source, in their order.

    Attributes
    ----------
    X, y, weights : ndarray
        The inputs, the class numbers and the weights (or None) of the rows.
    ranks : ndarray of int
        How many rows of its class come before a row in the source.
    shares : ndarray or None
        For every row, how much more, or less, often rows of its class are in the source than in
        the sample, relative to all rows; None if the sample has all rows.
    """

    X: NDArray[Any]
    y: IntArray
    weights: FloatArray | None
    ranks: IntArray
    shares: FloatArray | None


@dataclass(frozen=True)
class Survey:
    """What one reading tells about the rows of a source.

    Attributes
    ----------
    classes : ndarray of labels
        The classes, sorted.
    counts : ndarray of shape (n_blocks, n_classes)
        The number of rows of positive weight of every class, block by block.
    weights : ndarray of shape (n_classes,)
        Their total weights.
    sample : Sample
        Some of the rows.
    checksums : ndarray of shape (n_blocks,)
        The checksum of every block, which tells whether a second reading gives the same rows.
    """

    classes: NDArray[Any]
    counts: IntArray
    weights: FloatArray
    sample: Sample
    checksums: NDArray[np.uint32]

    @property
    def n_rows(self) -> int:
        """The number of rows of positive weight."""
        return int(self.counts.sum())

    @property
    def sizes(self) -> IntArray:
        """The number of rows of positive weight of every class."""
        sizes: IntArray = self.counts.sum(axis=0)
        return sizes

    def thinned(self, step: int) -> Survey:
        """Return the same with every step-th row of every class of the sample."""
        if step <= 1:
            return self
        old = self.sample
        kept = ranks_in_classes(old.y, np.arange(len(old.y))) % step == 0
        weights = None if old.weights is None else old.weights[kept]
        shares = _shares(old.y[kept], weights, self.weights)
        sample = Sample(old.X[kept], old.y[kept], weights, old.ranks[kept], shares)
        return replace(self, sample=sample)


def survey(source: Any) -> Survey:
    """Read a source once.

    Parameters
    ----------
    source : RowBlocks
        The rows.

    Returns
    -------
    found : Survey

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.blocks import RowBlocks
    >>> from polychotomy.blocks.first_reading import survey
    >>> found = survey(RowBlocks([(np.zeros((3, 1)), ["b", "a", "b"]), (np.ones((1, 1)), ["c"])]))
    >>> found.classes.tolist(), found.counts.tolist(), found.sample.X.shape
    (['a', 'b', 'c'], [[1, 2, 1]], (4, 1))
    """
    if source.on_cluster:
        found = source.compute(partial(look, share=share_of(source.n_rows)))
    else:
        found = map(look, source.blocks())
    return _put_together(found)


def share_of(n_rows: int) -> float:
    """Return the share of the rows of a block that may get into the sample of so many rows."""
    return min(1.0, 2.0 * SAMPLE_ROWS / max(n_rows, 1))


def look(block: Block, share: float = 1.0) -> BlockSurvey:
    """Survey one block, of whose rows a share may get into the sample."""
    used = block.used()
    refuse_mixed_labels(block.y)
    labels, numbers = np.unique(block.y[used], return_inverse=True)
    numbers = np.ravel(numbers)
    # A copy: a view would keep the labels of every block.
    without = block.y[:0].copy() if len(used) == len(block.y) else np.setdiff1d(block.y, labels)
    if len(labels):
        check_classification_targets(labels)
    weights = None if block.weights is None else block.weights[used]
    keys = hashed(block.start + used)
    drawn = Drawn(
        keys,
        block.start + used,
        ranks_in_classes(numbers, np.arange(len(used))),
        np.full(len(used), block.number),
        block.X if len(used) == len(block.y) else block.X[used],
        block.y[used],
        weights,
    )
    near = keys / 2.0**64 <= share
    few = ranks_in_classes(numbers, np.argsort(keys)) < ROWS_A_CLASS
    return BlockSurvey(
        labels,
        np.bincount(numbers, minlength=len(labels)),
        np.bincount(numbers, weights, minlength=len(labels)).astype(np.float64),
        drawn.rows(np.flatnonzero(near | few)).smallest(sample_rows(block.X.shape[1])),
        without,
        checksum(block, numbers),
    )


def checksum(block: Block, numbers: IntArray) -> int:
    """Return a checksum of the inputs, weights and classes of a block.

    Note: CRC-32 reads a gigabyte or more a second, a hundredth of the time of the sums. It is not
    safe against intent, only against sources that are shuffled or drawn anew.

    Parameters
    ----------
    block : Block
        The rows.
    numbers : ndarray of int
        The classes of the rows of positive weight, counted among those that the block has.
    """
    found = 0
    for values in (block.X, block.weights, numbers.astype(np.int32)):
        if values is not None:
            found = crc32(np.ascontiguousarray(values).data, found)
    return found


def sample_rows(n_features: int) -> int:
    """Return how many rows a sample has."""
    return min(SAMPLE_ROWS, max(1, SAMPLE_ENTRIES // n_features))


def _put_together(found: Iterable[BlockSurvey]) -> Survey:
    blocks: list[tuple[NDArray[Any], IntArray]] = []
    totals: dict[Any, float] = {}
    drawn: Drawn | None = None
    without: list[NDArray[Any]] = []
    checksums = []
    for each in found:
        blocks.append((each.labels, each.counts))
        without.append(each.without)
        checksums.append(each.checksum)
        for label, weight in zip(each.labels.tolist(), each.weights.tolist(), strict=True):
            totals[label] = totals.get(label, 0.0) + weight
        if len(totals) > MOST_CLASSES:
            raise ValueError(
                f"y has more than {MOST_CLASSES} different labels. If it holds numbers to be "
                "predicted, cut them into ranges first."
            )
        both = each.drawn if drawn is None else _joined(drawn, each.drawn)
        drawn = both.smallest(sample_rows(both.X.shape[1]))
    if drawn is None or not len(drawn.keys):
        raise ValueError("The source has no rows (of positive weight).")
    labels = [own for own, _ in blocks if len(own)]
    refuse_mixed_labels([own.tolist()[0] for own in labels])
    classes = np.unique(np.concatenate(labels))
    _refuse_weightless(np.concatenate(without), classes)
    counts = np.zeros((len(blocks), len(classes)), dtype=np.intp)
    for row, (own, numbers) in zip(counts, blocks, strict=True):
        row[np.searchsorted(classes, own)] = numbers
    weights = np.array([totals[label] for label in classes.tolist()])
    sample = _sample(drawn, classes, counts, weights)
    return Survey(classes, counts, weights, sample, np.array(checksums, dtype=np.uint32))


def _refuse_weightless(without: NDArray[Any], classes: NDArray[Any]) -> None:
    """Refuse classes that have only rows of weight 0, as for rows in memory."""
    every = np.union1d(classes, without)
    numbers = np.searchsorted(every, classes)
    refuse_weightless_classes(np.ones(len(numbers)), numbers, every)


def _sample(drawn: Drawn, classes: NDArray[Any], counts: IntArray, weights: FloatArray) -> Sample:
    drawn = drawn.rows(np.argsort(drawn.positions))
    y = np.searchsorted(classes, drawn.y)
    before = np.cumsum(counts, axis=0) - counts
    shares = None if len(y) == counts.sum() else _shares(y, drawn.weights, weights)
    return Sample(drawn.X, y, drawn.weights, before[drawn.blocks, y] + drawn.ranks, shares)


def _shares(y: IntArray, weights: FloatArray | None, totals: FloatArray) -> FloatArray:
    own = np.bincount(y, weights, len(totals))
    shares: FloatArray = ((totals / totals.sum()) / (own / own.sum()))[y]
    return shares


def _joined(first: Drawn, second: Drawn) -> Drawn:
    weights = None
    if first.weights is not None and second.weights is not None:
        weights = np.concatenate([first.weights, second.weights])

    def both(name: str) -> Any:
        return np.concatenate([getattr(first, name), getattr(second, name)])

    names = ("keys", "positions", "ranks", "blocks", "X", "y")
    return Drawn(**{name: both(name) for name in names}, weights=weights)


def hashed(positions: IntArray) -> NDArray[np.uint64]:
    """Return numbers that look random, different for different positions (splitmix64)."""
    x = positions.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def ranks_in_classes(numbers: IntArray, order: IntArray) -> IntArray:
    """Return how many rows of the same class come before each row in an order."""
    by_class = order[np.argsort(numbers[order], kind="stable")]
    sizes = np.bincount(numbers) if len(numbers) else np.zeros(0, dtype=np.intp)
    ranks = np.empty(len(numbers), dtype=np.intp)
    ranks[by_class] = np.arange(len(numbers)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return ranks
