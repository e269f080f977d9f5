"""Sets of classes that have the true one with a wanted probability."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..core.checks import listed, one_of
from ..core.contents import content_uniforms
from ..core.registry import stored
from ..core.state import Array, Field
from ..core.types import FloatArray, IntArray
from .base import DecisionClassifier
from .conformal import ALWAYS, SCORES, class_thresholds, sets_of, with_likeliest
from .costs import nonnegative
from .held_out import HeldOut, Rows, is_frozen, warn_few
from .inputs import share
from .set_report import SetReport, set_report

# The digits of a probability from which the random number of a row is made.
DIGITS = 6
CALIBRATIONS = ("split", "cross")


@stored("decision.prediction_sets")
class PredictionSets(DecisionClassifier):
    """Predict sets of classes that have the true class with a wanted probability.

    Parameters
    ----------
    estimator : classifier
        Any classifier with `predict_proba`. One that is fitted already is given as
        ``FrozenEstimator(classifier)``; the rows given to `fit` are then the held-out rows.
    coverage : float, default=0.9
        The wanted probability that the set of a new row has its true class.
    method : {"lac", "aps", "raps"}, default="lac"
        What makes a class belong to a set. "lac": a probability above a threshold; the smallest
        sets. "aps": the likeliest classes until their probabilities reach a threshold, so that
        doubtful rows get larger sets. "raps": as "aps", with a penalty for many classes.
    class_conditional : bool, default=False
        Whether the coverage is to hold for the rows of every class. By default it holds over all
        rows, and rare classes may have less.
    calibration : {"split", "cross"}, default="split"
        The rows that set the thresholds. "split": rows that are set aside; the classifier is
        fitted to the others. "cross": all rows, with out-of-fold probabilities; the classifier
        is fitted to all rows. See Notes for what holds.
    held_out : float, default=0.25
        The share of rows that are set aside, with "split".
    cv : int, splitter, iterable or None, default=None
        The folds, with "cross". None: the out-of-fold probabilities that classifiers of this
        library have anyway, five folds for any other.
    allow_empty : bool, default=False
        Whether sets may be empty. By default an empty set gets the most likely class, so that
        coverage may be higher than wanted.
    randomised : bool, default=False
        Whether the last class of "aps" and "raps" is in the set with a probability, as in the
        papers, so that coverage is exact. By default it is always in the set.
    penalty : float, default=0.1
        The penalty of "raps" for every class of a set beyond `rank`.
    rank : int, default=1
        The size of a set up to which there is no penalty.
    n_jobs : int, default=None
        How many folds are fitted at once.
    random_state : int, RandomState or None, default=None
        Seeds the split, and the randomised scores. With an int, the set of a row is the same in
        every call, whatever rows are predicted with it.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    thresholds_ : ndarray of shape (n_classes,)
        The largest score with which each class is in a set.
    held_out_counts_ : ndarray of int of shape (n_classes,)
        The number of held-out rows of each class.
    guarantee_ : str
        What holds for new rows, in a sentence.
    n_features_in_ : int
        The number of inputs, if the classifier has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the inputs, if X had any.

    Notes
    -----
    What is guaranteed, if new rows are drawn like the training rows, for any classifier:

    - "split": a new row's set has the true class with at least the wanted probability, on average
      over the held-out rows. With n held-out rows, the coverage of one model varies around it with
      a standard deviation of about ``sqrt(c (1 - c) / n)``.
    - "split" and `class_conditional`: the same for the rows of each class, with n its held-out
      rows. A class with fewer than ``c / (1 - c)`` held-out rows is in every set.
    - "cross": nothing is guaranteed. In practice coverage is close to the wanted one, mostly a
      little above, because the final classifier has seen more rows than those of the folds (see
      `docs/benchmarks.md`). Parameters that were tuned on all rows can lower it.
    - Not guaranteed by any: the coverage of a group of rows that is not a class.

    See Also
    --------
    set_report : Sizes and coverage by class.

    References
    ----------
    Vovk, Gammerman and Shafer (2005), Algorithmic learning in a random world; Vovk (2015),
    Cross-conformal predictors.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.linear_model import LogisticRegression
    >>> from polychotomy.decisions import PredictionSets
    >>> X, y = load_wine(return_X_y=True)
    >>> X = X[:, :2]
    >>> sets = PredictionSets(LogisticRegression(), 0.9, random_state=0).fit(X[::2], y[::2])
    >>> sets.predict_set(X[[1, 71, 141]])
    array([[ True,  True, False],
           [ True, False, False],
           [ True, False,  True]])
    >>> sets.predict_labels(X[[141]])
    [[0, 2]]
    >>> print(sets.report(X[1::2], y[1::2]))
    class    rows  coverage  mean size
    0          29     0.793       1.31
    1          36     0.889       1.19
    2          24     0.958       1.29
    all        89     0.876       1.26
    Sizes of the sets: 76% have 1, 21% have 2, 2% have 3.
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        "thresholds_": Array("M", at_least=0.0),
        "held_out_counts_": Array("M", "iu", at_least=0),
    }

    def __init__(
        self,
        estimator: Any,
        coverage: float = 0.9,
        *,
        method: str = "lac",
        class_conditional: bool = False,
        calibration: str = "split",
        held_out: float = 0.25,
        cv: Any = None,
        allow_empty: bool = False,
        randomised: bool = False,
        penalty: float = 0.1,
        rank: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.method = method
        self.class_conditional = class_conditional
        self.calibration = calibration
        self.held_out = held_out
        self.cv = cv
        self.allow_empty = allow_empty
        self.randomised = randomised
        self.penalty = penalty
        self.rank = rank
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit_rows(self, rows: Rows) -> None:
        one_of(self.method, "method", SCORES)
        one_of(self.calibration, "calibration", CALIBRATIONS)
        wanted = share(self.coverage, "coverage")
        if isinstance(self.rank, bool) or not isinstance(self.rank, int | np.integer):
            raise TypeError(f"rank must be a whole number, got {self.rank!r}.")
        if self.rank < 0:
            raise ValueError(f"rank must be at least 0, got {self.rank}.")
        random = check_random_state(self.random_state)
        if self.calibration == "cross" or is_frozen(rows.estimator):
            self.estimator_, held_out = rows.fit_held_out(self.cv, self.n_jobs)
        else:
            train, test = self._split(rows, random)
            self.estimator_ = rows.fit(train)
            held_out = rows.held_out(self.estimator_, test, train)
        scores = self._scores(held_out.p)
        self.thresholds_ = class_thresholds(scores, held_out.y, wanted, self.class_conditional)
        self.held_out_counts_ = np.bincount(held_out.y, minlength=len(rows.classes))
        self._warn_of_few(held_out, rows.classes, wanted)

    def _split(self, rows: Rows, random: np.random.RandomState) -> tuple[IntArray, IntArray]:
        """Set rows aside.

        Note: at random, not stratified, unless the coverage is to hold by class. The guarantee
        over all rows needs held-out rows that are drawn like new rows.
        """
        aside = share(self.held_out, "held_out")
        # Rows of weight 0 are as good as absent.
        used = np.arange(len(rows.y)) if rows.weights is None else np.flatnonzero(rows.weights)
        order = random.permutation(used)
        if self.class_conditional:
            parts = [order[rows.numbers[order] == k] for k in range(len(rows.classes))]
        else:
            parts = [order]
        sizes = [round(aside * len(part)) for part in parts]
        test = np.concatenate([part[:size] for part, size in zip(parts, sizes, strict=True)])
        train = np.concatenate([part[size:] for part, size in zip(parts, sizes, strict=True)])
        if not len(test):
            raise ValueError(
                f"held_out={self.held_out} of {len(used)} rows leaves no held-out rows; give "
                "more rows, a larger share, or use calibration='cross'."
            )
        if len(np.unique(rows.numbers[train])) < 2:
            weighted = "" if rows.weights is None else " with a positive sample_weight"
            raise ValueError(
                f"held_out={self.held_out} leaves rows of one class{weighted} to train on; give "
                "more rows, a smaller share, or use calibration='cross'."
            )
        return np.sort(train), np.sort(test)

    def _warn_of_few(self, held_out: HeldOut, classes: NDArray[Any], wanted: float) -> None:
        always = np.flatnonzero(self.thresholds_ >= ALWAYS)
        if not len(always):
            return
        least = int(np.ceil(wanted / (1.0 - wanted) - 1e-9))
        if not self.class_conditional:
            warn_few(
                f"There are {len(held_out.y)} held-out rows, but a coverage of {wanted:g} needs "
                f"at least {least}: every set has all classes."
            )
            return
        names = listed(classes[always].tolist(), "and")
        warn_few(
            f"Each class needs at least {least} held-out rows for a coverage of {wanted:g} of its "
            f"own; {names} {'has' if len(always) == 1 else 'have'} fewer, and will be in every set."
        )

    def _scores(self, p: FloatArray) -> FloatArray:
        u = np.zeros(len(p))
        if self.randomised:
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            # Rounded, because the last digits depend on how many rows are predicted at once.
            u = content_uniforms(np.round(p, DIGITS), seed)
        penalty = nonnegative(self.penalty, "penalty")
        return SCORES[self.method](p, u, penalty, self.rank)

    def predict_set(self, X: Any) -> NDArray[np.bool_]:
        """Return which classes are in the set of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        sets : ndarray of bool of shape (n_rows, n_classes)
            In the order of `classes_`.
        """
        check_is_fitted(self, "thresholds_")
        p = self.predict_proba(X)
        sets: NDArray[np.bool_] = sets_of(self._scores(p), self.thresholds_)
        return sets if self.allow_empty else with_likeliest(sets, p)

    def predict_labels(self, X: Any) -> list[list[Any]]:
        """Return the labels in the set of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        labels : list of lists
        """
        return [self.classes_[inside].tolist() for inside in self.predict_set(X)]

    def report(self, X: Any, y: ArrayLike) -> SetReport:
        """Report sizes and coverage on labelled rows, overall and by class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The true classes.

        Returns
        -------
        report : SetReport
            It prints as a table.
        """
        return set_report(self.predict_set(X), y, self.classes_)

    @property
    def guarantee_(self) -> str:
        """What holds for new rows that are drawn like the training rows."""
        check_is_fitted(self, "thresholds_")
        level = f"{self.coverage:.0%}" if self.coverage * 100 % 1 == 0 else f"{self.coverage:.1%}"
        what = "of every class" if self.class_conditional else "of all classes together"
        if self.calibration == "cross" and not is_frozen(self.estimator_):
            return (
                f"The sets are meant to have the true class for {level} of the rows {what}. That "
                "is not guaranteed, because the held-out probabilities are of other fits than "
                "the final one; in practice it holds closely."
            )
        n_rows = int(self.held_out_counts_.sum())
        return (
            f"The sets have the true class for at least {level} of new rows {what}, on average "
            f"over the choice of the {n_rows} held-out rows, whatever the classifier."
        )
