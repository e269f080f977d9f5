"""Nesting against GALAR section 2.8, with toy machines."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

import polychotomy as pc
from polychotomy import Context, Margins, Nesting, OneVsOne

from . import twins
from .twins import moderate


class Trainer:
    """A toy `refit` that remembers what it was asked."""

    def __init__(self, X, y, book, change=lambda scores: scores):
        self.X, self.y, self.book, self.change, self.asked = X, y, book, change, []

    def __call__(self, rows, columns):
        self.asked.append((rows.tolist(), columns.tolist()))
        scorer = twins.toy_scorer(self.X, self.y, rows, self.book.matrix[:, columns])
        return lambda points: Margins(mean=self.change(scorer(points)))


def coarse(step):
    """Round scores to multiples of a step: many fall on 0, and votes are tied."""
    return lambda scores: step * np.round(scores / step)


@st.composite
def problems(draw):
    n_classes = draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = np.repeat(np.arange(n_classes), draw(st.integers(1, 8)))
    X = rng.normal(size=(n_classes, 2))[y] + rng.normal(size=(len(y), 2))
    return n_classes, X, y, draw(st.sampled_from([0.25, 1.0, 4.0]))


def twin_levels(n_classes, X, y, step, max_depth):
    """Return the nested systems: (classes, columns, scorer), the outermost first."""
    book = OneVsOne().build(n_classes)
    everything = list(range(n_classes))
    levels = [(everything, *one_system(X, y, range(len(y)), everything, book, step))]
    rows = [i for i in range(len(y)) if tied(votes_of(levels[0], X[i]))]
    while rows and len(levels) <= max_depth:
        classes = sorted({int(y[i]) for i in rows})
        if len(classes) == 1:  # step 6
            levels.append((classes, None, None))
            break
        levels.append((classes, *one_system(X, y, rows, classes, book, step)))  # steps 4 and 5
        left = [i for i in rows if tied(votes_of(levels[-1], X[i]))]
        if len(left) == len(rows):
            break
        rows = left
    return levels


def one_system(X, y, rows, classes, book, step):
    columns = [
        c for c, word in enumerate(book.matrix.T)
        if {int(k) for k in np.flatnonzero(word)} <= set(classes)
    ]  # fmt: skip
    scorer = twins.toy_scorer(X, y, list(rows), book.matrix[:, columns])
    return columns, lambda x: coarse(step)(scorer(x[None]))[0]


def votes_of(level, x):
    """Return (votes, confidence) by class for one row."""
    classes, _, scorer = level
    if scorer is None:
        return {classes[0]: 1}, {classes[0]: 0}
    full = twins.score_square(scorer(x), len(classes))
    return (
        dict(zip(classes, twins.votes(full), strict=True)),
        dict(zip(classes, twins.confidence(full), strict=True)),
    )


def tied(votes):
    counts = list(votes[0].values())
    return counts.count(max(counts)) > 1


def twin_winner(levels, x, sizes):
    for number, level in enumerate(levels):
        votes, confidence = votes_of(level, x)
        if not tied((votes, confidence)):
            return max(votes, key=votes.get)
        if number == len(levels) - 1:  # weighted voting among all classes of the level
            return max(votes, key=lambda k: (confidence[k], sizes[k], -k))
    raise AssertionError


@moderate
@given(problems(), st.sampled_from([0, 1, 2, 20]))
def test_nesting_is_section_2_8(problem, max_depth):
    n_classes, X, y, step = problem
    book = OneVsOne().build(n_classes)
    trainer = Trainer(X, y, book, coarse(step))
    outer = trainer(np.arange(len(y)), np.arange(book.n_columns))
    trainer.asked.clear()
    context = Context(book, y, X=X, training=outer(X), refit=trainer)
    decoder = Nesting(max_depth).fit(context)
    levels = twin_levels(n_classes, X, y, step, max_depth)
    assert [level.classes.tolist() for level in decoder.levels_] == [lv[0] for lv in levels[1:]]
    assert [columns for _, columns in trainer.asked] == [
        lv[1] for lv in levels[1:] if lv[1] is not None
    ]
    new = np.random.default_rng(1).normal(size=(12, 2)) * 2
    for points in (X, new):
        decoded = decoder.decode(outer(points), X=points)
        expected = [twin_winner(levels, x, np.bincount(y)) for x in points]
        assert decoded.argmax(axis=1).tolist() == expected
        assert decoded.sum(axis=1).tolist() == [1.0] * len(points)


def three_classes(y, training, refit, **options):
    X = np.arange(len(y), dtype=float)[:, None]
    book = OneVsOne().build(3)
    context = Context(book, np.array(y), X=X, training=Margins(mean=training), refit=refit)
    return Nesting(**options).fit(context), X


CYCLE = [1.0, -1.0, 1.0]
CLEAR = [1.0, 1.0, 1.0]


def test_machines_that_never_decide_end_it():
    calls = []

    def refit(rows, columns):
        calls.append(len(rows))
        return lambda X: Margins(mean=np.zeros((len(X), len(columns))))

    decoder, X = three_classes([0, 1, 2, 2], [CYCLE] * 4, refit)
    assert calls == [4]
    # Nothing is left but the size of the class.
    decoded = decoder.decode(Margins(mean=[CYCLE] * 4), X=X)
    assert decoded.argmax(axis=1).tolist() == [2] * 4


def test_a_region_that_loses_one_row_at_a_time_ends_at_the_depth():
    calls = []

    def refit(rows, columns):
        calls.append(len(rows))
        gone = rows[0]
        return lambda X: Margins(mean=np.where(X == gone, 1.0, 0.0) * np.ones((1, len(columns))))

    _, _ = three_classes([0, 1, 2] * 20, [CYCLE] * 60, refit, max_depth=5)
    assert calls == [60, 59, 58, 57, 56]


def test_the_confidence_of_the_last_level_decides_what_stays_tied():
    def refit(rows, columns):
        # Again a cycle, in which class 1 is the most confident.
        return lambda X: Margins(mean=np.tile([1.0, -1.0, 5.0], (len(X), 1)))

    decoder, X = three_classes([0, 0, 1, 2], [CYCLE] * 4, refit)
    # Outside, class 0 is the most confident.
    outside = Margins(mean=[[5.0, -1.0, 1.0]] * 4)
    assert decoder.decode(outside, X=X).argmax(axis=1).tolist() == [1] * 4


@pytest.mark.parametrize("size", [1e-200, 1e20, 1e200])
def test_confidences_of_any_size_decide(size):
    def refit(rows, columns):
        return lambda X: Margins(mean=np.tile(np.array([2.0, -2.0, 3.0]) * size, (len(X), 1)))

    decoder, X = three_classes([0, 0, 1, 2], [CYCLE] * 4, refit)
    assert decoder.decode(Margins(mean=[CYCLE] * 4), X=X).argmax(axis=1).tolist() == [1] * 4


def test_a_region_of_one_class_is_that_class():
    def refit(rows, columns):
        raise AssertionError("one class needs no machine")

    decoder, X = three_classes([0, 1, 2, 2], [CLEAR, CLEAR, CYCLE, CYCLE], refit)
    assert [level.scorer for level in decoder.levels_] == [None]
    decoded = decoder.decode(Margins(mean=[CYCLE, CLEAR]), X=X[:2])
    assert decoded.argmax(axis=1).tolist() == [2, 0]


def test_a_region_of_two_classes_gets_one_machine():
    asked = []

    def refit(rows, columns):
        asked.append((rows.tolist(), columns.tolist()))
        return lambda X: Margins(mean=np.where(X > 1.5, -1.0, 1.0))

    decoder, X = three_classes([0, 0, 2, 1], [CYCLE, CYCLE, CYCLE, CLEAR], refit)
    assert asked == [([0, 1, 2], [1])]  # the pair (0, 2)
    decoded = decoder.decode(Margins(mean=[CYCLE] * 3), X=X[:3])
    assert decoded.argmax(axis=1).tolist() == [0, 0, 2]


def test_no_ties_no_levels_and_no_need_for_inputs():
    def refit(rows, columns):
        raise AssertionError("nothing to train")

    decoder, _ = three_classes([0, 1, 2], [CLEAR] * 3, refit)
    assert decoder.levels_ == []
    assert decoder.decode(Margins(mean=[CLEAR])).argmax() == 0


def test_a_tied_row_needs_the_inputs():
    def refit(rows, columns):
        return lambda X: Margins(mean=np.zeros((len(X), len(columns))))

    decoder, _ = three_classes([0, 1, 2], [CYCLE] * 3, refit)
    with pytest.raises(ValueError, match="needs the inputs X"):
        decoder.decode(Margins(mean=[CYCLE]))


def test_learners_that_need_more_rows_than_a_region_has_fall_back_to_weighted_voting():
    X, y = load_digits(return_X_y=True)
    X, y = (X[:300] > 8).astype(float)[:, 20:27], y[:300]  # seven bits: many ties
    knn = KNeighborsClassifier(25)
    clf = pc.PolychotomyClassifier(knn, decoder="nesting").fit(X, y)
    assert all(level.scorer is None or len(level.classes) > 1 for level in clf.decoder_.levels_)
    voting = pc.PolychotomyClassifier(knn, decoder="weighted_voting").fit(X, y)
    assert abs(clf.score(X, y) - voting.score(X, y)) < 0.1
