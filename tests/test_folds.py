"""Folds by content: the same rows have the same folds, wherever they stand."""

import math
from hashlib import blake2b

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, PredefinedSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polychotomy import (
    LSSVM,
    SVM,
    KernelLogisticRegression,
    KernelMultinomialRegression,
    LearnedMetric,
    MetricClassifier,
    PolychotomyClassifier,
    PolychotomyPool,
    TwoStepSearchCV,
)
from polychotomy.core.contents import content_keys
from polychotomy.core.rows import AnyRows
from polychotomy.ensemble.boosted_trees import BoostedTrees
from polychotomy.ensemble.fold_mean import FoldMean
from polychotomy.pipe.folds import FoldRows, split_rows


def fold_of(X, y, rows=None, weights=None, pairwise=False, n_splits=5):
    rows = np.arange(len(y)) if rows is None else rows
    fold = np.full(len(y), -1)
    splits = FoldRows(X, y, rows, weights, pairwise).stratified(n_splits)
    for number, (train, test) in enumerate(splits):
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), rows)
        assert (np.diff(test) > 0).all()
        fold[test] = number
    return fold


@given(
    X=arrays(float, st.tuples(st.integers(2, 30), st.integers(1, 4)), elements=st.floats(-2, 2)),
    seed=st.integers(0, 2**32 - 1),
    n_splits=st.integers(2, 6),
)
@settings(max_examples=60, deadline=None)
def test_folds_are_stratified_and_follow_the_rows(X, seed, n_splits):
    rng = np.random.default_rng(seed)
    y, order = rng.integers(3, size=len(X)), rng.permutation(len(X))
    fold = fold_of(X, y, n_splits=n_splits)
    if np.bincount(y).max() < 2:
        assert (fold == -1).all()
        return
    used = min(n_splits, np.bincount(y).max())
    assert np.ptp(np.bincount(fold, minlength=used)) <= 1
    for number in range(3):
        sizes = np.bincount(fold[y == number], minlength=used)
        assert np.ptp(sizes) <= 1
    # Equal rows of a class may change places with each other.
    again = fold_of(X[order], y[order], n_splits=n_splits)
    listed = sorted(zip(map(tuple, X + 0.0), y, fold, strict=True))
    assert listed == sorted(zip(map(tuple, X[order] + 0.0), y[order], again, strict=True))


def mixed(key):
    """SplitMix64 in whole numbers of Python."""
    key = key * 0x9E3779B97F4A7C15 % 2**64
    key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    key = (key ^ key >> 27) * 0x94D049BB133111EB % 2**64
    return key ^ key >> 31


def rounded_key(row, scales):
    key = 0
    for number, (value, scale) in enumerate(zip(row, scales, strict=True)):
        part = 3.0 if math.isnan(value) else min(max(value / scale, -2.0), 2.0)
        key += math.floor(part * 2**20 + 0.3819660112501051) * (mixed(number + 1) | 1)
    return mixed(key % 2**64)


def test_keys_do_not_depend_on_the_platform():
    X = np.array([[0.0, -1.5, 3.25], [1e-3, 7.0, -2.0], [np.nan, np.inf, -0.0]])
    expected = [rounded_key(row, [1e-3, 7.0, 3.25]) for row in X.tolist()]
    assert content_keys(X)[0].tolist() == expected
    columns = (["red", "ros\u00e9", ""], np.array(["red", "ros\u00e9", ""]))
    words = [content_keys(AnyRows(rows))[0].tolist() for rows in columns]
    digests = [blake2b(f"s{word}".encode(), digest_size=8).digest() for word in columns[0]]
    factor = mixed(1) | 1
    for keys in words:
        assert keys == [mixed(int.from_bytes(d, "little") * factor % 2**64) for d in digests]


def test_the_container_does_not_matter():
    X = np.round(np.random.default_rng(0).normal(size=(40, 5)), 1)
    X[np.abs(X) < 0.5] = 0.0
    expected = content_keys(X)
    frame = pd.DataFrame(X, columns=list("abcde"))
    for other in (csr_array(X), np.asfortranarray(X), AnyRows(frame)):
        for key, same in zip(content_keys(other), expected, strict=True):
            np.testing.assert_array_equal(key, same)


