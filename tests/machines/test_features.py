"""SVM and KLR in features against scikit-learn on the same features, and against exact machines."""

import io

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale
from sklearn.svm import SVC

import polychotomy as pc
from polychotomy.kernels import Gaussian
from polychotomy.machines import TrainingOptions
from polychotomy.machines.descent import minimise
from polychotomy.machines.svm import features as svm_features

X, Y = load_wine(return_X_y=True)
X = scale(X)[::2]
Y = Y[::2]
# Some wrong labels, so that no problem is separable.
Y = np.where(np.arange(len(Y)) % 9 == 0, (Y + 1) % 3, Y)
WEIGHTS = np.random.default_rng(1).uniform(0.2, 3.0, len(Y))
MACHINES = [pc.KernelLogisticRegression, pc.SVM]


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_klr_is_logistic_regression_on_the_features(C):
    klr = pc.KernelLogisticRegression(C=C, gamma=0.05, landmarks=20)
    klr.fit(X, Y == 0, sample_weight=WEIGHTS)
    landmarks = Gaussian(0.05), klr.support_vectors_
    factor = np.linalg.cholesky(landmarks[0].between(landmarks[1], landmarks[1]))
    z = np.linalg.solve(factor, landmarks[0].between(X, landmarks[1]).T).T
    peer = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    peer.fit(z, Y == 0, sample_weight=WEIGHTS)
    np.testing.assert_allclose(klr.predict_proba(X), peer.predict_proba(z), atol=2e-6)


@pytest.mark.parametrize("by_gram", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_svm_is_the_linear_svc_on_the_features(C, by_gram, monkeypatch):
    if not by_gram:
        monkeypatch.setattr(svm_features, "MOST_ROWS_OF_GRAM", 0)
    svm = pc.SVM(C=C, gamma=0.05, landmarks=20, tol=1e-6).fit(X, Y == 0, sample_weight=WEIGHTS)
    kernel = Gaussian(0.05)
    factor = np.linalg.cholesky(kernel.between(svm.support_vectors_, svm.support_vectors_))
    z = np.linalg.solve(factor, kernel.between(X, svm.support_vectors_).T).T
    peer = SVC(C=C, kernel="linear", tol=1e-8).fit(z, Y == 0, sample_weight=WEIGHTS)
    np.testing.assert_allclose(svm.decision_function(X), peer.decision_function(z), atol=1e-4)


@pytest.mark.parametrize("Machine", MACHINES)
@pytest.mark.parametrize("code", ["one_vs_rest", "one_vs_one"])
def test_with_all_rows_as_landmarks_they_are_the_exact_machines(Machine, code):
    scores = []
    for landmarks in (None, len(Y)):
        machine = Machine(C=3.0, gamma=0.05, tol=1e-6, landmarks=landmarks)
        clf = pc.PolychotomyClassifier(machine, code, cv=3).fit(X, Y, sample_weight=WEIGHTS)
        scores.append(clf.binary_scores(X))
    np.testing.assert_allclose(*scores, atol=2e-5)


@pytest.mark.parametrize("Machine", MACHINES)
def test_a_path_of_C_gives_the_machines_of_single_fits(Machine):
    labels = np.where(Y[:, None] == np.arange(3), 1, -1).astype(np.int8)
    labels[Y == 2, 0] = 0
    rows = np.arange(len(Y))
    splits = [(rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3)]
    columns = Machine(gamma=0.05, landmarks=25, tol=1e-6).as_columns()
    state, options = columns.prepare(X), TrainingOptions()
    values = [0.1, 3.0]
    path = columns.held_out_path(state, labels, splits, values, None, options, True)
    for C, found in zip(values, path, strict=True):
        own = Machine(C=C, gamma=0.05, landmarks=25, tol=1e-6).as_columns()
        alone = own.fit(state, labels, [train for train, _ in splits], None, options)
        assert not found.failed.any()
        for fold, (_, test) in enumerate(splits):
            expected = own.margins(alone[fold], X[test], True)
            np.testing.assert_allclose(found.tested[fold].mean, expected.mean, atol=2e-5)
            again = columns.margins(found.fitted(fold), X[test]).mean
            np.testing.assert_allclose(again, found.tested[fold].mean, atol=1e-9)


@pytest.mark.parametrize("Machine", MACHINES)
def test_threads_and_kept_columns_change_nothing(Machine):
    many, y = make_classification(6000, 8, n_informative=5, n_classes=3, random_state=0)
    answers = []
    for n_jobs, limit in ((1, None), (3, None), (1, 8.0 * 6000 * 40 * 1.5)):
        machine = Machine(C=1.0, gamma=0.05, landmarks=40, memory_limit=limit)
        clf = pc.PolychotomyClassifier(machine, "one_vs_rest", cv=2, n_jobs=n_jobs).fit(many, y)
        answers.append(clf.predict_proba(many[:300]))
    assert np.array_equal(answers[0], answers[1])
    np.testing.assert_allclose(answers[0], answers[2], atol=1e-12)


def test_searches_and_files_take_machines_in_features():
    clf = pc.PolychotomyClassifier(pc.SVM(landmarks=20), "one_vs_rest")
    search = pc.TwoStepSearchCV(clf, fine=None, show_progress=False).fit(X, Y)
    assert search.score(X, Y) > 0.8
    file = io.BytesIO()
    pc.save(search, file)
    file.seek(0)
    assert np.array_equal(pc.load(file).predict(X), search.predict(X))


def test_leave_one_out_of_klr_in_features_takes_folds():
    machine = pc.KernelLogisticRegression(landmarks=20)
    clf = pc.PolychotomyClassifier(
        machine, "one_vs_rest", calibrator="platt", cv="leave_one_out"
    ).fit(X, Y)
    assert not clf.leave_one_out_columns_.any()


def test_too_many_features_of_an_svm_are_refused_with_what_to_use():
    with pytest.raises(MemoryError, match="LSSVM"):
        pc.SVM(landmarks=20, memory_limit=100).fit(X, Y == 0)


def test_problems_are_minimised_together_and_alone():
    random = np.random.default_rng(0)
    matrices = np.stack([np.diag(random.uniform(0.1, 10.0, 6)) for _ in range(4)])
    targets = random.standard_normal((4, 6))

    def evaluate(x, problems):
        away = x - targets[problems]
        gradient = np.einsum("pij,pj->pi", matrices[problems], away)
        return 0.5 * np.sum(away * gradient, axis=1) + 1.0, gradient

    found = minimise(evaluate, np.zeros((4, 6)), np.full(4, 1e-8), 100)
    assert found.converged.all()
    np.testing.assert_allclose(found.places, targets, atol=1e-6)
    short = minimise(evaluate, np.zeros((4, 6)), np.full(4, 1e-12), 2)
    assert not short.converged.any()
