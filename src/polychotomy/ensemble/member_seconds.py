"""How long fitting the members of a pool takes, roughly."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from ..core.checks import positive_number
from ..machines import guessed_seconds
from .members import is_pipeline, last_step, metric_key
from .metric import LearnedMetric
from .metric_classifier import MetricClassifier

# The classes of a table, if their number is unknown.
TYPICAL_CLASSES = 5
# What the guess for any classifier is for: five refits and one more.
GUESSED_FITS = 6
# The seconds of a tree of randomised splits, for every row, level and input that is tried.
SECONDS_OF_A_SPLIT = 5e-9


def expected_seconds(
    estimator: Any, n_rows: int, n_features: int, n_classes: int = TYPICAL_CLASSES
) -> float:
    """Estimate how long fitting a member takes on one core, without its metric.

    Note: it is a formula, not a measurement, so that a budget selects the same members in every
    run. Kernel machines are asked for the rows alone, which count most for them; members whose time
    depends on the inputs and classes as much have `seconds_for`.
    """
    last = last_step(estimator)
    shape = n_rows, n_features, n_classes
    if hasattr(last, "seconds_for"):
        return float(last.seconds_for(*shape))
    if hasattr(last, "expected_seconds"):
        return float(last.expected_seconds(n_rows))
    # Forests with out-of-bag rows are fitted once.
    fits = 1 if getattr(last, "oob_score", False) else GUESSED_FITS
    return fits * seconds_of_a_fit(last, *shape)


def seconds_of_a_fit(estimator: Any, n_rows: int, n_features: int, n_classes: int) -> float:
    """Estimate how long a single fit takes on one core."""
    if is_pipeline(estimator) or not is_randomised(estimator):
        return guessed_seconds(n_rows) / GUESSED_FITS
    drawn: Any = estimator.max_samples
    rows = min(n_rows, int(drawn)) if isinstance(drawn, Integral) else n_rows
    tried = n_features if estimator.max_features is None else max(1.0, n_features**0.5)
    each = rows * np.log2(max(2, rows)) * tried * SECONDS_OF_A_SPLIT
    return float(estimator.n_estimators * each)


def is_randomised(estimator: Any) -> bool:
    """Whether a classifier is a forest of extremely randomised trees."""
    # Imported here, because it would slow down importing this library.
    from sklearn.ensemble import ExtraTreesClassifier

    return isinstance(estimator, ExtraTreesClassifier)


def expected_total(
    members: list[tuple[str, Any]],
    n_rows: int,
    n_features: int,
    n_classes: int = TYPICAL_CLASSES,
) -> float:
    """Estimate how long fitting all members takes; a shared metric counts once."""
    metrics = {}
    for _, estimator in members:
        if isinstance(estimator, MetricClassifier):
            metric = LearnedMetric() if estimator.metric is None else estimator.metric
            metrics[metric_key(estimator)] = min(n_rows, metric.max_rows)
    learning = sum(0.3 + 4e-10 * n**3 + 2e-8 * n**2 * n_features for n in metrics.values())
    shape = n_rows, n_features, n_classes
    return learning + sum(expected_seconds(estimator, *shape) for _, estimator in members)


def within_budget(
    members: list[tuple[str, Any]],
    budget: float | None,
    n_rows: int,
    n_features: int,
    n_classes: int = TYPICAL_CLASSES,
) -> list[tuple[str, Any]]:
    """Return the members that remain after dropping the most expensive ones.

    Note: members are ranked by their cost without the metric. With it, the cost of a member would
    depend on which other members share its metric.
    """
    if budget is None:
        return members
    limit = positive_number(budget, "budget")
    kept, shape = list(members), (n_rows, n_features, n_classes)
    while len(kept) > 1 and expected_total(kept, *shape) > limit:
        # Of members with equal cost, drop the later one.
        costs = [expected_seconds(estimator, *shape) for _, estimator in kept]
        del kept[max(range(len(kept)), key=lambda place: (costs[place], place))]
    return kept
