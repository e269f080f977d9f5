"""LS-SVMs of all columns and subsets from one pass over the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array

from ...core.margins import Margins
from ...core.math import sigmoid
from ...core.registry import stored
from ...core.state import Array, Field, Flags, Holds, Indices, ListOf, Number, Sizes, require
from ...core.types import FloatArray, IntArray, SignArray, is_range
from ...kernels import FeatureBlock, FeatureSums, Gaussian, Landmarks, squared_distances
from ..kernel_columns import ERROR_OF_SINGLE
from ..layout import Layout
from .evidence import Hyperparameters, log_evidence, optimise_hyperparameters
from .predictive import moderated_log_odds
from .selection import MAX_EVALUATIONS, TOLERANCE
from .spectrum import Moments, Spectrum, Triangle, decompose


@stored("fitted.lssvm_feature_piece")
@dataclass(frozen=True)
class FeaturePiece:
    """Columns on the same rows, whose scores are linear in the features of landmarks."""

    fitted_state: ClassVar[dict[str, Field]] = {
        "columns": Indices("c"),
        "coefficients": Array("mc"),
        "biases": Array("c"),
        "mean": Array("m"),
        "basis": Holds(Spectrum, Triangle, share="m"),
        "hyperparameters": Holds(Hyperparameters, share="c"),
        "prior": Array("c", above=0.0, below=1.0),
        "weight": Number(above=0.0),
    }

    columns: IntArray
    coefficients: FloatArray
    biases: FloatArray
    mean: FloatArray
    basis: Spectrum | Triangle
    hyperparameters: Hyperparameters
    prior: FloatArray
    weight: float

    def scores(self, columns: NDArray[Any], out: FloatArray | None = None) -> FloatArray:
        """Return the scores of rows with these kernel columns, computed in their precision."""
        coefficients = self.in_single if columns.dtype == np.float32 else self.coefficients
        if out is None:
            found: FloatArray = (columns @ coefficients).astype(np.float64, copy=False)
            found += self.biases
            return found
        product = np.matmul(columns, coefficients, out=out if columns.dtype == out.dtype else None)
        return np.add(product, self.biases, out=out)

    @cached_property
    def in_single(self) -> NDArray[np.float32]:
        """The coefficients in single precision."""
        return self.coefficients.astype(np.float32)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "in_single"}

    def variance(self, features: FloatArray, rest: FloatArray) -> FloatArray:
        """Return the variance of the scores of new rows, VANGESTEL (12), in features.

        ``1 / (zeta sum v) + z_c' (S + 1/gamma)^-1 z_c / zeta + (k(x, x) - |z|^2) / mu`` with the
        centred features ``z_c``. The last term is the part of the kernel that the landmarks do not
        see, which keeps its variance before training.

        Note: that term is a choice, unless all rows are landmarks. Without it, a row far from all
        landmarks has features near 0, and looks as certain as the mean of the training rows.
        """
        chosen = self.hyperparameters
        own = self.basis.quadratic(features - self.mean, chosen.gamma)
        variance: FloatArray = (1.0 / self.weight + own) / chosen.zeta
        variance += rest[:, None] / chosen.mu
        return variance

    def leave_one_out(
        self,
        scores: FloatArray,
        features: FloatArray,
        targets: FloatArray,
        weights: FloatArray | None,
    ) -> FloatArray:
        """Return the scores of training rows from fits without them, with the same landmarks.

        ``y - (y - f) / (1 - h)`` with ``h = v (1 / sum v + z_c' (S + 1/gamma)^-1 z_c)``. If the
        machine fits all rows exactly, both differences are rounding, and so is the result.
        """
        own = self.basis.quadratic(features - self.mean, self.hyperparameters.gamma)
        share = (1.0 / self.weight + own) * (1.0 if weights is None else weights[:, None])
        left = np.maximum(1.0 - share, np.finfo(float).tiny)
        result: FloatArray = targets - (targets - scores) / left
        return result


@stored("fitted.lssvm_features")
@dataclass(frozen=True)
class FittedFeatureLSSVM:
    """Trained LS-SVMs of all columns in the features of one set of landmarks."""

    fitted_state: ClassVar[dict[str, Field]] = {
        "landmarks": Holds(Landmarks, share="dm"),
        "pieces": ListOf(Holds(FeaturePiece, share="m")),
        "trained": Flags("T"),
    }

    landmarks: Landmarks
    pieces: list[FeaturePiece]
    trained: NDArray[np.bool_]

    def check_state(self, sizes: Sizes) -> None:
        """Check that every trained column is in exactly one piece."""
        columns = np.concatenate([piece.columns for piece in self.pieces] or [np.zeros(0, int)])
        whole = np.array_equal(np.sort(columns), np.flatnonzero(self.trained))
        require(whole, self, "lacks a column")

    def check_inputs(self, n_features: int) -> None:
        """Check that it can read rows of this many inputs."""
        same = self.landmarks.inputs.shape[1] == n_features
        require(same, self, "has inputs of another number of features")

    @property
    def kernel(self) -> Any:
        """The kernel."""
        return self.landmarks.kernel

    @property
    def support(self) -> IntArray:
        """The landmarks."""
        return self.landmarks.rows

    @property
    def support_inputs(self) -> Any:
        """Their inputs."""
        return self.landmarks.inputs

    @property
    def coefficients(self) -> FloatArray:
        """Their weights in the first piece."""
        return self.pieces[0].coefficients

    @property
    def biases(self) -> FloatArray:
        """The biases of the first piece."""
        return self.pieces[0].biases

    @property
    def _is_one_piece(self) -> bool:
        return len(self.pieces) == 1 and bool(self.trained.all()) and is_range(self.columns)

    @property
    def columns(self) -> IntArray:
        """The columns of the first piece."""
        return self.pieces[0].columns

    def precision(self, X: Any) -> np.dtype[Any]:
        """Return the precision for the scores of rows: single if they are, and if it is safe."""
        single = self.landmarks.precision(X) == np.float32 and self._single_error <= ERROR_OF_SINGLE
        return np.dtype(np.float32 if single else np.float64)

    @cached_property
    def _single_error(self) -> float:
        """The typical error of scores in single precision."""
        # Errors of entries have no common sign, so they add up like independent ones.
        norms = [np.linalg.norm(piece.coefficients, axis=0) for piece in self.pieces]
        error = self.landmarks.kernel.single_error(self.landmarks.inputs.astype(np.float32))
        return error * max(float(norm.max(initial=0.0)) for norm in norms)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_single_error"}

    def block_margins(
        self, block: FeatureBlock, probability: bool, out: FloatArray | None = None
    ) -> Margins:
        """Return the margins of a block of rows; `out`, if given, gets the scores."""
        shape = (len(block.columns), len(self.trained))
        if self._is_one_piece:
            # Without copies, which take as long as the products if there are many columns.
            piece = self.pieces[0]
            mean = piece.scores(block.columns, out)
            if not probability:
                return Margins(mean)
            noise = 1.0 / piece.hyperparameters.zeta
            variance = piece.variance(block.features, block.rest)
            odds = moderated_log_odds(mean, variance, noise, piece.prior)
            return Margins(mean, variance, noise, sigmoid(odds, out=odds))
        mean = np.zeros(shape) if out is None else out
        variance, odds = (np.zeros(shape), np.zeros(shape)) if probability else (mean, mean)
        noise = np.ones(shape[1])
        for piece in self.pieces:
            own, columns = piece.hyperparameters, piece.columns
            noise[columns] = 1.0 / own.zeta
            mean[:, columns] = piece.scores(block.columns)
            if probability:
                variance[:, columns] = piece.variance(block.features, block.rest)
                odds[:, columns] = moderated_log_odds(
                    mean[:, columns], variance[:, columns], noise[columns], piece.prior
                )
        return Margins(mean, variance, noise, sigmoid(odds)) if probability else Margins(mean)

    def block_left_out(
        self, block: FeatureBlock, labels: SignArray, weights: FloatArray | None
    ) -> FloatArray:
        """Return the leave-one-out scores of a block of training rows; 0 elsewhere."""
        result = np.zeros(labels.shape)
        for piece in self.pieces:
            targets = labels[:, piece.columns].astype(np.float64)
            scores = piece.scores(block.columns)
            found = piece.leave_one_out(scores, block.features, targets, weights)
            result[:, piece.columns] = np.where(targets != 0.0, found, 0.0)
        return result


def moments_of(layout: Layout, sums: FeatureSums, subset: int, columns: IntArray) -> Moments:
    """Return the sums of a binary problem: columns that share their rows, in a subset."""
    counts = layout.taking_part(subset, int(columns[0])).astype(np.float64)
    used = np.flatnonzero(counts)
    scatter = np.zeros(sums.products.shape[1:])
    for cell in np.unique(layout.cells[used]).tolist():
        # All groups of a cell are in the same subsets.
        scatter += counts[used[layout.cells[used] == cell][0]] * sums.products[cell]
    weights = counts * layout.weights
    weight = float(weights.sum())
    # Groups with the same labels are added first: with a thousand classes and five folds, a product
    # over all groups took a third of the time of all sums.
    _, firsts, kinds = np.unique(layout.kinds, return_index=True, return_inverse=True)
    signs = layout.labels[np.ix_(firsts, columns)].astype(np.float64)
    shape = len(firsts), len(kinds)
    adding = csr_array((counts, (kinds, np.arange(len(kinds)))), shape)
    by_kind: FloatArray = adding @ sums.sums
    total = by_kind.sum(axis=0)
    mean, target_mean = total / weight, np.bincount(kinds, weights) @ signs / weight
    scatter -= weight * np.outer(mean, mean)  # around the origin, as the sums are
    return Moments(
        scatter=scatter,
        mean=sums.origin + mean,
        right=by_kind.T @ signs - np.outer(total, target_mean),
        target_mean=target_mean,
        # The square of every label is 1.
        target_square=weight * (1.0 - target_mean) * (1.0 + target_mean),
        n_rows=float(counts @ layout.sizes),
        weight=weight,
    )


def feature_piece(
    landmarks: Landmarks,
    columns: IntArray,
    moments: Moments,
    basis: Spectrum | Triangle,
    weights: FloatArray,
    hyperparameters: Hyperparameters,
) -> FeaturePiece:
    """Return the solution of a binary problem, with its weights on the kernel columns."""
    return FeaturePiece(
        columns=columns,
        coefficients=landmarks.of_columns(weights),
        biases=moments.target_mean - moments.mean @ weights,
        mean=moments.mean,
        basis=basis,
        hyperparameters=hyperparameters,
        prior=(1.0 + moments.target_mean) / 2.0,
        weight=moments.weight,
    )


def width_by_evidence(
    X: Any, problems_of: Callable[[Gaussian], list[Moments]], widths: Sequence[float], occam: bool
) -> Gaussian:
    """Return the Gaussian kernel whose width has the largest evidence, summed over all columns.

    The widths are those of `LSSVMColumns`, in units of the median squared distance of rows, refined
    as in `select_by_evidence`. `problems_of` returns the sums of every binary problem for a kernel.

    Note: one width for all columns, because every width needs landmarks and a pass of its own.
    """
    distances = squared_distances(X)
    median = float(np.median(distances[np.triu_indices(len(distances), 1)]))
    unit = median if median > 0.0 else 1.0
    tried: dict[float, tuple[bool, float]] = {}

    def rank(log_width: float) -> tuple[bool, float]:
        """Return whether a width is excluded, and its cost."""
        if log_width not in tried:
            exact = by_occam = 0.0
            for moments in problems_of(Gaussian(float(np.exp(-log_width)) / 2.0)):
                _, problem = decompose(moments)
                chosen = optimise_hyperparameters(problem)
                exact -= float(log_evidence(problem, chosen).sum())
                by_occam -= float(log_evidence(problem, chosen, occam=True).sum()) if occam else 0.0
            left_out = occam and not np.isfinite(by_occam)
            tried[log_width] = left_out, by_occam if occam and not left_out else exact
        return tried[log_width]

    for width in widths:
        rank(float(np.log(unit * width)))
    known = sorted(tried)
    centre = known.index(min(known, key=rank))
    bounds = known[max(centre - 1, 0)], known[min(centre + 1, len(known) - 1)]
    # An excluded width costs more than any other.
    minimize_scalar(
        lambda log_width: 1e9 * rank(log_width)[0] + rank(log_width)[1],
        bounds=bounds,
        method="bounded",
        options={"xatol": TOLERANCE, "maxiter": MAX_EVALUATIONS},
    )
    return Gaussian(float(np.exp(-min(tried, key=rank))) / 2.0)
