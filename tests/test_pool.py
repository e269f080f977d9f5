"""Pools: weights against a general optimiser, answers against their definition."""

import io
import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.cross_decomposition import PLSSVD, PLSRegression
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, VotingRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.impute import IterativeImputer
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler, TargetEncoder
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import polychotomy as pc
from polychotomy.core.empirical_bayes import fit_shrunk
from polychotomy.core.math import softmax
from polychotomy.ensemble.boosted_trees import MOST_SECONDS, BoostedTrees
from polychotomy.ensemble.fold_mean import FoldMean
from polychotomy.ensemble.member_seconds import expected_seconds
from polychotomy.ensemble.members import Rows, fit_members, folds_among, holds_rows_out
from polychotomy.ensemble.pool import (
    boosted_trees,
    default_members,
    expected_total,
    ls_members,
    randomised_trees,
    within_budget,
)
from polychotomy.ensemble.pooling import (
    PSEUDO_COUNTS,
    fit_log_linear,
    geometric_mean,
    log_linear_model,
    mixture_weights,
)
from polychotomy.machines import guessed_seconds
from polychotomy.pipe.folds import FoldRows

ALL_X, ALL_y = load_wine(return_X_y=True)
X, y, NEW = ALL_X[::2, :6], ALL_y[::2], ALL_X[1::2, :6]
FIVE = ("ls gaussian", "ls laplacian", "logistic gaussian", "logistic laplacian", "svm")
QUICK = pc.LearnedMetric(views=["standardised"], rounds=1)
LS = ("ls", pc.MetricClassifier(metric=QUICK))
BAYES = ("bayes", GaussianNB())
LSS, LOO = ("rbf", "laplacian"), "leave_one_out"


def rows_of(X, y, weights=None):
    classes, numbers = np.unique(y, return_inverse=True)
    used = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
    splits = [(used[a], used[b]) for a, b in StratifiedKFold(5).split(used, y[used])]
    return Rows(X, y, numbers, classes, weights, used, splits)


