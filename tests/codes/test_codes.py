"""Every code: valid, of the stated length, and the same for the same seed."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from polychotomy.codes import (
    CODES,
    Code,
    CustomCode,
    DenseRandomCode,
    ErrorCorrectingCode,
    ExhaustiveCode,
    MinimalCode,
    OneVsOne,
    OneVsRest,
    OrdinalCode,
    SparseRandomCode,
)
from polychotomy.core.codebook import Codebook

n_classes_ = st.integers(2, 12)
seeds = st.integers(0, 2**32 - 1)


def every_code() -> list[Code]:
    """Every code, with few draws where there are draws."""
    quick = {"error_correcting": {"n_draws": 20}, "sparse_random": {"n_draws": 20}}
    return [code(**quick.get(name, {})) for name, code in CODES.items()]


def dense_existing(m: int) -> int:
    return 2 ** (m - 1) - 1


def sparse_existing(m: int) -> int:
    """Count columns with both signs one by one."""
    columns = itertools.product((-1, 0, 1), repeat=m)
    return sum(1 in column and -1 in column for column in columns) // 2


def ceil_log2(m: int) -> int:
    return next(k for k in range(m) if 2**k >= m)


LENGTHS = {
    "one_vs_one": lambda m: m * (m - 1) // 2,
    "one_vs_rest": lambda m: m,
    "minimal": ceil_log2,
    "error_correcting": lambda m: min(10 * ceil_log2(m), dense_existing(m)),
    "exhaustive": dense_existing,
    "dense_random": lambda m: min(math.ceil(10 * math.log2(m)), dense_existing(m)),
    "sparse_random": lambda m: min(math.ceil(15 * math.log2(m)), (3**m + 1) // 2 - 2**m),
    "ordinal": lambda m: m - 1,
    "nested": lambda m: m - 1,
}


def minimal_distance(matrix: np.ndarray) -> float:
    """The smallest distance between two codewords, entry by entry."""
    return min(
        sum(0.5 if a * b == 0 else float(a != b) for a, b in zip(one, two, strict=True))
        for one, two in itertools.combinations(matrix.tolist(), 2)
    )


def assert_valid(codebook: Codebook, distinct_columns: bool = True) -> None:
    rows = [tuple(word) for word in codebook.matrix.tolist()]
    assert len(set(rows)) == len(rows)
    assert all(any(row) for row in rows)
    columns = [tuple(column) for column in codebook.matrix.T.tolist()]
    assert all(1 in column and -1 in column for column in columns)
    if distinct_columns:
        up_to_sign = {max(column, tuple(-c for c in column)) for column in columns}
        assert len(up_to_sign) == len(columns)


def test_every_code_has_its_name_in_the_table():
    assert set(CODES) == set(LENGTHS)
    assert all(code.name == name for name, code in CODES.items())
    assert "custom" not in CODES


@pytest.mark.parametrize("code", every_code(), ids=lambda code: code.name)
@settings(max_examples=20, deadline=None)
@given(m=n_classes_, seed=seeds)
def test_codebooks_are_valid_and_reproducible(code, m, seed):
    codebook = code.build(m, random_state=seed)
    assert codebook.name == code.name
    assert codebook.matrix.shape == (m, LENGTHS[code.name](m))
    assert codebook.matrix.dtype == np.int8
    assert_valid(codebook, distinct_columns=not (code.name == "one_vs_rest" and m == 2))
    assert code.build(m, random_state=seed) == codebook
    assert code.build(m, random_state=np.random.RandomState(seed)) == codebook


@pytest.mark.parametrize("code", [DenseRandomCode, ErrorCorrectingCode, SparseRandomCode])
def test_seeds_matter_to_random_codes(code):
    code = code(n_columns=20)
    assert code.build(8, random_state=0) != code.build(8, random_state=1)


@pytest.mark.parametrize("code", [DenseRandomCode, ErrorCorrectingCode, SparseRandomCode])
@settings(max_examples=30, deadline=None)
@given(m=n_classes_, seed=seeds, data=st.data())
def test_any_number_of_columns(code, m, seed, data):
    asked = data.draw(st.integers(ceil_log2(m), 60))
    parameters = {"n_columns": asked}
    if code is not DenseRandomCode:
        parameters["n_draws"] = data.draw(st.integers(1, 5))
    codebook = code(**parameters).build(m, random_state=seed)
    existing = (3**m + 1) // 2 - 2**m if code is SparseRandomCode else dense_existing(m)
    assert codebook.n_columns == min(asked, existing)
    assert_valid(codebook)


@pytest.mark.parametrize("code", [DenseRandomCode, ErrorCorrectingCode, SparseRandomCode])
def test_too_few_columns_are_refused(code):
    with pytest.raises(ValueError, match=r"n_columns=3 is too few .* 9 classes .* at least 4"):
        code(n_columns=3).build(9)


@pytest.mark.parametrize("m", [62, 63, 64, 65, 100, 200])
@pytest.mark.parametrize("code", [DenseRandomCode, ErrorCorrectingCode, SparseRandomCode])
def test_many_classes(code, m):
    parameters = {} if code is DenseRandomCode else {"n_draws": 2}
    codebook = code(**parameters).build(m, random_state=3)
    assert_valid(codebook)
    # Every class is drawn, none is left at a constant (the first is, in error-correcting).
    balance = np.abs(codebook.matrix.mean(axis=1))[1:]
    assert balance.max() < 0.6


@pytest.mark.parametrize("code", [DenseRandomCode, ErrorCorrectingCode, SparseRandomCode])
@pytest.mark.parametrize("m", [16, 64, 128])
def test_the_shortest_codes_are_valid_too(code, m):
    # A random draw has distinct codewords with chance 1e-6 (M = 16, four columns) or less.
    draws = {} if code is DenseRandomCode else {"n_draws": 100}
    for more in (0, 1, 2):
        shortest = code(n_columns=ceil_log2(m) + more, **draws).build(m, random_state=0)
        assert_valid(shortest)


def test_one_vs_one():
    expected = np.zeros((5, 10), dtype=int)
    for column, (first, second) in enumerate(itertools.combinations(range(5), 2)):
        expected[first, column], expected[second, column] = 1, -1
    assert np.array_equal(OneVsOne().build(5).matrix, expected)
    assert np.array_equal(OneVsOne().build(2).matrix, [[1], [-1]])


def test_one_vs_rest():
    assert np.array_equal(OneVsRest().build(4).matrix, 2 * np.eye(4) - 1)
    assert np.array_equal(OneVsRest().build(2).matrix, [[1, -1], [-1, 1]])
    assert len(OneVsRest().build(2).trained[0]) == 1


@pytest.mark.parametrize("m", range(2, 40))
def test_the_minimal_code_is_binary_counting(m):
    matrix = MinimalCode().build(m).matrix
    digits = ["".join("1" if entry > 0 else "0" for entry in word) for word in matrix]
    assert digits == [f"{number:0{ceil_log2(m)}b}" for number in range(m)]
    assert_valid(MinimalCode().build(m))


def test_ordinal():
    expected = [[1 if m > k else -1 for k in range(4)] for m in range(5)]
    assert np.array_equal(OrdinalCode().build(5).matrix, expected)


@pytest.mark.parametrize("m", [2, 3, 4, 7, 15])
def test_exhaustive_is_dietterich_and_bakiri(m):
    codebook = ExhaustiveCode().build(m)
    # Their recipe: alternating runs of 2^(M-i) zeros and ones in row i, the last one cut off.
    for i, word in enumerate(codebook.matrix[1:], start=2):
        run = 2 ** (m - i)
        runs = np.tile(np.repeat([-1, 1], run), 2 ** (i - 2))
        assert np.array_equal(word, runs[: dense_existing(m)])
    assert (codebook.matrix[0] == 1).all()
    if m > 2:
        apart = codebook.row_separation[np.triu_indices(m, 1)]
        assert (apart == 2 ** (m - 2)).all()


def test_exhaustive_is_refused_above_fifteen_classes():
    with pytest.raises(ValueError, match=r"32767 columns .* at most 15 .* ErrorCorrectingCode"):
        ExhaustiveCode().build(16)


@pytest.mark.parametrize(("m", "length"), [(2, 1), (3, 3), (4, 7), (5, 15)])
def test_error_correcting_takes_all_columns_where_they_are_few(m, length):
    codebook = ErrorCorrectingCode().build(m)
    assert codebook.n_columns == length
    assert codebook == ExhaustiveCode().build(m)


@settings(max_examples=15, deadline=None)
@given(m=st.integers(6, 12), seed=seeds)
def test_more_draws_are_never_worse(m, seed):
    distances = [
        minimal_distance(ErrorCorrectingCode(n_draws=n).build(m, random_state=seed).matrix)
        for n in (1, 9, 70)
    ]
    assert distances == sorted(distances)
    sparse = [
        minimal_distance(SparseRandomCode(n_draws=n).build(m, random_state=seed).matrix)
        for n in (1, 9, 70)
    ]
    assert sparse == sorted(sparse)


def test_the_search_is_better_than_a_single_draw():
    searched = ErrorCorrectingCode(n_columns=34).build(10, random_state=0)
    single = [DenseRandomCode().build(10, random_state=seed) for seed in range(50)]
    assert all(codebook.n_columns == 34 for codebook in single)
    assert minimal_distance(searched.matrix) > max(minimal_distance(c.matrix) for c in single)


def test_codewords_never_coincide_where_scikit_learn_draws_them_equal():
    # OutputCodeClassifier draws four columns at M = 3, repeats and constants allowed: two
    # codewords are equal in about 18 % of draws.
    for seed in range(200):
        for code in (ErrorCorrectingCode(), DenseRandomCode(), SparseRandomCode()):
            assert_valid(code.build(3, random_state=seed))
        assert_valid(DenseRandomCode(n_columns=2).build(3, random_state=seed))


def test_dense_entries_have_equal_chances():
    entries = [DenseRandomCode().build(9, random_state=seed).matrix for seed in range(60)]
    # 60 codebooks of 32 columns: the deviation of a class's mean is 0.023.
    assert np.abs(np.mean(entries, axis=(0, 2))).max() < 0.12


@pytest.mark.parametrize("m", [6, 9])
def test_sparse_entries_have_the_stated_chances(m):
    # Single draws; the condition that a column has both signs takes zeros away.
    drawn = [
        SparseRandomCode(n_columns=10, n_draws=1).build(m, random_state=seed).matrix
        for seed in range(150)
    ]
    columns = np.array(list(itertools.product((-1, 0, 1), repeat=m)), dtype=np.int8)
    columns = columns[(columns == 1).any(axis=1) & (columns == -1).any(axis=1)]
    chance = 0.5 ** (m + np.count_nonzero(columns, axis=1))
    zeros = chance @ (columns == 0).mean(axis=1) / chance.sum()
    assert np.mean(np.equal(drawn, 0)) == pytest.approx(zeros, abs=0.015)


@pytest.mark.parametrize(("m", "length"), [(2, 1), (3, 6), (4, 25)])
def test_sparse_takes_all_columns_where_they_are_few(m, length):
    codebook = SparseRandomCode().build(m)
    assert codebook.n_columns == length == sparse_existing(m)
    assert_valid(codebook)


def test_custom():
    matrix = [[1, 1, 0], [1, -1, 1], [-1, 0, -1]]
    codebook = CustomCode(matrix).build(3)
    assert np.array_equal(codebook.matrix, matrix)
    assert codebook.name == "custom"
    assert CustomCode(codebook).build(3) == codebook
    with pytest.raises(ValueError, match=r"CustomCode has 3 rows.* there are 4 classes"):
        CustomCode(matrix).build(4)
    with pytest.raises(ValueError, match="same codeword"):
        CustomCode([[1], [-1], [1]]).build(3)


@pytest.mark.parametrize("code", [*every_code(), CustomCode(np.array([[1], [-1]]))], ids=repr)
def test_scikit_learn_conventions(code):
    twin = clone(code)
    assert type(twin) is type(code)
    assert str(twin) == str(code)
    assert set(twin.get_params()) == set(code.get_params())
    assert clone(code).build(2, random_state=0) == code.build(2, random_state=0)


def test_parameters_can_be_set():
    code = ErrorCorrectingCode().set_params(n_columns=9, n_draws=3)
    assert code.get_params() == {"n_columns": 9, "n_draws": 3}
    assert code.build(6).n_columns == 9


@pytest.mark.parametrize(
    ("code", "n_classes", "error", "message"),
    [
        (OneVsOne(), 1, ValueError, "at least two classes; got n_classes=1"),
        (OneVsOne(), 0, ValueError, "n_classes must be a positive integer, got 0"),
        (OneVsOne(), 2.5, TypeError, "n_classes must be a positive integer, got 2.5"),
        (OneVsOne(), True, TypeError, "n_classes must be a positive integer, got True"),
        (ErrorCorrectingCode(n_columns=0), 3, ValueError, "n_columns must be a positive integer"),
        (ErrorCorrectingCode(n_columns="9"), 3, TypeError, "n_columns must be .* got '9'"),
        (ErrorCorrectingCode(n_draws=0), 3, ValueError, "n_draws must be a positive integer"),
        (ErrorCorrectingCode(n_draws=None), 3, TypeError, "n_draws must be a positive integer"),
        (SparseRandomCode(n_draws=-1), 3, ValueError, "n_draws must be a positive integer"),
        (SparseRandomCode(n_columns=1.0), 3, TypeError, "n_columns must be .* got 1.0"),
        (DenseRandomCode(n_columns=-4), 3, ValueError, "n_columns must be .* got -4"),
    ],
)
def test_wrong_parameters_are_named(code, n_classes, error, message):
    with pytest.raises(error, match=message):
        code.build(n_classes)


def test_numpy_integers_are_integers():
    code = ErrorCorrectingCode(n_columns=np.int64(5), n_draws=np.int32(4))
    assert code.build(np.int64(6)).matrix.shape == (6, 5)


def test_a_code_without_a_rule_says_so():
    class Empty(Code):
        name = "empty"

    with pytest.raises(NotImplementedError, match="Empty must define _build"):
        Empty().build(3)
