"""Structured tempering: what it minimises, how it chooses, and what must always hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

import polychotomy as pc
from polychotomy.core.math import softmax
from polychotomy.tempering.structured import (
    GROUPS,
    MOST_MATRIX_ENTRIES,
    _basis,
    _fitted,
    _model,
    _size,
    log_evidence,
)
from polychotomy.tempering.tempering import centred_logs

moderate = settings(max_examples=15, deadline=None)
IDENTITY = {"slope": 0.0, "biases": 0.0, "class_slopes": 0.0, "matrix": 0.0}


def drawn(seed, n_rows=300, n_classes=4, **truth):
    """Draw probabilities, and classes from what tempering with known parameters makes of them."""
    rng = np.random.default_rng(seed)
    p = softmax(1.5 * rng.normal(size=(n_rows, n_classes)))
    z = centred_logs(p, 1e-6)
    d, b, u, V = (truth.get(group, IDENTITY[group]) for group in GROUPS)
    V = np.zeros((n_classes, n_classes)) + V
    true = softmax(z * (1.0 + d + u) + z @ V.T + b)
    y = (rng.uniform(size=(n_rows, 1)) > true.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return p, y, true


def nll(p, y):
    return -np.log(p[np.arange(len(y)), y]).mean()


@pytest.mark.parametrize("n_classes", [2, 3, 4, 7])
def test_bases_are_orthonormal_and_identified(n_classes):
    """The free parameters are as many as predictions can tell apart, and no more."""
    rng = np.random.default_rng(0)
    z = centred_logs(softmax(rng.normal(size=(300, n_classes))), 1e-6)
    groups = tuple(group for group in GROUPS if _size(group, n_classes, 300))
    model, members = _model(z, rng.integers(n_classes, size=300), None, groups)
    assert [len(one) for one in members] == [_size(group, n_classes, 300) for group in groups]
    _, hessian = model.derivatives(np.zeros(model.n_parameters))
    assert np.linalg.matrix_rank(hessian.matrix) == model.n_parameters
    whole = n_classes**2 - n_classes if n_classes > 2 else 2  # of any affine map of z
    assert model.n_parameters == whole
    for group in groups[1:]:
        basis = _basis(group, n_classes)
        flat = basis.reshape(-1, basis.shape[-1])
        np.testing.assert_allclose(flat.T @ flat, np.eye(flat.shape[1]), atol=1e-9)
        np.testing.assert_allclose(basis.sum(axis=0), 0.0, atol=1e-9)
    if "matrix" in groups:
        np.testing.assert_allclose(basis.sum(axis=1), 0.0, atol=1e-9)
        np.testing.assert_allclose(np.einsum("kkn->kn", basis), 0.0, atol=1e-9)


def test_parameters_minimise_the_penalised_likelihood():
    """A twin in the redundant form, whose constraints scipy's optimiser has to keep itself."""
    rng = np.random.default_rng(1)
    V = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]]) * 0.5
    p, y, _ = drawn(1, n_classes=3, slope=0.5, matrix=V, class_slopes=np.array([-0.3, 0.0, 0.3]))
    weights = rng.uniform(0.5, 2.0, size=len(y))
    ours = pc.StructuredTempering(floor=1e-6).fit(p, y, weights)
    assert ours.groups_ == list(GROUPS)
    l_d, l_b, l_u, l_V = ours.strengths_
    z = np.log(p) - np.log(p).mean(axis=1, keepdims=True)

    def unpacked(theta):
        return theta[0], theta[1:4], theta[4:7], theta[7:].reshape(3, 3)

    def objective(theta):
        d, b, u, V = unpacked(theta)
        scores = z + d * z + u * z + z @ V.T + b
        losses = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y]
        penalty = l_d * d**2 + l_b * b @ b + l_u * u @ u + l_V * (V**2).sum()
        return weights @ losses + 0.5 * penalty

    def zeros(theta):
        _, b, u, V = unpacked(theta)
        return np.array([b.sum(), u.sum(), *np.diag(V), *V.sum(axis=0), *V.sum(axis=1)[:2]])

    found = minimize(
        objective,
        np.zeros(16),
        method="SLSQP",
        constraints={"type": "eq", "fun": zeros},
        options={"ftol": 1e-13, "maxiter": 500},
    )
    own = np.concatenate(
        [[ours.slope_ - 1.0], ours.biases_, ours.class_slopes_, ours.matrix_.ravel()]
    )
    np.testing.assert_allclose(zeros(own), 0.0, atol=1e-9)
    np.testing.assert_allclose(own, found.x, atol=2e-4)
    assert objective(own) <= found.fun + 1e-7
    np.testing.assert_allclose(
        ours.transform(p), softmax(z * (ours.slope_ + ours.class_slopes_) + z @ ours.matrix_.T
                                   + ours.biases_), atol=1e-12
    )  # fmt: skip


