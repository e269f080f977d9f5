"""The drop-in for SVC(probability=True)."""

import io
import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_selection import RFE
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import polychotomy as pc

# The weights of rows and their repetition have the same solution, which the solver finds within
# `tol`, as LIBSVM does: scikit-learn excuses SVC of the same two checks.
WITHIN_TOL = {
    f"check_sample_weight_equivalence_on_{kind}_data": "solutions are the same within tol only"
    for kind in ("dense", "sparse")
}


@pytest.mark.filterwarnings("ignore:Class.*fewer rows than the 5 folds:UserWarning")
@parametrize_with_checks(
    [pc.ProbabilisticSVC(), pc.ProbabilisticSVC(tol=1e-8)],
    expected_failed_checks=lambda clf: WITHIN_TOL if clf.tol == 1e-3 else {},
)
def test_sklearn_checks(estimator, check):
    check(estimator)


SETS = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}


@pytest.fixture(params=SETS)
def data(request):
    X, y = SETS[request.param](return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize(
    "options",
    [
        {"C": 2.0},
        {"C": 0.5, "gamma": 0.02},
        {"kernel": "linear"},
        {"kernel": "poly", "degree": 2, "coef0": 1.0},
        {"class_weight": "balanced"},
        {"class_weight": {0: 3.0, 1: 1.0}},
    ],
    ids=str,
)
def test_the_solution_is_laid_out_as_scikit_learn_does(data, options):
    X, y = data
    ours = pc.ProbabilisticSVC(tol=1e-8, **options).fit(X, y)
    theirs = SVC(tol=1e-8, decision_function_shape="ovo", **options).fit(X, y)
    np.testing.assert_allclose(
        ours.set_params(decision_function_shape="ovo").decision_function(X),
        theirs.decision_function(X),
        atol=1e-3,
    )
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    # Rows whose weight is as good as 0 may count as support vectors on one side only.
    dense = np.zeros((2, *theirs.dual_coef_.shape[:1], len(X)))
    dense[0][:, ours.support_] = ours.dual_coef_
    dense[1][:, theirs.support_] = theirs.dual_coef_
    kernel = SVC(**{**options, "class_weight": None}).fit(X, y)
    assert ours.dual_coef_.shape[0] == kernel.dual_coef_.shape[0]
    for row in range(dense.shape[1]):
        np.testing.assert_allclose(dense[0, row].sum(), dense[1, row].sum(), atol=1e-2)
    assert ours.n_support_.sum() == len(ours.support_)
    np.testing.assert_array_equal(ours.support_vectors_, X[ours.support_])
    np.testing.assert_array_equal(np.sort(y[ours.support_]), y[ours.support_])


def test_probabilities_are_near_those_of_libsvm(data):
    X, y = data
    ours = pc.ProbabilisticSVC(C=2.0).fit(X, y).predict_proba(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # which it is in newer versions
        theirs = SVC(C=2.0, probability=True, random_state=0).fit(X, y).predict_proba(X)
    assert np.abs(ours - theirs).mean() < 0.03


def test_predict_agrees_with_the_probabilities_and_nothing_is_random(data):
    X, y = data
    clf = pc.ProbabilisticSVC(C=2.0).fit(X, y)
    p = clf.predict_proba(X)
    np.testing.assert_array_equal(clf.classes_[p.argmax(axis=1)], clf.predict(X))
    np.testing.assert_array_equal(np.exp(clf.predict_log_proba(X)), np.exp(np.log(p)))
    np.testing.assert_array_equal(pc.ProbabilisticSVC(C=2.0).fit(X, y).predict_proba(X), p)
    both = pc.ProbabilisticSVC(C=2.0, n_jobs=2).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(both, p)


def test_sparse_and_precomputed(data):
    X, y = data
    # Folds by content differ between rows and kernel matrices.
    params = {"tol": 1e-8, "cv": StratifiedKFold(5)}
    p = pc.ProbabilisticSVC(gamma=0.05, **params).fit(X, y).predict_proba(X)
    sparse = pc.ProbabilisticSVC(gamma=0.05, **params).fit(csr_array(X), y)
    np.testing.assert_allclose(sparse.predict_proba(csr_array(X)), p, atol=1e-5)
    gram = rbf_kernel(X, gamma=0.05)
    precomputed = pc.ProbabilisticSVC(kernel="precomputed", **params).fit(gram, y)
    np.testing.assert_allclose(precomputed.predict_proba(gram), p, atol=1e-5)
    assert precomputed.support_vectors_.shape == (0, 0)
    both = pc.ProbabilisticSVC(kernel="precomputed", **params).fit(csr_array(gram), y)
    np.testing.assert_allclose(both.predict_proba(csr_array(gram)), p, atol=1e-5)


@pytest.mark.parametrize("container", [csr_array, csr_matrix])
def test_sparse_inputs_have_sparse_attributes(data, container):
    X, y = data
    dense = pc.ProbabilisticSVC(kernel="linear", tol=1e-10).fit(X, y)
    sparse = pc.ProbabilisticSVC(kernel="linear", tol=1e-10).fit(container(X), y)
    for name in ("support_vectors_", "dual_coef_", "coef_"):
        assert type(getattr(sparse, name)) is container
        assert type(getattr(dense, name)) is np.ndarray
    np.testing.assert_allclose(sparse.coef_.toarray(), dense.coef_, atol=1e-4)
    with pytest.raises(ValueError, match="read-only"):
        sparse.coef_.data[0] = 0


@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}], ids=str)
def test_a_linear_kernel_has_coefficients(data, options):
    X, y = data
    ours = pc.ProbabilisticSVC(kernel="linear", tol=1e-8, **options)
    assert not hasattr(ours, "coef_")
    ours.fit(X, y)
    theirs = SVC(kernel="linear", tol=1e-8, **options).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert ours.coef_.shape == theirs.coef_.shape
    scores = ours.set_params(decision_function_shape="ovo").decision_function(X)
    by_hand = X @ ours.coef_.T + ours.intercept_
    np.testing.assert_allclose(np.squeeze(by_hand), scores, atol=1e-9)
    with pytest.raises(ValueError, match="read-only"):
        ours.coef_[0, 0] = 0
    with pytest.raises(AttributeError):
        ours.coef_ = 0
    assert not hasattr(pc.ProbabilisticSVC().fit(X, y), "coef_")


