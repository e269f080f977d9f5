"""The members that a pool has by default."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from ..machines import SVM, KernelLogisticRegression
from ..multinomial import KernelMultinomialRegression
from ..pipe.classifier import PolychotomyClassifier
from ..pipe.folds import is_number
from ..tuning.search import TwoStepSearchCV
from .boosted_trees import BoostedTrees
from .fold_mean import FoldMean
from .metric import LearnedMetric
from .metric_classifier import LANDMARKS, MetricClassifier

COARSE_C = (0.1, 1.0, 10.0, 100.0, 1000.0)
FINE_C = (0.3, 3.0)
# C, and the width of the SVM, are chosen on a sample of this many rows.
ROWS_FOR_SEARCH = 1000
# Above this many rows, kernel logistic regression is that of all classes together, in landmarks.
# With 3,200, pairs take two thirds of its time (satimage, waveform, phoneme; NLL -0.0008 ± 0.0016);
# with 5,000 they are worse by 0.0021 ± 0.0007.
MANY_ROWS = 4_000
# Boosting ends when held-out rows gain no more; it may take so many rounds.
MOST_ROUNDS = 500
# Trees that see all rows of the other folds, in every fold, up to this many rows.
TREES_OF_A_FOLD, ROWS_OF_A_TREE = 40, 10_000
# Above it, every tree draws that many rows, so that its size does not grow with the rows. With
# 13,000, trees that saw 5,000 were worse on letter (NLL .132 for .114) and better on noisy classes
# (.877 for .919), where all rows make twice as many nodes.
N_TREES = 100
# The typical error of a score of multinomial regression. With its default of 0.01 it took 1.6 times
# as long on 20,000 rows of nearly separable classes, for an NLL that was lower by 0.0002.
TOLERANCE = 0.03
KERNELS = {"gaussian": "rbf", "laplacian": "laplacian"}


def default_members(cv: Any = 5, n_rows: int = 0) -> list[tuple[str, Any]]:
    """Return the default members of a pool.

    Note: trees and boosting take little of the time, and gain most where classes depend on
    thresholds. An ANOVA kernel, categories in an overlap kernel, a linear member and other weights
    gained nothing on data sets on which they were not tried first (benchmarks/quality.py and
    benchmarks/pool_weights.py).

    Parameters
    ----------
    cv : int, splitter or iterable, default=5
        The folds of the members that need folds.
    n_rows : int, default=0
        The number of rows. Above 4,000, kernel logistic regression is that of all classes
        together, with landmarks, and there is no SVM: both take long there for all pairs and
        folds, and the pool is as good without.

    Returns
    -------
    members : list of (str, classifier)
    """
    trees = [("trees", randomised_trees(n_rows, cv)), ("boosting", boosted_trees(cv))]
    if n_rows > MANY_ROWS:
        together = KernelMultinomialRegression(landmarks=LANDMARKS, tol=TOLERANCE)
        return [*ls_members(), *_in_metrics(together), *trees]
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    # Platt's sigmoid may turn scores round, which is wrong where the folds are groups of one class.
    sigmoid = "platt" if is_number(cv) else "pooled_platt"
    svm = PolychotomyClassifier(
        SVM(landmarks="auto"), "one_vs_one", sigmoid, "pairwise_coupling", cv=cv
    )
    widths = TwoStepSearchCV(svm, ties="nll", max_rows=ROWS_FOR_SEARCH, show_progress=False)
    machine = KernelLogisticRegression(landmarks="auto")
    logistic = PolychotomyClassifier(
        machine, "one_vs_one", "pooled_platt", "pairwise_coupling", cv=cv
    )
    search = TwoStepSearchCV(
        logistic,
        {"machine__C": COARSE_C},
        FINE_C,
        ties="nll",
        max_rows=ROWS_FOR_SEARCH,
        show_progress=False,
    )
    return [
        *ls_members(),
        *_in_metrics(search),
        ("svm", make_pipeline(StandardScaler(), widths)),
        *trees,
    ]


def randomised_trees(n_rows: int, cv: Any = 5) -> Any:
    """Return extremely randomised trees.

    Note: with up to 10,000 rows, every tree sees all rows of the other folds. Trees that draw rows,
    as those do whose out-of-bag rows take the place of folds, miss the rows that are most like a
    new one, and were worse where classes depend on combinations of many values (an NLL of 0.72
    for 0.57).
    """
    # Imported here, because it would slow down importing this library.
    from sklearn.ensemble import ExtraTreesClassifier

    # The seed is fixed, because the other members draw nothing: equal rows give equal pools.
    if n_rows <= ROWS_OF_A_TREE:
        trees = ExtraTreesClassifier(TREES_OF_A_FOLD, max_features=None, random_state=0)
        return FoldMean(trees, cv=cv)
    return ExtraTreesClassifier(
        N_TREES,
        max_features=None,
        bootstrap=True,
        # Not a share, which would be one of the sum of the weights.
        max_samples=ROWS_OF_A_TREE,
        oob_score=True,
        random_state=0,
    )


def boosted_trees(cv: Any = 5) -> BoostedTrees:
    """Return gradient boosting that ends when held-out rows gain no more."""
    return BoostedTrees(MOST_ROUNDS, max_leaf_nodes=31, min_samples_leaf=10, cv=cv)


def _in_metrics(logistic: Any) -> list[tuple[str, Any]]:
    """Return a form of logistic regression with both learned metrics."""
    return [
        (f"logistic {name}", MetricClassifier(clone(logistic), LearnedMetric(kernel)))
        for name, kernel in KERNELS.items()
    ]


def ls_members() -> list[tuple[str, Any]]:
    """Return the two LS-SVMs with learned metrics."""
    return [
        (f"ls {name}", MetricClassifier(metric=LearnedMetric(kernel)))
        for name, kernel in KERNELS.items()
    ]
