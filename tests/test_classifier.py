"""The estimator as its users meet it."""

import pickle
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import polychotomy as pc
from configurations import CONFIGURATIONS, logistic, name_of
from polychotomy.pipe.folds import check_number


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300] / 16.0, y[:300]


def overlapping(n_classes=4, n_rows=120, seed=0):
    return make_blobs(n_rows, centers=n_classes, cluster_std=3.0, random_state=seed)


ALL = pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=name_of)


@cache
def fitted(configuration, n_classes=4):
    X, y = overlapping(n_classes)
    return clone(configuration).fit(X, np.array(["d", "b", "c", "a"])[y])


@ALL
@pytest.mark.parametrize("n_classes", [2, 4])
def test_predict_is_the_argmax_of_probabilities_and_scores(configuration, n_classes):
    clf = fitted(configuration, n_classes)
    grid = np.random.default_rng(0).uniform(-20, 20, size=(300, 2))
    predicted = clf.predict(grid)
    assert set(predicted) <= set(clf.classes_)
    if hasattr(clf, "predict_proba"):
        p = clf.predict_proba(grid)
        assert (p >= 0).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_array_equal(clf.classes_[p.argmax(axis=1)], predicted)
        with np.errstate(divide="ignore"):
            np.testing.assert_array_equal(clf.predict_log_proba(grid), np.log(p))
    if hasattr(clf, "decision_function"):
        scores = clf.decision_function(grid)
        if n_classes == 2:
            assert scores.shape == (300,)
            np.testing.assert_array_equal(clf.classes_[(scores > 0).astype(int)], predicted)
        else:
            np.testing.assert_array_equal(clf.classes_[scores.argmax(axis=1)], predicted)


def test_which_pipes_have_which_methods():
    def methods(**parts):
        clf = pc.PolychotomyClassifier(**parts)
        return hasattr(clf, "predict_proba"), hasattr(clf, "decision_function")

    assert methods(machine=SVC()) == (True, True)
    assert methods(machine=SVC(), decoder="max_wins") == (False, True)
    assert methods(machine=SVC(), decoder="decision_graph") == (False, False)
    assert methods(machine=SVC(), decoder="nesting") == (False, False)
    assert methods(machine=logistic(), decoder="binary_tree") == (False, False)
    rest = {"code": "one_vs_rest", "decoder": "winner_takes_all"}
    assert methods(machine=SVC(), **rest) == (False, True)
    assert methods(machine=SVC(), calibrator="platt", **rest) == (True, True)
    assert methods(machine=logistic(), **rest) == (True, True)
    assert methods(machine=SVC(), calibrator=None) == (False, True)
    assert methods(machine=SVC(), code="minimal") == (True, True)


def test_defaults_without_probabilities():
    X, y = overlapping()
    for code, decoder in [
        ("one_vs_one", pc.MaxWins),
        ("one_vs_rest", pc.WinnerTakesAll),
        ("minimal", pc.LossDecoding),
    ]:
        clf = pc.PolychotomyClassifier(LinearSVC(), code=code, calibrator="none").fit(X, y)
        assert isinstance(clf.decoder_, decoder)


@pytest.mark.parametrize("code", ["one_vs_one", "one_vs_rest", "minimal", "error_correcting"])
def test_two_classes_are_the_binary_machine(code):
    """With a machine's own probabilities nothing is left for code and decoder to do."""
    X, y = overlapping(2)
    p = logistic().fit(X, y).predict_proba(X)
    ours = pc.PolychotomyClassifier(logistic(), code=code, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), p, atol=1e-6)
    assert len(ours.estimators_) == 1


def test_one_vs_one_agrees_with_scikit_learn(digits):
    X, y = digits
    from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

    machine = LogisticRegression(C=0.1)
    ours = pc.PolychotomyClassifier(machine, decoder="max_wins").fit(X[::2], y[::2])
    theirs = OneVsOneClassifier(machine).fit(X[::2], y[::2])
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    rest = pc.PolychotomyClassifier(machine, "one_vs_rest", decoder="winner_takes_all")
    rest.fit(X[::2], y[::2])
    theirs = OneVsRestClassifier(machine).fit(X[::2], y[::2])
    np.testing.assert_allclose(rest.predict_proba(X), theirs.predict_proba(X), rtol=1e-10)