@pytest.mark.filterwarnings("ignore")
def test_weights_of_very_different_sizes_are_no_problem():
    weights = 10.0 ** np.random.default_rng(0).uniform(-12, 12, len(y))
    pool = pc.PolychotomyPool(ls_members()).fit(X, y, weights)
    p = pool.predict_proba(NEW)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_weights_are_those_of_a_general_optimiser():
    rng = np.random.default_rng(0)
    p, v = rng.dirichlet([1, 2, 3, 1], size=40), rng.uniform(0, 3, 40)

    def negative(w):
        return -(v @ np.log(p @ w)) - PSEUDO_COUNTS * np.log(w).sum()

    sums = {"type": "eq", "fun": lambda w: w.sum() - 1.0}
    best = minimize(
        negative,
        np.full(4, 0.25),
        method="SLSQP",
        bounds=[(1e-6, 1)] * 4,
        constraints=sums,
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(mixture_weights(p, v), best.x, atol=1e-5)
    assert mixture_weights(np.zeros((3, 2)), np.ones(3)) == pytest.approx([0.5, 0.5])


def test_the_answer_is_the_mean_of_both_means():
    pool = pc.PolychotomyPool([LS, BAYES]).fit(X, y)
    tempered = [
        pool.temperings_[name].transform(member.predict_proba(NEW))
        for name, member in pool.members_.items()
    ]
    a, b = pool.weights_.values()
    c, d = pool.log_linear_.slopes
    product = tempered[0] ** c * tempered[1] ** d * np.exp(pool.log_linear_.biases)
    log_linear = product / product.sum(axis=1, keepdims=True)
    wanted = 0.5 * (a * tempered[0] + b * tempered[1] + log_linear)
    p = pool.predict_proba(NEW)
    np.testing.assert_allclose(p, wanted, atol=1e-12)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(pool.predict(NEW), pool.classes_[p.argmax(axis=1)])
    np.testing.assert_allclose(np.exp(pool.predict_log_proba(NEW)), p)
    assert a + b == pytest.approx(1.0)
    assert pool.nll_ < min(pool.member_nll_.values()) + 0.02


def test_members_from_elsewhere_are_cross_fitted():
    scaled = ("scaled", make_pipeline(StandardScaler(), LogisticRegression()))
    rows = rows_of(X, y)
    for name, estimator in (BAYES, scaled):
        (member,) = fit_members([(name, estimator)], rows)
        wanted = cross_val_predict(estimator, X, y, cv=rows.splits, method="predict_proba")
        np.testing.assert_allclose(member.out_of_fold, wanted)
    forest = RandomForestClassifier(50, oob_score=True, random_state=0)
    (member,) = fit_members([("forest", forest)], rows)
    np.testing.assert_allclose(member.out_of_fold, forest.fit(X, y).oob_decision_function_)


def pipe(tempering, machine, **options):
    return pc.PolychotomyClassifier(machine, tempering=tempering, **options)


def least_squares(tempering):
    options = {"decoder": "shrunk_soft_max", "cv": "leave_one_out"}
    return pipe(tempering, pc.LSSVM(C=1.0), **options)


@pytest.mark.parametrize(
    ("build", "tempering"),
    [
        (lambda tempering: pipe(tempering, pc.SVM()), "structured"),
        (least_squares, "slope_and_biases"),
        (
            lambda tempering: pc.TwoStepSearchCV(
                pipe(tempering, pc.SVM()), {"machine__C": [1.0, 10.0]}, None, show_progress=False
            ),
            "structured",
        ),
        (
            lambda tempering: make_pipeline(StandardScaler(), pipe(tempering, GaussianNB())),
            "structured",
        ),
        (
            lambda tempering: pc.MetricClassifier(least_squares(tempering), QUICK),
            "slope_and_biases",
        ),
    ],
)
def test_own_members_are_tempered_as_their_own_tempering_would(build, tempering):
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    pool = pc.PolychotomyPool([("one", build(None))]).fit(Z, y)
    own = pool.temperings_["one"].transform(pool.members_["one"].predict_proba(Z))
    np.testing.assert_allclose(own, build(tempering).fit(Z, y).predict_proba(Z), atol=1e-9)


def test_scores_of_leave_one_out_get_no_matrix():
    # Without any signal, a row's own class is missing in what the other rows say about it.
    rng = np.random.default_rng(0)
    inputs, labels = 1e-3 * rng.normal(size=(400, 2)), rng.integers(0, 4, 400)
    members = [(cv, least_squares(None).set_params(cv=cv)) for cv in ("leave_one_out", 5)]
    pool = pc.PolychotomyPool([(str(cv), one) for cv, one in members]).fit(inputs, labels)
    assert min(pool.member_nll_.values()) > 0.98 * np.log(4)
    kinds = [type(one) for one in pool.temperings_.values()]
    assert kinds == [pc.Tempering, pc.StructuredTempering]


def test_members_say_whether_they_leave_one_out():
    by_formula, by_folds = least_squares(None), least_squares(None).set_params(cv=5)
    inner = pc.PolychotomyPool([LS, BAYES])
    members = {
        "formula": by_formula,
        "folds": by_folds,
        "metric": LS[1],
        "search": pc.TwoStepSearchCV(by_folds, {"machine__C": [1.0]}, None, show_progress=False),
        "metric by folds": clone(LS[1]).set_params(cv=5),
        "pool": inner,
        "pool in a pipeline": make_pipeline(StandardScaler(), inner),
        "pool by folds": pc.PolychotomyPool([BAYES]),
        "pool of a pool": pc.PolychotomyPool([("pool", inner)]),
        # A search of scikit-learn is refitted for every fold.
        "grid": GridSearchCV(by_formula, {"machine__C": [1.0]}, cv=3),
        "tempered": pc.TemperedClassifier(by_formula),
    }
    pool = pc.PolychotomyPool(list(members.items())).fit(X, y)
    alone = [name for name, one in pool.temperings_.items() if type(one) is pc.Tempering]
    assert alone == ["formula", "metric", "pool", "pool in a pipeline", "pool of a pool"]


def test_a_metric_is_learned_once_for_all_who_share_it():
    logistic = pc.PolychotomyClassifier(pc.KernelLogisticRegression())
    members = [LS, ("logistic", pc.MetricClassifier(logistic, QUICK)), BAYES]
    fitted = pc.PolychotomyPool(members).fit(X, y).members_
    assert fitted["ls"].metric_ is fitted["logistic"].metric_


def test_a_metric_in_a_pipeline_is_learned_on_the_inputs_that_it_gets():
    member = make_pipeline(StandardScaler(), LS[1])
    pool = pc.PolychotomyPool([("scaled", member)]).fit(X, y)
    alone = clone(member).fit(X, y)
    np.testing.assert_array_equal(
        pool.members_["scaled"].predict_proba(NEW), alone.predict_proba(NEW)
    )


def test_a_bad_member_gets_little_weight():
    good = pc.PolychotomyPool([LS, ("prior", LogisticRegression(C=1e-12))]).fit(X, y)
    assert good.weights_["prior"] < 0.15
    assert good.member_nll_["ls"] < good.member_nll_["prior"]


def test_default_members_answer_together():
    pool = pc.recipe("pool").fit(X, y)
    assert list(pool.members_) == [name for name, _ in default_members()]
    assert pool.score(NEW, ALL_y[1::2]) > 0.85
    assert set(pool.seconds_) == set(pool.members_)
    copy = pickle.loads(pickle.dumps(pool))
    np.testing.assert_array_equal(copy.predict_proba(NEW), pool.predict_proba(NEW))


def test_trees_and_boosting_are_members():
    for n_rows, kernel_machines in ((0, FIVE), (4000, FIVE), (4001, FIVE[:-1])):
        names = [name for name, _ in default_members(n_rows=n_rows)]
        assert names == [*kernel_machines, "trees", "boosting"]
    pool, again = (pc.recipe("POOL").fit(X, y) for _ in range(2))
    for name, one in pool.temperings_.items():
        assert isinstance(one, pc.StructuredTempering) != name.startswith("ls")
    p = pool.predict_proba(NEW)
    np.testing.assert_array_equal(p, again.predict_proba(NEW))
    # The first members are those that there would be without the others.
    five = [one for one in default_members() if one[0] in FIVE]
    few = pc.PolychotomyPool(five).fit(X, y)
    for name in FIVE:
        np.testing.assert_array_equal(
            few.members_[name].predict_proba(NEW), pool.members_[name].predict_proba(NEW)
        )
    file = io.BytesIO()
    pc.save(pool, file)
    file.seek(0)
    np.testing.assert_array_equal(pc.load(file).predict_proba(NEW), p)


def test_the_log_linear_pool_counts_three_quarters_with_enough_rows(monkeypatch):
    few = pc.PolychotomyPool([LS, BAYES]).fit(X, y)
    monkeypatch.setattr("polychotomy.ensemble.pool.ENOUGH_ROWS", len(y))
    pool = pc.PolychotomyPool([LS, BAYES]).fit(X, y)
    assert (few.log_linear_share_, pool.log_linear_share_) == (0.5, 0.75)
    tempered = np.stack(
        [
            pool.temperings_[name].transform(member.predict_proba(NEW))
            for name, member in pool.members_.items()
        ]
    )
    mean = np.tensordot(list(pool.weights_.values()), tempered, 1)
    log_linear = pool.log_linear_.transform(tempered)
    np.testing.assert_allclose(pool.predict_proba(NEW), 0.25 * mean + 0.75 * log_linear, atol=1e-15)
    # Files of earlier versions do not have the share: it was a half.
    del pool.log_linear_share_
    np.testing.assert_allclose(pool.predict_proba(NEW), 0.5 * mean + 0.5 * log_linear, atol=1e-15)


def test_trees_of_many_rows_see_some_of_them():
    some, many = randomised_trees(10_000), randomised_trees(10_001)
    assert not some.estimator.bootstrap
    assert (many.bootstrap, many.max_samples) == (True, 10_000)
    # Forests that are fitted once are not taken for six fits.
    forests = RandomForestClassifier(oob_score=True), RandomForestClassifier()
    costs = [expected_seconds(one, 6_000, 10) for one in forests]
    assert costs[0] == pytest.approx(costs[1] / 6.0)
    assert costs[1] == pytest.approx(guessed_seconds(6_000))


def test_the_time_of_trees_grows_with_inputs_classes_and_folds():
    trees, boosting = randomised_trees(3_000), boosted_trees()
    many = randomised_trees(20_000)
    for one in (trees, many, boosting, make_pipeline(StandardScaler(), boosting)):
        seconds = [expected_seconds(one, 3_000, n, 3) for n in (10, 100)]
        assert 8.0 < seconds[1] / seconds[0] < 10.1
    # A class each has a score, two classes share one.
    two, three, ten = (expected_seconds(boosting, 3_000, 10, n) - 0.1 for n in (2, 3, 10))
    assert (three, ten) == (pytest.approx(3.0 * two), pytest.approx(10.0 * two))
    # Where a round takes long, there are fewer, but one at least.
    for shape in ((3_000, 1_000, 3), (5_000, 100, 100)):
        assert 0.8 * MOST_SECONDS < expected_seconds(boosting, *shape) < MOST_SECONDS + 0.2
    each = 1e-4 + 1e-8 * 31 * 250 * 10_000 + 2e-9 * 50_000 * 10_000
    round_ = 5 * 300 * each
    assert expected_seconds(boosting, 50_000, 10_000, 300) == pytest.approx(0.1 + round_)
    for cv, folds in ((10, 10), (StratifiedKFold(3), 3), ([((), ())] * 4, 4), (iter(()), 5)):
        ours = expected_seconds(boosted_trees(cv), 3_000, 10) - 0.1
        assert ours == pytest.approx(folds / 5.0 * (expected_seconds(boosting, 3_000, 10) - 0.1))
    one = expected_seconds(BoostedTrees(60), 3_000, 10) - 0.1
    assert one < 0.2 * expected_seconds(boosting, 3_000, 10)
    assert expected_seconds(FoldMean(GaussianNB()), 3_000, 10) == pytest.approx(
        5.0 / 6.0 * guessed_seconds(3_000)
    )


def test_a_budget_counts_inputs_and_classes():
    members = default_members(n_rows=1_000)
    others = [pair for pair in members if pair[0] != "boosting"]
    for shape in ((1_000, 1_000, 3), (1_000, 100, 50)):
        limit = expected_total(others, *shape)
        assert within_budget(members, limit, *shape) == others
        assert within_budget(members, limit, 1_000, 10, 3) == members


def test_default_trees_and_boosting_take_the_folds_of_the_pool():
    members = dict(default_members(7))
    assert (members["trees"].cv, members["boosting"].cv) == (7, 7)


def test_many_rows_have_members_with_landmarks(monkeypatch):
    for name in ("pool", "metric_classifier"):
        monkeypatch.setattr(f"polychotomy.ensemble.{name}.MANY_ROWS", 80)
        monkeypatch.setattr(f"polychotomy.ensemble.{name}.LANDMARKS", 40)
    pool, part = pc.recipe("pool", random_state=0), pc.recipe("LS2", random_state=0)
    pool.fit_with_parts(X, y, None, {"LS2": part})
    assert list(pool.members_) == [name for name, _ in default_members(n_rows=81)]
    # Fitted once for both.
    assert all(one is pool.temperings_[name] for name, one in part.temperings_.items())
    for name in FIVE[:-1]:
        member = pool.members_[name]
        own = member.estimator_.machine if name.startswith("ls") else member.estimator_
        assert own.landmarks == 40
        assert isinstance(own, pc.KernelMultinomialRegression) != name.startswith("ls")
    alone = pc.recipe("LS2", random_state=0).fit(X, y)
    np.testing.assert_array_equal(part.predict_proba(NEW), alone.predict_proba(NEW))
    assert pool.score(NEW, ALL_y[1::2]) > 0.85
    file = io.BytesIO()
    pc.save(pool, file)
    file.seek(0)
    np.testing.assert_array_equal(pc.load(file).predict_proba(NEW), pool.predict_proba(NEW))


@pytest.mark.usefixtures("several_blas_threads")
def test_the_result_does_not_depend_on_the_number_of_jobs():
    members = [LS, ("forest", RandomForestClassifier(5)), BAYES]
    one, two = (
        pc.PolychotomyPool(members, n_jobs=n_jobs, random_state=3).fit(X, y) for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.predict_proba(NEW), two.predict_proba(NEW))
    other = pc.PolychotomyPool(members, random_state=4).fit(X, y)
    assert (other.predict_proba(NEW) != one.predict_proba(NEW)).any()
    assert members[1][1].random_state is None


def test_the_budget_drops_the_expensive_members_first():
    members = default_members()
    limits = np.geomspace(1e3, 1e-3, 40)
    kept = [[n for n, _ in within_budget(members, limit, 800, 36)] for limit in limits]
    assert kept[0] == [name for name, _ in members]
    assert len(kept[-1]) == 1
    for more, less in pairwise(kept):
        assert set(less) <= set(more)
    for limit, names in zip(limits, kept, strict=True):
        chosen = [pair for pair in members if pair[0] in names]
        assert len(names) == 1 or expected_total(chosen, 800, 36) <= limit
    # Trees cost as little as LS-SVMs.
    assert ["ls gaussian", "ls laplacian"] in [[n for n in names if n != "trees"] for names in kept]
    pool = pc.PolychotomyPool([LS, BAYES], budget=1e-9).fit(X, y)
    assert len(pool.members_) == len(pool.dropped_) == 1
    assert expected_total(ls_members(), 800, 36) < 0.6 * expected_total(members, 800, 36)


def test_rare_classes_and_rows_without_weight():
    labels = np.where(np.arange(len(y)) == 3, "rare", np.array(["a", "b", "c"])[y])
    weights = np.where(np.arange(len(y)) % 7 == 1, 0.0, 2.0)
    used = weights > 0
    members = [LS, ("logistic", make_pipeline(StandardScaler(), LogisticRegression()))]
    pools = []
    for rows in (slice(None), used):
        with pytest.warns(UserWarning, match="Class 'rare' has fewer rows"):
            pools.append(pc.PolychotomyPool(members).fit(X[rows], labels[rows], weights[rows]))
    p = pools[0].predict_proba(NEW)
    assert p.shape == (len(NEW), 4)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(pools[1].predict_proba(NEW), p, atol=1e-5)


def test_two_rows_are_enough():
    with pytest.warns(UserWarning, match="Classes 0 and 1 have fewer rows"):
        pool = pc.PolychotomyPool([LS, BAYES]).fit([[0.0], [1.0]], [0, 1])
    assert np.isfinite(pool.predict_proba([[0.2]])).all()


@pytest.mark.parametrize(
    ("members", "error", "sentence"),
    [
        ([], ValueError, "members is empty"),
        ([GaussianNB()], TypeError, "pairs of a name and a classifier"),
        ([("a", GaussianNB)], TypeError, "'a' must be a classifier with predict_proba"),
        ([("a", LinearSVC())], TypeError, "'a' must be a classifier with predict_proba"),
        ([BAYES, BAYES], ValueError, "the name 'bayes' twice"),
    ],
)
def test_bad_members_are_refused(members, error, sentence):
    with pytest.raises(error, match=sentence):
        pc.PolychotomyPool(members).fit(X, y)


def test_bad_budgets_and_weights_are_refused():
    with pytest.raises(ValueError, match="budget must be a positive number"):
        pc.PolychotomyPool([BAYES], budget=0).fit(X, y)
    with pytest.raises(ValueError, match="The member 'knn' does not take sample_weight"):
        pc.PolychotomyPool([("knn", KNeighborsClassifier())]).fit(X, y, np.ones(len(y)))


def test_pools_are_refused_where_methods_share_machines():
    with pytest.raises(ValueError, match="LS2 is an ensemble, which shares no machines"):
        pc.MethodSweep(["PWC_PSVM", "LS2"]).fit(X, y)
    with pytest.raises(ValueError, match="POOL has machines of its own"):
        pc.recipe("POOL", machine=pc.SVM())


def opinions(seed=0, n_rows=300):
    """Draw the truth, two members that see half of it each, and one that knows nothing."""
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=(2, n_rows, 3))
    labels = (parts.sum(axis=0) * 1.5 + rng.gumbel(size=(n_rows, 3))).argmax(axis=1)
    return softmax(np.stack([*(1.5 * parts), rng.normal(size=(n_rows, 3))])), labels


