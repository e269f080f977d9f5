"""What holds for every decoder, driven by one table of them."""

import itertools
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polychotomy import (
    BayesianDecoding,
    BinaryTree,
    BranchProduct,
    Codebook,
    CodeCoupling,
    Context,
    DecisionGraph,
    DenseRandomCode,
    DynamicallyOrdered,
    HammingDecoding,
    LossDecoding,
    Margins,
    MaxWins,
    NestedCode,
    Nesting,
    NonDominance,
    OneVsOne,
    OneVsRest,
    PairwiseCoupling,
    ShrunkSoftMax,
    SoftMax,
    SparseRandomCode,
    ValuedPreference,
    WeightedVoting,
    WinnerTakesAll,
)
from polychotomy.decoding import DECODERS
from polychotomy.decoding import base as base_module

from . import twins
from .twins import few


@dataclass(frozen=True)
class Case:
    """A decoder, the code and the answers it reads, and what it does not depend on."""

    decoder: Any
    code: Any
    reads: str = "probability"  # "mean", "probability", "likelihood"
    class_order: bool = False  # whether the order of the classes matters
    column_order: bool = False  # whether the order of the columns matters


CASES = {
    "max_wins": Case(MaxWins(), OneVsOne()),
    "max_wins-scores": Case(MaxWins(), OneVsOne(), "mean"),
    "weighted_voting": Case(WeightedVoting(), OneVsOne()),
    "wu_lin_weng": Case(PairwiseCoupling(), OneVsOne()),
    "hastie_tibshirani": Case(PairwiseCoupling("hastie_tibshirani"), OneVsOne()),
    "pair_sizes": Case(PairwiseCoupling("hastie_tibshirani", "pair_sizes"), OneVsOne()),
    "markov": Case(PairwiseCoupling("markov"), OneVsOne()),
    "pair_sums": Case(PairwiseCoupling("pair_sums"), OneVsOne()),
    "decision_graph": Case(DecisionGraph(), OneVsOne(), class_order=True),
    "valued_preference": Case(ValuedPreference(), OneVsOne()),
    "non_dominance": Case(NonDominance(), OneVsOne()),
    "binary_tree": Case(BinaryTree(), OneVsOne()),
    "binary_tree-random": Case(BinaryTree("random"), OneVsOne(), class_order=True),
    "nesting": Case(Nesting(), OneVsOne(), "mean"),
    "soft_max-one_vs_one": Case(SoftMax(1.0), OneVsOne(), "mean"),
    "soft_max-one_vs_rest": Case(SoftMax(1.0), OneVsRest(), "mean"),
    "soft_max-unpenalised": Case(SoftMax(None), OneVsOne(), "mean"),
    "shrunk_soft_max-one_vs_one": Case(ShrunkSoftMax(), OneVsOne(), "mean"),
    "shrunk_soft_max-one_vs_rest": Case(ShrunkSoftMax(), OneVsRest(), "mean"),
    "winner_takes_all": Case(WinnerTakesAll(), OneVsRest()),
    "winner_takes_all-scores": Case(WinnerTakesAll(), OneVsRest(), "mean"),
    "dynamically_ordered": Case(DynamicallyOrdered(), OneVsRest(), "mean"),
    "hamming-one_vs_one": Case(HammingDecoding(), OneVsOne(), "mean"),
    "hamming-one_vs_rest": Case(HammingDecoding(), OneVsRest(), "mean"),
    "hamming-dense": Case(HammingDecoding(), DenseRandomCode(), "mean"),
    **{
        f"loss-{loss}": Case(LossDecoding(loss), OneVsOne(), "mean")
        for loss in ("hinge", "exponential", "logistic", "squared", "linear")
    },
    "loss-ignored": Case(LossDecoding(dont_care="ignored"), SparseRandomCode(), "mean"),
    "bayesian-sequential": Case(
        BayesianDecoding(), OneVsOne(), class_order=True, column_order=True
    ),
    "bayesian-parallel": Case(BayesianDecoding(update="parallel"), OneVsOne()),
    "bayesian-printed": Case(
        BayesianDecoding(update="printed"), OneVsOne(), class_order=True, column_order=True
    ),
    "bayesian-one_vs_rest": Case(BayesianDecoding("training"), OneVsRest()),
    "bayesian-likelihood": Case(
        BayesianDecoding(update="parallel"), SparseRandomCode(), "likelihood"
    ),
    "code_coupling-one_vs_one": Case(CodeCoupling(), OneVsOne()),
    "code_coupling-one_vs_rest": Case(CodeCoupling(), OneVsRest()),
    "code_coupling-dense": Case(CodeCoupling(), DenseRandomCode()),
    "branch_product": Case(BranchProduct(), NestedCode()),
}


def some_cases(wanted):
    chosen = {name: case for name, case in CASES.items() if wanted(name, case)}
    return pytest.mark.parametrize("case", chosen.values(), ids=chosen.keys())


