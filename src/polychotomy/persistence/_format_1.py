"""Files of format 1, which contain the module paths that classes had then.

Each of these paths is replaced by the name that its class has in current files. Kernels were one
class with a name, and now have a class each; parameters that a kernel does not need are dropped.

Note: the schema is upgraded, and then checked like that of a current file. A second reader for old
files would have needed checks of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Node = dict[str, Any]
Children = Callable[[Node], Iterator[tuple[str, Any]]]


def _paths(package: str, kind: str, table: Mapping[str, str]) -> dict[str, str]:
    return {f"{package}.{path}": f"{kind}.{name}" for path, name in table.items()}


_OWN = {
    **_paths(
        "polychotomy.calibration",
        "calibrator",
        {
            "isotonic.Isotonic": "isotonic",
            "none.NoCalibration": "none",
            "platt.Platt": "platt",
            "pooled_platt.PooledPlatt": "pooled_platt",
        },
    ),
    **_paths(
        "polychotomy.codes",
        "code",
        {
            "custom.CustomCode": "custom",
            "dense_random.DenseRandomCode": "dense_random",
            "error_correcting.ErrorCorrectingCode": "error_correcting",
            "exhaustive.ExhaustiveCode": "exhaustive",
            "minimal.MinimalCode": "minimal",
            "one_vs_one.OneVsOne": "one_vs_one",
            "one_vs_rest.OneVsRest": "one_vs_rest",
            "ordinal.OrdinalCode": "ordinal",
            "sparse_random.SparseRandomCode": "sparse_random",
        },
    ),
    **_paths(
        "polychotomy.decoding",
        "decoder",
        {
            "bayesian.BayesianDecoding": "bayesian",
            "code_coupling.CodeCoupling": "code_coupling",
            "coupling.PairwiseCoupling": "pairwise_coupling",
            "decision_graph.DecisionGraph": "decision_graph",
            "fuzzy.NonDominance": "non_dominance",
            "fuzzy.ValuedPreference": "valued_preference",
            "hamming.HammingDecoding": "hamming",
            "loss.LossDecoding": "loss",
            "nesting.Nesting": "nesting",
            "ordered.DynamicallyOrdered": "dynamically_ordered",
            "shrunk_softmax.ShrunkSoftMax": "shrunk_soft_max",
            "softmax.SoftMax": "soft_max",
            "tree.BinaryTree": "binary_tree",
            "voting.MaxWins": "max_wins",
            "voting.WeightedVoting": "weighted_voting",
            "winner.WinnerTakesAll": "winner_takes_all",
        },
    ),
    **_paths(
        "polychotomy.machines",
        "machine",
        {
            "klr.KernelLogisticRegression": "kernel_logistic_regression",
            "lssvm.LSSVM": "ls_svm",
            "svm.SVM": "svm",
        },
    ),
    **_paths(
        "polychotomy.machines",
        "columns",
        {
            "any_learner.AnyLearner": "classifier",
            "kernel_columns.KernelColumns": "kernel",
            "klr_columns.LogisticColumns": "logistic",
            "lssvm_columns.LSSVMColumns": "lssvm",
        },
    ),
    **_paths(
        "polychotomy",
        "fitted",
        {
            "_views.View": "view",
            "decoding.nesting.Level": "nesting_level",
            "decoding.tree.Node": "tree_node",
            "machines._lssvm_centring.Centring": "lssvm_centring",
            "machines._lssvm_evidence.Hyperparameters": "lssvm_hyperparameters",
            "machines._lssvm_solve.Factor": "lssvm_factor",
            "machines._lssvm_solve.Fit": "lssvm_solution",
            "machines._lssvm_tridiagonal.Tridiagonal": "lssvm_tridiagonal",
            "machines.any_learner.FittedColumns": "classifiers",
            "machines.kernel_columns.FittedKernels": "kernels",
            "machines.lssvm_columns.FittedLSSVM": "lssvm",
            "machines.lssvm_columns.Piece": "lssvm_piece",
        },
    ),
    **_paths(
        "polychotomy",
        "pipe",
        {
            "_parts.Parts": "parts",
            "_training.BinaryMachines": "binary_machines",
            "_training.NestedScorer": "nested_scorer",
        },
    ),
    **_paths(
        "polychotomy",
        "estimator",
        {
            "classifier.PolychotomyClassifier": "polychotomy_classifier",
            "metric.LearnedMetric": "learned_metric",
            "metric_classifier.MetricClassifier": "metric_classifier",
            "pool.PolychotomyPool": "pool",
            "probabilistic_svc.ProbabilisticSVC": "probabilistic_svc",
            "search.TwoStepSearchCV": "two_step_search",
        },
    ),
    "polychotomy._types.Codebook": "value.codebook",
    "polychotomy.tempering.Tempering": "tempering.slope_and_biases",
}
_SKLEARN_PRIVATE = {
    "sklearn.compose._column_transformer": "sklearn.compose",
    "sklearn.decomposition._pca": "sklearn.decomposition",
    "sklearn.ensemble._forest": "sklearn.ensemble",
    "sklearn.feature_selection._variance_threshold": "sklearn.feature_selection",
    "sklearn.impute._base": "sklearn.impute",
    "sklearn.linear_model._logistic": "sklearn.linear_model",
    "sklearn.linear_model._ridge": "sklearn.linear_model",
    "sklearn.metrics._classification": "sklearn.metrics",
    "sklearn.metrics._ranking": "sklearn.metrics",
    "sklearn.model_selection._search": "sklearn.model_selection",
    "sklearn.model_selection._split": "sklearn.model_selection",
    "sklearn.neighbors._classification": "sklearn.neighbors",
    "sklearn.preprocessing._data": "sklearn.preprocessing",
    "sklearn.preprocessing._encoders": "sklearn.preprocessing",
    "sklearn.preprocessing._function_transformer": "sklearn.preprocessing",
    "sklearn.preprocessing._label": "sklearn.preprocessing",
    "sklearn.svm._classes": "sklearn.svm",
    "sklearn.tree._classes": "sklearn.tree",
}
_KERNEL = "polychotomy.kernels.Kernel"
_KERNEL_PARAMETERS = {
    "rbf": ("gamma",),
    "laplacian": ("gamma",),
    "linear": (),
    "poly": ("gamma", "degree", "coef0"),
    "precomputed": (),
}


def upgraded(schema: Node, children: Callable[[Node], list[Any]]) -> None:
    """Convert the schema of a format 1 file to format 2, in place.

    Parameters
    ----------
    schema : dict
        The nodes.
    children : callable
        Returns the nodes below a node, in the order in which skops builds them.
    """
    plain: dict[int, Node] = {}
    largest = 0

    def visit(node: Any) -> None:
        nonlocal largest
        if not isinstance(node, dict):
            return
        number = node.get("__id__")
        if isinstance(number, int):
            largest = max(largest, number)
            if set(node) == {"__id__"} and number in plain:
                # A reference to a plain value becomes a copy of it, so that the original can be
                # dropped.
                node.update(plain[number])
                node["__id__"] = None
                return
        if node.get("__loader__") == "JsonNode" and isinstance(number, int):
            plain[number] = dict(node)
        for child in children(node):
            visit(child)
        _rename(node)

    visit(schema)
    _number(schema, children, largest)


def _rename(node: Node) -> None:
    module, name = node.get("__module__"), node.get("__class__")
    path = f"{module}.{name}"
    if path == _KERNEL:
        _rename_kernel(node)
        return
    if path in _OWN:
        node["__module__"], _, node["__class__"] = _OWN[path].rpartition(".")
    elif module in _SKLEARN_PRIVATE and not str(name).startswith("_"):
        node["__module__"] = _SKLEARN_PRIVATE[str(module)]


def _rename_kernel(node: Node) -> None:
    attributes = node["content"]["content"]
    name = json.loads(attributes["name"]["content"])
    wanted = _KERNEL_PARAMETERS[name]
    node["__module__"], node["__class__"] = "kernel", name
    node["content"]["content"] = {key: attributes[key] for key in attributes if key in wanted}
    types = node["content"]["key_types"]
    types["content"] = types["content"][: len(wanted)]


def _number(schema: Node, children: Callable[[Node], list[Any]], largest: int) -> None:
    """Give each copy of a plain value its own number."""

    def visit(node: Any) -> None:
        nonlocal largest
        if not isinstance(node, dict):
            return
        if node.get("__id__", 0) is None:
            largest += 1
            node["__id__"] = largest
        for child in children(node):
            visit(child)

    visit(schema)
