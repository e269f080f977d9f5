"""Pairwise coupling against plain NumPy twins written from the formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from polychotomy import native as native
from polychotomy.native import _core

COUPLINGS = {
    "wu_lin_weng": native.couple_wu_lin_weng,
    "markov": native.couple_markov,
    "hastie_tibshirani": lambda r: native.couple_hastie_tibshirani(r)[0],
}
every_coupling = pytest.mark.parametrize("couple", COUPLINGS.values(), ids=COUPLINGS.keys())


def n_pairs(n_classes):
    return n_classes * (n_classes - 1) // 2


def square(row, n_classes):
    """Return R with R[i, j] = r_ij and zeros on the diagonal."""
    full = np.zeros((n_classes, n_classes))
    upper = np.triu_indices(n_classes, 1)
    full[upper] = row
    full.T[upper] = 1 - row
    return full


def flat(full):
    return full[..., *np.triu_indices(full.shape[-1], 1)]


def consistent(p):
    """Return the r of given class probabilities."""
    i, j = np.triu_indices(p.shape[1], 1)
    return p[:, i] / (p[:, i] + p[:, j])


def normal_logits(rng, n_rows, n_classes, deviation=3.0):
    z = deviation * rng.standard_normal((n_rows, n_pairs(n_classes)))
    return 1 / (1 + np.exp(-z))


@st.composite
def probability_rows(draw, low=0.0, high=1.0, corners=True):
    n_classes = draw(st.integers(2, 8))
    inner = st.floats(low, high)
    entry = st.one_of(inner, st.sampled_from([0.0, 0.5, 1.0])) if corners else inner
    shape = (draw(st.integers(1, 9)), n_pairs(n_classes))
    return n_classes, draw(arrays(np.float64, shape, elements=entry))


def wu_lin_weng_matrix(full):
    q = -full.T * full
    np.fill_diagonal(q, (full**2).sum(axis=0))
    return q


def wu_lin_weng_twin(full):
    """Solve the bordered system [Q e; e' 0] [p; b] = [0; 1]."""
    n_classes = len(full)
    border = np.ones((n_classes + 1, n_classes + 1))
    border[:-1, :-1] = wu_lin_weng_matrix(full)
    border[-1, -1] = 0
    return np.linalg.solve(border, np.eye(n_classes + 1)[-1])[:-1]


def markov_twin(full):
    """Solve Q p = p with one equation replaced by sum p = 1."""
    n_classes = len(full)
    chain = full / (n_classes - 1)
    np.fill_diagonal(chain, chain.sum(axis=1))
    system = chain - np.eye(n_classes)
    system[-1] = 1
    return np.linalg.solve(system, np.eye(n_classes)[-1])


def kullback_leibler(p, row, weights=1.0):
    """Return the objective of Hastie and Tibshirani; p may be unnormalised."""
    i, j = np.triu_indices(len(p), 1)
    mu, turned = p[i] / (p[i] + p[j]), p[j] / (p[i] + p[j])
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(row > 0, row * np.log(row / mu), 0)
        terms = terms + np.where(row < 1, (1 - row) * np.log((1 - row) / turned), 0)
    return (weights * terms).sum()


def hastie_tibshirani_twin(row, n_classes, weights=None):
    """Minimise over u = log p by quasi-Newton and polish by a few full Newton steps."""
    weights = np.ones(len(row)) if weights is None else weights
    full, n = square(row, n_classes), np.zeros((n_classes, n_classes))
    n[np.triu_indices(n_classes, 1)] = weights
    n = n + n.T

    def derivatives(u):
        mu = 1 / (1 + np.exp(u[None, :] - u[:, None]))
        return (n * (mu - full)).sum(axis=1), n * mu * mu.T

    def objective(u):
        i, j = np.triu_indices(n_classes, 1)
        z = u[i] - u[j]
        return (weights * (np.logaddexp(0, z) - row * z)).sum(), derivatives(u)[0]

    u = minimize(objective, np.zeros(n_classes), jac=True, method="BFGS").x
    for _ in range(5):
        gradient, edges = derivatives(u)
        u = u - np.linalg.lstsq(np.diag(edges.sum(axis=1)) - edges, gradient, rcond=None)[0]
    p = np.exp(u - u.max())
    return p / p.sum()


# ---- every coupling --------------------------------------------------------------------------


@every_coupling
@given(probability_rows())
@settings(max_examples=60, deadline=None)
def test_result_is_a_distribution(couple, drawn):
    n_classes, r = drawn
    p = couple(r)
    assert p.shape == (len(r), n_classes)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)


