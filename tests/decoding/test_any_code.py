"""Hamming, loss-based and Bayesian decoding against plain twins."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polychotomy import (
    BayesianDecoding,
    Codebook,
    Context,
    HammingDecoding,
    LossDecoding,
    Margins,
    OneVsOne,
    OneVsRest,
)

from . import twins
from .twins import code_matrices, exact_scores, few, inner_probability, moderate, sizes_for


def fitted(decoder, book, sizes, **more):
    return decoder.fit(Context(book, np.repeat(np.arange(len(sizes)), sizes), **more))


# --------------------------------------------------------------------------------------- Hamming


@moderate
@given(code_matrices(), st.data())
def test_hamming_ties_go_to_the_smaller_linear_loss_then_size(matrix, data):
    book = Codebook(matrix)
    if book.rest is not None:  # such a code has a rule of its own
        return
    scores = data.draw(exact_scores(book.n_columns))
    sizes = data.draw(sizes_for(book.n_classes))
    decoded = fitted(HammingDecoding(), book, sizes).decode(scores)
    for row, given_ in zip(decoded, scores, strict=True):
        distance = [twins.hamming(given_, word) for word in matrix]
        linear = [
            sum(int(b) * twins.Fraction(float(f)) for b, f in zip(word, given_, strict=True))
            for word in matrix
        ]
        assert row.argmax() == twins.best([-d for d in distance], linear, sizes)
        assert (np.abs(row + [float(d) for d in distance]) <= 1 / 6 + 1e-12).all()
        assert (row == row.max()).sum() == 1


@moderate
@given(st.integers(2, 7), st.data())
def test_hamming_ties_of_one_vs_rest_go_to_the_largest_answer(n_classes, data):
    book = OneVsRest().build(n_classes)
    scores = data.draw(exact_scores(n_classes))
    sizes = data.draw(sizes_for(n_classes))
    decoded = fitted(HammingDecoding(), book, sizes).decode(scores)
    for row, given_ in zip(decoded, scores, strict=True):
        distance = [-twins.hamming(given_, word) for word in book.matrix]
        assert row.argmax() == twins.best(distance, given_.tolist(), sizes)
        squashed = given_ / (6 * (1 + np.abs(given_)))
        np.testing.assert_allclose(row, np.array(distance, dtype=float) + squashed, atol=1e-14)


def test_hamming_finds_the_columns_of_a_shuffled_one_vs_rest_code():
    # The columns are those of the classes 1, 0 and 2; 1 and 0 claim the row, 0 the louder.
    shuffled = OneVsRest().build(3).matrix[:, [1, 0, 2]]
    scores = [[1.0, 2.0, -1.0]]
    assert HammingDecoding().decode(scores, Codebook(shuffled)).argmax() == 0


def test_hamming_reads_probabilities_around_a_half():
    book = OneVsOne().build(3)
    r = np.random.default_rng(0).uniform(size=(30, 3))
    from_r = HammingDecoding().decode(Margins(probability=r), book)
    np.testing.assert_array_equal(from_r, HammingDecoding().decode(r - 0.5, book))


def test_a_dont_care_and_an_answer_on_the_boundary_cost_a_half():
    book = OneVsOne().build(3)
    decoded = HammingDecoding().decode([[1.0, 1.0, 0.0]], book)
    np.testing.assert_allclose(-decoded, [[0.5, 2.0, 2.0]], atol=1 / 6)


# ------------------------------------------------------------------------------------------ loss

moderate_scores = st.floats(-20, 20)


@moderate
@given(code_matrices(), st.sampled_from(sorted(twins.LOSSES)), st.data())
@pytest.mark.parametrize("dont_care", ["loss_at_zero", "ignored"])
def test_losses(dont_care, matrix, name, data):
    n_columns = matrix.shape[1]
    row = st.lists(moderate_scores, min_size=n_columns, max_size=n_columns)
    scores = [data.draw(row) for _ in range(2)]
    decoded = LossDecoding(name, dont_care).decode(scores, Codebook(matrix))
    expected = [
        [-twins.loss(given_, word, name, dont_care) for word in matrix] for given_ in scores
    ]
    np.testing.assert_allclose(decoded, expected, rtol=1e-12, atol=1e-12)


@moderate
@given(code_matrices(), st.sampled_from(["hinge", "linear"]), st.data())
def test_ties_of_losses_go_to_the_larger_class(matrix, name, data):
    n_columns = matrix.shape[1]
    row = st.lists(st.integers(-8, 8).map(lambda k: k / 4), min_size=n_columns, max_size=n_columns)
    scores = [data.draw(row) for _ in range(3)]
    sizes = data.draw(sizes_for(len(matrix)))
    decoded = fitted(LossDecoding(name), Codebook(matrix), sizes).decode(scores)
    for given_, decoded_row in zip(scores, decoded, strict=True):
        losses = [-twins.loss(given_, word, name, "loss_at_zero") for word in matrix]
        assert decoded_row.argmax() == twins.best(losses, sizes)


@moderate
@given(st.integers(2, 7), st.sampled_from(sorted(twins.LOSSES)), st.data())
def test_for_one_vs_one_the_treatment_of_dont_cares_changes_no_winner(n_classes, name, data):
    n_columns = twins.n_pairs(n_classes)
    seed = data.draw(st.integers(0, 10**6))
    scores = np.random.default_rng(seed).normal(size=(5, n_columns))
    book = OneVsOne().build(n_classes)
    one = LossDecoding(name, "loss_at_zero").decode(scores, book)
    two = LossDecoding(name, "ignored").decode(scores, book)
    assert one.argmax(axis=1).tolist() == two.argmax(axis=1).tolist()
    at_zero = twins.LOSSES[name](0.0) * (n_columns - n_classes + 1)
    np.testing.assert_allclose(two - one, at_zero, rtol=1e-12, atol=1e-11)


def test_for_other_codes_the_treatment_of_dont_cares_matters():
    book = Codebook([[1, 1, 0], [-1, 0, 0], [0, -1, 1], [0, 0, -1]])
    scores = [[0.1, 0.1, 0.1]]
    one = LossDecoding(dont_care="loss_at_zero").decode(scores, book)
    two = LossDecoding(dont_care="ignored").decode(scores, book)
    assert one.argmax() == 0
    assert two.argmax() == 1


def test_the_squared_loss_of_huge_scores():
    book = OneVsOne().build(3)
    decoded = LossDecoding("squared").decode([[1e160, 1e200, 1e300]], book)
    assert np.isfinite(decoded).all()
    far = LossDecoding("squared").decode([[-1e100, 1.0, 1.0]], book)
    assert np.isfinite(far).all()
    assert far.argmax() == 2


# -------------------------------------------------------------------------------------- Bayesian


@st.composite
def answers(draw, matrix, element=inner_probability, n_rows=2):
    n_columns = matrix.shape[1]
    row = st.lists(element, min_size=n_columns, max_size=n_columns)
    return np.array([draw(row) for _ in range(n_rows)])


@st.composite
def priors_for(draw, n_classes):
    drawn = draw(st.lists(st.integers(1, 20), min_size=n_classes, max_size=n_classes))
    return [p / sum(drawn) for p in drawn]


TWINS = {
    "sequential": twins.bayes_sequential,
    "parallel": twins.bayes_parallel,
    "printed": twins.bayes_printed,
}


@moderate
@given(code_matrices(dont_cares=False), st.data())
@pytest.mark.parametrize("update", TWINS)
def test_without_dont_cares_all_updates_are_the_product_18(update, matrix, data):
    r, priors = data.draw(answers(matrix)), data.draw(priors_for(len(matrix)))
    decoded = BayesianDecoding(priors, update).decode(r, Codebook(matrix))
    expected = [twins.bayes_product([(1 - v, v) for v in row], matrix, priors) for row in r]
    np.testing.assert_allclose(decoded, expected, rtol=1e-9, atol=1e-15)


@moderate
@given(code_matrices(), st.data())
@pytest.mark.parametrize("update", TWINS)
def test_with_dont_cares_20_keeps_a_distribution(update, matrix, data):
    r, priors = data.draw(answers(matrix)), data.draw(priors_for(len(matrix)))
    decoded = BayesianDecoding(priors, update).decode(r, Codebook(matrix))
    expected = [TWINS[update]([(1 - v, v) for v in row], matrix, priors) for row in r]
    np.testing.assert_allclose(decoded, expected, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(np.sum(expected, axis=1), 1.0, rtol=1e-12)


@moderate
@given(code_matrices(), st.data())
@pytest.mark.parametrize("update", TWINS)
def test_the_side_frequencies_of_training_are_divided_out(update, matrix, data):
    r, sizes = data.draw(answers(matrix)), data.draw(sizes_for(len(matrix)))
    book = Codebook(matrix)
    likelihoods = []
    for row in r:
        of_row = []
        for value, word in zip(row, matrix.T, strict=True):
            plus = sum(s for s, bit in zip(sizes, word, strict=True) if bit > 0)
            minus = sum(s for s, bit in zip(sizes, word, strict=True) if bit < 0)
            of_row.append(((1 - value) / (minus / (plus + minus)), value / (plus / (plus + minus))))
        likelihoods.append(of_row)
    for priors, start in (
        (None, [1 / len(sizes)] * len(sizes)),
        ("training", [s / sum(sizes) for s in sizes]),
    ):
        decoded = fitted(BayesianDecoding(priors, update), book, sizes).decode(r)
        expected = [TWINS[update](of_row, matrix, start) for of_row in likelihoods]
        np.testing.assert_allclose(decoded, expected, rtol=1e-9, atol=1e-15)


@moderate
@given(code_matrices(), st.data())
@pytest.mark.parametrize("update", TWINS)
def test_margins_with_variance_and_noise_go_by_11(update, matrix, data):
    n_columns = matrix.shape[1]
    z = data.draw(answers(matrix, st.floats(-3, 3)))
    variance = data.draw(answers(matrix, st.floats(0.1, 5)))
    noise = data.draw(answers(matrix, st.floats(0.1, 5), n_rows=1))[0]
    expected = []
    for zs, variances in zip(z, variance, strict=True):
        likelihoods = []
        for column in range(n_columns):
            s2 = noise[column] + variances[column]
            likelihoods.append(
                tuple(
                    math.exp(-((1 - side * zs[column]) ** 2) / (2 * s2))
                    / math.sqrt(2 * math.pi * s2)
                    for side in (-1, 1)
                )
            )
        priors = [1 / len(matrix)] * len(matrix)
        expected.append(TWINS[update](likelihoods, matrix, priors))
    # The sizes of the classes and the probabilities do not come in.
    decoder = fitted(BayesianDecoding(update=update), Codebook(matrix), range(1, len(matrix) + 1))
    for probability in (None, np.full(z.shape, 0.9)):
        margins = Margins(z, variance, noise, probability)
        np.testing.assert_allclose(decoder.decode(margins), expected, rtol=1e-8, atol=1e-14)


@moderate
@given(code_matrices(), st.data())
@pytest.mark.parametrize("update", TWINS)
def test_log_likelihoods(update, matrix, data):
    logs = data.draw(answers(matrix, st.floats(-20, 20), n_rows=4)).reshape(2, 2, -1)
    logs = np.moveaxis(logs, 1, 2)  # (rows, columns, 2), the negative side first
    priors = [1 / len(matrix)] * len(matrix)
    expected = [
        TWINS[update]([(math.exp(a), math.exp(b)) for a, b in row], matrix, priors) for row in logs
    ]
    decoded = BayesianDecoding(update=update).decode(logs, Codebook(matrix))
    np.testing.assert_allclose(decoded, expected, rtol=1e-8, atol=1e-14)


def test_20_as_printed_does_not_keep_a_distribution_but_ours_does():
    # One column of two of three classes: as printed, these two share 1, and the third has 1/3.
    book = Codebook([[1, 1], [-1, 1], [0, -1]])
    decoded = BayesianDecoding().decode([[0.75, 0.5]], book)
    np.testing.assert_allclose(decoded, [[0.5, 1 / 6, 1 / 3]], rtol=1e-12)
    # Divided by their sum, the printed ones are .75, .25 and 1/3 over 4/3.
    book = Codebook([[1, 0, 1], [-1, 0, 1], [0, 1, -1], [0, -1, -1]])
    printed = BayesianDecoding(update="printed").decode([[0.75, 0.5, 0.5]], book)
    np.testing.assert_allclose(printed, [[0.375, 0.125, 0.25, 0.25]], rtol=1e-12)
    one_column = Codebook([[1, 1], [-1, 1], [0, -1]])
    by_hand = np.array([0.75, 0.25, 1 / 3]) / (4 / 3)
    printed = BayesianDecoding(update="printed").decode([[0.75, 0.5]], one_column)
    np.testing.assert_allclose(printed, [by_hand], rtol=1e-12)


def test_the_order_of_columns_matters_to_the_sequential_update_only():
    rng = np.random.default_rng(0)
    r, order = rng.uniform(0.1, 0.9, size=(4, 6)), rng.permutation(6)
    book = OneVsOne().build(4)
    other = Codebook(book.matrix[:, order])
    differences = {
        update: np.abs(
            BayesianDecoding(update=update).decode(r, book)
            - BayesianDecoding(update=update).decode(r[:, order], other)
        ).max()
        for update in ("sequential", "parallel")
    }
    assert differences["sequential"] > 1e-3
    assert differences["parallel"] < 1e-14


@few
@given(st.data())
def test_priors_in_all_forms(data):
    matrix = data.draw(code_matrices())
    r = data.draw(answers(matrix))
    n_classes, book = len(matrix), Codebook(matrix)
    labels = np.array([f"class {7 * k % 13}" for k in range(n_classes)])
    priors = data.draw(priors_for(n_classes))
    y = np.arange(n_classes)
    given_ = [
        priors,
        np.array(priors) * 50,  # need not sum to 1
        dict(zip(labels.tolist(), priors, strict=True)),
        dict(reversed(list(zip(labels.tolist(), priors, strict=True)))),
    ]
    context = Context(book, y, classes=labels)
    decoded = [BayesianDecoding(one).fit(context).decode(r) for one in given_]
    sides = [(sum(word > 0), sum(word < 0)) for word in matrix.T]  # one training row a class
    expected = [
        twins.bayes_sequential(
            [((1 - v) / minus, v / plus) for v, (plus, minus) in zip(row, sides, strict=True)],
            matrix, priors,
        )
        for row in r
    ]  # fmt: skip
    for one in decoded:
        np.testing.assert_allclose(one, expected, rtol=1e-9, atol=1e-15)
    unfitted = BayesianDecoding(dict(enumerate(priors))).decode(r, book)
    np.testing.assert_allclose(unfitted, BayesianDecoding(priors).decode(r, book), rtol=1e-12)


@few
@given(code_matrices(), st.data())
@pytest.mark.parametrize("update", TWINS)
def test_a_class_of_prior_0_stays_at_0(update, matrix, data):
    r = data.draw(answers(matrix, twins.any_probability))
    out = data.draw(st.sets(st.integers(0, len(matrix) - 1), min_size=1, max_size=len(matrix) - 1))
    priors = [0.0 if k in out else 1.0 for k in range(len(matrix))]
    decoded = BayesianDecoding(priors, update).decode(r, Codebook(matrix))
    assert (decoded[:, sorted(out)] == 0).all()
    np.testing.assert_allclose(decoded.sum(axis=1), 1.0, rtol=1e-12)


def test_margins_without_any_variance_are_certain():
    book = OneVsRest().build(3)
    margins = Margins([[1.0, -1.0, 0.0]], np.zeros((1, 3)), np.zeros(3))
    np.testing.assert_allclose(BayesianDecoding().decode(margins, book), [[1, 0, 0]], atol=1e-12)