@pytest.mark.parametrize("groups", [GROUPS, GROUPS[:3]])
def test_gradients_are_those_of_finite_differences(groups):
    p, y, _ = drawn(2, n_rows=40, n_classes=5)
    model, _ = _model(centred_logs(p, 1e-6), y, np.linspace(0.5, 2.0, 40), groups)
    theta = np.random.default_rng(2).normal(scale=0.3, size=model.n_parameters)
    gradient, hessian = model.derivatives(theta)
    np.testing.assert_allclose(gradient, approx_fprime(theta, model.value, 1e-7), atol=1e-4)
    for j in range(0, model.n_parameters, 3):
        step = 1e-5 * np.eye(model.n_parameters)[j]
        change = model.derivatives(theta + step)[0] - model.derivatives(theta - step)[0]
        np.testing.assert_allclose(hessian.matrix[j], change / 2e-5, atol=1e-5)


def test_evidence_is_the_integral_of_likelihood_and_prior():
    """One parameter: Laplace's approximation against a sum over a fine grid."""
    p, y, _ = drawn(3, n_rows=200, slope=0.4)
    one = _fitted(p, y, None, 1e-6, ("slope",))
    model, members = _model(centred_logs(p, 1e-6), y, None, ("slope",))
    assert one.log_evidence == log_evidence(model, members, one.fit)
    strength = one.fit.strengths[0]
    grid = np.linspace(-2.0, 4.0, 4001)
    logs = np.array([-model.value(np.array([d])) - 0.5 * strength * d**2 for d in grid])
    integral = logs.max() + np.log(np.exp(logs - logs.max()).sum() * (grid[1] - grid[0]))
    integral += 0.5 * np.log(strength / (2.0 * np.pi))
    assert one.log_evidence == pytest.approx(integral, abs=0.02)


@pytest.mark.parametrize(
    ("truth", "kept"),
    [
        ({}, []),
        ({"slope": 0.8}, ["slope"]),
        ({"biases": np.array([1.0, -1.0, 0.5, -0.5])}, ["slope", "biases"]),
        ({"class_slopes": np.array([0.8, 0.4, -0.5, -0.7])}, ["slope", "biases", "class_slopes"]),
        ({"matrix": np.roll(np.eye(4), 1, axis=1) - np.roll(np.eye(4), 2, axis=1)}, list(GROUPS)),
    ],
)
def test_groups_earn_their_place(truth, kept):
    p, y, _ = drawn(4, n_rows=2000, **truth)
    tempering = pc.StructuredTempering().fit(p, y)
    assert tempering.groups_ == kept
    assert len(tempering.strengths_) == len(kept)
    new_p, new_y, true = drawn(5, n_rows=5000, **truth)
    assert nll(tempering.transform(new_p), new_y) < nll(true, new_y) + 0.01


def test_it_falls_back_to_what_few_rows_support():
    p, y, _ = drawn(6, n_rows=40, n_classes=8)
    tempering = pc.StructuredTempering().fit(p, y)
    assert "matrix" not in tempering.groups_
    simple = pc.Tempering().fit(p, y)
    new_p, new_y, _ = drawn(7, n_rows=4000, n_classes=8)
    assert nll(tempering.transform(new_p), new_y) < nll(simple.transform(new_p), new_y) + 0.01


def test_two_classes_have_slope_and_biases_only():
    p, y, _ = drawn(8, n_classes=2, slope=1.0, biases=np.array([0.5, -0.5]))
    tempering = pc.StructuredTempering(floor=1e-6).fit(p, y)
    assert set(tempering.groups_) <= {"slope", "biases"}
    np.testing.assert_array_equal(tempering.matrix_, 0.0)