def test_binary_scores_are_those_of_the_machines(digits):
    X, y = digits
    clf = pc.PolychotomyClassifier(LogisticRegression(), "one_vs_one").fit(X, y)
    scores = clf.binary_scores(X[:5])
    assert scores.shape == (5, 45)
    pair = clf.codebook_.pairs[7]
    rows = np.isin(y, pair)
    machine = LogisticRegression().fit(X[rows], y[rows] == pair[0])
    np.testing.assert_allclose(scores[:, 7], machine.decision_function(X[:5]), rtol=1e-9)


class OnlyPredicts(ClassifierMixin, BaseEstimator):
    """A classifier with neither scores nor probabilities."""

    def fit(self, X, y):
        self.tree_ = DecisionTreeClassifier(max_depth=2).fit(X, y)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X):
        return self.tree_.predict(X)


def test_scores_of_machines_without_a_decision_function(iris):
    X, y = iris
    tree = pc.PolychotomyClassifier(DecisionTreeClassifier(max_depth=2)).fit(X, y)
    p = tree.estimators_[0].predict_proba(X)[:, 1]
    np.testing.assert_allclose(tree.binary_scores(X)[:, 0], 2 * p - 1)
    plain = pc.PolychotomyClassifier(OnlyPredicts(), decoder="max_wins").fit(X, y)
    assert set(np.unique(plain.binary_scores(X))) == {-1.0, 1.0}
    calibrated = pc.PolychotomyClassifier(OnlyPredicts()).fit(X, y)
    assert isinstance(calibrated.calibrator_, pc.Platt)
    assert calibrated.score(X, y) > 0.9


def test_out_of_fold_scores_feed_the_calibrator():
    """The sigmoids equal those fitted by hand on scikit-learn's cross-validated scores."""
    from sklearn.model_selection import cross_val_predict

    X, y = overlapping(3)
    folds = StratifiedKFold(4, shuffle=True, random_state=1)
    clf = pc.PolychotomyClassifier(LinearSVC(), "one_vs_rest", "platt", cv=folds).fit(X, y)
    for k in range(3):
        splits = list(folds.split(X, y))
        by_hand = cross_val_predict(LinearSVC(), X, y == k, cv=splits, method="decision_function")
        platt = pc.Platt().fit(pc.Margins(mean=by_hand[:, None]), np.where(y == k, 1, -1)[:, None])
        assert clf.calibrator_.slopes_[k] == pytest.approx(platt.slopes_[0], rel=1e-6)
        assert clf.calibrator_.intercepts_[k] == pytest.approx(platt.intercepts_[0], rel=1e-6)


def test_rows_outside_a_pair_are_scored_by_the_machine_of_all_rows():
    """DUAN03 section 3.1, for the soft-max of one-vs-one."""
    X, y = overlapping(3)
    seen = {}

    class Spy(pc.SoftMax):
        def _fit(self, context):
            seen["scores"] = context.held_out.mean.copy()
            super()._fit(context)

    clf = pc.PolychotomyClassifier(logistic(), decoder=Spy(C=1.0)).fit(X, y)
    full = clf.binary_scores(X)
    for column, pair in enumerate(clf.codebook_.pairs):
        outside = ~np.isin(y, pair)
        np.testing.assert_array_equal(seen["scores"][outside, column], full[outside, column])
        assert not np.isclose(seen["scores"][~outside, column], full[~outside, column]).any()


@pytest.mark.parametrize("cv", [3, KFold(3), list(KFold(3).split(np.zeros((120, 1))))])
def test_cv_in_all_its_forms(cv):
    X, y = overlapping()
    assert pc.PolychotomyClassifier(LinearSVC(), cv=cv).fit(X, y).score(X, y) > 0.5


