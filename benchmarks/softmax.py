"""How fast the soft-max combination is fitted in one cell of a search.

The job of a cell: scores of binary support vector machines on rows that they did not see, in five
folds; for each fold, `SoftMax` is fitted to the other four, its C chosen among 31 values by
cross-validation over these four. That makes 5 x (4 x 31 + 1) fits. One run, one thread; prints the
processor time of the core (`cross_fit`) and the ratio to it of

- the same method in NumPy, that of the tests, with LAPACK's Cholesky factors, at a tolerance of
  1e-9 (for one fold, of five equal ones); and the largest difference in a probability;
- scikit-learn's LogisticRegression ("lbfgs"), 31 values of C by cross-validation over the same
  folds, one warm-started fit after the other, with all scores as features of all classes: a model
  with more weights and without the bounds, but with the same job.

Then, what two threads gain in a search of several such cells, by the clock on the wall.

The data are bundled digits, and a mixture of 7 classes in 19 dimensions, or those of a folder of
the papers' data sets: --data folder/segment.csv.gz.

    python benchmarks/softmax.py --rows 500
"""

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from _table import Table, add_csv_option
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from polychotomy import Codebook, Context, Margins, OneVsOne, OneVsRest, SoftMax
from polychotomy.decoding.softmax import PAPER_C, choose_strength, class_features

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "decoding"))
import softmax_twin

Array = np.ndarray


def mixture(n_rows: int) -> tuple[Array, Array]:
    return make_classification(
        n_rows, n_features=19, n_informative=10, n_redundant=5, n_classes=7, class_sep=2.0,
        random_state=0,
    )  # fmt: skip


def digits(n_rows: int) -> tuple[Array, Array]:
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:n_rows]
    return X[rows], y[rows]


def from_file(path: str, n_rows: int) -> tuple[Array, Array]:
    import pandas as pd

    frame = pd.read_csv(path, dtype={"class": str}).sample(n_rows, random_state=0)
    y = np.unique(frame["class"], return_inverse=True)[1]
    return frame.iloc[:, :-1].to_numpy(dtype=float), y