@every_coupling
@given(arrays(np.float64, (7, 1), elements=st.floats(0, 1)))
@settings(max_examples=40, deadline=None)
def test_two_classes_give_r_itself(couple, r):
    np.testing.assert_allclose(couple(r)[:, 0], r[:, 0], rtol=0, atol=1.1e-12)


@every_coupling
@pytest.mark.parametrize("n_classes", [2, 3, 5, 8, 26])
def test_consistent_r_gives_p_back(couple, n_classes):
    p = np.random.default_rng(n_classes).dirichlet(np.full(n_classes, 0.7), size=20)
    p = np.maximum(p, 1e-9)
    p /= p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(couple(consistent(p)), p, rtol=0, atol=2e-9)


@every_coupling
@pytest.mark.parametrize("n_classes", [2, 3, 7, 26])
def test_result_does_not_depend_on_the_rows_beside(couple, n_classes):
    rng = np.random.default_rng(3)
    r = normal_logits(rng, 37, n_classes)
    r[::5] = np.round(r[::5])
    p = couple(r)
    for rows in (slice(1, None), slice(0, 1), slice(3, 30, 2), rng.permutation(37)):
        np.testing.assert_array_equal(couple(r[rows]), p[rows])


@every_coupling
def test_result_does_not_depend_on_the_chunks(couple, monkeypatch):
    r = normal_logits(np.random.default_rng(4), 50, 5)
    p = couple(r)
    monkeypatch.setattr(native, "_CHUNK_ROWS", 7)
    np.testing.assert_array_equal(couple(r), p)


@every_coupling
def test_permuted_classes_permute_the_result(couple):
    rng = np.random.default_rng(5)
    n_classes = 6
    r = normal_logits(rng, 30, n_classes)
    r[:5] = np.round(r[:5])
    order = rng.permutation(n_classes)
    full = np.stack([square(row, n_classes) for row in r])
    permuted = flat(full[:, order][:, :, order])
    np.testing.assert_allclose(couple(permuted), couple(r)[:, order], rtol=0, atol=2e-9)


