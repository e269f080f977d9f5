"""SVMs of all classes together: scikit-learn's checks, files, limits, and as rivals in compare."""

import io

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.preprocessing import scale
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import polychotomy as pc
from polychotomy.compare import candidates
from polychotomy.compare._peers import Conditions
from polychotomy.compare._together import SoftMaxScores, together

X, Y = load_wine(return_X_y=True)
X, Y = scale(X)[::2], Y[::2]
NOISY = np.where(np.arange(len(Y)) % 6 == 0, (Y + 1) % 3, Y)
WEIGHTS = np.arange(len(Y)) % 3 + 1
LOSSES = ("weston_watkins", "crammer_singer")
Machine = pc.AllTogetherSVC


# Two solutions within the tolerance differ by more than the 1e-7 that these checks allow; SVC and
# LinearSVC fail them too. `test_weights_are_repeated_rows` is the same with a tolerance that fits.
WITHIN_TOLERANCE = {
    f"check_sample_weight_equivalence_on_{kind}_data": "the solver stops within its tolerance"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [Machine(loss, landmarks=20) for loss in LOSSES],
    expected_failed_checks=lambda _: WITHIN_TOLERANCE,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("loss", "times"), [("weston_watkins", 1.0), ("crammer_singer", 2.0)])
def test_two_classes_are_the_binary_machine(loss, times):
    y = NOISY == 1
    clf = Machine(loss, 0.3, landmarks=25, tol=1e-8, max_iter=200_000).fit(X, y)
    z = np.column_stack([clf.landmarks_.features(X), np.ones(len(X))])
    peer = LinearSVC(
        C=0.3 * times, loss="hinge", tol=1e-9, max_iter=1_000_000, fit_intercept=False
    ).fit(z, y)
    # Scores of two classes differ by twice what the binary machine says, but for C-S's margin of 1.
    wanted = peer.decision_function(z) * (2.0 / times)
    np.testing.assert_allclose(clf.decision_function(X), wanted, atol=2e-3)


def test_crammer_singer_is_linear_svc_on_the_features():
    clf = Machine("crammer_singer", 2.0, landmarks=15, tol=1e-6, max_iter=50_000).fit(X, NOISY)
    z = np.column_stack([clf.landmarks_.features(X), np.ones(len(X))])
    peer = LinearSVC(
        C=2.0, multi_class="crammer_singer", tol=1e-6, max_iter=50_000, fit_intercept=False
    )
    peer.fit(z, NOISY)
    np.testing.assert_allclose(clf.class_scores(X), peer.decision_function(z), atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_repeated_rows(loss):
    settings = {"C": 0.5, "gamma": 0.05, "tol": 1e-7, "max_iter": 100_000, "landmarks": 200}
    weighted = Machine(loss, **settings).fit(X, NOISY, sample_weight=WEIGHTS)
    often = np.repeat(np.arange(len(X)), WEIGHTS)
    repeated = Machine(loss, **settings).fit(X[often], NOISY[often])
    np.testing.assert_allclose(weighted.class_scores(X), repeated.class_scores(X), atol=2e-3)
    some = WEIGHTS > 1
    without = Machine(loss, **settings).fit(X, NOISY, sample_weight=some.astype(float))
    alone = Machine(loss, **settings).fit(X[some], NOISY[some])
    np.testing.assert_allclose(without.class_scores(X), alone.class_scores(X), atol=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "poly"])
def test_every_kernel_dense_and_sparse_survives_a_file(loss, kernel):
    dense = Machine(loss, kernel=kernel, landmarks=20).fit(X, Y)
    thin = Machine(loss, kernel=kernel, landmarks=20, n_jobs=2).fit(csr_matrix(X), Y)
    assert dense.score(X, Y) > 0.85
    np.testing.assert_array_equal(thin.predict(X), dense.predict(X))
    file = io.BytesIO()
    pc.save(thin, file)
    file.seek(0)
    assert np.array_equal(pc.load(file).class_scores(X), thin.class_scores(X))


def test_it_is_about_as_right_as_binary_machines():
    new, y = scale(load_wine().data)[1::2], load_wine().target[1::2]
    peer = np.mean(SVC(C=10.0).fit(X, Y).predict(new) == y)
    for loss in LOSSES:
        assert Machine(loss, 10.0).fit(X, Y).score(new, y) >= peer - 0.03


def test_wrong_parameters_are_refused():
    for wrong in ({"loss": "hinge"}, {"C": 0.0}, {"landmarks": None}, {"tol": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Machine(**wrong).fit(X, Y)
    with pytest.raises(ValueError, match="precomputed"):
        Machine(kernel="precomputed").fit(X @ X.T, Y)


@pytest.mark.parametrize("loss", LOSSES)
def test_too_few_passes_are_warned_of(loss):
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 passes"):
        Machine(loss, 1000.0, max_iter=2).fit(X, NOISY)


@pytest.mark.parametrize("peer", together(), ids=lambda peer: peer.name)
def test_rivals_are_soft_max_scores_tempered(peer):
    candidate = candidates()[peer.name]
    assert (candidate.family, candidate.probabilities, candidate.storable) == ("other", True, False)
    quick = candidate.quick(Conditions()).fit(X, Y)
    new, y = scale(load_wine().data)[1::2], load_wine().target[1::2]
    p = quick.predict_proba(new)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert log_loss(y, p) < 0.2
    plain = SoftMaxScores(quick.estimator_.estimator).fit(X, Y)
    np.testing.assert_array_equal(plain.predict(new), plain.estimator_.predict(new))
    np.testing.assert_allclose(p, quick.tempering_.transform(plain.predict_proba(new)))
    tuned = candidate.make(Conditions()).set_params(grid={"estimator__estimator__C": [1e-3, 1.0]})
    assert tuned.fit(X[:, :3], Y).best_params_ == {"estimator__estimator__C": 1.0}


@pytest.mark.parametrize("C", [0.1, 1.0, 3.0])
def test_scores_are_within_the_tolerance_in_any_order_of_rows(C):
    exact = Machine(C=C, tol=1e-5, max_iter=100_000).fit(X, NOISY).class_scores(X)
    for seed, tol in enumerate([1e-1, 1e-2, 1e-3]):
        order = np.random.default_rng(seed).permutation(len(X))
        found = Machine(C=C, tol=tol, max_iter=100_000).fit(X[order], NOISY[order])
        assert abs(found.class_scores(X) - exact).max() <= tol + 1e-5
