"""ONNX graphs give what the models give, or are refused."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polychotomy import (
    LSSVM,
    SVM,
    CodeCoupling,
    KernelLogisticRegression,
    KernelMultinomialRegression,
    NestedDichotomies,
    OneVsOne,
    OneVsRest,
    PairwiseCoupling,
    PolychotomyClassifier,
    PolychotomyPool,
    ProbabilisticSVC,
    TemperedClassifier,
    recipe,
    to_onnx,
)
from polychotomy.ensemble.boosted_trees import BoostedTrees
from polychotomy.ensemble.default_members import randomised_trees
from polychotomy.export import ExportError, check_against
from polychotomy.native import couple_code, couple_hastie_tibshirani, couple_wu_lin_weng
from polychotomy.pipe import column_blocks

onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install 'polychotomy[onnx]'")
onnxruntime = pytest.importorskip(
    "onnxruntime", reason="onnxruntime is not installed: pip install 'polychotomy[onnx]'"
)

WINE, KIND = load_wine(return_X_y=True)
WINE = StandardScaler().fit_transform(WINE)
NAMES = np.array(["barolo", "grignolino", "barbera"])[KIND]


def difference(model, X=WINE, y=NAMES):
    model.fit(X[::2], y[::2])
    graph = to_onnx(model, X[:9])
    return check_against(graph, model, X * 1.3)


@pytest.mark.parametrize(
    "machine",
    [
        SVM(C=3),
        SVM(kernel="linear"),
        SVM(kernel="poly", degree=2, coef0=1.0),
        SVM(kernel="laplacian"),
        SVM(kernel="sigmoid", gamma=0.01),
        SVM(kernel="anova"),
        LSSVM(kernel="anova"),
        KernelLogisticRegression(C=3),
        LSSVM(),
        LSSVM(kernel="poly", degree=2, coef0=1.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("code", ["one_vs_one", "one_vs_rest"])
def test_machines_and_kernels(machine, code):
    # What the self-check promises; a polynomial kernel of large values loses some digits.
    assert difference(PolychotomyClassifier(machine, code=code)) < 1e-6


@pytest.mark.parametrize(
    ("code", "calibrator", "decoder"),
    [
        ("one_vs_one", "platt", "pairwise_coupling"),
        ("one_vs_one", "pooled_platt", PairwiseCoupling("hastie_tibshirani")),
        ("one_vs_one", "none", "soft_max"),
        ("one_vs_one", "none", "shrunk_soft_max"),
        ("one_vs_one", "platt", "bayesian"),
        ("one_vs_rest", "none", "soft_max"),
        ("one_vs_rest", "none", "shrunk_soft_max"),
        ("one_vs_rest", "platt", "winner_takes_all"),
        ("one_vs_rest", "platt", "code_coupling"),
        ("exhaustive", "platt", "bayesian"),
        ("nested", "platt", "branch_product"),
    ],
)
@pytest.mark.parametrize("tempering", [None, "auto", "structured"])
def test_calibrators_and_decoders(code, calibrator, decoder, tempering):
    clf = PolychotomyClassifier(SVM(C=3), code, calibrator, decoder, tempering=tempering)
    # Tempering multiplies the tolerance of the core's own iteration where p is small.
    assert difference(clf) < (1e-7 if tempering is None else 1e-6)


@pytest.mark.parametrize("model", [PolychotomyClassifier(SVM(C=3)), ProbabilisticSVC()], ids=str)
def test_sparse_coefficients_of_many_classes(model, monkeypatch):
    monkeypatch.setattr(column_blocks, "LEAST_ENTRIES", 0)
    monkeypatch.setattr(column_blocks, "LARGEST_SHARE", 1.0)
    assert difference(model) < 1e-6


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "poly", "anova"])
def test_all_classes_together(kernel):
    assert difference(KernelMultinomialRegression(C=10.0, kernel=kernel, landmarks=20)) < 1e-6


def test_landmarks_of_sparse_inputs_are_refused():
    clf = KernelMultinomialRegression(C=10.0).fit(csr_array(WINE), NAMES)
    with pytest.raises(ExportError, match="sparse"):
        to_onnx(clf, WINE[:3])


@pytest.mark.parametrize("code", ["one_vs_one", "one_vs_rest", "minimal"])
def test_moderated_outputs(code):
    clf = PolychotomyClassifier(LSSVM(), code, "none", "bayesian")
    assert difference(clf) < 1e-7


def test_priors_numbers_as_labels_and_two_classes():
    clf = PolychotomyClassifier(SVM(), priors=[0.7, 0.2, 0.1])
    assert difference(clf, y=KIND) < 1e-7
    assert difference(ProbabilisticSVC(), y=(KIND == 1)) < 1e-7


def test_estimators_around_pipes():
    assert difference(make_pipeline(StandardScaler(), PCA(5), ProbabilisticSVC())) < 1e-7
    assert difference(GridSearchCV(ProbabilisticSVC(), {"C": [1, 10]}, cv=2)) < 1e-7
    assert difference(NestedDichotomies(KernelLogisticRegression(), n_trees=2)) < 1e-7
    assert difference(TemperedClassifier(ProbabilisticSVC(tempering=None))) < 1e-6
    assert difference(recipe("LS2")) < 1e-7
    members = [
        ("a", PolychotomyClassifier(SVM())),
        ("b", make_pipeline(PCA(4), ProbabilisticSVC())),
    ]
    assert difference(PolychotomyPool(members)) < 1e-7


def run_coupling(decoder, codebook, r):
    """Decode r by a graph of the decoder alone."""
    from polychotomy.export._decoders import decoded
    from polychotomy.export._graph import IR_VERSION, OPSET, Graph, Tensor
    from polychotomy.export._machines import GraphMargins

    graph = Graph()
    given = Tensor(graph, "r")
    p = decoded(decoder, GraphMargins(given, given), codebook)
    make, double = onnx.helper, onnx.TensorProto.DOUBLE
    body = make.make_graph(
        graph.nodes,
        "coupling",
        [make.make_tensor_value_info("r", double, [None, codebook.n_columns])],
        [make.make_tensor_value_info(p.name, double, [None, codebook.n_classes])],
        graph.constants,
    )
    opset = [make.make_opsetid("", OPSET)]
    model = make.make_model(body, opset_imports=opset, ir_version=IR_VERSION)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, {"r": r})[0]


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("spread", [0.3, 3.0, 8.0])
def test_couplings_are_those_of_the_core(n_classes, spread):
    rng = np.random.default_rng(n_classes)
    pairs, rest = OneVsOne().build(n_classes), OneVsRest().build(n_classes)
    r = 1 / (1 + np.exp(-rng.normal(0, spread, (200, pairs.n_columns))))
    found = run_coupling(PairwiseCoupling(), pairs, r)
    np.testing.assert_allclose(found, couple_wu_lin_weng(r), atol=1e-9)
    found = run_coupling(PairwiseCoupling("hastie_tibshirani"), pairs, r)
    np.testing.assert_allclose(found, couple_hastie_tibshirani(r)[0], atol=1e-7)
    r = 1 / (1 + np.exp(-rng.normal(0, spread, (200, rest.n_columns))))
    found = run_coupling(CodeCoupling(), rest, r)
    np.testing.assert_allclose(found, couple_code(r, rest.matrix)[0], atol=1e-6)


def test_one_vs_rest_coupling_is_the_optimum():
    r = np.array([[0.7, 0.4, 0.05]])
    (p,) = run_coupling(CodeCoupling(), OneVsRest().build(3), r)

    def distance(s):
        q = np.exp(s) / np.exp(s).sum()
        return -(r * np.log(q) + (1 - r) * np.log(1 - q)).sum()

    s = minimize(distance, np.zeros(3), tol=1e-12).x
    np.testing.assert_allclose(p, np.exp(s) / np.exp(s).sum(), atol=1e-5)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (PolychotomyClassifier(SVM(), decoder="max_wins"), "has no probabilities"),
        (PolychotomyClassifier(SVC()), "SVM, KernelLogisticRegression and LSSVM can"),
        (PolychotomyClassifier(SVM(), calibrator="isotonic"), "calibrator Isotonic"),
        (PolychotomyClassifier(SVM(), code="minimal"), "one-vs-rest codes only"),
        (PolychotomyClassifier(SVM(), decoder=PairwiseCoupling("markov")), "'markov'"),
        (PolychotomyClassifier(LSSVM(landmarks=40)), "LSSVM with landmarks can be exported only"),
        (SVC(), "SVC cannot be exported"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*Isotonic")
def test_what_cannot_be_exported_is_named(model, sentence):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ExportError, match=sentence):
        to_onnx(model.fit(X, y), X)


def test_a_graph_that_differs_is_refused():
    X, y = load_iris(return_X_y=True)
    graph = to_onnx(ProbabilisticSVC().fit(X, y), X)
    other = ProbabilisticSVC(C=0.5).fit(X, y)
    with pytest.raises(ExportError, match="differs from the model by"):
        check_against(graph, other, X)
    with pytest.raises(ExportError, match="at least one row"):
        to_onnx(other, X[:0])


def test_numbers_are_doubles():
    X, y = load_iris(return_X_y=True)
    graph = to_onnx(ProbabilisticSVC().fit(X, y), X)
    kinds = {value.data_type for value in graph.graph.initializer}
    assert onnx.TensorProto.FLOAT not in kinds
    assert onnx.TensorProto.DOUBLE in kinds


@pytest.mark.parametrize(
    ("code", "decoder"), [("one_vs_one", "pairwise_coupling"), ("one_vs_rest", "soft_max")]
)
def test_scores_of_least_squares_with_landmarks(code, decoder):
    X, y = load_iris(return_X_y=True)
    model = PolychotomyClassifier(LSSVM(landmarks=40), code, "platt", decoder)
    graph = to_onnx(model.fit(X[::2], y[::2]), X[::2])
    assert check_against(graph, model, X[1::2]) < 1e-11


@pytest.mark.parametrize("kind", [ExtraTreesClassifier, RandomForestClassifier])
def test_forests_are_exported_with_their_rounding(kind):
    # A float beside a threshold: trees compare inputs in single precision.
    model = TemperedClassifier(kind(20, max_features=3, min_samples_leaf=2, random_state=0))
    model.fit(WINE[::2], NAMES[::2])
    tree = model.estimator_.estimators_[0].tree_
    rows = np.tile(WINE[:1], (2 * tree.node_count, 1))
    for node in np.flatnonzero(tree.feature >= 0):
        near = np.array([1.0 - 1e-9, 1.0 + 1e-9]) * tree.threshold[node]
        rows[2 * node : 2 * node + 2, tree.feature[node]] = near
    graph = to_onnx(model, WINE)
    assert check_against(graph, model, rows) < 1e-6


@pytest.mark.parametrize("enough", [10, 1000])
def test_pools_with_trees_and_boosting(enough, monkeypatch):
    # With enough rows the log-linear pool counts three quarters.
    monkeypatch.setattr("polychotomy.ensemble.pool.ENOUGH_ROWS", enough)
    machines = PolychotomyClassifier(LSSVM(C=1.0))
    members = [("trees", randomised_trees(89)), ("boosting", BoostedTrees(5)), ("ls", machines)]
    assert difference(PolychotomyPool(members)) < 1e-6


def test_models_of_folds_without_a_class_of_one_row():
    # The class is the first one, so that the others move by a column.
    X, y = np.vstack([WINE, 3.0 * WINE[:1]]), np.append(NAMES, "amarone")
    members = [("trees", randomised_trees(179)), ("boosting", BoostedTrees(5))]
    for model in (randomised_trees(179), PolychotomyPool(members)):
        with pytest.warns(UserWarning, match="fewer rows"):
            model.fit(X, y)
        graph = to_onnx(model, X[:9])
        assert check_against(graph, model, X * 1.1) < 1e-6
    assert [len(one.classes_) for one in model.members_["trees"].models_].count(3) == 1
