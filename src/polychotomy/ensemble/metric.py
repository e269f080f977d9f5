"""A learned metric: a weight for every input, for all kernel machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.checks import one_of
from ..core.empirical_bayes import ClassScores, minimise
from ..core.registry import stored
from ..core.state import INPUTS, Array, Field, Holds, Instance, Labels, Number, OneOf, Whole
from ..core.threads import single_threaded_blas
from ..core.types import FloatArray, IntArray
from ..core.weights import class_numbers, refuse_mixed_labels, row_weights
from ..kernels import city_block_distances, squared_distances
from ..machines import LSSVM
from ..machines.lssvm.unit_out import UnitOutPath
from .views import VIEWS, View, learn_view

# Kernels that depend on distances, and therefore on the weights of the inputs.
KERNELS = ("rbf", "laplacian")
# The widths to try, in units of the mean distance, and the gammas of the LS-SVM. In both, the
# search climbs from the previous best value.
WIDTHS = 2.0 ** np.arange(-4, 9)
GAMMAS = 10.0 ** (0.5 * np.arange(-4, 13))
FIRST_WIDTH, FIRST_GAMMA = 4, 8
SMALLEST_WEIGHT = 1e-3
# For judging scores: the penalties on the temperature and on the biases of the classes.
TEMPERATURE_PENALTY, BIAS_PENALTY = 1e-3, 5.0


@dataclass(frozen=True)
class Found:
    """A judged metric and gamma: the weights and scale of the inputs, and the fitted LS-SVMs."""

    nll: float
    width: int
    gamma: int
    weights: FloatArray
    scale: float
    gram: FloatArray
    coefficients: FloatArray


@stored("estimator.learned_metric")
class LearnedMetric(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Inputs weighted by how much the classes depend on them, for any kernel machine.

    A one-vs-rest LS-SVM is fitted with the kernel ``exp(-D)``. D is half the squared Euclidean
    ("rbf") or the city-block distance ("laplacian") of the weighted inputs. Width and gamma
    minimise the negative log-likelihood of leave-one-out scores. The new weight of an input
    is the root of the mean square slope of the scores along it, ``w_j = sqrt(mean_i sum_k (df_k /
    dx_ij)^2)``. This is repeated for a few rounds, and the best round is kept. Two views of the
    inputs are tried: standardised inputs, and normal scores of their ranks.

    `transform` returns inputs on which the plain kernel, with ``sigma2=1.0`` ("rbf") or
    ``gamma=1.0`` ("laplacian"), equals the learned one.

    Parameters
    ----------
    kernel : {"rbf", "laplacian"}, default="rbf"
        The kernel that the metric is for.
    views : sequence of {"standardised", "ranks"}, default=("standardised", "ranks")
        The views to try. In "ranks", a column with more than 10 distinct values is replaced by
        the normal scores of its ranks.
    rounds : int, default=3
        How often the weights are updated, at most. With 0, all inputs have the same weight.
    max_rows : int, default=2000
        The metric is learned from at most this many rows, chosen evenly from every class, plus one
        row of each class that would otherwise be lost. The time grows with their cube.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features_in_,)
        The weights of the inputs, which have unit deviation in their view. The largest weight is
        1, and none is smaller than 0.001.
    view_ : str
        The better view of the inputs.
    scale_ : float
        The factor by which `transform` multiplies the weighted inputs.
    C_ : float
        The regularisation of the LS-SVM that was fitted with the metric.
    nll_ : float
        The mean negative log-likelihood of the leave-one-out scores, per row.
    history_ : list of dict
        The result of each round: "view", "round", "width", "C" and "nll".
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        The number of inputs.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the inputs, if X had any.

    Notes
    -----
    A method of this library. Weights by slopes are the diagonal of the outer product of gradients
    (Xia et al., 2002; Radhakrishnan et al., 2024). A row of weight v counts as v rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from polychotomy import SVM, LearnedMetric, PolychotomyClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = LearnedMetric().fit(X, y)
    >>> metric.feature_weights_.round(1)
    array([0.2, 0.1, 1. , 0.6])
    >>> clf = make_pipeline(LearnedMetric(), PolychotomyClassifier(SVM(sigma2=1.0)))
    >>> round(clf.fit(X[::2], y[::2]).score(X[1::2], y[1::2]), 2)
    0.97
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        **INPUTS,
        "classes_": Labels(),
        "view_": OneOf(*VIEWS),
        "_view": Holds(View, share="d"),
        "feature_weights_": Array("d"),
        "scale_": Number(),
        "C_": Number(above=0.0),
        "nll_": Number(),
        "history_": Instance(list),
        # Only in files of earlier versions.
        "_n_features_out": Whole(1, letter="d", optional=True),
    }

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        views: Any = VIEWS,
        rounds: int = 3,
        max_rows: int = 2000,
    ) -> None:
        self.kernel = kernel
        self.views = views
        self.rounds = rounds
        self.max_rows = max_rows

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the weights of the inputs.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows; a row of weight 2 counts twice.

        Returns
        -------
        self : LearnedMetric
        """
        self._check_parameters()
        refuse_mixed_labels(y)
        X, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(labels)
        self.classes_, numbers = class_numbers(labels)
        weights = row_weights(sample_weight, None, X, numbers, self.classes_)
        if weights is None:
            weights = np.ones(len(numbers))
        used = chosen_rows(numbers, weights, self.max_rows)
        X, numbers, weights = X[used], numbers[used], weights[used]
        self.history_: list[dict[str, Any]] = []
        with single_threaded_blas():
            found, self.view_, self._view = self._learn(X, numbers, weights)
        self.feature_weights_, self.scale_ = found.weights, found.scale
        self.C_, self.nll_ = float(GAMMAS[found.gamma]), found.nll
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the weighted inputs, on which the plain kernel equals the learned one.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        Z : ndarray of shape (n_rows, n_features)
        """
        check_is_fitted(self, "feature_weights_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        Z: FloatArray = self._view.transform(X) * (self.scale_ * self.feature_weights_)
        return Z

    def parameters_for(self, machine: Any) -> dict[str, Any]:
        """Return the parameters that give a kernel machine the learned kernel.

        For an LS-SVM they include C, because the metric was learned with an LS-SVM.
        """
        check_is_fitted(self, "feature_weights_")
        found: dict[str, Any] = {"kernel": self.kernel, "sigma2": None, "gamma": 1.0}
        if self.kernel == "rbf":
            found = {"kernel": "rbf", "sigma2": 1.0}
        return {**found, "C": self.C_} if isinstance(machine, LSSVM) else found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _check_parameters(self) -> None:
        one_of(self.kernel, "kernel", KERNELS)
        views = [self.views] if isinstance(self.views, str) else list(self.views)
        if isinstance(self.views, str) or not views:
            raise ValueError(f"views must be a list of views such as {VIEWS}, got {self.views!r}.")
        for view in views:
            one_of(view, "view", VIEWS)
        for name, least in (("rounds", 0), ("max_rows", 2)):
            value = getattr(self, name)
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not whole or value < least:
                raise ValueError(
                    f"{name} must be a whole number of at least {least}, got {value!r}."
                )

    def _learn(self, X: FloatArray, y: IntArray, weights: FloatArray) -> tuple[Found, str, View]:
        """Return the best round of the better view.

        Note: the views are compared with equal weights, and only the better one gets further
        rounds. Learning weights in both views would take twice as long.
        """
        best: tuple[Found, str, View, Judge] | None = None
        for name in self.views:
            view = learn_view(name, X, weights)
            judge = Judge(self.kernel, view.transform(X), y, weights)
            near = (FIRST_WIDTH, FIRST_GAMMA) if best is None else (best[0].width, best[0].gamma)
            found = Widths(judge, np.ones(X.shape[1])).climb(*near)
            self._note(name, 0, found)
            if best is None or found.nll < best[0].nll:
                best = (found, name, view, judge)
        assert best is not None
        found, name, view, judge = best
        for number, later in enumerate(judge.renew(found, self.rounds), start=1):
            self._note(name, number, later)
            found = min(found, later, key=lambda one: one.nll)
        return found, name, view

    def _note(self, view: str, number: int, found: Found) -> None:
        self.history_.append(
            {
                "view": view,
                "round": number,
                "width": float(WIDTHS[found.width]),
                "C": float(GAMMAS[found.gamma]),
                "nll": found.nll,
            }
        )


def chosen_rows(y: IntArray, weights: FloatArray, most: int) -> IntArray:
    """Return the rows of positive weight; if over `most`, each class's share and at least one."""
    used = np.flatnonzero(weights > 0.0)
    if len(used) <= most:
        return used
    # Sorted by class, every k-th row gives each class its share, up to rounding.
    ordered = used[np.argsort(y[used], kind="stable")]
    places = ((np.arange(most) + 0.5) * (len(used) / most)).astype(np.intp)
    labels, first = np.unique(y[ordered], return_index=True)
    lost = ~np.isin(labels, y[ordered[places]])
    return np.sort(np.concatenate([ordered[places], ordered[first[lost]]]))


