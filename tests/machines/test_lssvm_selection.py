"""The choice of a kernel parameter by the evidence of LS-SVMs."""

from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from polychotomy.machines.lssvm.evidence import log_evidence, optimise_hyperparameters
from polychotomy.machines.lssvm.selection import select_by_evidence
from polychotomy.machines.lssvm.tridiagonal import tridiagonalise, with_targets

from . import lssvm_twins as twins

CANDIDATES = (0.1, 1.0, 10.0, 100.0, 1000.0)
X = twins.rows(21, 40)
NOISE = 0.3 * np.random.default_rng(1).standard_normal((40, 2))[:, :1]
Y = np.where(np.sin(X[:, :1] * [1.0, 1.5, 3.0]) + NOISE > 0, 1.0, -1.0)
WEIGHTS = twins.row_weights(21, 40)


class Grams:
    """Gaussian Gram matrices, counted."""

    def __init__(self):
        self.calls = Counter()

    def __call__(self, width):
        self.calls[width] += 1
        return twins.gaussian(X, width=width)


def evidence(width, targets=Y, weights=None, occam=False):
    columns = with_targets(tridiagonalise(twins.gaussian(X, width=width), weights), targets)
    return log_evidence(columns, optimise_hyperparameters(columns), occam)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("occam", [False, True])
def test_the_best_candidate_is_chosen(weights, occam):
    grams = Grams()
    got = select_by_evidence(grams, CANDIDATES, Y, weights, occam=occam, refine=False)
    table = np.array([evidence(width, Y, weights, occam) for width in CANDIDATES])
    assert np.isfinite(table).any(axis=0).all()
    assert_array_equal(got.values, np.array(CANDIDATES)[table.argmax(axis=0)])
    assert len(set(got.values)) > 1
    assert_array_equal(list(got.tried), CANDIDATES)
    assert_array_equal(list(got.tried.values()), table)
    assert grams.calls == dict.fromkeys(CANDIDATES, 1)
    exact = [evidence(value, Y, weights)[column] for column, value in enumerate(got.values)]
    assert_array_equal(got.log_evidence, exact)


def test_one_value_for_all_columns_has_the_largest_sum():
    got = select_by_evidence(Grams(), CANDIDATES, Y, per_column=False, refine=False)
    sums = [evidence(width).sum() for width in CANDIDATES]
    assert_array_equal(got.values, np.full(3, CANDIDATES[np.argmax(sums)]))
    assert_array_equal(list(got.problems), [CANDIDATES[np.argmax(sums)]])


@pytest.mark.parametrize("per_column", [True, False])
@pytest.mark.parametrize("occam", [False, True])
def test_the_search_finds_the_maximum_between_candidates(per_column, occam):
    grams = Grams()
    got = select_by_evidence(grams, CANDIDATES, Y, per_column=per_column, occam=occam)
    assert max(grams.calls.values()) == 1
    coarse = np.array([evidence(width, Y, None, occam) for width in CANDIDATES])
    # The paper's form of the third column grows without bound on the way to the bound of gamma.
    groups = [[0], [1], [2]][: 2 if occam else 3] if per_column else [[0, 1, 2]]
    for group in groups:
        total = coarse[:, group].sum(axis=1)
        best = int(total.argmax())
        low, high = CANDIDATES[max(best - 1, 0)], CANDIDATES[min(best + 1, 4)]
        fine = np.geomspace(low, high, 41)
        scan = np.array([evidence(width, Y[:, group], None, occam).sum() for width in fine])
        found = evidence(got.values[group[0]], Y[:, group], None, occam).sum()
        assert found >= scan.max() - 1e-6
        assert found > total.max() + 1e-3
        assert abs(np.log(got.values[group[0]] / fine[scan.argmax()])) < np.log(high / low) / 40


def test_the_winners_can_be_used_without_another_gram():
    got = select_by_evidence(Grams(), CANDIDATES, Y, WEIGHTS)
    assert set(got.problems) == set(got.values)
    for column, value in enumerate(got.values):
        columns = got.problems[value]
        chosen = optimise_hyperparameters(columns)
        for name in ("gamma", "mu", "zeta"):
            assert getattr(got.hyperparameters, name)[column] == getattr(chosen, name)[column]
        assert got.log_evidence[column] == log_evidence(columns, chosen)[column]


def test_columns_alike_share_their_search():
    grams, alone = Grams(), Grams()
    got = select_by_evidence(grams, CANDIDATES, np.column_stack([Y[:, 0], -Y[:, 0], Y[:, 0]]))
    select_by_evidence(alone, CANDIDATES, Y[:, :1])
    assert got.values[0] == got.values[1] == got.values[2]
    assert len(grams.calls) <= len(alone.calls) + 6


def test_the_range_of_the_candidates_is_not_left():
    got = select_by_evidence(Grams(), (1e-2, 1e-1), Y[:, :1])
    assert all(1e-2 <= value <= 1e-1 for value in got.tried)
    single = select_by_evidence(Grams(), [3.0, 3], Y)
    assert_array_equal(list(single.tried), [3.0])


def test_candidates_at_the_bound_are_left_out_of_the_papers_form():
    noise = np.random.default_rng(0).choice([-1.0, 1.0], (40, 200))[:, :1]
    exact = [evidence(width, noise)[0] for width in CANDIDATES]
    occam = [evidence(width, noise, occam=True)[0] for width in CANDIDATES]
    assert np.isneginf(occam[np.argmax(exact)])
    assert np.isfinite(occam).any()
    coarse = select_by_evidence(Grams(), CANDIDATES, noise, occam=True, refine=False)
    assert_array_equal(coarse.values, [CANDIDATES[np.argmax(occam)]])
    fine = select_by_evidence(Grams(), CANDIDATES, noise, occam=True)
    assert fine.hyperparameters.determined.all()
    assert max(fine.tried.values())[0] >= max(occam)


def test_where_all_candidates_are_left_out_the_exact_form_decides():
    def gram_of(strength):
        return np.eye(40) + strength * X @ X.T

    basis = np.linalg.qr(np.column_stack([np.ones(40), X]))[0]
    y = np.tile([[1.0], [-1.0]], (20, 1))
    # what the inputs cannot explain at all
    y -= basis @ (basis.T @ y)
    for occam in (True, False):
        got = select_by_evidence(gram_of, (0.1, 1.0, 10.0), y, occam=occam, refine=False)
        assert not got.hyperparameters.determined.any()
        assert_array_equal(got.values, [0.1])
        assert np.isfinite(got.log_evidence).all()


@pytest.mark.parametrize("candidates", [[], [0.0, 1.0], [-1.0], [1.0, np.inf], [np.nan]])
def test_candidates_must_be_positive(candidates):
    with pytest.raises(ValueError, match="positive finite"):
        select_by_evidence(Grams(), candidates, Y)
