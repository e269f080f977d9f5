"""Boosted trees give what scikit-learn's give, and can be stored and exported."""

import io

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import polychotomy as pc
from polychotomy.ensemble import boosted_trees
from polychotomy.ensemble.boosted_trees import BoostedTrees
from polychotomy.export import check_against

X, Y = load_wine(return_X_y=True)
NAMES = np.array(["barolo", "grignolino", "barbera"])[Y]
NEW = np.vstack([X[1::2], 1.3 * X[1::2]])


def through_a_file(clf):
    file = io.BytesIO()
    pc.save(clf, file)
    file.seek(0)
    return pc.load(file)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_probabilities_are_those_of_scikit_learn(n_classes, weighted):
    # Scikit-learn has slopes in single precision: splits whose gains are equal may differ.
    inputs, labels = make_classification(
        1200, 8, n_informative=6, n_classes=n_classes, flip_y=0.2, random_state=1
    )
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 800) if weighted else None
    if weighted:
        weights /= weights.mean()
    wanted = HistGradientBoostingClassifier(
        max_iter=20,
        max_leaf_nodes=15,
        min_samples_leaf=5,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=0,
    ).fit(inputs[:800], labels[:800], sample_weight=weights)
    own = BoostedTrees(20).fit(inputs[:800], labels[:800], weights)
    # Sums of weights are rounded, so that the end of a bin may be the next row's.
    judged = inputs[:800] if weighted else inputs
    p, q = own.predict_proba(judged), wanted.predict_proba(judged)
    np.testing.assert_allclose(p, q, atol=1e-7)
    np.testing.assert_array_equal(own.predict(judged), wanted.predict(judged))


@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1e5, 1e300])
def test_only_proportions_of_weights_matter(scale):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(Y))
    one, two = (BoostedTrees(5).fit(X, Y, factor * weights) for factor in (1.0, scale))
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-9)


def test_huge_limits_are_those_of_the_rows():
    clf = BoostedTrees(2, max_leaf_nodes=10**15, min_samples_leaf=1).fit(X, Y)
    assert len(clf.left_) <= 6 * (2 * len(Y) - 1)
    assert BoostedTrees(2, min_samples_leaf=2**70).fit(X, Y).depth_ == 0


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="The 'max_leaf_nodes' parameter of BoostedTrees"):
        BoostedTrees(max_leaf_nodes=1).fit(X, Y)


def test_rows_of_weight_0_do_not_count():
    weights = np.arange(len(Y)) % 2.0
    one, two = BoostedTrees(5).fit(X, Y, weights), BoostedTrees(5).fit(X[1::2], Y[1::2])
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_a_single_leaf_answers_with_the_shares():
    clf = BoostedTrees(2, min_samples_leaf=200).fit(X, Y)
    assert clf.depth_ == 0
    np.testing.assert_allclose(clf.predict_proba(X[:1])[0], np.bincount(Y) / len(Y), atol=1e-12)


@pytest.mark.parametrize("cv", [None, 3], ids=["one model", "folds"])
@pytest.mark.parametrize("y", [NAMES, NAMES == "barbera"], ids=["three classes", "two"])
def test_files_and_graphs_give_the_same(y, cv):
    clf = BoostedTrees(20, cv=cv).fit(X[::2], y[::2])
    np.testing.assert_array_equal(through_a_file(clf).predict_proba(NEW), clf.predict_proba(NEW))
    pytest.importorskip("onnxruntime")
    assert check_against(pc.to_onnx(clf, X), clf, NEW) < 1e-6


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("left_", 0, 10**6),
        ("right_", 0, -1),
        ("inputs_", 0, 13),
        ("roots_", (0, 0, 0), 10**6),
        ("values_", 0, np.nan),
        ("thresholds_", 0, np.inf),
        ("depth_", None, 10**6),
        ("left_", 5, 0),
        ("start_", None, np.zeros((1, 2))),
        ("start_", None, np.zeros((0, 3))),
    ],
)
def test_files_that_would_read_elsewhere_are_refused(name, place, value):
    clf = BoostedTrees(3).fit(X, Y)
    if place is None:
        setattr(clf, name, value)
    else:
        getattr(clf, name)[place] = value
    with pytest.raises(pc.persistence.ModelFileError):
        through_a_file(clf)