def test_groups_reach_the_splitter():
    X, y = overlapping()
    groups = np.arange(120) // 10
    clf = pc.PolychotomyClassifier(LinearSVC(), cv=GroupKFold(4))
    with_groups = clone(clf).fit(X, y, groups=groups)
    by_hand = clone(clf).set_params(cv=list(GroupKFold(4).split(X, y, groups))).fit(X, y)
    np.testing.assert_array_equal(with_groups.predict_proba(X), by_hand.predict_proba(X))
    with pytest.raises(ValueError, match="groups"):
        clf.fit(X, y)


def test_cv_must_be_a_partition():
    from sklearn.model_selection import ShuffleSplit

    X, y = overlapping()
    with pytest.raises(ValueError, match="cv must test every row exactly once"):
        pc.PolychotomyClassifier(LinearSVC(), cv=ShuffleSplit(3)).fit(X, y)


def test_machines_fitted_before_are_calibrated_on_other_rows():
    X, y = overlapping(n_rows=200)
    clf = pc.PolychotomyClassifier(LinearSVC(), cv="prefit").fit(X[:100], y[:100])
    scores = clf.binary_scores(X)
    with pytest.raises(NotFittedError, match="calibrate"):
        clf.predict(X)
    clf.calibrate(X[100:], y[100:])
    np.testing.assert_array_equal(clf.binary_scores(X), scores)
    labels = clf.codebook_.labels(y[100:])
    platt = pc.Platt().fit(pc.Margins(mean=scores[100:]), labels)
    np.testing.assert_array_equal(clf.calibrator_.slopes_, platt.slopes_)
    assert clf.predict_proba(X).shape == (200, 4)
    with pytest.raises(ValueError, match="y has the class 7"):
        clf.calibrate(X[:2], [7, 0])
    nest = pc.PolychotomyClassifier(LinearSVC(), decoder="nesting").fit(X, y)
    with pytest.raises(ValueError, match="Nesting trains machines of its own"):
        nest.calibrate(X, y)


@ALL
@pytest.mark.usefixtures("several_blas_threads")
def test_results_do_not_depend_on_the_number_of_jobs(configuration):
    X, y = overlapping()
    one = fitted(configuration)
    two = clone(one).set_params(n_jobs=2).fit(X, np.array(["d", "b", "c", "a"])[y])
    np.testing.assert_array_equal(one.binary_scores(X), two.binary_scores(X))
    method = "predict_proba" if hasattr(one, "predict_proba") else "predict"
    np.testing.assert_array_equal(getattr(one, method)(X), getattr(two, method)(X))


@ALL
def test_inputs_are_neither_modified_nor_kept(configuration):
    X, y = overlapping()
    X_before, y_before, weights = X.copy(), y.copy(), np.linspace(1, 2, len(y))
    weights_before = weights.copy()
    clf = clone(configuration).fit(X, y, sample_weight=weights)
    expected = clf.predict(X_before)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)
    np.testing.assert_array_equal(weights, weights_before)
    X[:] = 0.0
    weights[:] = 0.0
    np.testing.assert_array_equal(clf.predict(X_before), expected)


def test_a_machine_that_keeps_its_rows_gets_a_copy():
    X, y = overlapping()
    expected = X.copy()
    clf = pc.PolychotomyClassifier(KNeighborsClassifier(), "one_vs_rest").fit(X, y)
    before = clf.predict_proba(expected)
    X[:] = 0.0
    np.testing.assert_array_equal(clf.predict_proba(expected), before)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_classes=st.integers(2, 6),
    place=st.integers(0, len(CONFIGURATIONS) - 1),
)
def test_probabilities_are_probabilities_for_any_data(seed, n_classes, place):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.repeat(np.arange(n_classes), 6), rng.integers(0, n_classes, 20)])
    X = rng.normal(size=(len(y), 3)) + rng.choice([0.0, 1.0, 10.0]) * y[:, None]
    clf = clone(CONFIGURATIONS[place]).fit(X, y)
    if hasattr(clf, "predict_proba"):
        p = clf.predict_proba(X)
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_array_equal(p.argmax(axis=1), clf.predict(X))


