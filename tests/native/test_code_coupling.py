"""Coupling for any code against a general optimiser and closed forms."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from polychotomy import Codebook, CodeCoupling
from polychotomy import native as native
from polychotomy.native import _core


def one_vs_one(n_classes):
    i, j = np.triu_indices(n_classes, 1)
    matrix = np.zeros((n_classes, len(i)), np.int8)
    matrix[i, np.arange(len(i))], matrix[j, np.arange(len(i))] = 1, -1
    return matrix


def one_vs_rest(n_classes):
    return (2 * np.eye(n_classes) - 1).astype(np.int8)


def counting(n_bits):
    return np.array(list(product([1, -1], repeat=n_bits)), np.int8)


def exhaustive(n_classes):
    columns = [(1, *rest) for rest in product([1, -1], repeat=n_classes - 1)][1:]
    return np.array(columns, np.int8).T


def random_ternary(seed, n_classes, n_columns):
    rng = np.random.default_rng(seed)
    while True:
        matrix = rng.choice(np.array([-1, 0, 1], np.int8), size=(n_classes, n_columns))
        if ((matrix > 0).any(axis=0) & (matrix < 0).any(axis=0)).all():
            return matrix


def induced(p, matrix):
    positive, negative = p @ (matrix > 0), p @ (matrix < 0)
    return positive / (positive + negative)


def objective_and_gradient(u, r, matrix, weights=1.0, pull=1e-8):
    """Return F and its gradient at u = log p (up to a constant), for clipped r."""
    r = np.clip(r, 1e-12, 1 - 1e-12)
    p = np.exp(u - u.max())
    p = p / p.sum()
    plus, minus = p[:, None] * (matrix > 0), p[:, None] * (matrix < 0)
    positive, negative = plus.sum(axis=0), minus.sum(axis=0)
    both = positive + negative
    fit = r * np.log(r * both / positive) + (1 - r) * np.log((1 - r) * both / negative)
    log_p = np.log(np.maximum(p, 1e-300))
    gradient = ((plus / positive - minus / negative) * weights * (positive / both - r)).sum(axis=1)
    gradient = gradient + pull * p * (log_p - p @ log_p)
    return (weights * fit).sum() + pull * (p @ log_p), gradient


def objective(p, r, matrix, weights=1.0):
    return objective_and_gradient(np.log(np.maximum(p, 1e-300)), r, matrix, weights)[0]


def best_of_starts(r, matrix, weights=1.0, n_starts=3):
    """Return the least F found by L-BFGS, and its p."""
    rng = np.random.default_rng(0)
    starts = [np.zeros(len(matrix)), *rng.standard_normal((n_starts - 1, len(matrix)))]
    arguments = (r, matrix, weights)
    bounds = [(-60, 60)] * len(matrix)
    found = [
        minimize(objective_and_gradient, u, arguments, jac=True, bounds=bounds) for u in starts
    ]
    best = min(found, key=lambda one: one.fun)
    p = np.exp(best.x - best.x.max())
    return best.fun, p / p.sum()


CODES = {
    "one_vs_one": one_vs_one(5),
    "one_vs_rest": one_vs_rest(5),
    "exhaustive": exhaustive(4),
    "counting": counting(2),
    "counting_3": counting(3)[:6],
    "ternary": random_ternary(1, 5, 12),
}
every_code = pytest.mark.parametrize("matrix", CODES.values(), ids=CODES.keys())


@every_code
def test_is_not_above_a_general_optimiser(matrix):
    rng = np.random.default_rng(0)
    r = 1 / (1 + np.exp(-2 * rng.standard_normal((6, matrix.shape[1]))))
    r[:2] = np.round(r[:2])
    p, n_unconverged = native.couple_code(r, matrix)
    assert n_unconverged == 0
    for one, row in zip(p, r, strict=True):
        assert objective(one, row, matrix) <= best_of_starts(row, matrix)[0] + 1e-6


@every_code
def test_consistent_r_are_matched(matrix):
    p = np.random.default_rng(1).dirichlet(np.ones(len(matrix)), size=20)
    r = induced(p, matrix)
    coupled, n_unconverged = native.couple_code(r, matrix)
    assert n_unconverged == 0
    np.testing.assert_allclose(induced(coupled, matrix), r, rtol=0, atol=1e-6)
    if np.linalg.matrix_rank(np.vstack([matrix.T, np.ones(len(matrix))])) == len(matrix):
        np.testing.assert_allclose(coupled, p, rtol=0, atol=2e-6)


@every_code
@given(st.data())
@settings(max_examples=40, deadline=None)
def test_result_is_a_distribution_for_any_r(matrix, data):
    entry = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0]))
    r = data.draw(arrays(np.float64, (3, matrix.shape[1]), elements=entry))
    p, n_unconverged = native.couple_code(r, matrix)
    assert n_unconverged == 0
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    uniform = np.full(len(matrix), 1 / len(matrix))
    for one, row in zip(p, r, strict=True):
        assert objective(one, row, matrix) <= objective(uniform, row, matrix) + 1e-12


def test_a_saddle_is_left_soon():
    matrix = CODES["ternary"]
    r = np.zeros((1, matrix.shape[1]))
    r[0, [5, 7, 9]] = 0.47815863, 0.001, 0.35427693
    p, n_unconverged = native.couple_code(r, matrix, max_iterations=40)
    assert n_unconverged == 0
    assert objective(p[0], r[0], matrix) <= best_of_starts(r[0], matrix)[0] + 1e-6


@every_code
def test_result_does_not_depend_on_the_rows_beside(matrix):
    rng = np.random.default_rng(2)
    r = rng.random((20, matrix.shape[1]))
    p = native.couple_code(r, matrix)[0]
    for rows in (slice(3, 4), slice(5, None), rng.permutation(20)):
        np.testing.assert_array_equal(native.couple_code(r[rows], matrix)[0], p[rows])


@every_code
def test_both_instruction_sets_agree(matrix):
    r = np.random.default_rng(11).random((30, matrix.shape[1]))
    best, _ = native.couple_code(r, matrix, tolerance=1e-16)
    _core.use_baseline_lanes(True)
    try:
        baseline, n_unconverged = native.couple_code(r, matrix, tolerance=1e-16)
    finally:
        _core.use_baseline_lanes(False)
    assert n_unconverged == 0
    # Where a code does not determine p, the pull does, which is far weaker than the fit.
    np.testing.assert_allclose(baseline, best, rtol=0, atol=1e-7)
    np.testing.assert_allclose(induced(baseline, matrix), induced(best, matrix), rtol=0, atol=1e-12)


@every_code
def test_permuted_classes_and_turned_columns(matrix):
    rng = np.random.default_rng(3)
    r = rng.uniform(0.05, 0.95, (20, matrix.shape[1]))
    p = native.couple_code(r, matrix)[0]
    order = rng.permutation(len(matrix))
    np.testing.assert_allclose(native.couple_code(r, matrix[order])[0], p[:, order], atol=1e-7)
    np.testing.assert_allclose(native.couple_code(1 - r, -matrix)[0], p, atol=1e-7)


@pytest.mark.parametrize("n_bits", [2, 3])
def test_undetermined_bits_give_the_product_distribution(n_bits):
    rng = np.random.default_rng(4)
    r = rng.random((50, n_bits))
    r[:4] = rng.integers(0, 2, size=(4, n_bits))
    matrix = counting(n_bits)
    p, n_unconverged = native.couple_code(r, matrix)
    assert n_unconverged == 0
    sides = np.where(matrix > 0, r[:, None, :], 1 - r[:, None, :])
    np.testing.assert_allclose(p, sides.prod(axis=2), rtol=0, atol=1e-6)


def test_don_t_cares_that_leave_a_pair_undetermined_split_it():
    # classes 0 and 1 against 2: nothing tells 0 from 1
    matrix = np.array([[1, 0], [1, 0], [-1, 1], [0, -1]], np.int8)
    p, n_unconverged = native.couple_code([[0.8, 0.5]], matrix)
    assert n_unconverged == 0
    np.testing.assert_allclose(p, [[1 / 3, 1 / 3, 1 / 6, 1 / 6]], atol=1e-6)


@given(st.integers(2, 7), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_one_vs_one_agrees_with_hastie_tibshirani(n_classes, seed):
    rng = np.random.default_rng(seed)
    matrix = one_vs_one(n_classes)
    r = 1 / (1 + np.exp(-3 * rng.standard_normal((5, matrix.shape[1]))))
    r[0] = np.round(r[0])
    weights = rng.uniform(0.5, 2, matrix.shape[1])
    for given_weights in (None, weights):
        p, n_unconverged = native.couple_code(r, matrix, given_weights)
        assert n_unconverged == 0
        expected = native.couple_hastie_tibshirani(r, given_weights)[0]
        np.testing.assert_allclose(p, expected, rtol=0, atol=1e-6)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_hastie_tibshirani_with_a_pull_is_the_general_solution(data):
    n_classes = data.draw(st.integers(2, 9))
    matrix = one_vs_one(n_classes)
    entry = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0]))
    r = data.draw(arrays(np.float64, (5, matrix.shape[1]), elements=entry))
    weights = data.draw(st.sampled_from([None, np.linspace(0.5, 2, matrix.shape[1])]))
    for pull in (1e-8, 1e-6):
        p, n_unconverged = native.couple_hastie_tibshirani(r, weights, tolerance=1e-16, pull=pull)
        assert n_unconverged == 0
        expected, _ = native.couple_code(r, matrix, weights, pull=pull, tolerance=1e-16)
        np.testing.assert_allclose(p, expected, rtol=0, atol=1e-9)


def test_the_pull_of_one_vs_one_is_felt():
    # The pull moves p by about its own size: with another pull the answers differ.
    r = 1 / (1 + np.exp(-2 * np.random.default_rng(9).standard_normal((50, 10))))
    weak, strong = (
        native.couple_hastie_tibshirani(r, tolerance=1e-14, pull=pull)[0] for pull in (0.0, 1e-6)
    )
    expected = native.couple_code(r, one_vs_one(5), pull=1e-6, tolerance=1e-14)[0]
    assert 1e-8 < np.abs(weak - strong).max() < 1e-6
    np.testing.assert_allclose(strong, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("pull", [1e-8, 1e-4])
def test_the_decoder_takes_one_vs_one_columns_in_any_order_and_sign(pull):
    rng = np.random.default_rng(10)
    matrix = one_vs_one(5)[:, rng.permutation(10)] * rng.choice(np.array([-1, 1], np.int8), 10)
    r = rng.random((20, 10))
    decoded = CodeCoupling(pull).decode(r, Codebook(matrix))
    expected = native.couple_code(r, matrix, pull=pull)[0]
    np.testing.assert_allclose(decoded, expected, rtol=0, atol=1e-9)


def test_a_pull_too_large_for_one_vs_one_is_refused():
    for pull in (-1e-9, 1e-5, np.nan):
        with pytest.raises(ValueError, match="pull"):
            native.couple_hastie_tibshirani([[0.5]], pull=pull)


def test_two_classes_give_r_itself():
    r = np.concatenate([[0.0, 1.0, 0.5], np.random.default_rng(5).random(20)])[:, None]
    p, _ = native.couple_code(r, np.array([[1], [-1]], np.int8))
    np.testing.assert_allclose(p[:, 0], r[:, 0], rtol=0, atol=1e-6)


def test_column_weights_equal_repeated_columns():
    matrix = one_vs_rest(4)
    r = np.random.default_rng(6).uniform(0.1, 0.9, (10, 4))
    weighted, _ = native.couple_code(r, matrix, [1, 2, 1, 3])
    columns = [0, 1, 1, 2, 3, 3, 3]
    repeated, _ = native.couple_code(r[:, columns], matrix[:, columns])
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_random_ternary_codes(seed):
    rng = np.random.default_rng(seed)
    matrix = random_ternary(seed, int(rng.integers(3, 8)), int(rng.integers(4, 16)))
    r = 1 / (1 + np.exp(-2 * rng.standard_normal((2, matrix.shape[1]))))
    p, n_unconverged = native.couple_code(r, matrix)
    assert n_unconverged == 0
    for one, row in zip(p, r, strict=True):
        # The problem need not be convex: what is sure is a stationary point. Where classes
        # vanish together, F depends on their ratios, but p no longer does: then p decides.
        _, gradient = objective_and_gradient(np.log(np.maximum(one, 1e-300)), row, matrix)
        np.testing.assert_allclose(gradient[one > 1e-6], 0, atol=1e-6)
        best, p_best = best_of_starts(row, matrix)
        above = objective(one, row, matrix) - best
        assert above <= 1e-6 or np.abs(one - p_best).max() < 1e-4


def test_twenty_six_classes():
    p = np.random.default_rng(7).dirichlet(np.full(26, 0.5), size=5)
    coupled, n_unconverged = native.couple_code(p, one_vs_rest(26))
    assert n_unconverged == 0
    np.testing.assert_allclose(coupled, p, rtol=0, atol=1e-6)


def test_rows_that_run_out_of_iterations_are_counted():
    r = np.random.default_rng(8).random((6, 5))
    assert native.couple_code(r, one_vs_rest(5), max_iterations=1)[1] == 6


def test_wrong_arguments_are_refused():
    r, matrix = np.full((3, 4), 0.5), one_vs_rest(4)
    with pytest.raises(ValueError, match="two dimensions"):
        native.couple_code(r[0], matrix)
    with pytest.raises(ValueError, match="every code column"):
        native.couple_code(r[:, :3], matrix)
    with pytest.raises(ValueError, match="both signs"):
        native.couple_code(r, np.abs(matrix))
    for bad in (2 * matrix, 0.5 * matrix):
        with pytest.raises(ValueError, match="entries"):
            native.couple_code(r, bad)
    with pytest.raises(ValueError, match="pull"):
        native.couple_code(r, matrix, pull=0.0)
    with pytest.raises(ValueError, match="one entry a column"):
        native.couple_code(r, matrix, np.ones(3))
    with pytest.raises(ValueError, match="column_weights"):
        native.couple_code(r, matrix, np.zeros(4))
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        native.couple_code(np.full((3, 4), np.nan), matrix)