class Judge:
    """One view of the training rows, for judging metrics.

    Parameters
    ----------
    kernel : {"rbf", "laplacian"}
        The kernel.
    Z : ndarray of shape (n_rows, n_features)
        The inputs.
    y : ndarray of shape (n_rows,)
        The class numbers.
    weights : ndarray of shape (n_rows,)
        The weights of the rows.
    """

    def __init__(self, kernel: str, Z: FloatArray, y: IntArray, weights: FloatArray) -> None:
        self.kernel, self.Z, self.y, self.weights = kernel, Z, y, weights
        self.share = weights / weights.sum()
        n_classes = int(y.max()) + 1
        self.targets = np.where(y[:, None] == np.arange(n_classes), 1.0, -1.0)
        self.design = np.zeros((2 * n_classes, 1 + n_classes))
        self.design[::2, 0] = 1.0
        self.design[1::2, 1:] = np.eye(n_classes)
        self.penalty = np.full(1 + n_classes, BIAS_PENALTY)
        self.penalty[0] = TEMPERATURE_PENALTY

    def renew(self, found: Found, rounds: int) -> Iterator[Found]:
        """Update the weights by the slopes while that helps, and then the width.

        Note: rounds keep the width. Searching the width in every round would need three Gram
        matrices instead of one.
        """
        best = found
        for _ in range(rounds):
            slopes = self.slopes(found)
            if not slopes.max(initial=0.0) > 0.0:
                break
            weights = np.maximum(slopes / slopes.max(), SMALLEST_WEIGHT)
            found = Widths(self, weights).at(found.width, found.gamma)
            yield found
            if found.nll >= best.nll:
                break
            best = found
        if best.weights.min(initial=1.0) < 1.0:
            yield Widths(self, best.weights, best).climb(best.width, best.gamma)

    def slopes(self, found: Found) -> FloatArray:
        """Return the typical slope of the scores along every input."""
        factors = found.scale * found.weights
        squares = squared_slopes(self.kernel, self.Z, factors, found.gram, found.coefficients)
        typical: FloatArray = np.sqrt(self.share @ squares)
        return typical

    def best_gamma(self, path: UnitOutPath, near: int) -> tuple[int, float]:
        """Return the best gamma, climbing up or down from `near` while that helps."""
        theta = np.zeros(len(self.penalty))

        def judge(place: int) -> float:
            nonlocal theta
            nll, theta = self.nll(path.scores(GAMMAS[place]), theta)
            return nll

        return climbed(judge, near, len(GAMMAS))

    def nll(self, scores: FloatArray, start: FloatArray) -> tuple[float, FloatArray]:
        """Return the mean negative log-likelihood of scores, and the parameters of its soft-max.

        The soft-max has one temperature for all classes and a bias for each. Both are penalised.
        """
        features = np.ones((*scores.shape, 2))
        features[:, :, 0] = scores - scores.mean(axis=1, keepdims=True)
        model = ClassScores(features, self.y, self.weights, self.design)
        theta, _, _ = minimise(model, self.penalty, start)
        return model.value(theta) / self.weights.sum(), theta

    def distances(self, U: FloatArray) -> FloatArray:
        """Return the distances of weighted inputs."""
        if self.kernel == "rbf":
            distances = squared_distances(U)
            distances *= 0.5
            return distances
        return city_block_distances(U)


