"""``landmarks="auto"``: exact while that is cheap, then what does best on a subsample."""

import io

import numpy as np
import pytest
from sklearn.datasets import make_classification

import polychotomy as pc
from polychotomy.machines import auto

MACHINES = [pc.LSSVM, pc.KernelLogisticRegression, pc.SVM]
X, Y = make_classification(
    900, 6, n_informative=4, n_classes=3, class_sep=0.7, flip_y=0.2, random_state=2
)


@pytest.mark.parametrize("Machine", MACHINES)
def test_few_rows_are_exact(Machine):
    exact = pc.PolychotomyClassifier(Machine(), "one_vs_rest").fit(X[:200], Y[:200])
    clf = pc.PolychotomyClassifier(Machine(landmarks="auto"), "one_vs_rest").fit(X[:200], Y[:200])
    assert np.array_equal(clf.predict_proba(X), exact.predict_proba(X))
    assert type(clf.machines_.fitted) is type(exact.machines_.fitted)


@pytest.fixture
def small_limits(monkeypatch):
    for name, value in {
        "EXACT_ROWS": 300,
        "ROWS_FOR_NUMBER": 600,
        "ROWS_FOR_EXACT": 300,
        "FIRST_NUMBER": 10,
    }.items():
        monkeypatch.setattr(auto, name, value)


@pytest.mark.parametrize("Machine", MACHINES)
@pytest.mark.usefixtures("small_limits")
def test_many_rows_get_landmarks_and_survive_a_file(Machine):
    clf = pc.PolychotomyClassifier(Machine(landmarks="auto"), "one_vs_rest", cv=2).fit(X, Y)
    n_support = len(clf.machines_.fitted.support)
    assert n_support in (10, 20, 40, 80, 160) or Machine is pc.SVM
    again = pc.PolychotomyClassifier(Machine(landmarks="auto"), "one_vs_rest", cv=2).fit(X, Y)
    assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))
    file = io.BytesIO()
    pc.save(clf, file)
    file.seek(0)
    assert np.array_equal(pc.load(file).predict_proba(X), clf.predict_proba(X))
    alone = Machine(landmarks="auto").fit(X, Y > 0)
    assert alone.score(X, Y > 0) > 0.7


@pytest.mark.usefixtures("small_limits")
def test_an_easy_problem_takes_fewer_landmarks_than_a_hard_one():
    random = np.random.default_rng(0)
    rows = random.uniform(-1.0, 1.0, (900, 2))
    easy = rows[:, 0] > random.normal(0.0, 0.3, 900)
    hard = (np.floor(2.0 * rows).sum(axis=1) % 2) > 0
    numbers = []
    for y in (easy, hard):
        machine = pc.LSSVM(landmarks="auto", gamma=4.0).fit(rows, y)
        numbers.append(len(machine.support_))
    assert numbers[0] < numbers[1]


@pytest.mark.parametrize("n_rows", [239, 240])
@pytest.mark.usefixtures("small_limits")
def test_few_rows_take_all_landmarks_that_would_be_tried(n_rows, monkeypatch):
    monkeypatch.setattr(auto, "EXACT_ROWS", 100)
    tried = []
    monkeypatch.setattr(auto._Trial, "best_number", lambda *_: tried.append(1) or 10)
    machine = pc.LSSVM(landmarks="auto").fit(X[:n_rows], Y[:n_rows] > 0)
    assert (len(machine.support_), len(tried)) == ((40, 0) if n_rows < 240 else (10, 1))


@pytest.mark.usefixtures("small_limits")
def test_the_svm_stays_exact_where_landmarks_do_worse():
    # In 20 inputs, few landmarks are far from everything.
    rows, y = make_classification(
        900, 20, n_informative=20, n_redundant=0, class_sep=0.5, random_state=0
    )
    machine = pc.SVM(landmarks="auto", C=10.0).fit(rows, y)
    landmarks = pc.SVM(landmarks=10, C=10.0).fit(rows, y)
    assert len(machine.support_) > 100
    assert len(landmarks.support_) == 10


