"""LS-SVM levels 2 and 3 against dense Gaussian processes, optimisers and grids."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize, minimize_scalar

from polychotomy.machines.lssvm.evidence import (
    Hyperparameters,
    energies,
    fixed_hyperparameters,
    log_evidence,
    optimise_hyperparameters,
)
from polychotomy.machines.lssvm.solve import factorise
from polychotomy.machines.lssvm.tridiagonal import fit, tridiagonalise, with_targets

from . import lssvm_twins as twins

WEIGHTED = pytest.mark.parametrize("weighted", [False, True])


def columns_of(K, Y, weights=None):
    return with_targets(tridiagonalise(K, weights), Y)


def given_problem(seed, weighted, n=30, width=2.0):
    X = twins.rows(seed, n)
    weights = twins.row_weights(seed, n) if weighted else None
    return twins.gaussian(X, width=width), twins.learnable(X, seed), weights


@WEIGHTED
def test_eigenvalues_are_those_of_the_centred_matrix(weighted):
    for n in (2, 3, 4, 15):
        K, _, weights = given_problem(1, weighted, n)
        basis = tridiagonalise(K, weights)
        exponent = basis.centring.gram_exponent + basis.centring.weight_exponent
        expected = twins.centred_eigenvalues(K, weights)
        # the eigenvalue 0 of the bias is the smallest one
        assert_allclose(basis.eigenvalues * 2.0**exponent, expected[1:], rtol=1e-9, atol=1e-13)
        assert basis.n_effective == n - 1


def test_effective_eigenvalues_are_counted():
    X = twins.rows(2)
    assert tridiagonalise(X @ X.T).n_effective == 3
    assert tridiagonalise(np.ones((20, 20))).n_effective == 0
    assert tridiagonalise(1e5 + X @ X.T).n_effective == 3


@WEIGHTED
@pytest.mark.parametrize("gamma", [1e-6, 1e-2, 1.0, 1e3])
def test_energies_equal_brute_force(weighted, gamma):
    K, Y, weights = given_problem(3, weighted)
    got = energies(columns_of(K, Y, weights), gamma)
    for column, y in enumerate(Y.T):
        weight, error, log_determinant = twins.energies(K, y, gamma, weights)
        assert_allclose(got.weight[column], weight, rtol=1e-8)
        assert_allclose(got.error[column], error, rtol=1e-9)
        assert_allclose(got.log_determinant[column], log_determinant, rtol=1e-11)
        J = log_determinant + 29 * np.log(weight + gamma * error)
        assert_allclose(got.objective[column], J, rtol=1e-11, atol=1e-9)


@WEIGHTED
def test_slope_is_the_derivative_and_vanishes_where_mackay_says(weighted):
    K, Y, weights = given_problem(4, weighted)
    columns = columns_of(K, Y, weights)
    gamma, step = 3.0, 1e-4
    up, down = (energies(columns, gamma * np.exp(h)).objective for h in (step, -step))
    assert_allclose(energies(columns, gamma).slope, (up - down) / (2 * step), rtol=1e-6)
    chosen = optimise_hyperparameters(columns)
    assert chosen.determined.all()
    values = twins.centred_eigenvalues(K, weights)[1:]
    at = energies(columns, chosen.gamma)
    for column in range(3):
        ratio = chosen.gamma[column] * values
        well_determined = (ratio / (1 + ratio)).sum()
        # 2 mu E_W = g - 1, 2 zeta E_D = N - g
        assert_allclose(2 * chosen.mu[column] * at.weight[column], well_determined, rtol=1e-8)
        assert_allclose(2 * chosen.zeta[column] * at.error[column], 29 - well_determined, rtol=1e-8)


@WEIGHTED
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_level_two_equals_an_optimiser_over_mu_and_zeta(weighted, seed):
    K, Y, weights = given_problem(seed, weighted)
    columns = columns_of(K, Y, weights)
    chosen = optimise_hyperparameters(columns)
    assert chosen.determined.all()
    for column, y in enumerate(Y.T):

        def loss(log_values, y=y):
            return -twins.marginal_likelihood(K, y, *np.exp(log_values), weights)

        options = {"xatol": 1e-8, "fatol": 1e-12, "maxiter": 2000}
        result = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options=options)
        found = np.log([chosen.mu[column], chosen.zeta[column]])
        assert loss(found) <= result.fun + 1e-9
        assert_allclose(found, result.x, atol=1e-5)
        assert_allclose(chosen.gamma[column], chosen.zeta[column] / chosen.mu[column], rtol=1e-12)


@WEIGHTED
def test_log_gamma_is_accurate_to_1e_8(weighted):
    K, Y, weights = given_problem(5, weighted)
    chosen = optimise_hyperparameters(columns_of(K, Y, weights))
    s = np.sqrt(twins.ones_or(weights, 30))
    P = np.eye(30) - np.outer(s, s) / (s @ s)
    values, vectors = np.linalg.eigh(P @ (s[:, None] * K * s) @ P)
    values, vectors = values[1:], vectors[:, 1:]
    for y, gamma in zip(Y.T, chosen.gamma, strict=True):
        z = (vectors.T @ (s * y)) ** 2

        def slope(t, z=z):
            ratio = 1 / (1 + np.exp(t) * values)
            return 29 * (z * ratio**2).sum() / (z * ratio).sum() - ratio.sum()

        t = np.log(gamma)
        newton = slope(t) * 2e-4 / (slope(t + 1e-4) - slope(t - 1e-4))
        assert abs(newton) < 1e-8


def two_minima(weakest):
    """Return targets whose strength in three groups of eigenvectors has two explanations.

    Either the weakest third shows the noise, or the second third is noise as well.
    """
    n = 49
    contrasts = np.linalg.qr(np.column_stack([np.ones(n), twins.rows(7, n, n - 1)]))[0][:, 1:]
    values = np.repeat([1e3, 1.0, 1e-3], (16, 12, 20))
    heights = np.repeat([1.0, 1.0, weakest], (16, 12, 20))
    return (contrasts * values) @ contrasts.T, (contrasts @ np.sqrt(heights))[:, None]


@pytest.mark.parametrize(("weakest", "lowest"), [(10**-2.2, 0), (10**-3.0, 1)])
def test_the_lowest_of_several_minima_is_taken(weakest, lowest):
    K, Y = two_minima(weakest)
    columns = columns_of(K, Y)
    mean = twins.centred_eigenvalues(K)[1:].mean()
    grid = np.geomspace(1e-8, 1e8, 1601) / mean
    J = np.array([energies(columns, gamma).objective[0] for gamma in grid])
    minima = np.flatnonzero((J[1:-1] < J[:-2]) & (J[1:-1] < J[2:])) + 1
    assert len(minima) == 2
    assert J[minima].argmin() == lowest
    chosen = optimise_hyperparameters(columns)
    assert abs(np.log(chosen.gamma[0] / grid[minima[lowest]])) < 0.02
    assert energies(columns, chosen.gamma).objective[0] <= J.min()


@given(st.integers(0, 10**6), st.integers(2, 25), st.floats(-2, 3), st.booleans())
@settings(max_examples=60, deadline=None)
def test_no_gamma_of_a_grid_is_better(seed, n, log_width, weighted):
    X = twins.rows(seed, n)
    K, Y = twins.gaussian(X, width=10.0**log_width), twins.labels(seed, n)
    weights = twins.row_weights(seed, n) if weighted else None
    columns = columns_of(K, Y, weights)
    chosen = optimise_hyperparameters(columns)
    best = energies(columns, chosen.gamma).objective
    mean = twins.centred_eigenvalues(K, weights).sum() / (n - 1)
    for gamma in np.geomspace(1e-8, 1e8, 60) / mean:
        assert (energies(columns, gamma).objective >= best - 1e-8 * n).all()
    assert (chosen.gamma * mean <= 1.0001e8).all()
    assert (chosen.gamma * mean >= 0.9999e-8).all()


def test_optimum_at_a_bound_is_reported():
    X = np.repeat([[1.0], [-1.0]], 10, axis=0)
    mean = 20 / 19
    separated = optimise_hyperparameters(columns_of(X @ X.T, X))
    assert separated.at_bound.all()
    assert not separated.flat.any()
    assert_allclose(separated.gamma, 1e8 / mean)
    assert_allclose(separated.gamma, separated.zeta / separated.mu, rtol=1e-12)
    unrelated = optimise_hyperparameters(columns_of(X @ X.T, np.tile([[1.0], [-1.0]], (10, 1))))
    assert unrelated.at_bound.all()
    assert_allclose(unrelated.gamma, 1e-8 / mean)
    # all is noise of the variance of the labels
    assert_allclose(unrelated.zeta, 19 / 20, rtol=1e-6)


@pytest.mark.parametrize(
    ("K", "Y"),
    [
        (np.eye(6), twins.labels(0, 6)),
        (np.eye(6) + 5.0, twins.labels(0, 6)),
        (np.ones((6, 6)), twins.labels(0, 6)),
        (np.zeros((6, 6)), twins.labels(0, 6)),
        (np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([[1.0], [-1.0]])),
        (np.ones((2, 2)), np.array([[1.0], [-1.0]])),
    ],
    ids=["identity", "shifted identity", "equal rows", "zero", "two rows", "equal rows, 2"],
)
@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_a_flat_evidence_is_reported_and_finite(K, Y, scale):
    columns = columns_of(K * scale, Y)
    chosen = optimise_hyperparameters(columns)
    assert chosen.flat.all()
    assert not chosen.at_bound.any()
    for values in (chosen.gamma, chosen.mu, chosen.zeta):
        assert (values > 0).all()
        assert np.isfinite(values).all()
    assert np.isfinite(log_evidence(columns, chosen)).all()
    assert np.isneginf(log_evidence(columns, chosen, occam=True)).all()
    assert np.isfinite(fit(columns, chosen.gamma).scores(K * scale)).all()
    # every gamma has the same evidence, this one too
    for factor in (0.01, 100.0):
        E = energies(columns, chosen.gamma * factor)
        assert_allclose(E.objective, energies(columns, chosen.gamma).objective, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1e5, 1e300])
def test_scaling_the_gram_scales_mu_alone(scale):
    K, Y, weights = given_problem(6, True)
    columns, other = columns_of(K, Y, weights), columns_of(K * scale, Y, weights)
    chosen, scaled = optimise_hyperparameters(columns), optimise_hyperparameters(other)
    assert_allclose(scaled.gamma * scale, chosen.gamma, rtol=1e-9)
    assert_allclose(scaled.mu / scale, chosen.mu, rtol=1e-9)
    assert_allclose(scaled.zeta, chosen.zeta, rtol=1e-9)
    for occam in (False, True):
        assert_allclose(
            log_evidence(other, scaled, occam), log_evidence(columns, chosen, occam), rtol=1e-10
        )


def test_scaling_the_weights_scales_zeta_and_gamma():
    K, Y, weights = given_problem(6, True)
    chosen = optimise_hyperparameters(columns_of(K, Y, weights))
    scaled = optimise_hyperparameters(columns_of(K, Y, 1e100 * weights))
    assert_allclose(scaled.gamma * 1e100, chosen.gamma, rtol=1e-9)
    assert_allclose(scaled.zeta * 1e100, chosen.zeta, rtol=1e-9)
    assert_allclose(scaled.mu, chosen.mu, rtol=1e-9)


def test_signs_order_and_offsets_do_not_matter():
    K, Y, weights = given_problem(7, True)
    order = np.random.default_rng(0).permutation(30)
    columns = columns_of(K, Y, weights)
    chosen = optimise_hyperparameters(columns)
    same = [
        columns_of(K, -Y, weights),
        columns_of(K + 3.0, Y, weights),
        columns_of(K[np.ix_(order, order)], Y[order], weights[order]),
    ]
    for other in same:
        again = optimise_hyperparameters(other)
        for name in ("gamma", "mu", "zeta"):
            assert_allclose(getattr(again, name), getattr(chosen, name), rtol=1e-8)
        assert_allclose(log_evidence(other, again), log_evidence(columns, chosen), rtol=1e-10)


def test_a_column_alone_gets_the_same():
    K, Y, weights = given_problem(8, True)
    chosen = optimise_hyperparameters(columns_of(K, Y, weights))
    for column in range(3):
        alone = optimise_hyperparameters(columns_of(K, Y[:, [column]], weights))
        assert_allclose(alone.gamma, chosen.gamma[column], rtol=1e-9)


def test_a_constant_column_is_refused():
    K, Y, weights = given_problem(9, True)
    Y[:, 1] = 1.0
    columns = columns_of(K, Y, weights)
    with pytest.raises(ValueError, match="Column 1 has the same target"):
        optimise_hyperparameters(columns)
    # level 1 is not in the way
    assert_allclose(fit(columns, 1.0).scores(K)[:, 1], 1.0)


@WEIGHTED
def test_evidence_is_the_marginal_likelihood_with_a_flat_bias(weighted):
    K, Y, weights = given_problem(10, weighted, n=12)
    v = twins.ones_or(weights, 12)
    columns = columns_of(K, Y, weights)
    mu, zeta = np.array([0.5, 1.0, 3.0]), np.array([4.0, 1.5, 0.3])
    no = np.zeros(3, dtype=bool)
    got = log_evidence(columns, Hyperparameters(zeta / mu, mu, zeta, no, no))
    constants = -0.5 * 11 * np.log(2 * np.pi) - 0.5 * np.log(v.sum()) + 0.5 * np.log(v).sum()
    for column, y in enumerate(Y.T):
        arguments = (K, y, mu[column], zeta[column], weights)
        assert_allclose(got[column] + constants, twins.marginal_likelihood(*arguments), rtol=1e-9)
        assert_allclose(
            got[column] + constants, twins.integrated_over_the_bias(*arguments), rtol=1e-7
        )
    if not weighted:
        assert_allclose(constants, -0.5 * 11 * np.log(2 * np.pi) - 0.5 * np.log(12))


@WEIGHTED
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_evidence_in_the_papers_form(weighted, kernel):
    X = twins.rows(11, 30)
    Y = twins.learnable(X, 11)
    weights = twins.row_weights(11, 30) if weighted else None
    K = X @ X.T if kernel == "linear" else twins.gaussian(X)
    columns = columns_of(K, Y, weights)
    chosen = optimise_hyperparameters(columns)
    assert chosen.determined.all()
    values = twins.centred_eigenvalues(K, weights)
    values = values[values > 1e-10]
    assert len(values) == (3 if kernel == "linear" else 29)
    for column, y in enumerate(Y.T):
        mu, zeta = chosen.mu[column], chosen.zeta[column]
        weight, error, _ = twins.energies(K, y, zeta / mu, weights)
        exact = 0.5 * (len(values) * np.log(mu) + 29 * np.log(zeta))
        exact -= 0.5 * np.log(mu + zeta * values).sum() + mu * weight + zeta * error
        g = 1 + (zeta * values / (mu + zeta * values)).sum()
        occam = exact - 0.5 * (np.log(g - 1) + np.log(30 - g))
        assert_allclose(log_evidence(columns, chosen)[column], exact, rtol=1e-8, atol=1e-8)
        assert_allclose(log_evidence(columns, chosen, True)[column], occam, rtol=1e-8, atol=1e-8)


def test_the_occam_terms_prefer_a_constant_classifier_and_are_left_out_at_the_bound():
    K, _, _ = given_problem(12, False)
    Y = twins.labels(12, 30, 1)
    columns = columns_of(K, Y)
    gamma = np.array([1e-6])
    E = energies(columns, gamma)
    mu = 29 / (2 * (E.weight + gamma * E.error))
    no, yes = np.array([False]), np.array([True])
    tiny = Hyperparameters(gamma, mu, gamma * mu, no, no)
    best = max(
        log_evidence(columns, Hyperparameters(g, 29 / (2 * c), 29 * g / (2 * c), no, no), True)[0]
        for g in np.geomspace(0.1, 10, 20)[:, None]
        for c in [energies(columns, g).weight + g * energies(columns, g).error]
    )
    assert log_evidence(columns, tiny, occam=True)[0] > best + 2
    at_bound = Hyperparameters(gamma, mu, gamma * mu, yes, no)
    assert_array_equal(log_evidence(columns, at_bound, occam=True), [-np.inf])
    assert np.isfinite(log_evidence(columns, at_bound))


def test_the_best_gamma_gives_the_fit_of_level_one():
    K, Y, weights = given_problem(13, True)
    columns = columns_of(K, Y, weights)
    chosen = optimise_hyperparameters(columns)
    for column in range(3):
        gamma = chosen.gamma[column]
        expected = factorise(K, gamma, weights).solve(K, Y[:, [column]], gamma)
        assert_allclose(
            fit(columns, chosen.gamma).scores(K)[:, [column]], expected.scores(K), rtol=1e-10
        )


@given(
    st.integers(0, 10**6),
    st.integers(2, 7),
    st.integers(1, 3),
    st.sampled_from([1e-300, 1e-10, 1.0, 1e10, 1e300]),
    st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_degenerate_rows_get_finite_answers(seed, n, n_distinct, scale, weighted):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_distinct, 2))[rng.integers(0, n_distinct, n)]
    K, Y = scale * twins.gaussian(X), twins.labels(seed, n)
    weights = 10.0 ** rng.uniform(-6, 6, n) if weighted else None
    columns = columns_of(K, Y, weights)
    chosen = optimise_hyperparameters(columns)
    for values in (chosen.gamma, chosen.mu, chosen.zeta):
        assert (values > 0).all()
        assert np.isfinite(values).all()
    assert np.isfinite(log_evidence(columns, chosen)).all()
    model = fit(columns, chosen.gamma)
    assert np.isfinite(model.coefficients).all()
    # The fit has no more weighted squared errors than the best constant, which has no penalty.
    w = np.ones(n) if weights is None else weights
    scores, means = model.scores(K), w @ Y / w.sum()
    rounding = 1e-13 * np.abs(K).max() * np.abs(model.coefficients).max()
    bound = np.sqrt(w @ (Y - means) ** 2) + np.sqrt(w.sum()) * (1e-6 + rounding)
    assert (np.sqrt(w @ (Y - scores) ** 2) <= bound).all()


@WEIGHTED
@pytest.mark.parametrize("gamma", [1e-6, 1e-2, 1.0, 1e3])
def test_mu_and_zeta_of_a_given_gamma_have_the_largest_evidence(weighted, gamma):
    K, Y, weights = given_problem(14, weighted)
    found = fixed_hyperparameters(factorise(K, gamma, weights), Y)
    assert_allclose(found.gamma, gamma, rtol=1e-14)
    assert_allclose(found.zeta, gamma * found.mu, rtol=1e-14)
    assert not (found.at_bound | found.flat).any()
    for column, y in enumerate(Y.T):
        weight, error, _ = twins.energies(K, y, gamma, weights)
        mu = found.mu[column]
        assert_allclose(mu, 29 / (2 * (weight + gamma * error)), rtol=1e-9)
        best = twins.marginal_likelihood(K, y, mu, gamma * mu, weights)
        for other in (0.99 * mu, 1.01 * mu):
            assert twins.marginal_likelihood(K, y, other, gamma * other, weights) < best


def test_level_two_gives_the_mu_and_zeta_of_its_gamma():
    K, Y, weights = given_problem(15, True)
    chosen = optimise_hyperparameters(columns_of(K, Y, weights))
    for column, gamma in enumerate(chosen.gamma):
        fixed = fixed_hyperparameters(factorise(K, gamma, weights), Y[:, [column]])
        assert_allclose(fixed.mu, chosen.mu[column], rtol=1e-11)
        assert_allclose(fixed.zeta, chosen.zeta[column], rtol=1e-11)


@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1e5, 1e300])
def test_scales_of_a_given_gamma(scale):
    K, Y, weights = given_problem(6, True)
    chosen = fixed_hyperparameters(factorise(K, 2.0, weights), Y)
    scaled = fixed_hyperparameters(factorise(K * scale, 2.0 / scale, weights), Y)
    assert_allclose(scaled.mu / scale, chosen.mu, rtol=1e-11)
    assert_allclose(scaled.zeta, chosen.zeta, rtol=1e-11)
    heavy = fixed_hyperparameters(factorise(K, 2.0 / scale, weights * scale), Y)
    assert_allclose(heavy.zeta * scale, chosen.zeta, rtol=1e-11)
    assert_allclose(heavy.mu, chosen.mu, rtol=1e-11)


@WEIGHTED
def test_columns_may_share_gamma(weighted):
    K, Y, weights = given_problem(5, weighted)
    columns = columns_of(K, Y, weights)
    shared = optimise_hyperparameters(columns, shared=True)
    assert np.ptp(shared.gamma) == 0.0
    assert_allclose(shared.gamma, shared.zeta / shared.mu)

    def total(log_gamma):
        return energies(columns, np.exp(log_gamma)).objective.sum()

    grid = np.log(shared.gamma[0]) + np.linspace(-8.0, 8.0, 161)
    best = minimize_scalar(total, bracket=(grid[79], grid[81]), tol=1e-10)
    assert_allclose(np.log(shared.gamma[0]), best.x, atol=1e-5)
    assert total(grid[80]) <= min(total(one) for one in grid) + 1e-9
    # Each column's own is no worse for it, and not the same.
    own = optimise_hyperparameters(columns)
    assert np.ptp(own.gamma) > 0.0
    for column in range(3):
        at = [energies(columns, one.gamma).objective[column] for one in (own, shared)]
        assert at[0] <= at[1] + 1e-9
    # Alone, a column has its own gamma.
    alone = optimise_hyperparameters(columns_of(K, Y[:, :1], weights), shared=True)
    assert_allclose(alone.gamma, own.gamma[:1], rtol=1e-9)