def test_a_matrix_is_for_enough_rows_of_each_entry():
    assert _size("matrix", 60, 1e9) == 0 < MOST_MATRIX_ENTRIES
    # Five classes leave 11 entries free.
    assert [_size("matrix", 5, n_rows) for n_rows in (109, 110)] == [0, 11]
    V = 2.0 * (np.roll(np.eye(4), 1, axis=1) - np.roll(np.eye(4), 2, axis=1))
    p, y, _ = drawn(4, n_rows=60, matrix=V)
    for n_rows, expected in ((49, False), (60, True)):
        few = pc.StructuredTempering().fit(p[:n_rows], y[:n_rows])
        assert ("matrix" in few.groups_) is expected
        # A weight of 2 is a row that occurs twice.
        half = p[: n_rows // 2], y[: n_rows // 2], np.full(n_rows // 2, 2.0)
        twice = pc.StructuredTempering().fit(*half)
        rows = np.repeat(np.arange(n_rows // 2), 2)
        again = pc.StructuredTempering().fit(p[rows], y[rows])
        assert twice.groups_ == again.groups_


def test_zeros_that_mean_little_get_a_large_floor():
    """A forest of ten trees says 0 where the truth is a few percent."""
    rng = np.random.default_rng(9)
    true = rng.dirichlet([1.0, 1.0, 1.0], size=800)
    p = np.array([rng.multinomial(10, row) / 10 for row in true])
    y = (rng.uniform(size=(800, 1)) > true.cumsum(axis=1)[:, :-1]).sum(axis=1)
    tempering = pc.StructuredTempering().fit(p, y)
    assert tempering.floor_ > 0.01
    assert nll(tempering.transform(p), y) < nll(pc.Tempering().fit(p, y).transform(p), y) - 0.02
    assert pc.StructuredTempering(floor=0.2).fit(p, y).floor_ == 0.2


@st.composite
def any_rows(draw):
    """Draw probabilities with zeros and ones among them, classes and weights."""
    n_rows, n_classes = draw(st.integers(1, 12)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    p = softmax(draw(st.sampled_from([0.0, 1.0, 30.0, 1e4])) * rng.normal(size=(n_rows, n_classes)))
    y = rng.integers(draw(st.integers(1, n_classes)), size=n_rows)  # classes may be absent
    if draw(st.booleans()):
        y = p.argmax(axis=1)  # separable
    weights = rng.choice([0.0, 1.0, 3.0], size=n_rows) * draw(st.sampled_from([1.0, 1e-6, 1e6]))
    return p, y, weights


@moderate
@given(any_rows())
def test_probabilities_whatever_the_rows(rows):
    p, y, weights = rows
    tempered = pc.StructuredTempering().fit(p, y, weights).transform(p)
    assert np.isfinite(tempered).all()
    assert (tempered >= 0).all()
    np.testing.assert_allclose(tempered.sum(axis=1), 1.0, atol=1e-12)


@moderate
@given(any_rows(), st.randoms(use_true_random=False))
def test_weights_are_repetitions_and_classes_have_no_order(rows, random):
    p, y, weights = rows
    weights = np.minimum(np.round(weights), 3.0)
    times = weights.astype(int)
    if not times.any():
        return

    def answer(p, y, weights=None):
        # With one floor: two may have the same evidence up to rounding.
        return pc.StructuredTempering(floor=0.01).fit(p, y, weights).transform(p)

    weighted = answer(p, y, weights)
    repeated = answer(np.repeat(p, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(np.repeat(weighted, times, axis=0), repeated, atol=1e-6)
    order = list(range(p.shape[1]))
    random.shuffle(order)
    permuted = answer(p[:, order], np.argsort(order)[y], weights)
    np.testing.assert_allclose(permuted, weighted[:, order], atol=1e-6)


def test_a_name_is_enough_in_a_pipe():
    p, y, _ = drawn(10, n_rows=90, n_classes=3)
    clf = pc.PolychotomyClassifier(tempering="structured").fit(p, y)
    assert isinstance(clf.tempering_, pc.StructuredTempering)


def test_wrong_use():
    with pytest.raises(ValueError, match="StructuredTempering must be fitted"):
        pc.StructuredTempering().transform([[0.5, 0.5]])
    with pytest.raises(TypeError, match="floor must be a positive number, got 'low'"):
        pc.StructuredTempering(floor="low").fit([[0.5, 0.5]], [0])
