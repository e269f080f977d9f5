"""Popular methods of scikit-learn, each tuned over a small grid.

Design note: every peer runs in one thread. Splits run in parallel processes instead: threads inside
threads made logistic regression 10 times and boosting up to 60 times slower on small tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..tuning.small_search import SmallSearch


@dataclass(frozen=True)
class Conditions:
    """What a method is told: the size of the smallest class, a seed, and the threads."""

    smallest_class: int = 5
    random_state: int = 0
    n_jobs: int | None = None

    def folds(self, wanted: int) -> int | None:
        """Return how many stratified folds are possible, at most those wanted; None for none."""
        return min(wanted, self.smallest_class) if self.smallest_class >= 2 else None


@dataclass(frozen=True)
class Peer:
    """A method of another library.

    Attributes
    ----------
    name, words : str
        Its name, and what it is, in one line.
    storable : bool
        Whether a model file can hold it.
    times : float
        How much slower it is than the guess for any classifier, roughly.
    make, quick : callable
        From `Conditions` to an estimator that tunes itself, or one that is not tuned; None if it
        cannot be trained under these conditions.
    """

    name: str
    words: str
    storable: bool
    times: float
    make: Callable[[Conditions], Any]
    quick: Callable[[Conditions], Any]


def peers() -> tuple[Peer, ...]:
    """Return the methods of scikit-learn that are compared."""
    return (
        Peer("logistic", "logistic regression", True, 1.0, _logistic, _plain_logistic),
        Peer("forest", "random forest", True, 1.5, _forest, _plain_forest),
        Peer(
            *("boosting", "gradient boosting", False, 5.0),
            *(_boosting, _plain_boosting),
        ),
        Peer(
            *("calibrated_svc", "SVC, calibrated", True, 3.5),
            *(_svc, _plain_svc),
        ),
    )


def _plain_logistic(conditions: Conditions) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=5000)


def _logistic(conditions: Conditions) -> Any:
    grid = {"C": [0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]}
    return SmallSearch(_plain_logistic(conditions), grid)


def _plain_forest(conditions: Conditions) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(random_state=conditions.random_state)


def _forest(conditions: Conditions) -> Any:
    grid = {"min_samples_leaf": [1, 3, 10]}
    return SmallSearch(_plain_forest(conditions), grid, judged="out of bag")


def _plain_boosting(conditions: Conditions) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        random_state=conditions.random_state, early_stopping=False
    )


def _boosting(conditions: Conditions) -> Any:
    return SmallSearch(_plain_boosting(conditions), {"learning_rate": [0.03, 0.1]})


def _plain_svc(conditions: Conditions) -> Any:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC

    if conditions.smallest_class < 2:
        return None
    # The training part of a 3-fold search has two thirds of the rows.
    inner = max(2, min(3, conditions.smallest_class * 2 // 3))
    return CalibratedClassifierCV(SVC(), cv=inner, ensemble=False)


def _svc(conditions: Conditions) -> Any:
    svc = _plain_svc(conditions)
    if svc is None or conditions.smallest_class <= 3:
        return svc
    grid: dict[str, list[Any]] = {
        "estimator__C": [1.0, 10.0, 100.0],
        "estimator__gamma": ["scale", 0.03],
    }
    return SmallSearch(svc, grid)
