"""Soft-max combination against DUAN03, by objective, gradient and optimality."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from polychotomy import Codebook, Context, Margins, OneVsOne, OneVsRest, SoftMax
from polychotomy.decoding import softmax as module
from polychotomy.decoding._softmax_fit import HeldOutRows
from polychotomy.native import softmax as native

from . import twins
from .softmax_twin import ClassFeatureModel
from .twins import few

CODES = {"one_vs_rest": OneVsRest(), "one_vs_one": OneVsOne()}
every_code = pytest.mark.parametrize("kind", CODES)


def data_set(kind, n_classes, seed, n_rows=60, noise=1.5, scale=1.0):
    """Return a code, labels, and scores that are right more often than not."""
    rng = np.random.default_rng(seed)
    book = CODES[kind].build(n_classes)
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n_rows - n_classes)])
    scores = book.matrix[y] + noise * rng.normal(size=(n_rows, book.n_columns))
    return book, y, scale * scores


def fit(book, y, scores, C, **more):
    return SoftMax(C).fit(Context(book, y, held_out=Margins(mean=scores), **more))


def n_features(kind, n_classes):
    return 2 if kind == "one_vs_rest" else n_classes


def layout(kind, n_classes, scores):
    """Return the inputs of every class, (1) or (7), 1 for the bias last: a plain loop."""
    features = np.ones((len(scores), n_classes, n_features(kind, n_classes)))
    for n, row in enumerate(scores):
        for k in range(n_classes):
            for d in range(features.shape[2] - 1):
                unit = np.zeros((n_classes, features.shape[2]))
                unit[k, d] = 1.0
                features[n, k, d] = twins.class_exponents(row, kind, unit)[k]
    return features


def objective(w, features, y, penalty, row_weights=None):
    """Return penalty/2 |w|^2 + NLL, which is (2) and (8) divided by C, and its gradient."""
    w = w.reshape(features.shape[1:])
    z = (features * w).sum(axis=2)
    z = z - z.max(axis=1, keepdims=True)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    weights = np.ones(len(y)) if row_weights is None else row_weights
    rows = np.arange(len(y))
    value = penalty / 2 * (w**2).sum() + weights @ (np.log(np.exp(z).sum(axis=1)) - z[rows, y])
    residual = p.copy()
    residual[rows, y] -= 1  # (5), (6), (11), (12): P - 1 for the rows of the class, else P
    gradient = penalty * w + ((weights[:, None] * residual)[:, :, None] * features).sum(axis=0)
    return value, gradient.ravel()


def scipy_minimum(features, y, penalty, row_weights=None):
    size = features[0].size
    result = minimize(
        objective, np.full(size, 0.5), args=(features, y, penalty, row_weights), jac=True,
        method="L-BFGS-B", bounds=[(0, None)] * size,
        options={"maxiter": 20000, "maxfun": 200000, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    return result.fun


# ---------------------------------------------------------------------------------- the objective


@few
@given(st.integers(2, 5), st.integers(0, 10**6))
@every_code
def test_probabilities_are_1_and_7(kind, n_classes, seed):
    book, y, scores = data_set(kind, n_classes, seed)
    decoder = fit(book, y, scores, 1.0)
    expected = [twins.soft_max(row, kind, decoder.weights_.tolist()) for row in scores[:5]]
    np.testing.assert_allclose(decoder.decode(scores[:5]), expected, rtol=1e-10, atol=1e-14)
    assert (decoder.weights_ >= 0).all()
    assert decoder.weights_.shape == (n_classes, n_features(kind, n_classes))


@few
@given(
    st.integers(2, 5), st.integers(0, 10**6), st.sampled_from([2.0**-15, 0.01, 1.0, 30.0, 2.0**15])
)
@every_code
def test_the_weights_minimise_2_and_8(kind, n_classes, seed, C):
    book, y, scores = data_set(kind, n_classes, seed)
    decoder = fit(book, y, scores, C)
    features = layout(kind, n_classes, scores)
    value, gradient = objective(decoder.weights_.ravel(), features, y, 1 / C)
    # Optimal: no slope where the weight is free, none downhill where it is on its bound.
    w = decoder.weights_.ravel()
    assert (np.abs(gradient[w > 1e-9]) < 1e-5).all()
    assert (gradient > -1e-5).all()
    least = scipy_minimum(features, y, 1 / C)
    assert value <= least + 1e-9 * (1 + abs(least))
    assert value >= least - 1e-5 * (1 + abs(least))


@pytest.mark.parametrize("seed", range(3))
@every_code
def test_the_weights_minimise_the_form_of_the_paper(kind, seed):
    book, y, scores = data_set(kind, 3, seed)
    C = 1.0
    features = layout(kind, 3, scores)

    def in_logs(s):
        w = np.exp(s)
        value, gradient = objective(w, features, y, 1 / C)
        return value, gradient * w  # (5), (6), (11), (12)

    best = minimize(
        in_logs, np.zeros(features[0].size), jac=True, method="BFGS",
        options={"gtol": 1e-8, "maxiter": 20000},
    ).fun  # fmt: skip
    value, _ = objective(fit(book, y, scores, C).weights_.ravel(), features, y, 1 / C)
    assert value <= best + 1e-12
    assert value == pytest.approx(best, rel=1e-5)


@every_code
def test_some_weights_lie_on_their_bound(kind):
    on_bound = [(fit(*data_set(kind, 4, seed), 1.0).weights_ == 0).any() for seed in range(5)]
    assert any(on_bound)


@pytest.mark.parametrize("seed", range(3))
@every_code
def test_without_a_penalty_the_weights_minimise_the_likelihood(kind, seed):
    book, y, scores = data_set(kind, 3, seed, n_rows=90)
    decoder = fit(book, y, scores, None)
    features = layout(kind, 3, scores)
    value, _ = objective(decoder.weights_.ravel(), features, y, 0.0)
    least = scipy_minimum(features, y, 0.0)
    assert decoder.C_ is None
    assert value == pytest.approx(least, rel=1e-6)
    same = fit(book, y, scores, math.inf)
    np.testing.assert_array_equal(same.weights_, decoder.weights_)


@few
@given(st.integers(0, 10**6))
@every_code
def test_weighted_rows_are_repeated_rows(kind, seed):
    book, y, scores = data_set(kind, 3, seed)
    repeats = np.random.default_rng(seed).integers(1, 4, size=len(y))
    weighted = fit(book, y, scores, 1.0, weights=repeats.astype(float))
    repeated = fit(book, np.repeat(y, repeats), np.repeat(scores, repeats, axis=0), 1.0)
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, rtol=0, atol=1e-6)


@few
@given(st.integers(2, 4), st.integers(0, 10**6))
@every_code
def test_gradient_and_hessian_are_those_of_the_value(kind, n_classes, seed):
    _, y, scores = data_set(kind, n_classes, seed, n_rows=20)
    rng = np.random.default_rng(seed)
    model = ClassFeatureModel(layout(kind, n_classes, scores), y, rng.uniform(0.5, 2, len(y)))
    shape = (n_classes, n_features(kind, n_classes))
    w, strength = rng.uniform(0, 2, shape), rng.uniform(0, 1, shape)
    h = 1e-5

    def value_at(v):
        return model._value(v, strength)[0]

    def gradient_at(v):
        return model._gradient(v, model._value(v, strength)[1], strength)

    gradient = gradient_at(w)
    hessian = model._hessian(model._value(w, strength)[1], strength)
    for index in np.ndindex(shape):
        step = np.zeros(shape)
        step[index] = h
        slope = (value_at(w + step) - value_at(w - step)) / (2 * h)
        assert gradient[index] == pytest.approx(slope, abs=1e-8)
        bend = (gradient_at(w + step) - gradient_at(w - step)) / (2 * h)
        row = np.ravel_multi_index(index, shape)
        np.testing.assert_allclose(hessian[row], bend.ravel(), rtol=0, atol=1e-8)


@few
@given(st.integers(2, 5), st.integers(0, 10**6), st.floats(0, 1))
@every_code
def test_the_objective_is_convex_in_the_weights(kind, n_classes, seed, t):
    _, y, scores = data_set(kind, n_classes, seed)
    features = layout(kind, n_classes, scores)
    rng = np.random.default_rng(seed)
    a, b = rng.exponential(3, size=(2, features[0].size))
    between, at_a, at_b = (objective(w, features, y, 0.0)[0] for w in (t * a + (1 - t) * b, a, b))
    assert between <= t * at_a + (1 - t) * at_b + 1e-9


# ------------------------------------------------------------------------------- two classes


@few
@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, None]))
def test_two_classes_are_platts_form_14_and_15(seed, C):
    rng = np.random.default_rng(seed)
    y = np.concatenate([[0, 1], rng.integers(2, size=48)])
    f = np.where(y == 0, 1.0, -1.0) + 1.5 * rng.normal(size=50)
    one = fit(OneVsOne().build(2), y, f[:, None], C)
    rest = fit(OneVsRest().build(2), y, np.stack([f, -f], axis=1), C)
    for decoder, given_ in ((one, f[:, None]), (rest, np.stack([f, -f], axis=1))):
        (w1, b1), (w2, b2) = decoder.weights_
        expected = [1 / (1 + math.exp(-(w1 + w2) * v + (b2 - b1))) for v in f]
        np.testing.assert_allclose(decoder.decode(given_)[:, 0], expected, rtol=1e-9)
    np.testing.assert_allclose(one.weights_, rest.weights_, rtol=0, atol=1e-7)


# ----------------------------------------------------------------------------------- choosing C


@pytest.mark.parametrize(
    ("errors", "losses", "chosen"),
    [
        # All errors within 5 %: the NLL decides, within 5 % again, and then the smallest C.
        ([0.10, 0.10, 0.10, 0.10], [0.90, 0.52, 0.50, 0.51], 2.0),
        # The least NLL has too large an error; among the others the third is least.
        ([0.20, 0.10, 0.10, 0.104], [0.10, 0.90, 0.50, 0.60], 4.0),
        # Exactly 1.05 times the least is within, a little more is not.
        ([1.05, 1.00, 1.00, 1.00], [1.05, 1.00, 1.00, 1.00], 1.0),
        ([1.06, 1.00, 1.00, 1.00], [0.10, 1.00, 1.00, 1.00], 2.0),
        ([1.00, 1.00, 1.00, 1.00], [1.06, 1.05, 1.00, 1.00], 2.0),
        # No errors at all: only those without errors are within 5 % of none.
        ([0.01, 0.00, 0.00, 0.00], [0.10, 0.30, 0.20, 0.10], 8.0),
    ],
)
def test_the_two_tolerances(errors, losses, chosen):
    values = np.array([1.0, 2.0, 4.0, 8.0])
    assert module.choose_strength(values, np.array(errors), np.array(losses)) == chosen


@every_code
def test_cross_validation_of_c(kind):
    book, y, scores = data_set(kind, 3, 4, n_rows=60)
    folds = np.random.default_rng(0).integers(4, size=60)
    weights = np.random.default_rng(1).uniform(0.5, 2, size=60)
    values = [0.01, 0.3, 10.0]
    decoder = SoftMax(C_values=[10.0, 0.01, 0.3]).fit(
        Context(book, y, weights, held_out=Margins(mean=scores), folds=folds)
    )
    errors, losses = [], []
    for C in values:
        error = loss = 0.0
        for fold in range(4):
            train = folds != fold
            part = fit(book, y[train], scores[train], C, weights=weights[train])
            for n in np.flatnonzero(~train):
                p = twins.soft_max(scores[n], kind, part.weights_.tolist())
                error += weights[n] * (int(np.argmax(p)) != y[n])
                loss -= weights[n] * math.log(p[y[n]])
        errors.append(error / weights.sum())
        losses.append(loss / weights.sum())
    context = Context(book, y, weights, held_out=Margins(mean=scores))
    found = HeldOutRows.of(context).cross_validate([folds], values)
    np.testing.assert_allclose(found[0], [errors], rtol=1e-12)
    np.testing.assert_allclose(found[1], [losses], rtol=1e-6)
    within = [k for k in range(3) if errors[k] <= 1.05 * min(errors)]
    least = min(losses[k] for k in within)
    assert decoder.C_ == next(values[k] for k in within if losses[k] <= 1.05 * least)
    np.testing.assert_allclose(
        decoder.weights_, fit(book, y, scores, decoder.C_, weights=weights).weights_
    )


def test_the_values_of_the_paper():
    assert list(module.PAPER_C) == [2.0**k for k in range(-15, 16)]
    decoder = fit(*data_set("one_vs_rest", 3, 0), "cv")
    assert decoder.C_ in module.PAPER_C


# ------------------------------------------------------------------------------------- extremes


@pytest.mark.parametrize("C", [None, 1.0, 2.0**15, "cv"])
@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1.0, 1e30, 1e300])
@every_code
def test_separable_scores_of_any_size(kind, scale, C):
    book, y, scores = data_set(kind, 3, 1, noise=0.1, scale=scale)
    decoder = fit(book, y, scores, C)
    assert np.isfinite(decoder.weights_).all()
    rows = np.concatenate([scores, -scores, np.full((1, 3), 1e300), np.full((1, 3), -1e300)])
    p = decoder.decode(rows)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    if C is None and scale > 1e-300:
        assert (p[: len(y)].argmax(axis=1) == y).all()


@every_code
def test_huge_scores_go_to_the_class_they_speak_for(kind):
    book, y, scores = data_set(kind, 3, 2)
    decoder = fit(book, y, scores, 1.0)
    rows = np.concatenate([1e300 * book.matrix, 1e308 * book.matrix]).astype(float)
    p = decoder.decode(rows)
    assert p.argmax(axis=1).tolist() == [0, 1, 2, 0, 1, 2]
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1e4, 1e8])
@every_code
def test_the_size_of_the_scores_does_not_change_the_unpenalised_fit(kind, scale):
    book, y, scores = data_set(kind, 3, 3)
    one = fit(book, y, scores, None).decode(scores)
    two = fit(book, y, scale * scores, None).decode(scale * scores)
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-7)


@pytest.mark.parametrize("scale", [1e-12, 1e-9, 1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@every_code
def test_small_scores_still_get_their_biases(kind, C, scale):
    book, y, scores = data_set(kind, 3, 5, scale=scale)
    decoder = fit(book, y, scores, C)  # a warning would be an error
    features = layout(kind, 3, scores)
    _, gradient = objective(decoder.weights_.ravel(), features, y, 1 / C)
    biases = gradient.reshape(decoder.weights_.shape)[:, -1]
    free = decoder.weights_[:, -1] > 1e-9
    assert (np.abs(biases[free]) < 1e-6 * (1 + 1 / C)).all()
    assert (biases > -1e-6 * (1 + 1 / C)).all()


def test_a_score_that_is_always_0():
    book, y, scores = data_set("one_vs_one", 3, 0)
    scores[:, 1] = 0.0
    for C in (None, 1.0, 2.0**15):
        assert np.isfinite(fit(book, y, scores, C).weights_).all()


def test_a_class_rarer_than_the_folds_is_no_obstacle():
    book, y, scores = data_set("one_vs_rest", 3, 0)
    keep = np.sort(np.concatenate([np.flatnonzero(y != 2), np.flatnonzero(y == 2)[:1]]))
    decoder = fit(book, y[keep], scores[keep], "cv")
    assert np.isfinite(decoder.weights_).all()


def test_shuffled_and_turned_columns_change_nothing():
    book, y, scores = data_set("one_vs_one", 4, 6)
    rng = np.random.default_rng(0)
    order, sign = rng.permutation(6), rng.choice([-1, 1], size=6)
    other = Codebook(book.matrix[:, order] * sign)
    plain = fit(book, y, scores, 1.0)
    moved = fit(other, y, scores[:, order] * sign, 1.0)
    np.testing.assert_array_equal(plain.weights_, moved.weights_)
    np.testing.assert_array_equal(plain.decode(scores), moved.decode(scores[:, order] * sign))


def test_that_it_did_not_converge_is_said(monkeypatch):
    from sklearn.exceptions import ConvergenceWarning

    monkeypatch.setattr(native, "MAX_ITERATIONS", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises(ConvergenceWarning, match="SoftMax: the weights did not converge"):
            fit(*data_set("one_vs_one", 4, 0), 100.0)
