"""Coupling decoders against constrained minimisers, and the identities of the method book."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from polychotomy import (
    Codebook,
    CodeCoupling,
    Context,
    ExhaustiveCode,
    MinimalCode,
    OneVsOne,
    OneVsRest,
    OrdinalCode,
    PairwiseCoupling,
)

from . import twins
from .twins import any_probability, few, inner_probability, moderate, pairwise_rows

METHODS = ["wu_lin_weng", "hastie_tibshirani", "markov"]
corners = st.sampled_from([0.0, 1.0])


@st.composite
def distributions(draw, least=2, most=8):
    weights = draw(st.lists(st.floats(0.01, 1.0), min_size=least, max_size=most))
    return np.array(weights) / sum(weights)


def minimum_on_the_simplex(objective, n_classes, start):
    """Return the least value scipy finds over distributions, from several starts."""
    least = np.inf
    for p0 in (start, np.full(n_classes, 1 / n_classes)):
        result = minimize(
            objective,
            p0,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * n_classes,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1.0},
            options={"ftol": 1e-15, "maxiter": 500},
        )
        p = np.maximum(result.x, 0)
        least = min(least, objective(p / p.sum()))
    return least


@few
@given(pairwise_rows(n_rows=2, most=6))
def test_wu_lin_weng_is_the_minimiser_of_18(drawn):
    n_classes, r = drawn
    for row, p in zip(r, PairwiseCoupling().decode(r), strict=True):
        full = twins.square(row, n_classes)
        least = minimum_on_the_simplex(lambda q: twins.disagreement(q, full), n_classes, p)  # noqa: B023
        assert twins.disagreement(p, full) <= least + 1e-12


@moderate
@given(pairwise_rows(element=st.one_of(any_probability, corners)))
def test_wu_lin_weng_solves_the_bordered_system_which_is_never_singular(drawn):
    n_classes, r = drawn
    for row, p in zip(r, PairwiseCoupling().decode(r), strict=True):
        full = twins.square(row, n_classes)
        border = np.ones((n_classes + 1, n_classes + 1))
        border[-1, -1] = 0
        for i, j in itertools.product(range(n_classes), repeat=2):  # (21)
            border[i, j] = (
                sum(float(full[s][i]) ** 2 for s in twins.others(i, n_classes))
                if i == j
                else -float(full[j][i] * full[i][j])
            )
        assert np.linalg.svd(border, compute_uv=False)[-1] > 1e-3
        expected = np.linalg.solve(border, np.eye(n_classes + 1)[-1])[:-1]
        np.testing.assert_allclose(p, expected, rtol=0, atol=1e-12)


def softmax_minimum(objective, n_classes):
    """Return the minimiser over log p, where (4) is convex."""

    def of_logs(z):
        p = np.exp(z - z.max())
        return objective(p / p.sum())

    z = minimize(of_logs, np.zeros(n_classes), method="BFGS", options={"gtol": 1e-9}).x
    p = np.exp(z - z.max())
    return p / p.sum()


@few
@given(pairwise_rows(element=inner_probability, n_rows=2, most=5), st.data())
def test_hastie_tibshirani_is_the_minimiser_of_4(drawn, data):
    n_classes, r = drawn
    n_columns = r.shape[1]
    weights = data.draw(
        st.one_of(st.none(), st.lists(st.integers(1, 9), min_size=n_columns, max_size=n_columns))
    )
    decoded = PairwiseCoupling("hastie_tibshirani", weights).decode(r)
    for row, p in zip(r, decoded, strict=True):
        full = twins.square(row, n_classes)
        expected = softmax_minimum(lambda q: twins.divergence(q, full, weights), n_classes)  # noqa: B023
        value = twins.divergence(p, full, weights)
        assert value <= twins.divergence(expected, full, weights) + 1e-10
        np.testing.assert_allclose(p, expected, rtol=0, atol=1e-4)
        # The score equations, DUAN05 (2): sum_j n_ij r_ij = sum_j n_ij mu_ij.
        pairs = list(itertools.combinations(range(n_classes), 2))
        for i in range(n_classes):
            gap = 0.0
            for j in twins.others(i, n_classes):
                n_ij = 1 if weights is None else weights[pairs.index((min(i, j), max(i, j)))]
                gap += n_ij * (float(full[i][j]) - p[i] / (p[i] + p[j]))
            assert abs(gap) < 1e-7


def newton_in_logs(row, n_classes):
    """Return the minimiser of (4) for r kept off 0 and 1, by damped Newton steps in log p."""
    full = twins.square(np.clip(row, 1e-12, 1 - 1e-12), n_classes)
    r = np.array([[0.0 if v is None else float(v) for v in line] for line in full])
    away = 1 - np.eye(n_classes)

    def mu(z):
        return away / (1 + np.exp(z[None, :] - z[:, None]))

    def gradient(z):
        return (mu(z) - r).sum(axis=1)

    z = np.zeros(n_classes)
    for _ in range(2000):
        g, m = gradient(z), mu(z)
        if np.abs(g).max() < 1e-15:
            break
        curvature = -m * m.T
        np.fill_diagonal(curvature, -curvature.sum(axis=1))
        step = -np.linalg.lstsq(curvature, g, rcond=1e-15)[0]
        # The gradient of a convex function shrinks along short enough steps.
        z = z + step * min(1.0, 1.0 / np.abs(step).max())
    p = np.exp(z - z.max())
    return p / p.sum()


@moderate
@given(pairwise_rows(element=st.one_of(corners, inner_probability), n_rows=3, most=6))
def test_hastie_tibshirani_at_0_and_1(drawn):
    n_classes, r = drawn
    for row, p in zip(r, PairwiseCoupling("hastie_tibshirani").decode(r), strict=True):
        np.testing.assert_allclose(p, newton_in_logs(row, n_classes), rtol=0, atol=1e-8)


@moderate
@given(pairwise_rows(element=inner_probability))
def test_hastie_tibshirani_has_the_ranking_of_the_sums_of_r(drawn):
    n_classes, r = drawn
    decoded = PairwiseCoupling("hastie_tibshirani").decode(r)
    for row, p in zip(r, decoded, strict=True):
        sums = [float(s) for s in twins.weighted(twins.square(row, n_classes))]
        for i, j in itertools.permutations(range(n_classes), 2):
            if sums[i] > sums[j] + 1e-6:
                assert p[i] > p[j]


def test_the_ranking_is_another_for_unequal_pair_weights():
    r = [[0.6, 0.45, 0.6]]
    assert PairwiseCoupling("hastie_tibshirani").decode(r).argmax() == 0
    skewed = PairwiseCoupling("hastie_tibshirani", [1, 50, 50]).decode(r)
    assert skewed.argmax() == 1


@moderate
@given(pairwise_rows(element=inner_probability))
def test_markov_is_the_stationary_distribution(drawn):
    n_classes, r = drawn
    for row, p in zip(r, PairwiseCoupling("markov").decode(r), strict=True):
        full = twins.square(row, n_classes)
        # From class j the chain goes to i with probability r_ij / (M - 1), else it stays.
        for i in range(n_classes):
            arrives = sum(p[j] * float(full[i][j]) for j in twins.others(i, n_classes))
            leaves = sum(p[i] * float(full[j][i]) for j in twins.others(i, n_classes))
            assert abs(arrives - leaves) < 1e-13


@moderate
@given(distributions())
@pytest.mark.parametrize("method", METHODS)
def test_consistent_answers_give_the_probabilities_back(method, p):
    decoded = PairwiseCoupling(method).decode([twins.consistent(p)])[0]
    np.testing.assert_allclose(decoded, p, rtol=0, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_unnormalised_answers_are_normalised_first(method):
    rng = np.random.default_rng(3)
    R = rng.uniform(0.1, 1, size=(4, 5, 5))
    i, j = np.triu_indices(5, 1)
    r = R[:, i, j] / (R[:, i, j] + R[:, j, i])
    decoder = PairwiseCoupling(method)
    np.testing.assert_allclose(decoder.decode(R), decoder.decode(r), rtol=0, atol=1e-12)


@moderate
@given(pairwise_rows(n_rows=2, most=6))
def test_pair_sums_are_the_estimate_without_iterations(drawn):
    n_classes, r = drawn
    inner = np.clip(r, 1e-3, 1 - 1e-3)
    for row, p in zip(inner, PairwiseCoupling("pair_sums").decode(inner), strict=True):
        full = twins.square(row, n_classes)
        sums = [sum(full[i][j] for j in twins.others(i, n_classes)) for i in range(n_classes)]
        expected = [float(2 * total / (n_classes * (n_classes - 1))) for total in sums]
        np.testing.assert_allclose(p, expected, rtol=0, atol=1e-14)
        # DUAN05, 2.3: the winner is that of the coupled probabilities.
        coupled = PairwiseCoupling("hastie_tibshirani").decode([row])[0]
        assert p[coupled.argmax()] >= p.max() - 1e-6


def test_pair_weights_stand_in_the_order_of_the_columns():
    rng = np.random.default_rng(0)
    r, weights = rng.uniform(0.1, 0.9, size=(5, 6)), rng.uniform(1, 9, size=6)
    order, sign = rng.permutation(6), np.array([1, -1, 1, -1, -1, 1])
    book = OneVsOne().build(4)
    shuffled = Codebook(book.matrix[:, order] * sign)
    turned = np.where(sign > 0, r[:, order], 1 - r[:, order])
    plain = PairwiseCoupling("hastie_tibshirani", weights).decode(r)
    other = PairwiseCoupling("hastie_tibshirani", weights[order]).decode(turned, shuffled)
    np.testing.assert_allclose(other, plain, rtol=0, atol=1e-9)
    equal = PairwiseCoupling("hastie_tibshirani").decode(r)
    assert np.abs(plain - equal).max() > 1e-3


def test_pair_sizes_are_the_rows_of_both_classes():
    r = np.random.default_rng(1).uniform(0.1, 0.9, size=(5, 6))
    sizes = [7, 1, 3, 5]
    context = Context(OneVsOne().build(4), y=np.repeat(np.arange(4), sizes))
    by_name = PairwiseCoupling("hastie_tibshirani", "pair_sizes").fit(context).decode(r)
    numbers = [sizes[i] + sizes[j] for i, j in itertools.combinations(range(4), 2)]
    by_hand = PairwiseCoupling("hastie_tibshirani", numbers).decode(r)
    np.testing.assert_allclose(by_name, by_hand, rtol=0, atol=1e-12)


# ---------------------------------------------------------------------------------- CodeCoupling

DETERMINING = {
    "one_vs_one": OneVsOne(),
    "one_vs_rest": OneVsRest(),
    "exhaustive": ExhaustiveCode(),
    "ordinal": OrdinalCode(),
}


@few
@given(distributions(most=6))
@pytest.mark.parametrize("code", DETERMINING.values(), ids=DETERMINING.keys())
def test_code_coupling_gives_consistent_probabilities_back(code, p):
    if len(p) == 2 and isinstance(code, ExhaustiveCode):
        code = OneVsOne()
    book = code.build(len(p))
    decoded = CodeCoupling().decode([twins.induced(p, book.matrix)], book)[0]
    np.testing.assert_allclose(decoded, p, rtol=0, atol=1e-5)


def test_code_coupling_of_one_vs_one_is_hastie_tibshirani():
    r = np.random.default_rng(2).uniform(0.05, 0.95, size=(20, 10))
    coupled = CodeCoupling().decode(r, OneVsOne().build(5))
    pairwise = PairwiseCoupling("hastie_tibshirani").decode(r)
    np.testing.assert_allclose(coupled, pairwise, rtol=0, atol=1e-6)


def test_the_minimal_code_does_not_determine_four_classes():
    matrix = MinimalCode().build(4).matrix
    one, two = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.3, 0.4, 0.3, 0.0])
    r = twins.induced(one, matrix)
    np.testing.assert_allclose(r, twins.induced(two, matrix), rtol=0, atol=1e-15)
    # Of all p that fit, the one of largest entropy makes the bits independent.
    bits = [[r[c] if word[c] > 0 else 1 - r[c] for c in range(2)] for word in matrix]
    expected = [a * b for a, b in bits]
    decoded = CodeCoupling().decode([r], MinimalCode().build(4))[0]
    np.testing.assert_allclose(decoded, expected, rtol=0, atol=1e-5)
