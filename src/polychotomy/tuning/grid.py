"""Grids of machine parameters, their refinement, and the order in which cells are solved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from numbers import Real
from typing import Any

import numpy as np

from ..core.checks import listed

# DUAN03 section 4: seven decades, then nine factors around the best of them.
DECADES = tuple(10.0**power for power in range(-3, 4))
FACTORS = (0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0)

Cell = tuple[Any, ...]


@dataclass(frozen=True)
class Grid:
    """Every combination of some values of some parameters.

    Parameters
    ----------
    names : tuple of str
        The parameters.
    axes : tuple of tuple
        The values of each parameter. Numbers are in ascending order.
    """

    names: tuple[str, ...]
    axes: tuple[tuple[Any, ...], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each parameter."""
        return tuple(len(axis) for axis in self.axes)

    @property
    def cells(self) -> list[Cell]:
        """All combinations, the last parameter changing fastest."""
        return list(product(*self.axes))

    def params(self, cell: Cell) -> dict[str, Any]:
        """Return the parameters of a cell."""
        return dict(zip(self.names, cell, strict=True))

    def neighbours(self, number: int) -> list[int]:
        """Return the numbers of the cells around a cell, at most 8 for two parameters."""
        place = np.unravel_index(number, self.shape)
        ranges = [
            range(max(0, int(i) - 1), min(size, int(i) + 2))
            for i, size in zip(place, self.shape, strict=True)
        ]
        around = (int(np.ravel_multi_index(index, self.shape)) for index in product(*ranges))
        return [other for other in around if other != number]


def coarse_grid(values: Mapping[str, Any]) -> Grid:
    """Check the values given for every parameter, and sort them."""
    if not isinstance(values, Mapping) or not values:
        raise ValueError(
            "coarse must be a dictionary from parameters of the machine to the values to try, for "
            f"example {{'machine__C': [0.1, 1, 10]}}; got {values!r}."
        )
    axes = []
    for name, given in values.items():
        axis = list(given) if isinstance(given, Sequence | np.ndarray) else []
        if isinstance(given, str) or not axis:
            raise ValueError(f"coarse must give a list of values for {name}, got {given!r}.")
        axes.append(_ordered(axis))
    return Grid(tuple(values), tuple(axes))


def fine_factors(fine: Any, names: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Return the factors by which every parameter is refined."""
    given = dict.fromkeys(names, fine) if not isinstance(fine, Mapping) else dict(fine)
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(
            f"fine has the parameter {unknown[0]!r}, which is not in coarse; it has "
            f"{listed(names)}."
        )
    factors = {}
    for name, values in given.items():
        numbers = [] if isinstance(values, str) or not np.iterable(values) else list(values)
        if not numbers or not all(is_number(value) and value > 0 for value in numbers):
            raise ValueError(
                f"fine must be None or positive factors such as [0.5, 1, 2]; got {values!r} "
                f"for {name}."
            )
        # The best coarse cell itself is always a candidate.
        factors[name] = _ordered([*numbers, 1.0])
    return factors


def fine_grid(coarse: Grid, best: Cell, factors: Mapping[str, tuple[float, ...]]) -> Grid:
    """Return the grid around the best cell of a coarse one."""
    axes = [
        _ordered([value * factor for factor in factors[name]])
        if name in factors and is_number(value)
        else (value,)
        for name, value in zip(coarse.names, best, strict=True)
    ]
    return Grid(coarse.names, tuple(axes))


def possible_values(
    axis: Sequence[float], factors: Sequence[float] | None
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return all values that a step can use, and those at which a chain starts.

    Without factors, all coarse values are one chain. In the fine step, chains start at the smallest
    value and at every coarse value, not only at the best one.

    Note: along a chain, the solution for one value is the starting point for the next, and within
    the tolerance of the solver the result depends on it. With fixed starts, a cell has the same
    figures for every method, whichever coarse cell was best for it. The alternative, a chain from
    the smallest fine value, is shorter, but then tuning methods together and tuning each alone
    would give different figures.
    """
    if factors is None:
        return tuple(axis), (axis[0],)
    universe = _ordered([value * factor for value in axis for factor in factors])
    return universe, _ordered([universe[0], *axis])


def chains(
    wanted: Sequence[float], universe: Sequence[float], starts: Sequence[float]
) -> list[list[float]]:
    """Return runs of ascending values that lead from a start to every wanted value."""
    last: dict[float, float] = {}
    for value in sorted(wanted):
        start = max(start for start in starts if start <= value)
        last[start] = value
    return [[value for value in universe if start <= value <= end] for start, end in last.items()]


def is_number(value: Any) -> bool:
    """Whether a parameter value is a number, which factors can refine."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _ordered(values: Sequence[Any]) -> tuple[Any, ...]:
    """Sort numbers and drop duplicates; other values keep their order."""
    if not all(is_number(value) for value in values):
        return tuple(values)
    # Rounded, so that 0.1 * 2 and 1 * 0.2 are the same cell.
    return tuple(sorted({float(f"{float(value):.12g}") for value in values}))