every_case = some_cases(lambda name, case: True)


def test_the_table_has_every_decoder():
    assert {case.decoder.name for case in CASES.values()} == set(DECODERS)


class World:
    """Training rows and machines for a code; classes and columns can be put in other orders."""

    def __init__(self, case, n_classes, seed):
        rng = np.random.default_rng(seed)
        self.case = case
        self.book = case.code.build(n_classes, random_state=0)
        self.y = np.repeat(np.arange(n_classes), rng.permutation(n_classes) + 2)
        centres = 2 * rng.normal(size=(n_classes, 3))
        self.X = centres[self.y] + rng.normal(size=(len(self.y), 3))
        self.new_X = centres[rng.integers(n_classes, size=25)] + rng.normal(size=(25, 3))
        self.rng = rng

    def scores(self, X, matrix, rows=None, columns=None):
        """Return linear scores of every column: nearer to the positive side's mean or not."""
        rows = np.arange(len(self.y)) if rows is None else rows
        chosen = matrix if columns is None else matrix[:, columns]
        result = np.empty((len(X), chosen.shape[1]))
        for c, word in enumerate(chosen.T):
            ends = [
                self.X[rows[np.isin(self.y[rows], np.flatnonzero(word == s))]].mean(axis=0)
                for s in (1, -1)
            ]
            result[:, c] = ((X - ends[1]) ** 2).sum(axis=1) - ((X - ends[0]) ** 2).sum(axis=1)
        return result / 4.0

    def margins(self, scores):
        if self.case.reads == "mean":
            return Margins(mean=scores)
        if self.case.reads == "likelihood":
            # Columns differ in their variance, so that it matters.
            spread = 0.5 + np.abs(scores)
            return Margins(scores, spread, np.full(scores.shape[1], 0.3))
        # Multiples of 2^-30, so that turning a column round loses nothing.
        r = np.round(2.0**30 / (1 + np.exp(-scores))) / 2.0**30
        return Margins(probability=r)

    def decode(self, classes, columns, signs, n_copies=1):
        """Return the output for classes and columns in other orders, columns turned by signs.

        `classes[a]` is the class that stands in place a.
        """
        matrix = self.book.matrix[:, columns] * signs
        book = Codebook(matrix[classes])
        place = np.argsort(classes)
        context = Context(
            book,
            place[self.y],
            X=self.X,
            training=self.margins(self.scores(self.X, matrix)),
            held_out=self.margins(self.scores(self.X, matrix)),
            refit=lambda rows, used: lambda X: self.margins(self.scores(X, matrix, rows, used)),
            random_state=0,
        )
        self.fitted = type(self.case.decoder)(**self.case.decoder.get_params()).fit(context)
        given_ = self.margins(self.scores(self.new_X, matrix))
        many = np.tile(np.arange(len(self.new_X)), n_copies)
        return self.fitted.decode(given_.rows(many), X=self.new_X[many])

    def plain(self):
        n_classes, n_columns = self.book.matrix.shape
        return np.arange(n_classes), np.arange(n_columns), np.ones(n_columns, dtype=int)


def standing(output):
    """Return the winner of every row."""
    return output.argmax(axis=1)


