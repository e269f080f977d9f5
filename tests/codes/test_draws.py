"""The draws behind the random codes, and the search among them, against plain twins."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polychotomy.codes import _draws
from polychotomy.codes.error_correcting import plotkin_bound


def plain_separation(columns):
    """Minimal distance between codewords of one draw of shape (n_columns, n_classes)."""
    return min(
        sum(0.5 if a * b == 0 else float(a != b) for a, b in zip(one, two, strict=True))
        for one, two in itertools.combinations(columns.T.tolist(), 2)
    )


def plain_valid(columns):
    words = [tuple(word) for word in columns.T.tolist()]
    return len(set(words)) == len(words) and all(any(word) for word in words)


class Recorder:
    """Pass on the draws of another, and keep them."""

    def __init__(self, draw):
        self.draw, self.kept = draw, []
        self.n_classes, self.n_columns, self.rng = draw.n_classes, draw.n_columns, draw.rng

    def __call__(self, n_draws):
        drawn = self.draw(n_draws)
        self.kept.extend(drawn.copy())
        return drawn


@pytest.mark.parametrize("drawer", [_draws.DenseColumns, _draws.SparseColumns])
@settings(max_examples=25, deadline=None)
@given(m=st.integers(5, 9), seed=st.integers(0, 10**6), data=st.data())
def test_search_keeps_the_first_of_the_best(drawer, m, seed, data):
    n_columns = data.draw(st.integers((m - 1).bit_length(), 14))
    n_draws = data.draw(st.integers(1, 60))
    draw = Recorder(drawer(m, n_columns, np.random.default_rng(seed)))
    found = _draws.best_draw(draw, n_draws)
    twins = [plain_separation(c) if plain_valid(c) else 0.0 for c in draw.kept[:n_draws]]
    assert len(twins) == n_draws
    if max(twins) > 0:
        assert np.array_equal(found.T, draw.kept[int(np.argmax(twins))])
    else:
        assert plain_valid(found.T)


def test_search_stops_when_a_draw_is_good_enough():
    draw = Recorder(_draws.DenseColumns(8, 30, np.random.default_rng(0)))
    found = _draws.best_draw(draw, 10_000, enough=11)
    good = [k for k, columns in enumerate(draw.kept) if plain_separation(columns) >= 11]
    assert np.array_equal(found.T, draw.kept[good[0]])
    assert len(draw.kept) < 200


def test_the_work_is_bounded(monkeypatch):
    draw = Recorder(_draws.DenseColumns(10, 20, np.random.default_rng(0)))
    monkeypatch.setattr(_draws, "_MOST_WORK", 10 * 10 * 20 * 7)
    _draws.best_draw(draw, 10_000)
    assert len(draw.kept) == 1 + 2 + 4
    monkeypatch.setattr(_draws, "_MOST_WORK", 1)
    _draws.best_draw(draw, 10_000)
    assert len(draw.kept) == 8


def test_a_single_batch_is_no_different(monkeypatch):
    results = []
    for entries in (1, 1 << 10, 1 << 18):
        monkeypatch.setattr(_draws, "_BATCH_ENTRIES", entries)
        fixed = np.random.default_rng(5).choice(np.array([-1, 1], np.int8), size=(300, 12, 6))
        stream = iter(fixed)

        class Fixed:
            n_classes, n_columns, rng = 6, 12, np.random.default_rng(0)
            source = stream

            def __call__(self, n):
                return np.array(list(itertools.islice(self.source, n)))

        results.append(_draws.best_draw(Fixed(), 300))
    assert all(np.array_equal(results[0], other) for other in results)


def columns_up_to_sign(drawn):
    words = [tuple(column) for column in drawn.tolist()]
    return {max(word, tuple(-entry for entry in word)) for word in words}


@pytest.mark.parametrize(
    ("drawer", "m", "n_columns"),
    [
        (_draws.DenseColumns, 5, 14),
        (_draws.DenseColumns, 6, 7),
        (_draws.DenseColumns, 8, 30),
        (_draws.DenseColumns, 63, 20),
        (_draws.DenseColumns, 70, 20),
        (_draws.SparseColumns, 4, 24),
        (_draws.SparseColumns, 6, 18),
        (_draws.SparseColumns, 7, 43),
        (_draws.SparseColumns, 40, 50),
    ],
)
def test_columns_of_a_draw_differ_and_have_both_signs(drawer, m, n_columns):
    drawn = drawer(m, n_columns, np.random.default_rng(0))(100)
    assert drawn.shape == (100, n_columns, m)
    assert drawn.dtype == np.int8
    assert (drawn.max(axis=2) == 1).all()
    assert (drawn.min(axis=2) == -1).all()
    assert all(len(columns_up_to_sign(draw)) == n_columns for draw in drawn)
    assert len({draw.tobytes() for draw in drawn}) > 1


@pytest.mark.parametrize("n_columns", [3, 12])
def test_all_dense_columns_are_equally_likely(n_columns):
    # 3 of 15 by drawing again, 12 of 15 by sorting keys.
    drawn = _draws.DenseColumns(5, n_columns, np.random.default_rng(0))(5000)
    _, counts = np.unique(drawn.reshape(-1, 5), axis=0, return_counts=True)
    assert len(counts) == 15
    assert counts / 5000 == pytest.approx(np.full(15, n_columns / 15), abs=0.04)


def test_sparse_columns_from_the_list_have_the_chances_of_drawing_again(monkeypatch):
    m, n_columns = 4, 6

    def frequencies():
        draw = _draws.SparseColumns(m, n_columns, np.random.default_rng(1))
        drawn = draw(4000).reshape(-1, m)
        first = drawn[np.arange(len(drawn)), (drawn != 0).argmax(axis=1)]
        _, counts = np.unique(drawn * first[:, None], axis=0, return_counts=True)
        return counts / 4000

    listed = frequencies()
    monkeypatch.setattr(_draws, "n_sparse_columns", lambda m: 10**9)
    again = frequencies()
    assert len(listed) == len(again) == 25
    assert listed == pytest.approx(again, abs=0.05)


@pytest.mark.parametrize("m", range(2, 9))
def test_all_columns_are_listed_once(m):
    dense, sparse = _draws.all_dense_columns(m), _draws.all_sparse_columns(m)
    every = [c for c in itertools.product((-1, 0, 1), repeat=m) if 1 in c and -1 in c]
    wanted = {max(column, tuple(-entry for entry in column)) for column in every}
    assert columns_up_to_sign(sparse.T) == wanted
    assert sparse.shape[1] == len(wanted) == _draws.n_sparse_columns(m)
    assert columns_up_to_sign(dense.T) == {column for column in wanted if 0 not in column}
    assert dense.shape[1] == _draws.n_dense_columns(m)


@settings(max_examples=50, deadline=None)
@given(m=st.integers(2, 12), seed=st.integers(0, 10**6), data=st.data())
def test_no_code_beats_plotkins_bound(m, seed, data):
    n_columns = data.draw(st.integers(1, min(40, 2 ** (m - 1) - 1)))
    draw = _draws.DenseColumns(m, n_columns, np.random.default_rng(seed))
    if n_columns < _draws.n_dense_columns(m):
        best = max(plain_separation(columns) for columns in draw(10))
        assert best <= plotkin_bound(m, n_columns)
        # The plain bound, which does not know that columns differ, is no sharper.
        assert plotkin_bound(m, n_columns) <= n_columns * (m // 2) * (m - m // 2) / (
            m * (m - 1) / 2
        )


@pytest.mark.parametrize("m", range(2, 12))
def test_plotkins_bound_is_met_by_all_columns(m):
    assert plotkin_bound(m, 2 ** (m - 1) - 1) == (1 if m == 2 else 2 ** (m - 2))


def test_repeated_marks_what_stands_further_left():
    keys = np.array([[3, 1, 3, 3, 2], [1, 2, 3, 4, 5], [7, 7, 0, 0, 1]])
    expected = [[k in row[:j] for j, k in enumerate(row)] for row in keys.tolist()]
    assert np.array_equal(_draws._repeated(keys), expected)


@settings(max_examples=40, deadline=None)
@given(m=st.integers(2, 9), length=st.integers(1, 20), seed=st.integers(0, 10**6))
def test_minimal_separation(m, length, seed):
    drawn = np.random.default_rng(seed).integers(-1, 2, size=(5, length, m), dtype=np.int8)
    expected = [plain_separation(columns) for columns in drawn]
    assert _draws.minimal_separation(drawn).tolist() == expected
