"""Training rows, whose distances, products and Gram matrix many binary problems share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import Any
from weakref import finalize

import numpy as np
from scipy.sparse import issparse

from ..core.stages import stage
from ..core.types import FloatArray, IntArray
from .base import Kernel
from .distances import city_block_distances, inner_products, squared_distances
from .settle import kernel_class

# Blocks of a kernel between new rows and training rows have at most this many numbers.
BLOCK_ENTRIES = 1 << 23
# The Gram matrix of a block of pairs has at most about this many rows: 8 MB, and as much for their
# distances. All blocks together compute as many entries with any other number.
SMALL_GRAM = 1000
# If the standard deviations of inputs differ by a larger factor, there is a warning.
SCALE_RATIO = 1e3
UNEQUAL_SCALES = "The scales of the inputs differ"


class SharedRows:
    """Training rows, with distances or products between them computed once.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        The inputs; for a precomputed kernel, the matrix itself.
    """

    def __init__(self, X: Any) -> None:
        # Note: always double precision. Distances of single-precision inputs lose digits that the
        # solvers would then treat as exact. Who knows how many digits are needed takes `single`.
        self.X = X if X.dtype == np.float64 else X.astype(np.float64)
        self.single = X if X.dtype == np.float32 and not issparse(X) else None
        self._latest: tuple[Kernel, FloatArray] | None = None
        self._scores: dict[int, tuple[IntArray, FloatArray]] = {}
        # The rows of the latest part, and its Gram matrix.
        self._part: tuple[Kernel, IntArray, FloatArray] | None = None

    @cached_property
    def squared_distances(self) -> FloatArray:
        """The squared Euclidean distance between every two rows."""
        with stage("distances"):
            return squared_distances(self.X)

    @cached_property
    def city_block_distances(self) -> FloatArray:
        """The city-block distance between every two rows."""
        return city_block_distances(self.X)

    @cached_property
    def products(self) -> FloatArray:
        """The inner product of every two rows."""
        return inner_products(self.X, self.X)

    def has_gram(self, kernel: Kernel) -> bool:
        """Whether the Gram matrix of all rows has been computed."""
        return self._latest is not None and self._latest[0] == kernel

    def gram_of(self, kernel: Kernel, rows: IntArray) -> FloatArray:
        """Return the Gram matrix of some rows, without computing that of all rows."""
        return np.ascontiguousarray(kernel.gram_of(self.X, rows), dtype=np.float64)

    def part(self, kernel: Kernel, rows: IntArray, n_threads: int = 1) -> FloatArray:
        """Return the Gram matrix of some rows, ascending; the latest is kept.

        Note: it is taken from that of all rows if that exists. Blocks of one-vs-one columns need
        no more: with 10,000 rows the whole matrix and its distances take 1.6 GB, and it takes
        longer to get that memory than to compute twice as many entries in parts.
        """
        if self.has_gram(kernel):
            return self.gram(kernel, n_threads)[np.ix_(rows, rows)]
        # The memory of the part before is given back first.
        self._part = None
        self._part = kernel, rows, self.gram_of(kernel, rows)
        return self._part[2]

    def between(self, kernel: Kernel, rows: IntArray, others: IntArray) -> FloatArray | None:
        """Return the kernel of rows with others, if the matrix that has it is there."""
        if self.has_gram(kernel):
            return self.gram(kernel)[np.ix_(rows, others)]
        if self._part is None or self._part[0] != kernel:
            return None
        _, inside, gram = self._part
        places = []
        for wanted in (rows, others):
            place = np.searchsorted(inside, wanted)
            if len(wanted) and not np.array_equal(inside.take(place, mode="clip"), wanted):
                return None
            places.append(place)
        return gram[np.ix_(*places)]

    def scores_of(self, fitted: Any, rows: IntArray, score: Callable[[], FloatArray]) -> FloatArray:
        """Return the scores of some rows by trained machines; the latest are kept.

        Note: calibration and tempering ask for the same ones. Without a Gram matrix they take as
        long as half of the training. They are forgotten with the machines.
        """
        known = self._scores.get(id(fitted))
        if known is not None and np.array_equal(known[0], rows):
            return known[1]
        if known is None:
            finalize(fitted, self._scores.pop, id(fitted), None)
        scores = score()
        scores.flags.writeable = False
        self._scores[id(fitted)] = rows, scores
        return scores

    def __getstate__(self) -> dict[str, Any]:
        # Elsewhere, machines have other identities.
        return vars(self) | {"_scores": {}}

    def gram(self, kernel: Kernel, n_threads: int = 1) -> FloatArray:
        """Return the Gram matrix of all rows; only the latest is kept."""
        if self._latest is None or self._latest[0] != kernel:
            self._latest = (kernel, np.ascontiguousarray(kernel.gram(self, n_threads)))
        return self._latest[1]


def prepare_rows(kernel: Any, X: Any) -> SharedRows:
    """Return training rows, after checking that the kernel of an estimator accepts them."""
    kind = kernel_class(kernel)
    warn_of_scales(kind, X)
    rows = SharedRows(X)
    check_sizes(kind, rows.X)
    return rows


def check_square(kernel: Any, X: Any) -> None:
    """Check that a precomputed kernel has a row and a column for every training row."""
    if kernel_class(kernel).is_precomputed and X.shape[0] != X.shape[1]:
        raise ValueError(
            "With kernel='precomputed', X must be the square matrix of the kernel of every two "
            f"training rows; it has {X.shape[0]} rows and {X.shape[1]} columns."
        )


def check_sizes(kind: type[Kernel], X: Any) -> None:
    """Check that no distance or product of rows overflows; warn if all of them underflow."""
    with np.errstate(over="ignore"):
        largest = kind.magnitude(X)
    if largest is None:
        return
    if not np.isfinite(largest):
        raise ValueError(
            f"X has entries as large as {abs(X).max():.0e}, for which kernel={kind.name!r} "
            "overflows. Scale the inputs, for example with make_pipeline(MaxAbsScaler(), ...)."
        )
    if largest < np.finfo(np.float64).tiny and abs(X).max() > np.finfo(np.float64).tiny:
        warnings.warn(
            f"X has no entry larger than {abs(X).max():.0e}, whose square underflows to 0, so "
            f"kernel={kind.name!r} cannot tell rows apart. Scale the inputs, for example with "
            "make_pipeline(MaxAbsScaler(), ...).",
            UserWarning,
            stacklevel=2,
        )


def warn_of_scales(kind: type[Kernel], X: Any) -> None:
    """Warn if one input dominates the others in the kernel, which scaling would prevent."""
    if not kind.warns_of_scales() or issparse(X) or X.shape[0] < 2:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        deviations = np.std(X, axis=0, dtype=np.float64)
        # An input that is constant up to rounding does not count.
        varies = deviations > 1e-12 * np.abs(X).max(axis=0)
    deviations = deviations[np.isfinite(deviations) & varies]
    if len(deviations) < 2:
        return
    ratio = deviations.max() / deviations.min()
    if ratio > SCALE_RATIO:
        warnings.warn(
            f"{UNEQUAL_SCALES} by a factor of {ratio:.0e}, so a Gaussian kernel "
            "depends almost only on the largest. Scale them, for example with "
            "make_pipeline(StandardScaler(), ...).",
            UserWarning,
            stacklevel=2,
        )