def noisy(n_classes=3, n_rows=400):
    inputs, labels = make_classification(
        n_rows, 6, n_informative=5, n_redundant=0, n_classes=n_classes, flip_y=0.3, random_state=2
    )
    return inputs, labels, list(StratifiedKFold(4).split(inputs, labels))


def rounds_by_hand(inputs, labels, folds, rounds, weights=None):
    """Return held-out and mean probabilities of models that are grown one by one."""
    p, mean = np.zeros((len(labels), labels.max() + 1)), 0.0
    for train, test in folds:
        own = None if weights is None else weights[train]
        model = BoostedTrees(rounds).fit(inputs[train], labels[train], own)
        p[test] = model.predict_proba(inputs[test])
        mean = mean + model.predict_proba(inputs) / len(folds)
    return p, mean


@pytest.mark.parametrize("n_classes", [2, 3])
def test_folds_end_at_the_round_of_the_least_held_out_likelihood(n_classes):
    # Few values: the bins of all rows are those of the rows of every fold.
    inputs, labels, folds = noisy(n_classes)
    inputs = np.round(inputs)
    clf = BoostedTrees(100, cv=folds)
    p = clf.fit_out_of_fold(inputs, labels)
    best = clf.roots_.shape[1]
    wanted, mean = rounds_by_hand(inputs, labels, folds, best)
    np.testing.assert_allclose(p, wanted, atol=1e-9)
    np.testing.assert_allclose(clf.predict_proba(inputs), mean, atol=1e-9)

    def nll(rounds):
        return log_loss(labels, rounds_by_hand(inputs, labels, folds, rounds)[0])

    assert 1 < best < 100
    assert nll(best) < min(nll(best - 1), nll(best + 1))


def test_weights_count_when_rounds_are_judged():
    # Rows of great weight have other labels: only their boundary is worth learning.
    inputs, labels, _ = noisy(2)
    inputs = np.round(inputs)
    twice = np.vstack([inputs, inputs])
    both, weights = np.concatenate([labels, 1 - labels]), np.repeat([1.0, 1e-6], len(labels))
    folds = list(StratifiedKFold(4).split(twice, both))
    p = BoostedTrees(100, cv=folds).fit_out_of_fold(twice, both, weights)
    assert log_loss(both, p, sample_weight=weights) < log_loss(both, np.full_like(p, 0.5))


def test_rounds_are_fewer_where_they_are_much_work(monkeypatch):
    inputs, labels, folds = noisy()
    clf = BoostedTrees(100, cv=folds)
    # Of four folds and three classes; with as many bins as values.
    bins = sum(min(255, len(np.unique(column))) for column in inputs.T)
    tree = clf._seconds_of_a_tree(len(labels), inputs.shape[1], bins)
    monkeypatch.setattr(boosted_trees, "MOST_SECONDS", 5.5 * 12 * tree)
    assert clf.fit(inputs, labels).roots_.shape == (4, 5, 3)


def test_a_class_that_a_fold_lacks_is_unlikely_but_possible():
    labels = np.r_[Y, 3]
    clf = BoostedTrees(50, cv=3)
    with pytest.warns(UserWarning, match="Class 3 has fewer rows"):
        p = clf.fit_out_of_fold(np.vstack([X, 2.0 * X[:1]]), labels)
    assert np.all(np.isfinite(p))
    assert 0.0 < p[-1, 3] < 0.1


def test_without_rows_to_hold_out_there_is_one_model():
    clf = BoostedTrees(3, cv=5)
    with pytest.warns(UserWarning, match="fewer rows"):
        assert clf.fit_out_of_fold(X[[0, 70, 150]], Y[[0, 70, 150]]) is None
    assert clf.roots_.shape == (1, 3, 3)


@parametrize_with_checks(
    [BoostedTrees(5), BoostedTrees(5, cv=2)],
    # As in scikit-learn's class: a leaf has at least so many rows, whatever they weigh.
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "rows of leaves are counted"
    },
)
def test_sklearn_checks(estimator, check):
    check(estimator)