def test_features_are_eliminated_by_the_coefficients(data):
    X, y = data
    ours = RFE(pc.ProbabilisticSVC(kernel="linear", tol=1e-8), n_features_to_select=2).fit(X, y)
    theirs = RFE(SVC(kernel="linear", tol=1e-8), n_features_to_select=2).fit(X, y)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    assert ours.score(X, y) > 0.8


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0}], ids=str)
def test_attributes_of_svc(data, class_weight):
    X, y = data
    ours = pc.ProbabilisticSVC(class_weight=class_weight).fit(X, y)
    theirs = SVC(class_weight=class_weight).fit(X, y)
    np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
    assert ours.shape_fit_ == theirs.shape_fit_
    assert ours.fit_status_ == theirs.fit_status_ == 0
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)


def test_balanced_classes_count_the_weights_of_rows():
    X, y = load_iris(return_X_y=True)
    weights = np.where(y == 0, 3.0, 1.0)
    weights[60] = 0.0
    clf = pc.ProbabilisticSVC(class_weight="balanced").fit(X, y, weights)
    sums = np.array([150.0, 49.0, 50.0])
    np.testing.assert_allclose(clf.class_weight_, sums.sum() / (3 * sums))


def test_the_status_says_whether_iterations_ran_out():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        assert pc.ProbabilisticSVC(max_iter=2).fit(X, y).fit_status_ == 1
    with pytest.warns(ConvergenceWarning):
        assert SVC(max_iter=2).fit(X, y).fit_status_ == 1


def test_the_sigmoids_have_the_sign_of_libsvm(data):
    X, y = data
    ours = pc.ProbabilisticSVC(tempering=None, decision_function_shape="ovo").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        theirs = SVC(probability=True, random_state=0).fit(X, y)
        np.testing.assert_allclose(ours.probA_, theirs.probA_, rtol=0.5)
        assert np.abs(ours.probB_ - theirs.probB_).max() < 1.0
    assert not hasattr(pc.ProbabilisticSVC(), "probA_")
    assert not hasattr(pc.ProbabilisticSVC(), "probB_")
    if len(ours.classes_) == 2:
        # The score of two classes is positive for the second, LIBSVM's for the first.
        first = -ours.decision_function(X)
        p = 1 / (1 + np.exp(ours.probA_ * first + ours.probB_))
        np.testing.assert_allclose(ours.predict_proba(X)[:, 0], p, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"gamma": 0.01, "coef0": -0.5}], ids=str)
def test_the_sigmoid_kernel(options):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    options = {"kernel": "sigmoid", "tol": 1e-6, **options}
    ours, theirs = pc.ProbabilisticSVC(**options).fit(X, y), SVC(**options).fit(X, y)
    # The kernel is indefinite: there are several stationary points.
    assert abs(ours.score(X, y) - theirs.score(X, y)) < 0.03