# weights and priors


def test_class_weights_reach_every_binary_problem():
    X, y = overlapping(3)
    weight = {0: 1.0, 1: 5.0, 2: 0.5}
    by_class = pc.PolychotomyClassifier(logistic(), class_weight=weight).fit(X, y)
    rows = np.array([weight[label] for label in y])
    by_row = pc.PolychotomyClassifier(logistic()).fit(X, y, sample_weight=rows)
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))
    machine = logistic().fit(X[y != 2], y[y != 2] == 0, sample_weight=rows[y != 2])
    np.testing.assert_allclose(
        by_class.binary_scores(X)[:, 0], machine.decision_function(X), rtol=1e-8
    )


def test_balanced_weights_come_from_all_classes_at_once():
    X, y = overlapping(3)
    keep = np.concatenate(
        [np.flatnonzero(y == 0)[:5], np.flatnonzero(y == 1), np.flatnonzero(y == 2)]
    )
    X, y = X[keep], y[keep]
    sizes = np.bincount(y)
    balanced = pc.PolychotomyClassifier(logistic(), class_weight="balanced").fit(X, y)
    by_hand = {k: len(y) / (3 * sizes[k]) for k in range(3)}
    explicit = pc.PolychotomyClassifier(logistic(), class_weight=by_hand).fit(X, y)
    np.testing.assert_allclose(balanced.predict_proba(X), explicit.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(balanced.class_sizes_, len(y) / 3)


def test_rows_of_weight_zero_are_left_out():
    X, y = overlapping()
    weights = np.ones(len(y))
    weights[::3] = 0.0
    clf = pc.PolychotomyClassifier(SVC(), decoder=pc.SoftMax(C=1.0))
    weighted = clone(clf).fit(X, y, sample_weight=weights)
    removed = clone(clf).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_array_equal(weighted.predict_proba(X), removed.predict_proba(X))


def test_priors_reweight_the_probabilities():
    X, y = overlapping(3)
    plain = pc.PolychotomyClassifier(logistic()).fit(X, y)
    shifted = pc.PolychotomyClassifier(logistic(), priors={0: 0.7, 1: 0.2, 2: 0.1}).fit(X, y)
    p = plain.predict_proba(X) * np.array([0.7, 0.2, 0.1]) / (np.bincount(y) / len(y))
    expected = p / p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shifted.predict_proba(X), expected, rtol=1e-12)
    bayesian = pc.PolychotomyClassifier(logistic(), "one_vs_rest", decoder="bayesian").fit(X, y)
    p = bayesian.predict_proba(X) * np.array([0.7, 0.2, 0.1])  # its own priors are equal
    shifted = clone(bayesian).set_params(priors=[0.7, 0.2, 0.1]).fit(X, y)
    np.testing.assert_allclose(
        shifted.predict_proba(X), p / p.sum(axis=1, keepdims=True), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"class_weight": {9: 1.0}}, "class_weight names 9, which is not a class"),
        ({"class_weight": {0: -1.0}}, "class_weight of class 0 must be positive"),
        ({"class_weight": "even"}, "class_weight must be a dict, 'balanced' or None"),
        ({"priors": [0.5, 0.5]}, "priors must be 3 nonnegative numbers"),
        ({"priors": {0: 1.0}}, "priors lacks class 1"),
        ({"priors": [1, 1, 1], "decoder": "max_wins"}, "priors reweight class probabilities"),
        ({"machine": KNeighborsClassifier(), "class_weight": "balanced"}, "does not take sample_w"),
        ({"cv": 1, "machine": SVC()}, "cv must be at least 2 folds"),
    ],
)
def test_bad_weights_priors_and_folds(options, sentence):
    X, y = overlapping(3)
    clf = pc.PolychotomyClassifier(**{"machine": logistic(), **options})
    with pytest.raises(ValueError, match=sentence):
        clf.fit(X, y)


