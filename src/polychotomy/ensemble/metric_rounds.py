"""Searching a metric: widths, gammas and rounds of weights, by held-out likelihood."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.empirical_bayes import ClassScores, minimise
from ..core.rows import chosen_rows
from ..core.types import FloatArray, IntArray
from ..kernels import city_block_distances, squared_distances
from ..kernels.gaussian import exponential_of
from ..machines.lssvm.folds_out import Folds, FoldsOutPath
from ..machines.lssvm.unit_out import UnitOutPath

# The widths to try, in units of the mean distance, and the gammas of the LS-SVM.
WIDTHS = 2.0 ** np.arange(-4, 9)
GAMMAS = 10.0 ** (0.5 * np.arange(-4, 13))
FIRST_WIDTH, FIRST_GAMMA = 4, 8
# Steps on the grid of both. A wider kernel needs a larger gamma, so they are also changed together.
STEPS_OF_GAMMA = ((0, 1), (0, -1))
NARROWER = (*STEPS_OF_GAMMA, (-1, -1), (-1, 0))
STEPS = (*NARROWER, (1, 1), (1, 0))
# A step must lower the likelihood by this share: on a plateau, which gamma often has, it stops.
LEAST_GAIN = 1e-4
SMALLEST_WEIGHT = 1e-3
# Slopes are averaged over at most this many rows.
ROWS_FOR_SLOPES = 800
# Products of the slopes have at most about this many numbers at once.
MOST_ENTRIES = 1 << 22
# For judging scores: the penalties on the temperature and on the biases of the classes.
TEMPERATURE_PENALTY, BIAS_PENALTY = 1e-3, 5.0
# This penalty leaves no temperature.
NO_TEMPERATURE = 1e30


@dataclass(frozen=True)
class Found:
    """A judged metric and gamma: the weights and scale of the inputs, and the fitted LS-SVMs."""

    nll: float
    width: int
    gamma: int
    weights: FloatArray
    scale: float
    coefficients: FloatArray


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
    n_judged : int, default=None
        How many rows are judged, the last ones; all by default. Machines are trained on all.
    folds : Folds, default=None
        The folds by which rows are held out; one by one by default.
    """

    def __init__(
        self,
        kernel: str,
        Z: FloatArray,
        y: IntArray,
        weights: FloatArray,
        n_judged: int | None = None,
        folds: Folds | None = None,
    ) -> None:
        self.kernel, self.Z, self.y, self.weights = kernel, Z, y, weights
        self.n_judged, self.folds = n_judged, folds
        self.share = weights / weights.sum()
        n_classes = int(y.max()) + 1
        self.targets = np.where(y[:, None] == np.arange(n_classes), 1.0, -1.0)
        self.design = np.zeros((2 * n_classes, 1 + n_classes))
        self.design[::2, 0] = 1.0
        self.design[1::2, 1:] = np.eye(n_classes)
        self.penalty = np.full(1 + n_classes, BIAS_PENALTY)
        self.penalty[0] = TEMPERATURE_PENALTY

    def renew(self, found: Found, rounds: int) -> Iterator[Found]:
        """Update the weights by the slopes while that helps, and then width and gamma.

        Note: rounds keep the width. Searching it in every round would need three Gram matrices
        instead of one.
        """
        best = found
        for _ in range(rounds):
            slopes = self.slopes(found)
            if not slopes.max(initial=0.0) > 0.0:
                break
            weights = np.maximum(slopes / slopes.max(), SMALLEST_WEIGHT)
            found = Widths(self, weights).climb(found.width, found.gamma, STEPS_OF_GAMMA)
            yield found
            if found.nll >= best.nll:
                break
            best = found
        if best.weights.min(initial=1.0) < 1.0:
            yield Widths(self, best.weights, best).climb(best.width, best.gamma)

    def path(self, gram: FloatArray) -> UnitOutPath:
        """Return LS-SVMs on a Gram matrix, whose scores are of rows that are held out."""
        if self.folds is None:
            return UnitOutPath(gram, self.targets, self.weights, self.n_judged)
        return FoldsOutPath(gram, self.targets, self.weights, self.folds, self.n_judged)

    def slopes(self, found: Found) -> FloatArray:
        """Return the typical slope of the scores along every input."""
        rows = chosen_rows(self.y, self.weights, ROWS_FOR_SLOPES)
        factors, share = found.scale * found.weights, self.share[rows] / self.share[rows].sum()
        U = self.Z * factors
        gram = np.exp(-self.distances(U[rows], U))
        squares = squared_slopes(self.kernel, self.Z, factors, gram, found.coefficients, rows)
        typical: FloatArray = np.sqrt(share @ squares)
        return typical

    def nll(self, scores: FloatArray, start: FloatArray) -> tuple[float, FloatArray]:
        """Return the mean negative log-likelihood of scores, and the parameters of its soft-max.

        Scores are of the judged rows.

        The soft-max has one temperature for all classes and a bias for each. Both are penalised.

        Note: a temperature below 0 counts as 0. Where the inputs say nothing, leave-one-out scores
        tell a row's own class: they are lower for it, because it is missing in their mean.
        """
        features = np.ones((*scores.shape, 2))
        features[:, :, 0] = scores - scores.mean(axis=1, keepdims=True)
        judged = slice(len(self.y) - len(scores), None)
        weights = self.weights[judged]
        model = ClassScores(features, self.y[judged], weights, self.design)
        theta, _, _ = minimise(model, self.penalty, start)
        if theta[0] < 0.0:
            penalty = self.penalty.copy()
            penalty[0] = NO_TEMPERATURE
            theta, _, _ = minimise(model, penalty, np.zeros(len(start)))
            theta[0] = 0.0
        return model.value(theta) / weights.sum(), theta

    def distances(self, U: FloatArray, V: FloatArray | None = None) -> FloatArray:
        """Return the distances of weighted inputs."""
        if self.kernel == "rbf":
            distances = squared_distances(U, V)
            distances *= 0.5
            return distances
        return city_block_distances(U, V)


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
        self.found = {} if known is None else {(known.width, known.gamma): known}
        self.theta = np.zeros(len(judge.penalty))
        self._path: tuple[int, UnitOutPath] | None = None

    def at(self, width: int, gamma: int) -> Found:
        """Return one width with one gamma."""
        if (width, gamma) not in self.found:
            of_mean = self.mean * WIDTHS[width]
            if self._path is None or self._path[0] != width:
                gram = exponential_of(self.distances, 1.0 / of_mean)
                self._path = width, self.judge.path(gram)
            path = self._path[1]
            nll, self.theta = self.judge.nll(path.scores(GAMMAS[gamma]), self.theta)
            scale = of_mean**-0.5 if self.judge.kernel == "rbf" else 1.0 / of_mean
            coefficients = path.fit(GAMMAS[gamma]).coefficients
            self.found[width, gamma] = Found(nll, width, gamma, self.weights, scale, coefficients)
        return self.found[width, gamma]

    def climb(self, width: int, gamma: int, steps: Sequence[tuple[int, int]] = STEPS) -> Found:
        """Return a width and a gamma that no step improves, going on as long as one does.

        Note: a scan of the grid would solve for all places. The likelihood usually has one
        minimum, and the start is close to it. The best gamma of every width on the way would cost
        three factorisations a width, not one or two.
        """
        best = self.at(width, gamma)
        moved = True
        while moved:
            moved = False
            for wider, larger in steps:
                while True:
                    width, gamma = best.width + wider, best.gamma + larger
                    if not (0 <= width < len(WIDTHS) and 0 <= gamma < len(GAMMAS)):
                        break
                    if not self.at(width, gamma).nll < (1.0 - LEAST_GAIN) * best.nll:
                        break
                    best, moved = self.at(width, gamma), True
        return best