@pytest.mark.usefixtures("small_limits")
def test_the_svm_is_not_exact_where_too_many_rows_would_be_support_vectors(monkeypatch):
    random = np.random.default_rng(0)
    rows = random.uniform(-1.0, 1.0, (900, 2))
    clean = rows[:, 0] > 0.0
    noisy = clean != (random.random(900) < 0.4)
    entries = []
    for labels in (clean, noisy):
        columns = np.where(labels, 1, -1).astype(np.int8)[:, None]
        trial = auto._Trial(rows, columns, np.arange(900), None, 0)
        entries.append(trial.entries_of_exact(pc.SVM(), 900))
    # In the sample, they are the same share of rows as in all of them, if the labels are noisy.
    assert entries[1] == pytest.approx(900 * len(pc.SVM().fit(rows, noisy).support_), rel=0.1)
    assert entries[0] < 0.3 * entries[1]
    monkeypatch.setattr(auto.AutoColumns, "_is_exact", lambda *_: False)
    monkeypatch.setattr(auto._Trial, "exact_is_better", lambda *_: True)
    monkeypatch.setattr(auto, "MOST_ENTRIES", 0.9 * entries[1])
    for labels in (clean, noisy):
        machine = pc.SVM(landmarks="auto").fit(rows, labels)
        exact = pc.SVM().fit(rows, labels)
        same = np.array_equal(machine.decision_function(rows), exact.decision_function(rows))
        assert same == (labels is clean)


@pytest.mark.usefixtures("small_limits")
def test_precomputed_kernels_stay_exact_and_searches_work():
    gram = X @ X.T
    machine = pc.SVM(kernel="precomputed", landmarks="auto").fit(gram, Y > 0)
    exact = pc.SVM(kernel="precomputed").fit(gram, Y > 0)
    assert np.array_equal(machine.decision_function(gram), exact.decision_function(gram))
    clf = pc.PolychotomyClassifier(
        pc.LSSVM(landmarks="auto"), "one_vs_rest", decoder="shrunk_soft_max", cv="leave_one_out"
    ).fit(X, Y)
    assert clf.score(X, Y) > 0.6


def test_a_class_with_one_row_that_is_held_out_is_no_reason_to_warn():
    random = np.random.default_rng(2)
    X, y = random.standard_normal((auto.EXACT_ROWS + 1, 3)), np.zeros(auto.EXACT_ROWS + 1, int)
    # The first row of the trial is held out.
    y[np.random.default_rng(0).permutation(len(y))[0]] = 1
    machine = pc.LSSVM(landmarks="auto").fit(X, y)
    assert np.isfinite(machine.decision_function(X[:5])).all()


@pytest.mark.usefixtures("small_limits")
def test_the_largest_column_decides_what_is_exact(monkeypatch):
    # Six classes: pairs have about 300 rows.
    y = 2 * Y + (X[:, 0] > 0)
    logistic = pc.KernelLogisticRegression(landmarks="auto")
    exact = pc.PolychotomyClassifier(pc.KernelLogisticRegression(), "one_vs_one", cv=2).fit(X, y)
    pairs = pc.PolychotomyClassifier(logistic, "one_vs_one", cv=2).fit(X, y)
    assert len(pairs.machines_.fitted.support) < len(exact.machines_.fitted.support)
    monkeypatch.setattr(auto, "EXACT_ROWS", 800)
    pairs = pc.PolychotomyClassifier(logistic, "one_vs_one", cv=2).fit(X, y)
    assert np.array_equal(pairs.predict_proba(X), exact.predict_proba(X))
    rest = pc.PolychotomyClassifier(logistic, "one_vs_rest", cv=2).fit(X, y)
    assert len(rest.machines_.fitted.support) < 200
    assert pc.LSSVM(C=1.0).exact_reach > pc.LSSVM().exact_reach == 1.0


@pytest.mark.usefixtures("small_limits")
def test_features_without_a_leave_one_out_formula_get_folds():
    logistic = pc.KernelLogisticRegression(landmarks="auto")
    clf = pc.PolychotomyClassifier(
        logistic, "one_vs_rest", "platt", "code_coupling", cv="leave_one_out"
    )
    p = clf.fit_out_of_fold(X, Y)
    assert (p.argmax(axis=1) == Y).mean() > 0.6
    five = pc.PolychotomyClassifier(logistic, "one_vs_rest", "platt", "code_coupling", cv=5)
    np.testing.assert_allclose(p, five.fit_out_of_fold(X, Y), atol=0.1)