# bad input


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        (lambda X, y: (np.where(X > 5, np.nan, X), y), ValueError, "Input X contains NaN"),
        (lambda X, y: (np.where(X > 5, np.inf, X), y), ValueError, "Input X contains infinity"),
        (lambda X, y: (X, np.zeros(len(y))), ValueError, "y has one class, 0.0"),
        (lambda X, y: (X, ["a" if k else 1 for k in y]), TypeError, "types 'int' and 'str'"),
        (lambda X, y: (X, y + 0.5), ValueError, "Unknown label type"),
        (lambda X, y: (X[:0], y[:0]), ValueError, "0 sample"),
        (lambda X, y: (X, y[:-1]), ValueError, "inconsistent numbers of samples"),
    ],
)
def test_bad_training_data(change, error, sentence):
    X, y = change(*overlapping(3))
    with pytest.raises(error, match=sentence):
        pc.PolychotomyClassifier(logistic()).fit(X, y)


def test_mixed_labels_are_named():
    X, y = overlapping(3)
    labels = np.array(["a" if k else 1 for k in y], dtype=object)
    with pytest.raises(TypeError, match="y mixes class labels of the types 'int' and 'str'"):
        pc.PolychotomyClassifier(logistic()).fit(X, labels)


def test_wrong_number_of_features():
    X, y = overlapping(3)
    clf = pc.PolychotomyClassifier(logistic()).fit(X, y)
    with pytest.raises(
        ValueError, match="X has 1 features, but PolychotomyClassifier is expecting 2"
    ):
        clf.predict(X[:, :1])
    with pytest.raises(NotFittedError):
        clone(clf).predict(X)


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        (
            {"code": "one-vs-won"},
            ValueError,
            "Unknown code 'one-vs-won'. Did you mean 'one_vs_one'",
        ),
        ({"decoder": "maxwins"}, ValueError, "Unknown decoder 'maxwins'. Did you mean 'max_wins'"),
        ({"calibrator": "plat"}, ValueError, "Unknown calibrator 'plat'. Did you mean 'platt'"),
        ({"decoder": "zzz"}, ValueError, "Unknown decoder 'zzz'. Choose 'bayesian', 'binary_tree'"),
        (
            {"code": pc.OneVsOne},
            TypeError,
            r"code must be an instance, not a class: write OneVsOne\(",
        ),
        ({"machine": SVC}, TypeError, r"machine must be an instance, not a class: write SVC\("),
        ({"machine": StandardScaler()}, TypeError, "machine must be a classifier; StandardScaler"),
        ({"machine": "svn"}, ValueError, "Unknown machine 'svn'. Did you mean 'svm'"),
        ({"machine": 3}, TypeError, "machine must be a scikit-learn classifier .* or one of"),
        ({"decoder": 3}, TypeError, "decoder must be a Decoder or one of 'bayesian'"),
        (
            {"code": [[1, -1], [1, -1], [-1, 1]]},
            ValueError,
            "Classes 0 and 1 have the same codeword",
        ),
        ({"code": [[1, 1], [-1, 1], [0, 1]]}, ValueError, "Column 1 of the code matrix needs"),
        ({"code": [[1], [-1]]}, ValueError, "3"),
        (
            {"code": "one_vs_rest", "decoder": "max_wins"},
            ValueError,
            "MaxWins is for one_vs_one codes, but the code is one_vs_rest. For this code choose",
        ),
        (
            {"machine": LinearSVC(), "calibrator": None, "decoder": "pairwise_coupling"},
            ValueError,
            "needs probabilities, but LinearSVC has no predict_proba and there is no calibrator",
        ),
        ({"decoder": pc.PairwiseCoupling("wulinweng")}, ValueError, "Unknown coupling method"),
    ],
)
def test_parts_that_do_not_go_together(options, error, sentence):
    X, y = overlapping(3)
    with pytest.raises(error, match=sentence):
        pc.PolychotomyClassifier(**{"machine": logistic(), **options}).fit(X, y)