class Widths:
    """All widths of the kernel with given weights of the inputs.

    Parameters
    ----------
    judge : Judge
        The rows.
    weights : ndarray of shape (n_features,)
        The weights.
    known : Found, default=None
        A result with the same weights that is already known.
    """

    def __init__(self, judge: Judge, weights: FloatArray, known: Found | None = None) -> None:
        self.judge, self.weights = judge, weights
        self.distances = judge.distances(judge.Z * weights)
        self.mean = float(judge.share @ self.distances @ judge.share) or 1.0
        self.latest = known
        self.found = {} if known is None else {known.width: known}

    def at(self, width: int, gamma: int) -> Found:
        """Return one width with its best gamma."""
        if width not in self.found:
            of_mean = self.mean * WIDTHS[width]
            gram = np.exp(self.distances * (-1.0 / of_mean))
            path = UnitOutPath(gram, self.judge.targets, self.judge.weights)
            gamma, nll = self.judge.best_gamma(path, gamma)
            scale = of_mean**-0.5 if self.judge.kernel == "rbf" else 1.0 / of_mean
            coefficients = path.fit(GAMMAS[gamma]).coefficients
            found = Found(nll, width, gamma, self.weights, scale, gram, coefficients)
            self.found[width] = self.latest = found
        return self.found[width]

    def climb(self, width: int, gamma: int) -> Found:
        """Return the best width, climbing up or down from `width` while that helps."""

        def judge(place: int) -> float:
            # The previous width is close to this one, and so is its best gamma.
            return self.at(place, gamma if self.latest is None else self.latest.gamma).nll

        best, _ = climbed(judge, width, len(WIDTHS))
        return self.found[best]


