"""Grids, their refinement, the runs in which they are solved, and tie rules."""

from itertools import pairwise

import numpy as np
import pytest

from polychotomy.tuning.grid import (
    DECADES,
    FACTORS,
    Grid,
    chains,
    coarse_grid,
    fine_factors,
    fine_grid,
    possible_values,
)
from polychotomy.tuning.ties import Candidates, choose, still_possible

NAMES = ("machine__C", "machine__sigma2")


def grid(n_C=3, n_sigma2=3):
    return Grid(NAMES, (DECADES[:n_C], DECADES[:n_sigma2]))


def candidates(error, nll=None, shape=(3, 3)):
    return Candidates(
        grid(*shape), np.array(error, float), None if nll is None else np.array(nll, float)
    )


def test_the_papers_grids_have_49_and_81_cells():
    coarse = coarse_grid(dict.fromkeys(NAMES, DECADES))
    assert len(coarse.cells) == 49
    fine = fine_grid(coarse, (1.0, 10.0), fine_factors(FACTORS, NAMES))
    assert fine.axes == (
        (0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0),
        (2.0, 4.0, 6.0, 8.0, 10.0, 20.0, 40.0, 60.0, 80.0),
    )


def test_the_same_cell_reached_from_two_centres_is_the_same():
    coarse = coarse_grid({"machine__C": DECADES})
    factors = fine_factors(FACTORS, ["machine__C"])
    for low, high in pairwise(DECADES):
        below, above = (set(fine_grid(coarse, (c,), factors).axes[0]) for c in (low, high))
        assert len(below & above) == 4


def test_values_that_are_no_numbers_are_not_refined():
    coarse = coarse_grid({"machine__kernel": ["rbf", "poly"], "machine__C": [10, 1]})
    assert coarse.axes == (("rbf", "poly"), (1.0, 10.0))
    fine = fine_grid(coarse, ("poly", 10.0), fine_factors([0.5, 2], coarse.names))
    assert fine.axes == (("poly",), (5.0, 10.0, 20.0))


def test_neighbours_leave_out_the_centre_and_what_does_not_exist():
    assert grid().neighbours(4) == [0, 1, 2, 3, 5, 6, 7, 8]
    assert grid().neighbours(0) == [1, 3, 4]
    assert grid().neighbours(5) == [1, 2, 4, 7, 8]


def test_a_chain_to_a_value_is_the_same_whoever_asks_for_it():
    universe, starts = possible_values(DECADES, FACTORS)
    alone = {}
    for value in universe:
        (chain,) = chains([value], universe, starts)
        assert chain[-1] == value
        alone[value] = chain
    for wanted in (universe[3:12], universe, universe[::5]):
        for chain in chains(wanted, universe, starts):
            for value in set(chain) & set(wanted):
                assert chain[: chain.index(value) + 1] == alone[value]


def test_the_fine_step_solves_one_value_more_than_it_needs():
    universe, starts = possible_values(DECADES, FACTORS)
    fine = fine_grid(coarse_grid({"machine__C": DECADES}), (10.0,), {"machine__C": FACTORS})
    solved = [value for chain in chains(fine.axes[0], universe, starts) for value in chain]
    assert set(solved) - set(fine.axes[0]) == {1.0}


@pytest.mark.parametrize(
    ("error", "nll", "ties", "winner"),
    [
        # least error
        ([5, 5, 5, 5, 5, 1, 5, 5, 5], None, "duan2003", 5),
        ([5, 5, 5, 5, 5, 1, 5, 5, 5], None, "duan2005", 5),
        # least NLL among these
        ([1, 5, 5, 5, 5, 1, 5, 5, 1], [3, 0, 3, 3, 3, 2, 3, 3, 3], "duan2003", 5),
        ([1, 5, 5, 5, 5, 1, 5, 5, 1], [3, 0, 3, 3, 3, 2, 3, 3, 3], "duan2005", 5),
        # 5 has a smaller C than 8 and the same sigma2; 3 the same C and a smaller sigma2
        ([5, 5, 5, 1, 5, 1, 5, 5, 1], None, "duan2003", 5),
        # neither 0 (smaller C) nor 5 (larger sigma2) dominates: the neighbours of 5 are better
        ([1, 9, 3, 9, 3, 1, 3, 3, 3], None, "duan2003", 5),
        # the neighbours' errors tie, their NLL does not
        ([1, 5, 5, 5, 5, 5, 5, 5, 1], [1, 9, 2, 9, 2, 2, 2, 2, 1], "duan2003", 8),
        # nothing but C is left
        ([1, 5, 5, 5, 5, 5, 5, 5, 1], [1, 2, 2, 2, 2, 2, 2, 2, 1], "duan2003", 0),
        # DUAN05: larger sigma2 first
        ([1, 5, 5, 5, 5, 5, 5, 5, 1], [1, 2, 2, 2, 2, 2, 2, 2, 1], "duan2005", 8),
        # then smaller C
        ([5, 5, 1, 5, 5, 5, 5, 5, 1], None, "duan2005", 2),
        # our own: NLL before error
        ([1, 5, 5, 5, 5, 2, 5, 5, 5], [3, 4, 4, 4, 4, 2, 4, 4, 4], "nll", 5),
        ([2, 5, 5, 5, 5, 1, 5, 5, 5], [2, 4, 4, 4, 4, 2, 4, 4, 4], "nll", 5),
        ([1, 5, 5, 5, 5, 2, 5, 5, 5], None, "nll", 0),
        # cells that failed are no candidates and no neighbours
        ([np.nan, 9, 3, 9, 3, 1, 3, 3, 3], None, "duan2003", 5),
    ],
)
def test_each_tie_rule_decides_in_its_turn(error, nll, ties, winner):
    cells = candidates(error, nll)
    assert choose(cells, ties) == winner
    assert winner in still_possible(error, nll, ties)


def test_figures_equal_but_for_rounding_are_a_tie():
    error = [0.1 + 0.2, 5, 5, 5, 5, 5, 5, 5, 0.3]
    assert choose(candidates(error), "duan2005") == 8


@pytest.mark.parametrize(
    ("coarse", "sentence"),
    [
        ({}, "coarse must be a dictionary"),
        ([1, 2], "coarse must be a dictionary"),
        ({"machine__C": []}, "list of values for machine__C"),
        ({"machine__C": "rbf"}, "list of values for machine__C"),
        ({"machine__C": 3.0}, "list of values for machine__C"),
    ],
)
def test_bad_grids_are_refused(coarse, sentence):
    with pytest.raises(ValueError, match=sentence):
        coarse_grid(coarse)


@pytest.mark.parametrize("fine", [[], [0.0, 1.0], "abc", 3.0, ["a"], {"machine__C": [-1]}])
def test_bad_factors_are_refused(fine):
    with pytest.raises(ValueError, match="positive factors"):
        fine_factors(fine, ["machine__C"])


def test_factors_of_an_unknown_parameter_are_refused():
    with pytest.raises(ValueError, match="'machine__D', which is not in coarse"):
        fine_factors({"machine__D": [2]}, ["machine__C"])
