"""How long fitting the members of a pool takes, roughly."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from ..machines import guessed_seconds
from .members import is_pipeline, last_step

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