def squared_slopes(
    kernel: str,
    Z: FloatArray,
    factors: FloatArray,
    gram: FloatArray,
    coefficients: FloatArray,
    rows: IntArray,
) -> FloatArray:
    """Return the sum over the columns of the squared slopes of scores, at some training rows.

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
    gram : ndarray of shape (n_some, n_rows)
        The kernel K of the rows at which slopes are wanted with all rows.
    coefficients : ndarray of shape (n_rows, n_columns)
        The coefficients a.
    rows : ndarray of shape (n_some,)
        The rows at which slopes are wanted.

    Returns
    -------
    squares : ndarray of shape (n_some, n_features)
        ``sum_k (df_k / dx_ij)^2``.
    """
    if kernel == "laplacian":
        return _laplacian_slopes(Z, factors, gram, coefficients, rows)
    squares = np.empty((len(rows), Z.shape[1]))
    plain = gram @ coefficients
    n_rows, n_columns = coefficients.shape
    # As many inputs together as fit: one large product is faster than many narrow ones.
    step = max(1, MOST_ENTRIES // (n_rows * n_columns))
    for start in range(0, Z.shape[1], step):
        some = slice(start, start + step)
        inputs = Z[:, some, None]
        products = gram @ (inputs * coefficients[:, None]).reshape(n_rows, -1)
        slopes = inputs[rows] * plain[:, None] - products.reshape(len(rows), -1, n_columns)
        squares[:, some] = factors[some] ** 4 * np.einsum("ijk,ijk->ij", slopes, slopes)
    return squares


def _laplacian_slopes(
    Z: FloatArray,
    factors: FloatArray,
    gram: FloatArray,
    coefficients: FloatArray,
    rows: IntArray,
) -> FloatArray:
    squares = np.empty((len(rows), Z.shape[1]))
    signs = np.empty(gram.shape)
    for j, column in enumerate(Z.T):
        np.subtract(column[rows, None], column, out=signs)
        np.sign(signs, out=signs)
        signs *= gram
        slopes = factors[j] * (signs @ coefficients)
        squares[:, j] = np.einsum("ik,ik->i", slopes, slopes)
    return squares
