"""Popular methods of scikit-learn, each tuned over a small grid.

Design note: every peer runs in one thread. Splits run in parallel processes instead: threads inside
threads made logistic regression 10 times and boosting up to 60 times slower on small tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..core.types import IntArray
from ..pipe.folds import Splits
from ..tuning.small_search import SmallSearch
from ._splits import grouped_folds


@dataclass(frozen=True, eq=False)
class Conditions:
    """What a method is told.

    Attributes
    ----------
    smallest_class : int
        The rows of the smallest class.
    random_state : int
        A seed.
    n_jobs : int or None
        The number of threads.
    y : ndarray of int or None
        The class of every row.
    together : ndarray of int or None
        The group of every row, for rows that must stay together in folds.
    """

    smallest_class: int = 5
    random_state: int = 0
    n_jobs: int | None = None
    y: IntArray | None = None
    together: IntArray | None = None

    @property
    def n_classes(self) -> int:
        """The number of classes; 0 if it is unknown."""
        return 0 if self.y is None else int(self.y.max()) + 1

    def splits(self, wanted: int) -> Splits | None:
        """Return folds that keep groups together; None if there are none, or no such folds."""
        if self.y is None or self.together is None:
            return None
        return grouped_folds(self.y, self.together, wanted, self.random_state)

    def first(self, rows: int) -> Conditions:
        """Return the conditions for the first rows only."""
        if self.y is None or self.together is None:
            return self
        return replace(self, y=self.y[:rows], together=self.together[:rows])

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
    source : str
        Where it comes from; its family by default.
    """

    name: str
    words: str
    storable: bool
    times: float
    make: Callable[[Conditions], Any]
    quick: Callable[[Conditions], Any]
    source: str = ""


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


def searched(estimator: Any, grid: dict[str, list[Any]], conditions: Conditions) -> SmallSearch:
    """Return a search with three folds, which keep groups together if there are any."""
    return SmallSearch(estimator, grid, cv=conditions.splits(3) or 3)


def _plain_logistic(conditions: Conditions) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=5000)


def _logistic(conditions: Conditions) -> Any:
    grid: dict[str, list[Any]] = {"C": [0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]}
    return searched(_plain_logistic(conditions), grid, conditions)


def _plain_forest(conditions: Conditions) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(random_state=conditions.random_state)


def _forest(conditions: Conditions) -> Any:
    grid: dict[str, list[Any]] = {"min_samples_leaf": [1, 3, 10]}
    # The trees that have not seen a row have seen others of its group.
    if conditions.together is not None:
        return searched(_plain_forest(conditions), grid, conditions)
    return SmallSearch(_plain_forest(conditions), grid, judged="out of bag")


def _plain_boosting(conditions: Conditions) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        random_state=conditions.random_state, early_stopping=False
    )


def _boosting(conditions: Conditions) -> Any:
    return searched(_plain_boosting(conditions), {"learning_rate": [0.03, 0.1]}, conditions)


def _plain_svc(conditions: Conditions) -> Any:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC

    if conditions.smallest_class < 2:
        return None
    # The training part of a 3-fold search has two thirds of the rows.
    inner = max(2, min(3, conditions.smallest_class * 2 // 3))
    folds = conditions.splits(inner) or inner
    return CalibratedClassifierCV(SVC(), cv=folds, ensemble=False)


def _svc(conditions: Conditions) -> Any:
    svc = _plain_svc(conditions)
    if svc is None or conditions.smallest_class <= 3:
        return svc
    grid: dict[str, list[Any]] = {
        "estimator__C": [1.0, 10.0, 100.0],
        "estimator__gamma": ["scale", 0.03],
    }
    return searched(svc, grid, conditions)