def test_a_hard_margin():
    X, y = load_iris(return_X_y=True)
    ours = pc.ProbabilisticSVC(C=np.inf, gamma=1.0, tol=1e-8).fit(X, y)
    ours.set_params(decision_function_shape="ovo")
    theirs = SVC(C=np.inf, gamma=1.0, tol=1e-8, decision_function_shape="ovo").fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert ours.score(X, y) > 0.97


def _shared_letters(words, others):
    return np.array([[sum(map(other.count, word)) for other in others] for word in words], float)


WORDS = ["aab", "abab", "aa", "a", "ba", "aaab", "xy", "yyx", "y", "xxy", "xyxy", "yx"]
KINDS = np.repeat(["first", "second"], 6)


@pytest.mark.parametrize("form", [list, np.array, lambda words: np.array(words, object)])
def test_kernels_of_rows_that_are_no_vectors(form):
    words, gram = form(WORDS), _shared_letters(WORDS, WORDS)
    ours = pc.ProbabilisticSVC(kernel=_shared_letters).fit(words, KINDS)
    plain = pc.ProbabilisticSVC(kernel="precomputed").fit(gram, KINDS)
    np.testing.assert_array_equal(ours.predict_proba(words), plain.predict_proba(gram))
    np.testing.assert_array_equal(ours.predict(form(["ab", "yxy"])), ["first", "second"])
    np.testing.assert_array_equal(ours.decision_function(words), plain.decision_function(gram))
    assert ours.shape_fit_ == SVC(kernel=_shared_letters).fit(words, KINDS).shape_fit_ == (12,)
    assert not hasattr(ours, "n_features_in_")
    clf = pc.ProbabilisticSVC(kernel=_shared_letters, cv=3)
    scores = cross_val_score(clf, words, KINDS, cv=2)
    assert scores.mean() > 0.9
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ours.fit(words, KINDS[:-1])
    # A fit of vectors afterwards forgets the rows.
    X, y = load_iris(return_X_y=True)
    assert ours.set_params(kernel="rbf").fit(X, y).score(X, y) > 0.9


def test_rows_of_several_dimensions_go_to_the_kernel_as_they_are():
    X, y = load_iris(return_X_y=True)

    def kernel(A, B):
        assert A.ndim == 3
        return A.reshape(len(A), -1) @ B.reshape(len(B), -1).T

    folds = StratifiedKFold(5)
    ours = pc.ProbabilisticSVC(kernel=kernel, cv=folds).fit(X.reshape(-1, 2, 2), y)
    linear = pc.ProbabilisticSVC(kernel="linear", cv=folds).fit(X, y)
    np.testing.assert_allclose(
        ours.predict_proba(X.reshape(-1, 2, 2)), linear.predict_proba(X), atol=1e-3
    )


def test_a_kernel_of_the_wrong_shape():
    with pytest.raises(ValueError, match="a column for each of the 12 training rows"):
        pc.ProbabilisticSVC(kernel=lambda A, B: np.ones((len(A), 2))).fit(WORDS, KINDS)


def test_groups_reach_the_splitter():
    X, y = load_iris(return_X_y=True)
    groups = np.arange(len(y)) % 10
    clf = pc.ProbabilisticSVC(cv=GroupKFold(5)).fit(X, y, groups=groups)
    folds = list(GroupKFold(5).split(X, y, groups))
    p = pc.ProbabilisticSVC(cv=folds).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(clf.predict_proba(X), p)
    with sklearn.config_context(enable_metadata_routing=True):
        clf = pc.ProbabilisticSVC(cv=GroupKFold(5)).fit(X, y, groups=groups)
    np.testing.assert_array_equal(clf.predict_proba(X), p)


def test_unknown_metadata_is_refused_in_the_name_of_the_class():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match=r"ProbabilisticSVC.fit\(\) got an unexpected .* 'folds'"):
        pc.ProbabilisticSVC().fit(X, y, folds=3)
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(TypeError, match=r"ProbabilisticSVC.*fit got unexpected .*'groups'"),
    ):
        pc.ProbabilisticSVC().fit(X, y, groups=y)