def test_log_linear_pools_minimise_the_penalised_likelihood():
    p, labels = opinions()
    v = np.random.default_rng(1).uniform(0.0, 2.0, len(labels))
    pool = fit_log_linear(p, labels, v)
    model, groups = log_linear_model(p, labels, v)
    l_d, l_u, l_b = fit_shrunk(model, groups).strengths
    logs = np.log(p) - np.log(p).mean(axis=2, keepdims=True)

    def objective(theta):
        d, u, b = theta[0], theta[1:4], theta[4:]
        scores = sum(((1 + d) / 3 + u[m]) * logs[m] for m in range(3)) + b
        losses = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(labels)), labels]
        return v @ losses + 0.5 * (l_d * d**2 + l_u * u @ u + l_b * b @ b)

    best = minimize(objective, np.zeros(7), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(pool.slopes, (1 + best.x[0]) / 3 + best.x[1:4], atol=1e-4)
    np.testing.assert_allclose(pool.biases, best.x[4:], atol=1e-4)
    step = 1e-6 * np.eye(7)
    theta = np.linspace(-0.2, 0.2, 7)
    slopes = [(model.value(theta + e) - model.value(theta - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(model.derivatives(theta)[0], slopes, atol=1e-4)


def test_log_linear_pools_let_a_member_go_that_knows_nothing():
    p, labels = opinions(n_rows=3000)
    first, second, noise = fit_log_linear(p, labels, None).slopes
    assert abs(noise) < 0.1
    assert min(first, second) > 0.8  # their evidence adds up, where a mean would halve it
    same = fit_log_linear(np.stack([p[0], p[0]]), labels, None).slopes
    np.testing.assert_allclose(same[0], same[1], atol=1e-6)


def test_pools_of_earlier_files_still_answer():
    pool = pc.PolychotomyPool([LS, BAYES]).fit(X, y)
    wanted = pool.predict_proba(NEW)
    del pool.log_linear_
    pool.tempering_ = pc.Tempering().fit(wanted[:3], [0, 1, 2])
    assert np.isfinite(pool.predict_proba(NEW)).all()


def test_geometric_means_of_nothing_are_finite():
    p = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    np.testing.assert_allclose(geometric_mean(p, np.array([0.5, 0.5])), [[0.5, 0.5]])


def exact(C):
    return LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12)


EVEN = pc.LearnedMetric(views=["standardised"], rounds=0)


@pytest.mark.filterwarnings("ignore:Class.*fewer rows than the 5 folds:UserWarning")
@parametrize_with_checks(
    [
        QUICK,
        pc.MetricClassifier(metric=EVEN),
        pc.PolychotomyPool([("weak", exact(0.1)), ("strong", exact(10.0))]),
    ],
)
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_names_of_members_are_those_that_were_fitted(monkeypatch):
    monkeypatch.setattr("polychotomy.ensemble.pool.MANY_ROWS", 100)
    X, y = load_wine(return_X_y=True)
    pool = pc.PolychotomyPool(budget=None)
    assert "svm" in pool.member_names()
    pool.fit(X, y)
    assert pool.member_names() == list(pool.members_)


def test_trees_do_not_depend_on_the_scale_of_weights():
    rng = np.random.default_rng(0)
    inputs, labels = rng.normal(size=(10_200, 2)), rng.integers(0, 2, 10_200)
    trees = randomised_trees(len(labels)).set_params(n_estimators=2, oob_score=False)
    nodes = [
        [tree.tree_.node_count for tree in clone(trees).fit(inputs, labels, weights).estimators_]
        for weights in (np.full(len(labels), 1e-3), np.full(len(labels), 1e3))
    ]
    assert nodes[0] == nodes[1]
    assert min(nodes[0]) > 1000


def test_rows_of_weight_0_do_not_count_for_the_choice_of_members():
    rng = np.random.default_rng(0)
    inputs, labels = rng.normal(size=(2_010, 2)), rng.integers(0, 2, 2_010)
    weights = np.arange(2_010) >= 20
    asked = []

    class Watched(pc.PolychotomyPool):
        def _named_members(self, n_rows=0, cv=5):
            asked.append(n_rows)
            return [("bayes", GaussianNB())]

    Watched().fit(inputs, labels, weights.astype(float))
    assert 1_990 in asked
    assert 2_010 not in asked


def test_forests_are_fitted_by_folds_of_the_users_own():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(120), 5)
    inputs = rng.normal(size=(120, 3))[groups]
    labels = rng.integers(0, 2, 120)[groups]
    forest = RandomForestClassifier(60, oob_score=True, random_state=0)
    folds = list(GroupKFold(4).split(inputs, labels, groups))
    seen = {}
    for name, cv in (("numbered", 4), ("groups", folds)):
        seen[name] = pc.PolychotomyPool([("forest", forest)], cv=cv).fit(inputs, labels)
    assert seen["numbered"].member_nll_["forest"] < 0.2
    assert seen["groups"].member_nll_["forest"] > 0.6


def copies(n_groups, n_copies=10):
    """Groups of nearly equal rows, with a class that has nothing to do with them."""
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(n_groups), n_copies)
    inputs = rng.normal(size=(n_groups, 3))[groups] + 1e-3 * rng.normal(size=(len(groups), 3))
    labels = rng.permutation(np.arange(n_groups) % 2)[groups]
    return inputs, labels, list(GroupKFold(5).split(inputs, labels, groups))


def test_nobody_learns_from_rows_of_a_group_that_is_held_out():
    inputs, labels, folds = copies(50)
    forest = ExtraTreesClassifier(20, max_features=None, random_state=0)
    members = [
        *((f"ls {kernel}", pc.MetricClassifier(metric=pc.LearnedMetric(kernel))) for kernel in LSS),
        ("multinomial", pc.MetricClassifier(pc.KernelMultinomialRegression(landmarks=100))),
        ("leave one out", pc.PolychotomyClassifier(pc.LSSVM(), "one_vs_rest", "none", cv=LOO)),
        ("inner", pc.PolychotomyPool([("ls", pc.MetricClassifier())])),
        ("trees", FoldMean(forest)),
        ("boosting", BoostedTrees(40, cv=5)),
    ]
    for cv, low, high in ((5, 0.0, 0.1), (folds, 0.5, 1.0)):
        pool = pc.PolychotomyPool(members, cv=cv).fit(inputs, labels)
        assert low <= min(pool.member_nll_.values())
        assert max(pool.member_nll_.values()) < high
        assert low <= pool.nll_ < high


def categories(n_groups, n_copies=8):
    """Groups of a category each, with a class that has nothing to do with it."""
    groups = np.repeat(np.arange(n_groups), n_copies)
    labels = (np.arange(n_groups) % 2)[groups]
    return groups[:, None] * 1.0, labels, list(GroupKFold(5).split(groups, labels, groups))


@pytest.mark.filterwarnings("ignore:.TargetEncoder.shuffle:FutureWarning")
def test_steps_that_learn_from_the_classes_do_not_see_those_of_held_out_rows():
    inputs, labels, folds = categories(40)
    encoder = TargetEncoder(random_state=0)
    members = [
        ("encoded", make_pipeline(encoder, pc.PolychotomyClassifier())),
        ("nested", make_pipeline(make_pipeline(encoder), pc.PolychotomyClassifier())),
        ("part", make_pipeline(make_column_transformer((encoder, [0])), pc.MetricClassifier())),
    ]
    pool = pc.PolychotomyPool(members, cv=folds).fit(inputs, labels)
    assert min(pool.member_nll_.values()) > 0.65
    # Without groups, rows of a category are in the other folds as well.
    rng = np.random.default_rng(0)
    inputs, labels = rng.integers(0, 100, (320, 1)) * 1.0, rng.integers(0, 2, 320)
    assert pc.PolychotomyPool(members[:1]).fit(inputs, labels).nll_ > 0.68
    # Of 500 inputs without meaning, some seem to have one.
    inputs = rng.normal(size=(60, 500))
    selected = make_pipeline(SelectKBest(k=5), pc.PolychotomyClassifier())
    assert pc.PolychotomyPool([("some", selected)]).fit(inputs, labels[:60]).nll_ > 0.65


def test_pipelines_that_learn_from_the_classes_are_refitted_for_every_fold():
    weights = np.arange(len(y)) % 3.0
    folds = list(StratifiedKFold(4).split(X, y))
    member = make_pipeline(LinearDiscriminantAnalysis(), pc.PolychotomyClassifier(GaussianNB()))
    fitted, rows = pc.PolychotomyPool([("lda", member)], cv=folds)._fit_members(X, y, weights)
    p = np.zeros((len(y), 3))
    for train, test in rows.splits:
        inner = folds_among(rows.splits, train)
        one = clone(member).set_params(polychotomyclassifier__cv=inner)
        one.fit(X[train], y[train], polychotomyclassifier__sample_weight=weights[train])
        p[test] = one.predict_proba(X[test])
    np.testing.assert_array_equal(fitted[0].out_of_fold, p[rows.used])
    own = member.set_params(polychotomyclassifier__cv=rows.splits)
    own.fit(X, y, polychotomyclassifier__sample_weight=weights)
    np.testing.assert_array_equal(fitted[0].estimator.predict_proba(NEW), own.predict_proba(NEW))


def test_steps_that_learn_from_the_inputs_alone_are_fitted_once():
    steps = [
        (StandardScaler(), VarianceThreshold(), "passthrough"),
        (make_column_transformer((StandardScaler(), [0, 1])),),
        (IterativeImputer(BayesianRidge()),),
    ]
    for some in steps:
        assert holds_rows_out(make_pipeline(*some, pc.PolychotomyClassifier()))
        assert not holds_rows_out(make_pipeline(*some, LogisticRegression()))


def test_steps_that_learn_from_the_classes_are_known():
    pls = PLSRegression(1)
    for step in (
        pc.LearnedMetric(),
        LinearDiscriminantAnalysis(),
        SelectFromModel(LogisticRegression()),
        VotingRegressor([("one", BayesianRidge())]),
        pls,
        PLSSVD(1),
        make_column_transformer((pls, [0, 1])),
        make_union(StandardScaler(), SelectKBest(k=2)),
    ):
        assert not holds_rows_out(make_pipeline(step, pc.PolychotomyClassifier()))


def test_folds_among_some_rows_are_places_among_them():
    splits = [(np.arange(2, 8), np.arange(2)), (np.r_[:2, 5:8], np.arange(2, 5))]
    splits.append((np.arange(5), np.arange(5, 8)))
    (second, third) = folds_among(splits, splits[0][0])
    assert [part.tolist() for part in second] == [[3, 4, 5], [0, 1, 2]]
    assert [part.tolist() for part in third] == [[0, 1, 2], [3, 4, 5]]
    halves = [(np.arange(4), np.arange(4, 8)), (np.arange(4, 8), np.arange(4))]
    assert folds_among(halves, np.arange(4)) == []


def test_out_of_fold_probabilities_by_the_folds_of_a_pool_are_those_of_refits():
    folds = list(StratifiedKFold(4).split(X, y))
    pool = pc.PolychotomyPool([("first", LS[1]), ("second", LS[1])], cv=folds)
    fitted, _ = pool._fit_members(X, y, None)
    assert fitted[0].estimator.metric_ is fitted[1].estimator.metric_
    metric = clone(QUICK).set_params(cv=folds).fit(X, y)
    np.testing.assert_array_equal(
        metric.feature_weights_, fitted[0].estimator.metric_.feature_weights_
    )
    Z = metric.transform(X)
    pipe = pc.PolychotomyClassifier(
        pc.LSSVM(**metric.parameters_for(pc.LSSVM())), "one_vs_rest", "none", "shrunk_soft_max"
    )
    wanted = pipe.set_params(cv=folds).fit_out_of_fold(Z, y)
    np.testing.assert_allclose(fitted[0].out_of_fold, wanted, atol=1e-10)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_folds_of_a_generator_are_listed_once(n_jobs):
    folds = list(StratifiedKFold(3).split(X, y))
    members = [LS, ("pipe", make_pipeline(StandardScaler(), pc.MetricClassifier())), BAYES]
    listed = pc.PolychotomyPool(members, cv=folds).fit(X, y).predict_proba(NEW)
    pool = pc.PolychotomyPool(members, cv=iter(folds), n_jobs=n_jobs)
    np.testing.assert_array_equal(pool.fit(X, y).predict_proba(NEW), listed)


def test_default_members_take_the_folds_of_a_generator():
    pool = pc.PolychotomyPool(cv=iter(StratifiedKFold(2).split(X[::3], y[::3])), budget=0.2)
    assert pool.fit(X[::3], y[::3]).member_names() == [*FIVE, "trees", "boosting"]


def test_metric_and_machines_have_the_same_folds_of_a_splitter_without_a_seed():
    splitter = KFold(3, shuffle=True)
    alone = pc.MetricClassifier(metric=QUICK, cv=splitter)
    pool = pc.PolychotomyPool([("one", alone), ("two", alone)]).fit(X, y)
    folds = []
    for clf in (clone(alone).fit(X, y), *pool.members_.values()):
        np.testing.assert_equal(clf.metric_.cv, clf.estimator_.cv)
        folds.append(clf.metric_.cv[0][1].tolist())
    assert len({tuple(first) for first in folds}) == 3
    # The parameter is that of the user.
    assert clone(alone).fit(X, y).cv.shuffle
    pairs = list(StratifiedKFold(3).split(X, y))
    p, q = (pc.MetricClassifier(metric=QUICK, cv=cv).fit(X, y) for cv in (iter(pairs), pairs))
    np.testing.assert_array_equal(p.predict_proba(NEW), q.predict_proba(NEW))


def test_members_that_hold_out_no_rows_are_refitted():
    plain = BoostedTrees(5)
    p = pc.PolychotomyPool([("trees", plain)])._fit_members(X, y, None)[0][0].out_of_fold
    for train, test in FoldRows(X, y, np.arange(len(y)), None).stratified():
        wanted = clone(plain).fit(X[train], y[train]).predict_proba(X[test])
        np.testing.assert_array_equal(p[test], wanted)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
def test_numbers_that_trees_do_not_take_are_named():
    sentence = r"The member 'forest' failed, and column 2 of X .* has numbers above 3\.4e\+38"
    large = X.copy()
    large[5, 2] = -1e39
    for forest in (RandomForestClassifier(2), FoldMean(RandomForestClassifier(2))):
        pool = pc.PolychotomyPool([BAYES, ("forest", forest)])
        with pytest.raises(ValueError, match=sentence):
            pool.fit(large, y)
        pool.fit(X, y)
        with pytest.raises(ValueError, match=sentence):
            pool.predict_proba(large)
    # What others say about large numbers, or about anything else, is not changed.
    huge = np.where(np.arange(6) == 2, 1e300, 1.0) * X
    with pytest.raises(ValueError, match="n_estimators"):
        pc.PolychotomyPool([("forest", RandomForestClassifier(-1))]).fit(huge, y)
    assert pc.PolychotomyPool([("boosting", BoostedTrees(2))]).fit(large, y).nll_ > 0.0
    with pytest.raises(ValueError, match="n_estimators"):
        pc.PolychotomyPool([("forest", RandomForestClassifier(-1))]).fit(X, y)
