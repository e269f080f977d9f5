"""The codebook's properties against plain twins, its sentences, and how it looks."""

from __future__ import annotations

import copy
import itertools
import pickle

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polychotomy.codes import ErrorCorrectingCode, MinimalCode, OneVsOne, OneVsRest
from polychotomy.core.codebook import Codebook

mpl.use("Agg")


@st.composite
def codebooks(draw):
    """Any valid codebook, with repeated columns now and then."""
    m = draw(st.integers(2, 7))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    columns = rng.integers(-1, 2, size=(draw(st.integers(1, 12)), m))
    columns = [c for c in columns.tolist() if 1 in c and -1 in c]
    columns += MinimalCode().build(m).matrix.T.tolist()
    columns += [[-entry for entry in column] for column in columns[: draw(st.integers(0, 3))]]
    columns += columns[: draw(st.integers(0, 2))]
    return Codebook(rng.permutation(np.array(columns)).T)


@st.composite
def shuffled_one_vs_one(draw):
    m = draw(st.integers(2, 8))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    matrix = OneVsOne().build(m).matrix
    matrix = rng.permutation(matrix, axis=1) * rng.choice([-1, 1], size=matrix.shape[1])
    return Codebook(matrix)


quickly = settings(max_examples=40, deadline=None)


@quickly
@given(codebook=shuffled_one_vs_one())
def test_pairs_and_canonical_order_of_shuffled_one_vs_one(codebook):
    matrix = codebook.matrix
    pairs = [(c.tolist().index(1), c.tolist().index(-1)) for c in matrix.T]
    assert codebook.pairs.tolist() == [list(pair) for pair in pairs]
    source, sign = codebook.canonical
    standard = OneVsOne().build(codebook.n_classes).matrix
    assert np.array_equal(matrix[:, source] * sign, standard)


@quickly
@given(codebook=codebooks())
def test_pairs_of_any_code(codebook):
    columns = codebook.matrix.T.tolist()
    found = [{c.index(1), c.index(-1)} for c in columns if len(c) - c.count(0) == 2]
    every = [set(pair) for pair in itertools.combinations(range(codebook.n_classes), 2)]
    if len(found) == codebook.n_columns == len(every) and all(pair in found for pair in every):
        assert codebook.pairs is not None
    else:
        assert codebook.pairs is None
        with pytest.raises(ValueError, match="custom is not a one-vs-one code"):
            _ = codebook.canonical


def test_a_pair_that_stands_twice_is_not_one_vs_one():
    codebook = Codebook([[1, 1, -1], [-1, 0, 1], [0, -1, 0]])
    assert codebook.pairs is None
    assert OneVsRest().build(3).pairs is None


@quickly
@given(m=st.integers(2, 8), seed=st.integers(0, 10**6))
def test_rest_of_shuffled_one_vs_rest(m, seed):
    order = np.random.default_rng(seed).permutation(m)
    matrix = OneVsRest().build(m).matrix[:, order]
    column = Codebook(matrix).rest
    assert column.tolist() == [order.tolist().index(k) for k in range(m)]
    assert (matrix[np.arange(m), column] == 1).all()
    if m > 2:
        assert Codebook(-matrix).rest is None


@quickly
@given(codebook=codebooks())
def test_rest_of_any_code(codebook):
    columns = codebook.matrix.T.tolist()
    positives = [[k for k, entry in enumerate(c) if entry == 1] for c in columns]
    is_rest = (
        0 not in codebook.matrix
        and len(columns) == codebook.n_classes
        and sorted(positives) == [[k] for k in range(codebook.n_classes)]
    )
    assert (codebook.rest is not None) == is_rest


@pytest.mark.parametrize(
    "matrix",
    [
        OneVsOne().build(3).matrix,
        [[1, 1, -1], [-1, -1, 1], [-1, -1, -1]],
        [[1, -1], [-1, 1], [-1, -1]],
        [[1, 1, -1], [-1, 1, -1], [-1, -1, 1]],
    ],
    ids=["don't-cares", "a class twice", "too few columns", "two classes together"],
)
def test_not_one_vs_rest(matrix):
    assert Codebook(matrix).rest is None