def test_one_request_is_enough_for_weights_in_other_estimators():
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
    groups = np.arange(len(y)) % 10
    p = pc.ProbabilisticSVC().fit(X, y, weights).predict_proba(X)
    with sklearn.config_context(enable_metadata_routing=True):
        clf = pc.ProbabilisticSVC().set_fit_request(sample_weight=True)
        for outer in (
            make_pipeline(clone(clf)),
            VotingClassifier([("only", clone(clf))], voting="soft"),
            GridSearchCV(clone(clf).set_score_request(sample_weight=False), {"C": [1.0]}, cv=2),
        ):
            outer.fit(X, y, sample_weight=weights)
            np.testing.assert_allclose(outer.predict_proba(X), p, atol=1e-12)
        OneVsRestClassifier(clone(clf)).fit(X, y, sample_weight=weights)
        CalibratedClassifierCV(clone(clf), cv=2).fit(X, y, sample_weight=weights)
        by_groups = clone(clf).set_params(cv=GroupKFold(5))
        by_groups.set_score_request(sample_weight=False)
        search = GridSearchCV(by_groups, {"C": [1.0]}, cv=GroupKFold(2))
        search.fit(X, y, sample_weight=weights, groups=groups)
    expected = pc.ProbabilisticSVC(cv=GroupKFold(5)).fit(X, y, weights, groups=groups)
    np.testing.assert_array_equal(search.predict_proba(X), expected.predict_proba(X))


def test_a_call_of_svc_works_as_it_is():
    X, y = load_iris(return_X_y=True)
    given = {"probability": True, "shrinking": False, "cache_size": 500, "verbose": True}
    clf = pc.ProbabilisticSVC(C=2.0, random_state=0, **given).fit(X, y)
    p = pc.ProbabilisticSVC(C=2.0).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(clf.predict_proba(X), p)
    parameters = {**SVC(C=2.0).get_params(), "probability": "deprecated"}
    np.testing.assert_array_equal(pc.ProbabilisticSVC(**parameters).fit(X, y).predict_proba(X), p)


def test_messages_name_the_class():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = pc.ProbabilisticSVC().fit(X, y)
    unnamed = pc.ProbabilisticSVC().fit(X.to_numpy(), y)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        call, plain = getattr(clf, method), getattr(unnamed, method)
        with pytest.raises(ValueError, match="2 features, but ProbabilisticSVC is expecting 4"):
            plain(np.ones((2, 2)))
        with pytest.raises(ValueError, match="feature names should match"):
            call(X.rename(columns={X.columns[0]: "other"}))
    with pytest.raises(ValueError, match="ProbabilisticSVC does not accept missing values"):
        clf.predict(X.mask(X > 7))
    with pytest.raises(ValueError, match=r"ProbabilisticSVC .* requires y to be passed"):
        clf.fit(X, None)
    np.testing.assert_array_equal(clf.feature_names_in_, X.columns)
    with pytest.warns(UserWarning, match="but ProbabilisticSVC was fitted with") as caught:
        clf.predict(X.to_numpy())
    assert len(caught) == 1
    with pytest.raises(NotFittedError, match=r"call classifier_\.calibrate"):
        pc.ProbabilisticSVC(cv="prefit").fit(X, y).predict(X)