def test_last_digits_do_not_matter():
    X, _ = load_wine(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(X))
    scaled = StandardScaler().fit_transform(X)
    again = StandardScaler().fit_transform(X[order])
    assert not np.array_equal(again, scaled[order])
    np.testing.assert_array_equal(content_keys(again)[0], content_keys(scaled)[0][order])


def test_rows_that_are_rounded_to_the_same_are_told_apart_by_their_exact_values():
    X = np.arange(20.0)[:, None]
    X[0] = 1e300
    y = np.zeros(20, dtype=int)
    fold = fold_of(X, y)
    np.testing.assert_array_equal(fold_of(X[::-1], y), fold[::-1])
    assert not np.array_equal(fold, np.arange(20) % 5)


def test_equal_rows_are_spread_over_the_folds():
    X, y = np.repeat([[0.0], [1.0]], [40, 10], axis=0), np.zeros(50, dtype=int)
    fold = fold_of(X, y)
    np.testing.assert_array_equal(np.bincount(fold[:40]), [8] * 5)
    weights = np.random.default_rng(0).permutation(50) + 1.0
    order = np.random.default_rng(1).permutation(50)
    np.testing.assert_array_equal(
        fold_of(X[order], y, weights=weights[order]), fold_of(X, y, weights=weights)[order]
    )


