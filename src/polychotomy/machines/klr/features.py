r"""Kernel logistic regression in features: all columns and subsets in the same passes.

Every problem is :math:`\frac12 |w|^2 + C \sum_i v_i \log(1 + \exp(-y_i f_i))` with
:math:`f = w \cdot z + b` for the features z of landmarks. A pass over the rows gives the gradients
of all columns, subsets and folds, because the kernel columns, which cost most, serve all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ...core.types import FloatArray, IntArray, SignArray
from ...kernels import FeatureRows, Landmarks
from ..descent import Minima, minimise
from ..feature_passes import Coordinates, Passes
from ..solved import SolvedPath

# The curvature of the loss at 0, its largest.
CURVATURE = 0.25
# A gradient of this share of the tolerance leaves an error below it: steps are longer than
# gradients where the curvature is smaller.
SHARE_OF_TOLERANCE = 0.1


def solve_klr_in_features(
    state: FeatureRows,
    landmarks: Landmarks,
    labels: SignArray,
    subsets: Sequence[IntArray],
    C_values: Sequence[float],
    weights: FloatArray | None,
    tolerance: float,
    max_iterations: int,
    room: float,
    n_threads: int,
) -> SolvedPath:
    """Solve every column on every subset for every C, each from the solution of the one before.

    Returns
    -------
    SolvedPath
        With coefficients of the landmarks, in place of all rows.
    """
    n_rows, n_columns = labels.shape
    counts = np.stack([np.bincount(subset, minlength=n_rows) for subset in subsets])
    sizes = counts if weights is None else counts * weights
    totals = np.stack([np.abs(labels).T @ each for each in sizes.astype(np.float64)])
    both = [[np.any((labels[subset] == sign), axis=0) for sign in (-1, 1)] for subset in subsets]
    trained = np.array([low & high for low, high in both])
    problems = np.argwhere(trained)
    rows = np.flatnonzero(counts.any(axis=0))
    passes = Passes(landmarks, state.X, rows, room, n_threads)
    coordinates = Coordinates.of(landmarks, state.X, rows, weights)
    m = len(landmarks)
    shape = len(subsets), len(C_values), n_columns
    path = SolvedPath(
        coefficients=np.zeros((*shape, m)),
        biases=np.zeros(shape),
        trained=np.repeat(trained[:, None], len(C_values), axis=1),
        converged=np.ones(shape, dtype=bool),
        iterations=np.zeros(shape, dtype=np.intp),
    )
    unknowns = np.zeros((len(problems), m + 1))
    for number, C in enumerate(C_values):
        found = _solve(
            passes,
            coordinates,
            labels,
            sizes,
            totals,
            problems,
            unknowns,
            C,
            tolerance,
            max_iterations,
        )
        unknowns = found.places
        coefficients, biases = coordinates.linear(unknowns)
        place = problems[:, 0], number, problems[:, 1]
        path.coefficients[place], path.biases[place] = coefficients.T, biases
        path.converged[place], path.iterations[place] = found.converged, found.iterations
    return path


def _solve(
    passes: Passes,
    coordinates: Coordinates,
    labels: SignArray,
    sizes: NDArray[Any],
    totals: FloatArray,
    problems: IntArray,
    start: FloatArray,
    C: float,
    tolerance: float,
    max_iterations: int,
) -> Minima:
    curvature = CURVATURE * C * totals[problems[:, 0], problems[:, 1]]
    scales = coordinates.scales(curvature)

    def evaluate(scaled: FloatArray, which: IntArray) -> tuple[FloatArray, FloatArray]:
        unknowns = scaled * scales[which]
        coefficients, biases = coordinates.linear(unknowns)
        subset, column = problems[which].T

        def block(rows: IntArray, columns: NDArray[Any]) -> tuple[FloatArray, ...]:
            signs = labels[np.ix_(rows, column)].astype(np.float64)
            own = C * sizes[np.ix_(subset, rows)].T * np.abs(signs)
            margins = signs * (columns @ coefficients.astype(passes.dtype) + biases)
            slopes = -own * signs * expit(-margins)
            losses = np.sum(own * np.logaddexp(0.0, -margins), axis=0)
            of_columns = columns.T @ slopes.astype(passes.dtype)
            return losses, of_columns, slopes.sum(axis=0)

        losses, of_columns, of_biases = passes.sum(block)
        gradient = coordinates.gradient(of_columns, of_biases)
        gradient[:, :-1] += unknowns[:, :-1]
        values = losses + 0.5 * np.sum(unknowns[:, :-1] ** 2, axis=1)
        return values, gradient * scales[which]

    # In these coordinates, a step of length s changes scores by s / sqrt(curvature) in the mean.
    enough = SHARE_OF_TOLERANCE * tolerance * np.sqrt(curvature)
    found = minimise(evaluate, start / scales, enough, max_iterations, passes.dtype)
    return Minima(found.places * scales, found.converged, found.iterations)