def test_an_error_leaves_the_last_fit_alone():
    X, y = load_iris(return_X_y=True)
    clf = pc.ProbabilisticSVC().fit(X, y)
    before = clf.predict_proba(X)
    with pytest.raises(ValueError, match="at least two classes"):
        clf.fit(X[:, :2], np.zeros(len(y)))
    np.testing.assert_array_equal(clf.predict_proba(X), before)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"C": 0}, r"must be a float in the range \(0.0, inf\]. Got 0 instead."),
        ({"C": "1"}, r"must be a float in the range \(0.0, inf\]. Got '1' instead."),
        ({"degree": -1}, r"must be a float in the range \[0.0, inf\). Got -1 instead."),
        ({"gamma": -1.0}, "must be a str among {'auto', 'scale'} or a float in the range"),
        ({"coef0": None}, r"must be a float in the range \(-inf, inf\). Got None instead."),
        ({"tol": -1e-3}, "must be a float in the range"),
        ({"memory_limit": 0}, r"must be a float in the range \(0.0, inf\] or None"),
        ({"class_weight": "even"}, "must be a str among {'balanced'} or an instance of 'dict'"),
        ({"max_iter": -2}, r"must be an int in the range \[-1, inf\)"),
        ({"break_ties": "x"}, "must be an instance of 'bool' or .*. Got 'x' instead."),
        ({"random_state": "x"}, "must be an int .* 'numpy.RandomState' or None"),
        ({"n_jobs": 0.5}, "must be an instance of 'int'"),
        ({"shrinking": 1}, "must be an instance of 'bool'"),
        ({"cache_size": -1}, "must be a float in the range"),
        ({"verbose": "much"}, "must be an instance of 'bool'"),
        ({"probability": False}, "must be True: probabilities are what it is for"),
        ({"probability": "yes"}, "must be True"),
    ],
    ids=str,
)
def test_bad_parameters(options, sentence):
    X, y = load_iris(return_X_y=True)
    (name,) = options
    message = f"The '{name}' parameter of ProbabilisticSVC {sentence}"
    with pytest.raises(ValueError, match=message):
        pc.ProbabilisticSVC(**options).fit(X, y)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"kernel": "rbg"}, "Unknown kernel 'rbg'. Did you mean 'rbf'"),
        ({"kernel": "linear", "gamma": "scael"}, "Unknown gamma 'scael'. Did you mean 'scale'"),
    ],
    ids=str,
)
def test_misspelt_words(options, sentence):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=sentence):
        pc.ProbabilisticSVC(**options).fit(X, y)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "linear"},
        {"kernel": "sigmoid", "gamma": 0.01, "probability": "deprecated"},
        {"C": np.inf, "class_weight": "balanced", "cache_size": 100, "verbose": 1},
    ],
    ids=str,
)
def test_files_hold_all_attributes(options, sparse, tmp_path):
    X, y = load_iris(return_X_y=True)
    X = csr_array(X) if sparse else X
    clf = pc.ProbabilisticSVC(**options).fit(X, y)
    pc.save(clf, tmp_path / "svc.polychotomy")
    again = pc.load(tmp_path / "svc.polychotomy")
    assert again.get_params() == clf.get_params()
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert again.shape_fit_ == clf.shape_fit_
    assert again.fit_status_ == clf.fit_status_
    for name in ("class_weight_", "probA_", "probB_", "n_iter_", "support_", "intercept_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(clf, name))
    names = ["dual_coef_", "support_vectors_", *(["coef_"] if hasattr(clf, "coef_") else [])]
    for name in names:
        wanted, answer = getattr(clf, name), getattr(again, name)
        assert type(answer) is type(wanted)
        assert abs(answer - wanted).max() == 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
def test_files_of_the_first_version_have_the_attributes_that_they_can_have():
    path = Path(__file__).parent / "persistence" / "format_1" / "probabilistic_svc.polychotomy"
    clf = pc.load(path)
    assert clf.probability is True
    assert clf.cache_size == 200
    assert len(clf.probA_) == len(clf.probB_) == len(clf.intercept_)
    assert not hasattr(clf, "class_weight_")
    assert repr(clf) == repr(clone(clf))


def test_a_function_cannot_be_in_a_file():
    clf = pc.ProbabilisticSVC(kernel=_shared_letters).fit(WORDS, KINDS)
    with pytest.raises(pc.persistence.ModelFileError, match="cannot be saved safely"):
        pc.save(clf, io.BytesIO())


def test_unknown_shape():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="Unknown decision_function_shape 'ova'"):
        pc.ProbabilisticSVC(decision_function_shape="ova").fit(X, y)


def test_landmarks_are_support_vectors_with_a_weight_for_every_pair(monkeypatch):
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    clf = pc.ProbabilisticSVC(landmarks=30).fit(X, y)
    assert clf.score(X, y) > 0.95
    assert clf.support_vectors_.shape == (30, X.shape[1])
    assert clf.n_support_.sum() == 30
    assert clf.dual_coef_.shape == (3, 30)
    scores = rbf_kernel(X, clf.support_vectors_, 1.0 / (13 * X.var())) @ clf.dual_coef_.T
    clf.decision_function_shape = "ovo"
    np.testing.assert_allclose(scores + clf.intercept_, clf.decision_function(X), atol=1e-8)
    file = io.BytesIO()
    pc.save(clf, file)
    file.seek(0)
    np.testing.assert_array_equal(pc.load(file).predict_proba(X), clf.predict_proba(X))
    # "auto" is SVC's exact solution up to many rows, and has landmarks beyond.
    monkeypatch.setattr("polychotomy.probabilistic_svc.MOST_EXACT_ROWS", 100)
    monkeypatch.setattr("polychotomy.machines.auto.MOST_EXACT_ROWS", 100)
    monkeypatch.setattr("polychotomy.machines.auto.EXACT_ROWS", 100)
    monkeypatch.setattr("polychotomy.machines.auto.FIRST_NUMBER", 20)
    assert pc.ProbabilisticSVC().fit(X, y).dual_coef_.shape[0] == 3
    assert pc.ProbabilisticSVC().fit(X[::2], y[::2]).dual_coef_.shape[0] == 2
    assert pc.ProbabilisticSVC(kernel="linear").fit(X, y).dual_coef_.shape[0] == 2
