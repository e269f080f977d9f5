"""The core of the soft-max combination against its NumPy twin and itself."""

import math
import signal
import textwrap
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from commands import Commands
from polychotomy import Context, Margins, SoftMax
from polychotomy.decoding import softmax as module
from polychotomy.native import _core
from polychotomy.native.softmax import solve_softmax

from . import softmax_twin
from .softmax_twin import ClassFeatureModel
from .test_softmax import data_set, every_code, layout, objective
from .twins import few

fewer = settings(few, max_examples=10)
PATH = [2.0**-15, 2.0**-7, 0.125, 1.0, 8.0, 2.0**7, 2.0**15]


def solve(kind, n_classes, scores, y, *args, **options):
    return solve_softmax(scores, y, n_classes, kind == "one_vs_rest", *args, **options)


def halves(n_rows, seed):
    """Return two train sets with their test sets."""
    order = np.random.default_rng(seed).permutation(n_rows)
    first, second = np.sort(order[: n_rows // 2]), np.sort(order[n_rows // 2 :])
    return [first, second], [second, first]


def assert_like_twin(kind, n_classes, scores, y, weights, train, test, path=PATH):
    """Compare probabilities, objectives, errors and losses along a path that ends without penalty.

    Weights need not agree: without penalty, they have no one optimum where a pair of classes
    is decided by the sum of two of them.
    """
    features = layout(kind, n_classes, scores)
    path = [*path, math.inf]
    solution = solve(kind, n_classes, scores, y, train, path, test, weights)
    assert solution.converged.all()
    for s, (rows, others) in enumerate(zip(train, test, strict=True)):
        model = ClassFeatureModel(features[rows], y[rows], weights[rows])
        expected = None
        for k, C in enumerate(path):
            expected = model.minimise(None if math.isinf(C) else 1 / C, expected).weights
            found = solution.weights[s, k]
            p = model.probabilities(features, expected)
            # A gradient of 1e-12 leaves errors of up to 1e-12 / sqrt(strength) in the scores of the
            # training rows; the strength is 1e-8 without penalty, and at least 3e-7 with one.
            found_p = model.probabilities(features[rows], found)
            np.testing.assert_allclose(found_p, p[rows], rtol=0, atol=1e-7)
            values = [
                objective(w.ravel(), features[rows], y[rows], 1 / C, weights[rows])[0]
                for w in (found, expected)
            ]
            assert values[0] == pytest.approx(values[1], rel=1e-7 if math.isinf(C) else 1e-10)
            if C <= 1:
                np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
            wrong = p[others].argmax(axis=1) != y[others]
            assert solution.errors[s, k] == pytest.approx(weights[others] @ wrong, rel=1e-12)
            loss = -weights[others] @ np.log(np.maximum(p[others, y[others]], 1e-300))
            assert solution.losses[s, k] == pytest.approx(loss, rel=1e-5)


# ------------------------------------------------------------------------------------- the twin


@fewer
@given(st.integers(2, 5), st.integers(0, 10**6), st.sampled_from([0.5, 1.5]))
@every_code
def test_like_the_twin(kind, n_classes, seed, noise):
    _, y, scores = data_set(kind, n_classes, seed, noise=noise)
    weights = np.random.default_rng(seed).uniform(0.5, 2, len(y))
    assert_like_twin(kind, n_classes, scores, y, weights, *halves(len(y), seed), PATH[::2])


@every_code
def test_like_the_twin_with_more_rows_than_go_into_the_hessian_at_once(kind):
    _, y, scores = data_set(kind, 5, 0, n_rows=600)
    assert_like_twin(kind, 5, scores, y, np.ones(600), *halves(600, 0), PATH[1::3])


@every_code
def test_a_class_may_be_absent_from_a_subset(kind):
    _, y, scores = data_set(kind, 4, 1)
    rows = np.arange(len(y))
    train, test = [rows[y != 2], rows[y < 2]], [rows[y == 2], rows]
    assert_like_twin(kind, 4, scores, y, np.ones(len(y)), train, test, PATH[:-1])


@fewer
@given(st.integers(2, 5), st.integers(0, 10**6))
@every_code
def test_the_chosen_C_is_that_of_the_twin(kind, n_classes, seed):
    book, y, scores = data_set(kind, n_classes, seed)
    rng = np.random.default_rng(seed)
    folds, weights = rng.integers(3, size=len(y)), rng.uniform(0.5, 2, len(y))
    context = Context(book, y, weights, held_out=Margins(mean=scores), folds=folds)
    features = layout(kind, n_classes, scores)
    criteria = softmax_twin.cross_validate(features, y, weights, folds, PATH)
    chosen = module.choose_strength(np.array(PATH), *criteria)
    decoder = SoftMax(C_values=PATH).fit(context)
    assert decoder.C_ == chosen
    expected = ClassFeatureModel(features, y, weights).minimise(1 / chosen).weights
    p = ClassFeatureModel.probabilities(features, expected)
    np.testing.assert_allclose(decoder.decode(scores), p, rtol=0, atol=1e-7)


# ---------------------------------------------------------------------------------- row weights


@few
@given(st.integers(0, 10**6))
@every_code
def test_weights_are_repetitions_also_in_tests_and_0_leaves_rows_out(kind, seed):
    _, y, scores = data_set(kind, 3, seed)
    train, test = halves(len(y), seed)
    repeats = np.random.default_rng(seed).integers(0, 3, size=len(y))
    repeats[:3] = 1
    weighted = solve(kind, 3, scores, y, train, PATH, test, repeats)
    repeated = solve(
        kind, 3, scores, y, [np.repeat(rows, repeats[rows]) for rows in train], PATH,
        [np.repeat(rows, repeats[rows]) for rows in test],
    )  # fmt: skip
    np.testing.assert_array_equal(weighted.errors, repeated.errors)
    np.testing.assert_allclose(weighted.losses, repeated.losses, rtol=1e-5)
    np.testing.assert_allclose(weighted.weights[:, :4], repeated.weights[:, :4], atol=1e-6)


@every_code
def test_rows_without_any_weight_teach_nothing(kind):
    _, y, scores = data_set(kind, 3, 0)
    nothing = [[0, 1, 2], []]
    solution = solve(kind, 3, scores, y, nothing, [1.0, math.inf], [[5], []], np.zeros(len(y)))
    assert not solution.converged.any()
    assert (solution.weights == 0).all()
    assert (solution.errors == 0).all()


# ------------------------------------------------------------------------------------- extremes


@pytest.mark.parametrize("scale", [1e-300, 1e-99, 1e-30, 1e30, 1e300])
@every_code
def test_scores_of_any_size(kind, scale):
    _, y, scores = data_set(kind, 3, 0)
    train, test = halves(len(y), 0)
    solution = solve(kind, 3, scale * scores, y, train, [*PATH, math.inf], test)
    for values in (solution.weights, solution.losses, solution.errors):
        assert np.isfinite(values).all()
    if scale > 1e-100:
        plain = solve(kind, 3, scores, y, train, [math.inf], test)
        np.testing.assert_array_equal(solution.errors[:, -1:], plain.errors)
        np.testing.assert_allclose(solution.losses[:, -1:], plain.losses, rtol=1e-4)


def test_scores_that_are_all_0():
    _, y, scores = data_set("one_vs_one", 3, 0)
    solution = solve("one_vs_one", 3, 0 * scores, y, [np.arange(len(y))], [1.0, math.inf])
    assert solution.converged.all()
    assert (solution.weights[:, :, :, :-1] == 0).all()
    # Without a penalty the biases make the probabilities the frequencies of the classes.
    odds = np.exp(solution.weights[0, 1, :, -1])
    np.testing.assert_allclose(odds / odds.sum(), np.bincount(y) / len(y), rtol=1e-5)


@pytest.mark.parametrize("huge", [1e100, 1e200, 1e308])
@every_code
def test_huge_test_rows_count_like_others(kind, huge):
    book, y, scores = data_set(kind, 3, 3)
    rows = np.arange(len(y))
    scores[-6:] = huge * np.concatenate([book.matrix, -book.matrix])
    solution = solve(kind, 3, scores, y, [rows[:-6]], [1.0], [rows])
    p = module.class_probabilities(module.class_features(scores, book), solution.weights[0, 0])
    assert solution.errors[0, 0] == (p.argmax(axis=1) != y).sum()
    loss = -np.log(np.maximum(p[rows, y], 1e-300)).sum()
    assert solution.losses[0, 0] == pytest.approx(loss, rel=1e-9)


# ------------------------------------------------------------------- threads, lanes, and batches


def assert_equal(one, two):
    for name in ("weights", "converged", "iterations", "errors", "losses"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@every_code
def test_the_number_of_threads_changes_no_bit(kind):
    _, y, scores = data_set(kind, 4, 0, n_rows=90)
    rows = np.arange(90)
    train, test = [rows[rows % 7 != k] for k in range(7)], [rows[rows % 7 == k] for k in range(7)]
    one = solve(kind, 4, scores, y, train, PATH, test)
    for n_threads in (2, 3, 16):
        assert_equal(one, solve(kind, 4, scores, y, train, PATH, test, n_threads=n_threads))
    # Other subsets do not matter either.
    alone = solve(kind, 4, scores, y, train[3:4], PATH, test[3:4])
    np.testing.assert_array_equal(alone.weights[0], one.weights[3])


@every_code
def test_a_path_of_its_own_for_every_subset(kind):
    _, y, scores = data_set(kind, 3, 0)
    train, _ = halves(len(y), 0)
    both = solve(kind, 3, scores, y, train, [[0.1, 1.0], [2.0, 3.0]])
    for s, path in enumerate([[0.1, 1.0], [2.0, 3.0]]):
        one = solve(kind, 3, scores, y, train[s : s + 1], path)
        np.testing.assert_array_equal(both.weights[s], one.weights[0])


@every_code
def test_the_instruction_set_changes_nothing_but_rounding(kind):
    _, y, scores = data_set(kind, 5, 0)
    train, test = halves(len(y), 0)
    native = solve(kind, 5, scores, y, train, PATH, test)
    _core.use_baseline_lanes(True)
    try:
        baseline = solve(kind, 5, scores, y, train, PATH, test)
    finally:
        _core.use_baseline_lanes(False)
    np.testing.assert_array_equal(baseline.errors, native.errors)
    np.testing.assert_allclose(baseline.losses, native.losses, rtol=1e-7)


@every_code
@pytest.mark.parametrize("C", ["cv", 0.5, None])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_at_once_are_each_alone(kind, C, weighted):
    rng = np.random.default_rng(0)
    book, y, first = data_set(kind, 4, 0, n_rows=70)
    scores = np.stack([first, first + rng.normal(size=first.shape), 0.1 * first])
    fold = rng.integers(3, size=len(y))
    scores[1, np.flatnonzero(fold == 0)[0]] *= 1e200  # a row of huge scores to be decoded
    weights = rng.uniform(0.5, 2, len(y)) if weighted else None
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    splits[0] = (splits[0][0][5:], splits[0][1])  # the others need not all be there
    decoder = SoftMax(C=C, C_values=PATH)
    folds = [(train, test, fold[train]) for train, test in splits]
    for n_threads in (1, 3):
        together = decoder.cross_fit(book, scores, y, weights, folds, n_threads)
        for values, found in zip(scores, together, strict=True):
            for train, test in splits:
                alone = clone(decoder).fit(
                    Context(
                        book,
                        y[train],
                        None if weights is None else weights[train],
                        held_out=Margins(mean=values[train]),
                        folds=fold[train],
                    )
                )
                np.testing.assert_array_equal(found[test], alone.decode(values[test]))
    assert not hasattr(decoder, "weights_")


def test_what_is_wrong_is_said():
    scores, y = np.zeros((4, 3)), [0, 1, 2, 0]
    rows = [[0, 1, 2, 3]]
    for arguments, options, message in [
        ((scores[:, :2], y, 3, True, rows, [1.0]), {}, "columns of the code"),
        ((scores * np.nan, y, 3, True, rows, [1.0]), {}, "scores must be finite"),
        ((scores, [0, 1, 2, 3], 3, True, rows, [1.0]), {}, "y has a class"),
        ((scores, y[:3], 3, True, rows, [1.0]), {}, "one entry for every row"),
        ((scores, y, 3, True, [[0, 4]], [1.0]), {}, "row that does not exist"),
        ((scores, y, 3, True, rows, [1.0, 0.5]), {}, "C_values must be positive and ascending"),
        ((scores, y, 3, True, rows, [0.0, 0.5]), {}, "C_values must be positive and ascending"),
        ((scores, y, 3, True, rows, [[1.0], [1.0]]), {}, "one row of C_values for every subset"),
        ((scores, y, 3, True, rows, [1.0]), {"weights": [-1, 1, 1, 1]}, "weights must be"),
        ((scores, y, 3, True, rows, [1.0]), {"tolerance": 0.0}, "tolerance must be"),
        ((scores, y, 3, True, rows, [1.0]), {"n_threads": 0}, "n_threads must be at least 1"),
        ((scores, y, 3, True, rows, [1.0]), {"test": rows * 2}, "for every subset"),
    ]:
        with pytest.raises(ValueError, match=message):
            solve_softmax(*arguments, **options)


def test_an_interrupt_stops_the_threads_soon(tmp_path):
    script = """
        import numpy as np
        from polychotomy.native.softmax import solve_softmax

        rng = np.random.default_rng(0)
        y = rng.integers(12, size=4000)
        scores = rng.standard_normal((4000, 66))
        print("started", flush=True)
        try:
            path = 2.0 ** np.arange(-15, 16)
            solve_softmax(scores, y, 12, False, [np.arange(4000)] * 40, path, n_threads=2)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        else:
            print("finished", flush=True)
        # The core still works.
        small = solve_softmax(scores, y, 12, False, [np.arange(9)], [1.0])
        print(small.converged.all(), flush=True)
    """
    with Commands(tmp_path).started_code(textwrap.dedent(script)) as process:
        process.says("started\n")
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        sent = time.perf_counter()
        output = process.end().out
        waited = time.perf_counter() - sent
    assert output == "started\ninterrupted\nTrue\n"
    # The whole would take minutes; the margin is for a busy machine.
    assert waited < 10