def test_a_class_with_fewer_rows_than_folds_is_named_and_works():
    X, y = overlapping(3)
    keep = np.concatenate([np.flatnonzero(y == 0)[:1], np.flatnonzero(y != 0)])
    labels = np.array(["rare", "b", "c"])[y]
    for decoder in ["auto", pc.SoftMax(C=1.0)]:
        clf = pc.PolychotomyClassifier(LinearSVC(), decoder=decoder)
        with pytest.warns(UserWarning, match="Class 'rare' has fewer rows than the 5 folds"):
            clf.fit(X[keep], labels[keep])
        p = clf.predict_proba(X)
        assert np.isfinite(p).all()
        assert p.shape == (120, 3)


def test_a_warning_names_a_few_of_many_small_classes():
    words = "^Classes 'k0', 'k1', 'k2', 'k3', 'k4', 'k5' and 34 more have fewer rows than the 5"
    with pytest.warns(UserWarning, match=words):
        check_number(5, np.full(40, 2), np.array([f"k{k}" for k in range(40)]))


def test_classes_of_one_row_each():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    with pytest.warns(UserWarning, match="Classes 'a', 'b' and 'c' have fewer rows"):
        clf = pc.PolychotomyClassifier(SVC()).fit(X, ["a", "b", "c"])
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)


def test_all_zero_weight_for_a_class():
    X, y = overlapping(3)
    labels = np.array(["a", "b", "c"])[y]
    with pytest.raises(ValueError, match="sample_weight is zero for every row of class 'b'"):
        pc.PolychotomyClassifier(logistic()).fit(X, labels, sample_weight=(y != 1).astype(float))
    with pytest.raises(ValueError, match="row 0 has -1"):
        pc.PolychotomyClassifier(logistic()).fit(X, labels, sample_weight=np.full(len(y), -1.0))


