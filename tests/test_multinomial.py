"""Kernel multinomial logistic regression against scikit-learn, in files and in its checks."""

import io

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

import polychotomy as pc
from polychotomy.machines.feature_passes import thin_products, thin_sums
from polychotomy.multinomial import C_VALUES
from polychotomy.pipe.folds import FoldRows

X, Y = load_wine(return_X_y=True)
X = scale(X)[::2]
Y = Y[::2]
NOISY = np.where(np.arange(len(Y)) % 6 == 0, (Y + 1) % 3, Y)
WEIGHTS = np.random.default_rng(1).uniform(0.2, 3.0, len(Y))
Machine = pc.KernelMultinomialRegression


@parametrize_with_checks([Machine(C=1.0, landmarks=20, tol=1e-8)])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_it_is_logistic_regression_on_the_features(C, weights):
    clf = Machine(C=C, gamma=0.05, landmarks=15, tol=1e-6).fit(X, NOISY, sample_weight=weights)
    z = clf.landmarks_.features(X)
    peer = LogisticRegression(C=C, solver="newton-cg", tol=1e-10, max_iter=1000)
    peer.fit(z, NOISY, sample_weight=weights)
    np.testing.assert_allclose(clf.predict_proba(X), peer.predict_proba(z), atol=5e-6)
    assert abs(clf.intercept_.sum()) < 1e-9


def test_C_is_the_best_on_a_held_out_fifth():
    many, y = make_classification(600, 6, n_informative=4, n_classes=3, flip_y=0.2, random_state=1)
    clf = Machine(landmarks=60).fit(many, y)
    assert clf.C_ in C_VALUES
    train, test = slice(0, 400), slice(400, None)
    losses = {
        C: log_loss(
            y[test], Machine(C=C, landmarks=60).fit(many[train], y[train]).predict_proba(many[test])
        )
        for C in C_VALUES
    }
    assert losses[clf.C_] < min(losses.values()) + 0.05
    # The start does not matter: the fit with the chosen C alone has the same answer.
    clf = Machine(landmarks=60, tol=1e-4).fit(many, y)
    alone = Machine(C=clf.C_, landmarks=60, tol=1e-4).fit(many, y)
    np.testing.assert_allclose(clf.predict_proba(many), alone.predict_proba(many), atol=1e-3)


@pytest.mark.parametrize("cv", [5, 3, "groups"])
@pytest.mark.parametrize("weights", [None, np.where(np.arange(len(Y)) % 7, WEIGHTS, 0.0)])
def test_out_of_fold_probabilities_are_those_of_refits(weights, cv):
    used = np.arange(len(Y)) if weights is None else np.flatnonzero(weights)
    if cv == "groups":
        folds = cv = list(GroupKFold(4).split(X, NOISY, np.arange(len(Y)) // 5))
    else:
        folds = FoldRows(X, NOISY, used, weights).stratified(cv)
    clf = Machine(C=3.0, gamma=0.05, landmarks=15, tol=1e-6, cv=cv)
    p = clf.fit_out_of_fold(X, NOISY, weights)
    plain = Machine(C=3.0, gamma=0.05, landmarks=15, tol=1e-6).fit(X, NOISY, weights)
    np.testing.assert_array_equal(clf.predict_proba(X), plain.predict_proba(X))
    z, left = clf.landmarks_.features(X), np.full(len(Y), True)
    counts = np.ones(len(Y)) if weights is None else weights
    for train, test in folds:
        train, test = (rows[np.isin(rows, used)] for rows in (train, test))
        peer = LogisticRegression(C=3.0, solver="newton-cg", tol=1e-10, max_iter=1000)
        peer.fit(z[train], NOISY[train], counts[train])
        place = np.searchsorted(used, test)
        np.testing.assert_allclose(p[place], peer.predict_proba(z[test]), atol=5e-6)
        left[test] = False
    assert not left[used].any()
    assert len(p) == len(used)


@pytest.mark.parametrize("rows_for_C", [300, 20_000])
def test_C_is_the_best_on_the_first_fold_that_is_given(rows_for_C, monkeypatch):
    monkeypatch.setattr("polychotomy.multinomial.ROWS_FOR_C", rows_for_C)
    monkeypatch.setattr("polychotomy.multinomial.ROWS_FOR_C_A_LANDMARK", 1)
    # Ten copies of every row, whose class has nothing to do with them.
    copied, of_copies = np.repeat(MANY[:60], 10, axis=0), np.repeat(np.arange(60) % 2, 10)
    groups = np.repeat(np.arange(60), 10)
    folds = list(GroupKFold(3).split(copied, of_copies, groups))
    assert Machine(landmarks=60, gamma=0.3).fit(copied, of_copies).C_ >= 100.0
    assert Machine(landmarks=60, gamma=0.3, cv=folds).fit(copied, of_copies).C_ <= 0.1


def test_without_two_rows_of_a_class_none_are_out_of_fold():
    assert Machine(C=1.0).fit_out_of_fold(X[[0, -1]], Y[[0, -1]]) is None


def test_rare_classes_weights_of_zero_and_threads():
    y = NOISY.copy()
    y[0] = 9
    clf = Machine(landmarks=20).fit(X, y)
    assert clf.predict_proba(X).shape == (len(X), 4)
    weights = WEIGHTS * (np.arange(len(Y)) % 2)
    some = Machine(C=1.0, landmarks=20, tol=1e-7).fit(X[1::2], NOISY[1::2], WEIGHTS[1::2])
    zero = Machine(C=1.0, landmarks=20, tol=1e-7, gamma=some.landmarks_.kernel.gamma)
    np.testing.assert_allclose(
        zero.fit(X, NOISY, weights).predict_proba(X), some.predict_proba(X), atol=1e-5
    )
    both = Machine(landmarks=20, n_jobs=2).fit(X, NOISY)
    assert np.array_equal(
        both.predict_proba(X), Machine(landmarks=20).fit(X, NOISY).predict_proba(X)
    )


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "poly"])
def test_every_kernel_dense_and_sparse_survives_a_file(kernel):
    dense = Machine(C=1.0, kernel=kernel, landmarks=20, tol=1e-8).fit(X, Y)
    thin = Machine(C=1.0, kernel=kernel, landmarks=20, tol=1e-8).fit(csr_matrix(X), Y)
    np.testing.assert_allclose(thin.predict_proba(X), dense.predict_proba(X), atol=1e-5)
    assert dense.score(X, Y) > 0.9
    file = io.BytesIO()
    pc.save(thin, file)
    file.seek(0)
    assert np.array_equal(pc.load(file).predict_proba(X), thin.predict_proba(X))


