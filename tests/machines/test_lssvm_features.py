"""LS-SVMs in features: the exact machine with all rows as landmarks, and plain sums without."""

import io
import pickle
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.datasets import load_wine, make_classification
from sklearn.linear_model import Ridge
from sklearn.preprocessing import scale

import polychotomy as pc
from polychotomy.kernels import Gaussian, choose_landmarks, feature_sums
from polychotomy.machines import TrainingOptions
from polychotomy.machines.layout import lay_out

X, Y = load_wine(return_X_y=True)
X = scale(X)[::2]
Y = Y[::2]
WEIGHTS = np.random.default_rng(1).uniform(0.2, 3.0, len(Y))
CODES = ("one_vs_rest", "one_vs_one", "dense_random")


# With some wrong labels the evidence prefers a finite C. At its bound, leave-one-out is the ratio
# of two numbers of the size of rounding.
NOISY = np.where(np.arange(len(Y)) % 5 == 0, (Y + 1) % 3, Y)


def labels_of(code):
    return pc.PolychotomyClassifier(code=code, random_state=0).fit(X, Y).codebook_.matrix[NOISY]


def fitted(machine, labels, subsets, weights=None, n_jobs=None):
    columns = machine.as_columns()
    state = columns.prepare(X)
    options = TrainingOptions(n_jobs=n_jobs, counts=weights)
    return columns, state, columns.fit(state, labels, subsets, weights, options), options


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("C", ["evidence", "shared_evidence", 3.0])
def test_with_all_rows_as_landmarks_it_is_the_exact_machine(C, code, weights):
    labels, everything = labels_of(code), np.arange(len(Y))
    subsets = [everything, everything[::2], everything[everything % 3 > 0]]
    pairs = []
    for landmarks in (None, len(Y)):
        machine = pc.LSSVM(C=C, gamma=0.02, landmarks=landmarks)
        columns, state, found, options = fitted(machine, labels, subsets, weights)
        answers = []
        for each, rows in zip(found, subsets, strict=True):
            new = columns.margins(each, X * 1.1, probability=True)
            left_out = columns.leave_one_out_scores(each, state, labels, rows, weights, options)
            answers.append((new.mean, new.variance, new.noise, new.probability, left_out.scores))
            assert np.array_equal(each.trained, np.ones(labels.shape[1], dtype=bool))
        pairs.append(answers)
    for exact, ours in zip(*pairs, strict=True):
        for expected, got in zip(exact, ours, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("occam", [False, True])
def test_the_width_by_evidence_is_that_of_the_exact_machine(occam):
    shared = {"sigma2": "evidence", "shared_sigma2": True, "occam": occam}
    exact = pc.LSSVM(**shared).fit(X, Y == 1)
    ours = pc.LSSVM(**shared, landmarks=len(Y)).fit(X, Y == 1)
    assert ours.sigma2_ == pytest.approx(exact.sigma2_, rel=1e-3)
    assert pytest.approx(exact.C_, rel=1e-2) == ours.C_


def test_features_solve_the_ridge_problem_of_scikit_learn():
    machine = pc.LSSVM(C=2.0, gamma=0.05, landmarks=20).fit(X, Y == 0, sample_weight=WEIGHTS)
    landmarks = machine._fitted.landmarks
    z, targets = landmarks.features(X), np.where(Y == 0, 1.0, -1.0)
    ridge = Ridge(alpha=0.5, solver="cholesky").fit(z, targets, sample_weight=WEIGHTS)
    np.testing.assert_allclose(machine.latent(X)[0], ridge.predict(z), atol=1e-9)
    assert machine.support_vectors_.shape == (20, X.shape[1])
    np.testing.assert_array_equal(X[machine.support_], machine.support_vectors_)
    np.testing.assert_allclose(
        Gaussian(0.05).between(X, machine.support_vectors_) @ machine.dual_coef_[0]
        + machine.intercept_,
        ridge.predict(z),
        atol=1e-9,
    )


def test_leave_one_out_is_refitting_with_the_same_landmarks():
    machine = pc.LSSVM(C=2.0, gamma=0.05, landmarks=15)
    labels = np.where(Y == 0, 1, -1).astype(np.int8)[:, None]
    columns, state, (found,), options = fitted(machine, labels, [np.arange(len(Y))], WEIGHTS)
    got = columns.leave_one_out_scores(
        found, state, labels, np.arange(len(Y)), WEIGHTS, options
    ).scores
    z = found.landmarks.features(X)
    for left in (0, 17, 50):
        rest = np.arange(len(Y)) != left
        ridge = Ridge(alpha=0.5, solver="cholesky")
        ridge.fit(z[rest], labels[rest, 0], sample_weight=WEIGHTS[rest])
        assert got[left, 0] == pytest.approx(ridge.predict(z[[left]])[0], abs=1e-9)


def test_variance_is_that_of_the_bayesian_linear_model():
    machine = pc.LSSVM(gamma=0.05, landmarks=12).fit(X, Y == 0)
    landmarks = machine._fitted.landmarks
    g = np.column_stack([landmarks.features(X), np.ones(len(X))])
    prior = np.append(np.full(12, machine.mu_), 0.0)
    hessian = np.diag(prior) + machine.zeta_ * g.T @ g
    new = landmarks.features(X * 1.3)
    g = np.column_stack([new, np.ones(len(X))])
    rest = 1.0 - np.sum(new**2, axis=1)
    expected = np.einsum("ij,ij->i", g, np.linalg.solve(hessian, g.T).T) + rest / machine.mu_
    np.testing.assert_allclose(machine.latent(X * 1.3)[1], expected, rtol=1e-8)
    # Far from all landmarks it is the variance before training, not 0.
    assert machine.latent(np.full((1, X.shape[1]), 50.0))[1][0] > 0.9 / machine.mu_


@settings(max_examples=25, deadline=None)
@given(
    data=st.data(),
    n_threads=st.integers(1, 3),
    single=st.booleans(),
    weighted=st.booleans(),
)
def test_sums_are_those_of_numpy_for_any_folds_and_blocks(data, n_threads, single, weighted):
    n_rows = data.draw(st.integers(2, 60))
    rows = X[:n_rows].astype(np.float32 if single else np.float64)
    numbers = st.integers(0, 2)
    labels = np.array(
        [[data.draw(st.sampled_from([-1, 0, 1])) for _ in range(2)] for _ in range(n_rows)],
        dtype=np.int8,
    )
    folds = np.array([data.draw(numbers) for _ in range(n_rows)])
    subsets = [np.arange(n_rows), *(np.flatnonzero(folds != k) for k in range(3))]
    # A row that occurs twice counts twice.
    subsets.append(np.repeat(np.flatnonzero(folds == 0), 2))
    weights = WEIGHTS[:n_rows] if weighted else None
    landmarks = choose_landmarks(Gaussian(0.05), rows, 8)
    layout = lay_out(labels, subsets, weights)
    arguments = landmarks, rows, layout.rows, layout.groups, layout.cells, weights
    sums = feature_sums(*arguments, n_threads=n_threads)
    again = feature_sums(*arguments, n_threads=1)
    assert np.array_equal(sums.products, again.products)
    assert np.array_equal(sums.sums, again.sums)
    z = landmarks.features(rows) - sums.origin
    v = np.ones(n_rows) if weights is None else weights
    tolerance = 2e-4 if single else 1e-10
    for number, subset in enumerate(subsets):
        for column in range(2):
            counts = np.bincount(subset, minlength=n_rows) * (labels[:, column] != 0)
            own = layout.taking_part(number, column)
            assert counts.sum() == own @ layout.sizes
            expected = (z * (counts * v)[:, None]).sum(axis=0)
            np.testing.assert_allclose(own @ sums.sums, expected, atol=tolerance * n_rows)
            firsts = np.unique(layout.cells, return_index=True)[1]
            products = np.tensordot(own[firsts], sums.products, axes=1)
            # A cell counts if any of its groups does: they share participants and subsets.
            expected = np.tril(z.T @ (z * (counts * v)[:, None]))
            np.testing.assert_allclose(products, expected, atol=tolerance * n_rows)


def test_threads_change_no_bit():
    X, y = make_classification(9000, 10, n_informative=6, n_classes=3, random_state=0)
    X = X.astype(np.float32)
    scores = []
    for n_jobs in (1, 3):
        machine = pc.LSSVM(C=1.0, gamma=0.05, landmarks=700)
        clf = pc.PolychotomyClassifier(machine, "one_vs_rest", n_jobs=n_jobs, cv=2).fit(X, y)
        scores.append(clf.predict_proba(X[:500]))
    assert np.array_equal(*scores)
    double = pc.PolychotomyClassifier(machine, "one_vs_rest", cv=2).fit(X.astype(float), y)
    np.testing.assert_allclose(double.predict_proba(X[:500]), scores[0], atol=2e-4)


@pytest.mark.parametrize(("C", "precision"), [(3.0, np.float32), (1e9, np.float64)])
def test_single_precision_rows_have_its_scores_where_that_is_safe(C, precision):
    rows = np.random.default_rng(0).standard_normal((700, 4)).astype(np.float32)
    y = (rows[:, :2] @ [1.0, 2.0] > 0) + (rows[:, 2] > 0).astype(int)
    clf = pc.PolychotomyClassifier(
        pc.LSSVM(C=C, gamma=0.1, landmarks=60), "one_vs_rest", "none", "winner_takes_all"
    ).fit(rows, y)
    fitted = clf.machines_.fitted
    assert fitted.precision(rows) == precision
    assert fitted.precision(rows.astype(float)) == np.float64
    expected = clf.binary_scores(rows.astype(float))
    difference = np.abs(clf.binary_scores(rows) - expected).max()
    # With C = 1e9 the coefficients are so large that the kernel's rounding would be seen.
    assert (difference > 0) == (precision == np.float32)
    assert difference < 1e-3
    p, q = clf.predict_proba(rows), clf.predict_proba(rows.astype(float))
    np.testing.assert_allclose(p, q, atol=1e-4)
    # What prediction has computed is in no file.
    for part in (fitted, fitted.pieces[0]):
        assert set(vars(pickle.loads(pickle.dumps(part)))) == {field.name for field in fields(part)}


def test_blocks_of_rows_have_the_scores_of_single_rows():
    rows = np.random.default_rng(0).standard_normal((40_000, 2))
    y = (rows[:, 0] > 0).astype(int) + (rows[:, 1] > 0)
    for code in ("one_vs_rest", "one_vs_one"):
        machine = pc.LSSVM(C=3.0, gamma=0.1, landmarks=10)
        clf = pc.PolychotomyClassifier(machine, code, cv="prefit").fit(rows[:500], y[:500])
        columns, fitted = machine.as_columns(), clf.machines_.fitted
        assert fitted.landmarks.block_rows < len(rows) / 2
        for probability in (False, True):
            margins = columns.margins(fitted, rows, probability)
            some = np.arange(0, len(rows), 3999)
            few = columns.margins(fitted, rows[some], probability)
            np.testing.assert_allclose(margins.mean[some], few.mean, rtol=1e-9, atol=1e-12)
            for name in ("variance", "probability") if probability else ():
                found, expected = getattr(margins, name)[some], getattr(few, name)
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("code", CODES)
def test_subsets_in_turn_give_the_same_machines(code):
    labels, everything = labels_of(code), np.arange(len(Y))
    subsets = [everything, *(everything[everything % 4 != k] for k in range(4))]
    answers = []
    # Room for the solutions and a few sums, but not for those of all subsets.
    matrix, working = 8.0 * 30**2, 3 * 8.0 * (1 << 23)
    enough = matrix * (len(subsets) * labels.shape[1] + 7) + working
    for limit in (None, enough):
        machine = pc.LSSVM(gamma=0.05, landmarks=30, memory_limit=limit)
        columns, _, found, _ = fitted(machine, labels, subsets)
        answers.append([columns.margins(each, X).mean for each in found])
    for first, second in zip(*answers, strict=True):
        np.testing.assert_allclose(first, second, atol=1e-8)
    with pytest.raises(MemoryError, match="Use fewer landmarks"):
        fitted(pc.LSSVM(landmarks=30, memory_limit=1000), labels, subsets)


def test_a_path_of_C_gives_the_machines_of_single_fits():
    labels, everything = labels_of("one_vs_rest"), np.arange(len(Y))
    splits = [(everything[everything % 3 != k], everything[everything % 3 == k]) for k in range(3)]
    machine = pc.LSSVM(C=1.0, gamma=0.05, landmarks=25)
    columns = machine.as_columns()
    state, options = columns.prepare(X), TrainingOptions()
    values = [0.1, 10.0]
    path = columns.held_out_path(state, labels, splits, values, WEIGHTS, options, True)
    for C, found in zip(values, path, strict=True):
        own = pc.LSSVM(C=C, gamma=0.05, landmarks=25).as_columns()
        alone = own.fit(state, labels, [train for train, _ in splits], WEIGHTS, options)
        for fold, (_, test) in enumerate(splits):
            expected = own.margins(alone[fold], X[test], True)
            np.testing.assert_allclose(found.tested[fold].mean, expected.mean, atol=1e-8)
            np.testing.assert_allclose(found.tested[fold].variance, expected.variance, rtol=1e-6)
            again = columns.margins(found.fitted(fold), X[test], True)
            np.testing.assert_allclose(again.probability, expected.probability, atol=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "poly"])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_pipe_works_with_every_kernel_and_survives_a_file(kernel, sparse):
    rows = csr_matrix(X) if sparse else X
    machine = pc.LSSVM(kernel=kernel, landmarks=20)
    clf = pc.PolychotomyClassifier(machine, "one_vs_rest", tempering=True).fit(rows, Y)
    assert clf.score(rows, Y) > 0.9
    file = io.BytesIO()
    pc.save(clf, file)
    file.seek(0)
    assert np.array_equal(pc.load(file).predict_proba(rows), clf.predict_proba(rows))