@quickly
@given(codebook=codebooks())
def test_trained(codebook):
    columns, source, sign = codebook.trained
    seen: list[list[int]] = []
    first: list[int] = []
    for k, column in enumerate(codebook.matrix.T.tolist()):
        negative = [-entry for entry in column]
        if column not in seen and negative not in seen:
            seen.append(column)
            first.append(k)
    assert columns.tolist() == first
    assert np.array_equal(codebook.matrix[:, columns][:, source] * sign, codebook.matrix)
    assert set(np.unique(sign).tolist()) <= {-1, 1}
    # A machine answers for its own column as it stands.
    assert (sign[columns] == 1).all()
    assert source[columns].tolist() == list(range(len(columns)))


def test_two_class_one_vs_rest_trains_one_machine():
    columns, source, sign = OneVsRest().build(2).trained
    assert columns.tolist() == [0]
    assert source.tolist() == [0, 0]
    assert sign.tolist() == [1, -1]


def plain_distance(one, two):
    return sum(0.5 if a * b == 0 else float(a != b) for a, b in zip(one, two, strict=True))


@quickly
@given(codebook=codebooks())
def test_separations(codebook):
    rows, columns = codebook.matrix.tolist(), codebook.matrix.T.tolist()
    m = codebook.n_classes
    for i, j in itertools.product(range(m), repeat=2):
        expected = 0.0 if i == j else plain_distance(rows[i], rows[j])
        assert codebook.row_separation[i, j] == expected
    for i, j in itertools.product(range(codebook.n_columns), repeat=2):
        negative = [-entry for entry in columns[j]]
        expected = min(plain_distance(columns[i], columns[j]), plain_distance(columns[i], negative))
        assert codebook.column_separation[i, j] == (0.0 if i == j else expected)


@quickly
@given(codebook=codebooks(), seed=st.integers(0, 10**6))
def test_labels(codebook, seed):
    y = np.random.default_rng(seed).integers(codebook.n_classes, size=15)
    expected = [codebook.matrix[k].tolist() for k in y]
    assert codebook.labels(y).tolist() == expected


def test_sizes():
    codebook = OneVsOne().build(4)
    assert (codebook.n_classes, codebook.n_columns) == (4, 6)
    assert codebook.has_dont_cares
    assert not OneVsRest().build(4).has_dont_cares


def test_describe():
    assert OneVsOne().build(3).describe(1) == "0 against 2"
    assert OneVsOne().build(3).describe(2, ["a", "b", "c"]) == "'b' against 'c'"
    assert OneVsRest().build(4).describe(3) == "3 against 0, 1, 2"
    assert OneVsRest().build(5).describe(3, np.arange(10, 15)) == "13 against the rest"
    assert MinimalCode().build(4).describe(0, list("abcd")) == "'c', 'd' against 'a', 'b'"
    don_t_cares = Codebook(
        [[1, 1, 1], [-1, 1, 1], [-1, -1, 1], [-1, 1, -1], [-1, 0, 1], [0, -1, 1]]
    )
    assert don_t_cares.describe(0) == "0 against 1, 2, 3, 4"


def test_equal_codewords():
    with pytest.raises(ValueError, match="Classes 1 and 3 have the same codeword"):
        Codebook([[1, 1], [-1, 1], [1, -1], [-1, 1]])


def test_a_column_with_one_sign():
    with pytest.raises(ValueError, match="Column 1 of the code matrix needs at least one class"):
        Codebook([[1, 1], [-1, 0], [0, 1]])


@pytest.mark.parametrize("entry", [2, 0.5, np.nan, np.inf, -3])
def test_other_entries(entry):
    with pytest.raises(ValueError, match="entries -1, 0 and \\+1 only"):
        Codebook([[1, entry], [-1, 1]])


@pytest.mark.parametrize(
    "matrix", [[1, -1], [[1, -1]], [[], []], 1, np.ones((2, 2, 2))], ids=lambda m: str(np.shape(m))
)
def test_wrong_shape(matrix):
    with pytest.raises(ValueError, match=r"one row per class .* got an array of shape \("):
        Codebook(matrix)


@pytest.mark.parametrize("matrix", [[[1, -1], [1]], [["a", "b"], ["c", "d"]], None, object()])
def test_what_is_no_table(matrix):
    with pytest.raises(ValueError, match=r"A code matrix (is a rectangular table|has one row)"):
        Codebook(matrix)


