"""Where the inputs say nothing, probabilities are the shares of the classes.

Leave-one-out scores are then lower for a row's own class, because the row is missing in their mean:
whatever reads them with a slope below 0 would know all labels of the training rows.
"""

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold

import polychotomy as pc
from polychotomy.ensemble.default_members import ls_members
from polychotomy.ensemble.metric_rounds import Judge
from polychotomy.pipe.training import _agree

KINDS = {
    "normal": lambda rng, n: rng.normal(size=(n, 3)),
    "binary": lambda rng, n: rng.integers(0, 2, (n, 1)).astype(float),
    "rare": lambda rng, n: (rng.integers(0, 50, (n, 1)) == 0).astype(float),
}
PIPES = [
    ("one_vs_rest", "platt", "auto"),
    ("one_vs_one", "platt", "pairwise_coupling"),
    ("one_vs_one", "pooled_platt", "pairwise_coupling"),
    ("one_vs_rest", "none", "shrunk_soft_max"),
    ("one_vs_one", "none", "shrunk_soft_max"),
]


def noise(kind, n_classes, n_rows):
    rng = np.random.default_rng(n_rows)
    draw = KINDS[kind]
    X, new = draw(rng, n_rows), draw(rng, 2000)
    return X, rng.integers(0, n_classes, n_rows), new, rng.integers(0, n_classes, 2000)


def excess(clf, new, truth):
    """Return by how much the NLL of new rows is above that of equal probabilities."""
    p = clf.predict_proba(new)
    return log_loss(truth, p, labels=clf.classes_) - np.log(len(clf.classes_))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_classes", "n_rows"), [(2, 300), (4, 300), (8, 200)])
def test_pools_of_least_squares(kind, n_classes, n_rows):
    X, y, new, truth = noise(kind, n_classes, n_rows)
    pool = pc.recipe("LS2").fit(X, y)
    assert excess(pool, new, truth) < 0.04
    # Nor do they promise more for rows that they hold out.
    assert pool.nll_ > np.log(n_classes) - 0.05


def test_the_whole_pool():
    X, y, new, truth = noise("binary", 4, 200)
    assert excess(pc.recipe("POOL").fit(X, y), new, truth) < 0.04


@pytest.mark.parametrize("C", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize(("code", "calibrator", "decoder"), PIPES)
@pytest.mark.parametrize("machine", [pc.LSSVM, pc.KernelLogisticRegression])
def test_pipes_with_leave_one_out(machine, code, calibrator, decoder, C):
    for kind in ("normal", "binary"):
        X, y, new, truth = noise(kind, 4, 200)
        clf = pc.PolychotomyClassifier(
            machine(C=C, sigma2=100.0), code, calibrator, decoder, cv="leave_one_out"
        )
        assert excess(clf.fit(X, y), new, truth) < 0.05


@pytest.mark.parametrize("n_classes", [2, 3])
def test_groups_of_one_class_each(n_classes):
    # Without a group, its class is rarer in the other rows than among new ones.
    rng = np.random.default_rng(0)
    groups = np.arange(240) % 8
    y = (np.arange(8) % n_classes)[groups]
    folds = list(GroupKFold(4).split(y, y, groups))
    X, new, truth = rng.normal(size=(240, 3)), rng.normal(size=(2000, 3)), y[np.arange(2000) % 240]
    for members in (ls_members(), None):
        pool = pc.PolychotomyPool(members, cv=folds).fit(X, y)
        assert excess(pool, new, truth) < 0.05
        assert pool.nll_ > np.log(n_classes) - 0.05


def test_columns_without_signal_take_folds():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    X = np.where(y == 2, 5.0, 0.0)[:, None] + 1e-9 * rng.normal(size=(180, 1))
    clf = pc.PolychotomyClassifier(pc.LSSVM(C=1.0), "one_vs_one", "platt", cv="leave_one_out")
    # The pairs 0-1, 0-2 and 1-2; nothing tells the first two classes apart.
    assert clf.fit(X, y).leave_one_out_columns_.tolist() == [False, True, True]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("code", ["one_vs_rest", "one_vs_one"])
def test_agreement_is_that_of_plain_means(code, weighted):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, 80)
    weights = rng.uniform(0.1, 3.0, 80) if weighted else None
    codebook = {"one_vs_rest": pc.OneVsRest(), "one_vs_one": pc.OneVsOne()}[code].build(4)
    rows = np.flatnonzero(rng.integers(0, 5, 80))

    class Data:
        def weights_of(self, rows):
            return None if weights is None else weights[rows]

    data = Data()
    data.codebook, data.y, data.rows = codebook, y, rows
    columns = codebook.trained[0]
    scores = rng.normal(size=(len(rows), len(columns)))
    counts = np.ones(80) if weights is None else weights
    wanted = []
    for place, column in enumerate(columns):
        side = codebook.matrix[y[rows], column]
        means = [
            np.average(scores[side == sign, place], weights=counts[rows][side == sign])
            for sign in (1, -1)
        ]
        wanted.append(means[0] > means[1])
    assert 0 < sum(wanted) < len(wanted)
    np.testing.assert_array_equal(_agree(scores, data), wanted)


