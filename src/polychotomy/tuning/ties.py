"""Choosing the best cell of a grid, and the rules that break ties.

Note: errors of a few hundred rows take few values, and ties are common. Each rule is a function
from the cells left to fewer cells, and a paper's procedure is a list of rules. One sort key for
each paper could not express rules that compare cells, such as `not_dominated`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.types import FloatArray, IntArray
from .grid import Grid, is_number

# Figures this close, relative to their size, differ only by rounding.
ROUNDING = 1e-12
# The direction in which a parameter makes a machine simpler.
SIMPLER = {"C": -1.0, "gamma": -1.0, "sigma2": 1.0}


@dataclass(frozen=True)
class Candidates:
    """The cells of one grid with their figures; cells that failed have NaN.

    Parameters
    ----------
    grid : Grid
        The grid.
    error : ndarray of shape (n_cells,)
        cvErr.
    nll : ndarray of shape (n_cells,) or None
        cvNLL; None without probabilities.
    """

    grid: Grid
    error: FloatArray
    nll: FloatArray | None

    def simplicity(self) -> FloatArray:
        """Return the simplicity of every cell in every ordered parameter; larger is simpler.

        For the papers' parameters these are minus C and plus sigma2, in this order.
        """
        columns = []
        names = [name.rpartition("__")[2] for name in self.grid.names]
        for place in sorted(range(len(names)), key=lambda k: names[k] != "C"):
            values = [cell[place] for cell in self.grid.cells]
            if names[place] in SIMPLER and all(is_number(value) for value in values):
                columns.append(SIMPLER[names[place]] * np.array(values, dtype=float))
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.error), 0))

    def neighbour_means(self, figure: FloatArray) -> FloatArray:
        """Return for every cell the mean of a figure over the surrounding cells that exist."""
        means = np.full(len(figure), np.inf)
        for number in range(len(figure)):
            around = figure[self.grid.neighbours(number)]
            around = around[~np.isnan(around)]
            if len(around):
                means[number] = around.mean()
        return means


Rule = Callable[[Candidates, IntArray], IntArray]


def least_error(cells: Candidates, left: IntArray) -> IntArray:
    """Keep the cells of least cvErr."""
    return _least(cells.error, left)


def least_nll(cells: Candidates, left: IntArray) -> IntArray:
    """Keep the cells of least cvNLL, if there are probabilities."""
    return left if cells.nll is None else _least(cells.nll, left)


def not_dominated(cells: Candidates, left: IntArray) -> IntArray:
    """Drop a cell if another is simpler in one parameter and at least as simple in the others."""
    simple = cells.simplicity()[left]
    at_least = np.all(simple[None, :, :] >= simple[:, None, :], axis=2)
    more = np.any(simple[None, :, :] > simple[:, None, :], axis=2)
    kept: IntArray = left[~np.any(at_least & more, axis=1)]
    return kept


def least_neighbour_error(cells: Candidates, left: IntArray) -> IntArray:
    """Keep the cells with the least mean cvErr of the surrounding cells."""
    return _least(cells.neighbour_means(cells.error), left)


def least_neighbour_nll(cells: Candidates, left: IntArray) -> IntArray:
    """Keep the cells with the least mean cvNLL of the surrounding cells."""
    return left if cells.nll is None else _least(cells.neighbour_means(cells.nll), left)


def simplest_first(cells: Candidates, left: IntArray) -> IntArray:
    """Keep the cells of smallest C, and of these the cells of largest sigma2."""
    return _lexicographic(cells.simplicity(), left)


def widest_first(cells: Candidates, left: IntArray) -> IntArray:
    """Keep the cells of largest sigma2, and of these the cells of smallest C."""
    return _lexicographic(cells.simplicity()[:, ::-1], left)


RULES: dict[str, tuple[Rule, ...]] = {
    "duan2003": (
        least_error,
        least_nll,
        not_dominated,
        least_neighbour_error,
        least_neighbour_nll,
        simplest_first,
    ),
    "duan2005": (least_error, least_nll, widest_first),
    "nll": (least_nll, least_error, widest_first),
}


def choose(cells: Candidates, ties: str) -> int:
    """Return the number of the best cell; the rules are applied until one cell is left."""
    left = np.flatnonzero(~np.isnan(cells.error))
    for rule in RULES[ties]:
        if len(left) > 1:
            left = rule(cells, left)
    return int(left[0])


def still_possible(error: Sequence[float], nll: Sequence[float] | None, ties: str) -> list[int]:
    """Return the cells that the first two rules keep; later rules only choose among them."""
    figures = np.array(error), None if nll is None else np.array(nll)
    left = np.flatnonzero(~np.isnan(figures[0]))
    order = figures[::-1] if ties == "nll" else figures
    for figure in order:
        if figure is not None and len(left) > 1:
            left = _least(figure, left)
    return left.tolist()


def _least(figure: FloatArray, left: IntArray) -> IntArray:
    least = figure[left].min()
    if np.isinf(least):
        return left
    kept: IntArray = left[figure[left] <= least + ROUNDING * max(1.0, abs(least))]
    return kept


def _lexicographic(simplicity: FloatArray, left: IntArray) -> IntArray:
    for column in simplicity.T:
        left = left[column[left] == column[left].max()]
    return left
