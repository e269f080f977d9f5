"""The learned metric, against refits and finite differences."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, ndtri
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline

import polychotomy as pc
from polychotomy.core.rows import chosen_rows
from polychotomy.ensemble.metric_rounds import (
    BIAS_PENALTY,
    FIRST_GAMMA,
    FIRST_WIDTH,
    NARROWER,
    TEMPERATURE_PENALTY,
    Judge,
    Widths,
    squared_slopes,
)
from polychotomy.ensemble.views import learn_view
from polychotomy.kernels import Gaussian, Laplacian
from polychotomy.machines.lssvm.folds_out import Folds, FoldsOutPath
from polychotomy.machines.lssvm.solve import factorise
from polychotomy.machines.lssvm.tridiagonal import leave_one_out, tridiagonalise, with_targets
from polychotomy.machines.lssvm.unit_out import UnitOutPath
from polychotomy.pipe.folds import FoldRows

X, y = load_iris(return_X_y=True)
SMALL_X, SMALL_y = X[::3], y[::3]
KERNELS = ("rbf", "laplacian")


def plain_gram(kernel, A, B):
    gap = A[:, None] - B
    return np.exp(-0.5 * (gap**2).sum(axis=2) if kernel == "rbf" else -np.abs(gap).sum(axis=2))


def solve(gram, targets, gamma, weights=None):
    return factorise(gram, gamma, weights).solve(gram, targets, gamma)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(12, 3))
    targets = np.where(rng.integers(0, 3, 12)[:, None] == np.arange(3), 1.0, -1.0)
    return plain_gram("rbf", Z, Z), targets


@pytest.mark.parametrize("gamma", [0.03, 1.0, 300.0])
def test_scores_without_a_unit_are_those_of_refits(problem, gamma):
    gram, targets = problem
    weights = np.array([1, 2, 3, 1, 0.5, 1, 2.5, 1, 1, 4, 1, 1], dtype=float)
    scores = UnitOutPath(gram, targets, weights).scores(gamma)
    for row in range(len(gram)):
        left = weights.copy()
        left[row] -= min(1.0, weights[row])
        kept = left > 0
        fit = solve(gram[np.ix_(kept, kept)], targets[kept], gamma, left[kept])
        np.testing.assert_allclose(scores[row], fit.scores(gram[[row]][:, kept])[0], atol=1e-9)


@pytest.mark.parametrize("n_scored", [1, 5, 11, 12])
def test_scores_of_some_rows_are_those_of_all(problem, n_scored):
    gram, targets = problem
    weights = np.array([1, 2, 3, 1, 0.5, 1, 2.5, 1, 1, 4, 1, 1], dtype=float)
    some = UnitOutPath(gram, targets, weights, n_scored).scores(3.0)
    every = UnitOutPath(gram, targets, weights).scores(3.0)
    np.testing.assert_allclose(some, every[-n_scored:], atol=1e-12)


def test_scores_and_fits_agree_with_the_other_solvers(problem):
    gram, targets = problem
    path = UnitOutPath(gram, targets)
    other = with_targets(tridiagonalise(gram), targets)
    np.testing.assert_allclose(path.scores(10.0), leave_one_out(other, 10.0), atol=1e-10)
    fit, wanted = path.fit(10.0), solve(gram, targets, 10.0)
    np.testing.assert_allclose(fit.coefficients, wanted.coefficients, atol=1e-10)
    np.testing.assert_allclose(fit.biases, wanted.biases, atol=1e-10)


def refitted(gram, targets, weights, folds, gamma):
    """Return the score of every row by a fit to the training part of its fold."""
    scores = np.empty(targets.shape)
    for trained, tested in zip(*folds, strict=True):
        fit = solve(gram[np.ix_(trained, trained)], targets[trained], gamma, weights[trained])
        scores[tested] = fit.scores(gram[np.ix_(tested, trained)])
    return scores


def some_folds(fold, n_folds, *, apart=()):
    """Return folds by their numbers; the rows `apart` are in no training part but the last."""
    tested = np.arange(n_folds)[:, None] == fold
    trained = ~tested
    trained[:-1, list(apart)] = False
    return Folds(trained, tested)


@pytest.mark.parametrize("gamma", [0.03, 1.0, 300.0, 1e6])
@pytest.mark.parametrize("weight", [1.0, 1e-9])
def test_scores_without_folds_are_those_of_refits(problem, gamma, weight):
    gram, targets = problem
    weights = np.array([1, 2, 3, 1, 0.5, 1, 2.5, 1, 1, 4, 1, weight], dtype=float)
    folds = some_folds(np.arange(12) % 3, 3, apart=(0, 7))
    path = FoldsOutPath(gram, targets, weights, folds)
    scores = path.scores(gamma)
    wanted = refitted(gram, targets, weights, folds, gamma)
    np.testing.assert_allclose(scores, wanted, rtol=1e-9, atol=1e-9)
    for n_scored in (1, 5, 12):
        some = FoldsOutPath(gram, targets, weights, folds, n_scored).scores(gamma)
        np.testing.assert_allclose(some, wanted[-n_scored:], rtol=1e-9, atol=1e-9)
    # The fit of all rows is the same, whether its scores are known or not.
    for other in (UnitOutPath(gram, targets, weights), path):
        fit = solve(gram, targets, gamma, weights)
        np.testing.assert_allclose(other.fit(gamma).coefficients, fit.coefficients, rtol=1e-6)
        np.testing.assert_allclose(other.fit(gamma).biases, fit.biases, rtol=1e-8)


def test_folds_of_one_row_leave_one_out(problem):
    gram, targets = problem
    single = some_folds(np.arange(12), 12)
    scores = FoldsOutPath(gram, targets, None, single).scores(10.0)
    np.testing.assert_allclose(scores, UnitOutPath(gram, targets).scores(10.0), atol=1e-9)


def test_without_rows_to_train_on_the_score_is_the_mean_target(problem):
    gram, targets = problem
    weights = np.arange(1.0, 13.0)
    scores = FoldsOutPath(gram, targets, weights, some_folds(np.zeros(12), 1)).scores(1.0)
    np.testing.assert_allclose(scores, np.tile(weights @ targets / 78.0, (12, 1)), atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), kernel=st.sampled_from(KERNELS))
def test_slopes_are_those_of_finite_differences(seed, kernel):
    rng = np.random.default_rng(seed)
    Z, a = rng.normal(size=(7, 3)), rng.normal(size=(7, 2))
    # A value that several rows have: the slope there is the mean of both sides.
    Z[:3, 1] = 0.5
    factors = rng.uniform(0.1, 2.0, 3)
    gram = plain_gram(kernel, Z * factors, Z * factors)
    rows = np.array([0, 2, 3, 6])
    found = squared_slopes(kernel, Z, factors, gram[rows], a, rows)
    step = 1e-6
    for j in range(3):
        ahead, behind = Z.copy(), Z.copy()
        ahead[:, j] += step
        behind[:, j] -= step
        scores = [plain_gram(kernel, at * factors, Z * factors) @ a for at in (ahead, behind)]
        slopes = (scores[0] - scores[1]) / (2 * step)
        np.testing.assert_allclose(
            found[:, j], (slopes[rows] ** 2).sum(axis=1), rtol=1e-4, atol=1e-6
        )


@pytest.mark.parametrize("by_folds", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_likelihood_is_that_of_refits_in_the_metric(kernel, by_folds):
    rows = np.arange(len(SMALL_y))
    fold = rows // 3 % 5 if by_folds else rows
    splits = [(rows[fold != number], rows[fold == number]) for number in np.unique(fold)]
    cv = splits if by_folds else "leave_one_out"
    metric = pc.LearnedMetric(kernel, cv=cv).fit(SMALL_X, SMALL_y)
    Z = metric.transform(SMALL_X)
    gram, targets = plain_gram(kernel, Z, Z), np.where(SMALL_y[:, None] == np.arange(3), 1.0, -1.0)
    folds = some_folds(fold, len(splits))
    scores = refitted(gram, targets, np.ones(len(Z)), folds, metric.C_)

    def nll(theta):
        return -log_softmax(theta[0] * scores + theta[1:], axis=1)[rows, SMALL_y].sum()

    def penalised(theta):
        squares = BIAS_PENALTY * (theta[1:] ** 2).sum() + TEMPERATURE_PENALTY * theta[0] ** 2
        return nll(theta) + 0.5 * squares

    best = minimize(penalised, np.ones(4), method="BFGS", options={"gtol": 1e-8})
    assert metric.nll_ == pytest.approx(nll(best.x) / len(Z), rel=1e-5)
    assert metric.nll_ == min(entry["nll"] for entry in metric.history_)


@pytest.mark.parametrize("kernel", KERNELS)
def test_inputs_that_do_not_matter_get_small_weights(kernel):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(150, 5))
    labels = (A[:, 1] ** 2 + A[:, 3] ** 2 > 1.4).astype(int)
    weights = pc.LearnedMetric(kernel).fit(A, labels).feature_weights_
    assert weights.max() == 1.0
    assert min(weights[[1, 3]]) > 3 * max(weights[[0, 2, 4]])
    same = pc.LearnedMetric(kernel, rounds=0).fit(A, labels).feature_weights_
    np.testing.assert_array_equal(same, np.ones(5))


def test_weights_are_repetitions():
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 4, len(SMALL_y))
    counts[[0, 20, 40]] = 1
    weighted = pc.LearnedMetric().fit(SMALL_X, SMALL_y, counts)
    repeated = pc.LearnedMetric().fit(
        np.repeat(SMALL_X, counts, axis=0), np.repeat(SMALL_y, counts)
    )
    assert weighted.C_ == repeated.C_
    assert weighted.nll_ == pytest.approx(repeated.nll_)
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), rtol=1e-6, atol=1e-9)


def test_ranks_become_normal_scores():
    rng = np.random.default_rng(0)
    column = np.round(rng.normal(size=60), 1)
    A = np.stack([column, rng.integers(0, 5, 60), np.full(60, 7.0)], axis=1)
    Z = learn_view("ranks", A, np.ones(60)).transform(A)
    scores = ndtri((rankdata(column) - 0.5) / 60)
    np.testing.assert_allclose(Z[:, 0], (scores - scores.mean()) / scores.std())
    np.testing.assert_allclose(Z[:, 1], (A[:, 1] - A[:, 1].mean()) / A[:, 1].std())
    np.testing.assert_allclose(Z[:, 2], 0.0, atol=1e-12)


def test_ranks_do_not_feel_what_keeps_the_order():
    A, labels = load_wine(return_X_y=True)
    A, labels = A[::3, :4], labels[::3]
    ranks = pc.LearnedMetric(views=["ranks"], rounds=1)
    wanted = clone(ranks).fit(A, labels).transform(A)
    bent = np.exp(3.0 * A / A.max(axis=0))
    np.testing.assert_allclose(ranks.fit(bent, labels).transform(bent), wanted, atol=1e-8)


def test_units_and_shifts_do_not_matter():
    metric = pc.LearnedMetric("laplacian", rounds=1)
    wanted = clone(metric).fit(SMALL_X, SMALL_y).transform(SMALL_X)
    other = SMALL_X * np.array([1e-3, 1.0, 1e4, 7.0]) - 30.0
    np.testing.assert_allclose(metric.fit(other, SMALL_y).transform(other), wanted, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", [pc.SVM, pc.KernelLogisticRegression, pc.LSSVM])
def test_all_kernel_machines_can_use_it(machine, kernel):
    width = {"sigma2": 1.0} if kernel == "rbf" else {"gamma": 1.0}
    pipe = pc.PolychotomyClassifier(machine(kernel=kernel, **width))
    clf = make_pipeline(pc.LearnedMetric(kernel, rounds=1), pipe).fit(X[::2], y[::2])
    assert clf.score(X[1::2], y[1::2]) > 0.92
    metric = clf[0]
    Z = metric.transform(SMALL_X)
    np.testing.assert_allclose(
        (Gaussian(0.5) if kernel == "rbf" else Laplacian(1.0)).between(Z, Z),
        plain_gram(kernel, Z, Z),
    )


def test_metric_classifiers_take_kernel_width_and_C_from_the_metric():
    own = pc.MetricClassifier(metric=pc.LearnedMetric("laplacian", rounds=1)).fit(X[::2], y[::2])
    machine = own.estimator_.machine
    assert (machine.kernel, machine.gamma, machine.C) == ("laplacian", 1.0, own.metric_.C_)
    assert own.feature_weights_ is own.metric_.feature_weights_
    assert own.score(X[1::2], y[1::2]) > 0.92
    given = pc.PolychotomyClassifier(pc.SVM(C=3.0), "one_vs_rest")
    other = pc.MetricClassifier(given, pc.LearnedMetric(rounds=0)).fit(X[::2], y[::2])
    assert other.estimator_.machine.get_params()["sigma2"] == 1.0
    assert other.estimator_.machine.C == 3.0
    assert given.machine.sigma2 is None
    together = pc.KernelMultinomialRegression(landmarks=30, C=1.0)
    third = pc.MetricClassifier(together, pc.LearnedMetric(rounds=0)).fit(X[::2], y[::2])
    assert (third.estimator_.sigma2, third.estimator_.C, together.sigma2) == (1.0, 1.0, None)
    assert third.score(X[1::2], y[1::2]) > 0.9
    with pytest.raises(TypeError, match=r"machine SVM\(\), KernelLogisticRegression\(\) or LSSVM"):
        pc.MetricClassifier(pc.ProbabilisticSVC()).fit(X, y)


def test_many_rows_are_thinned_out_evenly():
    numbers = np.repeat([0, 1, 2], [600, 390, 10])
    weights = np.ones(1000)
    weights[:10] = 0.0
    kept = chosen_rows(numbers, weights, 99)
    np.testing.assert_allclose(np.bincount(numbers[kept]), [59, 39, 1], atol=2)
    assert kept.min() >= 10
    rare = np.repeat([0, 1], [999, 1])
    assert np.bincount(rare[chosen_rows(rare, np.ones(1000), 20)]).tolist() == [20, 1]
    few, rows = pc.LearnedMetric(max_rows=50).fit(X, y), chosen_rows(y, np.ones(150), 50)
    np.testing.assert_array_equal(np.bincount(y[rows]), [17, 16, 17])
    np.testing.assert_array_equal(
        few.transform(X), pc.LearnedMetric().fit(X[rows], y[rows]).transform(X)
    )


def test_views_are_chosen_on_some_rows_and_weights_on_all(monkeypatch):
    monkeypatch.setattr("polychotomy.ensemble.metric.ROWS_FOR_VIEWS", 40)
    metric = pc.LearnedMetric().fit(SMALL_X, SMALL_y)
    assert [entry["round"] for entry in metric.history_[:4]] == [0, 0, 0, 1]
    rows = chosen_rows(SMALL_y, np.ones(50), 40)
    few = pc.LearnedMetric(rounds=0).fit(SMALL_X[rows], SMALL_y[rows])
    assert few.view_ == metric.view_
    Z = metric.transform(SMALL_X)
    gram, targets = plain_gram("rbf", Z, Z), np.where(SMALL_y[:, None] == np.arange(3), 1.0, -1.0)
    judge = Judge("rbf", Z, SMALL_y, np.ones(50))
    scores = UnitOutPath(gram, targets).scores(metric.C_)
    assert metric.nll_ == pytest.approx(judge.nll(scores, np.zeros(4))[0], rel=1e-6)


def test_weights_are_learned_on_some_rows_and_the_width_on_all(monkeypatch):
    monkeypatch.setattr("polychotomy.ensemble.metric.ROWS_FOR_VIEWS", 30)
    monkeypatch.setattr("polychotomy.ensemble.metric.ROWS_FOR_ROUNDS", 40)
    metric = pc.LearnedMetric(views=["standardised"]).fit(SMALL_X, SMALL_y)
    view, ones = learn_view("standardised", SMALL_X, np.ones(50)), np.ones(SMALL_X.shape[1])
    parts = []
    for number in (30, 40):
        rows = chosen_rows(SMALL_y, np.ones(50), number)
        parts.append(Judge("rbf", view.transform(SMALL_X[rows]), SMALL_y[rows], np.ones(number)))
    first = Widths(parts[0], ones).climb(FIRST_WIDTH, FIRST_GAMMA)
    found = Widths(parts[1], ones).climb(first.width, first.gamma)
    best = min([found, *parts[1].renew(found, 3)], key=lambda one: one.nll)
    np.testing.assert_array_equal(metric.feature_weights_, best.weights)
    order = [*(row for row in range(50) if row not in rows), *rows]
    Z = view.transform(SMALL_X)[order]
    every = Judge("rbf", Z, SMALL_y[order], np.ones(50), 40)
    last = Widths(every, best.weights).climb(best.width, best.gamma, NARROWER)
    plain = Judge("rbf", Z[10:], SMALL_y[order][10:], np.ones(40))
    gram = plain_gram("rbf", Z * last.weights * last.scale, Z * last.weights * last.scale)
    scores = UnitOutPath(gram, every.targets).scores(metric.C_)[10:]
    assert metric.nll_ == pytest.approx(plain.nll(scores, np.zeros(4))[0], rel=1e-6)
    assert (metric.nll_, metric.scale_) == (last.nll, last.scale)
    assert metric.history_[-1]["nll"] == metric.nll_


def test_folds_of_all_rows_hold_for_those_that_are_used(monkeypatch):
    monkeypatch.setattr("polychotomy.ensemble.metric.ROWS_FOR_VIEWS", 30)
    monkeypatch.setattr("polychotomy.ensemble.metric.ROWS_FOR_ROUNDS", 40)
    weights = np.where(np.arange(150) % 8, 1.0 + np.arange(150) % 2, 0.0)
    splits = list(GroupKFold(4).split(X, y, np.arange(150) // 6))
    metric = pc.LearnedMetric(max_rows=60, cv=splits).fit(X, y, weights)
    used = chosen_rows(y, weights, 60)
    fold = np.argmax([np.isin(used, test) for _, test in splits], axis=0)
    Z = metric.transform(X[used])
    gram, targets = plain_gram("rbf", Z, Z), np.where(y[used][:, None] == np.arange(3), 1.0, -1.0)
    scores = refitted(gram, targets, weights[used], some_folds(fold, 4), metric.C_)
    judged = chosen_rows(y[used], weights[used], 40)
    judge = Judge("rbf", Z[judged], y[used][judged], weights[used][judged])
    assert metric.nll_ == pytest.approx(judge.nll(scores[judged], np.zeros(4))[0], rel=1e-6)


@pytest.mark.filterwarnings("ignore:Classes 0 and 1 have fewer rows:UserWarning")
def test_a_number_of_folds_means_those_by_content():
    rows = np.arange(len(SMALL_y))
    splits = FoldRows(SMALL_X, SMALL_y, rows, None).stratified(4)
    numbered, given = (pc.LearnedMetric(cv=cv).fit(SMALL_X, SMALL_y) for cv in (4, splits))
    np.testing.assert_array_equal(numbered.transform(X), given.transform(X))
    two = pc.LearnedMetric(rounds=0, cv=5).fit(X[[0, 99]], y[[0, 99]])
    assert np.isfinite(two.transform(X)).all()


def test_folds_of_a_metric_classifier_are_those_of_both():
    splits = list(GroupKFold(4).split(SMALL_X, SMALL_y, np.arange(50) // 2))
    clf = pc.MetricClassifier(cv=splits)
    p = clf.fit_out_of_fold(SMALL_X, SMALL_y)
    metric = pc.LearnedMetric(cv=splits).fit(SMALL_X, SMALL_y)
    Z = metric.transform(SMALL_X)
    np.testing.assert_array_equal(clf.metric_.transform(SMALL_X), Z)
    machine = pc.LSSVM(**metric.parameters_for(pc.LSSVM()))
    pipe = pc.PolychotomyClassifier(machine, "one_vs_rest", "none", "shrunk_soft_max", cv=splits)
    np.testing.assert_allclose(p, pipe.fit_out_of_fold(Z, SMALL_y), atol=1e-10)


def test_single_precision_of_folds_is_close_to_double(monkeypatch, problem):
    gram, targets = problem
    folds = some_folds(np.arange(12) % 4, 4)
    wanted = {gamma: FoldsOutPath(gram, targets, None, folds).scores(gamma) for gamma in (0.1, 30)}
    monkeypatch.setattr("polychotomy.machines.lssvm.solve.MOST_ROWS_IN_DOUBLE", 5)
    for gamma, scores in wanted.items():
        single = FoldsOutPath(gram, targets, None, folds)
        np.testing.assert_allclose(single.scores(gamma), scores, atol=2e-4)
        assert not np.array_equal(single.scores(gamma), scores)


def test_single_precision_is_close_to_double(monkeypatch, problem):
    gram, targets = problem
    wanted = UnitOutPath(gram, targets)
    wanted_scores, wanted_fit = wanted.scores(10.0), wanted.fit(10.0)
    monkeypatch.setattr("polychotomy.machines.lssvm.solve.MOST_ROWS_IN_DOUBLE", 5)
    single = UnitOutPath(gram, targets)
    found = single.scores(10.0)
    np.testing.assert_allclose(found, wanted_scores, atol=1e-3)
    assert np.abs(found - wanted_scores).max() > 0.0
    np.testing.assert_allclose(
        single.fit(10.0).coefficients, wanted_fit.coefficients, rtol=1e-3, atol=1e-3
    )
    factor = factorise(gram, 10.0)
    left_out = factor.leave_one_out(targets, 10.0)
    np.testing.assert_allclose(left_out, wanted_scores, atol=2e-5)
    assert np.abs(left_out - wanted_scores).max() > 1e-10
    # A small ridge is not left to single precision.
    double = UnitOutPath(gram, targets).scores(1e6)
    monkeypatch.undo()
    np.testing.assert_array_equal(double, UnitOutPath(gram, targets).scores(1e6))


def test_weights_of_any_size_give_finite_scores():
    rng = np.random.default_rng(0)
    A, weights = rng.normal(size=(40, 3)), 10.0 ** rng.uniform(-12, 12, 40)
    for name in ("standardised", "ranks"):
        assert np.isfinite(learn_view(name, A, weights).transform(A)).all()
    view = learn_view("ranks", A, weights)
    for j in range(3):
        knots = view.scores[view.starts[j] : view.starts[j + 1]]
        assert (np.diff(knots) >= 0.0).all()
        assert np.abs(knots).max() < 8.3


def test_hard_rows_are_no_problem():
    # a constant input, rows that are alike, a class of one row
    A = np.zeros((12, 3))
    A[:, 0] = np.repeat([0.0, 1.0, 5.0], [6, 5, 1])
    labels = np.repeat(["a", "b", "c"], [6, 5, 1])
    for kernel in KERNELS:
        metric = pc.LearnedMetric(kernel).fit(A, labels)
        assert np.isfinite(metric.transform(A + 1e6)).all()
        assert metric.feature_weights_[0] == 1.0
    alike = pc.LearnedMetric().fit(np.ones((6, 2)), [0, 1] * 3)
    assert np.isfinite(alike.transform(np.ones((1, 2)))).all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"kernel": "linear"}, "Unknown kernel 'linear'"),
        ({"views": "ranks"}, "views must be a list"),
        ({"views": []}, "views must be a list"),
        ({"views": ["rank"]}, "Unknown view 'rank'"),
        ({"rounds": -1}, "rounds must be a whole number of at least 0"),
        ({"rounds": 1.5}, "rounds must be a whole number"),
        ({"max_rows": 1}, "max_rows must be a whole number of at least 2"),
        ({"cv": "prefit"}, "Unknown cv 'prefit'"),
        ({"cv": 1}, "cv must be at least 2 folds"),
        ({"cv": [(np.arange(100), np.arange(100, 150))]}, "cv must test every row exactly once"),
    ],
)
def test_bad_parameters_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        pc.LearnedMetric(**options).fit(X, y)


def test_bad_rows_are_refused():
    with pytest.raises(ValueError, match="at least two classes"):
        pc.LearnedMetric().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="zero for every row of class 2"):
        pc.LearnedMetric().fit(X, y, (y < 2).astype(float))
    with pytest.raises(TypeError, match="mixes class labels"):
        pc.LearnedMetric().fit(X[:4], [0, "a", 0, "a"])


def test_outputs_have_the_names_of_the_inputs():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(SMALL_X, columns=[f"x{j}" for j in range(SMALL_X.shape[1])])
    metric = pc.LearnedMetric(rounds=0).fit(frame, SMALL_y)
    assert metric.get_feature_names_out().tolist() == list(frame.columns)
    out = metric.set_output(transform="pandas").transform(frame)
    assert list(out.columns) == list(frame.columns)


@pytest.mark.parametrize(
    ("gamma", "weight"), [(1.0, 1.0), (1.0, 1e3), (1e-80, 1.0), (1e-42, 1.0), (1e-8, 1e8)]
)
def test_leave_one_out_scores_in_single_precision(gamma, weight, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, :1] + 0.3 * rng.normal(size=(60, 1)) > 0, 1.0, -1.0)
    gram = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=-1))
    weights = np.ones(60)
    weights[7] = weight
    double = factorise(gram, gamma, weights).leave_one_out(y, gamma)
    monkeypatch.setattr("polychotomy.machines.lssvm.solve.MOST_ROWS_IN_DOUBLE", 5)
    single = factorise(gram, gamma, weights).leave_one_out(y, gamma)
    np.testing.assert_allclose(single, double, atol=1e-4)
    if weight != 1e3:  # at the limit
        assert np.array_equal(single, double) == (gamma != 1.0)


@pytest.mark.parametrize("machine", [None, "tuned", "multinomial"])
def test_nothing_is_said_about_the_scales_of_weighted_inputs(machine, monkeypatch):
    metric = pc.LearnedMetric("rbf", rounds=1).fit(SMALL_X, SMALL_y)
    # The last input hardly counts.
    metric.feature_weights_ = np.array([1.0, 0.5, 0.2, 1e-5])
    monkeypatch.setattr(pc.LearnedMetric, "fit", lambda self, *_: metric)
    tuned = pc.TwoStepSearchCV(
        pc.PolychotomyClassifier(pc.SVM()), {"machine__C": [1.0, 10.0]}, None, show_progress=False
    )
    multinomial = pc.KernelMultinomialRegression()
    estimator = {"tuned": tuned, "multinomial": multinomial}.get(machine)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pc.MetricClassifier(estimator).fit(SMALL_X, SMALL_y)
    assert not [one for one in caught if "scales" in str(one.message)]
    with pytest.warns(UserWarning, match="scales of the inputs differ"):
        pc.PolychotomyClassifier(pc.SVM()).fit(metric.transform(SMALL_X), SMALL_y)