def squared_slopes(
    kernel: str, Z: FloatArray, factors: FloatArray, gram: FloatArray, coefficients: FloatArray
) -> FloatArray:
    """Return the sum over the columns of the squared slopes of scores, at every training row.

    The scores are ``f_k(x) = sum_m a_mk exp(-D(x, x_m)) + b_k``. D is half the squared Euclidean
    or the city-block distance of the inputs times `factors` c. The slopes are ``df_k / dx_j =
    -c_j^2 sum_m a_mk K(x, x_m) (x_j - x_mj)`` and ``-c_j sum_m a_mk K(x, x_m) sign(x_j - x_mj)``.

    Parameters
    ----------
    kernel : {"rbf", "laplacian"}
        The kernel.
    Z : ndarray of shape (n_rows, n_features)
        The inputs.
    factors : ndarray of shape (n_features,)
        The factors c of the inputs.
    gram : ndarray of shape (n_rows, n_rows)
        The Gram matrix K.
    coefficients : ndarray of shape (n_rows, n_columns)
        The coefficients a.

    Returns
    -------
    squares : ndarray of shape (n_rows, n_features)
        ``sum_k (df_k / dx_ij)^2``.
    """
    squares = np.empty_like(Z)
    plain = gram @ coefficients
    for j, column in enumerate(Z.T):
        if kernel == "rbf":
            slopes = column[:, None] * plain - gram @ (column[:, None] * coefficients)
            slopes *= factors[j] ** 2
        else:
            signs = np.sign(column[:, None] - column)
            signs *= gram
            slopes = factors[j] * (signs @ coefficients)
        squares[:, j] = np.einsum("ik,ik->i", slopes, slopes)
    return squares


def climbed(judge: Callable[[int], float], start: int, size: int) -> tuple[int, float]:
    """Return a local minimum near `start` and its value: a place with no better neighbour.

    Note: a full scan would solve for all places. The likelihood usually has one minimum along the
    grid, and the start is close to it.
    """
    values = {start: judge(start)}
    best = start
    while True:
        for place in (best + 1, best - 1):
            if 0 <= place < size and place not in values:
                values[place] = judge(place)
        near = min(values, key=lambda place: (values[place], place))
        if near == best:
            return best, values[best]
        best = near