@pytest.mark.parametrize("dtype", [int, float, np.int8, np.float32, object])
def test_any_number_type_is_copied_and_frozen(dtype):
    matrix = np.array([[1, 0], [-1, 1], [0, -1]], dtype=dtype, order="F")
    codebook = Codebook(matrix)
    matrix[0, 0] = 0
    assert codebook.matrix.dtype == np.int8
    assert codebook.matrix[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        codebook.matrix[0, 0] = 0


def test_unsigned_and_boolean_matrices_lack_a_sign():
    for dtype in (bool, np.uint8):
        with pytest.raises(ValueError, match="Column 0 of the code matrix needs"):
            Codebook(np.eye(2, dtype=dtype))


def test_equality_and_hash():
    one, two = OneVsOne().build(3), Codebook(OneVsOne().build(3).matrix)
    assert one == two
    assert hash(one) == hash(two)
    assert one != OneVsRest().build(3)
    assert one != one.matrix.tolist()
    assert len({one, two, OneVsRest().build(3)}) == 2


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))]
)
def test_copies_stay_frozen(again):
    codebook = OneVsRest().build(3)
    _ = codebook.trained
    twin = again(codebook)
    assert twin == codebook
    assert twin.name == "one_vs_rest"
    assert not twin.matrix.flags.writeable


def test_repr():
    codebook = Codebook([[1, 0, -1], [-1, 1, -1], [0, -1, 1]], name="mine")
    assert repr(codebook) == "\n".join(
        [
            "Codebook(mine, 3 classes, 3 columns)",
            "   0  1  2",
            "0  +  .  -",
            "1  -  +  -",
            "2  .  -  +",
        ]
    )


def test_repr_keeps_columns_under_their_numbers():
    lines = repr(OneVsRest().build(12)).splitlines()
    assert lines[1] == "     0   1   2   3   4   5   6   7   8   9  10  11"
    assert lines[2] == " 0   +   -   -   -   -   -   -   -   -   -   -   -"
    assert lines[13] == "11   -   -   -   -   -   -   -   -   -   -   -   +"


def test_long_codebooks_are_cut():
    text = repr(ErrorCorrectingCode(n_draws=5).build(200, random_state=0))
    lines = text.splitlines()
    assert lines[0] == "Codebook(error_correcting, 200 classes, 80 columns)"
    assert lines[1].endswith(" 22  23 ...")
    assert all(line.endswith(" ...") for line in lines[1:-1])
    assert lines[-1] == "..."
    assert len(lines) == 33
    assert max(map(len, lines)) < 110


@pytest.fixture
def pyplot():
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_plot_draws_the_matrix(pyplot):
    codebook = OneVsOne().build(4)
    ax = codebook.plot(classes=list("abcd"))
    (image,) = ax.images
    assert np.array_equal(image.get_array(), codebook.matrix)
    assert [label.get_text() for label in ax.get_yticklabels()] == list("abcd")
    assert [label.get_text() for label in ax.get_xticklabels()] == list("012345")
    assert ax.get_title() == "one vs one"
    # Negative, not used and positive have three colours.
    assert len({tuple(image.cmap(image.norm(entry))) for entry in (-1, 0, 1)}) == 3
    ax.figure.canvas.draw()


def test_plot_into_given_axes_and_with_many_columns(pyplot):
    _, ax = pyplot.subplots()
    codebook = OneVsOne().build(10)
    assert codebook.plot(ax=ax) is ax
    labels = [int(label.get_text()) for label in ax.get_xticklabels()]
    assert labels == list(ax.get_xticks()) == list(range(0, 45, 3))
    ax.figure.canvas.draw()


def test_only_arrays_that_can_change_are_copied():
    given = np.array([[1, 1, 0], [-1, 0, 1], [0, -1, -1]], dtype=np.int8)
    assert Codebook(given).matrix is not given
    assert given.flags.writeable
    view = given[:]
    view.setflags(write=False)
    assert not np.shares_memory(Codebook(view).matrix, given)
    given.setflags(write=False)
    assert Codebook(given).matrix is given
