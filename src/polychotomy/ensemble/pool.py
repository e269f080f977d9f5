"""A pool of classifiers: several members whose probabilities are combined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..blocks.as_blocks import labels_given
from ..core import scores
from ..core.answers import ProbabilityAnswers
from ..core.checks import positive_number
from ..core.diagram import Diagram, side_by_side
from ..core.registry import stored
from ..core.state import INPUTS, DictOf, Field, Holds, Instance, IsA, Labels, Number, Sizes, require
from ..core.types import FloatArray
from ..core.weights import class_numbers, refuse_mixed_labels, row_weights
from ..machines import SVM, KernelLogisticRegression
from ..multinomial import KernelMultinomialRegression
from ..pipe.classifier import PolychotomyClassifier
from ..pipe.folds import FoldRows, is_number, split_rows
from ..tempering import StructuredTempering, Tempering
from ..tuning.search import TwoStepSearchCV
from .boosted_trees import BoostedTrees
from .fold_mean import FoldMean
from .member_seconds import TYPICAL_CLASSES, expected_seconds
from .members import (
    Member,
    Rows,
    fit_members,
    member_probabilities,
    metric_key,
    numbers_in_range,
)
from .metric import LearnedMetric
from .metric_classifier import LANDMARKS, MetricClassifier
from .pooling import (
    LogLinearPool,
    arithmetic_mean,
    fit_log_linear,
    geometric_mean,
    mixture_weights,
)

COARSE_C = (0.1, 1.0, 10.0, 100.0, 1000.0)
FINE_C = (0.3, 3.0)
# C, and the width of the SVM, are chosen on a sample of this many rows.
ROWS_FOR_SEARCH = 1000
# From this many rows on, the log-linear pool counts more.
ENOUGH_ROWS = 2_000
LOG_LINEAR_SHARE, LOG_LINEAR_SHARE_OF_FEW_ROWS = 0.75, 0.5
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


@stored("estimator.pool")
class PolychotomyPool(ProbabilityAnswers, ClassifierMixin, BaseEstimator):
    """Several classifiers, whose probabilities are combined with a weight for each.

    Every member's class probabilities are tempered, by `StructuredTempering` or, where they come
    from leave-one-out, by `Tempering`. The result is half a weighted arithmetic mean and half a
    log-linear pool; with 2,000 rows and more, a quarter and three quarters. The weights
    of the mean maximise its likelihood on the members' out-of-fold probabilities (by EM, with a
    prior that counts like one row for each member). The log-linear pool multiplies powers of the
    members' probabilities; its exponents shrink to equal ones, by empirical Bayes.

    Parameters
    ----------
    members : list of (str, classifier), default=None
        Classifiers with `predict_proba`, of this library or any other, with names. By default
        those of `default_members`: an LS-SVM and kernel logistic regression, each with a learned
        Gaussian and a learned Laplacian metric, an SVM, extremely randomised trees and gradient
        boosting. Above 4,000 rows kernel logistic
        regression has landmarks, and there is no SVM; above 5,000 LS-SVMs have landmarks, too.
    budget : float, default=None
        The seconds that fitting may take, roughly. The most expensive members are skipped until
        the others are expected to finish in that time. The cheapest member always stays. Members
        are compared without their metric, which they may share. The expected time depends only on
        the numbers of rows, inputs and classes, not on the computer.
    cv : int, splitter or iterable, default=5
        The folds for the out-of-fold probabilities of members from other libraries, and of the
        default members that need folds. Every row must be tested exactly once. A number means
        stratified folds by content, as in `PolychotomyClassifier`. A splitter or an iterable, for
        rows that are alike in groups or change with time, holds for all members: those of this
        library take it in place of their own `cv`, and for their metric.
    n_jobs : int, default=None
        How many members are fitted at once. Members that share a metric count as one.
    random_state : int, RandomState or None, default=None
        Seeds the members that have a `random_state`.

    Attributes
    ----------
    members_ : dict
        The fitted members by name.
    weights_ : dict
        Their weights in the arithmetic mean, which sum to 1.
    temperings_ : dict
        Their temperings.
    leave_one_out_columns_ : ndarray of shape (n_members,)
        Whether a member's out-of-fold probabilities come from leave-one-out formulas.
    log_linear_ : LogLinearPool
        The log-linear pool, with the slope of every member. Model files of earlier versions have
        `tempering_` instead, the tempering of the weighted geometric mean.
    log_linear_share_ : float
        The share of the log-linear pool in the result. Model files of earlier versions do not have
        it; there it is a half.
    member_nll_ : dict
        The mean out-of-fold negative log-likelihood of every tempered member. It tends to
        be too low, because metrics, C and weights were chosen on the same rows.
    nll_ : float
        The same for the pool.
    seconds_ : dict
        The seconds that every member took. The time of a shared metric counts for the first
        member that uses it.
    dropped_ : list of str
        The members skipped because of the budget.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        The number of inputs.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the inputs, if X had any.

    Notes
    -----
    A method of this library. If `cv` is a number, out-of-fold probabilities come from leave-one-out
    formulas for the LS-SVMs and their metrics, from the search for C for the other kernel machines,
    from out-of-bag rows for forests with ``oob_score=True``, and from refits by fold for all other
    members. Then groups of nearly equal rows make the pool seem better than it is. With the groups'
    folds as `cv`, they are held out as a whole everywhere.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from polychotomy import MetricClassifier, PolychotomyPool
    >>> X, y = load_iris(return_X_y=True)
    >>> pool = PolychotomyPool([("ls", MetricClassifier()), ("bayes", GaussianNB())])
    >>> pool.fit(X[::2], y[::2]).predict_proba(X[[1, 71]]).round(1)
    array([[1., 0., 0.],
           [0., 1., 0.]])
    >>> {name: round(weight, 1) for name, weight in pool.weights_.items()}
    {'ls': 0.7, 'bayes': 0.3}
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        **INPUTS,
        "classes_": Labels(),
        "members_": DictOf(IsA(BaseEstimator)),
        "weights_": DictOf(Number(at_least=0.0)),
        "temperings_": DictOf(Holds(Tempering, share="M")),
        "log_linear_": Holds(LogLinearPool, share="M", optional=True),
        # Not in files of earlier versions.
        "log_linear_share_": Number(at_least=0.0, at_most=1.0, optional=True),
        # Only in files of earlier versions.
        "tempering_": Holds(Tempering, share="M", optional=True),
        "member_nll_": DictOf(Number()),
        "nll_": Number(),
        "seconds_": DictOf(Number()),
        "dropped_": Instance(list),
    }

    def __init__(
        self,
        members: Sequence[tuple[str, Any]] | None = None,
        *,
        budget: float | None = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.members = members
        self.budget = budget
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the members, their temperings and their weights.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows.

        Returns
        -------
        self : PolychotomyPool
        """
        y = labels_given(self, X, y)
        self.fit_with_parts(X, y, sample_weight, {})
        return self

    def fit_with_parts(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        parts: Mapping[str, PolychotomyPool],
    ) -> dict[str, PolychotomyPool]:
        """Fit as `fit` does; return other pools of some of the members, each fitted once.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        parts : mapping of str to PolychotomyPool
            Pools whose members are the first ones of this pool. They get the same seeds then, and
            are what their own `fit` would make of them.

        Returns
        -------
        pools : dict of PolychotomyPool
            The parts, fitted.
        """
        names = self._names()
        for key, part in parts.items():
            if names[: len(part._names())] != part._names():
                raise ValueError(f"The members of {key!r} are not the first ones of this pool.")
        fitted, rows = self._fit_members(X, y, sample_weight)
        for part in parts.values():
            own = [one for one in fitted if one.name in part._names()]
            part.classes_, part.dropped_ = self.classes_, []
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(self, name):
                    setattr(part, name, getattr(self, name))
            part._fit_weights(own, rows, self.temperings_)
        return dict(parts)

    def fit_out_of_fold(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> FloatArray:
        """Fit as `fit` does, and return the pool's out-of-fold class probabilities.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        p : ndarray of shape (n_used_rows, n_classes)
            For the rows of positive weight. The members have not seen them; metrics, C, weights
            and temperings have.
        """
        members, _ = self._fit_members(X, y, sample_weight)
        p = np.stack([self.temperings_[one.name].transform(one.out_of_fold) for one in members])
        return self._together(p)

    @property
    def leave_one_out_columns_(self) -> NDArray[np.bool_]:
        """Whether a member's out-of-fold probabilities come from leave-one-out formulas."""
        check_is_fitted(self, "temperings_")
        kinds = self.temperings_.values()
        return np.array([not isinstance(kind, StructuredTempering) for kind in kinds])

    def member_names(self) -> list[str]:
        """Return the names of the members, with those that were skipped."""
        if hasattr(self, "members_"):
            return [*self.members_, *self.dropped_]
        return self._names()

    def _names(self) -> list[str]:
        return [name for name, _ in self._named_members()]

    def _fit_members(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[list[Member], Rows]:
        refuse_mixed_labels(y)
        X, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        classes, numbers = class_numbers(labels)
        weights = row_weights(sample_weight, None, X, numbers, classes)
        used = np.arange(len(labels)) if weights is None else np.flatnonzero(weights)
        splits = split_rows(self.cv, FoldRows(X, numbers, used, weights), classes, {})
        any_row = is_number(self.cv)
        folds = self.cv if any_row else splits
        members = self._seeded(self._named_members(len(used), folds))
        rows = Rows(X, labels, numbers, classes, weights, used, splits, any_row)
        kept = within_budget(members, self.budget, len(used), X.shape[1], len(classes))
        fitted = self._fit_all(kept, rows)
        self.classes_ = classes
        self.dropped_ = [name for name, _ in members if name not in dict(kept)]
        self._fit_weights(fitted, rows)
        return fitted, rows

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        p : ndarray of shape (n_rows, n_classes)
            The probabilities, in the order of `classes_`.
        """
        check_is_fitted(self, "weights_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        found = []
        for name, member in self.members_.items():
            with numbers_in_range(name, X):
                p = member_probabilities(member, X, self.classes_, name)
            found.append(self.temperings_[name].transform(p))
        return self._together(np.stack(found))

    def check_state(self, sizes: Sizes) -> None:
        """Check that every member has a weight and the classes and inputs of the pool."""
        require(len(self.members_) > 0, self, "has no members")
        for name in ("weights_", "temperings_", "member_nll_", "seconds_"):
            same = list(vars(self)[name]) == list(self.members_)
            require(same, self, f"has {name} of other members")
        old, new = (vars(self).get(name) for name in ("tempering_", "log_linear_"))
        require((old is None) != (new is None), self, "has no valid log_linear_")
        if new is not None:
            require(len(new.slopes) == len(self.members_), self, "has slopes of other members")
        for member in self.members_.values():
            require(hasattr(member, "predict_proba"), self, "has a member without predict_proba")
            same = np.array_equal(getattr(member, "classes_", []), self.classes_)
            same = same and getattr(member, "n_features_in_", None) == sizes["d"]
            require(same, self, "has a member of other classes or inputs")

    def _sk_visual_block_(self) -> Diagram:
        if hasattr(self, "members_"):
            return side_by_side(list(self.members_.items()))
        cv = self.cv if is_number(self.cv) else 5
        return side_by_side(self._named_members(cv=cv))

    def _named_members(self, n_rows: int = 0, cv: Any = 5) -> list[tuple[str, Any]]:
        if self.members is None:
            return default_members(cv, n_rows)
        members = list(self.members)
        if not members:
            raise ValueError("members is empty; give at least one, or None for the default.")
        for pair in members:
            if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], str):
                raise TypeError(f"members must be pairs of a name and a classifier, got {pair!r}.")
            if isinstance(pair[1], type) or not hasattr(pair[1], "predict_proba"):
                raise TypeError(
                    f"The member {pair[0]!r} must be a classifier with predict_proba, got "
                    f"{pair[1]!r}. Calibrate a classifier without it, for example with "
                    "PolychotomyClassifier or CalibratedClassifierCV."
                )
        names = [name for name, _ in members]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"members has the name {twice[0]!r} twice; names must be unique.")
        return [(name, clone(estimator)) for name, estimator in members]

    def _seeded(self, members: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        if self.random_state is not None:
            random = check_random_state(self.random_state)
            for _, estimator in members:
                keys = sorted(estimator.get_params())
                names = [key for key in keys if key.split("__")[-1] == "random_state"]
                seeds = {key: int(random.randint(2**31 - 1)) for key in names}
                estimator.set_params(**seeds)
        return members

    def _fit_all(self, members: list[tuple[str, Any]], rows: Rows) -> list[Member]:
        """Fit all members; those that share a metric are fitted one after another."""
        teams: dict[str, list[tuple[str, Any]]] = {}
        for name, estimator in members:
            teams.setdefault(metric_key(estimator) or f"the member {name}", []).append(
                (name, estimator)
            )
        found = Parallel(n_jobs=self.n_jobs)(
            delayed(fit_members)(team, rows) for team in teams.values()
        )
        by_name = {member.name: member for team in found for member in team}
        return [by_name[name] for name, _ in members]

    def _fit_weights(
        self, members: list[Member], rows: Rows, known: Mapping[str, Tempering] | None = None
    ) -> None:
        """Fit weights and temperings; those of a larger pool with the same members are known."""
        numbers = rows.numbers[rows.used]
        weights = None if rows.weights is None else rows.weights[rows.used]
        counts = np.ones(len(numbers)) if weights is None else weights
        self.members_ = {member.name: member.estimator for member in members}
        self.seconds_ = {member.name: member.seconds for member in members}
        self.temperings_ = {
            member.name: known[member.name]
            if known is not None
            else tempering_of(member).fit(member.out_of_fold, numbers, weights)
            for member in members
        }
        p = np.stack([self.temperings_[one.name].transform(one.out_of_fold) for one in members])
        found = mixture_weights(scores.of_truth(p, numbers).T, counts)
        self.weights_ = dict(zip(self.members_, found.tolist(), strict=True))
        self.log_linear_ = fit_log_linear(p, numbers, weights)
        enough = len(numbers) >= ENOUGH_ROWS
        self.log_linear_share_ = LOG_LINEAR_SHARE if enough else LOG_LINEAR_SHARE_OF_FEW_ROWS
        nll = scores.nll(p, numbers, counts)
        self.member_nll_ = dict(zip(self.members_, nll.tolist(), strict=True))
        self.nll_ = float(scores.nll(self._together(p), numbers, counts))

    def _together(self, p: FloatArray) -> FloatArray:
        weights = np.array(list(self.weights_.values()))
        log_linear = getattr(self, "log_linear_", None)
        if log_linear is None:
            other = self.tempering_.transform(geometric_mean(p, weights))
        else:
            other = log_linear.transform(p)
        share = share_of_log_linear(self)
        mean: FloatArray = (1.0 - share) * arithmetic_mean(p, weights) + share * other
        return mean


def share_of_log_linear(pool: PolychotomyPool) -> float:
    """Return the share of the log-linear pool in the answers of a fitted pool."""
    share: float | None = getattr(pool, "log_linear_share_", None)
    return LOG_LINEAR_SHARE_OF_FEW_ROWS if share is None else share


def tempering_of(member: Member) -> Tempering:
    """Return the tempering of a member, not fitted.

    Note: scores of leave-one-out tell a row's own class a little, because it is missing in their
    means. A matrix finds that where the inputs say little: on one data set it took the NLL of an
    LS-SVM from 1.46 to 1.20 on the training rows, and from 1.43 to 1.53 on new ones.
    """
    return Tempering() if member.left_out_alone else StructuredTempering()


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
