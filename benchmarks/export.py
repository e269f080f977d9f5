"""ONNX graphs beside the models: the largest difference, and predictions per second.

All recipes with probabilities, on three data sets of scikit-learn: trained on a part of the rows,
exported with the inputs' scaler, and compared on all rows. Processor time, one thread.

    python benchmarks/export.py
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import onnxruntime
from _table import Table, add_csv_option
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polychotomy import (
    SVM,
    KernelMultinomialRegression,
    PolychotomyClassifier,
    recipe,
    recipes,
    to_onnx,
)
from polychotomy.export import ExportError, check_against

DATA = {"iris": (load_iris, 90), "wine": (load_wine, 100), "digits": (load_digits, 300)}
# What is in no recipe.
OTHERS = {
    "KernelMultinomialRegression": KernelMultinomialRegression(C=10.0),
    "SVM, ANOVA kernel": PolychotomyClassifier(SVM(kernel="anova")),
}
PREDICTED = 2000
WORDS = (
    "ONNX graphs of all recipes with probabilities, and of two more classifiers, by "
    "`benchmarks/export.py`: the largest difference to the model, and rows predicted per second "
    "of processor time."
)
HEAD = [
    "recipe",
    "data",
    "nodes",
    "kilobytes",
    "largest difference",
    "ours",
    "onnxruntime",
    "ratio",
]


def rows_per_second(predict, X):
    """Return how many rows a second of processor time predicts, the best of three."""
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        predict(X)
        best = min(best, time.process_time() - start)
    return len(X) / best


def classifier(name):
    """Return a recipe or another classifier by its name."""
    return clone(OTHERS[name]) if name in OTHERS else recipe(name)


def measure(name, data):
    load, n_train = DATA[data]
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    # Constant columns of digits would be divided by 0 by no scaler, but say nothing either.
    X = X[:, X[:n_train].std(axis=0) > 0]
    model = make_pipeline(StandardScaler(), classifier(name)).fit(X[:n_train], y[:n_train])
    try:
        graph = to_onnx(model, X[:n_train])
        difference = check_against(graph, model, X)
    except ExportError as error:
        return [name, data, "", "", f"refused: {error}", "", "", ""]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    content = graph.SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    many = np.ascontiguousarray(np.resize(X, (PREDICTED, X.shape[1])))
    ours = rows_per_second(model.predict_proba, many)
    theirs = rows_per_second(lambda rows: session.run(["probabilities"], {"X": rows}), many)
    size = f"{len(content) / 1000:.0f}"
    nodes = len(graph.graph.node)
    speeds = [f"{ours:,.0f}", f"{theirs:,.0f}", f"{theirs / ours:.2f}"]
    return [name, data, nodes, size, f"{difference:.1e}", *speeds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_csv_option(parser)
    parser.add_argument("--recipes", nargs="*", help="only these")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with_probabilities = [name for name, one in recipes().items() if one.probabilities]
    names = arguments.recipes or [*with_probabilities, *OTHERS]
    table = Table("onnx", WORDS, HEAD)
    for name in names:
        for data in DATA:
            table.add(*measure(name, data))
    table.save(arguments.csv)


if __name__ == "__main__":
    main()