def test_errors_of_a_machine_name_the_binary_problem():
    class Fails(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            raise RuntimeError("no")

    X, y = overlapping(3)
    with pytest.raises(RuntimeError) as caught:
        pc.PolychotomyClassifier(Fails()).fit(X, np.array(["a", "b", "c"])[y])
    assert "the binary problem 'a' against 'b'" in caught.value.__notes__[0]


# at home in scikit-learn


def test_pipelines_grid_search_and_clone(iris):
    X, y = iris
    clf = make_pipeline(StandardScaler(), pc.PolychotomyClassifier(SVC(), code="one_vs_rest"))
    search = GridSearchCV(
        clf,
        {
            "polychotomyclassifier__machine__C": [0.1, 10.0],
            "polychotomyclassifier__decoder": [pc.CodeCoupling(), pc.WinnerTakesAll()],
        },
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.93
    assert clone(clf).get_params()["polychotomyclassifier__machine__C"] == 1.0
    scores = cross_val_score(clf, X, y, scoring="neg_log_loss", cv=3)
    assert (scores > -0.3).all()


def test_pandas_in_and_feature_names(iris):
    frame = load_iris(as_frame=True).frame
    X, y = frame.drop(columns="target"), frame["target"].map({0: "s", 1: "ve", 2: "vi"})
    clf = pc.PolychotomyClassifier(logistic()).fit(X, y)
    assert list(clf.feature_names_in_) == list(X.columns)
    assert list(clf.classes_) == ["s", "ve", "vi"]
    with pytest.warns(UserWarning, match="feature names"):
        clf.predict(X.to_numpy())
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(X[X.columns[::-1]])
    categories = pd.Series(y, dtype="category")
    np.testing.assert_array_equal(clone(clf).fit(X, categories).predict(X), clf.predict(X))


@pytest.mark.parametrize("decoder", ["auto", "binary_tree", "nesting"])
def test_sparse_inputs_give_what_dense_ones_give(digits, decoder):
    X, y = digits
    clf = pc.PolychotomyClassifier(LogisticRegression(C=0.1), decoder=decoder)
    dense = clone(clf).fit(X, y)
    sparse = clone(clf).fit(csr_array(X), y)
    np.testing.assert_allclose(
        sparse.binary_scores(csr_array(X)), dense.binary_scores(X), atol=1e-3
    )
    assert (sparse.predict(csr_array(X)) == dense.predict(X)).mean() > 0.99


def test_dynamically_ordered_says_what_to_do_with_sparse_inputs(digits):
    from sklearn.naive_bayes import MultinomialNB

    X, y = digits
    clf = pc.PolychotomyClassifier(
        LogisticRegression(), "one_vs_rest", decoder="dynamically_ordered"
    )
    with pytest.raises(TypeError, match=r"DynamicallyOrdered\(MultinomialNB\(\)\)"):
        clf.fit(csr_array(X), y)
    clf.set_params(decoder=pc.DynamicallyOrdered(MultinomialNB()))
    assert clf.fit(csr_array(X), y).score(csr_array(X), y) > 0.9


def test_missing_values_for_machines_that_take_them():
    X, y = overlapping(3)
    X[::7, 0] = np.nan
    machine = HistGradientBoostingClassifier(max_iter=5)
    clf = pc.PolychotomyClassifier(machine, "one_vs_rest").fit(X, y)
    assert np.isfinite(clf.predict_proba(X)).all()
    tree = pc.PolychotomyClassifier(machine, decoder="binary_tree")
    with pytest.raises(ValueError, match="NaN"):
        tree.fit(X, y)


def test_precomputed_kernels(digits):
    X, y = digits
    train, test = X[:200], X[200:]
    folds = StratifiedKFold(5)  # folds by content differ between rows and kernel matrices
    rbf = pc.PolychotomyClassifier(SVC(gamma=0.05), cv=folds).fit(train, y[:200])
    precomputed = pc.PolychotomyClassifier(SVC(kernel="precomputed"), cv=folds)
    precomputed.fit(rbf_kernel(train, gamma=0.05), y[:200])
    ours = precomputed.predict_proba(rbf_kernel(test, train, gamma=0.05))
    np.testing.assert_allclose(ours, rbf.predict_proba(test), atol=1e-3)
    scores = cross_val_score(precomputed, rbf_kernel(X, gamma=0.05), y, cv=2)
    assert (scores > 0.85).all()


def test_other_fit_parameters_reach_the_machine():
    class Records(LogisticRegression):
        def fit(self, X, y, sample_weight=None, cost=None, note=None):
            self.seen_ = (len(X), None if cost is None else len(cost), note)
            return super().fit(X, y, sample_weight)

    X, y = overlapping(3)
    clf = pc.PolychotomyClassifier(Records()).fit(X, y, cost=np.arange(len(y)), note="hello")
    assert [machine.seen_ for machine in clf.estimators_] == [(80, 80, "hello")] * 3


@pytest.mark.parametrize("machine", [pc.SVM(), pc.LSSVM(), LogisticRegression()])
def test_fit_parameters_that_nobody_takes_are_refused(machine):
    X, y = overlapping(3)
    name = type(machine).__name__
    with pytest.raises(TypeError, match=f"fit got 'foo', which {name} does not take in its fit"):
        pc.PolychotomyClassifier(machine).fit(X, y, foo=1)


def test_metadata_routing():
    X, y = overlapping(3)
    weights = np.linspace(0.5, 2.0, len(y))
    groups = np.arange(len(y)) % 6
    with sklearn.config_context(enable_metadata_routing=True):
        machine = LinearSVC().set_fit_request(sample_weight=True)
        clf = pc.PolychotomyClassifier(machine, cv=GroupKFold(3)).set_fit_request(
            sample_weight=True
        )
        routed = clone(clf).fit(X, y, sample_weight=weights, groups=groups)
        deaf = pc.PolychotomyClassifier(LinearSVC().set_fit_request(sample_weight=False), cv=3)
        deaf.set_fit_request(sample_weight=True).fit(X, y, sample_weight=weights)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            pc.PolychotomyClassifier(LinearSVC()).fit(X, y, sample_weight=weights)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), machine)
        pc.PolychotomyClassifier(pipe).set_fit_request(sample_weight=True).fit(
            X, y, sample_weight=weights
        )
    plain = pc.PolychotomyClassifier(LinearSVC(), cv=GroupKFold(3))
    plain.fit(X, y, sample_weight=weights, groups=groups)
    np.testing.assert_array_equal(routed.predict_proba(X), plain.predict_proba(X))
    unweighted = pc.PolychotomyClassifier(LinearSVC(), cv=3).fit(X, y)
    np.testing.assert_array_equal(deaf.binary_scores(X), unweighted.binary_scores(X))
    assert not np.array_equal(deaf.predict_proba(X), unweighted.predict_proba(X))


