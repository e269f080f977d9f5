"""TemperedClassifier: what it is fitted on, and scikit-learn's conventions."""

import io
import pickle

import numpy as np
import pytest
import sklearn
from scipy.sparse import coo_array, csr_array
from sklearn.datasets import load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import polychotomy as pc

ALL_X, ALL_y = load_wine(return_X_y=True)
X, y, NEW, NEW_y = ALL_X[::2, :4], ALL_y[::2], ALL_X[1::2, :4], ALL_y[1::2]
NAMES = np.array(["red", "rose", "white"])


@pytest.mark.parametrize("tempering", [None, pc.Tempering(), "slope_and_biases"])
def test_it_is_tempered_on_out_of_fold_probabilities(tempering):
    folds = StratifiedKFold(4)
    clf = pc.TemperedClassifier(GaussianNB(), tempering=tempering, cv=folds).fit(X, NAMES[y])
    p = cross_val_predict(GaussianNB(), X, y, cv=folds, method="predict_proba")
    part = pc.StructuredTempering() if tempering is None else pc.Tempering()
    wanted = part.fit(p, y).transform(GaussianNB().fit(X, y).predict_proba(NEW))
    np.testing.assert_allclose(clf.predict_proba(NEW), wanted, atol=1e-10)
    np.testing.assert_array_equal(clf.predict(NEW), NAMES[wanted.argmax(axis=1)])
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(NEW)), wanted)


def test_prefit_takes_rows_that_the_classifier_has_not_seen():
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, NAMES[y])
    clf = pc.TemperedClassifier(tree, cv="prefit").fit(NEW, NAMES[NEW_y])
    assert clf.estimator_ is tree
    wanted = pc.StructuredTempering().fit(tree.predict_proba(NEW), NEW_y)
    np.testing.assert_allclose(
        clf.predict_proba(X), wanted.transform(tree.predict_proba(X)), atol=1e-12
    )
    # A class may be missing among them, but none may be new.
    pc.TemperedClassifier(tree, cv="prefit").fit(NEW[NEW_y > 0], NAMES[NEW_y[NEW_y > 0]])
    with pytest.raises(ValueError, match="y has the class 'blue' in row 0"):
        pc.TemperedClassifier(tree, cv="prefit").fit(NEW[:1], ["blue"])
    with pytest.raises(NotFittedError):
        pc.TemperedClassifier(GaussianNB(), cv="prefit").fit(X, y)


def test_a_classifier_that_is_too_sure_gets_better():
    tree = DecisionTreeClassifier(random_state=0)
    plain = log_loss(NEW_y, tree.fit(X, y).predict_proba(NEW))
    assert log_loss(NEW_y, pc.TemperedClassifier(tree).fit(X, y).predict_proba(NEW)) < plain / 5


def test_data_frames_words_and_sparse_matrices_reach_the_classifier():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"kind": NAMES[(X[:, 0] > 13).astype(int)], "size": X[:, 1]})
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    clf = pc.TemperedClassifier(model).fit(frame, y)
    assert clf.feature_names_in_.tolist() == ["kind", "size"]
    assert clf.predict_proba(frame.iloc[:5]).shape == (5, 3)
    counts = csr_array(np.floor(X))
    dense = pc.TemperedClassifier(MultinomialNB()).fit(np.floor(X), y).predict_proba(np.floor(X))
    for sparse in (counts, coo_array(counts)):
        clf = pc.TemperedClassifier(MultinomialNB()).fit(sparse, y)
        np.testing.assert_allclose(clf.predict_proba(counts), dense, atol=1e-9)


def test_missing_values_are_the_classifiers_affair():
    holes = np.where(X > 14, np.nan, X)
    boosting = HistGradientBoostingClassifier(max_iter=3)
    assert np.isfinite(pc.TemperedClassifier(boosting, cv=2).fit(holes, y).predict_proba(X)).all()


def test_weights_reach_classifier_and_tempering():
    weights = np.where(np.arange(len(y)) % 7 == 1, 0.0, 2.0)
    used = weights > 0
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8))
    whole = pc.TemperedClassifier(model).fit(X, y, weights)
    part = pc.TemperedClassifier(model).fit(X[used], y[used], weights[used])
    np.testing.assert_allclose(whole.predict_proba(NEW), part.predict_proba(NEW), atol=1e-5)
    with pytest.raises(ValueError, match="The estimator does not take sample_weight"):
        pc.TemperedClassifier(KNeighborsClassifier()).fit(X, y, weights)