def test_rows_that_are_not_used_do_not_matter():
    X, y = load_iris(return_X_y=True)
    X[3] = 1e9
    rows = np.delete(np.arange(150), [3, 77])
    np.testing.assert_array_equal(fold_of(X, y, rows)[rows], fold_of(X[rows], y[rows]))
    K = rbf_kernel(X)
    np.testing.assert_array_equal(
        fold_of(K, y, rows, pairwise=True)[rows],
        fold_of(K[np.ix_(rows, rows)], y[rows], pairwise=True),
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_a_kernel_matrix_permutes_its_columns_too(sparse):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    order = np.random.default_rng(2).permutation(len(y))
    K, permuted = rbf_kernel(X), rbf_kernel(X[order])
    if sparse:
        K, permuted = csr_array(K), csr_array(permuted)
    fold = fold_of(K, y, pairwise=True)
    np.testing.assert_array_equal(fold_of(permuted, y[order], pairwise=True), fold[order])


def test_objects_without_visible_content_are_dealt_out_as_they_stand():
    y = np.repeat([0, 1], 5)
    things = AnyRows([object() for _ in y])
    assert content_keys(things) is None
    np.testing.assert_array_equal(fold_of(things, y), np.arange(10) % 5)


def machines():
    yield "svm", PolychotomyClassifier(SVM(), calibrator="platt"), 2e-3
    yield "svm tempered", PolychotomyClassifier(SVM(), tempering="auto"), 1e-2
    yield "lssvm", PolychotomyClassifier(LSSVM(), calibrator="platt"), 1e-6
    yield "klr", PolychotomyClassifier(KernelLogisticRegression(), calibrator="platt"), 1e-6
    yield (
        "leave one out",
        PolychotomyClassifier(
            LSSVM(), "one_vs_rest", "none", "soft_max", cv="leave_one_out", tempering="auto"
        ),
        1e-4,
    )
    yield (
        "search",
        TwoStepSearchCV(
            PolychotomyClassifier(KernelLogisticRegression(), calibrator="platt"),
            {"machine__C": [0.1, 1.0], "machine__sigma2": [1.0, 10.0]},
            fine=None,
        ),
        1e-6,
    )
    members = [
        ("klr", PolychotomyClassifier(KernelLogisticRegression())),
        ("lr", LogisticRegression()),
    ]
    yield "pool", PolychotomyPool(members), 1e-3


@pytest.mark.parametrize(
    ("clf", "bound"), [each[1:] for each in machines()], ids=[each[0] for each in machines()]
)
def test_refitting_on_permuted_rows_changes_nothing_but_rounding(clf, bound):
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(3).permutation(len(y))
    scaler = StandardScaler()
    p = make_pipeline(scaler, clf).fit(X, y).predict_proba(X)
    again = make_pipeline(scaler, clf).fit(X[order], y[order]).predict_proba(X)
    assert np.abs(p - again).max() < bound


def test_texts_have_folds_by_content():
    rng = np.random.default_rng(0)
    words = np.array(["red", "white", "dry", "sweet", "old", "young"])
    texts = [" ".join(rng.choice(words, 4)) for _ in range(60)]
    y = np.array([text.count("red") > text.count("white") for text in texts]).astype(int)
    order = rng.permutation(60)
    fold = fold_of(AnyRows(texts), y)
    again = fold_of(AnyRows([texts[row] for row in order]), y[order])
    assert sorted(zip(texts, fold.tolist(), strict=True)) == sorted(
        zip([texts[row] for row in order], again.tolist(), strict=True)
    )
    clf = PolychotomyClassifier(
        make_pipeline(CountVectorizer(), LogisticRegression()), calibrator="platt"
    )
    p = clf.fit(texts, y).predict_proba(texts)
    moved = clf.fit([texts[row] for row in order], y[order]).predict_proba(texts)
    np.testing.assert_allclose(moved, p, atol=1e-4)


def test_two_entries_in_one_place_are_their_sum():
    parts = np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]), np.array([0, 2, 3])
    twice = csr_array(parts, shape=(2, 2))
    for found, expected in zip(content_keys(twice), content_keys(twice.toarray()), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert twice.nnz == 3  # the caller's matrix is as it was


GROUPS = np.repeat(np.arange(9), 10)


def test_splitters_see_all_rows_and_rows_of_weight_0_are_dropped():
    X, y, weights = np.arange(90.0)[:, None], np.arange(90) % 3, (np.arange(90) >= 15) * 1.0
    data = FoldRows(X, y, np.flatnonzero(weights), weights)
    found = split_rows(PredefinedSplit(GROUPS), data, np.arange(3), {})
    wanted = [np.setdiff1d(np.flatnonzero(number == GROUPS), np.arange(15)) for number in range(9)]
    # Of the first group, all rows have the weight 0.
    assert [test.tolist() for _, test in found] == [rows.tolist() for rows in wanted[1:]]
    for train, test in found:
        assert sorted([*train, *test]) == list(range(15, 90))
    for clf in (BoostedTrees(3), FoldMean(GaussianNB()), PolychotomyPool([("b", GaussianNB())])):
        fitted = clone(clf).set_params(cv=PredefinedSplit(GROUPS)).fit(X, y, weights)
        listed = clone(clf).set_params(cv=list(PredefinedSplit(GROUPS).split())).fit(X, y, weights)
        np.testing.assert_array_equal(fitted.predict_proba(X), listed.predict_proba(X))


@pytest.mark.parametrize("cv", [None, True, "five", 2.5, np.arange(150) % 5])
@pytest.mark.parametrize(
    "build", [PolychotomyPool, LearnedMetric, lambda cv: FoldMean(GaussianNB(), cv=cv)]
)
def test_what_is_no_cv_is_refused(build, cv):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"cv must be|[Uu]nknown cv"):
        build(cv=cv).fit(X, y)


@pytest.mark.parametrize(
    "build",
    [
        PolychotomyPool,
        LearnedMetric,
        BoostedTrees,
        KernelMultinomialRegression,
        PolychotomyClassifier,
    ],
)
def test_folds_that_train_on_nothing_or_on_what_they_test_are_refused(build):
    X, y = load_iris(return_X_y=True)
    rows = np.arange(150)
    for first in ([], rows, rows[:76]):
        cv = [(first, rows[75:]), (rows[75:], rows[:75])]
        with pytest.raises(ValueError, match="cv must give every fold rows of positive weight to"):
            build(cv=cv).fit(X, y)


@pytest.mark.parametrize("build", [PolychotomyPool, LearnedMetric, MetricClassifier, BoostedTrees])
def test_splitters_without_their_groups_say_what_to_give(build):
    X, y = load_iris(return_X_y=True)
    for splitter in (GroupKFold(3), LeaveOneGroupOut()):
        with pytest.raises(
            ValueError, match=r"Give its folds instead: cv=list\(splitter\.split\(X"
        ):
            build(cv=splitter).fit(X, y)
