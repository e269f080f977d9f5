"""Writing a fitted classifier as an ONNX graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..core.versions import installed
from ._check import check_against
from ._errors import ExportError
from ._graph import IR_VERSION, OPSET, Graph, Tensor
from ._models import probabilities


def to_onnx(model: Any, X: ArrayLike, *, tolerance: float = 1e-6) -> Any:
    """Write a fitted classifier as an ONNX graph, and check it against the model.

    Everything is computed in double precision. The graph has one input, ``X``, and two outputs:
    ``label``, the class of largest probability, and ``probabilities``, in the order of
    ``model.classes_``.

    Parameters
    ----------
    model : estimator
        A fitted classifier with probabilities: `ProbabilisticSVC`, `PolychotomyClassifier` with
        kernel machines, `KernelMultinomialRegression`, `MetricClassifier`, `NestedDichotomies`
        or `PolychotomyPool`, a search of these, or a pipeline that ends in one and begins with
        transformers that skl2onnx converts.
    X : array-like of shape (n_rows, n_features)
        Rows on which the graph is compared with the model, training rows for example.
    tolerance : float, default=1e-6
        The largest difference in a probability that is accepted.

    Returns
    -------
    graph : ModelProto
        ``onnx.save(graph, "model.onnx")`` writes it to a file.

    Raises
    ------
    ExportError
        If some part cannot be exported, or the graph differs from the model.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import ProbabilisticSVC, to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> graph = to_onnx(ProbabilisticSVC().fit(X, y), X)
    >>> [output.name for output in graph.graph.output]
    ['label', 'probabilities']
    """
    check_is_fitted(model)
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or len(rows) == 0:
        raise ExportError("X must have at least one row, so that the graph can be checked.")
    graph = Graph()
    make, types = graph.onnx.helper, graph.onnx.TensorProto
    p = probabilities(model, Tensor(graph, "X"))
    best = graph.op("ArgMax", p, axis=1, keepdims=0)
    classes = np.asarray(model.classes_)
    kind = types.STRING
    if classes.dtype.kind in "iub":
        classes, kind = classes.astype(np.int64), types.INT64
    else:
        classes = np.array([str(label) for label in classes.tolist()], dtype=object)
    label = graph.op("Gather", classes, best, axis=0)
    for tensor, name in ((label, "label"), (p, "probabilities")):
        graph.nodes.append(make.make_node("Identity", [tensor.name], [name]))
    body = make.make_graph(
        graph.nodes,
        "polychotomy",
        [make.make_tensor_value_info("X", types.DOUBLE, [None, rows.shape[1]])],
        [
            make.make_tensor_value_info("label", kind, [None]),
            make.make_tensor_value_info("probabilities", types.DOUBLE, [None, len(classes)]),
        ],
        graph.constants,
    )
    written = make.make_model(
        body,
        opset_imports=[make.make_opsetid("", OPSET), make.make_opsetid("ai.onnx.ml", 3)],
        producer_name="polychotomy",
        producer_version=installed("polychotomy") or "",
        ir_version=IR_VERSION,
    )
    graph.onnx.checker.check_model(written)
    check_against(written, model, X, tolerance)
    return written