def test_metrics_are_not_judged_by_scores_upside_down():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 200)
    judge = Judge("rbf", rng.normal(size=(200, 2)), y, np.ones(200))
    scores = np.eye(3)[y] + 0.5 * rng.normal(size=(200, 3))
    right, _ = judge.nll(scores, np.zeros(4))
    wrong, theta = judge.nll(-scores, np.zeros(4))
    shares = np.bincount(y) / 200
    assert right < 0.5 * wrong
    assert theta[0] == 0.0
    assert wrong == pytest.approx(-(shares * np.log(shares)).sum(), abs=0.005)


@pytest.mark.parametrize("slopes", ["own", "shared", "alone"])
def test_no_slope_of_a_shrunk_soft_max_is_below_0(slopes):
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2, 3], 100)
    scores = np.eye(4)[y] + 0.5 * rng.normal(size=(400, 4))
    codebook = pc.OneVsRest().build(4)

    def weights(scores):
        context = pc.Context(codebook, y, held_out=pc.Margins(mean=scores))
        return pc.ShrunkSoftMax(slopes).fit(context).weights_[:, 0]

    assert (weights(scores) > 0.0).all()
    np.testing.assert_array_equal(weights(-scores), 0.0)
    one = scores.copy()
    one[:, 3] *= -3.0
    if slopes == "own":
        # Only that of the class whose scores are upside down.
        assert (weights(one)[:3] > 0.0).all()
        assert weights(one)[3] == 0.0


def test_scores_that_differ_by_rounding_are_equal():
    rng = np.random.default_rng(5)
    labels = np.where(rng.integers(0, 2, (200, 1)) > 0, 1, -1)
    noise = labels * rng.uniform(size=(200, 1))
    for size, flat in ((1e-9, True), (1e-5, False)):
        platt = pc.Platt().fit(pc.Margins(mean=-1.0 + size * noise), labels)
        assert bool(platt.slopes_[0] == 0.0) == flat
    # Only in comparison with their size.
    assert pc.Platt().fit(pc.Margins(mean=1e-9 * noise), labels).slopes_[0] < 0.0


@pytest.mark.parametrize("seed", range(4))
def test_support_vector_machines(seed):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(3, 3.0))
    X, new = (rng.integers(0, 2, (n, 1)).astype(float) for n in (300, 2000))
    y, truth = rng.choice(3, 300, p=shares), rng.choice(3, 2000, p=shares)
    found = np.bincount(y, minlength=3) / 300
    clf = pc.recipe("PWC_PSVM", tuned=True).set_params(show_progress=False).fit(X, y)
    own = log_loss(truth, clf.predict_proba(new), labels=clf.classes_)
    assert own < -np.log(found[truth]).mean() + 0.02


def test_no_slope_of_pooled_sigmoids_is_below_0():
    rng = np.random.default_rng(6)
    labels = np.where(rng.integers(0, 2, (300, 3)) > 0, 1, -1)
    scores = labels + rng.normal(size=(300, 3))
    right = pc.PooledPlatt().fit(pc.Margins(mean=scores), labels)
    one = pc.PooledPlatt().fit(pc.Margins(mean=scores * [1.0, 1.0, -1.0]), labels)
    wrong = pc.PooledPlatt().fit(pc.Margins(mean=-scores), labels)
    assert (right.slopes_ > 0.0).all()
    assert (one.slopes_[:2] > 0.0).all()
    np.testing.assert_array_equal([one.slopes_[2], *wrong.slopes_], 0.0)
    shares = np.log((labels > 0).mean(axis=0) / (labels < 0).mean(axis=0))
    # Intercepts are shrunk.
    assert (np.abs(wrong.intercepts_ - shares) < np.abs(shares)).all()


def test_matrices_are_not_fitted_to_leave_one_out():
    X, y, _, _ = noise("binary", 3, 60)
    clf = pc.PolychotomyClassifier(
        *(pc.LSSVM(C=1.0), "one_vs_rest", "none", "shrunk_soft_max"),
        cv="leave_one_out",
        tempering="structured",
    )
    with pytest.raises(ValueError, match="StructuredTempering cannot be fitted with"):
        clf.fit(X, y)


@pytest.mark.parametrize("tempering", [pc.Tempering, pc.StructuredTempering])
def test_no_slope_of_a_tempering_is_below_0(tempering):
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.ones(3), size=500)
    y = p.argmin(axis=1)
    fitted = tempering().fit(p, y)
    assert fitted.slope_ == 0.0
    tempered, shares = fitted.transform(p), np.bincount(y) / 500
    np.testing.assert_array_equal(tempered, np.repeat(tempered[:1], 500, axis=0))
    # Biases are shrunk, to equal probabilities.
    assert (np.abs(tempered[0] - shares) < np.abs(shares - 1 / 3)).all()
