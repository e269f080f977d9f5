"""Voting, the decision graph, and the fuzzy preference decoders against plain twins."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polychotomy import (
    Context,
    DecisionGraph,
    Margins,
    MaxWins,
    NonDominance,
    OneVsOne,
    ValuedPreference,
    WeightedVoting,
)

from . import twins
from .twins import dyadic, exact_scores, few, moderate, pairwise_rows, sizes_for


def fitted(decoder, sizes):
    y = np.repeat(np.arange(len(sizes)), sizes)
    return decoder.fit(Context(OneVsOne().build(len(sizes)), y))


def only_largest(scores):
    """Say whether the largest score of every row stands alone."""
    return ((scores == scores.max(axis=1, keepdims=True)).sum(axis=1) == 1).all()


@st.composite
def unnormalised(draw, n_rows=2):
    n_classes = draw(st.integers(2, 6))
    cells = st.lists(dyadic, min_size=n_classes**2, max_size=n_classes**2)
    return np.array([draw(cells) for _ in range(n_rows)]).reshape(n_rows, n_classes, n_classes)


def fractions_of(R):
    return [[None if i == j else twins.Fraction(float(v)) for j, v in enumerate(row)]
            for i, row in enumerate(R)]  # fmt: skip


# --------------------------------------------------------------------------------------- MaxWins


@moderate
@given(pairwise_rows(element=dyadic), st.data())
def test_max_wins_breaks_ties_by_confidence_then_size_then_order(drawn, data):
    n_classes, r = drawn
    sizes = data.draw(sizes_for(n_classes))
    scores = fitted(MaxWins(), sizes).decode(r)
    winners = [twins.max_wins(twins.square(row, n_classes), sizes) for row in r]
    assert scores.argmax(axis=1).tolist() == winners
    assert only_largest(scores)


@moderate
@given(st.integers(2, 7), st.data())
def test_max_wins_of_scores_of_any_size(n_classes, data):
    scores = data.draw(exact_scores(twins.n_pairs(n_classes)))
    sizes = data.draw(sizes_for(n_classes))
    decoded = fitted(MaxWins(), sizes).decode(Margins(mean=scores))
    winners = [twins.max_wins(twins.score_square(row, n_classes), sizes) for row in scores]
    assert decoded.argmax(axis=1).tolist() == winners


@moderate
@given(pairwise_rows())
def test_max_wins_scores_are_votes_plus_less_than_half(drawn):
    n_classes, r = drawn
    scores = MaxWins().decode(r)
    expected = np.array([twins.votes(twins.square(row, n_classes)) for row in r])
    assert (np.abs(scores - expected) <= 1 / 3 + 1e-12).all()
    confidence = np.array(
        [[float(c) for c in twins.confidence(twins.square(row, n_classes))] for row in r]
    )
    squashed = confidence / (3 * (1 + np.abs(confidence)))
    np.testing.assert_allclose(scores, expected + squashed, rtol=0, atol=1e-13)


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e-9, 1.0, 1e6, 1e9, 1e30, 1e299])
@pytest.mark.parametrize("strongest", [0, 1, 2])
def test_a_cycle_of_scores_of_any_size_goes_to_the_most_confident(size, strongest):
    # f_01 > 0, f_12 > 0, f_20 > 0: one vote each. The class with the larger victory minus
    # its defeat is the most confident.
    victory = [2.0, 2.0, 2.0]
    victory[strongest] = 3.0
    scores = size * np.array([[victory[0], -victory[2], victory[1]]])
    assert MaxWins().decode(Margins(mean=scores)).argmax() == strongest


def test_confidences_that_differ_by_little_still_decide():
    near = np.nextafter(1e8, 2e8)
    scores = Margins(mean=[[1e8, -1e8, near]])  # 0 beats 1, 2 beats 0, 1 beats 2 by a hair
    assert MaxWins().decode(scores).argmax() == 1


def test_nobody_gets_the_vote_of_an_answer_on_the_boundary():
    assert MaxWins().decode([[0.5, 0.5, 0.5]]).round(6).tolist() == [[0.0, 0.0, 0.0]]


@few
@given(unnormalised())
def test_max_wins_of_unnormalised_answers(R):
    scores = MaxWins().decode(R)
    for row, given_ in zip(scores, R, strict=True):
        np.testing.assert_allclose(row.round(), twins.votes(fractions_of(given_)))


# -------------------------------------------------------------------------------- WeightedVoting


@moderate
@given(pairwise_rows())
def test_weighted_voting(drawn):
    n_classes, r = drawn
    expected = [[float(s) for s in twins.weighted(twins.square(row, n_classes))] for row in r]
    np.testing.assert_allclose(WeightedVoting().decode(r), expected, rtol=0, atol=1e-13)


@moderate
@given(pairwise_rows(element=dyadic), st.data())
def test_weighted_voting_breaks_ties_by_size(drawn, data):
    n_classes, r = drawn
    sizes = data.draw(sizes_for(n_classes))
    scores = fitted(WeightedVoting(), sizes).decode(r)
    winners = [twins.best(twins.weighted(twins.square(row, n_classes)), sizes) for row in r]
    assert scores.argmax(axis=1).tolist() == winners
    assert only_largest(scores)


@few
@given(unnormalised())
def test_weighted_voting_sums_unnormalised_answers_as_they_are(R):
    expected = [[float(s) for s in twins.weighted(fractions_of(one))] for one in R]
    np.testing.assert_allclose(WeightedVoting().decode(R), expected, rtol=0, atol=1e-13)


# --------------------------------------------------------------------------------- DecisionGraph


@moderate
@given(pairwise_rows(element=dyadic), st.randoms(use_true_random=False))
def test_decision_graph(drawn, random):
    n_classes, r = drawn
    order = list(range(n_classes))
    random.shuffle(order)
    for decoder, used in ((DecisionGraph(), range(n_classes)), (DecisionGraph(order), order)):
        winners = [twins.graph(twins.square(row, n_classes), used) for row in r]
        scores = decoder.decode(r)
        assert scores.argmax(axis=1).tolist() == winners
        assert (np.sort(scores, axis=1) == np.arange(n_classes)).all()


@few
@given(st.integers(2, 6), st.data())
def test_decision_graph_of_scores(n_classes, data):
    scores = data.draw(exact_scores(twins.n_pairs(n_classes)))
    winners = [twins.graph(twins.score_square(row, n_classes), range(n_classes)) for row in scores]
    assert DecisionGraph().decode(Margins(mean=scores)).argmax(axis=1).tolist() == winners


def test_the_order_of_a_fitted_graph_is_in_class_labels():
    book, y = OneVsOne().build(3), np.array([0, 1, 2])
    labels = np.array(["b", "c", "a"])
    cycle = [[0.9, 0.3, 0.6]]
    decoder = DecisionGraph(order=["a", "b", "c"]).fit(Context(book, y, classes=labels))
    # numbers 2, 0, 1: first 2 against 1; 1 beats 2; then 0 against 1; 0 stays.
    assert decoder.decode(cycle).argmax() == 0
    assert DecisionGraph(order=[2, 0, 1]).decode(cycle).argmax() == 0


def test_every_start_of_a_cycle_can_win():
    cycle = [twins.cycle(3, 0.9)]
    winners = {
        int(DecisionGraph(order).decode(cycle).argmax())
        for order in itertools.permutations(range(3))
    }
    assert winners == {0, 1, 2}


# ------------------------------------------------------------------------------ ValuedPreference


@moderate
@given(pairwise_rows(), st.data())
def test_valued_preference(drawn, data):
    n_classes, r = drawn
    sizes = data.draw(sizes_for(n_classes))
    expected = [
        [float(s) for s in twins.valued_preference(twins.square(row, n_classes), sizes)]
        for row in r
    ]
    for decoder in (ValuedPreference(class_sizes=sizes), fitted(ValuedPreference(), sizes)):
        np.testing.assert_allclose(decoder.decode(r), expected, rtol=0, atol=1e-13)


@moderate
@given(unnormalised(), st.data())
def test_valued_preference_of_unnormalised_answers(R, data):
    sizes = data.draw(sizes_for(R.shape[1]))
    expected = [[float(s) for s in twins.valued_preference(fractions_of(one), sizes)] for one in R]
    scores = ValuedPreference(sizes).decode(R)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-13)


@moderate
@given(pairwise_rows())
def test_valued_preference_is_weighted_voting_for_equal_sizes(drawn):
    _, r = drawn
    np.testing.assert_allclose(
        ValuedPreference().decode(r), WeightedVoting().decode(r), rtol=0, atol=1e-13
    )


def test_valued_preference_is_not_weighted_voting_for_unequal_sizes_or_unnormalised_answers():
    r = [[0.55, 0.45, 0.55]]
    assert WeightedVoting().decode(r).argmax() != ValuedPreference([1, 9, 1]).decode(r).argmax()
    R = np.array([[[0, 0.9, 0.2], [0.8, 0, 0.7], [0.1, 0.1, 0]]])
    assert WeightedVoting().decode(R).argmax() == 1
    difference = WeightedVoting().decode(R) - ValuedPreference().decode(R)
    assert np.abs(difference).max() > 0.1


def test_given_class_sizes_go_before_those_of_the_training_rows():
    r = [[0.5, 0.5, 0.5]]
    context = Context(OneVsOne().build(3), y=np.array([0, 0, 0, 1, 2]))
    assert ValuedPreference().fit(context).decode(r).argmax() == 0
    assert ValuedPreference(class_sizes=[1, 5, 1]).fit(context).decode(r).argmax() == 1


# ---------------------------------------------------------------------------------- NonDominance


@moderate
@given(pairwise_rows())
def test_non_dominance(drawn):
    n_classes, r = drawn
    expected = [[float(s) for s in twins.non_dominance(twins.square(row, n_classes))] for row in r]
    np.testing.assert_allclose(NonDominance().decode(r), expected, rtol=0, atol=1e-13)


@moderate
@given(unnormalised())
def test_non_dominance_of_unnormalised_answers(R):
    expected = [[float(s) for s in twins.non_dominance(fractions_of(one))] for one in R]
    np.testing.assert_allclose(NonDominance().decode(R), expected, rtol=0, atol=1e-13)


@moderate
@given(pairwise_rows(element=dyadic), st.data())
def test_non_dominance_breaks_ties_by_size(drawn, data):
    n_classes, r = drawn
    sizes = data.draw(sizes_for(n_classes))
    scores = fitted(NonDominance(), sizes).decode(r)
    winners = [twins.best(twins.non_dominance(twins.square(row, n_classes)), sizes) for row in r]
    assert scores.argmax(axis=1).tolist() == winners


def test_pairs_of_which_nothing_is_known_are_even():
    R = np.zeros((1, 3, 3))
    np.testing.assert_allclose(NonDominance().decode(R), 1.0, atol=1e-15)