def test_leave_one_out_calibration_works_in_features():
    machine = pc.LSSVM(landmarks=25)
    clf = pc.PolychotomyClassifier(
        machine, "one_vs_rest", decoder="shrunk_soft_max", cv="leave_one_out"
    ).fit(X, Y)
    exact = pc.PolychotomyClassifier(
        pc.LSSVM(), "one_vs_rest", decoder="shrunk_soft_max", cv="leave_one_out"
    ).fit(X, Y)
    assert clf.score(X, Y) > 0.95
    assert np.abs(clf.predict_proba(X) - exact.predict_proba(X)).mean() < 0.05


def test_constant_rows_and_copies_have_an_answer():
    rows = np.repeat(X[:4], 20, axis=0)
    y = np.arange(80) % 2
    machine = pc.LSSVM(landmarks=50, gamma=0.05).fit(rows, y)
    assert len(machine.support_) <= 4
    exact = pc.LSSVM(gamma=0.05).fit(rows, y)
    np.testing.assert_allclose(machine.predict_proba(rows), exact.predict_proba(rows), atol=1e-6)


def test_wrong_landmarks_are_refused():
    for wrong in (0, -3, 2.5, "many", True):
        with pytest.raises(ValueError, match="landmarks"):
            pc.LSSVM(landmarks=wrong).fit(X, Y == 0)
    with pytest.raises(ValueError, match="landmark_choice"):
        pc.LSSVM(landmarks=5, landmark_choice="best").fit(X, Y == 0)
    with pytest.raises(ValueError, match="precomputed"):
        pc.LSSVM(kernel="precomputed", landmarks=5).fit(X @ X.T, Y == 0)