def held_out_scores(X: Array, y: Array, folds: Array, one_vs_rest: bool) -> Array:
    X = X[:, X.std(axis=0) > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    machine = SVC(C=10.0, gamma=0.5 / X.shape[1], decision_function_shape="ovo")
    columns = y.max() + 1 if one_vs_rest else y.max() * (y.max() + 1) // 2
    scores = np.empty((len(y), columns))
    for fold in range(5):
        train, test = folds != fold, folds == fold
        if one_vs_rest:
            for k in range(columns):
                scores[test, k] = machine.fit(X[train], y[train] == k).decision_function(X[test])
        else:
            scores[test] = machine.fit(X[train], y[train]).decision_function(X[test])
    return scores


@dataclass
class Cell:
    """The held-out scores of a cell, and its folds."""

    codebook: Codebook
    y: Array
    scores: Array
    fold: Array

    def fit(self, n_sets: int = 1, n_threads: int = 1) -> Array:
        """Fit as often as there are folds, and that for several sets of scores."""
        scores = np.broadcast_to(self.scores, (n_sets, *self.scores.shape))
        splits = [
            (np.flatnonzero(self.fold != k), np.flatnonzero(self.fold == k)) for k in range(5)
        ]
        folds = [(train, test, self.fold[train]) for train, test in splits]
        return SoftMax().cross_fit(self.codebook, scores, self.y, None, folds, n_threads)

    def contexts(self) -> list[Context]:
        """Return what there is to learn from outside of each fold."""
        return [
            Context(
                self.codebook, self.y[rows], held_out=Margins(mean=self.scores[rows]),
                folds=self.fold[rows],
            )
            for rows in (self.fold != k for k in range(5))
        ]  # fmt: skip


def cell(X: Array, y: Array, one_vs_rest: bool) -> Cell:
    folds = np.empty(len(y), dtype=np.intp)
    for number, (_, test) in enumerate(StratifiedKFold(5).split(X, y)):
        folds[test] = number
    scores = held_out_scores(X, y, folds, one_vs_rest)
    book = (OneVsRest() if one_vs_rest else OneVsOne()).build(y.max() + 1)
    return Cell(book, y, scores, folds)


def in_numpy(context: Context) -> tuple[float, Array]:
    """Return the chosen C and the probabilities of the training rows."""
    features = class_features(context.held_out.mean, context.codebook)
    ones = np.ones(len(context.y))
    criteria = softmax_twin.cross_validate(features, context.y, ones, context.folds, PAPER_C)
    C = choose_strength(np.array(PAPER_C), *criteria)
    model = softmax_twin.ClassFeatureModel(features, context.y, ones)
    return C, model.probabilities(features, model.minimise(1 / C).weights)


def scikit_learn(contexts: list[Context]) -> None:
    for context in contexts:
        scores, losses = context.held_out.mean, np.zeros(len(PAPER_C))
        scores = scores / np.sqrt((scores**2).mean())
        for fold in np.unique(context.folds):
            train, test = context.folds != fold, context.folds == fold
            machine = LogisticRegression(warm_start=True, max_iter=1000)
            for k, C in enumerate(PAPER_C):
                machine.set_params(C=C).fit(scores[train], context.y[train])
                p = machine.predict_proba(scores[test])
                losses[k] -= np.log(p[np.arange(len(p)), context.y[test]]).sum()
        LogisticRegression(C=PAPER_C[losses.argmin()], max_iter=1000).fit(scores, context.y)


def timed(
    function: Callable[[], Any], repeats: int = 1, clock: Callable[[], float] = process_time
) -> tuple[float, Any]:
    best = np.inf
    for _ in range(repeats):
        start = clock()
        result = function()
        best = min(best, clock() - start)
    return best, result


def figures(one_cell: Cell) -> list[str]:
    contexts = one_cell.contexts()
    own, _ = timed(one_cell.fit, 5)
    old, (C, p) = timed(lambda: in_numpy(contexts[0]))
    fitted = SoftMax().fit(contexts[0])
    assert C == fitted.C_
    difference = np.abs(fitted.decode(contexts[0].held_out.mean) - p).max()
    peer, _ = timed(lambda: scikit_learn(contexts))
    one, _ = timed(lambda: one_cell.fit(8, 1), 3, perf_counter)
    two, _ = timed(lambda: one_cell.fit(8, 2), 3, perf_counter)
    times = [f"{5 * old / own:.0f}", f"{peer / own:.0f}", f"{one / two:.1f}"]
    return [f"{1e3 * own:.0f} ms", *times, f"{difference:.0e}"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--data", default=None)
    add_csv_option(parser)
    arguments = parser.parse_args()
    softmax_twin.TOLERANCE = 1e-9
    sets = {"mixture": mixture, "digits": digits}
    if arguments.data:
        sets = {Path(arguments.data).name.split(".")[0]: lambda n: from_file(arguments.data, n)}
    table = Table(
        "softmax",
        "The 625 soft-max fits of a cell of a search by `benchmarks/softmax.py`: processor time "
        "of peers over ours, what a second thread gains, and the largest difference in p to "
        "NumPy's.",
        [
            *("data", "code", "weights", "ours", "NumPy", "`LogisticRegression`", "2 threads"),
            "difference",
        ],
    )
    for name, load in sets.items():
        X, y = load(arguments.rows)
        for one_vs_rest in (False, True):
            one_cell = cell(X, y, one_vs_rest)
            book = one_cell.codebook
            n_weights = book.n_classes * (2 if one_vs_rest else book.n_classes)
            table.add(name, book.name, n_weights, *figures(one_cell))
    table.save(arguments.csv)


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
