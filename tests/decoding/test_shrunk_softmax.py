"""The shrunk soft-max: what it minimises, and its limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_iris

import polychotomy as pc
from polychotomy import Context, Margins, OneVsOne, OneVsRest, ShrunkSoftMax

from .twins import few


def world(code, seed=0, n_classes=3, n_rows=120, spread=1.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_rows)
    book = code.build(n_classes)
    scores = book.matrix[y] + spread * rng.normal(size=(n_rows, book.n_columns))
    return book, y, scores


def fit(book, y, scores, weights=None):
    return ShrunkSoftMax().fit(Context(book, y, weights, held_out=Margins(mean=scores)))


def class_scores(book, row):
    """The centred scores of every class: one-vs-rest its own, one-vs-one their sum and least."""
    n_classes = book.n_classes
    if isinstance(book.name, str) and book.name == "one_vs_rest":
        lists = [list(row)]
    else:
        against = [[] for _ in range(n_classes)]
        for word, r in zip(book.matrix.T, row, strict=True):
            against[int(np.flatnonzero(word > 0)[0])].append(r)
            against[int(np.flatnonzero(word < 0)[0])].append(-r)
        lists = [[sum(a) for a in against], [min(a) for a in against]]
    return [[f - sum(fs) / n_classes for f in fs] for fs in lists]


def probabilities(book, scores, weights):
    rows = []
    for row in scores:
        lists = class_scores(book, row)
        s = [
            sum(w * fs[k] for w, fs in zip(weights[k][:-1], lists, strict=True)) + weights[k][-1]
            for k in range(book.n_classes)
        ]
        e = np.exp(np.array(s) - max(s))
        rows.append(e / e.sum())
    return np.array(rows)


@pytest.mark.parametrize("code", [OneVsOne(), OneVsRest()], ids=["one_vs_one", "one_vs_rest"])
def test_weights_minimise_the_penalised_likelihood(code):
    book, y, scores = world(code, n_rows=60)
    if isinstance(code, OneVsOne):
        scores = scores / 3.0
    fitted = fit(book, y, scores)
    np.testing.assert_allclose(
        fitted.decode(scores), probabilities(book, scores, _plain(fitted, book)), atol=1e-9
    )
    l_d, l_b = fitted.strengths_
    lists = np.array([class_scores(book, row) for row in scores])  # rows, scores, classes
    sizes = np.sqrt((lists**2).mean(axis=(0, 2)))
    n_scores = lists.shape[1]

    def split(theta):
        return theta[:n_scores], theta[n_scores:-3].reshape(3, n_scores), theta[-3:]

    def objective(theta):
        w, d, b = split(theta)
        s = np.einsum("nsk,ks->nk", lists / sizes[:, None], w + d) + b
        nll = np.log(np.exp(s).sum(axis=1)) - s[np.arange(len(y)), y]
        return nll.sum() + 0.5 * (0.1 * w @ w + l_d * (d**2).sum() + l_b * b @ b)

    found = minimize(objective, np.zeros(4 * n_scores + 3), options={"gtol": 1e-6})
    w, d, b = split(found.x)
    expected = np.column_stack([(w + d) / sizes, b])
    np.testing.assert_allclose(_plain(fitted, book), expected, atol=2e-3)


def _plain(fitted, book):
    """The weights of scores that are not divided by the number of classes."""
    weights = fitted.weights_.copy()
    if book.pairs is not None:
        weights[:, :-1] /= book.n_classes
    return weights


def test_the_limit_of_no_evidence_is_one_temperature():
    book, y, scores = world(OneVsRest(), seed=1, n_rows=2000, spread=0.7)
    fitted = fit(book, y, scores)
    # Scores that are alike for all classes: one slope, no biases.
    assert np.ptp(fitted.weights_[:, 0]) < 0.1 * fitted.weights_[0, 0]
    assert np.abs(fitted.weights_[:, 1]).max() < 0.15


@pytest.mark.parametrize("code", [OneVsOne(), OneVsRest()], ids=["one_vs_one", "one_vs_rest"])
def test_separable_scores_and_absent_classes(code):
    book, y, scores = world(code, seed=2, n_classes=4, spread=0.01)
    p = fit(book, y, scores).decode(scores)
    assert np.isfinite(p).all()
    assert (p.argmax(axis=1) == y).all()
    kept = y != 2
    p = fit(book, y[kept], scores[kept]).decode(scores)
    assert np.isfinite(p).all()
    assert p[kept, 2].max() < 0.2


@settings(few, max_examples=10)
@given(st.integers(0, 10**6), st.sampled_from([1e-50, 1e-3, 1.0, 1e5, 1e200]), st.booleans())
@pytest.mark.parametrize("code", [OneVsOne(), OneVsRest()], ids=["one_vs_one", "one_vs_rest"])
def test_weights_are_repetitions_and_the_size_of_scores_is_nothing(code, seed, size, outlier):
    book, y, scores = world(code, seed, n_rows=12)
    weights = np.random.default_rng(seed).integers(0, 3, size=12)
    weights[0] = 1
    if outlier:
        scores[0] *= 1e5
    weighted = fit(book, y, scores, weights.astype(float)).decode(scores)
    assert np.isfinite(weighted).all()
    times = np.repeat(np.arange(12), weights)
    repeated = fit(book, y[times], size * scores[times]).decode(size * scores)
    np.testing.assert_allclose(repeated, weighted, atol=1e-6)


def test_held_out_scores_are_needed():
    book, y, scores = world(OneVsRest())
    with pytest.raises(ValueError, match="ShrunkSoftMax needs held-out scores"):
        ShrunkSoftMax().fit(Context(book, y))
    with pytest.raises(ValueError, match="must be fitted before"):
        ShrunkSoftMax().decode(scores, book)


def test_shared_slopes_minimise_the_penalised_likelihood():
    book, y, scores = world(OneVsRest(), n_rows=60)
    weights = np.random.default_rng(1).integers(0, 3, size=60).astype(float)
    context = Context(book, y, weights, held_out=Margins(mean=scores))
    fitted = ShrunkSoftMax("shared").fit(context)
    z = scores - scores.mean(axis=1, keepdims=True)
    size = np.sqrt(np.average((z**2).mean(axis=1), weights=weights))
    (strength,) = fitted.strengths_

    def objective(theta):
        s = theta[0] * z / size + theta[1:]
        nll = np.log(np.exp(s).sum(axis=1)) - s[np.arange(60), y]
        return weights @ nll + 0.05 * theta[0] ** 2 + 0.5 * strength * theta[1:] @ theta[1:]

    found = minimize(objective, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    assert np.ptp(fitted.weights_[:, 0]) == 0.0
    ours = np.array([fitted.weights_[0, 0] * size, *fitted.weights_[:, 1]])
    np.testing.assert_allclose(ours, found.x, atol=1e-5)
    np.testing.assert_allclose(
        fitted.decode(scores), probabilities(book, scores, fitted.weights_), atol=1e-12
    )


def test_shared_slopes_are_for_one_vs_rest():
    decoder = ShrunkSoftMax("shared")
    assert decoder.fits(OneVsRest().build(4))
    assert not decoder.fits(OneVsOne().build(4))
    book, y, scores = world(OneVsRest())
    with pytest.raises(ValueError, match="Unknown slopes 'each'"):
        ShrunkSoftMax("each").fit(Context(book, y, held_out=Margins(mean=scores)))


def test_a_slope_alone_minimises_the_penalised_likelihood():
    book, y, scores = world(OneVsRest(), n_rows=60)
    weights = np.random.default_rng(1).integers(0, 3, size=60).astype(float)
    fitted = ShrunkSoftMax("alone").fit(Context(book, y, weights, held_out=Margins(mean=scores)))
    z = scores - scores.mean(axis=1, keepdims=True)
    size = np.sqrt(np.average((z**2).mean(axis=1), weights=weights))

    def objective(slope):
        s = slope[0] * z / size
        nll = np.log(np.exp(s).sum(axis=1)) - s[np.arange(60), y]
        return weights @ nll + 0.05 * slope[0] ** 2

    found = minimize(objective, np.zeros(1), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(fitted.weights_[:, 0] * size, found.x[0], atol=1e-5)
    assert not fitted.weights_[:, 1].any()
    assert not ShrunkSoftMax("alone").fits(OneVsOne().build(4))


def test_shared_slopes_are_refused_for_pairs_in_words_that_are_true():
    X, y = load_iris(return_X_y=True)
    decoder = pc.ShrunkSoftMax("alone")
    with pytest.raises(ValueError, match=r"'alone'.* is for other codes"):
        pc.PolychotomyClassifier(pc.LSSVM(), "one_vs_one", decoder=decoder).fit(X, y)