def test_random_state_decides_everything_random():
    X, y = overlapping(6)
    clf = pc.PolychotomyClassifier(
        DecisionTreeClassifier(max_features=1, max_depth=3), "error_correcting"
    )
    first = clone(clf).set_params(random_state=3).fit(X, y)
    again = clone(clf).set_params(random_state=3).fit(X, y)
    other = clone(clf).set_params(random_state=4).fit(X, y)
    assert first.codebook_ == again.codebook_
    np.testing.assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    assert first.codebook_ != other.codebook_
    seeds = {machine.random_state for machine in first.estimators_}
    assert len(seeds) == len(first.estimators_)
    same = np.random.RandomState(3)
    np.testing.assert_array_equal(
        clone(clf).set_params(random_state=same).fit(X, y).predict_proba(X), first.predict_proba(X)
    )


@ALL
def test_pickle_gives_bit_equal_predictions(configuration):
    X, _ = overlapping()
    clf = fitted(configuration)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(clf.predict(X), again.predict(X))
    np.testing.assert_array_equal(clf.binary_scores(X), again.binary_scores(X))


def test_a_failed_fit_changes_nothing_that_was_fitted():
    X, y = overlapping(3)
    clf = pc.PolychotomyClassifier(logistic()).fit(X, y)
    before = clf.predict_proba(X)
    with pytest.raises(ValueError, match="one class"):
        clf.fit(X, np.zeros(len(y)))
    np.testing.assert_array_equal(clf.predict_proba(X), before)

    class Interrupted(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            raise KeyboardInterrupt

    clf.set_params(machine=Interrupted())
    with pytest.raises(KeyboardInterrupt):
        clf.fit(np.ones((4, 3)), ["a", "b", "a", "b"])
    np.testing.assert_array_equal(clf.predict_proba(X), before)
    assert clf.n_features_in_ == 2


def test_the_html_representation_shows_the_parts():
    html = pc.PolychotomyClassifier(Perceptron(), decoder=pc.MaxWins())._repr_html_()
    assert "Perceptron" in html


# explanations


def test_explain_shows_what_the_machines_said(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    clf = pc.PolychotomyClassifier(logistic(), "one_vs_rest").fit(X, names)
    explanation = clf.explain(X[70])
    assert explanation.prediction == clf.predict(X[[70]])[0]
    p = clf.predict_proba(X[[70]])[0]
    shown = {row["class"]: row["probability"] for row in explanation.classes}
    assert shown == dict(zip(clf.classes_, p, strict=True))
    scores = clf.binary_scores(X[[70]])[0]
    assert [row["score"] for row in explanation.answers] == list(scores)
    for row in explanation.answers:
        side = "positive" if row["probability"] > 0.5 else "negative"
        assert row["says"] == row[side]
    text = str(explanation)
    assert "'versicolor' / 'setosa', 'virginica'" in text
    assert text.splitlines()[-1].startswith("decoded by CodeCoupling(): ")
    with pytest.raises(ValueError, match="explain takes one row, got 2"):
        clf.explain(X[:2])


def test_explain_without_probabilities(digits):
    X, y = digits
    clf = pc.PolychotomyClassifier(LinearSVC(), "minimal", decoder="hamming").fit(X, y)
    explanation = clf.explain(X[0])
    assert explanation.classes[0]["probability"] is None
    assert explanation.classes[0]["class"] == clf.predict(X[:1])[0]
    assert "and 5 more" in str(explanation)


def test_no_warning_of_ours_without_a_reason():
    X, y = overlapping()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pc.PolychotomyClassifier().fit(X, y).predict_proba(X)
