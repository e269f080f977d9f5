"""Winner takes all and the dynamically ordered decoder against plain twins."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier

from polychotomy import (
    Codebook,
    Context,
    DynamicallyOrdered,
    Margins,
    OneVsRest,
    WinnerTakesAll,
)

from . import twins
from .twins import any_probability, exact_scores, moderate, sizes_for


@moderate
@given(st.integers(2, 8), st.data())
def test_winner_takes_all_normalises_probabilities(n_classes, data):
    element = st.one_of(any_probability, st.sampled_from([5e-324, 1e-300]))
    r = data.draw(st.lists(element, min_size=n_classes, max_size=n_classes))
    p = WinnerTakesAll().decode([r])[0]
    total = math.fsum(r)
    expected = [v / total if total else 1 / n_classes for v in r]
    np.testing.assert_allclose(p, expected, rtol=1e-12, atol=0)


def test_winner_takes_all_of_zeros_is_uniform():
    np.testing.assert_array_equal(WinnerTakesAll().decode(np.zeros((2, 4))), np.full((2, 4), 0.25))


@moderate
@given(st.integers(2, 8), st.data())
def test_winner_takes_all_of_scores(n_classes, data):
    scores = data.draw(exact_scores(n_classes))
    sizes = data.draw(sizes_for(n_classes))
    context = Context(OneVsRest().build(n_classes), np.repeat(np.arange(n_classes), sizes))
    decoded = WinnerTakesAll().fit(context).decode(Margins(mean=scores))
    assert decoded.argmax(axis=1).tolist() == [twins.best(row, sizes) for row in scores.tolist()]
    np.testing.assert_allclose(decoded, scores, rtol=1e-15, atol=1e-320)


def test_winner_takes_all_reads_the_columns_of_its_code():
    order = [2, 0, 1]
    book = Codebook(OneVsRest().build(3).matrix[:, order])
    r = np.array([[0.1, 0.2, 0.7]])
    np.testing.assert_allclose(
        WinnerTakesAll().decode(r[:, order], book), WinnerTakesAll().decode(r)
    )


def test_winner_takes_all_says_when_it_yields_probabilities():
    assert WinnerTakesAll().yields_probabilities(True)
    assert not WinnerTakesAll().yields_probabilities(False)


# ---------------------------------------------------------------------------- DynamicallyOrdered


def naive_bayes_order(X, y, x):
    """Return the classes by Gaussian naive Bayes, in logs; variances smoothed as scikit-learn's."""
    n_classes = y.max() + 1
    smooth = 1e-9 * X.var(axis=0).max()
    logs = []
    for k in range(n_classes):
        rows = X[y == k]
        mean, variance = rows.mean(axis=0), rows.var(axis=0) + smooth
        value = math.log(len(rows) / len(X))
        for d in range(X.shape[1]):
            value -= 0.5 * math.log(2 * math.pi * variance[d])
            value -= (x[d] - mean[d]) ** 2 / (2 * variance[d])
        logs.append(value)
    return sorted(range(n_classes), key=lambda k: -logs[k])


def first_positive(order, answers):
    for k in order:
        if answers[k] > 0:
            return k
    return int(np.argmax(answers))


@moderate
@given(st.integers(2, 6), st.integers(0, 10**6), st.sampled_from([1.0, 10.0, 1000.0]))
def test_dynamically_ordered(n_classes, seed, spread):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), rng.integers(2, 6, size=n_classes))
    X = spread * rng.normal(size=(n_classes, 3))[y] + rng.normal(size=(len(y), 3))
    decoder = DynamicallyOrdered().fit(Context(OneVsRest().build(n_classes), y, X=X))
    points = spread * rng.normal(size=(8, 3))
    scores = rng.normal(size=(8, n_classes)) - rng.choice([0.0, 3.0])
    expected = [
        first_positive(naive_bayes_order(X, y, x), row)
        for x, row in zip(points, scores, strict=True)
    ]
    decoded = decoder.decode(Margins(mean=scores), X=points)
    assert decoded.argmax(axis=1).tolist() == expected
    assert (np.sort(decoded, axis=1)[:, :-1] == 0).all()
    # The same from probabilities, whose boundary is 1/2.
    r = 1 / (1 + np.exp(-scores))
    assert decoder.decode(r, X=points).argmax(axis=1).tolist() == expected


def test_the_order_holds_where_the_probabilities_of_naive_bayes_vanish():
    X = np.array([[0.0], [0.1], [100.0], [100.1], [50.0], [50.1]])
    y = np.array([0, 0, 1, 1, 2, 2])
    x = np.array([[0.0]])
    assert (GaussianNB().fit(X, y).predict_proba(x) == [[1, 0, 0]]).all()
    decoder = DynamicallyOrdered().fit(Context(OneVsRest().build(3), y, X=X))
    # Class 0 says no; of the others, class 2 is nearer.
    assert decoder.decode(Margins(mean=[[-1.0, 1.0, 1.0]]), X=x).argmax() == 2


def test_where_none_is_positive_the_largest_answer_wins():
    X, y = np.array([[0.0], [1.0], [5.0], [6.0], [10.0], [11.0]]), np.array([0, 0, 1, 1, 2, 2])
    decoder = DynamicallyOrdered().fit(Context(OneVsRest().build(3), y, X=X))
    for scores, winner in (([-3.0, -1.0, -2.0], 1), ([-3.0, 0.0, -2.0], 1), ([-3.0, -1.0, 2.0], 2)):
        assert decoder.decode(Margins(mean=[scores]), X=X[:1]).argmax() == winner


def test_another_orderer_is_cloned_and_weighted_rows_count():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    book = OneVsRest().build(2)
    orderer = KNeighborsClassifier(1)
    decoder = DynamicallyOrdered(orderer).fit(Context(book, y, X=X))
    assert not hasattr(orderer, "classes_")
    yes = Margins(mean=[[1.0, 1.0], [1.0, 1.0]])
    assert decoder.decode(yes, X=X[[0, 3]]).argmax(axis=1).tolist() == [0, 1]
    # A wide class 1 of all the weight takes the middle.
    heavy = np.array([1e-6, 1e-6, 1.0, 1.0])
    middle = np.array([[1.5]])
    plain = DynamicallyOrdered().fit(Context(book, y, X=X))
    weighted = DynamicallyOrdered().fit(Context(book, y, weights=heavy, X=X))
    one = Margins(mean=[[1.0, 1.0]])
    assert plain.decode(one, X=middle).argmax() == 0
    assert weighted.decode(one, X=middle).argmax() == 1


def test_sparse_inputs_need_an_orderer_of_their_own():
    X, y = csr_array(np.eye(2)), np.array([0, 1])
    context = Context(OneVsRest().build(2), y, X=X)
    assert not DynamicallyOrdered().takes_sparse
    with pytest.raises(TypeError, match="does not take sparse X"):
        DynamicallyOrdered().fit(context)
    decoder = DynamicallyOrdered(MultinomialNB())
    assert decoder.takes_sparse
    decoded = decoder.fit(context).decode(Margins(mean=[[1.0, 1.0]] * 2), X=X)
    assert decoded.argmax(axis=1).tolist() == [0, 1]