def test_rare_classes():
    labels = np.where(np.arange(len(y)) == 3, 7, y)
    clf = pc.TemperedClassifier(GaussianNB(var_smoothing=1e-3))
    with pytest.warns(UserWarning, match="Class 7 has fewer rows"):
        clf.fit(X, labels)
    assert clf.predict_proba(NEW).shape == (len(NEW), 4)
    with pytest.warns(UserWarning, match="fewer rows than the 5 folds"):
        clf.fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    assert clf.tempering_ is None
    assert np.isfinite(clf.predict_proba([[0.5]])).all()


def test_groups_without_routing():
    groups = np.arange(len(y)) % 3
    clf = pc.TemperedClassifier(GaussianNB(), cv=GroupKFold(3))
    grouped = clf.fit(X, y, groups=groups).predict_proba(NEW)
    folds = [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(3)]
    wanted = pc.TemperedClassifier(GaussianNB(), cv=folds).fit(X, y).predict_proba(NEW)
    np.testing.assert_allclose(grouped, wanted)
    with pytest.raises(TypeError, match="fit got 'colour'"):
        clf.fit(X, y, colour=3)


def test_metadata_routing():
    weights = np.linspace(0.5, 2.0, len(y))
    off = pc.TemperedClassifier(GaussianNB()).fit(X, y, weights).predict_proba(NEW)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = GaussianNB().set_fit_request(sample_weight=True)
        clf = pc.TemperedClassifier(asked).set_fit_request(sample_weight=True)
        on = clf.fit(X, y, sample_weight=weights).predict_proba(NEW)
        np.testing.assert_allclose(on, off)
        with pytest.raises(UnsetMetadataPassedError):
            pc.TemperedClassifier(GaussianNB()).fit(X, y, sample_weight=weights)
        grouped = pc.TemperedClassifier(GaussianNB(), cv=GroupKFold(3))
        grouped.fit(X, y, groups=np.arange(len(y)) % 3)


@pytest.mark.parametrize("cv", [3, "prefit"])
def test_files_keep_it(cv):
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    clf = pc.TemperedClassifier(model, cv=cv).fit(NEW, NEW_y)
    file = io.BytesIO()
    pc.save(clf, file)
    file.seek(0)
    wanted = clf.predict_proba(X)
    np.testing.assert_array_equal(pc.load(file).predict_proba(X), wanted)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_proba(X), wanted)


def test_jobs_and_defaults():
    rows = StandardScaler().fit_transform(X)
    one, two = (pc.TemperedClassifier(n_jobs=jobs).fit(rows, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert type(one.estimator_).__name__ == "LogisticRegression"


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"estimator": LinearSVC()}, TypeError, "a classifier with predict_proba"),
        ({"estimator": GaussianNB}, TypeError, r"write GaussianNB\(\), with brackets"),
        ({"tempering": "hot"}, TypeError, "tempering must be None, 'auto', True or a Tempering"),
        ({"tempering": False}, TypeError, "or None for the default, got False"),
        ({"cv": 1}, ValueError, "cv must be at least 2 folds"),
    ],
)
def test_wrong_parameters(options, error, sentence):
    with pytest.raises(error, match=sentence):
        pc.TemperedClassifier(**{"estimator": GaussianNB(), **options}).fit(X, y)


@pytest.mark.filterwarnings("ignore:Class.*fewer rows than the 2 folds:UserWarning")
@parametrize_with_checks(
    [pc.TemperedClassifier(LogisticRegression(C=0.1, solver="newton-cholesky", tol=1e-12), cv=2)]
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "around",
    [
        lambda fitted: pc.TemperedClassifier(fitted),
        lambda fitted: pc.PolychotomyPool([("first", fitted), ("second", GaussianNB())]),
    ],
)
def test_a_fitted_classifier_with_a_class_that_rows_lack_is_refused(around):
    X, y = load_wine(return_X_y=True)
    fitted = FrozenEstimator(GaussianNB().fit(X, y))
    some = y != 1
    with pytest.raises(ValueError, match="knows the class 1, of which y has no row"):
        around(fitted).fit(X[some], y[some])
