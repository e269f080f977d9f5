"""The self-check: a graph must give what the model gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.extras import needed
from ._errors import ExportError


def check_against(graph: Any, model: Any, X: Any, tolerance: float = 1e-6) -> float:
    """Run a graph on some rows and compare it with the model.

    Parameters
    ----------
    graph : ModelProto
        What `to_onnx` returned, or a file of it that was read again.
    model : estimator
        The fitted classifier.
    X : array-like of shape (n_rows, n_features)
        The rows.
    tolerance : float, default=1e-6
        The largest difference in a probability.

    Returns
    -------
    difference : float
        The largest difference.

    Raises
    ------
    ExportError
        If it is larger than the tolerance, or not a number, or if classes differ that are not
        tied within the tolerance.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import ProbabilisticSVC, to_onnx
    >>> from polychotomy.export import check_against
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ProbabilisticSVC().fit(X, y)
    >>> check_against(to_onnx(model, X[:10]), model, X) < 1e-9
    True
    """
    runtime = needed("onnxruntime", "onnx", "Checking an exported model needs onnxruntime")
    rows = np.ascontiguousarray(np.asarray(X, dtype=np.float64))
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    session = runtime.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    labels, p = session.run(["label", "probabilities"], {"X": rows})
    expected = np.asarray(model.predict_proba(X))
    difference = float(np.abs(p - expected).max(initial=0.0))
    if not difference <= tolerance:  # NaN included
        row = int(np.abs(np.nan_to_num(p, nan=np.inf) - expected).max(axis=1).argmax())
        raise ExportError(
            f"The exported graph differs from the model by {difference:.2g} in row {row}, more "
            f"than the tolerance {tolerance:.2g}. The graph is not returned."
        )
    top = np.sort(expected, axis=1)[:, -2:]
    clear = top[:, 1] - top[:, 0] > 2.0 * tolerance
    wrong = np.flatnonzero(clear & (np.asarray(labels) != model.classes_[expected.argmax(axis=1)]))
    if len(wrong):
        raise ExportError(f"The exported graph has another class in row {wrong[0]}.")
    return difference