def test_wrong_parameters_are_refused():
    wrongs = {"C": ["best", 0.0], "landmarks": [0, None], "tol": [0.0], "cv": [1, "all"]}
    for wrong in ({name: value} for name, values in wrongs.items() for value in values):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Machine(**wrong).fit(X, Y)
    with pytest.raises(ValueError, match="precomputed"):
        Machine(kernel="precomputed").fit(X @ X.T, Y)


def test_too_few_steps_are_warned_of():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 steps"):
        pc.KernelMultinomialRegression(C=100.0, max_iter=2).fit(scale(X), y)


@pytest.fixture
def few_rows_for_C(monkeypatch):
    for name, value in (("ROWS_FOR_C", 100), ("ROWS_FOR_C_A_LANDMARK", 1), ("GROWTH", 2)):
        monkeypatch.setattr(f"polychotomy.multinomial.{name}", value)


MANY, MANY_CLASSES = make_classification(
    900, 6, n_informative=4, n_classes=3, flip_y=0.2, random_state=1
)


@pytest.mark.parametrize("weighted", [False, True])
def test_more_and_more_rows_end_at_the_solution_of_all(weighted, few_rows_for_C):
    weights = np.random.default_rng(2).uniform(0.0, 2.0, 900).round(1) if weighted else None
    clf = Machine(C=1.0, landmarks=40, tol=1e-6).fit(MANY, MANY_CLASSES, weights)
    z = clf.landmarks_.features(MANY)
    peer = LogisticRegression(C=1.0, solver="newton-cg", tol=1e-10, max_iter=1000)
    peer.fit(z, MANY_CLASSES, sample_weight=weights)
    np.testing.assert_allclose(clf.predict_proba(MANY), peer.predict_proba(z), atol=5e-6)


def test_permuted_rows_give_the_same_model(few_rows_for_C):
    order = np.random.default_rng(3).permutation(900)
    one = Machine(landmarks=40, tol=1e-6).fit(MANY, MANY_CLASSES)
    two = Machine(landmarks=40, tol=1e-6).fit(MANY[order], MANY_CLASSES[order])
    assert one.C_ == two.C_
    np.testing.assert_allclose(one.predict_proba(MANY), two.predict_proba(MANY), atol=1e-6)


@pytest.mark.parametrize("memory_limit", [1.0, 1e9], ids=["computed", "kept"])
def test_single_precision_is_near_double(memory_limit, few_rows_for_C, monkeypatch):
    monkeypatch.setattr("polychotomy.machines.feature_passes.PASS_ENTRIES", 12_000)
    single = MANY.astype(np.float32)
    given = {"C": 10.0, "gamma": 0.5, "landmarks": 40, "memory_limit": memory_limit}
    one = Machine(tol=1e-3, **given).fit(single, MANY_CLASSES)
    assert one.landmarks_.precision(single) == np.float32
    two = Machine(tol=1e-3, **given).fit(single.astype(float), MANY_CLASSES)
    np.testing.assert_allclose(one.predict_proba(MANY), two.predict_proba(MANY), atol=2e-4)
    threads = Machine(tol=1e-3, n_jobs=3, **given).fit(single, MANY_CLASSES)
    assert np.array_equal(threads.predict_proba(MANY), one.predict_proba(MANY))


@pytest.mark.parametrize("n_rows", [0, 1, 31, 32, 33, 100])
def test_products_in_pieces_are_products(n_rows):
    random = np.random.default_rng(0)
    columns, weights = random.standard_normal((n_rows, 7)), random.standard_normal((7, 3))
    slopes = random.standard_normal((n_rows, 3))
    np.testing.assert_allclose(thin_products(columns, weights), columns @ weights, atol=1e-13)
    np.testing.assert_allclose(thin_sums(slopes, columns), slopes.T @ columns, atol=1e-13)
