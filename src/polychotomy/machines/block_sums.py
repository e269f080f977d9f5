"""Sums over the features of rows that are read block by block.

Note: the sums of a block are computed cell by cell, and added to the totals in the order of the
blocks. So threads, and the workers of a cluster, change no bit, and here only one matrix for each
thread is alive besides the totals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import Block
from ..blocks.first_reading import Survey, checksum, ranks_in_classes
from ..core.threads import in_order, single_threaded_blas
from ..core.types import FloatArray, IntArray, SignArray
from ..kernels import FeatureSums, Summing
from .layout import Layout, lay_out


class CellRows(NamedTuple):
    """The rows of a block that are in one cell, with their groups in ascending order."""

    cell: int
    X: NDArray[Any]
    rows: IntArray
    groups: IntArray
    weights: FloatArray | None


class CellSums(NamedTuple):
    """The sums over these rows: products, the groups that there are, and the sums of each.

    From a cluster only the entries of the lower triangle of the products come, one after the other.
    """

    cell: int
    products: FloatArray
    present: IntArray
    sums: FloatArray
    weights: FloatArray


@dataclass(frozen=True)
class FoldPlan:
    """Which row of a source is in which fold and group.

    The j-th row of a class, in the order of the source, is in fold j modulo the number of folds.
    So folds are stratified, equal rows are spread over them, and no hash of the rows is needed.

    Parameters
    ----------
    classes : ndarray of labels
        The classes.
    counts : ndarray of shape (n_blocks, n_classes)
        The rows of every class in every block.
    n_folds : int
        The number of folds; 1 for none.
    groups : ndarray of shape (n_folds, n_classes)
        The group of the rows of a class in a fold.
    factors : ndarray of shape (n_classes,) or None
        The weights of the classes.
    weighted : bool
        Whether the weights of rows count.
    checksums : ndarray of shape (n_blocks,)
        The checksum of every block.
    """

    classes: NDArray[Any]
    counts: IntArray
    n_folds: int
    groups: IntArray
    factors: FloatArray | None
    weighted: bool
    checksums: NDArray[np.uint32]

    def cells_of(self, block: Block, cells: IntArray) -> Iterator[CellRows]:
        """Put the rows of a block into cells."""
        used = block.used()
        numbers = np.searchsorted(self.classes, block.y[used])
        numbers = np.minimum(numbers, len(self.classes) - 1)
        known = block.number < len(self.counts) and bool(
            np.all(self.classes[numbers] == block.y[used])
            and np.array_equal(
                np.bincount(numbers, minlength=len(self.classes)), self.counts[block.number]
            )
        )
        if known:
            among = np.cumsum(self.counts[block.number] > 0) - 1
            known = checksum(block, among[numbers]) == self.checksums[block.number]
        if not known:
            raise ValueError(OTHER_ROWS)
        before = self.counts[: block.number].sum(axis=0)
        ranks = before[numbers] + ranks_in_classes(numbers, np.arange(len(used)))
        groups = self.groups[ranks % self.n_folds, numbers]
        weights = self._weights(block, used, numbers)
        order = np.argsort(groups, kind="stable")
        own = cells[groups[order]]
        for cell in np.unique(own).tolist():
            rows = order[slice(*np.searchsorted(own, [cell, cell + 1]))]
            yield CellRows(
                cell, block.X, used[rows], groups[rows], None if weights is None else weights[rows]
            )

    def _weights(self, block: Block, used: IntArray, numbers: IntArray) -> FloatArray | None:
        weights = None
        if self.weighted and block.weights is not None:
            weights = block.weights[used]
        if self.factors is not None:
            own = self.factors[numbers]
            weights = own if weights is None else weights * own
        return weights


OTHER_ROWS = (
    "The source gave other rows when it was read again. It has to give the same rows in the same "
    "order each time; if it is a function, let it return a new iterator."
)


def plan_folds(
    found: Survey,
    matrix: SignArray,
    n_folds: int,
    factors: FloatArray | None,
    weighted: bool,
) -> tuple[FoldPlan, Layout]:
    """Lay out the rows of a source: all of them as the first subset, and then without each fold.

    Parameters
    ----------
    found : Survey
        What is known of the rows.
    matrix : ndarray of shape (n_classes, n_columns)
        The labels of every class.
    n_folds : int
        The number of folds; 1 for none.
    factors : ndarray of shape (n_classes,) or None
        The weights of the classes.
    weighted : bool
        Whether the weights of rows count.
    """
    counts = found.counts.sum(axis=0)
    # The rows of a class in fold f are those with the ranks f, f + n_folds, ...
    sizes = (counts - np.arange(n_folds)[:, None] + n_folds - 1) // n_folds
    folds, classes = np.nonzero(sizes > 0)
    subsets = [np.arange(len(folds))]
    if n_folds > 1:
        subsets += [np.flatnonzero(folds != fold) for fold in range(n_folds)]
    layout = lay_out(matrix[classes], subsets)
    groups = np.full(sizes.shape, -1)
    groups[folds[layout.rows], classes[layout.rows]] = layout.groups
    own_sizes = np.bincount(layout.groups, sizes[folds, classes][layout.rows]).astype(np.float64)
    plan = FoldPlan(
        found.classes, found.counts, n_folds, groups, factors, weighted, found.checksums
    )
    return plan, replace(layout, sizes=own_sizes)


def block_sums(
    source: Any, summing: Summing, plan: FoldPlan, layout: Layout, n_threads: int = 1
) -> tuple[FeatureSums, Layout]:
    """Sum the features of all rows of a source, in one reading.

    Parameters
    ----------
    source : RowBlocks
        The rows.
    summing : Summing
        How features are summed.
    plan : FoldPlan
        Which row is in which group.
    layout : Layout
        The groups.
    n_threads : int, default=1
        The number of threads, where the blocks are not computed by a cluster.

    Returns
    -------
    sums : FeatureSums
    layout : Layout
        The groups, with their total weights.
    """
    totals = summing.nothing(layout.n_cells, len(layout.cells))
    weights = np.zeros(len(layout.cells))
    n_rows = 0
    lower = np.tri(len(summing.landmarks), dtype=bool)
    found: Iterable[tuple[CellSums, int]]
    # From a cluster the entries of the triangles come one after the other, and are added so.
    products = np.zeros((layout.n_cells, lower.sum())) if source.on_cluster else totals.products
    with single_threaded_blas():
        if source.on_cluster:
            work = partial(_whole_block, summing, plan, layout.cells)
            found = (cell for block in source.compute(work) for cell in block)
        else:
            tasks = (
                task for block in source.blocks() for task in plan.cells_of(block, layout.cells)
            )
            found = in_order(lambda task: _summed(summing, task), tasks, n_threads)
        for each, count in found:
            products[each.cell] += each.products
            totals.sums[each.present] += each.sums
            weights[each.present] += each.weights
            n_rows += count
        if n_rows != plan.counts.sum():
            raise ValueError(OTHER_ROWS)
        if source.on_cluster:
            for cell, entries in zip(totals.products, products, strict=True):
                cell[lower] = entries
        summing.finish(totals)
    return totals, replace(layout, weights=weights)


def _summed(summing: Summing, task: CellRows) -> tuple[CellSums, int]:
    products, present, sums = summing.of_one_cell(task.X, task.rows, task.groups, task.weights)
    places = np.searchsorted(present, task.groups)
    weights = np.bincount(places, task.weights, len(present)).astype(np.float64)
    return CellSums(task.cell, products, present, sums, weights), len(task.rows)


def _whole_block(
    summing: Summing, plan: FoldPlan, cells: IntArray, block: Block
) -> list[tuple[CellSums, int]]:
    found = (_summed(summing, task) for task in plan.cells_of(block, cells))
    lower = np.tri(len(summing.landmarks), dtype=bool)
    return [(each._replace(products=each.products[lower]), count) for each, count in found]