@every_coupling
@pytest.mark.parametrize("n_classes", [3, 5, 26])
def test_cycles_and_halves_give_the_uniform_distribution(couple, n_classes):
    i, j = np.triu_indices(n_classes, 1)
    halves = np.full((1, len(i)), 0.5)
    np.testing.assert_allclose(couple(halves), 1 / n_classes, rtol=1e-12)
    if n_classes % 2:
        # every class beats the next (M - 1) / 2 classes round the circle
        cycle = ((j - i) % n_classes <= n_classes // 2).astype(float)
        np.testing.assert_allclose(couple(cycle[None]), 1 / n_classes, rtol=1e-9)


@every_coupling
@pytest.mark.parametrize("n_classes", [2, 5, 26, 60])
@pytest.mark.parametrize("best_first", [True, False])
def test_one_class_that_beats_all_gets_everything(couple, n_classes, best_first):
    # strict order of all classes: the widest range of p there is
    row = np.full((1, n_pairs(n_classes)), 1.0 if best_first else 0.0)
    p = couple(row)
    winner = 0 if best_first else n_classes - 1
    np.testing.assert_allclose(p, np.eye(n_classes)[[winner]], rtol=0, atol=1e-9)


@every_coupling
def test_both_instruction_sets_agree(couple):
    r = normal_logits(np.random.default_rng(6), 101, 9)
    r[::4] = np.round(r[::4])
    p = couple(r)
    try:
        _core.use_baseline_lanes(True)
        assert _core.lanes_in_use() == "baseline"
        np.testing.assert_allclose(couple(r), p, rtol=0, atol=2e-12)
    finally:
        _core.use_baseline_lanes(False)


@every_coupling
def test_wrong_arguments_are_refused(couple):
    with pytest.raises(ValueError, match="two dimensions"):
        couple(np.full(3, 0.5))
    for n_columns in (0, 2, 5):
        with pytest.raises(ValueError, match="number of pairs"):
            couple(np.full((4, n_columns), 0.5))
    for bad in (np.nan, -1e-9, 1.0 + 1e-9, np.inf):
        r = np.full((11, 6), 0.5)
        r[9, 5] = bad
        with pytest.raises(ValueError, match=r"\[0, 1\]"):
            couple(r)


@every_coupling
def test_other_layouts_and_types_are_accepted(couple):
    r = normal_logits(np.random.default_rng(7), 12, 4)
    np.testing.assert_array_equal(couple(np.asfortranarray(r)), couple(r))
    np.testing.assert_array_equal(couple(r[::-1])[::-1], couple(r))
    assert couple(np.empty((0, 6))).shape == (0, 4)
    np.testing.assert_allclose(couple([[1, 1, 1]]), [[1, 0, 0]], rtol=0, atol=1e-10)


# ---- Wu, Lin and Weng ------------------------------------------------------------------------


@given(probability_rows())
@settings(max_examples=100, deadline=None)
def test_wu_lin_weng_equals_the_bordered_system(drawn):
    n_classes, r = drawn
    expected = [wu_lin_weng_twin(square(row, n_classes)) for row in r]
    np.testing.assert_allclose(native.couple_wu_lin_weng(r), expected, rtol=0, atol=1e-12)


def test_wu_lin_weng_minimises_its_objective():
    rng = np.random.default_rng(8)
    for n_classes in (3, 6):
        row = np.round(rng.random(n_pairs(n_classes)), 1)
        q = wu_lin_weng_matrix(square(row, n_classes))
        best = minimize(
            lambda p, q=q: (p @ q @ p, 2 * q @ p),
            np.full(n_classes, 1 / n_classes),
            jac=True,
            method="SLSQP",
            bounds=[(0, 1)] * n_classes,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            options={"ftol": 1e-14},
        )
        p = native.couple_wu_lin_weng(row[None])[0]
        assert p @ q @ p <= best.fun + 1e-12
        np.testing.assert_allclose(p, best.x, rtol=0, atol=1e-5)


def test_twenty_six_classes():
    r = normal_logits(np.random.default_rng(9), 9, 26)
    full = [square(row, 26) for row in r]
    expected = [wu_lin_weng_twin(one) for one in full]
    np.testing.assert_allclose(native.couple_wu_lin_weng(r), expected, rtol=0, atol=1e-13)
    expected = [markov_twin(one) for one in full]
    np.testing.assert_allclose(native.couple_markov(r), expected, rtol=0, atol=1e-13)
    expected = [hastie_tibshirani_twin(row, 26) for row in r]
    p, n_unconverged = native.couple_hastie_tibshirani(r)
    np.testing.assert_allclose(p, expected, rtol=0, atol=2e-9)
    assert n_unconverged == 0


# ---- Markov chain ----------------------------------------------------------------------------


@given(probability_rows())
@settings(max_examples=100, deadline=None)
def test_markov_equals_the_linear_system(drawn):
    n_classes, r = drawn
    expected = [markov_twin(square(row, n_classes)) for row in r]
    np.testing.assert_allclose(native.couple_markov(r), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_classes", [3, 4, 5])
def test_markov_for_every_tournament(n_classes):
    # r in {0, 1}: the stationary distribution lives on the one closed set of classes
    bits = np.arange(2 ** n_pairs(n_classes))[:, None] >> np.arange(n_pairs(n_classes)) & 1
    r = bits.astype(float)
    expected = np.array([markov_twin(square(row, n_classes)) for row in r])
    np.testing.assert_allclose(native.couple_markov(r), expected, rtol=0, atol=2e-13)
    assert (expected < 1e-12).any(), "no tournament with a class that is left for ever"


# ---- Hastie and Tibshirani -------------------------------------------------------------------


@given(probability_rows(0.001, 0.999, corners=False), st.integers(0, 10))
@settings(max_examples=60, deadline=None)
def test_hastie_tibshirani_equals_quasi_newton(drawn, seed):
    n_classes, r = drawn
    p, n_unconverged = native.couple_hastie_tibshirani(r)
    expected = [hastie_tibshirani_twin(row, n_classes) for row in r]
    assert n_unconverged == 0
    np.testing.assert_allclose(p, expected, rtol=0, atol=1e-8)


@given(probability_rows(0.01, 0.99, corners=False), st.integers(0, 10))
@settings(max_examples=40, deadline=None)
def test_pair_weights(drawn, seed):
    n_classes, r = drawn
    weights = np.random.default_rng(seed).uniform(0.2, 5, size=r.shape[1])
    p, n_unconverged = native.couple_hastie_tibshirani(r, weights)
    expected = [hastie_tibshirani_twin(row, n_classes, weights) for row in r]
    assert n_unconverged == 0
    np.testing.assert_allclose(p, expected, rtol=0, atol=1e-8)


@given(probability_rows())
@settings(max_examples=100, deadline=None)
def test_hastie_tibshirani_is_stationary_with_zeros_and_ones(drawn):
    # sum_j mu_ij = sum_j r_ij, with r clipped, is necessary and sufficient
    n_classes, r = drawn
    p, n_unconverged = native.couple_hastie_tibshirani(r, tolerance=1e-14)
    assert n_unconverged == 0
    clipped = np.clip(r, 1e-12, 1 - 1e-12)
    for one, row in zip(p, clipped, strict=True):
        wins = square(row, n_classes).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            mu = np.nan_to_num(1 / (1 + one[None, :] / one[:, None]), nan=0.5)
        matched = (mu.sum(axis=1) - 0.5 - wins) * (one > 1e-6)
        np.testing.assert_allclose(matched, 0, atol=1e-7)


@given(probability_rows())
@settings(max_examples=12, deadline=None)
def test_hastie_tibshirani_is_not_above_a_general_optimiser(drawn):
    n_classes, r = drawn
    # Usually p is right absolutely, not relatively, where classes vanish; the objective sees the
    # difference. With this tolerance the slow path goes on for as long as it can get lower.
    p, _ = native.couple_hastie_tibshirani(r[:2], tolerance=1e-300)
    for one, row in zip(p, r[:2], strict=True):
        best = minimize(
            lambda u, row=row: kullback_leibler(np.exp(u - u.max()), row),
            np.zeros(n_classes),
            method="L-BFGS-B",
            bounds=[(-40, 40)] * n_classes,
        )
        # exact zeros and ones are clipped at 1e-12
        assert kullback_leibler(np.maximum(one, 1e-300), row) <= best.fun + 1e-8


def test_fast_path_agrees_with_the_line_search():
    # with tolerance 1e-300 the lanes never call a row converged: all go the slow path
    rng = np.random.default_rng(10)
    for deviation in (0.5, 3.0, 12.0):
        r = normal_logits(rng, 200, 7, deviation)
        fast, n_fast = native.couple_hastie_tibshirani(r)
        slow, n_slow = native.couple_hastie_tibshirani(r, tolerance=1e-300, max_iterations=300)
        assert n_fast == 0
        assert n_slow > 0
        np.testing.assert_allclose(fast, slow, rtol=0, atol=2e-9)


def test_wide_range_of_p_goes_the_slow_path_and_converges():
    # 60 classes in strict order: log p spans far more than a double's exponent
    p, n_unconverged = native.couple_hastie_tibshirani(np.ones((2, n_pairs(60))))
    assert n_unconverged == 0
    np.testing.assert_allclose(p[:, 0], 1, atol=1e-9)


def test_rows_that_run_out_of_iterations_are_counted():
    r = normal_logits(np.random.default_rng(11), 23, 6)
    p, n_unconverged = native.couple_hastie_tibshirani(r, max_iterations=1)
    assert n_unconverged == 23
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_wrong_pair_weights_are_refused():
    r = np.full((3, 6), 0.5)
    with pytest.raises(ValueError, match="one entry a pair"):
        native.couple_hastie_tibshirani(r, np.ones(5))
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="positive"):
            native.couple_hastie_tibshirani(r, np.full(6, bad))