@pytest.mark.parametrize("n_classes", [3, 4, 6])
@some_cases(lambda name, case: not case.class_order)
def test_the_order_of_the_classes(case, n_classes, request):
    world = World(case, n_classes, zlib.crc32(request.node.name.encode()))
    classes, columns, signs = world.plain()
    before = world.decode(classes, columns, signs)
    # One-vs-one columns come in the new canonical order, turned where the order demands it.
    classes = world.rng.permutation(n_classes)
    if isinstance(case.code, OneVsOne):
        canonical = Codebook(world.book.matrix[classes])
        columns, signs = canonical.canonical
    after = world.decode(classes, columns, signs)
    expected = before[:, classes]
    np.testing.assert_array_equal(standing(after), standing(expected))
    if case.decoder.yields != "decisions":
        np.testing.assert_allclose(after, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("n_classes", [3, 5])
@every_case
def test_shuffled_and_turned_columns(case, n_classes, request):
    world = World(case, n_classes, zlib.crc32(request.node.name.encode()))
    classes, columns, signs = world.plain()
    before = world.decode(classes, columns, signs)
    if not case.column_order:
        columns = world.rng.permutation(columns)
    if "one_vs_rest" not in case.decoder.codes and not isinstance(case.code, OneVsRest):
        signs = world.rng.choice([-1, 1], size=len(columns))
    after = world.decode(classes, columns, signs)
    np.testing.assert_array_equal(standing(after), standing(before))
    np.testing.assert_allclose(after, before, rtol=1e-7, atol=1e-7)


@every_case
def test_rows_are_decoded_alike_alone_and_in_any_piece(case, monkeypatch, request):
    world = World(case, 5, zlib.crc32(request.node.name.encode()))
    whole = world.decode(*world.plain(), n_copies=3)
    given_ = world.margins(world.scores(world.new_X, world.book.matrix))
    many = np.tile(np.arange(25), 3)
    for n_rows in (1, 7, 64):
        pieces = [
            world.fitted.decode(
                given_.rows(many[a : a + n_rows]), X=world.new_X[many[a : a + n_rows]]
            )
            for a in range(0, len(many), n_rows)
        ]
        np.testing.assert_array_equal(np.concatenate(pieces), whole)
        # The same when the decoder itself cuts.
        monkeypatch.setattr(base_module, "ROWS_AT_ONCE", n_rows)
        cut = world.fitted.decode(given_.rows(many), X=world.new_X[many])
        np.testing.assert_array_equal(cut, whole)
        monkeypatch.undo()


@pytest.mark.parametrize("name", ["max_wins", "wu_lin_weng", "loss-hinge", "winner_takes_all"])
def test_more_rows_than_are_decoded_at_once(name):
    case = CASES[name]
    n_rows = 2 * base_module.ROWS_AT_ONCE + 5
    values = np.random.default_rng(0).uniform(size=(n_rows, 3))
    book = case.code.build(3)
    whole = case.decoder.decode(values, book)
    cuts = [0, 1, 100, base_module.ROWS_AT_ONCE - 1, base_module.ROWS_AT_ONCE + 3, n_rows]
    pieces = [case.decoder.decode(values[a:b], book) for a, b in itertools.pairwise(cuts)]
    np.testing.assert_array_equal(whole, np.concatenate(pieces))


@every_case
def test_inputs_are_not_changed(case):
    world = World(case, 4, 1)
    world.decode(*world.plain())
    X = world.new_X.copy()
    given_ = world.margins(world.scores(X, world.book.matrix))
    parts = {
        name: getattr(given_, name)
        for name in ("mean", "variance", "noise", "probability")
        if getattr(given_, name) is not None
    }
    copies = {name: values.copy() for name, values in parts.items()}
    for values in (*parts.values(), X):
        values.setflags(write=False)
    world.fitted.decode(given_, X=X)
    for name, values in parts.items():
        np.testing.assert_array_equal(values, copies[name])


# Scikit-learn's naive Bayes wants at least one row.
@some_cases(lambda name, case: name != "dynamically_ordered")
def test_no_rows_give_no_rows(case):
    world = World(case, 4, 1)
    world.decode(*world.plain())
    given_ = world.margins(world.scores(world.new_X, world.book.matrix))
    assert world.fitted.decode(given_.rows(slice(0, 0)), X=world.new_X[:0]).shape == (0, 4)


def is_distribution(p):
    assert np.isfinite(p).all()
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-9)


def is_probabilistic(name, case):
    return case.decoder.yields == "probabilities" or name == "winner_takes_all"


@few
@given(st.integers(2, 6), st.data())
@some_cases(lambda name, case: is_probabilistic(name, case) and case.reads == "probability")
def test_class_probabilities_for_any_binary_ones(case, n_classes, data):
    book = case.code.build(n_classes, random_state=0)
    decoder = case.decoder.fit(Context(book, np.repeat(np.arange(n_classes), 2)))
    element = st.one_of(twins.any_probability, st.sampled_from([5e-324, 1e-300, 1 - 1e-16]))
    r = data.draw(st.lists(element, min_size=book.n_columns, max_size=book.n_columns))
    is_distribution(decoder.decode([r]))


any_score = st.one_of(
    st.floats(-1e300, 1e300), st.sampled_from([0.0, 1e300, -1e300, 700.0, -745.2, 5e-324])
)


@few
@given(st.integers(2, 6), st.data())
@some_cases(lambda name, case: case.reads == "mean")
def test_finite_results_for_any_finite_scores(case, n_classes, data):
    world = World(case, n_classes, 0)
    world.decode(*world.plain())
    n_columns = world.book.n_columns
    row = data.draw(st.lists(any_score, min_size=n_columns, max_size=n_columns))
    output = world.fitted.decode(Margins(mean=[row]), X=world.new_X[:1])
    assert np.isfinite(output).all()
    if case.decoder.yields == "probabilities":
        is_distribution(output)


@few
@given(st.data())
@pytest.mark.parametrize("update", ["sequential", "parallel", "printed"])
def test_bayesian_decoding_of_any_likelihoods(update, data):
    book = OneVsOne().build(4)

    def draw(element, n=6):
        return np.array([data.draw(st.lists(element, min_size=n, max_size=n))])

    decoder = BayesianDecoding(update=update)
    size = st.one_of(st.floats(0, 1e300), st.sampled_from([0.0, 5e-324, 1e-300, 1e300]))
    is_distribution(decoder.decode(Margins(draw(any_score), draw(size), draw(size)[0]), book))
    logs = draw(any_score, 12).reshape(1, 6, 2)
    is_distribution(decoder.decode(logs, book))
